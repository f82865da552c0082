"""A sweep: the runs of an experiment, stored as they are done, and what they say together."""

import os
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any

from aqmlab import executors, plan
from aqmlab._core import InputError
from aqmlab.batch import LOOK_EVERY, Progress
from aqmlab.executors import Job, Workers
from aqmlab.experiments import RunError
from aqmlab.metrics import LINK_METRICS, Metric, Shown
from aqmlab.names import unknown
from aqmlab.plan import Cell, Experiment, Run
from aqmlab.statistics import Paired, Ranking, Summary, branches, more_seeds, paired, rank, summarise
from aqmlab.store import Row, Store

BATCH = 0.5
"""Seconds of simulation in a batch, about: what a crash may cost each worker, and long beside what a file costs."""
LONGEST_BATCH = 100

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

    @property
    def failures(self) -> list[str]:
        """The runs that failed, and why."""
        return [
            f"{cell.name}, seed {seed}: {row['error']}"
            for cell, runs in self._runs.items()
            for seed, row in runs.items()
            if row["state"] == "failed"
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
            "summary": list(self._entries()),
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
                "effect": than.effect,
            }
            if than
            else None,
        }


def sweep(
    experiment: str | os.PathLike[str] | Experiment,
    out: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    executor: str | None = None,
    resume: bool = False,
    precise: Precision | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Do the runs of an experiment that `out` does not hold yet, and store them there as they are done.

    `jobs` and `executor` say where (see `executors.executor`), `resume` goes on in a folder that holds a sweep,
    `precise` adds seeds. Raises InputError for bad input before anything is written, StoreError if the results cannot
    be stored, RunError if the executor is lost; whatever stops it, what is stored is intact.
    """
    asked = experiment if isinstance(experiment, Experiment) else plan.read(experiment)
    store = Store(out)
    seeds: dict[Cell, int] = {}
    tried: set[str] = set()
    with executors.executor(executor, jobs) as workers:
        store.open(asked.files(), resume=resume, where=workers.where)
        while True:
            runs = asked.runs(seeds)
            store.plan([run.labels() for run in runs])
            missing = _missing(runs, store, tried)
            if missing:
                store.unfinish()
            _do(missing, workers, store, _offset(progress, len(runs) - len(missing)))
            tried |= missing.keys()
            found = Sweep(asked, store.table(), len(tried))
            wanted = {cell: _wanted(found, cell, seeds.get(cell, len(asked.seeds)), precise) for cell in asked.cells}
            if sum(wanted.values()) == len(runs):
                break
            seeds = wanted
    return replace(found, rows=store.finish())


def _missing(runs: Sequence[Run], store: Store, tried: set[str]) -> dict[str, Run]:
    """The runs to do, by key: neither stored nor tried now. One that failed in an earlier session is tried again."""
    done = {key for key, row in store.results().items() if row.state == "done"} | tried
    return {run.key: run for run in runs if run.key not in done}


def _wanted(found: Sweep, cell: Cell, n: int, precise: Precision | None) -> int:
    """How many seeds a cell of `n` needs; where a run has failed, or has no value, it is left as it is."""
    if not precise:
        return n
    values = list(found.values(cell, precise.measure).values())
    return more_seeds(values, precise.share, max(precise.most, n)) if len(values) == n else n


def _do(missing: Mapping[str, Run], workers: Workers, store: Store, on_done: Progress) -> None:
    """Do the runs in batches, and store each batch as soon as it is done."""
    waiting, done, size = deque(missing.values()), 0, 1
    pending: dict[Future[list[Row]], list[Job]] = {}
    try:
        while waiting or pending:
            while waiting and len(pending) < workers.slots:
                batch = [_job(waiting.popleft()) for _ in range(min(size, len(waiting)))]
                pending[workers.submit(batch)] = batch
            for future in wait(pending, timeout=LOOK_EVERY, return_when=FIRST_COMPLETED).done:
                batch = pending.pop(future)
                rows = _outcome(future, batch)
                store.add(rows)
                done += len(rows)
                seconds = sum(row.wall for row in rows) / len(rows)
                fair = ceil(len(waiting) / workers.slots)  # the last batches end together
                size = max(1, min(LONGEST_BATCH, fair, round(BATCH / seconds) if seconds else 2 * size))
            on_done(done, len(missing))
    except BaseException:
        workers.stop()
        raise


def _outcome(future: Future[list[Row]], batch: Sequence[Job]) -> list[Row]:
    """What a batch yielded; each of its runs has failed if its worker is lost for good. RunError if all are lost."""
    if future.cancelled():
        raise RunError("executor: no longer answers; what is stored is intact, go on with --resume")
    error = future.exception()
    if error is None:
        return list(future.result())
    if not isinstance(error, Exception):
        raise error
    return [executors.failed(job.key, error) for job in batch]


def _job(run: Run) -> Job:
    cell = run.cell
    return Job(run.key, cell.world.name, cell.world.text, cell.overrides, cell.arm.given, run.seed)


def _offset(progress: Progress | None, before: int) -> Progress:
    """Progress that counts what was done before."""
    return lambda done, total: progress(before + done, before + total) if progress else None


def _column(cell: Cell, measure: str) -> str:
    return measure.replace("link.", f"links.{cell.link}.", 1) if measure.startswith("link.") else measure


def done_before(experiment: Experiment, out: Path | None) -> int:
    """Return how many runs of an experiment a folder holds."""
    results = Store(out).results() if out else {}
    return sum(run.key in results and results[run.key].state == "done" for run in experiment.runs())
