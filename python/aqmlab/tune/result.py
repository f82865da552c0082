"""The result of a tune: the candidates, the best or the front, and how they do under fresh seeds."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab import _core, extras
from aqmlab.notebook import Result, Sheet
from aqmlab.problems import InputError
from aqmlab.runs import workers as places
from aqmlab.runs.executor import Progress
from aqmlab.runs.statistics import Paired, Summary, paired, summarise
from aqmlab.tune.goal import Goal
from aqmlab.tune.memory import FinishedRun, remembered
from aqmlab.tune.plan import Place, TunePlan
from aqmlab.tune.search import Candidate, Search, quiet

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from optuna import Study
    from optuna.trial import FrozenTrial

PUBLISHED, DESIGNED, TUNED = "published", "design rule", "tuned"

MOST_OF_FRONT = 8
"""Members of a front that are run under fresh seeds."""

LEAST_FOR_IMPORTANCE = 12
"""Candidates from which on the importance of parameters is estimated."""


@dataclass(frozen=True)
class Rival:
    """A scheme with parameters under fresh seeds: the values of each goal by place, one a seed, None without one."""

    role: str
    spec: str
    values: Mapping[tuple[str, str], Sequence[float | None]]
    failed: str | None = None

    def known(self, place: Place, goal: Goal) -> list[float]:
        """Return the values that there are."""
        return [value for value in self.values[place.name, str(goal)] if value is not None]

    def summary(self, place: Place, goal: Goal) -> Summary | None:
        """Return mean and 95 % interval over the fresh seeds."""
        known = self.known(place, goal)
        return summarise(known) if known else None


@dataclass(frozen=True, repr=False)
class Tuned(Result):
    """A tune that is over; `wall` and `engine` in s, `importance` by objective and parameter."""

    plan: TunePlan
    trials: tuple[Candidate, ...]
    rivals: tuple[Rival, ...]
    importance: Mapping[str, Mapping[str, float]]
    used: int
    engine: float
    wall: float
    failures: tuple[str, ...] = ()

    @cached_property
    def front(self) -> list[Candidate]:
        """The best candidate, or those that no other one beats in all objectives, by the first objective."""
        signs = [goal.sign for goal in self.plan.objectives]
        found = {each.spec: each for each in reversed(self.trials) if each.feasible}  # the earliest of equals
        costs = {
            spec: tuple(sign * value for sign, value in zip(signs, each.values or (), strict=True))
            for spec, each in found.items()
        }
        kept = [
            found[spec]
            for spec, cost in costs.items()
            if not any(
                other != cost and all(o <= c for o, c in zip(other, cost, strict=True)) for other in costs.values()
            )
        ]
        ordered = sorted(kept, key=lambda each: (costs[each.spec], each.number))
        return ordered if len(signs) > 1 else ordered[:1]

    @property
    def best(self) -> Candidate | None:
        """The first of the front; None if no candidate satisfies the bounds."""
        return self.front[0] if self.front else None

    @property
    def nearest(self) -> Candidate | None:
        """The candidate that comes nearest to the bounds if none keeps them."""
        whole = [each for each in self.trials if each.whole]
        return min(whole, key=lambda each: sum(max(0.0, part) for part in each.violations), default=None)

    def difference(self, rival: Rival, place: Place, goal: Goal) -> Paired | None:
        """Return by how much a rival exceeds the published parameters under the same fresh seeds."""
        ours, theirs = (each.values[place.name, str(goal)] for each in (rival, self.rivals[0]))
        pairs = [(our, their) for our, their in zip(ours, theirs, strict=True) if our is not None and their is not None]
        return paired([our for our, _ in pairs], [their for _, their in pairs]) if pairs else None

    def unmet(self) -> str | None:
        """Say how near the best came if no candidate satisfies the bounds; None if one does."""
        if self.front or not self.plan.constraints:
            return None
        bounds = " and ".join(map(str, self.plan.constraints))
        nearest = self.nearest
        if nearest is None:
            return f"subject-to: no candidate was evaluated by all runs, so none is known to satisfy {bounds}"
        found = [(goal.pattern, nearest.measured[str(goal)]) for goal in self.plan.constraints]
        reached = ", ".join(
            f"{name} {'without a value' if value is None else f'= {value:.4g}'}" for name, value in found
        )
        few = f"none of {len(self.trials)} candidates satisfies {bounds}"
        return f"subject-to: {few}; the nearest is {nearest.spec} with {reached}"

    @property
    def headline(self) -> str:
        """The parameters to use, and the runs that it took to find them."""
        return f"{self.best.spec if self.best else 'no candidate satisfies the bounds'}, after {self.used} runs"

    def sheets(self) -> Iterator[Sheet]:
        """Return the result compared with the published parameters, under fresh seeds."""
        goals = self.plan.shown
        rows = [
            [place.name, rival.role, rival.spec, *(_text(rival.summary(place, goal)) for goal in goals)]
            for place in self.plan.shown_in
            for rival in self.rivals
        ]
        yield Sheet(
            "Results on fresh seeds", ["Scenario", "Role", "Scheme", *(goal.heading for goal in goals)], rows, names=3
        )

    def document(self) -> dict[str, Any]:
        """Return everything for JSON; only `engine` differs between repeats."""
        plan = self.plan
        return {
            **plan.document(),
            "budget": str(plan.budget),
            "repeatable": plan.budget.runs is not None,
            "held_out": {"scenarios": [each.name for each in plan.held_out], "seeds": list(plan.fresh)},
            "best": self.best.spec if self.best else None,
            "front": [{"aqm": each.spec, "values": self._named(each)} for each in self.front],
            "unmet": self.unmet(),
            "fresh": [self._rival(rival) for rival in self.rivals],
            "importance": self.importance,
            "trials": [
                {
                    "number": each.number,
                    "aqm": each.spec,
                    "values": each.measured or None,
                    "runs": each.runs,
                    "stopped": each.stopped,
                    "feasible": each.feasible,
                    "failed": each.failed,
                }
                for each in self.trials
            ],
            "runs": self.used,
            "engine": {"busy": self.engine, "wall": self.wall},
        }

    def _named(self, candidate: Candidate) -> dict[str, float | None]:
        return {str(goal): candidate.measured[str(goal)] for goal in self.plan.goals}

    def _rival(self, rival: Rival) -> dict[str, Any]:
        shown = []
        for place in self.plan.shown_in:
            for goal in self.plan.goals:
                found, less = rival.summary(place, goal), self.difference(rival, place, goal)
                shown.append(
                    {
                        "scenario": place.name,
                        "goal": str(goal),
                        "mean": found.mean if found else None,
                        "interval": found.interval if found else None,
                        "n": found.n if found else 0,
                        "less_published": less and {"mean": less.difference.mean, "interval": less.difference.interval},
                    }
                )
        return {"role": rival.role, "aqm": rival.spec, "failed": rival.failed, "values": shown}

    def json(self) -> str:
        """Return the document as text."""
        return json.dumps(self.document(), indent=1, ensure_ascii=False)


def tune(
    plan: TunePlan,
    out: Path | None = None,
    *,
    resume: bool = False,
    jobs: int | None = None,
    executor: "str | Executor | None" = None,
    progress: Progress | None = None,
) -> Tuned:
    """Search for the best parameters, and compare them with the published ones under fresh seeds.

    If `out` is given, each run is stored there as soon as it is done, and `resume` continues from the stored runs.
    """
    extras.check("optuna", *(["cmaes"] if plan.sampler == "cma-es" else []))
    if plan.law:
        places.check_here(executor, "law", "your own controller")
    started = time.perf_counter()
    about = {**plan.document(), "engine": _core.source()}
    with places.workers(executor, jobs) as pool, remembered(out, about, resume=resume) as memory:
        search = Search(plan, memory, pool, progress)
        study = search.run()
        searched = Tuned(plan, tuple(search.trials), (), _importance(study, search), search.used, 0.0, 0.0)
        rivals = _rivals(search, searched)
    failures = tuple(f"{rival.spec}: {rival.failed}" for rival in rivals if rival.failed)
    return Tuned(
        plan,
        searched.trials,
        tuple(rivals),
        searched.importance,
        search.used,
        search.engine,
        time.perf_counter() - started,
        failures,
    )


def _rivals(search: Search, found: Tuned) -> list[Rival]:
    """Run the published, the designed and the best parameters under fresh seeds."""
    plan = search.plan
    front = found.front
    step = max(1, -(-len(front) // MOST_OF_FRONT))
    tuned = [(TUNED if len(front) == 1 else f"{TUNED} {i + 1}", front[i].spec) for i in range(0, len(front), step)]
    designed = [(DESIGNED, spec)] if (spec := designed_by_rule(plan)) else []
    asked = [(PUBLISHED, plan.scheme), *designed, *tuned]
    blocks = [(place, seed) for place in plan.shown_in for seed in plan.fresh]
    runs = iter(search.measured([(place, spec, seed) for _, spec in asked for place, seed in blocks]))
    return [_rival(plan, role, spec, [next(runs) for _ in blocks]) for role, spec in asked]


def _rival(plan: TunePlan, role: str, spec: str, runs: Sequence[FinishedRun]) -> Rival:
    values: dict[tuple[str, str], list[float | None]] = {}
    blocks = [place for place in plan.shown_in for _ in plan.fresh]
    for place, done in zip(blocks, runs, strict=True):
        for goal in plan.goals:
            value = None if done.failed else goal.value(done.values, place.scenario)
            values.setdefault((place.name, str(goal)), []).append(value)
    return Rival(role, spec, values, next((done.failed for done in runs if done.failed), None))


def designed_by_rule(plan: TunePlan) -> str | None:
    """Return the parameters of the design rule in the first scenario; None without a rule or a linear model."""
    from aqmlab.analysis.design import design
    from aqmlab.analysis.network import network

    scenario = plan.places[0].scenario
    with suppress(InputError):
        spec = design(scenario.law(plan.scheme), network(scenario)).spec
        for place in plan.shown_in:
            place.scenario.parameters(spec)
        return spec
    return None


def _importance(study: "Study", search: Search) -> dict[str, dict[str, float]]:
    """Return by objective how much each parameter matters for being among the best tenth (PED-ANOVA)."""
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    whole = [trial for trial in search.trials if trial.values is not None]
    if len(search.plan.space) < 2 or len(whole) < LEAST_FOR_IMPORTANCE:
        return {}
    found = {}
    with quiet():
        for i, goal in enumerate(search.plan.objectives):

            def cost(trial: "FrozenTrial", i: int = i, sign: int = goal.sign) -> float:
                return sign * float(trial.values[i])

            found[str(goal)] = get_param_importances(study, evaluator=PedAnovaImportanceEvaluator(), target=cost)
    return found


def _text(summary: Summary | None) -> str:
    """A mean with its half-width."""
    if summary is None:
        return "–"
    return f"{summary.mean:.4g}" if summary.half_width is None else f"{summary.mean:.4g} ± {summary.half_width:.2g}"
