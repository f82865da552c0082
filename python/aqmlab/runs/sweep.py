"""A sweep: the runs of an experiment, stored as they are done, and what they say together."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from aqmlab import laws
from aqmlab.names import unknown
from aqmlab.notebook import Result, Sheet
from aqmlab.problems import InputError
from aqmlab.runs import plan, warmup, workers
from aqmlab.runs.executor import Outcome, Progress, do_all
from aqmlab.runs.findings import DETAILS, USUAL, Findings, adjusted, ranked, rankings
from aqmlab.runs.measures import every, expand, heading, of_first_link, of_program
from aqmlab.runs.metrics import PROGRAM, Metric, find
from aqmlab.runs.plan import Condition, Plan, PlannedRun
from aqmlab.runs.results import RunResult
from aqmlab.runs.shards import Shard
from aqmlab.runs.statistics import more_seeds
from aqmlab.runs.store import Store, StoredRun
from aqmlab.runs.table import Case, told_states

SERIES = ("first", "all")
"""Whose time series may be recorded: of the first seed of each scenario and scheme, or of all runs."""


@dataclass(frozen=True)
class Precision:
    """Add seeds to each condition, up to `most`, until the half-width of `measure` is at most `share` of its mean."""

    measure: str
    share: float
    most: int = 100


def precision(text: str, most: int = 100) -> Precision:
    """Read "2%" (of the mean queue) or "total.goodput=2%"."""
    name, _, share = text.rpartition("=")
    number = re.fullmatch(r"\s*((?:[0-9]*\.)?[0-9]+)\s*%\s*", share)
    if not number or not 0 < float(number[1]) < 100:
        raise InputError("precision", f'{text}: expected a share of the mean, such as "2%" or "total.goodput=2%"')
    if name:
        find(name)
    return Precision(name or "link.queue_mean", float(number[1]) / 100, most)


@dataclass(frozen=True, repr=False)
class Sweep(Result, Findings):
    """A finished sweep: its folder, its plan, and the number of runs done now."""

    plan: Plan
    done_now: int
    asked: Sequence[str] = ()
    """The measures that were asked for, instead of the usual ones."""
    lost: Mapping[str, str] = field(default_factory=dict)
    """By key: why a run that was done before, and now again for its series, has failed."""
    repaired: Sequence[str] = ()
    """The files of the folder that were damaged and have been written again."""

    @property
    def failures(self) -> list[str]:
        """The runs that failed, and why."""
        return self._failures(self.lost)

    @cached_property
    def measures(self) -> Mapping[str, Metric]:
        """The measures of the summary, by name."""
        return {name: find(name) for name in self.asked or USUAL if self.asked or name not in DETAILS}

    @cached_property
    def ranked(self) -> Mapping[str, bool]:
        """The measures that schemes are ranked by, and whether more is better."""
        return ranked([*self.measures], every=bool(self.asked))

    @property
    def notes(self) -> list[str]:
        """Remarks to read before the means are trusted: the schemes that have two states, and where."""
        found = {(case, scheme): self.measured.states(case, scheme) for case in self.cases for scheme in self.schemes}
        return [told_states(f"{case.name}, {scheme}", two) for (case, scheme), two in found.items() if two]

    @property
    def headline(self) -> str:
        """Title and number of runs."""
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"{self.plan.title}, {len(self.rows)} runs{failed}"

    def sheets(self) -> Iterator[Sheet]:
        """Return the means by case and scheme."""
        rows = [
            [str(case), scheme, *(self._text(case, scheme, measure) for measure in self.measures)]
            for case in self.cases
            for scheme in self.schemes
        ]
        yield Sheet("", ["Scenario", "Scheme", *map(heading, self.measures)], rows, names=2)

    def _text(self, case: Case, scheme: str, measure: str) -> str:
        summary, metric = self.measured.summary(case, scheme, measure), self.measures[measure]
        return metric.show(summary.mean, summary.half_width) if summary else metric.show(None)

    def document(self) -> dict[str, Any]:
        """Return summaries, paired differences from the first scheme, and rankings, for JSON."""
        return {
            "schema": 1,
            "title": self.plan.title,
            "engine": self.plan.engine,
            "runs": len(self.rows),
            "done_now": self.done_now,
            "summary": adjusted([*self._entries()]),
            "ranking": {measure: vars(found) for measure, found in rankings(self, self.ranked).items()},
            "notes": self.notes,
            "failures": self.failures,
            "repaired": self.repaired,
        }

    def _entries(self) -> Iterator[dict[str, Any]]:
        for case in self.cases:
            for scheme in self.schemes:
                for measure in self.measures:
                    yield self._entry(case, scheme, measure)

    def _entry(self, case: Case, scheme: str, measure: str) -> dict[str, Any]:
        place = {"scenario": case.scenario, "set": dict(case.overrides), "aqm": scheme, "measure": measure}
        return place | self.entry(case, scheme, measure)


def sweep(
    experiment: str | os.PathLike[str] | Plan,
    out: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    executor: str | Executor | None = None,
    engine: str | None = None,
    law: laws.Law | None = None,
    resume: bool = False,
    measures: Sequence[str] = (),
    precise: Precision | None = None,
    series: str | None = None,
    shard: Shard | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Do the runs of an experiment that `out` does not hold yet, and store them there as they are done.

    `jobs` and `executor` set the place of the runs (see `workers.workers`). `engine` ("sim" or "linux") does the runs,
    and `law` (as of `run`) controls all TCP flows instead of the file's controllers. `resume` continues in a folder
    that holds a sweep. `measures` (names, with globs) are summarised instead of the usual ones. `precise` adds seeds,
    `series` ("first" or "all") records time series (see `SERIES`), and `shard` does only its part of the runs (see
    `shards.merge`). Raises InputError for bad input before anything runs, StoreError if the results cannot be stored,
    RunError if the executor is lost; whatever stops it, what is stored is intact.
    """
    if isinstance(experiment, Plan) and law is not None:
        raise InputError("law", f"{law}: this plan defines its controllers; read the experiment with another one")
    if shard and precise:
        raise InputError("shard", f"{shard}: precision looks at all runs of a condition; leave out one of them")
    asked = experiment if isinstance(experiment, Plan) else plan.read(experiment, engine=engine, law=law)
    if engine not in (None, asked.engine):
        raise InputError("engine", f"{engine}: this plan is for {asked.engine}; read the experiment with another one")
    _check(asked, executor, series)
    names = _expanded(asked, measures)
    store = Store(out)
    seeds: dict[Condition, int] = {}
    tried: set[str] = set()
    lost: dict[str, str] = {}
    with workers.workers(executor, jobs) as pool, store.held(resume=resume):
        damaged = store.damaged()
        asked = warmup.settle(asked, store, pool, _offset(progress, 0))
        store.begin(asked.files(), pool.where, asked.session() | ({"shard": str(shard)} if shard else {}))
        results = store.results()
        while True:
            runs = asked.runs(seeds)
            store.plan([run.labels() for run in runs])
            own = shard.part(runs) if shard else runs
            done = _done(results) | tried
            recorded = {run.key for run in _recorded(runs, series)}
            without = recorded - store.recorded() - tried
            missing = [run for run in own if run.key not in done or run.key in without]
            if any(run.key not in done for run in missing):
                store.unfinish()
            todo = [run.task(series=run.key in recorded) for run in missing]
            take = partial(_store, store, results, [run.key for run in missing], done, lost)
            do_all(todo, pool, take, _offset(progress, len(own) - len(missing)))
            tried |= {run.key for run in missing}
            if not precise:
                break
            found = Findings(store.folder, store.rows(results), len(runs))
            wanted = {
                each: _wanted(found, each, seeds.get(each, len(asked.seeds)), precise) for each in asked.conditions
            }
            if sum(wanted.values()) == len(runs):
                break
            seeds = wanted
        rows = store.finish(results)
        return Sweep(store.folder, rows, len(runs), asked, len(tried), names, lost, damaged)


