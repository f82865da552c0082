"""The warm-up of each scenario by the MSER rule, from a pilot run of each of its schemes."""

from collections.abc import Sequence
from math import ceil

from aqmlab.problems import InputError
from aqmlab.runs import plan, schemas
from aqmlab.runs.executor import Outcome, Progress, do_all
from aqmlab.runs.plan import Condition, Plan, PlannedRun
from aqmlab.runs.statistics import mser
from aqmlab.runs.store import WARMUP, Store
from aqmlab.runs.task import Failure, RunError
from aqmlab.runs.workers import Workers

SEED = 1
"""Seed of the pilot runs."""


def settle(asked: Plan, store: Store, workers: Workers, progress: Progress | None) -> Plan:
    """Return the plan with its warm-ups; where they are left to MSER, do the pilot runs that `store` lacks.

    Raises InputError where a queue does not settle within the first half of the run, RunError if a pilot run fails.
    """
    if asked.warmup != schemas.MSER:
        return asked
    known: dict[str, float | None] = store.read(WARMUP) or {}
    runs = {run.key: run for run in _pilots(asked)}

    def take(batch: Sequence[tuple[int, Outcome]]) -> None:
        for i, outcome in batch:
            key, run = missing[i]
            if isinstance(outcome, Failure):
                raise RunError(f"warmup: the pilot run of {run.condition.name} failed: {outcome.reason}")
            series = outcome.series[run.condition.case.link]
            known[key] = mser(series["time"], series["queue"])  # type: ignore[arg-type]
        store.write(WARMUP, known)

    missing = [(key, run) for key, run in runs.items() if key not in known]
    do_all([run.task(series=True) for _, run in missing], workers, take, progress)
    return plan.with_warmup(asked, _longest(asked, known))


def settled(asked: Plan, store: Store) -> Plan:
    """Return the plan with its warm-ups if their pilot runs have been done, else unchanged."""
    known: dict[str, float | None] = store.read(WARMUP) or {}
    if asked.warmup != schemas.MSER or any(run.key not in known for run in _pilots(asked)):
        return asked
    return plan.with_warmup(asked, _longest(asked, known))


def _longest(asked: Plan, known: "dict[str, float | None]") -> dict[str, str]:
    """Return the warm-up of each scenario: the longest of its schemes, so that they are measured alike."""
    found: dict[str, int] = {}
    for run in _pilots(asked):
        name = run.condition.case.scenario
        found[name] = max(found.get(name, 0), _seconds(run.condition, known[run.key]))
    return {name: f"{seconds} s" for name, seconds in found.items()}


def _pilots(asked: Plan) -> list[PlannedRun]:
    return [PlannedRun(condition, SEED) for condition in asked.conditions]


def _seconds(condition: Condition, suggested: float | None) -> int:
    duration = condition.scenario.duration
    seconds = None if suggested is None else ceil(round(suggested, 9))
    if seconds is None or seconds > duration / 2:
        raise InputError(
            "warmup",
            f"{condition.name}: by the MSER rule the queue does not settle within the first half of the run "
            f"({duration:g} s); make the duration longer, or give the warm-up as a time",
        )
    return seconds
