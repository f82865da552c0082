"""Ours beside published, cell by cell, with a verdict; the paper's figures and claims beside them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from aqmlab.runs.batch import Failure, Progress
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.experiments import compare_many
from aqmlab.runs.statistics import Branch, Summary, summarise
from aqmlab.scenario import load, original
from aqmlab.study import charts, claims
from aqmlab.study.charts import Chart
from aqmlab.study.claims import Checked
from aqmlab.study.measured import Measured, built
from aqmlab.study.paper import Figure, Published, Study, StudyMetric, Table, load_study, studies

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
    "unreproducible": Verdict("†", "beyond twice the tolerance; a note says why, or that it is not known"),
    "missing": Verdict("–", "not measured"),
}
"""Every verdict a cell can have, by its name in JSON."""

LIMITS = {"min": "at least", "max": "at most"}
"""How a published number that is a limit is said."""


@dataclass(frozen=True)
class Cell:
    """One published number beside ours, in the metric's unit; `row` is the paper's name of `scheme`.

    `bound` is "min" or "max" where the paper states a limit.
    """

    table: str
    row: str
    scheme: str
    metric: StudyMetric
    published: float
    bound: str | None
    ours: Summary | None
    verdict: str
    why: str | None

    @property
    def column(self) -> str:
        """What tells its column from others: the metric, and the limit where the published number is one."""
        return self.metric.metric.name + (f"_{self.bound}" if self.bound else "")

    @property
    def heading(self) -> str:
        """The head of its column: title and unit of the metric, and whether the number is a limit."""
        limit = self.bound or self.metric.bound
        return self.metric.metric.heading + (f", {LIMITS[limit]}" if limit else "")

    @property
    def printed(self) -> str:
        """The published number as people read it."""
        return self.metric.metric.show(self.published)

    @property
    def measured(self) -> str:
        """Ours as people read it, empty if there is none."""
        return self.metric.metric.show(self.ours.mean, self.ours.half_width) if self.ours else ""

    def entry(self) -> dict[str, Any]:
        """Return the cell as it stands in JSON."""
        return {
            "table": self.table,
            "scheme": self.scheme,
            "metric": self.metric.metric.name,
            "unit": self.metric.metric.unit,
            "published": self.published,
            "bound": self.bound or self.metric.bound,
            "ours": self.ours.mean if self.ours else None,
            "interval": self.ours.interval if self.ours else None,
            "verdict": self.verdict,
            "tolerance": self.metric.tolerance,
            "why": self.why,
        }


@dataclass(frozen=True)
class Reproduction:
    """A study run again: its cells, charts and claims, and the comparisons behind them by scenario."""

    study: Study
    seeds: int
    tables: Sequence[Table]
    figures: Sequence[Figure]
    cells: Sequence[Cell]
    charts: Mapping[str, Chart]
    claims: Sequence[Checked]
    comparisons: Mapping[str, Comparison]

    @property
    def coverage(self) -> dict[str, int]:
        """How many cells there are, and how many of each verdict."""
        return coverage(self.cells)

    @property
    def failures(self) -> list[Failure]:
        """The runs that failed; their cells are missing."""
        batches = {id(comparison): comparison for comparison in self.comparisons.values()}
        return [failure for comparison in batches.values() for failure in comparison.failures]

    @property
    def unbuilt(self) -> list[str]:
        """The schemes of the paper that are not built yet, by the paper's names."""
        return [name for name, spec in self.study.schemes.items() if not built(spec)]

    def rows(self, table: str) -> dict[str, dict[str, Cell]]:
        """Return the cells of a table by row and column, in the paper's order."""
        rows: dict[str, dict[str, Cell]] = {}
        for cell in self.cells:
            if cell.table == table:
                rows.setdefault(cell.row, {})[cell.column] = cell
        return rows

    def columns(self, table: str) -> dict[str, str]:
        """Return the heads of a table's columns, in the paper's order."""
        return {cell.column: cell.heading for cell in self.cells if cell.table == table}

    def absent(self, figure: Figure) -> list[str]:
        """Return the schemes that a figure lacks because they are not built yet, by the paper's names."""
        names = dict.fromkeys(name for panel in figure.panels for name in panel.schemes)
        return [name for name in names if not built(self.study.spec(name))]

    def drawn(self, figure: Figure) -> bool:
        """Say whether anything of a figure can be drawn."""
        names = {name for panel in figure.panels for name in panel.schemes}
        return figure.kind == "range" or bool(names - set(self.absent(figure)))

    def table(self) -> "pd.DataFrame":
        """Return the cells as a data frame, one row a cell."""
        import pandas as pd

        return pd.DataFrame([cell.entry() for cell in self.cells])

    def entry(self) -> dict[str, Any]:
        """Return cells, figures, claims and coverage as they stand in JSON."""
        return {
            "study": self.study.name,
            "seeds": self.seeds,
            "cells": [cell.entry() for cell in self.cells],
            "figures": [self._figure(figure) for figure in self.figures],
            "claims": [checked.entry() for checked in self.claims],
            "coverage": self.coverage,
        }

    def _figure(self, figure: Figure) -> dict[str, Any]:
        chart = self.charts.get(figure.number)
        return {
            "figure": figure.number,
            "title": figure.title,
            "drawn": self.drawn(figure),
            "absent": self.absent(figure),
            "values": chart.entry() if chart else None,
        }

    def json(self) -> str:
        """Return the whole as one JSON document."""
        return json.dumps({"schema": 1, **self.entry()}, indent=1)


