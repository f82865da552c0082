"""What is told of a stored sweep: tables, figures and the page, against numbers worked out by hand."""

import csv
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aqmlab as lab
from aqmlab.present import tables as sweep_tables
from aqmlab.present.figures import ellipses
from aqmlab.present.figures import sweep as sweep_figures
from aqmlab.present.figures.stored import DELAYS, SERIES, stored
from aqmlab.present.html import sweep as sweep_report
from aqmlab.present.plots.data import CriticalDifference
from aqmlab.present.plots.files import draw, encode
from aqmlab.present.plots.style import look
from aqmlab.runs import findings
from aqmlab.runs import sweep as sweeps
from aqmlab.runs.statistics import Ranking, paired
from conftest import SMALL, Aqmlab

EXPERIMENT = """
schema = 1
title = "Small & <quick>"
scenarios = ["small.toml"]
aqms = ["droptail", { name = "pi", w = ["85 Hz", "170 Hz"] }]
seeds = 4
[set]
links.bottleneck.rate = ["5 Mbit/s", "10 Mbit/s"]
duration = "1 s"
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of 2 rates x 3 schemes x 4 seeds = 24 runs, without series."""
    folder = tmp_path_factory.mktemp("swept")
    (folder / "small.toml").write_text(SMALL.read_text())
    (folder / "e.toml").write_text(EXPERIMENT)
    sweeps.sweep(folder / "e.toml", folder / "out")
    return folder / "out"


Values = Mapping[str, Mapping[str, Sequence[float]]]


def by_hand(values: Values, **more: object) -> findings.Findings:
    """Findings with one measure, the drop ratio, by scenario, scheme and seed."""
    rows: list[dict[str, Any]] = [
        {
            "key": f"{scenario}-{aqm}-{seed}",
            "scenario": scenario,
            "link": "a",
            "aqm": aqm,
            "seed": seed,
            "state": "done",
            "error": None,
            "links.a.queue_mean": 100.0,
            "links.a.drop_ratio": value,
            **more,
        }
        for scenario, schemes in values.items()
        for aqm, given in schemes.items()
        for seed, value in enumerate(given, 1)
    ]
    return findings.Findings(Path("nowhere"), rows, len(rows))


THREE = {"droptail": (0.10, 0.12), "pi": (0.01, 0.03), "red": (0.04, 0.06)}
WIDTH = 0.127062  # of two values 0.02 apart: t(0.975, 1) = 12.7062 times 0.01


# Statistics


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


def test_differences_that_are_equal_but_for_rounding_have_no_test() -> None:
    """0.3 - 0.1 is not 0.2: a t-test of what rounding leaves would be sure of nothing."""
    found = paired([0.3, 0.4, 0.5], [0.1, 0.2, 0.3])
    assert found.difference.mean == pytest.approx(0.2)
    assert (found.p, found.effect) == (None, None)


def test_ranks_by_hand() -> None:
    """Pi is best in one, red in two of three scenarios; droptail is worst throughout."""
    better = {"droptail": (0.2, 0.2), "pi": (0.05, 0.05), "red": (0.01, 0.01)}
    found = by_hand({"x": THREE, "y": better, "z": better})
    ranking = found.ranking("link.drop_ratio")
    assert ranking is not None
    assert ranking.ranks == pytest.approx({"droptail": 3, "pi": 5 / 3, "red": 4 / 3})
    assert ranking.blocks == 3


# Tables


def test_csv_has_plain_numbers() -> None:
    text = sweep_tables.as_csv(by_hand({"x": THREE}), ["link.drop_ratio", "total.jain"])
    rows = list(csv.DictReader(text.splitlines()))
    assert [(row["aqm"], row["measure"], row["n"]) for row in rows[:3]] == [
        ("droptail", "link.drop_ratio", "2"),
        ("droptail", "total.jain", "0"),
        ("pi", "link.drop_ratio", "2"),
    ]
    assert float(rows[2]["mean"]) == pytest.approx(0.02)
    assert float(rows[2]["half_width"]) == pytest.approx(WIDTH, rel=1e-5)
    assert (rows[2]["unit"], rows[1]["mean"], rows[1]["half_width"]) == ("ratio", "", "")


