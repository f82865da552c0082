"""Measures where flows, rates and kinds differ, by hand."""

from pathlib import Path

import pytest

import aqmlab
from aqmlab.runs.results import RunResult

HEAD = 'schema = 1\nduration = "21 s"\nwarmup = "1 s"\n'
LINK = '[[links]]\nname = "line"\nrate = "100 Mbit/s"\nbuffer = "200 packets"\n'
NEAR = '[[flows]]\nname = "near"\nkind = "udp-cbr"\nrate = "1 Mbit/s"\nrtt = "10 ms"\n'
FAR = '[[flows]]\nname = "far"\nkind = "udp-cbr"\nrate = "10 kbit/s"\nrtt = "300 ms"\n'
BOTH = """
[[flows]]
name = "both"
kind = "udp-cbr"
count = 2
rate = "1 Mbit/s"
rtt = { values = ["20 ms", "60 ms"] }
start = { values = ["1 ms", "5 ms"] }
"""
BULK = '[[flows]]\nname = "bulk"\ncount = 20\nrtt = "20 ms"\ntcp = "linux"\n'
PING = '[[flows]]\nname = "ping"\nkind = "udp-cbr"\nrate = "30 kbit/s"\npacket = "72 B"\nrtt = "20 ms"\n'


def run(folder: Path, *parts: str, aqm: str | None = None) -> RunResult:
    """Run a scenario of these parts."""
    file = folder / "defined.toml"
    file.write_text("".join((HEAD, *parts)), encoding="utf-8")
    return aqmlab.run(str(file), aqm)


def test_each_packet_has_its_own_way_back(tmp_path: Path) -> None:
    """99 % of the packets take 10 ms; of two flows' packets half take 20 ms and half 60 ms."""
    found = run(tmp_path, LINK, NEAR, FAR)
    assert found.total.rpm == pytest.approx(60 / 0.0101, rel=0.01)
    assert found.total.qoo_gaming == 100
    rpm = run(tmp_path, LINK, BOTH).flows["both"].rpm
    assert rpm == pytest.approx(60e3 / ((0.5 * 20 + 0.45 * 60) / 0.95), rel=0.01)


def test_round_trips_that_differ_are_no_variation_of_delay(tmp_path: Path) -> None:
    """RFC 5481: packets of a flow are compared with the least delay of that flow."""
    found = run(tmp_path, LINK, NEAR, FAR, BOTH)
    for flows in (*found.flows.values(), found.total):
        assert flows.packet_delay_variation_p99 is not None
        assert flows.packet_delay_variation_p99 < 0.5e-3


def test_utilisation_is_bits_over_what_could_be_carried(tmp_path: Path) -> None:
    """6 of 10 Mbit/s for 10 s, then 5 of 5: the link is busy for 0.8 of the time and carries 11 of 15."""
    link = '[[links]]\nname = "line"\nrate = [["0 s", "10 Mbit/s"], ["11 s", "5 Mbit/s"]]\nbuffer = "20 packets"\n'
    found = run(tmp_path, link, NEAR.replace("1 Mbit/s", "6 Mbit/s")).links["line"]
    assert found.utilisation == pytest.approx(11 / 15, abs=0.001)
    assert found.utilisation == pytest.approx(1 - found.capacity_unused / found.capacity, abs=0.001)


def test_long_transfers_are_compared_with_each_other_only(tmp_path: Path) -> None:
    """Twenty equal transfers and a ping: 1, not 20/21."""
    found = run(tmp_path, LINK, BULK, PING, aqm="fq-codel")
    assert found.total.jain == pytest.approx(1, abs=0.001)
    assert found.total.jain == found.flows["bulk"].jain
    assert run(tmp_path, LINK, PING).total.jain is None


@pytest.mark.parametrize("block_ack", ["32 us", "500 us"])
def test_a_packet_is_received_as_its_frame_ends(tmp_path: Path, block_ack: str) -> None:
    """1 ms of propagation, at most a few slots, and a frame of less than 150 us; the block ACK comes after that."""
    cell = f'[wifi]\nblock_ack = "{block_ack}"\n[[stations]]\nname = "a"\nrate = "144.4 Mbit/s"\n'
    flow = '[[flows]]\nname = "down"\nkind = "udp-cbr"\nstations = "a"\nrate = "120 kbit/s"\n'
    flow += 'packet = "1472 B"\nrtt = "2 ms"\n'
    delay = run(tmp_path, cell, flow).flows["down"].packet_delay_p50
    assert delay == pytest.approx(1.126e-3, abs=0.02e-3)


def test_small_packets_do_not_lock_the_low_latency_queue_out(tmp_path: Path) -> None:
    """100 ms at 50 Mbit/s are 9,765 packets of 64 B: the preset's buffer is that of docsis-lld's two queues."""
    link = '[[links]]\nname = "up"\npreset = "docsis-up"\n'
    flood = '[[flows]]\nname = "flood"\nkind = "udp-cbr"\nrate = "80 Mbit/s"\n'
    flood += 'packet = "36 B"\nheader = "28 B"\nrtt = "20 ms"\n'
    game = FAR.replace("far", "game").replace("10 kbit/s", "200 kbit/s") + 'packet = "150 B"\ndscp = 45\n'
    found = run(tmp_path, link, flood, game)
    assert found.flows["game"].dropped == 0
    assert found.flows["flood"].dropped > 0
