"""Figures of a stored sweep: ellipses, groups of ranks, lines, series; and what is refused."""

import re
import shutil
from dataclasses import replace
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

import aqmlab as lab
from aqmlab.present.figures import ellipses, words
from aqmlab.present.figures import sweep as sweep_figures
from aqmlab.present.figures.stored import DELAYS, SERIES, stored
from aqmlab.present.plots.data import CriticalDifference
from aqmlab.present.plots.files import draw, encode
from aqmlab.present.plots.style import look
from aqmlab.problems import InputError
from aqmlab.runs import findings
from aqmlab.runs.statistics import Ranking
from conftest import Aqmlab
from sweeping import THREE, by_hand


def test_an_ellipse_of_a_known_covariance() -> None:
    """Covariance diag(8/3, 2/3); F(2, 2) is 19 at 95 %, so r² = 2·3 / (4·2) · 19 = 14.25: half-axes √38 and √9.5."""
    line = ellipses.of_mean(np.array([(7, 5), (3, 5), (5, 6), (5, 4.0)]))
    assert line is not None
    assert line.max(axis=0) == pytest.approx([5 + sqrt(38), 5 + sqrt(9.5)])
    assert line.min(axis=0) == pytest.approx([5 - sqrt(38), 5 - sqrt(9.5)])
    assert line[0] == pytest.approx(line[-1])


def test_an_ellipse_turns_with_its_points() -> None:
    """The same points turned by 45 degrees: the long half-axis lies on the diagonal."""
    turn = np.array([(1, -1), (1, 1)]) / sqrt(2)
    line = ellipses.of_mean(np.array([(2, 0), (-2, 0), (0, 1), (0, -1.0)]) @ turn.T)
    assert line is not None
    assert np.abs(line @ [1, 1] / sqrt(2)).max() == pytest.approx(sqrt(38))
    assert np.abs(line @ [1, -1] / sqrt(2)).max() == pytest.approx(sqrt(9.5))


def test_an_ellipse_without_extent_and_one_of_too_few_runs() -> None:
    flat = ellipses.of_mean(np.array([(1, 3), (2, 3), (3, 3), (4, 3.0)]))
    assert flat is not None
    assert flat[:, 1] == pytest.approx(np.full(len(flat), 3.0))
    assert ellipses.of_mean(np.array([(1, 3), (2, 4), (3, 1.0)])) is None


@pytest.mark.parametrize(
    ("critical", "groups"),
    [
        (0.5, []),
        (1.2, [["a", "b"], ["b", "c"]]),  # 0.8, 1.1 and 1.3 apart
        (2.0, [["a", "b", "c"], ["c", "d"]]),
        (3.2, [["a", "b", "c", "d"]]),
    ],
)
def test_groups_of_a_critical_difference_diagram(critical: float, groups: list[list[str]]) -> None:
    ranks = {"d": 4.2, "b": 1.8, "a": 1.0, "c": 2.9}
    assert CriticalDifference(Ranking(ranks, 10, 0.01, critical), {}).cliques == groups


def test_a_measure_against_what_was_varied(swept: Path) -> None:
    found = findings.findings(swept)
    frame = lab.load_experiment(swept)
    drawn = sweep_figures.lines(found, "link.queue_mean", "set.links.bottleneck.rate")
    assert drawn.x == "Link rate (Mbit/s)"
    [panel] = drawn.panels
    assert panel.title == "small"
    assert list(panel.lines) == ["DropTail", "PI (w=85 Hz)", "PI (w=170 Hz)"]
    for rate, summary in panel.lines["DropTail"].items():
        rows = frame[(frame["set.links.bottleneck.rate"] == f"{rate:g} Mbit/s") & (frame["aqm"] == "droptail")]
        assert summary.mean == pytest.approx(rows["links.bottleneck.queue_mean"].mean())
        assert summary.n == 4
    by_parameter = sweep_figures.lines(found, "total.goodput", "pi.w")
    assert by_parameter.x == "w of PI (Hz)"
    panels = {panel.title: panel.lines for panel in by_parameter.panels}
    assert {name: {line: list(xs) for line, xs in panel.items()} for name, panel in panels.items()} == {
        "small, link rate 5 Mbit/s": {"PI": [85.0, 170.0]},
        "small, link rate 10 Mbit/s": {"PI": [85.0, 170.0]},
    }


