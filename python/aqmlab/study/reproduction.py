"""The reproduction of a study: measured and published numbers, the paper's figures and claims."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from aqmlab.notebook import Result, Sheet
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.executor import Progress
from aqmlab.runs.task import Failure
from aqmlab.study.cells import VERDICTS, Cell, judge
from aqmlab.study.charts import Chart, chart
from aqmlab.study.claims import Checked, check, tally
from aqmlab.study.measured import StudyRuns, measure
from aqmlab.study.paper import CALCULATED, CHARTS, Asked, Figure, PaperTable, Study, built, load_study, studies
from aqmlab.study.sensitivity import stored, whose

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Reproduction(Result):
    """The reproduction of a study: its cells, charts and claims are views of the runs."""

    study: Study
    seeds: int
    asked: Asked
    measured: StudyRuns

    @property
    def tables(self) -> Sequence[PaperTable]:
        """The selected tables."""
        return self.asked.tables

    @property
    def figures(self) -> Sequence[Figure]:
        """The selected figures."""
        return self.asked.figures

    @property
    def comparisons(self) -> Mapping[str, Comparison]:
        """The comparisons that it is computed from, by scenario."""
        return self.measured.comparisons

    @cached_property
    def cells(self) -> list[Cell]:
        """The published and the measured numbers, in the paper's order."""
        return [judge(table, cell, self.measured) for table in self.tables for cell in table.published]

    @cached_property
    def charts(self) -> Mapping[str, Chart]:
        """The figures that are charts, by number."""
        drawn = [figure for figure in self.figures if figure.kind in CHARTS]
        return {figure.number: chart(self.study, figure, self.measured) for figure in drawn}

    @cached_property
    def claims(self) -> list[Checked]:
        """The sentences of the paper, checked, with the origin of each failure."""
        known = stored(self.study.name)
        checked = [check(self.study, claim, self.measured, self.cells) for claim in self.asked.claims]
        return [replace(each, whose=whose(each, known)) if each.verdict == "fails" else each for each in checked]

    @property
    def coverage(self) -> dict[str, int]:
        """The number of cells, and of each verdict."""
        return coverage(self.cells)

    @property
    def ledger(self) -> dict[str, int]:
        """The number of sentences, and of each verdict."""
        return tally(self.claims)

    @property
    def failures(self) -> list[Failure]:
        """The runs that failed; their cells are missing."""
        batches = {id(comparison): comparison for comparison in self.comparisons.values()}
        return [failure for comparison in batches.values() for failure in comparison.failures]

    @property
    def unbuilt(self) -> list[str]:
        """The schemes of the paper that are not implemented, by the paper's names."""
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
        """Return the schemes that a figure lacks because they are not implemented, by the paper's names."""
        names = dict.fromkeys(name for panel in figure.panels for name in panel.schemes)
        return [name for name in names if not built(self.study.spec(name))]

    def drawn(self, figure: Figure) -> bool:
        """Say whether anything of a figure can be drawn."""
        names = {name for panel in figure.panels for name in panel.schemes}
        return figure.kind in CALCULATED or bool(names - set(self.absent(figure)))

    def table(self) -> "pd.DataFrame | Sheet":
        """Return the cells as a data frame, one row per cell; without pandas as a `Sheet`, which prints as text."""
        entries = [cell.entry() for cell in self.cells]
        try:
            import pandas as pd
        except ModuleNotFoundError:
            heads = list(dict.fromkeys(key for entry in entries for key in entry))
            return Sheet("", heads, [[_text(entry.get(head)) for head in heads] for entry in entries])
        return pd.DataFrame(entries)

    @property
    def headline(self) -> str:
        """The study, and the number of cells by verdict."""
        return f"{self.study.title}, " + ", ".join(f"{name} {count}" for name, count in self.coverage.items())

    def sheets(self) -> Iterator[Sheet]:
        """Return the tables: measured number, published number, and the verdict's mark."""
        for table in self.tables:
            heads = self.columns(table.number)
            found = self.rows(table.number).items()
            rows = [[name, *(_shown(cells.get(column)) for column in heads)] for name, cells in found]
            yield Sheet(f"Table {table.number}", ["Scheme", *heads.values()], rows)

    def entry(self) -> dict[str, Any]:
        """Return cells, figures, claims and coverage in the form of the JSON document."""
        return {
            "study": self.study.name,
            "seeds": self.seeds,
            "cells": [cell.entry() for cell in self.cells],
            "figures": [self._figure(figure) for figure in self.figures],
            "claims": [checked.entry() for checked in self.claims],
            "coverage": self.coverage,
            "ledger": self.ledger,
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
        "ledger": tally(checked for reproduction in reproductions for checked in reproduction.claims),
    }
    return json.dumps(document, indent=1)


def reproduce_all(seeds: int = 1, *, jobs: int | None = None, progress: Progress | None = None) -> list[Reproduction]:
    """Reproduce every study, one after the other."""
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
    """Reproduce a study: run it, and judge each of its published numbers and claims.

    `tables` and `figures` (numbers as text) choose what to run, by default all; of the claims, those about the
    scenarios chosen are checked. Raises InputError for an unknown study, table or figure, before anything runs.
    """
    paper = load_study(study)
    asked = paper.asked(tables, figures)
    measured = measure(asked.needed, asked.read, seeds, jobs, progress)
    return Reproduction(paper, seeds, asked, measured)


def _text(value: object) -> str:
    """A value of a cell's entry."""
    if isinstance(value, list | tuple):
        return " to ".join(map(_text, value))
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _shown(cell: Cell | None) -> str:
    """A cell: the measured number, the published number, and the mark of the verdict."""
    if cell is None:
        return ""
    metric = cell.metric.metric
    ours = metric.show(cell.ours.mean if cell.ours else None)
    return f"{ours} ({metric.show(cell.published)}) {VERDICTS[cell.verdict].mark}"
