"""Congestion controllers side by side: runs, paired differences, ranks, tables, figures, and what is refused."""

import json
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab import laws
from aqmlab.present.figures import controllers as figures
from aqmlab.present.parts import printed
from aqmlab.present.reports.controllers import parts
from aqmlab.present.sheets import as_latex, as_markdown
from aqmlab.runs.controllers import ControllerComparison
from conftest import Aqmlab

LINK = """
schema = 1
title = "Two flows"
duration = "4 s"
warmup = "1 s"

[[links]]
name = "line"
rate = "4 Mbit/s"
buffer = "2 bdp"

[[flows]]
name = "bulk"
count = 2
rtt = "40 ms"
start_spread = 1
tcp = "linux"
"""

DELAY, GOODPUT = "link.queue_delay_mean", "total.goodput"


@pytest.fixture
def link(tmp_path: Path) -> Path:
    path = tmp_path / "link.toml"
    path.write_text(LINK, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> ControllerComparison:
    path = tmp_path_factory.mktemp("link") / "link.toml"
    path.write_text(LINK, encoding="utf-8")
    return lab.compare_ccs(path, "cubic,reno,bbr3", "droptail,codel", 3)


def test_each_controller_has_the_runs_that_it_has_alone(compared: ControllerComparison, link: Path) -> None:
    alone = lab.compare(link, "codel", 3, law="reno")
    [codel] = [case for case in compared.cases if ("aqm", "codel") in case.overrides]
    ours = compared.measured.values(codel, "reno", GOODPUT)
    assert ours == alone.measured.values("link", "codel", GOODPUT)
    assert (compared.schemes, compared.aqms, compared.seeds) == (
        ["cubic", "reno", "bbr3"],
        ["droptail", "codel"],
        [1, 2, 3],
    )


def test_differences_are_paired_by_seed(compared: ControllerComparison) -> None:
    case = compared.cases[0]
    first, other = (compared.measured.values(case, law, DELAY) for law in ("cubic", "bbr3"))
    found = compared.difference(case, "bbr3", DELAY)
    assert found is not None
    assert found.difference.mean == pytest.approx(sum(other[seed] - first[seed] for seed in (1, 2, 3)) / 3)


def test_controllers_are_ranked_over_the_schemes(compared: ControllerComparison) -> None:
    ranking = compared.ranks["total.goodput"]
    assert (set(ranking.ranks), ranking.blocks) == ({"cubic", "reno", "bbr3"}, 2)
    assert sum(ranking.ranks.values()) == pytest.approx(6)


def test_the_document_has_each_controller_under_each_scheme(compared: ControllerComparison) -> None:
    found = json.loads(compared.json())
    assert (found["schema"], found["ccs"], found["aqms"], found["links"]) == (
        1,
        ["cubic", "reno", "bbr3"],
        ["droptail", "codel"],
        ["line"],
    )
    assert len(found["runs"]) == 18
    entries = [each for each in found["summary"] if each["measure"] == "flows.bulk.goodput"]
    assert {(each["aqm"], each["cc"]) for each in entries} == {
        (aqm, law) for aqm in found["aqms"] for law in found["ccs"]
    }
    assert all((each["more_than_first"] is None) == (each["cc"] == "cubic") for each in entries)


def test_tables_have_a_group_of_rows_per_scheme(compared: ControllerComparison) -> None:
    latex, markdown = as_latex(printed(parts(compared))), as_markdown(printed(parts(compared)))
    assert latex.count(r"\begin{tabular}{ll") == 2, "of the link, of the flows"
    assert latex.count("DropTail & CUBIC & ") == latex.count("\n & BBRv3 & ") / 2 == 2
    assert "n = 3 (seeds 1 to 3)" in latex
    assert r"\caption{link: Flows. Mean" in latex
    assert r"\shortstack[r]{bulk:\\Goodput\\(Mbit/s)}" in latex, "narrow enough for a column"
    assert markdown.count("| CoDel | Reno | ") == 2
    assert [sheet.title for sheet in compared.sheets()] == ["link: Link line", "link: Flows"]


def test_figures_have_the_schemes_on_the_axis_and_captions_with_the_seeds(compared: ControllerComparison) -> None:
    found = {each.stem: each for each in figures.figures(compared, "link")}
    assert {"link-queue-delay-mean", "total-goodput", "trade-off"} < set(found)
    chart = figures.by_scheme(compared, compared.cases, GOODPUT)
    assert (chart.names, chart.names_of_x) == (["CUBIC", "Reno", "BBRv3"], ["DropTail", "CoDel"])
    assert found["total-goodput"].caption == (
        "Goodput (Mbit/s) of CUBIC, Reno and BBRv3 under each scheme: mean and 95 % interval, n = 3 (seeds 1 to 3)."
    )
    clouds = figures.trade_off(compared, compared.cases)
    assert [panel.title for panel in clouds.panels] == ["DropTail", "CoDel"]


def test_a_report_has_each_figure_in_three_formats(aqmlab: Aqmlab, link: Path, tmp_path: Path) -> None:
    options = ("--ccs", "cubic,reno", "--aqms", "pie", "--measure", GOODPUT, "--size", "ieee1", "--out", "out")
    done = aqmlab("compare", link, *options, "--format", "latex")
    assert done.returncode == 0, done.stderr
    assert r"PIE & CUBIC & " in done.stdout
    names = {path.name for path in (tmp_path / "out").iterdir()}
    figure = {f"total-goodput.{kind}" for kind in ("pdf", "svg", "png")}
    assert names >= {"report.html", "results.json", "figures.tex", *figure}
    assert r"\caption{Goodput (Mbit/s) of CUBIC and Reno" in (tmp_path / "out" / "figures.tex").read_text()
    assert "--ccs cubic,reno" in (tmp_path / "out" / "report.html").read_text()


def test_lists_of_controllers_may_have_parameters() -> None:
    assert laws.select("cubic:beta=0.8,fast_convergence=false,reno, cubic:beta=0.8,fast_convergence=false") == (
        "cubic:beta=0.8,fast_convergence=false",
        "reno",
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--ccs", "cubic"], "ccs: cubic: expected two controllers at least, such as cubic,bbr3"),
        (["--ccs", "cubic,renno"], 'ccs: no congestion controller is called "renno"; did you mean "reno"?'),
        (["--ccs", "cubic,,reno"], "ccs: 'cubic,,reno': an empty name"),
        (["--ccs", "beta=1,cubic"], "ccs: beta=1: a parameter needs its controller before it; write NAME:beta=1"),
        (["--ccs", "cubic,reno", "--cc", "bbr3"], "law: bbr3: cannot be combined with --ccs"),
        (["--ccs", "cubic,reno", "--engines", "sim,linux"], "engines: sim,linux: cannot be combined with --ccs"),
    ],
)
def test_bad_input_is_refused(options: list[str], said: str, aqmlab: Aqmlab, link: Path) -> None:
    done = aqmlab("compare", link, "--aqms", "codel", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_suites_have_their_own_controllers(aqmlab: Aqmlab) -> None:
    done = aqmlab("compare", "--study", "rfc7928", "--ccs", "cubic,reno")
    assert (done.returncode, "ccs: cubic,reno: is for scenarios; leave out --study" in done.stderr) == (2, True)