def test_values_that_are_names_are_on_the_axis_in_their_order() -> None:
    found = by_hand({"x": {"pi": (1.0, 3.0)}, "y": {"pi": (5.0,)}})
    rows = [
        {**row, "set.flows.a.tcp.congestion_control": {"x": "cubic", "y": "bbr3"}[row["scenario"]]}
        for row in found.rows
    ]
    named = replace(found, rows=[{**row, "scenario": "small"} for row in rows])
    chart = sweep_figures.lines(named, "link.drop_ratio", "set.flows.a.tcp.congestion_control")
    assert (chart.x, chart.names_of_x) == ("Congestion controller", ["CUBIC", "BBRv3"])
    assert {x: summary.mean for x, summary in chart.panels[0].lines["PI"].items()} == pytest.approx(
        {0.0: 200, 1.0: 500}
    )
    across = findings.across(named, "set.flows.a.tcp.congestion_control")
    assert (across.head, across.schemes, [case.name for case in across.cases]) == (
        "Controller",
        ["cubic", "bbr3"],
        ["small"],
    )
    with pytest.raises(InputError, match="no value that was varied"):
        findings.across(named, "set.flows.b.rtt")
    assert draw(chart).axes[0].get_xticklabels()[1].get_text() == "BBRv3"


def test_a_heat_map_has_the_means_of_its_cells(swept: Path) -> None:
    found = findings.findings(swept)
    frame = lab.load_experiment(swept)
    drawn = sweep_figures.heat(found, "link.queue_mean", "pi.w", "set.links.bottleneck.rate")
    assert (drawn.x_label, drawn.y_label, drawn.label) == ("w of PI (Hz)", "Link rate (Mbit/s)", "Mean queue (packets)")
    assert (drawn.x, drawn.y) == ([85.0, 170.0], [5.0, 10.0])
    [panel] = drawn.panels
    assert panel.title == "PI"
    means = frame.groupby(["set.links.bottleneck.rate", "aqm"])["links.bottleneck.queue_mean"].mean()
    wanted = [[means[f"{rate} Mbit/s", f"pi:w={w} Hz"] for w in (85, 170)] for rate in (5, 10)]
    assert panel.values == pytest.approx(np.array(wanted))


def test_steps_over_seeds_and_boxes_have_every_seed() -> None:
    found = by_hand({"x": {"pi": (0.4, 0.1, 0.2, 0.2), "red": (0.3,)}})
    case = found.cases[0]
    curves = sweep_figures.ecdf(found, case, "link.drop_ratio").panels[0].curves
    values, shares = curves["PI"]
    assert values == pytest.approx([10, 10, 20, 20, 20, 20, 40, 40])
    assert shares.tolist() == [0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 1]
    assert sweep_figures.boxes(found, case, "link.drop_ratio").values == {
        "PI": pytest.approx([40, 10, 20, 20]),
        "RED": pytest.approx([30]),
    }


def test_schemes_are_chosen_and_ordered(swept: Path) -> None:
    found = findings.findings(swept)
    assert findings.only(found, ["pi:w=170Hz", "droptail"]).schemes == ["pi:w=170 Hz", "droptail"]
    assert findings.only(found, ["pi"]).schemes == ["pi:w=85 Hz", "pi:w=170 Hz"]
    drawn = sweep_figures.figure(found, sweep_figures.Wanted("box", RATE, aqms=("pi", "droptail")))
    assert drawn.names == ["PI (w=85 Hz)", "PI (w=170 Hz)", "DropTail"]  # type: ignore[union-attr]


def test_ellipses_show_the_mean_or_the_runs(swept: Path) -> None:
    found = findings.findings(swept)
    case = next(case for case in found.cases if case.name == RATE)
    for ellipse, line in (("mean", ellipses.of_mean), ("sigma", ellipses.of_spread)):
        cloud = sweep_figures.scatter(found, case, ellipse).panels[0].clouds["PI (w=85 Hz)"]  # type: ignore[arg-type]
        assert np.array_equal(cloud.ellipse, line(cloud.points))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "varied", "said"),
    [
        ("set.flows.0.count", [], "Number of flows"),
        ("set.links.bottleneck.rate", ["set.flows.0.rate"], "Link rate"),
        ("set.links.up.rate", ["set.links.up.rate", "set.links.down.rate"], "Link rate (up)"),
        ("set.duration", [], "Duration"),
        ("set.flows.web.think_time", [], "flows.web.think_time"),
        ("pi.w", [], "w of PI"),
    ],
)
def test_axes_have_the_words_of_the_field(name: str, varied: list[str], said: str) -> None:
    assert words.quantity(name, varied) == said


def test_every_measure_has_its_label() -> None:
    assert {*findings.USUAL} <= words.MEASURED.keys()
    assert words.measure("link.queue_delay_p99") == "99th percentile of the queueing delay (ms)"


def test_every_scheme_has_a_look_of_its_own() -> None:
    assert len({look(i)[:2] for i in range(56)}) == 56


