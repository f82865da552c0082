"""A line in the caller's time: the same decisions as a run and as the replay of a live run, and every misuse."""

import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import aqmlab
from aqmlab import _core
from aqmlab.line import Dropped

ROOT = Path(__file__).parent.parent
MS = 1_000_000
LINE = "rate = '8 Mbit/s'\ndelay = '10 ms'\nbuffer = '100 packets'\n"

# 12.8 Mbit/s for 8 in packets whose times are whole nanoseconds.
SCENARIO = """
schema = 1
duration = "3 s"
[[links]]
name = "up"
rate = "8 Mbit/s"
buffer = "60 packets"
ecn = true
"""
FLOWS = [(1000, 4.0, "0 s"), (500, 3.2, "130 us"), (700, 5.6, "270 us")]
GROUP = """
[[flows]]
name = "flow{number}"
kind = "udp-cbr"
rate = "{rate} Mbit/s"
packet = "{packet} B"
header = "0 B"
rtt = "10 ms"
start = "{start}"
"""
TEXT = SCENARIO + "".join(
    GROUP.format(number=number, packet=packet, rate=rate, start=start)
    for number, (packet, rate, start) in enumerate(FLOWS)
)
EVENT, REASON = {"enqueue": 0, "dequeue": 1, "drop": 2, "mark": 3}, "reason"
SCHEMES = [scheme.name for scheme in aqmlab.schemes()]


def traced(aqm: str) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, str]]]:
    """Arrivals at the link of a run (ns, flow, size), and drops (ns, flow, reason), each in order."""
    scenario = aqmlab.Scenario(TEXT, "line", [])
    trace = _core.run(scenario, aqm, 1, trace="up").trace()
    assert trace is not None
    time = np.round(np.asarray(trace["time"]) * 1e9).astype(int)
    event, sojourn = np.asarray(trace["event"]), np.asarray(trace["sojourn"])
    refused = (event == "drop") & np.isnan(sojourn)
    arrived = (event == "enqueue") | refused
    rows = list(zip(time, np.asarray(trace["flow"]), np.asarray(trace["size"]), np.asarray(trace["reason"]), strict=True))
    arrivals = [(int(at), int(flow), int(size)) for (at, flow, size, _), came in zip(rows, arrived, strict=True) if came]
    drops = [(int(at), int(flow), str(why)) for (at, flow, _, why), gone in zip(rows, event == "drop", strict=True) if gone]
    return arrivals, drops


@pytest.mark.parametrize("aqm", SCHEMES)
def test_a_line_decides_as_a_run_and_as_a_replay(aqm: str) -> None:
    arrivals, drops = traced(aqm)
    assert len(arrivals) > 4000 and drops
    path: aqmlab.Path[int] = aqmlab.Path(TEXT, aqm)
    line, records, numbered, found = path.up, [], [], []

    def note(gone: Dropped[int] | None) -> bool:
        if gone is not None:
            found.append((gone.at, numbered[gone.payload][1], gone.reason))
            records.append(record(gone.at * 1000, gone.payload, numbered[gone.payload], kind=2))
        return gone is not None

    for number, (now, flow, size) in enumerate(arrivals):
        while (due := line.next_event()) is not None and due < now:
            line.pop(due)
        numbered.append((now, flow, size))
        line.push(now, size, number, flow=flow, host=flow)
        while note(line.pop_dropped()):
            pass
    last = arrivals[-1][0]
    same = [(at, flow) for at, flow, _ in found if at <= last]
    assert same == [(at, flow) for at, flow, _ in drops if at <= last]


def record(time: int, number: int, packet: tuple[int, int, int], kind: int) -> bytes:
    """A record of a live run's log, as docs/live.md has it."""
    _, flow, size = packet
    return struct.pack("<QIIIIHBBI", time, number, flow, flow, flow, size, 0, kind, 0)