def test_markdown() -> None:
    text = sweep_tables.as_markdown(by_hand({"x": THREE}), ["link.drop_ratio"])
    assert text.splitlines()[:6] == [
        "## x",
        "",
        "| Scheme | Drop ratio (%) |",
        "|---|--:|",
        "| DropTail | 11.00 ±\N{NO-BREAK SPACE}12.71 |",
        "| PI | **2.00 ±\N{NO-BREAK SPACE}12.71** |",
    ]


def test_latex() -> None:
    text = sweep_tables.as_latex(by_hand({"x_1": THREE, "y": THREE}), ["link.drop_ratio", "link.queue_mean"])
    assert r"\caption{x\_1. Mean $\pm$ half-width of the 95 \% interval over the seeds; bold: the best mean.}" in text
    assert r"Scheme & Drop ratio (\%) & Queue mean (packets) \\" in text
    assert r"PI & \textbf{2.00} $\pm$ $12.71$ & $100.0$ $\pm$ $0.0$ \\" in text
    assert r"RED & $5.00$ $\pm$ $12.71$ & $100.0$ $\pm$ $0.0$ \\" in text
    for left, right in (("{", "}"), (r"\begin{table}", r"\end{table}"), (r"\toprule", r"\bottomrule")):
        assert text.count(left) == text.count(right) > 0


def test_two_states_are_shown_and_said() -> None:
    found = by_hand({"x": {"red": [0.1] * 4, "pi": [0.1] * 4}})
    for row, queue in zip(found.rows, [300, 301, 600, 601, 300, 301, 302, 303], strict=True):
        dict.__setitem__(row, "links.a.queue_mean", float(queue))  # type: ignore[index,arg-type]
    case = found.cases["x"]
    [entry] = sweep_tables.entries(found, case, ["link.queue_mean"])["red"]
    assert entry.text == "300.5 | 600.5"
    [note] = sweep_tables.notes(found, case)
    assert note.startswith("RED has two states: mean queue 300 packets in 2 of 4 seeds, 600 in the others.")


def test_a_measure_that_some_seeds_lack_says_how_many() -> None:
    found = by_hand({"x": THREE}, **{"links.a.settling_time": None})
    dict.__setitem__(found.rows[2], "links.a.settling_time", 4.0)  # type: ignore[index,arg-type]
    rows = sweep_tables.entries(found, found.cases["x"], ["link.settling_time"])
    assert [(row[0].text, row[0].some) for row in rows.values()] == [("–", ""), ("4.0", "1 of 2 seeds"), ("–", "")]


# Figures


def test_a_measure_against_what_was_varied(swept: Path) -> None:
    found = findings.findings(swept)
    frame = lab.load_experiment(swept)
    drawn = sweep_figures.lines(found, "link.queue_mean", "set.links.bottleneck.rate")
    assert drawn.x == "links.bottleneck.rate (Mbit/s)"
    [panel] = drawn.panels
    assert panel.title == "small"
    assert list(panel.lines) == ["DropTail", "PI (w=85 Hz)", "PI (w=170 Hz)"]
    for rate, summary in panel.lines["DropTail"].items():
        rows = frame[(frame["set.links.bottleneck.rate"] == f"{rate:g} Mbit/s") & (frame["aqm"] == "droptail")]
        assert summary.mean == pytest.approx(rows["links.bottleneck.queue_mean"].mean())
        assert summary.n == 4
    by_parameter = sweep_figures.lines(found, "total.goodput", "pi.w")
    assert by_parameter.x == "pi.w (Hz)"
    panels = {panel.title: panel.lines for panel in by_parameter.panels}
    assert {name: {line: list(xs) for line, xs in panel.items()} for name, panel in panels.items()} == {
        "small, links.bottleneck.rate=5 Mbit/s": {"PI": [85.0, 170.0]},
        "small, links.bottleneck.rate=10 Mbit/s": {"PI": [85.0, 170.0]},
    }


