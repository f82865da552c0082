"""Rates that follow a trace: where its text comes from, that it travels, and what is refused."""

import json
import pickle
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab.runs import sweep as sweeps
from aqmlab.runs.simulate import compare, run
from aqmlab.scenario import load
from conftest import Aqmlab

SCENARIO = """
schema = 1
duration = "3 s"
warmup = "1 s"
[[links]]
name = "cell"
rate = { trace = "traces/cell" }
buffer = "20 packets"
[[flows]]
name = "udp"
kind = "udp-cbr"
rate = "10 Mbit/s"
packet = "1472 B"
header = "28 B"
rtt = "4 ms"
"""


@pytest.fixture
def cell(tmp_path: Path) -> Path:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "cell").write_text("1\n2\n3\n4\n5\n10\n")
    (tmp_path / "cell.toml").write_text(SCENARIO)
    return tmp_path / "cell.toml"


def test_a_trace_is_read_beside_its_scenario(cell: Path) -> None:
    scenario = load(cell)
    [link] = scenario.resolved()["links"]
    assert link["rate"]["opportunities"] == 6
    assert (link["rate"]["mean"], link["rate"]["period"]) == ("7.2 Mbit/s", "10 ms")
    assert run(cell, "droptail").flows["udp"].received == pytest.approx(1200, abs=1)  # 6 in each 10 ms of 2 s
    with pytest.raises(lab.InputError, match="follows a trace"):
        lab.Simulation(cell, causal=True).set("links.cell.rate", "1 Mbit/s")


def test_a_scenario_takes_its_trace_along(cell: Path) -> None:
    scenario = load(cell)
    (cell.parent / "traces" / "cell").unlink()
    other = pickle.loads(pickle.dumps(scenario))
    assert other.resolved() == scenario.resolved()
    alone = cell.parent / "alone.toml"
    alone.write_text(scenario.text)
    assert run(alone, "codel").links == run(scenario, "codel").links


def test_a_trace_may_be_set(cell: Path) -> None:
    (cell.parent / "slow").write_text("10\n")
    setting = {"links.cell.rate": '{ trace = "slow" }'}
    assert run(cell, "droptail", set=setting).flows["udp"].received == pytest.approx(200, abs=1)
    rates = [
        each["rate"]
        for each in load("home/call", {"links.up.rate": f"{{ trace = '{cell.parent}/slow' }}"}).resolved()["links"]
    ]
    assert rates[1]["mean"] == "1.2 Mbit/s"


def test_results_hold_the_trace(cell: Path, aqmlab: Aqmlab) -> None:
    out = cell.parent / "out"
    aqmlab("compare", str(cell), "--aqms", "droptail", "--out", str(out))
    assert "cell follows traces/cell, 6 opportunities in 10 ms" in (out / "report.html").read_text(encoding="utf-8")
    again = compare(out / "cell.toml", "droptail").runs["droptail", 1]
    [first] = json.loads((out / "results.json").read_text())["runs"]
    assert again.flows["udp"].received == first["flows"]["udp"]["received"]


def test_a_sweep_over_traces_repeats_itself_anywhere(cell: Path) -> None:
    folder = cell.parent
    (folder / "slow").write_text("10\n")
    rates = ["{ trace = 'traces/cell' }", "{ trace = 'slow' }"]
    text = f'schema = 1\nscenarios = ["cell.toml"]\naqms = ["pie"]\n[set]\n"links.cell.rate" = {json.dumps(rates)}\n'
    (folder / "e.toml").write_text(text)
    sweeps.sweep(folder / "e.toml", folder / "first")
    for file in ("slow", "traces/cell", "cell.toml"):
        (folder / file).unlink()
    sweeps.sweep(folder / "first" / "experiment.toml", folder / "second")
    assert (folder / "first" / "runs.parquet").read_bytes() == (folder / "second" / "runs.parquet").read_bytes()


def test_another_trace_of_the_same_name_is_another_run(cell: Path) -> None:
    experiment = cell.parent / "e.toml"
    experiment.write_text('schema = 1\nscenarios = ["cell.toml"]\naqms = ["pie"]\n')
    [first] = sweeps.plan.read(experiment).runs()
    (cell.parent / "traces" / "cell").write_text("1\n2\n3\n4\n6\n10\n")
    [second] = sweeps.plan.read(experiment).runs()
    assert first.key != second.key


@pytest.mark.parametrize(
    ("trace", "told"),
    [
        ("1\n2\nx\n", 'line 3: "x" is not a time'),
        ("5\n4\n", "line 2: 4 ms follows 5 ms"),
        ("0\n", "ends at 0 ms"),
        ("", "is empty"),
    ],
)
def test_a_bad_trace_is_refused_with_its_line(cell: Path, trace: str, told: str) -> None:
    (cell.parent / "traces" / "cell").write_text(trace)
    with pytest.raises(lab.InputError, match=told):
        load(cell)


def test_a_trace_that_is_not_there_is_refused(cell: Path) -> None:
    (cell.parent / "traces" / "cell").unlink()
    with pytest.raises(lab.InputError, match="traces/cell: no such file"):
        load(cell)
    experiment = cell.parent / "e.toml"
    text = 'schema = 1\nscenarios = ["home/call"]\naqms = ["pie"]\n[set]\n"links.up.rate" = "{ trace = \'slow\' }"\n'
    experiment.write_text(text)
    with pytest.raises(lab.InputError, match=r"\"slow\" is not in \[traces\]"):
        sweeps.plan.read(experiment)
