"""Compare CUBIC's window after a loss, and BBR's model of a path, with their specifications.

Both are measured in stepped simulations by the values that every user can read: window, queue, and packets that arrive.
The rows are part of docs/validation-response.md.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import cbrt
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from pages import table

import aqmlab

TOLERANCE = 0.05

RATE, RTT, PACKET = 400e6, 0.04, 1500
"""Of BBR's path: bit/s, s, bytes."""
FULL = RATE / 8 / PACKET
"""Packets per second."""
BDP = FULL * RTT
"""Packets."""
STEP = 0.005
"""Seconds between looks at BBR."""
LOOK = 6
"""Steps over which a rate is counted: less than the phase of a probe, a round trip."""


@dataclass(frozen=True)
class Row:
    """A quantity: its specified value, which may be a range, and its measured value."""

    law: str
    what: str
    written: tuple[float, float]
    measured: float

    @property
    def agrees(self) -> bool:
        """Within the tolerance of the specified value."""
        low, high = self.written
        return low * (1 - TOLERANCE) <= self.measured <= high * (1 + TOLERANCE)


def exactly(value: float) -> tuple[float, float]:
    """A range of one value."""
    return value, value


def simulation(text: str) -> aqmlab.Simulation:
    """Return a simulation of one flow over one link, with DropTail."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "one.toml"
        path.write_text("schema = 1\n" + text, encoding="utf-8")
        return aqmlab.Simulation(str(path), "droptail")


# CUBIC

AFTER_A_LOSS = """
duration = "120 s"

[[links]]
name = "path"
rate = "1 Gbit/s"
buffer = "100000 packets"
loss = 0

[[flows]]
name = "one"
rtt = "100 ms"
packet = "1000 B"
"""

CUBIC = {
    "RFC": '[flows.tcp]\nvariant = "sack"\ncongestion_control = "cubic"\nhalve = "window"\ndelayed_ack = false\n',
    "Linux": 'tcp = "linux"\n',
}


def cubic(kind: str, target: int) -> list[Row]:
    """CUBIC after one loss at a window of about `target` segments (RFC 9438, 4.2)."""
    run = simulation(AFTER_A_LOSS + CUBIC[kind])

    def window() -> float:
        return float(run.flow("one", 0)["cwnd"])

    for size in (target / 4, target):  # the first loss ends slow start
        while window() < size:
            run.step_until(run.now + 0.01)
        lose(run)
    w_max = window()
    course: list[tuple[float, float]] = []
    while not course or course[-1][1] < 1.06 * w_max or len(course) < 100:
        run.step_until(run.now + 0.01)
        w_max = max(w_max, window()) if len(course) < 20 else w_max  # until the loss is known
        course.append((run.now, window()))
    least = min(size for _, size in course)
    begin = next(time for time, size in course if size <= least)
    rising = [(time - begin, size) for time, size in course if time > begin]
    crossed = [next(time for time, size in rising if size >= share * w_max) for share in (0.95, 1.05)]
    k = cbrt(0.3 * w_max / 0.4)
    plateau = next(size for time, size in rising if time >= k)
    name = f"cubic, {kind}, W_max {w_max:.0f}"
    return [
        Row(name, "window after the loss / W_max", exactly(0.7), least / w_max),
        Row(name, "K: midpoint between 0.95 and 1.05 W_max (s)", exactly(k), sum(crossed) / 2),
        Row(name, "window after K / W_max", exactly(1), plateau / w_max),
    ]


def lose(run: aqmlab.Simulation) -> None:
    """Lose what is sent next."""
    run.probe()
    run.set("links.path.loss", "100 %")
    while not run.probe().links["path"]["lost"]:
        run.step_until(run.now + 1e-4)
    run.set("links.path.loss", "0 %")


# BBR

PATH = f"""
duration = "30 s"

[[links]]
name = "path"
rate = "{RATE} bit/s"
buffer = "8 bdp"

[[flows]]
name = "one"
rtt = "{RTT} s"
packet = "1448 B"

