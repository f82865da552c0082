"""The plan of a tune, read and checked before anything runs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from aqmlab import _core, laws, own
from aqmlab._core import Scenario
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.runs import MOST_SEEDS
from aqmlab.runs.checks import check_schemes
from aqmlab.scenario import assignments
from aqmlab.tune.goal import OVER, Constraint, Objective, check, goals
from aqmlab.tune.space import Dimension, space

SAMPLERS = ("tpe", "cma-es", "nsga-iii", "random")

BUDGET = "200 runs"
SEEDS, HELD_OUT_SEEDS = 5, 10

SETTING = re.compile(r":(?=[\w.*-]+=)")
"""The separator between a scenario and its settings: li2014/table-1:flows.ftp.count=250."""


@dataclass(frozen=True)
class Budget:
    """The end of a search: after so many runs, or so many seconds."""

    runs: int | None = None
    seconds: float | None = None

    def __str__(self) -> str:
        return f"{self.runs} runs" if self.runs is not None else f"{self.seconds:g} s"

    @classmethod
    def read(cls, text: str) -> "Budget":
        """Read "200 runs" or "120 s"."""
        if found := re.fullmatch(r"\s*([0-9]{1,9})\s*runs?\s*", text):
            return cls(runs=int(found[1]))
        value = _core.quantity(text)
        if value is None or value[1] != "s" or value[0] <= 0:
            raise InputError(
                "budget", f'"{text[:60]}": write a number of runs or a time, such as "200 runs" or "120 s"'
            )
        return cls(seconds=value[0])


@dataclass(frozen=True)
class Place:
    """A scenario as requested, with its settings."""

    name: str
    scenario: Scenario

    @classmethod
    def read(cls, text: str, settings: Mapping[str, str], law: laws.Law | None = None) -> "Place":
        """Read "li2014/table-1" or "li2014/table-1:flows.ftp.count=250,duration=50 s"."""
        source, *pairs = SETTING.split(text, maxsplit=1)
        own_settings = assignments(re.split(r",(?=[\w.*-]+=)", pairs[0])) if pairs else {}
        return cls(text, laws.load_with(source, {**settings, **own_settings}, law))


@dataclass(frozen=True)
class TunePlan:
    """A search: the scheme with its fixed parameters, the scenarios, the goals, the ranges and the sampler."""

    scheme: str
    places: tuple[Place, ...]
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    space: tuple[Dimension, ...]
    budget: Budget
    seeds: int
    sampler: str
    over: str
    seed: int
    held_out: tuple[Place, ...]
    held_out_seeds: int
    law: str | None = None
    """The digest of the code of the user's controller, if all TCP flows have one."""

    def __repr__(self) -> str:
        return f"<TunePlan: {self.scheme}, {len(self.space)} parameters, {len(self.places)} scenarios, {self.budget}>"

    @property
    def goals(self) -> tuple[Objective | Constraint, ...]:
        """Objectives, then constraints."""
        return (*self.objectives, *self.constraints)

    @property
    def shown(self) -> list[Objective | Constraint]:
        """The goals, each measure once."""
        return list({goal.pattern: goal for goal in reversed(self.goals)}.values())[::-1]

    @cached_property
    def blocks(self) -> list[tuple[Place, int]]:
        """The scenarios and seeds that a candidate is judged by, the same for all: all scenarios with seed 1 first."""
        return [(place, seed) for seed in range(1, self.seeds + 1) for place in self.places]

    @property
    def fresh(self) -> range:
        """The seeds that were not trained with."""
        return range(self.seeds + 1, self.seeds + self.held_out_seeds + 1)

    @property
    def shown_in(self) -> list[Place]:
        """The scenarios of fresh seeds: the scenarios of the search, and the held-out ones."""
        return [*self.places, *self.held_out]

    def document(self) -> dict[str, Any]:
        """Return the inputs that determine the runs of the search, for JSON."""
        return {
            "schema": 1,
            "aqm": self.scheme,
            "scenarios": [place.name for place in self.places],
            "set": {place.name: dict(place.scenario.overrides) for place in self.places},
            "objectives": [str(each) for each in self.objectives],
            "subject_to": [str(each) for each in self.constraints],
            "parameters": {each.name: each.document() for each in self.space},
            "seeds": self.seeds,
            "sampler": self.sampler,
            "over": self.over,
            "seed": self.seed,
            **({"law": self.law} if self.law else {}),
        }


def plan(
    scheme: own.Scheme,
    scenarios: Sequence[str],
    objectives: Sequence[str],
    *,
    subject_to: Sequence[str] = (),
    parameters: Sequence[str] | None = None,
    ranges: Mapping[str, str] | None = None,
    budget: str = BUDGET,
    seeds: int = SEEDS,
    sampler: str | None = None,
    over: str = "mean",
    seed: int = 1,
    held_out: Sequence[str] = (),
    held_out_seeds: int = HELD_OUT_SEEDS,
    set: Mapping[str, str] | None = None,
    law: laws.Law | None = None,
) -> TunePlan:
    """Read and check everything; the sampler is TPE for one objective, NSGA-III for several, unless it is named.

    `law` (as of `aqmlab.run`) is the congestion control of all TCP flows.
    """
    if not scenarios:
        raise InputError("scenario", "missing; name the scenarios to tune for, such as --scenario li2014/table-1")
    [spec] = own.select([scheme])
    places = [Place.read(text, set or {}, law) for text in dict.fromkeys(scenarios)]
    outside = [Place.read(text, set or {}, law) for text in dict.fromkeys(held_out)]
    for place in outside:
        if place.name in {each.name for each in places}:
            raise InputError("held-out", f"{place.name}: is among the scenarios of the search; name another")
    for place in [*places, *outside]:
        check_schemes(place.scenario, [spec])
    wanted, kept = goals(objectives, subject_to)
    check([*wanted, *kept], [place.scenario for place in [*places, *outside]])
    dimensions = space(spec, [place.scenario for place in places], parameters, ranges or {})
    asked = TunePlan(
        spec,
        tuple(places),
        wanted,
        kept,
        dimensions,
        Budget.read(budget),
        seeds,
        sampler or ("nsga-iii" if len(wanted) > 1 else "tpe"),
        over,
        seed,
        tuple(outside),
        held_out_seeds,
        None if law is None else laws.digest(law),
    )
    _check(asked)
    return asked


def _check(asked: TunePlan) -> None:
    for option, value, least in (("seeds", asked.seeds, 1), ("held-out-seeds", asked.held_out_seeds, 2)):
        if not least <= value <= MOST_SEEDS:
            raise InputError(option, f"{value}: out of range; {least} to {MOST_SEEDS}")
    if asked.over not in OVER:
        raise unknown("over", "unknown", asked.over, OVER)
    if asked.sampler not in SAMPLERS:
        raise unknown("sampler", "unknown sampler", asked.sampler, SAMPLERS)
    if asked.sampler == "cma-es":
        if len(asked.objectives) > 1 or asked.constraints:
            raise InputError("sampler", "cma-es: takes one objective and no bounds; use tpe, or nsga-iii for several")
        if len(asked.space) < 2 or any(each.choices for each in asked.space):
            raise InputError("sampler", "cma-es: needs two numbers at least, and no words; use tpe")
    if asked.budget.runs is not None and asked.budget.runs < 2 * len(asked.blocks):
        raise InputError(
            "budget",
            f"{asked.budget}: two candidates take {2 * len(asked.blocks)} runs, one for each of "
            f"{len(asked.places)} scenarios and {asked.seeds} seeds; give more runs or fewer seeds",
        )
