"""The response of a congestion controller: what was measured, and its tables."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import Any

from aqmlab.notebook import Result, Sheet
from aqmlab.runs.statistics import Summary
from aqmlab.runs.task import Failure
from aqmlab.study.equations import EQUATIONS, QUEUES

SEGMENT = 1000
"""Bytes of data in a segment."""

RATE, RTT = 50e6, 0.1
"""Of the path with losses or marks: bit/s, s."""

JOINS, LASTS, LOOK = 20.0, 80.0, 1.0
"""When the second flow starts, how long both run after that, and over how long their rates are means: s."""

FAIR = 0.95
"""Jain's index from which on two flows have converged."""

HELD = 3
"""Looks in a row in which the index must be that high."""


@dataclass(frozen=True)
class ResponsePoint:
    """The mean window at a probability: measured (segments, by seed), and by the equation if there is one."""

    p: float
    window: Summary | None
    equation: float | None

    @property
    def rate(self) -> Summary | None:
        """Goodput, bit/s."""
        return self.window and self.window.scaled(8 * SEGMENT / RTT)


@dataclass(frozen=True)
class RttPoint:
    """Two flows, the second with `ratio` times the round-trip time: goodputs in bit/s, and their quotient."""

    ratio: int
    first: Summary | None
    second: Summary | None
    quotient: Summary | None


@dataclass(frozen=True)
class Convergence:
    """A second flow joins: the seconds until both have equal rates, over the seeds in which they do, of `seeds`.

    `rates` are times, and the goodput of both flows in bit/s, of seed 1.
    """

    time: Summary | None
    seeds: int
    rates: Sequence[tuple[float, float, float]]


@dataclass(frozen=True)
class QueuePoint:
    """The queue of a number of flows: packets, delay in s, utilisation, ratio of drops or marks; and an equation's."""

    flows: int
    queue: Summary | None
    delay: Summary | None
    utilisation: Summary | None
    signals: Summary | None
    equation: float | None


def deviation(measured: Summary | None, equation: float | None) -> float | None:
    """Return the relative deviation of a measured mean from an equation; None without one of them."""
    return None if measured is None or not equation else measured.mean / equation - 1


@dataclass(frozen=True, repr=False)
class Response(Result):
    """The response of a controller under one scheme; points are in the order of their probability or number."""

    law: str
    aqm: str
    seeds: int
    is_marked: bool
    points: Sequence[ResponsePoint]
    fairness: Sequence[RttPoint]
    convergence: Convergence
    queues: Sequence[QueuePoint]
    runs: int
    failures: Sequence[Failure]

    @property
    def equation(self) -> str:
        """The source of the response function's equation; empty if there is none."""
        return EQUATIONS[self.law].source if self.law in EQUATIONS else ""

    @property
    def queue_equation(self) -> str:
        """The source of the queue's equation; empty if there is none."""
        return QUEUES[self.law][0] if self.law in QUEUES else ""

    @property
    def signal(self) -> str:
        """The signal of congestion: loss or mark."""
        return "mark" if self.is_marked else "loss"

    @property
    def slopes(self) -> list[float | None]:
        """The slope of the response function before each point: d log(window) / d log(p); None for the first."""
        pairs = [
            log(right.window.mean / left.window.mean) / log(right.p / left.p)
            if left.window and right.window and left.window.mean and right.window.mean
            else None
            for left, right in pairwise(self.points)
        ]
        return [None, *pairs]

    @property
    def headline(self) -> str:
        """The controller, the scheme and the seeds."""
        return f"Response of {self.law}, {self.aqm}, seeds 1 to {self.seeds}"

    def sheets(self) -> Iterator[Sheet]:
        """Return its four tables."""
        return _sheets(self)

    def json(self) -> str:
        """Return it as a JSON document."""
        return json.dumps(self.document(), indent=1)

    def document(self) -> dict[str, Any]:
        """Return it for JSON: windows in segments, rates in bit/s, times in s, queues in packets."""
        return {
            "schema": 1,
            "response": self.law,
            "aqm": self.aqm,
            "seeds": self.seeds,
            "signal": self.signal,
            "equation": self.equation or None,
            "function": [
                {
                    "p": point.p,
                    "window": _entry(point.window),
                    "rate": _entry(point.rate),
                    "slope": slope,
                    "equation": point.equation,
                    "deviation": deviation(point.window, point.equation),
                }
                for point, slope in zip(self.points, self.slopes, strict=True)
            ],
            "rtt_fairness": [
                {
                    "ratio": point.ratio,
                    "first": _entry(point.first),
                    "second": _entry(point.second),
                    "quotient": _entry(point.quotient),
                }
                for point in self.fairness
            ],
            "convergence": {"time": _entry(self.convergence.time), "seeds": self.convergence.seeds},
            "queue_equation": self.queue_equation or None,
            "queue": [
                {
                    "flows": point.flows,
                    "queue": _entry(point.queue),
                    "delay": _entry(point.delay),
                    "utilisation": _entry(point.utilisation),
                    "signals": _entry(point.signals),
                    "equation": point.equation,
                    "deviation": deviation(point.queue, point.equation),
                }
                for point in self.queues
            ],
            "failures": [str(failure) for failure in self.failures],
        }