def _check(asked: Plan, executor: str | Executor | None, series: str | None) -> None:
    """Refuse an unknown recording, the series of a command, and other machines for a command or a user's controller."""
    if series not in (None, *SERIES):
        raise unknown("series", "unknown choice", str(series), SERIES)
    if asked.law and asked.law.digest:
        workers.check_here(executor, "law", asked.law.name)
    if asked.program:
        workers.check_here(executor, "command", asked.program.command[0])
        if series:
            raise InputError("series", f"{series}: a command has no stored series; leave it out")


def _expanded(asked: Plan, patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the requested measures; measures of each scenario's first link are also called "link.METRIC".

    Of a program they are by default its own and the link's usual ones.
    """
    printed = [each.name for each in asked.program.measures] if asked.program else []
    if asked.program and not patterns:
        of_link = (name for name in USUAL if name.startswith("link.") and name not in DETAILS)
        return (*(f"{PROGRAM}{name}" for name in printed), *of_link)
    known: dict[str, None] = {}
    for scenario in {condition.case.scenario: condition.scenario for condition in asked.conditions}.values():
        names = of_program(scenario, printed) if asked.program else every(scenario)
        known.update(dict.fromkeys([*of_first_link(names, scenario.links[0]), *names]))
    return tuple(expand(patterns, list(known)))


def _done(results: Mapping[str, StoredRun]) -> set[str]:
    """The keys of the runs that need not be done. One that failed in an earlier session is tried again."""
    return {key for key, row in results.items() if row.state == "done"}


def _recorded(runs: Sequence[PlannedRun], series: str | None) -> list[PlannedRun]:
    """The runs whose series are wanted."""
    if series == "first":
        return list({run.condition: run for run in reversed(runs)}.values())
    return list(runs) if series else []


def _store(
    store: Store,
    results: dict[str, StoredRun],
    keys: Sequence[str],
    done_before: set[str],
    lost: dict[str, str],
    batch: Sequence[tuple[int, Outcome]],
) -> None:
    """Store what a batch yielded: the series first, so that a row is there only with them, then the rows that are new.

    Add these to `results`. Note in `lost` why the series of a run done before are still missing.
    """
    rows = []
    for i, outcome in batch:
        row = StoredRun.of(keys[i], outcome)
        if isinstance(outcome, RunResult) and outcome.series:
            store.record(row.key, outcome)
        elif row.error and row.key in done_before:
            lost[row.key] = row.error
        if row.key not in done_before:
            rows.append(row)
    if rows:
        store.add(rows)
        results.update((row.key, row) for row in rows)


def _wanted(found: Findings, condition: Condition, n: int, precise: Precision) -> int:
    """Return the number of seeds that a condition with `n` needs: `n` where a run has failed or has no value."""
    values = list(found.measured.values(condition.case, condition.arm.aqm, precise.measure).values())
    return more_seeds(values, precise.share, max(precise.most, n)) if len(values) == n else n


def _offset(progress: Progress | None, before: int) -> Progress | None:
    """Progress that counts what was done before."""
    return progress and (lambda done, total: progress(before + done, before + total))


def not_done(asked: Plan, out: Path | None, shard: Shard | None = None) -> list[PlannedRun]:
    """Return the runs of a plan, or of a shard of it, that a folder does not hold yet."""
    store = Store(out) if out else None
    runs = (warmup.settled(asked, store) if store else asked).runs()
    done = _done(store.results()) if store else set()
    return [run for run in (shard.part(runs) if shard else runs) if run.key not in done]
