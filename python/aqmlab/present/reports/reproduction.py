"""The report on papers: published and measured numbers with verdicts, figures, claims, coverage."""

from collections.abc import Sequence
from dataclasses import replace

from aqmlab.notebook import Item, Row, Sheet
from aqmlab.present.figures import study as figures_of_study
from aqmlab.present.html import page
from aqmlab.present.html.page import Drawings, Files
from aqmlab.present.html.setup import setup
from aqmlab.present.labels import in_table
from aqmlab.present.parts import Part, Section
from aqmlab.present.reports.comparison import CAPTIONS, figures, provenance
from aqmlab.present.text import chart_rows
from aqmlab.runs.executor import Progress
from aqmlab.runs.statistics import parts as branches_of
from aqmlab.study.cells import VERDICTS, Cell
from aqmlab.study.claims import VERDICTS as CLAIM_VERDICTS
from aqmlab.study.paper import Figure, PaperTable
from aqmlab.study.reproduction import Reproduction, all_json, coverage

FIGURE_CAPTIONS = CAPTIONS | {
    "utilisation": "Utilization of the link, seed 1: pale as sampled, dark the mean over 1 s.",
    "sweep": "Means over the seeds with their 95 % intervals, none for a single seed.",
    "bars": "Means over scenarios and seeds with their 95 % intervals, none for a single seed.",
    "sensitivity": "One parameter at a time, multiplied by the value on the x axis; means over the seeds.",
    "range": "From the stability analysis, without simulation.",
    "law": "Calculated, without simulation; the paper's own figure was not available.",
    "surface": "Calculated, without simulation.",
}
"""By the kind of figure."""


def parts(reproduction: Reproduction) -> list[Part]:
    """Return each table with both numbers, the numbers of the figures, and the sentences."""
    found = dict.fromkeys(f"{cell.metric.metric.title} {cell.metric.tolerance}" for cell in reproduction.cells)
    tolerances = f"Tolerances: {'; '.join(found)}." if found else ""
    return [replace(_part(reproduction), title="", source=tolerances)]


def _part(reproduction: Reproduction, drawings: Drawings | None = None, prefix: str = "") -> Part:
    """Return the part of a study: for a page with figures, which are added to `drawings`, and setups."""
    study, unbuilt = reproduction.study, reproduction.unbuilt
    tables = [_table(reproduction, table, drawings, prefix) for table in reproduction.tables]
    figures = [_figure(reproduction, figure, drawings, prefix) for figure in reproduction.figures]
    return Part(
        name=study.name,
        title=study.title,
        source=study.source,
        sections=[*tables, *figures],
        coverage=reproduction.coverage,
        claims=reproduction.claims,
        words=study.words,
        warnings=[f"Not implemented: {', '.join(unbuilt)}. Their numbers and curves are omitted."] if unbuilt else [],
    )


def parts_of_all(several: Sequence[Reproduction]) -> list[Part]:
    """Return the parts of several reproductions, and a summary of each at the end."""
    heads = ["Study", "numbers", *VERDICTS, "sentences", *CLAIM_VERDICTS]
    rows = [[each.study.name, *map(str, [*each.coverage.values(), *each.ledger.values()])] for each in several]
    every = coverage(cell for each in several for cell in each.cells)
    summary = Part("all", "", "", [Section("All studies", sheet=Sheet("", heads, rows))], coverage=every)
    titled = (
        replace(part, title=f"{each.study.title}\n{each.study.source}") for each in several for part in parts(each)
    )
    return [*titled, summary]


def _table(reproduction: Reproduction, table: PaperTable, drawings: Drawings | None, prefix: str) -> Section:
    rows = reproduction.rows(table.number)
    cells = [cell for row in rows.values() for cell in row.values()]
    notes = list(dict.fromkeys(cell.why for cell in cells if cell.why))
    heads = reproduction.columns(table.number)
    ours: list[Row] = [
        [in_table(table, name), *(_item(row.get(column), notes) for column in heads)] for name, row in rows.items()
    ]
    title, both = f"Table {table.number}. {table.title}", ("published", "measured")
    section = Section(
        title,
        sheet=Sheet(f"{title}: {' → '.join(both)}", ["Scheme", *heads.values()], ours, subheads=both),
        metrics=list({cell.metric.metric.name: cell.metric.metric for cell in cells}.values()),
        notes=notes,
    )
    if len(table.scenarios) != 1:
        return section
    comparison = reproduction.comparisons[table.scenarios[0]]
    section = replace(section, warnings=comparison.warnings(table.link, branches_of))
    if drawings is None:
        return section
    specs = [spec for spec in dict.fromkeys(cell.scheme for cell in cells) if spec in comparison.schemes]
    stem = f"{prefix}table-{table.number}-"
    drawn = figures(comparison, specs, table.link, stem, drawings) if table.figure else {}
    return replace(section, figures=drawn, setup=setup(comparison.scenario, specs))


def _figure(reproduction: Reproduction, figure: Figure, drawings: Drawings | None, prefix: str) -> Section:
    title, absent = f"Figure {figure.number}. {figure.title}", reproduction.absent(figure)
    missing = [f"{', '.join(absent)}: not implemented."] if absent else []
    if not reproduction.drawn(figure):
        return Section(title, warnings=[f"Not drawn. {missing[0]}"])
    shown = {}
    if drawings is not None:
        stem = f"{prefix}figure-{figure.number}"
        drawings[stem] = figures_of_study.figure(reproduction, figure)
        shown = {FIGURE_CAPTIONS[figure.kind]: stem}
    chart = reproduction.charts.get(figure.number)
    if chart is None:
        return Section(title if shown else f"{title}: drawn with --out", warnings=missing, figures=shown)
    rows = [[name, *numbers] for name, numbers in chart_rows(reproduction.study, chart).items()]
    metrics = {panel.metric.metric.name: panel.metric.metric for panel in chart.panels}
    sheet = Sheet("", [figure.x_label, *chart.heads], rows)
    return Section(title, sheet=sheet, metrics=list(metrics.values()), warnings=missing, figures=shown)


def files(reproduction: Reproduction, command: str, progress: Progress | None = None, *, timed: bool = True) -> Files:
    """Return the files of a reproduction: report.html, results.json and the figures.

    Without the run times (`timed`) the same numbers give the same bytes.
    """
    drawings: Drawings = {}
    part = _part(reproduction, drawings)
    facts = provenance(reproduction.comparisons.values(), reproduction.seeds, command, timed=timed)
    return {
        "results.json": reproduction.json() + "\n",
        **page.report(part.name, part.title, [part], drawings, facts, progress),
    }


def files_of_all(reproductions: Sequence[Reproduction], command: str, progress: Progress | None = None) -> Files:
    """Return the files of several reproductions: one report.html, results.json and the figures."""
    drawings: Drawings = {}
    shown = [_part(reproduction, drawings, f"{reproduction.study.name}-") for reproduction in reproductions]
    comparisons = [comparison for again in reproductions for comparison in again.comparisons.values()]
    facts = provenance(comparisons, reproductions[0].seeds, command)
    title = f"{len(shown)} papers reproduced"
    subject = ", ".join(part.name for part in shown)
    return {
        "results.json": all_json(reproductions) + "\n",
        **page.report(subject, title, shown, drawings, facts, progress),
    }


def _item(cell: Cell | None, notes: Sequence[str]) -> Item:
    if cell is None:
        return Item("")
    note = notes.index(cell.why) + 1 if cell.why else None
    return Item(cell.measured, cell.verdict, note, published=cell.printed)
