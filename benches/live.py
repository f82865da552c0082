"""Measure live runs, and write the results to docs/live-benchmarks.md with --write.

Needs iperf3, a machine without other work, and for the kernel's shaper root:
`python benches/live.py [speed] [accuracy] [delay] [loss] [beside] [kernel] [--write]`, all by default.
"""

import json
import os
import platform
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from textwrap import fill

from live_delay import delays, losses
from live_kernel import Measures, differences, kernel, measured, shown
from live_lines import IPERF, TRIES, live, punctual, table, validity
from live_peers import htb

from aqmlab.runs import live as runs
from aqmlab.runs.live import EmulatedLine

PAGE = Path(__file__).resolve().parent.parent / "docs" / "live-benchmarks.md"

SCHEMES = ["droptail", "codel", "pie", "fq-codel", "pi", "an-aqm"]
LAWS = ["reno", "cubic"]
FLOWS = [1, 4, 16]
SEEDS = range(1, 6)


SEGMENTS = """
import socket, sys, time
UDP_SEGMENT, SIZE, COUNT = 103, 1000, 60
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.connect(("server", 5000))
peer.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, SIZE)
begin, number = time.monotonic(), 0
while True:
    number += 1
    time.sleep(max(0, begin + number * 8 * SIZE * COUNT / float(sys.argv[1]) - time.monotonic()))
    peer.send(bytes(SIZE * COUNT))
"""
"""Sends 1000-byte datagrams at a rate, as QUIC stacks do: 60 in one system call."""

TAKE = """
import socket
UDP_GRO = 104
hole = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
hole.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
hole.bind(("", 5000))
while True: hole.recv(1 << 16)
"""


def speed() -> str:
    """Throughput of a link of 2.5 Gbit/s, of one faster than the machine, and of the kernel's shaper."""
    cases = {
        f"TCP, {aqm}, link of {rate}": (aqm, rate, "-t 60")
        for rate in ("2.5Gbit/s", "40Gbit/s")
        for aqm in ("fq-codel", "pi", "droptail")
    }
    for offered in ("1G", "0"):
        name = f"UDP, 1000-byte datagrams, {'at maximum speed' if offered == '0' else '1 Gbit/s offered'}, droptail"
        cases[name] = ("droptail", "40Gbit/s", f"-u -b {offered} -l 1000 -t 60")
    rows = [_speed(name, *case) for name, case in cases.items()]
    name = "UDP, 1000-byte datagrams, 1 Gbit/s offered in segments of 60, droptail"
    command = [sys.executable, "-c", SEGMENTS, "1e9"]
    rows.append(_speed(name, "droptail", "40Gbit/s", command, shlex.join(["exec", sys.executable, "-c", TAKE])))
    peers = {
        "TCP, htb of 2.5 Gbit/s and pfifo of the kernel": ("2500mbit", "-t 6 -O 1"),
        "TCP, no shaper": ("0", "-t 6 -O 1"),
        "UDP, 1000-byte datagrams, 1 Gbit/s offered, htb of 2 Gbit/s and pfifo": ("2gbit", "-u -b 1G -l 1000 -t 6"),
    }
    for name, peer in peers.items():
        goodput = htb(*peer)
        rows.append([name, "–" if goodput is None else f"{goodput / 1e9:.2f}", *["–"] * 4])
    head = ["traffic", "goodput (Gbit/s)", "packets (1000/s)", "thread busy (%)", "late p99 (ms)", "valid"]
    return table(head, rows)


def _speed(name: str, aqm: str, rate: str, client: str | Sequence[str], serve: str = IPERF) -> list[str]:
    line = ["--rtt", "1ms", "--buffer", "10ms", "--duration", "6s", "--set", "warmup='1 s'"]
    found = live([*line, "--rate", rate, "--aqm", aqm], client, serve)
    up, group = found["live"]["up"], found["flows"]["up"]
    goodput, packets = group["goodput"] / 1e9, group["received"] / found["live"]["duration"]
    busy, late = up["processor"] / (found["live"]["duration"] + 1), 1e3 * (up["lateness_p99"] or 0)
    return [name, f"{goodput:.2f}", f"{packets / 1e3:.0f}", f"{100 * busy:.0f}", f"{late:.3f}", validity(found)]


def accuracy() -> str:
    """Rate and lateness of links that the machine can keep up with."""
    rows = []
    for rate, number in (("10Mbit/s", 1e7), ("100Mbit/s", 1e8), ("1Gbit/s", 1e9)):
        line = ["--up", rate, "--rtt", "20ms", "--buffer", "100ms", "--duration", "10s", "--set", "warmup='3 s'"]
        found = punctual([*line, "--tcp", "reno"], "-t 60 -P 4")
        # Of 1500 bytes 1448 are payload: IPv4 and TCP with time stamps take 52.
        error = found["flows"]["up"]["goodput"] / (number * 1448 / 1500) - 1
        up = found["live"]["up"]
        late = [f"{1e3 * up[key]:.3f}" for key in ("lateness_p50", "lateness_p99", "lateness_max")]
        rows.append([rate, f"{100 * error:+.2f}", *late, validity(found)])
    head = ["rate", "error of the rate (%)", "late p50 (ms)", "late p99 (ms)", "latest (ms)", "valid"]
    return table(head, rows)


CELLS = ["scheme", "controller", "flows", "goodput (Mbit/s)", "Jain", "queueing delay (ms)", "drops (%)", "agree"]


