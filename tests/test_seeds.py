"""Seeds that change nothing, and starts that are drawn so that they do."""

from pathlib import Path

import aqmlab as lab
from aqmlab.runs import plan
from conftest import SMALL, Aqmlab

WIDE = """
schema = 1
duration = "1 s"
[[links]]
rate = "10 Gbit/s"
buffer = "1000 packets"
[[flows]]
count = 400
rtt = "200 ms"
start_spread = 1
tcp = { profile = "linux", initial_window = "1 packet" }
"""


def test_seeds_that_change_nothing_are_told() -> None:
    """Fixed round trips and starts, and schemes that draw nothing: each seed is the same run."""
    same = lab.compare(SMALL, "droptail,codel,red", seeds=3)
    assert same.repeated == ("droptail", "codel")  # RED draws
    assert "All 3 seeds gave the same run under DropTail, CoDel" in same.notes[0]
    assert "±" not in same.text("droptail", "total.goodput")
    assert "±" in same.text("red", "total.goodput")
    jittered = lab.compare(SMALL, "droptail,codel", seeds=3, set={"flows.*.start_spread": "1"})
    assert (jittered.repeated, jittered.notes) == ((), [])
    assert "±" in jittered.text("droptail", "total.goodput")
    assert lab.compare(SMALL, "droptail").notes == []


def test_jitter_is_a_value_of_the_scenario(aqmlab: Aqmlab, tmp_path: Path) -> None:
    by_option = aqmlab("compare", str(SMALL), "--aqms", "droptail", "--seeds", "2", "--jitter")
    by_value = aqmlab("compare", str(SMALL), "--aqms", "droptail", "--seeds", "2", "--set", "flows.*.start_spread=1")
    assert by_option.stdout == by_value.stdout
    assert "flows.*.start_spread=1" in by_option.stdout
    assert (
        "the same run under every scheme" in aqmlab("compare", str(SMALL), "--aqms", "droptail", "--seeds", "2").stdout
    )
    (tmp_path / "e.toml").write_text(f'schema = 1\nscenarios = ["{SMALL}"]\naqms = ["droptail"]\nseeds = 2\n')
    plain, jittered = plan.read(tmp_path / "e.toml"), plan.read(tmp_path / "e.toml", (("flows.*.start_spread", "1"),))
    assert jittered.overrides == {"flows.*.start_spread": ("1",)}
    assert plain.runs()[0].key != jittered.runs()[0].key
    refused = aqmlab("compare", "--study", "rfc7928", "--jitter")
    assert refused.returncode == 2


def test_starts_are_spread_evenly_over_a_round_trip(tmp_path: Path) -> None:
    """A flow's first packet arrives 100 ms after its start: by 200 ms those of half of the flows, by 300 ms all."""
    (tmp_path / "wide.toml").write_text(WIDE)
    simulation = lab.Simulation(tmp_path / "wide.toml", "droptail", seed=2)
    received = []
    for time in (0.1, 0.2, 0.3):
        simulation.step_until(time)
        received.append(simulation.probe().flows["flows"]["received"])
    assert received[0] <= 2
    assert 160 < sum(received[:2]) < 240  # four standard deviations of 10
    assert 399 <= sum(received) <= 401