def test_every_scheme_has_a_look_of_its_own() -> None:
    assert len({look(i)[:2] for i in range(56)}) == 56


def store_series(folder: Path) -> None:
    """Write series and delays of two runs of droptail and one of a link that is not the first, as a sweep does."""
    frame = lab.load_experiment(folder)
    rows = frame[(frame["aqm"] == "droptail") & (frame["set.links.bottleneck.rate"] == "5 Mbit/s")]
    keys = dict(zip(rows["seed"], rows["key"], strict=True))
    time = np.arange(100) / 100
    parts = [(keys[3], "bottleneck", 30.0), (keys[2], "bottleneck", 20.0), (keys[1], "elsewhere", 10.0)]
    for name in ("series", "delays"):
        (folder / name).mkdir()
    for i, (key, link, queue) in enumerate(parts):
        series = pd.DataFrame({"key": key, "link": link, "time": time, "queue": queue, "utilisation": 1.0})
        series.to_parquet(folder / "series" / f"{i}.parquet", index=False)
        delays = pd.DataFrame({"key": key, "link": link, "queue_delay": [queue / 1e3, 0.1], "share": [0.25, 1.0]})
        delays.to_parquet(folder / "delays" / f"{i}.parquet", index=False)


@pytest.fixture(scope="module")
def with_series(swept: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("series") / "out"
    shutil.copytree(swept, folder)
    store_series(folder)
    return folder


def test_stored_series_are_those_of_the_lowest_seed_at_the_first_link(with_series: Path) -> None:
    found = findings.findings(with_series)
    case = found.cases["small, links.bottleneck.rate=5 Mbit/s"]
    [(at, run)] = stored(found, *SERIES, list(found.cases.values())).items()
    assert (at, run.seed, set(run.columns["queue"])) == ((case, "droptail"), 2, {20.0})
    [drawn] = sweep_figures.cdf(found, case, stored(found, *DELAYS, [case])).panels
    assert [list(map(float, part)) for part in drawn.curves["DropTail"]] == [[20.0, 20.0, 100.0], [0.0, 0.25, 1.0]]
    panels = sweep_figures.queue(found, case, {at: run}).panels
    assert [(panel.title, panel.target) for panel in panels] == [("DropTail", 30.0)]


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
    assert found.cases["x"].overrides == (("duration", "1 s"),)


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
    ],
)
def test_figures(aqmlab: Aqmlab, with_series: Path, tmp_path: Path, figure: str, options: list[str], kind: str) -> None:
    out = tmp_path / "new" / f"figure.{kind}"
    done = aqmlab("plot", with_series, figure, *options, "--out", out)
    assert done.returncode == 0, done.stderr
    assert out.read_bytes().startswith(MAGIC[kind])


@pytest.mark.parametrize("kind", ["pdf", "svg", "png"])
def test_a_figure_drawn_again_is_the_same_to_the_byte(kind: str) -> None:
    ranks = Ranking({"pi": 1.2, "red": 2.1, "droptail": 2.7}, 10, 0.01, 1.05)
    first, second = (encode(draw(sweep_figures.ranking(ranks)), kind) for _ in range(2))
    assert first == second