def beside() -> str:
    """20 Mbit/s, 40 ms: every scheme under every controller with each number of flows, live and simulated."""
    rows = [_cell(aqm, law, flows) for aqm in SCHEMES for law in LAWS for flows in FLOWS]
    agree = sum(row[-1] == "yes" for row in rows)
    return f"{table(CELLS, rows)}\n\n{agree} of {len(rows)} cells agree."


def _cell(aqm: str, law: str, flows: int) -> list[str]:
    """One cell: live / simulated."""
    changes = {"links.up.target": "'20 packets'", "warmup": "'5 s'"}
    line = EmulatedLine("20Mbit/s", None, "40ms", "100 packets", changes, law=law)
    for _ in range(TRIES):
        run = runs.live(
            line.scenario(),
            f"iperf3 -c server -t 300 -P {flows}".split(),
            aqm,
            serve=[IPERF],
            duration=45.0,
            sysctls=[("net.ipv4.tcp_congestion_control", law)],
            quiet_stdout=True,
        )
        if run.is_valid:
            break
    simulated = [measured(json.loads(runs.beside(run, line, aqm, seed).json())) for seed in SEEDS]
    row = agreeing([aqm, law, str(flows)], measured(run.document), mean(simulated), is_valid=run.is_valid)
    print(f"| {' | '.join(row)} |", file=sys.stderr, flush=True)
    return row


def agreeing(names: Sequence[str], live: Measures, simulated: Measures, *, is_valid: bool) -> list[str]:
    """A row: live and simulated, and whether they agree."""
    verdict = ", ".join(differences(live, simulated)) or "yes"
    return [*names, *shown(live, simulated), verdict if is_valid else f"{verdict} (the machine was late)"]


def mean(several: Sequence[Measures]) -> Measures:
    """The mean of each measure; None if a run has none."""
    found: dict[str, float | None] = {}
    for name in several[0]:
        values = [each[name] for each in several]
        numbers = [value for value in values if value is not None]
        found[name] = sum(numbers) / len(numbers) if len(numbers) == len(values) else None
    return found


PARTS: dict[str, Callable[[], str]] = {
    "speed": speed,
    "accuracy": accuracy,
    "delay": delays,
    "loss": losses,
    "beside": beside,
    "kernel": kernel,
}
TITLES = {
    "speed": "Speed",
    "accuracy": "Accuracy",
    "delay": "One-way delay",
    "loss": "Losses",
    "beside": "Live compared with simulated",
    "kernel": "Kernel compared with live and simulated",
}
NOTES = {
    "speed": (
        "iperf3's sender and receiver share the two cores with the threads that carry packets. *Thread busy* is the "
        "load of the thread from the command to the far end. For comparison, the kernel's shaper is `tc htb` on a "
        "pair of veth devices, measured in the same minutes. It adds no delay, does not split large segments, and "
        "works in the sender's system calls, not in a thread."
    ),
    "accuracy": "Four Reno flows.",
    "delay": (
        "Bursts of four 1500-byte datagrams at half the rate, at most 10 000 per second, with 10 ms of propagation. "
        "On the ideal link a datagram takes its transmission time, the queueing delay and 10 ms. The table shows the "
        "additional time from the sender's system call to the receiver's kernel time stamp. Accounts balance "
        "if the sender, the kernel at both devices, aqmlab and the receiver count the same number of packets."
    ),
    "loss": "As above, at 100 Mbit/s.",
    "beside": (
        "Live / simulated at 20 Mbit/s and 40 ms, with 100 packets of buffer and a target of 20 packets. Runs are "
        "measured for 40 s after a warm-up of 5 s. Live is one run, simulated the mean of five seeds. A cell agrees "
        "within 3 % of goodput, 0.05 of Jain's index, and 1 ms or 10 % of the mean queueing delay. Drops may differ by "
        "0.05 points or 20 %, because a flow loses only six to twenty packets in a run."
    ),
    "kernel": (
        "Kernel / live / simulated at 20 Mbit/s and 40 ms, for 30 s after a warm-up of 10 s. The kernel's qdiscs were "
        "[measured](validation-linux.md) in Linux 6.1 (user-mode Linux), with `htb` as the shaper, Ethernet headers, "
        "and netem for the delay. The live links use the same buffers and 14 B of overhead. Tolerances are as above. "
        "Each cell is a single run with few losses: if live differs from the kernel, the simulation agrees with live."
    ),
}


def _sections() -> tuple[str, dict[str, str]]:
    """The page's text before the first section, and its sections by title."""
    head, *parts = re.split(r"^## (.*)\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return head, dict(zip(parts[::2], parts[1::2], strict=True))


def main() -> None:
    """Measure the parts that are named, all by default; --write replaces their sections of the page."""
    wanted = [part for part in PARTS if part in sys.argv[1:]] or list(PARTS)
    day = datetime.now(tz=UTC).date()
    where = f"Measured on {day}, `Linux {platform.release()}`, a virtual machine with {os.cpu_count()} cores."
    for part in wanted:
        text = "\n\n".join(filter(None, [fill(NOTES[part], 130), PARTS[part](), where]))
        print(f"## {TITLES[part]}\n\n{text}\n", flush=True)
        if "--write" in sys.argv:
            head, found = _sections()
            found[TITLES[part]] = f"\n{text}\n\n"
            body = "".join(f"## {title}\n{section}" for title, section in found.items())
            PAGE.write_text(f"{head}{body.rstrip()}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