def test_stored_series_are_those_of_the_lowest_seed_at_the_first_link(with_series: Path) -> None:
    found = findings.findings(with_series)
    case = found.cases[0]
    [(at, run)] = stored(found, *SERIES, found.cases).items()
    assert (at, run.seed, set(run.columns["queue"])) == ((case, "droptail"), 2, {20.0})
    [drawn] = sweep_figures.cdf(found, case, stored(found, *DELAYS, [case])).panels
    assert [list(map(float, part)) for part in drawn.curves["DropTail"]] == [[20.0, 20.0, 100.0], [0.0, 0.25, 1.0]]
    runs = {at: run, (case, "pi:w=85 Hz"): run}
    panels = sweep_figures.queue(found, case, runs).panels
    assert [(panel.title, panel.target) for panel in panels] == [("DropTail", None), ("PI (w=85 Hz)", 30.0)]


def test_a_damaged_series_is_named(aqmlab: Aqmlab, with_series: Path, tmp_path: Path) -> None:
    shutil.copytree(with_series, tmp_path / "out")
    (tmp_path / "out" / "series" / "1.parquet").write_bytes(b"PAR1 and no more")
    done = aqmlab("report", "out")
    assert done.returncode == 1
    assert "out/series/1.parquet: cannot be read" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out" / "report.html").exists()


def test_a_column_of_numbers_beside_its_text_is_no_dimension() -> None:
    found = by_hand({"x": THREE}, **{"set.duration": "1 s", "set.duration (s)": 1.0})
    assert found.varied == {}
    assert found.cases[0].overrides == (("duration", "1 s"),)


MAGIC = {"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG"}
RATE = "small, links.bottleneck.rate=5 Mbit/s"


@pytest.mark.parametrize(
    ("figure", "options", "kind"),
    [
        ("queue", ["--scenario", RATE], "png"),
        ("cdf", ["--scenario", RATE], "pdf"),
        ("delay-throughput", ["--scenario", RATE], "svg"),
        ("fairness", ["--scenario", RATE], "pdf"),
        ("measure", ["--measure", "link.queue_mean", "--against", "pi.w"], "svg"),
        ("ranking", ["--measure", "total.goodput"], "pdf"),
        ("utilisation", ["--scenario", RATE, "--size", "ieee1"], "pdf"),
        ("box", ["--scenario", RATE, "--log", "y", "--aqms", "pi,droptail", "--y-label", "Delay"], "svg"),
        ("heat", ["--against", "pi.w", "--by", "set.links.bottleneck.rate", "--size", "slide"], "png"),
    ],
)
def test_figures(aqmlab: Aqmlab, with_series: Path, tmp_path: Path, figure: str, options: list[str], kind: str) -> None:
    out = tmp_path / "new" / f"figure.{kind}"
    done = aqmlab("plot", with_series, figure, *options, "--out", out)
    assert done.returncode == 0, done.stderr
    assert out.read_bytes().startswith(MAGIC[kind])


def test_all_figures_are_files_with_captions(aqmlab: Aqmlab, swept: Path, tmp_path: Path) -> None:
    done = aqmlab("plot", swept, "all", "--aqms", "pi,droptail", "--size", "ieee1", "--out", "all")
    assert done.returncode == 0, done.stderr
    stems = {path.stem for path in (tmp_path / "all").glob("*.pdf")}
    assert "against-set-links-bottleneck-rate" in stems
    assert {f"{stem}.{kind}" for stem in stems for kind in MAGIC} < {path.name for path in (tmp_path / "all").iterdir()}
    text = (tmp_path / "all" / "figures.tex").read_text()
    assert text.count("\\begin{figure}\n") == text.count("\\caption{") == len(stems)
    assert "Mean queueing delay (ms) by scheme" in text
    refused = aqmlab("plot", swept, "all", "--log", "y", "--out", "all")
    assert (refused.returncode, "log: y: is for a single figure" in refused.stderr) == (2, True)


@pytest.mark.parametrize("kind", ["pdf", "svg", "png"])
def test_a_figure_drawn_again_is_the_same_to_the_byte(kind: str) -> None:
    ranks = Ranking({"pi": 1.2, "red": 2.1, "droptail": 2.7}, 10, 0.01, 1.05)
    first, second = (encode(draw(sweep_figures.ranking(ranks)), kind) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (sweep_figures.Wanted("queue", RATE), "DropTail. n = 1 (seed 2)."),
        (sweep_figures.Wanted("cdf", RATE), "DropTail. n = 1 (seed 2)."),
        (sweep_figures.Wanted("fairness", RATE), "Mean and 95 % interval, n = 4 (seeds 1 to 4)."),
        (sweep_figures.Wanted("box", RATE, aqms=("pi",)), "n = 4 (seeds 1 to 4)."),
        (sweep_figures.Wanted("box", RATE, aqms=("droptail",)), "DropTail. n = 4 (seeds 1 to 4)."),
        (sweep_figures.Wanted("measure", against="pi.w"), "PI. Mean and 95 % interval, n = 4 (seeds 1 to 4)."),
        (sweep_figures.Wanted("ranking"), "n = 4 (seeds 1 to 4)."),
    ],
)
def test_a_caption_has_the_runs_that_are_shown(with_series: Path, wanted: sweep_figures.Wanted, said: str) -> None:
    assert sweep_figures.caption(findings.findings(with_series), wanted) == said