def coverage(cells: Iterable[Cell]) -> dict[str, int]:
    """Return how many cells there are, and how many of each verdict."""
    verdicts = [cell.verdict for cell in cells]
    return {"cells": len(verdicts), **{name: verdicts.count(name) for name in VERDICTS}}


def all_json(reproductions: Sequence[Reproduction]) -> str:
    """Return several studies as one JSON document, with their common coverage."""
    document = {
        "schema": 1,
        "studies": [reproduction.entry() for reproduction in reproductions],
        "coverage": coverage(cell for reproduction in reproductions for cell in reproduction.cells),
    }
    return json.dumps(document, indent=1)


def reproduce_all(seeds: int = 1, *, jobs: int | None = None, progress: Progress | None = None) -> list[Reproduction]:
    """Run every study again, one after the other."""
    return [reproduce(name, seeds=seeds, jobs=jobs, progress=progress) for name in studies()]


def reproduce(
    study: str,
    tables: Iterable[str] | None = None,
    seeds: int = 1,
    *,
    figures: Iterable[str] | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Run a study again and judge each of its published numbers and claims.

    `tables` and `figures` (numbers as text) choose what to run, by default all; of the claims, those about the
    scenarios chosen are checked. Raises InputError for an unknown study, table or figure, before anything runs.
    """
    paper = load_study(study)
    chosen, drawn = paper.select(tables, figures)
    plan = _plan(paper, chosen, drawn)
    asked = [claim for claim in paper.claims if set(claim.scenarios) <= set(plan) or (tables, figures) == (None, None)]
    for claim in asked:
        for name in claim.scenarios:
            plan.setdefault(name, {}).update(dict.fromkeys(claims.specs(paper, claim)))
    measured = _measure(plan, seeds, jobs, progress)
    return Reproduction(
        study=paper,
        seeds=seeds,
        tables=chosen,
        figures=drawn,
        cells=[_cell(paper, table, cell, measured) for table in chosen for cell in _published(paper, table)],
        charts={
            figure.number: charts.chart(paper, figure, measured) for figure in drawn if figure.kind in charts.CHARTS
        },
        claims=[claims.check(paper, claim, measured) for claim in asked],
        comparisons=measured.comparisons,
    )


Plan = dict[str, dict[str, None]]
"""Which schemes to run, in order, by scenario."""


def _plan(paper: Study, tables: Iterable[Table], figures: Iterable[Figure]) -> Plan:
    plan: Plan = {}
    for table in tables:
        rows = dict.fromkeys(cell.scheme for cell in _published(paper, table))
        names = [part for row in rows for part in paper.differences.get(row, [row])]
        specs = dict.fromkeys(spec for name in names if built(spec := table.schemes[name]))
        own = [metric.scenario for metric in table.metrics.values() if metric.scenario]
        for scenario in (*table.scenarios, *(own if table.scenarios else ())):
            plan.setdefault(scenario, {}).update(specs)
    for figure in figures:
        for scenario, spec in charts.needed(paper, figure):
            plan.setdefault(scenario, {})[spec] = None
    return plan


def _measure(plan: Plan, seeds: int, jobs: int | None, progress: Progress | None) -> Measured:
    """Run the plan, a world that has two names once."""
    worlds: Plan = {}
    for name, specs in plan.items():
        worlds.setdefault(original(name), {}).update(specs)
    results = compare_many(
        [(load(name), list(specs)) for name, specs in worlds.items()], seeds, jobs=jobs, progress=progress
    )
    by_world = dict(zip(worlds, results, strict=True))
    return Measured({name: by_world[original(name)] for name in plan})


def _published(paper: Study, table: Table) -> list[Published]:
    return [cell for cell in paper.published if cell.table == table.number]


def verdict(ours: float, published: float, limit: float, why: str | None, bound: str | None = None) -> str:
    """Judge a value: match within `limit`, near within twice; beyond, unreproducible if there is a note.

    Where the paper gives a bound ("min" or "max") a value on its good side has no distance.
    """
    distance = {"min": published - ours, "max": ours - published}.get(bound or "", abs(ours - published))
    distance *= 1 - 1e-9  # a value exactly at the limit is within
    if distance <= limit:
        return "match"
    if distance <= 2 * limit:
        return "near"
    return "unreproducible" if why else "off"


def _cell(paper: Study, table: Table, cell: Published, measured: Measured) -> Cell:
    metric, spec = table.metrics[cell.metric], table.schemes.get(cell.scheme, cell.scheme)
    missing = _why_missing(paper, table, cell)
    state = None if missing else _state(paper, table, cell, measured)
    ours = None if missing else _ours(paper, table, cell, measured, state)
    reason = paper.why(cell)
    if ours is None:
        judged, said = "missing", [missing or "no run gave a value"]
    else:
        judged = verdict(ours.mean, cell.value, metric.limit(cell.value), reason, cell.bound or metric.bound)
        said = [state.remark] if state else []
        if judged != "match":
            said.append(reason or _no_reason(ours, metric, judged))
    return Cell(table.number, cell.scheme, spec, metric, cell.value, cell.bound, ours, judged, "; ".join(said) or None)


def _no_reason(ours: Summary, metric: StudyMetric, judged: str) -> str:
    """What is known of a cell that does not match and has no written reason: the spread over the seeds."""
    if judged == "off":
        return "no reason is known"
    if ours.half_width is None:
        return "within twice the tolerance in this single run; more seeds show the spread"
    low, high = (metric.metric.show(end) for end in ours.interval or ())
    return f"within twice the tolerance; the mean over {ours.n} seeds lies between {low} and {high}"


def _why_missing(paper: Study, table: Table, cell: Published) -> str | None:
    metric = table.metrics[cell.metric]
    if metric.ours is None or not (table.scenarios or table.analysis):
        return f"{metric.metric.title.lower()} is not compared yet"
    if table.analysis:
        return None
    names = paper.differences.get(cell.scheme, [cell.scheme])
    absent = [name for name in names if not built(table.schemes[name])]
    if not absent:
        return None
    return "the scheme is not built yet" if absent == [cell.scheme] else f"{', '.join(absent)}: not built yet"


def _ours(paper: Study, table: Table, cell: Published, measured: Measured, state: "State | None") -> Summary | None:
    metric = table.metrics[cell.metric]
    if table.analysis:
        from aqmlab.study.stability import BOUNDS

        return summarise([BOUNDS[(metric.ours or "").removeprefix("stability.")](**table.analysis)])
    first, *others = [
        _by_seed(table, metric, table.schemes[name], measured)
        for name in paper.differences.get(cell.scheme, [cell.scheme])
    ]
    if others:
        first = {
            seed: value - fmean(other[seed] for other in others)
            for seed, value in first.items()
            if all(seed in other for other in others)
        }
    values = [value for seed, value in first.items() if state is None or seed in state.seeds]
    return summarise([metric.count(value) for value in values]) if values else None


def _by_seed(table: Table, metric: StudyMetric, spec: str, measured: Measured) -> dict[int, float]:
    scenarios = [metric.scenario] if metric.scenario else table.scenarios
    return measured.together(scenarios, spec, table.link, metric.ours or "", metric.over)


@dataclass(frozen=True)
class State:
    """One of two states the seeds fall into, the one nearer to the paper's single run."""

    chosen: Branch
    other: Branch
    seeds: frozenset[int]

    @property
    def remark(self) -> str:
        """What the reader must know: both states, and which is compared."""
        n, mean, rest, other = self.chosen.n, self.chosen.mean, self.other.n, self.other.mean
        return (
            f"two states: mean queue {mean:.0f} packets in {n} of {n + rest} seeds, {other:.0f} in {rest}; "
            f"the first, nearer to the published run, is compared"
        )


def _state(paper: Study, table: Table, cell: Published, measured: Measured) -> State | None:
    """Return which of two states to compare, None if the seeds agree: the paper printed one run."""
    printed = [
        other.value for other in _published(paper, table) if (other.scheme, other.metric) == (cell.scheme, "queue_mean")
    ]
    if len(table.scenarios) != 1 or not printed:
        return None
    spec = table.schemes[cell.scheme]
    two = measured.comparisons[table.scenarios[0]].branches(spec, table.link)
    if two is None:
        return None
    chosen, other = sorted(two, key=lambda branch: abs(branch.mean - printed[0]))
    seeds = list(measured.values(table.scenarios, spec, table.link, "queue_mean"))
    return State(chosen, other, frozenset(seeds[i] for i in chosen.members))
