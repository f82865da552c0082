"""Lessons played without a browser."""

from collections.abc import Callable, Mapping
from math import isnan, nan
from statistics import fmean, pstdev
from typing import Any

from aqmlab._core import Probe
from aqmlab.runs.simulation import Simulation
from aqmlab.studio.lessons import Expected, Lesson, Try

Curve = list[tuple[float, float]]
"""Times (s) and values."""


def play(lesson: Lesson, each: Try, lane: int, seed: int = 1) -> dict[str, Curve]:
    """Do what a try says under one of its schemes; return the curves that its lesson or it names, as it samples."""
    scenario = lesson.load()
    simulation = Simulation(scenario, each.aqms[lane], seed)
    names = dict.fromkeys([*lesson.watch, *(seen.curve for seen in each.expected)])
    curves: dict[str, Curve] = {name: [] for name in names}
    steps = [step for step in each.steps if step.lane in (None, lane)]
    for sample in range(round(each.until / scenario.sample)):
        while steps and steps[0].at < (sample + 0.5) * scenario.sample:
            step = steps.pop(0)
            simulation.set(step.path, step.value)
        simulation.step_until((sample + 1) * scenario.sample)
        probe = simulation.probe()
        for name, curve in curves.items():
            curve.append((simulation.now, value(probe, name)))
    return curves


def value(probe: Probe, curve: str) -> float:
    """Return the value of a curve since the last probe; NaN if there is none."""
    kind, place, column = curve.split(".")
    if kind == "flows":
        shown: Mapping[str, Any] = probe.flows[place]
        found = shown.get({"packet_delay": "packet_delay_mean"}.get(column, column))
    else:
        link = probe.links[place]
        rates = {"drops": link["dropped"] / probe.span, "marks": link["marked"] / probe.span}
        shown = link | link["observables"] | rates | {"delay": link["queue_delay_mean"]}
        found = shown.get(column)
    return nan if found is None else float(found)


def seen(expected: Expected, curve: Curve) -> float:
    """Return what is seen of a curve."""
    within = [value for time, value in curve if expected.start < round(time, 6) <= expected.end]
    return MEASURES[expected.of]([value for value in within if not isnan(value)])


MEASURES: dict[str, Callable[[list[float]], float]] = {
    "mean": fmean,
    "min": min,
    "max": max,
    "sd": pstdev,
    "zero": lambda values: fmean(value == 0 for value in values),
}