[flows.tcp]
profile = "linux"
congestion_control = """


@dataclass(frozen=True)
class Look:
    """The path and the sender at one instant."""

    time: float
    rate: float
    """Packets sent, over what the link carries."""
    flight: float
    """Data in flight: the queue, and the product of the path if the link is full; in products of the path."""
    window: float
    """Segments."""
    sent: int
    """Packets, since the last look."""


def looks(law: str) -> list[Look]:
    """Return what is seen every few milliseconds of 30 s."""
    run = simulation(PATH + f'"{law}"\n')
    seen: list[Look] = []
    while run.now < 30 - STEP:
        run.step_until(run.now + STEP)
        link = run.probe().links["path"]
        sent = link["arrived"] + sum(look.sent for look in seen[-LOOK + 1 :])
        window = float(run.flow("one", 0)["cwnd"])
        seen.append(Look(run.now, sent / (FULL * LOOK * STEP), 1 + link["queue"] / BDP, window, link["arrived"]))
    return seen


def pipe(law: str) -> list[Row]:
    """BBR (Cardwell et al. 2016) or BBRv3 (draft-ietf-ccwg-bbr) alone on a path, from the first segment on."""
    seen = looks(law)
    v3 = law == "bbr3"
    gain = 2.0 if v3 else 2.89 + budget(2.89)  # of the window, in startup
    peak = max(seen, key=lambda look: look.flight)
    full = next(look.time for look in seen if look.flight > 1.1) + RTT
    drained = next(look.time for look in seen if look.time > peak.time and look.flight < 1.05)
    drain = [look for look in seen if peak.time < look.time < drained and look.rate < 0.9]
    rows = [
        ("growth of the data sent per round trip in startup", exactly(2), growth(seen, full - RTT)),
        ("in flight at the end of startup (BDP)", exactly(gain), peak.flight),
        ("round trips from the first full delivery rate to drain", (3, 4), rounds(seen, full, drain[0].time)),
        (
            "pacing rate in drain / bandwidth",
            exactly(0.99 * (0.5 if v3 else 0.344)),
            median(look.rate for look in drain),
        ),
    ]
    rows += probes_v3(seen) if v3 else probes([look for look in seen if 1 < look.time < 9])
    floors = list(spans(seen, lambda look: look.window < 0.75 * BDP and look.time > 1))
    floor = 0.5 * BDP if v3 else 4
    rows += [
        ("minimum window, in ProbeRTT (segments)", exactly(floor), min(look.window for look in seen if look.time > 1)),
        (
            "duration of ProbeRTT: 0.2 s at the minimum window (s)",
            exactly(0.2 + RTT * (1 - floor / BDP)),
            median(end - start for start, end in floors),
        ),
        (
            "start of ProbeRTT after the minimum RTT, measured by the SYN (s)",
            exactly(5 if v3 else 10),
            floors[0][0] - RTT,
        ),
    ]
    return [Row("BBRv3" if v3 else "BBR", *row) for row in rows]


def probes(steady: Sequence[Look]) -> list[tuple[str, tuple[float, float], float]]:
    """PROBE_BW of BBR."""
    starts = [start for start, _ in spans(steady, lambda look: look.rate > 1.1)]
    cycle = median(b - a for a, b in pairwise(starts)) / RTT
    return [
        ("maximum pacing rate in PROBE_BW / bandwidth", exactly(0.99 * 1.25), max(look.rate for look in steady)),
        ("minimum pacing rate in PROBE_BW / bandwidth", exactly(0.99 * 0.75), min(look.rate for look in steady)),
        ("duration of a cycle of eight phases (RTT)", exactly(8), cycle),
        ("maximum in flight (BDP)", exactly(1.25 + budget(1.25)), max(look.flight for look in steady)),
        ("window (BDP)", exactly(2 + budget(1)), median(look.window for look in steady) / BDP),
    ]


def probes_v3(seen: Sequence[Look]) -> list[tuple[str, tuple[float, float], float]]:
    """ProbeBW of BBRv3, between a ProbeRTT and the next."""
    floors = list(spans(seen, lambda look: look.window < 0.75 * BDP))
    cycle = [look for look in seen if floors[2][1] + 2 * RTT < look.time < floors[3][0]]
    up = [look for look in cycle if look.rate > 1.1]
    return [
        ("pacing rate in ProbeBW_UP / bandwidth", exactly(0.99 * 1.25), median(look.rate for look in up)),
        ("maximum in flight: above 1.25, in a window of 2.25 (BDP)", (1.25, 2.25), max(look.flight for look in cycle)),
        ("minimum pacing rate, in ProbeBW_DOWN / bandwidth", exactly(0.99 * 0.9), min(look.rate for look in cycle)),
        ("pacing rate in ProbeBW_CRUISE / bandwidth", exactly(0.99), median(look.rate for look in cycle)),
        ("window (BDP)", exactly(2), median(look.window for look in cycle) / BDP),
        (
            "from ProbeRTT to ProbeBW_UP: 2 s to 63 round trips and a refill (s)",
            (2, 65 * RTT),
            up[0].time - floors[2][1],
        ),
    ]


def budget(gain: float) -> float:
    """Three bursts of a millisecond, which BBR adds to a window (`bbr_quantization_budget`), BDP."""
    return 3 * gain * RATE / 8 / 1024 / PACKET / BDP


def growth(seen: Sequence[Look], end: float) -> float:
    """Data sent in a round trip, divided by the data of the one before: the median of the last four."""
    trip = round(RTT / STEP)
    until = [look.sent for look in seen if look.time <= end]
    sums = [sum(until[len(until) - i * trip : len(until) - (i - 1) * trip]) for i in range(5, 0, -1)]
    return median(b / a for a, b in pairwise(sums))


def spans(seen: Sequence[Look], holds: Callable[[Look], bool]) -> Iterator[tuple[float, float]]:
    """Yield where something begins and ceases to hold."""
    start: float | None = None
    for look in seen:
        if holds(look) and start is None:
            start = look.time
        elif not holds(look) and start is not None:
            yield start, look.time
            start = None


def rounds(seen: Sequence[Look], start: float, end: float) -> float:
    """Round trips between two instants, each as long as the queue that its first packet meets."""
    count, time = 0.0, start
    while True:
        flight = next(look.flight for look in seen if look.time >= time)
        if time + flight * RTT > end:
            return count + (end - time) / (flight * RTT)
        count, time = count + 1, time + flight * RTT


HEAD = f"""\
## Models of CUBIC and BBR