def _entry(summary: Summary | None) -> dict[str, Any]:
    if summary is None:
        return {"n": 0, "mean": None, "interval": None}
    return {"n": summary.n, "mean": summary.mean, "interval": summary.interval}


def _sheets(response: Response) -> Iterator[Sheet]:
    """Yield the response function, RTT fairness, convergence and the queue over flows."""
    about = (
        "Seed 1." if response.seeds == 1 else f"Mean ± half-width of the 95 % interval, seeds 1 to {response.seeds}."
    )
    yield _function(response, about)
    yield Sheet(
        "RTT fairness: two flows that share a link",
        ["RTT of the second / first", "First (Mbit/s)", "Second (Mbit/s)", "First / second"],
        [
            [f"{each.ratio}", *(shown(rate, 1e-6) for rate in (each.first, each.second)), shown(each.quotient)]
            for each in response.fairness
        ],
        about=about,
    )
    yield _convergence(response, about)
    yield _queues(response, about)


def _function(response: Response, about: str) -> Sheet:
    heads = [f"p ({response.signal})", "Window (segments)", "Goodput (Mbit/s)", "Slope"]
    more = ["Equation (segments)", "Deviation (%)"] if response.equation else []
    rows = []
    for point, slope in zip(response.points, response.slopes, strict=True):
        row = [f"{point.p:g}", shown(point.window, digits=1), shown(point.rate, 1e-6), number(slope, 1, 2)]
        row += [number(point.equation, 1, 1), percent(deviation(point.window, point.equation))] if more else []
        rows.append(row)
    source = f" Equation: {response.equation}." if response.equation else ""
    return Sheet("Response function", [*heads, *more], rows, about=about + source)


def _convergence(response: Response, about: str) -> Sheet:
    found = response.convergence
    n = found.time.n if found.time else 0
    rule = (
        f"Converged: Jain's index of the goodputs is at least {FAIR:g} in {HELD} successive periods of {LOOK:g} s, "
        f"within {LASTS:g} s. "
    )
    row = [shown(found.time, digits=1), f"{n} of {found.seeds}"]
    return Sheet("Convergence: a second flow joins", ["Time (s)", "Seeds that converge"], [row], 0, about=rule + about)


def _queues(response: Response, about: str) -> Sheet:
    signals = "Mark ratio (%)" if response.is_marked else "Drop ratio (%)"
    heads = ["Flows", "Queue (packets)", "Delay (ms)", "Utilisation (%)", signals]
    more = ["Equation (packets)", "Deviation (%)"] if response.queue_equation else []
    rows = []
    for point in response.queues:
        row = [f"{point.flows}", shown(point.queue, digits=1), shown(point.delay, 1e3, 1)]
        row += [shown(point.utilisation, 100), shown(point.signals, 100)]
        row += [number(point.equation, 1, 1), percent(deviation(point.queue, point.equation))] if more else []
        rows.append(row)
    source = f" Equation: {response.queue_equation}." if response.queue_equation else ""
    return Sheet("Queue over the number of flows", [*heads, *more], rows, about=about + source)


def shown(summary: Summary | None, scale: float = 1.0, digits: int = 2) -> str:
    """Return mean and half-width of the interval as text, a dash without a value."""
    if summary is None:
        return "–"
    width = "" if summary.half_width is None else f" ±\N{NO-BREAK SPACE}{summary.half_width * scale:.{digits}f}"
    return f"{summary.mean * scale:.{digits}f}{width}"


def number(value: float | None, scale: float, digits: int) -> str:
    """Return a number as text, a dash without one."""
    return "–" if value is None else f"{value * scale:.{digits}f}"


def percent(share: float | None) -> str:
    """Return a deviation in percent with its sign, a dash without one."""
    return "–" if share is None else f"{100 * share:+.1f}"
