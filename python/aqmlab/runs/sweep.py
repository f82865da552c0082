"""A sweep: the runs of an experiment, stored as they are done, and what they say together."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from aqmlab._core import InputError
from aqmlab.names import unknown
from aqmlab.runs import executors, plan, warmup
from aqmlab.runs.batch import Progress
from aqmlab.runs.dispatch import do_all
from aqmlab.runs.executors import Done
from aqmlab.runs.metrics import LINK_METRICS, Metric, Shown
from aqmlab.runs.plan import Cell, Experiment, Run
from aqmlab.runs.statistics import Paired, Ranking, Summary, branches, holm, more_seeds, paired, rank, summarise
from aqmlab.runs.store import Store

SERIES = ("first", "all")
"""Whose time series may be recorded: of the first seed of each scenario and scheme, or of all runs."""

RATE = Shown(1e-6, "Mbit/s", 2)
OF_LINK = {metric.name: metric for metric in LINK_METRICS}
MEASURES = {
    **{f"link.{name}": OF_LINK[name] for name in ("utilisation", "drop_ratio", "queue_mean", "queue_delay_mean")},
    "total.goodput": Metric("goodput", "Goodput", "bit/s", "payload received by all flows", RATE),
    "total.jain": Metric("jain", "Jain", "1", "Jain's index of the flows' goodput", Shown(1, "1", 3)),
}
"""What a summary shows; link is the first link of a scenario."""

BETTER = {"link.drop_ratio": False, "link.queue_delay_mean": False, "total.goodput": True, "total.jain": True}
"""What schemes are ranked by, and whether more is better."""


@dataclass(frozen=True)
class Precision:
    """Add seeds to each cell until the half-width of `measure` is at most `share` of its mean, or there are `most`."""

    measure: str
    share: float
    most: int = 100


def precision(text: str, most: int = 100) -> Precision:
    """Read "2%" (of the mean queue) or "total.goodput=2%"."""
    name, _, share = text.rpartition("=")
    number = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*%\s*", share)
    if not number or not 0 < float(number[1]) < 100:
        raise InputError(f'precision: {text}: expected a share of the mean, such as "2%" or "total.goodput=2%"')
    if name and name not in MEASURES:
        raise unknown("precision", "no measure", name, MEASURES)
    return Precision(name or "link.queue_mean", float(number[1]) / 100, most)


@dataclass(frozen=True)
class Sweep:
    """A finished sweep: its rows in order, as `store.load_experiment` returns them, and how many were done now."""

    experiment: Experiment
    rows: Sequence[Mapping[str, Any]]
    done_now: int
    lost: Mapping[str, str] = field(default_factory=dict)
    """By key: why a run that was done before, and now again for its series, has failed."""

    @property
    def failures(self) -> list[str]:
        """The runs that failed, and why."""
        return [
            f"{cell.name}, seed {seed}: {row['error'] or self.lost[row['key']]}"
            for cell, runs in self._runs.items()
            for seed, row in runs.items()
            if row["state"] == "failed" or row["key"] in self.lost
        ]

    @cached_property
    def _runs(self) -> Mapping[Cell, Mapping[int, Mapping[str, Any]]]:
        """The rows by cell and seed."""
        found = {row["key"]: row for row in self.rows}
        seeds = sorted({row["seed"] for row in self.rows})
        return {
            cell: {seed: found[key] for seed in seeds if (key := Run(cell, seed).key) in found}
            for cell in self.experiment.cells
        }

    def values(self, cell: Cell, measure: str) -> dict[int, float]:
        """Return a measure of a cell by seed, where it has a value."""
        column = _column(cell, measure)
        return {seed: row[column] for seed, row in self._runs[cell].items() if row.get(column) is not None}

    def summary(self, cell: Cell, measure: str) -> Summary | None:
        """Return mean and 95 % interval over the seeds, None if no seed has a value."""
        values = self.values(cell, measure)
        return summarise(list(values.values())) if values else None

    def difference(self, cell: Cell, other: Cell, measure: str) -> Paired | None:
        """Return what `cell` has more than `other` under the seeds they share; None if there is none."""
        ours, theirs = self.values(cell, measure), self.values(other, measure)
        seeds = [seed for seed in ours if seed in theirs]
        return paired([ours[seed] for seed in seeds], [theirs[seed] for seed in seeds]) if seeds else None

    @property
    def notes(self) -> list[str]:
        """What must be read before the means are trusted: which schemes have two states where."""
        queues = {cell: list(self.values(cell, "link.queue_mean").values()) for cell in self.experiment.cells}
        return [
            f"{cell.name} has two states: mean queue {two[0].mean:.0f} packets in {two[0].n} of {len(queues[cell])} "
            f"seeds, {two[1].mean:.0f} in the others. A mean over all seeds describes neither."
            for cell in self.experiment.cells
            if (two := branches(queues[cell]))
        ]

    @property
    def blocks(self) -> dict[Any, list[Cell]]:
        """The cells by scenario with overrides, in order."""
        found: dict[Any, list[Cell]] = {}
        for cell in self.experiment.cells:
            found.setdefault(cell.block, []).append(cell)
        return found

    def ranking(self, measure: str) -> Ranking | None:
        """Rank the schemes over all scenarios in which each has a value; None if there are too few."""
        blocks = [[self.summary(cell, measure) for cell in cells] for cells in self.blocks.values()]
        whole = [[summary.mean for summary in block if summary] for block in blocks if all(block)]
        aqms = [arm.aqm for arm in self.experiment.arms]
        means = {aqm: [block[i] for block in whole] for i, aqm in enumerate(aqms)}
        return rank(means, higher_is_better=BETTER[measure])

    def document(self) -> dict[str, Any]:
        """Return summaries, paired differences from the first scheme, and rankings, for JSON."""
        rankings = {measure: self.ranking(measure) for measure in BETTER}
        return {
            "schema": 1,
            "title": self.experiment.title,
            "runs": len(self.rows),
            "done_now": self.done_now,
            "summary": _adjusted([*self._entries()]),
            "ranking": {measure: vars(found) for measure, found in rankings.items() if found},
            "notes": self.notes,
            "failures": self.failures,
        }

    def _entries(self) -> Iterator[dict[str, Any]]:
        for cells in self.blocks.values():
            for cell in cells:
                for measure in MEASURES:
                    yield self._entry(cell, cells[0], measure)

    def _entry(self, cell: Cell, first: Cell, measure: str) -> dict[str, Any]:
        summary = self.summary(cell, measure)
        than = None if cell is first else self.difference(cell, first, measure)
        return {
            "scenario": cell.world.name,
            "set": dict(cell.overrides),
            "aqm": cell.arm.aqm,
            "measure": measure,
            "unit": MEASURES[measure].unit,
            "n": summary.n if summary else 0,
            "mean": summary.mean if summary else None,
            "interval": summary.interval if summary else None,
            "more_than_first": {
                "mean": than.difference.mean,
                "interval": than.difference.interval,
                "p": than.p,
                "p_holm": None,
                "effect": than.effect,
            }
            if than
            else None,
        }


def _adjusted(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add to each difference its p-value after Holm, over all differences in its measure."""
    for measure in MEASURES:
        found = [entry["more_than_first"] for entry in entries if entry["measure"] == measure]
        tested = [than for than in found if than and than["p"] is not None]
        for than, p in zip(tested, holm([than["p"] for than in tested]), strict=True):
            than["p_holm"] = p
    return entries