The window of CUBIC and the path model of BBR are compared with their specifications, in stepped simulations
(`validation/models.py`).

- CUBIC, after one loss at a window W_max, with round trips of 100 ms. The window is multiplied by 0.7 (RFC 9438, 4.6).
  It is back at W_max, its plateau, after K = cbrt(0.3 W_max/0.4) (4.2). "RFC" uses the controller and profile by
  the RFCs, "Linux" the kernel's.
- BBR (Cardwell et al. 2016, tcp_bbr.c) and BBRv3 (draft-ietf-ccwg-bbr-06), alone on {RATE / 1e6:.0f} Mbit/s and
  {1000 * RTT:.0f} ms. The pacing rate is 1 % below gain times bandwidth. BBR's window is gain times BDP and three
  bursts of a millisecond. Startup ends after three round trips in which the delivery rate has not grown by a quarter.
  They start with the round trip after the first full rate.

A row agrees if it is within **{100 * TOLERANCE:.0f} %** of the specification.
"""


def section() -> list[str]:
    """The lines of the page about these rows."""
    rows = all_rows()
    lines = [[row.law, row.what, specified(row), f"{row.measured:.4g}", "yes" if row.agrees else "no"] for row in rows]
    heads = ["controller", "quantity", "specified", "measured", "agrees"]
    return [HEAD, f"**{sum(row.agrees for row in rows)} of {len(rows)} rows agree.**", "", *table(heads, lines), ""]


def specified(row: Row) -> str:
    """Return the specified value or range of a row."""
    low, high = (f"{value:.4g}" for value in row.written)
    return low if low == high else f"{low} to {high}"


def all_rows() -> list[Row]:
    """Measure everything (a few seconds)."""
    rows = [row for kind in CUBIC for target in (100, 400, 1600) for row in cubic(kind, target)]
    return rows + [row for law in ("bbr", "bbr3") for row in pipe(law)]