def test_a_caption_counts_the_runs_with_a_value() -> None:
    found = by_hand({"x": {"pi": (0.1, 0.2, 0.3), "red": (0.1, 0.2, 0.3)}, "y": {"pi": (0.1,)}})
    wanted = sweep_figures.Wanted("box", "x", "link.drop_ratio")
    dict.__setitem__(found.rows[1], "links.a.drop_ratio", None)  # type: ignore[index,arg-type]
    assert sweep_figures.caption(found, wanted) == "n = 2 to 3 (seeds 1 to 3)."
    alone = replace(wanted, aqms=("pi",))
    assert sweep_figures.caption(found, alone) == "PI. n = 2 (seeds 1, 3)."
    assert sweep_figures.caption(found, replace(wanted, scenario="y")) == "PI. n = 1 (seed 1)."


def test_without_a_file_it_lists_what_can_be_drawn(aqmlab: Aqmlab, swept: Path) -> None:
    text = aqmlab("plot", swept).stdout
    for wanted in ("delay-throughput", RATE, "link.queue_delay_p99", "set.links.bottleneck.rate", "pi.w"):
        assert wanted in text


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (("ranking", None, "link.queue_delay"), 'did you mean "link.queue_delay_'),
        (("ranking", None, "link.queue_mean"), "neither more nor less is better"),
        (("fairness",), f"scenario: missing; --scenario is one of: {RATE}; "),
        (("fairness", RATE[:-1]), f'scenario: no scenario "{RATE[:-1]}"; did you mean "{RATE}"?'),
        (("fairness", RATE, "total.jain"), "use the figure measure"),
        (("cdf", None, None, "pi.w"), "only the figures measure and heat are drawn against a value"),
        (("measure", None, None, "pi.a"), 'against: was not varied: "pi.a"; did you mean "pi.w"?'),
        (("measure", "smal1", None, "pi.w"), 'scenario: no figure can be drawn of "smal1"; did you mean "small"?'),
        (("measure", None, "total.fct_p50"), "no run has a value"),
        (
            ("heat", None, None, "pi.w"),
            "by: a heat map, and no other figure, is drawn --against one",
        ),
        (("measure", None, None, "pi.w", "set.links.bottleneck.rate"), "by: a heat map, and no other figure"),
        (("heat", None, None, "pi.w", "pi.w"), "is on the other axis already"),
        (("fairness", RATE, None, None, None, ("pie",)), 'aqms: no scheme of the sweep "pie"'),
        (("fairness", RATE, None, None, None, (), "sigma"), "only the figure delay-throughput has ellipses"),
        (("fairness", RATE, None, None, None, (), "mean", "x"), "log: x: expected y with the figure fairness"),
        (("ranking", None, None, None, None, (), "mean", "y"), "log: y: expected nothing with the figure ranking"),
    ],
)
def test_what_cannot_be_drawn_is_refused(swept: Path, wanted: tuple[str | None, ...], said: str) -> None:
    with pytest.raises(lab.InputError, match=re.escape(said)):
        sweep_figures.figure(findings.findings(swept), sweep_figures.Wanted(*wanted))  # type: ignore[arg-type]


def test_a_figure_of_nothing_is_refused() -> None:
    found = by_hand({"x": THREE, "y": THREE}, **{"links.a.settling_time": None})
    dict.__setitem__(found.rows[-1], "links.a.settling_time", 4.0)  # type: ignore[index,arg-type]
    assert sweep_figures.figure(found, sweep_figures.Wanted("settling", "y"))
    with pytest.raises(lab.InputError, match=r"figure: settling: no run of x has a value of link\.settling_time"):
        sweep_figures.figure(found, sweep_figures.Wanted("settling", "x"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rankin", "--out", "x.pdf"], 'figure: no figure "rankin"; did you mean "ranking"?'),
        (["queue", "--scenario", RATE, "--out", "x.pdf"], "--resume --series first"),
        (["ranking", "--out", "x.gif"], "expected a name that ends in .pdf, .svg, .png"),
    ],
)
def test_a_refusal_leaves_no_file(aqmlab: Aqmlab, swept: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    done = aqmlab("plot", swept, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []
