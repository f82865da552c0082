"""Goals: measures to make small or large, and bounds that measures must keep."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isfinite
from statistics import fmean

from aqmlab import quantities
from aqmlab._core import Scenario
from aqmlab.problems import InputError
from aqmlab.runs.measures import every, expand, heading
from aqmlab.runs.metrics import DROPS, FIRST_LINK, PLACES, Metric, find

OBJECTIVE = re.compile(r"(min|max)\s+(\S+)")
BOUND = re.compile(r"(?:s\.t\.\s*)?(\S+?)\s*(<=?|>=?)\s*(.+)")

TIMES = ("settling_time", "transient")
"""Measures that a run may never come to: it then counts as its whole duration, their lower bound."""

OVER = ("mean", "cvar")

TAIL = 0.25
"""CVaR is the mean of this share of the runs, the worst ones."""


@dataclass(frozen=True)
class Goal:
    """A measure, or the mean of those that fit a glob; `sign` is 1 where less of it is better, -1 where more is."""

    pattern: str
    sign: int

    def measures(self, scenario: Scenario) -> list[str]:
        """Return the measures of a scenario that are meant; InputError if there is none."""
        return expand([self.pattern], every(scenario), scenario.links[0])

    @property
    def heading(self) -> str:
        """Title and unit, for the head of a column."""
        return self.pattern if set(self.pattern) & set("*?[") else heading(self.metric_name)

    @property
    def metric_name(self) -> str:
        """The full name of the measure; without a place, the name at the first link."""
        return self.pattern if self.pattern.startswith((FIRST_LINK, *PLACES)) else f"link.{self.pattern}"

    def metric(self, scenario: Scenario) -> Metric:
        """Return how its values are shown."""
        return find(self.measures(scenario)[0])

    def value(self, measured: Mapping[str, float | None], scenario: Scenario) -> float | None:
        """Return its value of one run; None without a value."""
        found = [_counted(name, measured.get(name), scenario) for name in self.measures(scenario)]
        known = [value for value in found if value is not None and isfinite(value)]
        return fmean(known) if known and len(known) == len(found) else None

    def over(self, values: Sequence[float], over: str) -> float:
        """Return the mean of the values of several runs, or of the worst of them (CVaR)."""
        worst = sorted(values, key=lambda value: -self.sign * value)
        return fmean(worst[: ceil(TAIL * len(worst))] if over == "cvar" else values)


def _counted(name: str, value: float | None, scenario: Scenario) -> float | None:
    if value is not None:
        return value
    if f".{DROPS}" in name:  # a reason that never came up is not listed
        return 0.0
    return scenario.duration if name.rpartition(".")[2] in TIMES else None


@dataclass(frozen=True)
class Objective(Goal):
    """A measure to make small ("min") or large ("max")."""

    def __str__(self) -> str:
        return f"{'min' if self.sign > 0 else 'max'} {self.pattern}"


@dataclass(frozen=True)
class Constraint(Goal):
    """A measure that must not be above its bound (`sign` 1), or not below it (-1)."""

    bound: float
    text: str

    def __str__(self) -> str:
        return f"{self.pattern} {'<' if self.sign > 0 else '>'} {self.text}"

    def violation(self, value: float) -> float:
        """Return by how much a value breaks the bound, as a share of it; at most 0 if it keeps it."""
        return self.sign * (value - self.bound) / (abs(self.bound) or 1.0)


def goals(objectives: Sequence[str], bounds: Sequence[str]) -> tuple[tuple[Objective, ...], tuple[Constraint, ...]]:
    """Read "min link.queue_delay_p99" and "total.jain > 0.9"; semicolons separate several in one text."""
    parts = [part.strip() for text in objectives for part in text.split(";") if part.strip()]
    wanted = [_objective(part) for part in parts if not part.startswith("s.t.")]
    kept = [_bound(part) for part in [*(part for part in parts if part.startswith("s.t.")), *bounds]]
    if not wanted:
        raise InputError("objective", 'missing; write, for example, "min link.queue_delay_p99"')
    return tuple(dict.fromkeys(wanted)), tuple(dict.fromkeys(kept))


def _objective(text: str) -> Objective:
    found = OBJECTIVE.fullmatch(text)
    if not found:
        raise InputError("objective", f'"{text}": write min or max and a measure, such as "min link.queue_delay_p99"')
    return Objective(found[2], 1 if found[1] == "min" else -1)


def _bound(text: str) -> Constraint:
    found = BOUND.fullmatch(text.strip())
    value = quantities.number(found[3].strip()) if found else ""
    if not found or isinstance(value, str) or not isfinite(value):
        raise InputError(
            "subject-to",
            f'"{text}": write a measure, < or >, and a number, such as "total.jain > 0.9" or '
            '"link.queue_delay_p99 < 20 ms"',
        )
    return Constraint(found[1], 1 if found[2].startswith("<") else -1, value, found[3].strip())


def check(wanted: Sequence[Goal], scenarios: Sequence[Scenario]) -> None:
    """Raise InputError for a measure that a scenario does not have, and for bounds that exclude each other."""
    for goal in wanted:
        for scenario in scenarios:
            goal.measures(scenario)
    bounds = [goal for goal in wanted if isinstance(goal, Constraint)]
    for low in bounds:
        for high in bounds:
            if low.pattern == high.pattern and low.sign < 0 < high.sign and low.bound > high.bound:
                raise InputError("subject-to", f"{low} and {high}: no value can satisfy both")
