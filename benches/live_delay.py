"""Single datagrams on a live link: delay compared with the ideal link, losses, and the counters at every point.

A sender records when it sends each datagram, and the receiver's kernel when it arrives. Both ends use one clock.
"""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from struct import iter_unpack
from tempfile import TemporaryDirectory

from live_lines import Document, punctual, table, validity

SIZE = 1500
BURST = 4
SECONDS = 10

SENDER = """
import array, socket, struct, sys, time
path, apart, bursts, burst, size = sys.argv[1], *map(float, sys.argv[2:])
peer, rest, sent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), bytes(int(size) - 28 - 8), array.array("Q")
peer.connect(("server", 5000))
now = time.monotonic_ns
begin = now() + 500_000_000
for i in range(int(bursts)):
    time.sleep(max(0, begin + i * apart * 1e9 - now()) / 1e9)
    for _ in range(int(burst)):
        number = struct.pack("=Q", len(sent))
        sent.append(now())
        peer.send(number + rest)
open(path, "wb").write(sent)
time.sleep(0.5)
"""

RECEIVER = """
import socket, struct, sys, time
SO_TIMESTAMPNS = 35
hole = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
hole.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
hole.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
hole.bind(("", 5000))
with open(sys.argv[1], "wb", buffering=0) as file:
    while True:
        data, [(_, _, stamp)], *_ = hole.recvmsg(2000, 64)
        seconds, nanoseconds = struct.unpack("=qq", stamp)
        ago = time.time_ns() - (seconds * 10**9 + nanoseconds)  # the kernel's stamps follow the calendar, which jumps
        file.write(data[:8] + struct.pack("=Q", time.monotonic_ns() - ago))
"""


@dataclass(frozen=True)
class Crossing:
    """Datagrams over a link: the time of each sending and arrival (ns), and the run's document."""

    sent: Sequence[int]
    came: dict[int, int]
    document: Document

    @property
    def lost(self) -> list[int]:
        """Numbers of the datagrams that did not arrive."""
        return [number for number in range(len(self.sent)) if number not in self.came]

    def errors(self, rate: float, delay: float) -> list[float]:
        """The delay of each arrival compared with the ideal link, seconds."""
        errors, free, takes = [], 0.0, 8e9 * SIZE / rate
        for number, sent in enumerate(self.sent):
            free = max(free, sent) + takes
            if number in self.came:
                errors.append((self.came[number] - free) / 1e9 - delay)
        return errors


def cross(rate: float, seed: int = 1, *options: str) -> Crossing:
    """Send bursts over a link of 10 ms in each direction, at half its rate, at most 10 000 datagrams per second."""
    apart = max(BURST * 8 * SIZE / rate / 0.5, BURST / 10_000)
    with TemporaryDirectory() as folder:
        sent, came = Path(folder, "sent"), Path(folder, "came")
        line = ["--up", f"{rate} bit/s", "--rtt", "20ms", "--buffer", "100ms", "--seed", str(seed), *options]
        command = [sys.executable, "-c", SENDER, str(sent), *map(str, (apart, SECONDS / apart, BURST, SIZE))]
        document = punctual(line, command, shlex.join(["exec", sys.executable, "-c", RECEIVER, str(came)]))
        pairs = iter_unpack("=QQ", came.read_bytes())
        return Crossing([time for (time,) in iter_unpack("=Q", sent.read_bytes())], dict(pairs), document)


def delays() -> str:
    """One-way delay compared with the ideal link."""
    rows = []
    for name, rate in (("10 Mbit/s", 1e7), ("100 Mbit/s", 1e8), ("1 Gbit/s", 1e9)):
        crossing = cross(rate)
        errors = quantiles(crossing.errors(rate, 0.01), n=100)
        shown = [f"{1e3 * errors[share - 1]:+.3f}" for share in (1, 50, 99)]
        rows.append([name, str(len(crossing.came)), *shown, _balance(crossing), validity(crossing.document)])
    head = ["link", "datagrams", "later by, p1 (ms)", "p50 (ms)", "p99 (ms)", "accounts balance", "valid"]
    return table(head, rows)


def losses() -> str:
    """Random losses of 100 Mbit/s, twice under one seed and once under another."""
    rows, before = [], [-1]
    for share, seed in ((0.01, 1), (0.01, 1), (0.01, 2), (0.1, 1)):
        crossing = cross(1e8, seed, "--set", f"links.up.loss={share}")
        count, lost = len(crossing.sent), crossing.lost
        middle, half = count * share, 3.29 * (count * share * (1 - share)) ** 0.5
        again = "yes" if lost == before else ""
        shown = [f"{count}", f"{len(lost)}", f"{middle - half:.0f} to {middle + half:.0f}", again]
        rows.append([f"{100 * share:g} %", str(seed), *shown, _balance(crossing)])
        before = lost
    head = ["loss", "seed", "sent", "lost", "99.9 % of binomial counts", "same packets again", "accounts balance"]
    return table(head, rows)


def _balance(crossing: Crossing) -> str:
    """Whether sender, kernel (at both devices), aqmlab and receiver counted the same."""
    up = crossing.document["live"]["up"]
    lost = crossing.document["links"]["up"]["lost"] + crossing.document["links"]["up"]["dropped"]
    pairs = {
        "kernel sent, aqmlab read": (up["kernel_sent"], up["read"]),
        "sent, aqmlab read": (len(crossing.sent), up["read"] - up["multicast"]),
        "read, written and lost": (up["read"] - up["multicast"], up["written"] + lost),
        "aqmlab wrote, kernel received": (up["written"], up["kernel_received"]),
        "aqmlab wrote, received": (up["written"], len(crossing.came)),
    }
    wrong = [f"{name}: {one}, {other}" for name, (one, other) in pairs.items() if one != other]
    return "; ".join(wrong) or "yes"