def test_without_a_file_it_lists_what_can_be_drawn(aqmlab: Aqmlab, swept: Path) -> None:
    text = aqmlab("plot", swept).stdout
    for wanted in ("delay-throughput", RATE, "link.queue_delay_p99", "set.links.bottleneck.rate", "pi.w"):
        assert wanted in text


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (("ranking", None, "link.queue_delay"), 'did you mean "link.queue_delay_p99"?'),
        (("ranking", None, "link.queue_mean"), "neither more nor less is better of"),
        (("fairness",), f"scenario: missing; --scenario is one of: {RATE}; "),
        (("fairness", RATE[:-1]), f'scenario: no scenario "{RATE[:-1]}"; did you mean "{RATE}"?'),
        (("fairness", RATE, "total.jain"), "use the figure measure"),
        (("cdf", None, None, "pi.w"), "only the figure measure is drawn against a value"),
        (("measure", None, None, "pi.a"), 'against: was not varied: "pi.a"; did you mean "pi.w"?'),
        (("measure", "smal1", None, "pi.w"), 'scenario: nothing is drawn of "smal1"; did you mean "small"?'),
        (("measure", None, "total.fct_p50"), "no run has a value"),
    ],
)
def test_what_cannot_be_drawn_is_refused(swept: Path, wanted: tuple[str | None, ...], said: str) -> None:
    with pytest.raises(lab.InputError, match=re.escape(said)):
        sweep_figures.figure(findings.findings(swept), sweep_figures.Wanted(*wanted))  # type: ignore[arg-type]


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


# The page