def sweep(
    experiment: str | os.PathLike[str] | Experiment,
    out: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    executor: str | Executor | None = None,
    resume: bool = False,
    precise: Precision | None = None,
    series: str | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Do the runs of an experiment that `out` does not hold yet, and store them there as they are done.

    `jobs` and `executor` say where (see `executors.executor`), `resume` goes on in a folder that holds a sweep,
    `precise` adds seeds, `series` ("first" or "all") records time series (see `SERIES`). Raises InputError for bad
    input before anything runs, StoreError if the results cannot be stored, RunError if the executor is lost; whatever
    stops it, what is stored is intact.
    """
    if series not in (None, *SERIES):
        raise unknown("series", "unknown choice", str(series), SERIES)
    asked = experiment if isinstance(experiment, Experiment) else plan.read(experiment)
    store = Store(out)
    seeds: dict[Cell, int] = {}
    tried: set[str] = set()
    lost: dict[str, str] = {}
    with executors.executor(executor, jobs) as workers, store.held(resume=resume):
        asked = warmup.settle(asked, store, workers, _offset(progress, 0))
        store.begin(asked.files(), workers.where)
        while True:
            runs = asked.runs(seeds)
            store.plan([run.labels() for run in runs])
            done = _done(store) | tried
            recorded = {run.key for run in _recorded(runs, series)}
            without = recorded - store.recorded() - tried
            missing = [run for run in runs if run.key not in done or run.key in without]
            if any(run.key not in done for run in missing):
                store.unfinish()
            todo = [run.job(series=run.key in recorded) for run in missing]
            do_all(todo, workers, partial(_store, store, done, lost), _offset(progress, len(runs) - len(missing)))
            tried |= {run.key for run in missing}
            found = Sweep(asked, store.table(), len(tried), lost)
            wanted = {cell: _wanted(found, cell, seeds.get(cell, len(asked.seeds)), precise) for cell in asked.cells}
            if sum(wanted.values()) == len(runs):
                break
            seeds = wanted
    return replace(found, rows=store.finish())


def _done(store: Store) -> set[str]:
    """The keys of the runs that need not be done. One that failed in an earlier session is tried again."""
    return {key for key, row in store.results().items() if row.state == "done"}


def _recorded(runs: Sequence[Run], series: str | None) -> list[Run]:
    """The runs whose series are wanted."""
    if series == "first":
        return list({run.cell: run for run in reversed(runs)}.values())
    return list(runs) if series else []


def _store(store: Store, done_before: set[str], lost: dict[str, str], batch: Sequence[Done]) -> None:
    """Store what a batch yielded: the series first, so that a row is there only with them, then the rows that are new.

    Note in `lost` why the series of a run done before are still missing.
    """
    for done in batch:
        if done.record:
            store.record(done.row.key, done.record)
        elif done.row.error and done.row.key in done_before:
            lost[done.row.key] = done.row.error
    if rows := [done.row for done in batch if done.row.key not in done_before]:
        store.add(rows)


def _wanted(found: Sweep, cell: Cell, n: int, precise: Precision | None) -> int:
    """How many seeds a cell of `n` needs; where a run has failed, or has no value, it is left as it is."""
    if not precise:
        return n
    values = list(found.values(cell, precise.measure).values())
    return more_seeds(values, precise.share, max(precise.most, n)) if len(values) == n else n


def _offset(progress: Progress | None, before: int) -> Progress:
    """Progress that counts what was done before."""
    return lambda done, total: progress(before + done, before + total) if progress else None


def _column(cell: Cell, measure: str) -> str:
    return measure.replace("link.", f"links.{cell.link}.", 1) if measure.startswith("link.") else measure


def done_before(experiment: Experiment, out: Path | None) -> int:
    """Return how many runs of an experiment a folder holds."""
    if out is None:
        return 0
    store = Store(out)
    done = _done(store)
    return sum(run.key in done for run in warmup.settled(experiment, store).runs())
