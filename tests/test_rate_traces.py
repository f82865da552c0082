"""Links that follow a trace: where its text comes from, that it travels, and what is refused."""

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
        lab.Simulation(cell).set("links.cell.rate", "1 Mbit/s")


def test_waiting_for_an_opportunity_is_no_use_of_a_link(cell: Path) -> None:
    # 3 packets in 10 ms, of the 6 opportunities.
    measured = run(cell, "droptail", set={"flows.udp.rate": "3.6 Mbit/s"})
    assert measured.links["cell"].utilisation == pytest.approx(0.5, abs=0.002)
    assert run(cell, "droptail").links["cell"].utilisation == pytest.approx(1, abs=0.001)


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


TABLE = """time (s),rate (Mbit/s),delay (ms),loss (%)
0,10,5,0
1,10,25,0
2,5,25,0
3,5,25,100
"""

LIGHT = """
schema = 1
duration = "{duration}"
warmup = "{warmup}"
[[links]]
name = "radio"
rate = {{ trace = "line.csv" }}
buffer = "20 packets"
[[flows]]
name = "udp"
kind = "udp-cbr"
rate = "1 Mbit/s"
packet = "1222 B"
header = "28 B"
rtt = "10 ms"
"""


def of_table(folder: Path, warmup: str, duration: str, table: str = TABLE) -> Path:
    """A scenario with 100 packets of 1250 bytes a second over a line that follows a table."""
    (folder / "line.csv").write_text(table)
    (folder / "light.toml").write_text(LIGHT.format(warmup=warmup, duration=duration))
    return folder / "light.toml"


@pytest.mark.parametrize(
    ("warmup", "duration", "received", "delay"),
    [
        ("0 s", "1 s", 100, 6e-3),  # 1 ms to send and 5 ms on the way
        ("1.5 s", "2 s", 50, 26e-3),
        ("2.5 s", "3 s", 50, 27e-3),  # 2 ms to send
        ("3.5 s", "4 s", 0, None),
    ],
)
def test_a_line_follows_its_table(
    warmup: str, duration: str, received: int, delay: float | None, tmp_path: Path
) -> None:
    flow = run(of_table(tmp_path, warmup, duration), "droptail").flows["udp"]
    assert flow.received == pytest.approx(received, abs=1)
    assert flow.packet_delay_mean == (None if delay is None else pytest.approx(delay, abs=1e-5))


def test_a_table_travels_and_is_not_repeated(tmp_path: Path) -> None:
    scenario = load(of_table(tmp_path, "0 s", "4 s"))
    (tmp_path / "line.csv").unlink()
    simulation = lab.Simulation(scenario)
    simulation.step_until(2.5)
    (tmp_path / "again.toml").write_text(simulation.to_toml())
    assert len(load(tmp_path / "again.toml").resolved()["changes"]) == len(scenario.resolved()["changes"]) == 2
    assert run(tmp_path / "again.toml", "codel").flows == run(scenario, "codel").flows


def test_a_table_is_refused_with_line_and_column(tmp_path: Path) -> None:
    with pytest.raises(lab.InputError, match=r'line 3, column "rate": "x Mbit/s" is not a number'):
        load(of_table(tmp_path, "0 s", "1 s", "time (s),rate (Mbit/s)\n0,1\n1,x\n"))


def test_what_a_table_says_is_said_once(tmp_path: Path) -> None:
    with pytest.raises(lab.InputError, match="delay: is a column of the trace too"):
        load(of_table(tmp_path, "0 s", "1 s"), {"links.radio.delay": "5 ms"})