class Page(HTMLParser):
    """A page as its tables, its scripts, what it links to, and the tags that are open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.scripts: list[tuple[str | None, str]] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.links += [str(given[name]) for name in ("src", "href", "xlink:href", "srcset", "data") if given.get(name)]
        self.ids += [str(given["id"])] if "id" in given else []
        if tag not in ("meta", "br", "path", "use", "rect"):
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "script":
            self.scripts.append((given.get("type"), ""))

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("meta", "br", "path", "use", "rect"):
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data.strip()


@pytest.fixture(scope="module")
def page(with_series: Path) -> str:
    return sweep_report.report(findings.findings(with_series))


def test_the_page_loads_nothing(page: str) -> None:
    parsed = Page(page)
    assert parsed.open == []
    assert all(link.startswith("#") for link in parsed.links)
    assert "default-src 'none'" in page
    assert "form-action 'none'" in page
    assert 'showSendToCloud: false, plotlyServerURL: ""' in page  # a button that uploads a plot's data
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_the_page_has_no_element_twice(page: str) -> None:
    ids = Page(re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)).ids
    assert len(ids) == len(set(ids))
    assert {"ranking", "scenarios", "case-1", "case-2"} <= set(ids)


def test_titles_are_escaped(page: str) -> None:
    assert "<h1>Small &amp; &lt;quick&gt;</h1>" in page


def test_its_tables_have_the_numbers_of_the_sweep(page: str, swept: Path) -> None:
    """Means over the seeds as pandas takes them from the rows, in the unit of the head."""
    frame = lab.load_experiment(swept)
    [ranking, *rest] = Page(page).tables
    assert ranking[0][0] == "Scheme"
    means = rest[0]
    column = means[0].index("Queue mean (packets)")
    rows = frame[frame["set.links.bottleneck.rate"] == "5 Mbit/s"].groupby("aqm")["links.bottleneck.queue_mean"]
    wanted = {"DropTail": "droptail", "PI (w=85 Hz)": "pi:w=85 Hz", "PI (w=170 Hz)": "pi:w=170 Hz"}
    assert {row[0] for row in means[1:]} == set(wanted)
    for row in means[1:]:
        width = 3.18245 * rows.get_group(wanted[row[0]]).sem()  # t(0.975, 3)
        assert row[column] == f"{rows.mean()[wanted[row[0]]]:.1f} ±\N{NO-BREAK SPACE}{width:.1f}"
    differences = rest[1]
    assert [row[0] for row in differences[1:]] == ["PI (w=85 Hz)", "PI (w=170 Hz)"]
    less = rows.mean()["pi:w=85 Hz"] - rows.mean()["droptail"]
    assert differences[1][column].startswith(f"{less:.1f} ±")


def test_its_figures_are_those_of_what_was_measured(page: str) -> None:
    figures = [json.loads(text) for kind, text in Page(page).scripts if kind == "application/json"]
    titles = [figure["layout"]["yaxis"]["title"]["text"] for figure in figures]
    first = ["Goodput (Mbit/s)", "Delay p99 (ms)", "Jain", "Settling (s)", "Share of packets", "Queue (packets)"]
    assert [title for title in titles if title != "Settling (s)"] == [
        title for title in [*first, *first[:4]] if title != "Settling (s)"
    ]
    means = [trace for trace in figures[0]["data"] if trace.get("text") == ["mean"]]
    assert [trace["name"] for trace in means] == ["DropTail", "PI (w=85 Hz)", "PI (w=170 Hz)"]
    assert len(figures[0]["data"]) == 3 * 3  # runs, mean and ellipse of each


def test_the_page_says_what_was_done_and_how_to_repeat_it(page: str, with_series: Path, swept: Path) -> None:
    assert "24 runs: 2 scenarios × 3 schemes × 4 seeds; none failed." in page
    assert f"<code>aqmlab sweep {with_series}/experiment.toml --out again</code>" in page
    assert "<dt>Set for all</dt><dd>duration = 1 s</dd>" in page
    assert "w = 85 Hz" in page
    assert "--series first" not in page
    assert "--resume --series first" in sweep_report.report(findings.findings(swept))


def test_a_sweep_under_way_is_told_as_far_as_it_is() -> None:
    found = by_hand({"x": THREE})
    half = findings.Findings(found.folder, found.rows[:3], 6)
    page = sweep_report.report(half)
    assert "3 of 6 runs are done: 1 scenario, 2 schemes, up to 2 seeds; none failed." in page
    assert "None: a ranking needs three schemes, two scenarios" in page


def test_failed_runs_are_named_and_counted(tmp_path: Path) -> None:
    found = by_hand({"x": THREE})
    rows = [
        *found.rows[:5],
        {**found.rows[5], "state": "failed", "error": "the worker <died>", "links.a.drop_ratio": None},
    ]
    page = sweep_report.report(findings.Findings(tmp_path, rows, 6))
    assert "1 failed." in page
    assert "x, red, seed 2: the worker &lt;died&gt;" in page
    assert "4.00" in page  # the other seed of red


def test_report_leaves_one_file(aqmlab: Aqmlab, swept: Path, tmp_path: Path) -> None:
    done = aqmlab("report", swept, "--measure", "total.goodput", "--out", "page.html")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    heads = Page((tmp_path / "page.html").read_text(encoding="utf-8")).tables[1][0]
    assert heads == ["Scheme", "Goodput (Mbit/s)"]


def test_tables_are_printed_or_left(aqmlab: Aqmlab, swept: Path, tmp_path: Path) -> None:
    printed = aqmlab("report", swept, "--format", "latex")
    assert printed.stdout.startswith("% \\usepackage{booktabs}\n\\begin{table}")
    assert printed.stdout.count(r"\end{tabular}") == 2
    aqmlab("report", swept, "--format", "latex", "--out", "t.tex")
    assert (tmp_path / "t.tex").read_text(encoding="utf-8") == printed.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--measure", "total.goodputt"], 'measure: no measure "total.goodputt"; did you mean "total.goodput"?'),
        (["--out", "."], "is a directory"),
        (["--format", "pdf"], "'html', 'latex', 'markdown', 'csv'"),
    ],
)
def test_bad_reports_are_refused(aqmlab: Aqmlab, swept: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    done = aqmlab("report", swept, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []
    assert not (swept / "report.html").exists()


def test_a_folder_without_a_sweep_is_refused(aqmlab: Aqmlab, tmp_path: Path) -> None:
    done = aqmlab("report", tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "holds no sweep; expected a folder that aqmlab sweep --out left" in done.stderr
