"""What runs take of the memory: estimated before, and bounded while they go on."""

from pathlib import Path

import pytest

from aqmlab import InputError, Scenario
from aqmlab.runs import memory
from aqmlab.runs.task import Task
from aqmlab.studio.budget import MemoryPool
from conftest import SMALL, Aqmlab
from studio_client import Alone

FLOOD = """
schema = 1
duration = "60 s"
[[links]]
name = "l"
rate = "1 Mbit/s"
buffer = "10000000 packets"
[[flows]]
name = "f"
kind = "udp-cbr"
rate = "2 Gbit/s"
rtt = "20 ms"
"""
"""A queue that grows by 160,000 packets a second, about 7 MB."""


def scenario(count: int) -> Scenario:
    """Return the small scenario with so many flows."""
    return Scenario.parse(SMALL.read_text(), "small", [("flows.ftp.count", str(count))])


def test_a_run_that_is_too_large_from_the_start_is_refused(aqmlab: Aqmlab, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = aqmlab("run", str(SMALL), "--memory", "10 kB", "--out", str(out))
    assert (done.returncode, done.stdout) == (2, "")
    assert "memory: a run would take about" in done.stderr
    assert "give --memory" in done.stderr
    assert not out.exists()


@pytest.mark.parametrize("text", ["lots", "8 ms", "0 B"])
def test_memory_is_a_size(aqmlab: Aqmlab, text: str) -> None:
    done = aqmlab("run", str(SMALL), "--memory", text)
    assert (done.returncode, done.stdout) == (2, "")
    assert f'memory: "{text}": expected a size such as "8 GB"' in done.stderr


def test_a_run_that_grows_is_ended_by_its_name(aqmlab: Aqmlab, tmp_path: Path) -> None:
    file = tmp_path / "flood.toml"
    file.write_text(FLOOD)
    for threads in "12":
        done = aqmlab("run", str(file), "--memory", "200 MB", "--threads", threads)
        assert (done.returncode, done.stdout) == (1, "")
        assert "flood" in done.stderr
        assert "more than the 0.20 GB that runs may have together" in done.stderr


def test_a_run_that_grows_ends_no_other(aqmlab: Aqmlab, tmp_path: Path) -> None:
    flood, small = tmp_path / "flood.toml", tmp_path / "small.toml"
    flood.write_text(FLOOD)
    small.write_text(SMALL.read_text())
    experiment = tmp_path / "both.toml"
    experiment.write_text('schema = 1\nscenarios = ["flood.toml", "small.toml"]\naqms = ["droptail"]\nseeds = 2\n')
    done = aqmlab("sweep", str(experiment), "--out", str(tmp_path / "out"), "--memory", "200 MB", "--jobs", "2")
    assert done.returncode == 1
    assert done.stderr.count("that runs may have together") >= 2
    assert "small" in done.stdout


def test_only_as_many_runs_as_fit_go_on_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [Task(scenario(2000), None, seed) for seed in range(8)]
    need = memory.needed(tasks)
    assert 2000 * 1500 < need < 2000 * 2500
    assert memory.slots(tasks[:1], 8) == 1
    for share, expected in ((8.5, 8), (3.5, 3), (1.1, 1)):
        monkeypatch.setattr(memory, "limit", lambda share=share: share * need)
        assert memory.slots(tasks, 8) == expected
    monkeypatch.setattr(memory, "limit", lambda: 0.9 * need)
    with pytest.raises(InputError, match=r"memory: a run would take about 0\.00"):
        memory.slots(tasks, 8)


def test_much_memory_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "WARNING", 1e5)
    tasks = [Task(scenario(300), None, seed) for seed in (1, 2)]
    with pytest.warns(memory.MemoryNotice, match=r"2 runs at once take about 0\.00"):
        memory.slots(tasks, 2)
    with pytest.warns(memory.MemoryNotice, match=r"a run takes about 0\.00"):
        memory.slots(tasks, 1)


def alone(count: int, aqms: list[str | None]) -> Alone:
    """A session of the studio under these schemes."""
    found = Alone(MemoryPool().share().hold)
    assert (
        found.ask("open", text=SMALL.read_text().replace("count = 10", f"count = {count}"), aqms=aqms)["type"]
        == "opened"
    )
    return found


def test_lanes_know_what_they_hold() -> None:
    few, many = alone(10, [None, "pie"]), alone(10_000, [None, "pie"])
    held = many.held
    assert 2 * 9_000 * 500 < held - few.held < 2 * 11_000 * 2500
    assert many.ask("mark", name="copy")["type"] == "marks"
    assert 0.7 < many.held / held - 1 < 1.1


def test_a_change_that_lanes_have_no_room_for_is_refused() -> None:
    lanes = alone(10, [None] * 8)
    [problem] = lanes.ask("set", path="flows.ftp.count", value="1000000")["problems"]
    assert problem["message"].startswith("about 15.2 GB for the lanes and marks")
    assert problem["field"] == "memory"
    assert [lane["changes"] for lane in lanes.ask("halve")["lanes"]] == [
        [{"at": 0, "path": "flows.ftp.count", "value": "5"}]
    ] * 8
