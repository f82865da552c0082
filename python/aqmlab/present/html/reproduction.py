"""The report on papers: published and measured numbers with verdicts, figures, claims, coverage."""

from collections.abc import Sequence

from aqmlab.notebook import Item, Row, Sheet
from aqmlab.present.figures import study as figures_of_study
from aqmlab.present.html import page
from aqmlab.present.html.comparison import CAPTIONS, figures, provenance
from aqmlab.present.html.page import Drawings, Files
from aqmlab.present.html.setup import setup
from aqmlab.present.labels import in_table
from aqmlab.present.parts import Part, Section
from aqmlab.present.text import chart_rows
from aqmlab.runs.executor import Progress
from aqmlab.runs.statistics import parts
from aqmlab.study.cells import Cell
from aqmlab.study.paper import Figure, PaperTable
from aqmlab.study.reproduction import Reproduction, all_json

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


def files(reproduction: Reproduction, command: str, told: Progress | None = None, *, timed: bool = True) -> Files:
    """Return the files of a reproduction: report.html, results.json and the figures.

    Without the run times (`timed`) the same numbers give the same bytes.
    """
    drawings: Drawings = {}
    part = _part(reproduction, "", drawings)
    facts = provenance(reproduction.comparisons.values(), reproduction.seeds, command, timed=timed)
    return {
        "results.json": reproduction.json() + "\n",
        **page.report(part.name, part.title, [part], drawings, facts, told),
    }


def files_of_all(reproductions: Sequence[Reproduction], command: str, told: Progress | None = None) -> Files:
    """Return the files of several reproductions: one report.html, results.json and the figures."""
    drawings: Drawings = {}
    parts = [_part(reproduction, f"{reproduction.study.name}-", drawings) for reproduction in reproductions]
    comparisons = [comparison for again in reproductions for comparison in again.comparisons.values()]
    facts = provenance(comparisons, reproductions[0].seeds, command)
    title = f"{len(parts)} papers reproduced"
    subject = ", ".join(part.name for part in parts)
    return {"results.json": all_json(reproductions) + "\n", **page.report(subject, title, parts, drawings, facts, told)}


def _part(reproduction: Reproduction, prefix: str, drawings: Drawings) -> Part:
    study = reproduction.study
    tables = [_table_section(reproduction, table, prefix, drawings) for table in reproduction.tables]
    figures = [_figure_section(reproduction, figure, prefix, drawings) for figure in reproduction.figures]
    unbuilt = reproduction.unbuilt
    return Part(
        name=study.name,
        title=study.title,
        source=study.source,
        sections=[*tables, *figures],
        coverage=reproduction.coverage,
        claims=reproduction.claims,
        words=study.words,
        remark=f"Not implemented: {', '.join(unbuilt)}. Their numbers and curves are omitted." if unbuilt else "",
    )


def _table_section(reproduction: Reproduction, table: PaperTable, prefix: str, drawings: Drawings) -> Section:
    rows = reproduction.rows(table.number)
    cells = [cell for row in rows.values() for cell in row.values()]
    notes = list(dict.fromkeys(cell.why for cell in cells if cell.why))
    metrics = list({cell.metric.metric.name: cell.metric.metric for cell in cells}.values())
    comparison = reproduction.comparisons[table.scenarios[0]] if len(table.scenarios) == 1 else None
    specs = [spec for spec in dict.fromkeys(cell.scheme for cell in cells) if comparison and spec in comparison.schemes]
    heads = reproduction.columns(table.number)
    ours: list[Row] = [
        [in_table(table, name), *(_item(row.get(column), notes) for column in heads)] for name, row in rows.items()
    ]
    return Section(
        title=f"Table {table.number}" + (f" and Figure {table.figure}" if table.figure else ""),
        subtitle=table.title,
        sheet=Sheet("", ["Scheme", *heads.values()], ours, subheads=("published", "measured")),
        metrics=metrics,
        notes=notes,
        warnings=comparison.warnings(table.link, parts) if comparison else (),
        figures=figures(comparison, specs, table.link, f"{prefix}table-{table.number}-", drawings)
        if comparison and table.figure
        else {},
        setup=setup(comparison.scenario, specs) if comparison else None,
    )


def _figure_section(reproduction: Reproduction, figure: Figure, prefix: str, drawings: Drawings) -> Section:
    title, absent = f"Figure {figure.number}", reproduction.absent(figure)
    missing = [f"{', '.join(absent)}: not implemented."] if absent else []
    if not reproduction.drawn(figure):
        return Section(title, figure.title, warnings=[f"Not drawn. {missing[0]}"])
    chart = reproduction.charts.get(figure.number)
    stem = f"{prefix}figure-{figure.number}"
    drawings[stem] = figures_of_study.figure(reproduction, figure)
    shown = {FIGURE_CAPTIONS[figure.kind]: stem}
    if chart is None:
        return Section(title, figure.title, warnings=missing, figures=shown)
    rows = [[name, *numbers] for name, numbers in chart_rows(reproduction.study, chart).items()]
    metrics = {panel.metric.metric.name: panel.metric.metric for panel in chart.panels}
    return Section(
        title,
        figure.title,
        Sheet("", [figure.x_label, *chart.heads], rows),
        list(metrics.values()),
        warnings=missing,
        figures=shown,
    )


def _item(cell: Cell | None, notes: Sequence[str]) -> Item:
    if cell is None:
        return Item("")
    note = notes.index(cell.why) + 1 if cell.why else None
    return Item(cell.measured, cell.verdict, note, published=cell.printed)
