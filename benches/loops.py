"""Measure the fluid model and the linear analysis, in this process: their time is without the start of a process."""

import time
from collections.abc import Callable, Mapping

import aqmlab
from aqmlab._core import fluid

ROUNDS = 5
CASES: Mapping[str, tuple[str, float]] = {
    "fluid model, PI, 100 s": ("li2014/table-1, one class of flows", 0.05),
    "stability map, PI": ("100 × 100 points of RTT and flows, 45 Mbit/s", 10),
}
"""The measurement, its case, and the maximum time in seconds."""


def analysis_times() -> dict[str, list[float]]:
    """Return the seconds of each case, by round."""
    world = aqmlab.load("li2014/table-1")
    acts: dict[str, Callable[[], object]] = {
        "fluid model, PI, 100 s": lambda: fluid(world, "pi"),
        "stability map, PI": lambda: aqmlab.analyse(
            "pi", rate="45 Mbit/s", rtt="80 ms", flows=60, map=["rtt", "flows"]
        ),
    }
    return {name: [_spent(act) for _ in range(ROUNDS)] for name, act in acts.items()}


def _spent(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start
