"""A result says which scheme each link had, and a scheme that no link takes is refused."""

from pathlib import Path

import pytest
from pyarrow import parquet

import aqmlab
from aqmlab import catalogue
from aqmlab.present.reports import engines
from aqmlab.present.tables import as_markdown
from aqmlab.runs import findings
from aqmlab.runs.engines import EngineComparison
from aqmlab.scenario import load
from conftest import Aqmlab

SCENARIO = """schema = 1
duration = "4 s"
[[links]]
name = "l"
rate = "2 Mbit/s"
buffer = "20 packets"
fixed = true
[[flows]]
name = "f"
rtt = "20 ms"
"""
EXPERIMENT = """schema = 1
title = "A link's schemes"
scenarios = ["{}"]
aqms = [{}]
"""
REFUSED = 'no link of this scenario takes a scheme: "l" is fixed; write fq-codel@l'


@pytest.fixture
def fixed(tmp_path: Path) -> Path:
    (tmp_path / "fixed.toml").write_text(SCENARIO, encoding="utf-8")
    experiment = EXPERIMENT.format("fixed.toml", '"fq-codel"')
    (tmp_path / "fixed-sweep.toml").write_text(experiment, encoding="utf-8")
    return tmp_path / "fixed.toml"


@pytest.fixture
def changing(tmp_path: Path) -> Path:
    change = '[[changes]]\nat = "2 s"\npath = "links.l.aqm"\nvalue = "codel"\n'
    (tmp_path / "changing.toml").write_text(SCENARIO.replace("fixed = true", "") + change, encoding="utf-8")
    return tmp_path / "changing.toml"


@pytest.mark.parametrize(
    ("schemes", "added"),
    [
        ([("0 s", "cake")], ""),
        ([("0 s", "cake"), ("30 s", "codel")], ", then CoDel at 30 s"),
        ([("0 s", "droptail")], " (DropTail here)"),
    ],
)
def test_a_scheme_of_a_single_link_is_compared_with_that_link_s(schemes: list[tuple[str, str]], added: str) -> None:
    for spec in ("cake", "cake@up", "cake@up+fq-codel@down"):
        assert catalogue.departs(spec, "up", schemes) == added
    assert catalogue.departs("cake@up", "down", [("0 s", "droptail")]) == " (DropTail here)"


@pytest.mark.parametrize(
    "command",
    [
        ("run", "fixed.toml", "--aqm", "fq-codel"),
        ("compare", "fixed.toml", "--aqms", "fq-codel"),
        ("sweep", "fixed-sweep.toml", "--out", "out"),
        ("tune", "fq-codel", "--scenario", "fixed.toml", "--objective", "min link.queue_mean", "--out", "tuned"),
    ],
)
def test_a_scheme_that_no_link_takes_is_refused(fixed: Path, aqmlab: Aqmlab, command: tuple[str, ...]) -> None:
    done = aqmlab(*command)
    assert (done.returncode, REFUSED in " ".join(done.stderr.split())) == (2, True), done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_wrong_with_several_schemes_alike_is_said_once(fixed: Path, aqmlab: Aqmlab) -> None:
    done = aqmlab("compare", "fixed.toml", "--aqms", "fq-codel,pie,cake:rtt=1s")
    assert (done.returncode, done.stderr) == (2, f"Error: aqm: {REFUSED}\n")


def test_python_refuses_it_too(fixed: Path) -> None:
    for ask in (aqmlab.run, aqmlab.compare):
        with pytest.raises(aqmlab.InputError, match="no link of this scenario takes a scheme"):
            ask(fixed, "fq-codel")
    with pytest.raises(aqmlab.InputError, match="no link of this scenario takes a scheme"):
        aqmlab.Simulation(fixed, "fq-codel")


def test_a_scheme_that_names_the_link_is_used(fixed: Path) -> None:
    run = aqmlab.run(fixed, "fq-codel@l")
    assert [*map(tuple, run.links["l"].schemes)] == [("0 s", "fq-codel")]
    assert [*map(tuple, aqmlab.run(fixed).links["l"].schemes)] == [("0 s", "droptail")]


def test_every_result_has_the_schemes_of_its_links_and_their_changes(changing: Path, aqmlab: Aqmlab) -> None:
    for command in (("run", "--aqm", "pie"), ("compare", "--aqms", "pie")):
        shown = aqmlab(command[0], "changing.toml", *command[1:])
        assert "PIE, then CoDel at 2 s" in " ".join(shown.stdout.split()), shown.stdout + shown.stderr
    experiment = EXPERIMENT.format("changing.toml", '"pie", "droptail"')
    (changing.parent / "sweep.toml").write_text(experiment, encoding="utf-8")
    swept = aqmlab("sweep", "sweep.toml", "--out", "out")
    assert swept.returncode == 0, swept.stderr
    rows = parquet.read_table(changing.parent / "out" / "runs.parquet").to_pylist()
    assert [row["links.l.schemes"] for row in rows] == [
        [["0 s", name], ["2 s", "codel"]] for name in (row["aqm"] for row in rows)
    ]
    table = as_markdown(findings.findings(changing.parent / "out"), ["link.queue_mean"])
    for shown in (" ".join(swept.stdout.split()), table):
        assert "PIE, then CoDel at 2 s" in shown
        assert "DropTail, then CoDel at 2 s" in shown


def test_rows_of_a_link_that_keeps_its_own_say_so(fixed: Path) -> None:
    second = '[[links]]\nname = "m"\nrate = "3 Mbit/s"\nbuffer = "20 packets"\nfixed = true\n'
    fixed.write_text(SCENARIO + second, encoding="utf-8")
    compared = aqmlab.compare(fixed, ["fq-codel@l", "codel@l"])
    assert compared.row("fq-codel@l", "l") == ""
    assert compared.row("fq-codel@l", "m") == " (DropTail here)"


def test_a_report_says_when_the_scheme_changed(changing: Path, aqmlab: Aqmlab) -> None:
    done = aqmlab("compare", "changing.toml", "--aqms", "pie", "--out", "report")
    assert done.returncode == 0, done.stderr
    page, figure = ((changing.parent / "report" / name).read_text("utf-8") for name in ("report.html", "queue.svg"))
    assert page.count('<th scope="row">PIE, then CoDel at 2 s</th>') == 3, "of the link, of the flows, of each group"
    assert "PIE, then CoDel at 2 s" in figure


def test_both_engines_say_when_the_scheme_changed(changing: Path) -> None:
    compared = aqmlab.compare(changing, "pie")
    both = EngineComparison({"sim": compared, "linux": compared})
    assert [row[0] for row in next(both.sheets()).rows] == ["PIE, then CoDel at 2 s"] * 3
    page = str(engines.files([both], "")["report.html"])
    assert (
        page.count('<th scope="row">PIE, then CoDel at 2 s</th>') == page.count('<th scope="row">linux - sim</th>') == 2
    )


def test_the_scheme_of_a_fixed_link_that_is_named_is_the_one_in_use(fixed: Path) -> None:
    scenario = load(fixed)
    assert [catalogue.used(scenario, "l", spec) for spec in (None, "pie", "pie@l")] == ["droptail", "droptail", "pie"]
