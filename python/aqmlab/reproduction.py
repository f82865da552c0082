"""Ours beside published, cell by cell, with a verdict."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aqmlab import catalogue
from aqmlab.batch import Failure, Progress
from aqmlab.comparison import Comparison
from aqmlab.experiments import compare_many
from aqmlab.scenario import load
from aqmlab.statistics import Branch, Summary
from aqmlab.study import Published, Study, StudyMetric, Table, load_study

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Verdict:
    """What a verdict means, and its mark, so that colour is not the only sign of it."""

    mark: str
    meaning: str


VERDICTS = {
    "match": Verdict("✓", "within the tolerance"),
    "near": Verdict("≈", "within twice the tolerance"),
    "off": Verdict("✗", "beyond twice the tolerance"),
    "unreproducible": Verdict("†", "beyond twice the tolerance, for a reason that is written down"),
    "missing": Verdict("–", "not measured"),
}
"""Every verdict a cell can have, by its name in JSON."""


@dataclass(frozen=True)
class Cell:
    """One published number beside ours, in the metric's unit; `scheme` is our name."""

    table: str
    scheme: str
    metric: StudyMetric
    published: float
    ours: Summary | None
    verdict: str
    why: str | None

    def entry(self) -> dict[str, Any]:
        """Return the cell as it stands in JSON."""
        return {
            "table": self.table,
            "scheme": self.scheme,
            "metric": self.metric.metric.name,
            "unit": self.metric.metric.unit,
            "published": self.published,
            "ours": self.ours.mean if self.ours else None,
            "interval": self.ours.interval if self.ours else None,
            "verdict": self.verdict,
            "tolerance": self.metric.tolerance,
            "why": self.why,
        }


@dataclass(frozen=True)
class Reproduction:
    """A study run again: its cells, and the comparisons behind them by table number."""

    study: Study
    seeds: int
    tables: Sequence[Table]
    cells: Sequence[Cell]
    comparisons: Mapping[str, Comparison]

    @property
    def coverage(self) -> dict[str, int]:
        """How many cells there are, and how many of each verdict."""
        counts = dict.fromkeys(VERDICTS, 0)
        for cell in self.cells:
            counts[cell.verdict] += 1
        return {"cells": len(self.cells), **counts}

    @property
    def failures(self) -> list[Failure]:
        """The runs that failed; their cells are missing."""
        batches = {id(comparison): comparison for comparison in self.comparisons.values()}
        return [failure for comparison in batches.values() for failure in comparison.failures]

    def rows(self, table: str) -> dict[str, dict[str, Cell]]:
        """Return the cells of a table by scheme and metric, in the paper's order."""
        rows: dict[str, dict[str, Cell]] = {}
        for cell in self.cells:
            if cell.table == table:
                rows.setdefault(cell.scheme, {})[cell.metric.metric.name] = cell
        return rows

    def table(self) -> "pd.DataFrame":
        """Return the cells as a data frame, one row a cell."""
        import pandas as pd

        return pd.DataFrame([cell.entry() for cell in self.cells])

    def json(self) -> str:
        """Return cells and coverage as one JSON document."""
        document = {
            "schema": 1,
            "study": self.study.name,
            "seeds": self.seeds,
            "cells": [cell.entry() for cell in self.cells],
            "coverage": self.coverage,
        }
        return json.dumps(document, indent=1)


def reproduce(
    study: str,
    tables: Iterable[str] | None = None,
    seeds: int = 1,
    *,
    figures: Iterable[str] | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Run a study again and judge each of its published numbers.

    `tables` and `figures` (numbers as text) choose what to run, by default all. Raises InputError for an
    unknown study, table or figure, before anything runs.
    """
    paper = load_study(study)
    chosen = paper.select(tables, figures)
    built = {scheme.name for scheme in catalogue.schemes()}
    specs = [name for name in paper.schemes.values() if name in built]
    names = list(dict.fromkeys(table.scenario for table in chosen if table.scenario))
    results = compare_many([(load(name), specs) for name in names], seeds, jobs=jobs, progress=progress)
    by_name = dict(zip(names, results, strict=True))
    comparisons = {table.number: by_name[table.scenario] for table in chosen if table.scenario}
    cells = [cell for table in chosen for cell in _cells(paper, table, comparisons.get(table.number))]
    return Reproduction(paper, seeds, chosen, cells, comparisons)


def verdict(ours: float, published: float, limit: float, why: str | None) -> str:
    """Judge a value: match within `limit`, near within twice; beyond, unreproducible if there is a reason."""
    distance = abs(ours - published) * (1 - 1e-9)  # a value exactly at the limit is within
    if distance <= limit:
        return "match"
    if distance <= 2 * limit:
        return "near"
    return "unreproducible" if why else "off"


def _cells(paper: Study, table: Table, comparison: Comparison | None) -> list[Cell]:
    published = [cell for cell in paper.published if cell.table == table.number]
    means = {cell.scheme: cell.value for cell in published if cell.metric == "queue_mean"}
    states = {}
    if comparison:
        states = {scheme: _state(comparison, paper.schemes[scheme], table.link, mean) for scheme, mean in means.items()}
    return [_cell(paper, table, cell, comparison, states.get(cell.scheme)) for cell in published]


def _cell(paper: Study, table: Table, cell: Published, comparison: Comparison | None, state: "State | None") -> Cell:
    metric, scheme = paper.metrics[cell.metric], paper.schemes[cell.scheme]
    chosen = state.chosen if state else None
    ours = None
    if comparison and metric.ours:
        ours = comparison.summary(scheme, table.link, metric.ours, chosen)
    if ours is None:
        why = table.missing or _why_missing(metric, scheme, comparison)
        return Cell(table.number, scheme, metric, cell.value, None, "missing", why)
    ours = ours.scaled(metric.factor)
    reason = paper.why(cell)
    judged = verdict(ours.mean, cell.value, metric.limit(cell.value), reason)
    remarks = [state.remark if state else None, reason if judged in ("near", "unreproducible") else None]
    said = "; ".join(remark for remark in remarks if remark)
    return Cell(table.number, scheme, metric, cell.value, ours, judged, said or None)


def _why_missing(metric: StudyMetric, scheme: str, comparison: Comparison | None) -> str:
    if metric.ours is None or comparison is None:
        return f"{metric.metric.title.lower()} is not compared yet"
    return "every run failed" if scheme in comparison.schemes else "the scheme is not built yet"


@dataclass(frozen=True)
class State:
    """One of two states the seeds fall into, the one nearer to the paper's single run."""

    chosen: Branch
    other: Branch

    @property
    def remark(self) -> str:
        """What the reader must know: both states, and which is compared."""
        n, mean, rest, other = self.chosen.n, self.chosen.mean, self.other.n, self.other.mean
        return (
            f"two states: mean queue {mean:.0f} packets in {n} of {n + rest} seeds, {other:.0f} in {rest}; "
            f"the first, nearer to the published run, is compared"
        )


def _state(comparison: Comparison, scheme: str, link: str, published_mean: float) -> State | None:
    """Return which of two states to compare, None if the seeds agree: the paper printed one run."""
    two = comparison.branches(scheme, link)
    if two is None:
        return None
    chosen, other = sorted(two, key=lambda branch: abs(branch.mean - published_mean))
    return State(chosen, other)
