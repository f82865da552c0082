"""One self-contained HTML page: tables with verdicts and definitions, figures, parameters, provenance."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aqmlab import _core, catalogue
from aqmlab._core import Scenario
from aqmlab.present import pages, plots
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.metrics import definitions
from aqmlab.runs.results import RunResult
from aqmlab.scenario import load
from aqmlab.study.claims import VERDICTS as CLAIM_VERDICTS
from aqmlab.study.claims import Checked
from aqmlab.study.measured import built
from aqmlab.study.paper import Figure, Panel, Table
from aqmlab.study.reproduction import VERDICTS, Cell, Reproduction, all_json

if TYPE_CHECKING:
    from aqmlab.runs.results import Columns

Files = dict[str, bytes | str]
"""What to write, by file name."""

Drawings = dict[str, plots.Drawing]
"""What to draw, by the name of the file without its ending."""

CAPTIONS = {
    "queue": "Packets waiting against time, seed 1. The dashed line is the target.",
    "p": "Drop probability against time, seed 1: pale as sampled, dark the mean over 1 s.",
}

FIGURE_CAPTIONS = CAPTIONS | {
    "utilisation": "Share of the time in which the link is busy, seed 1: pale as sampled, dark the mean over 1 s.",
    "sweep": "Means over the seeds with their 95 % intervals, none for a single seed.",
    "bars": "Means over scenarios and seeds with their 95 % intervals, none for a single seed.",
    "sensitivity": "One parameter at a time times the value on the abscissa, means over the seeds.",
    "range": "From the stability analysis, without simulation.",
}
"""By the kind of figure."""


@dataclass(frozen=True)
class Item:
    """One cell of a table: its text, the verdict on it and the number of its note."""

    text: str
    verdict: str | None = None
    note: int | None = None


@dataclass(frozen=True)
class Section:
    """One table or figure with what belongs under it; `figures` are names of drawings by caption."""

    title: str
    subtitle: str
    heads: Sequence[str] = ()
    subheads: Sequence[str] = ()
    rows: Mapping[str, Sequence[Item]] = field(default_factory=dict)
    corner: str = "Scheme"
    definition: str = ""
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    figures: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """One comparison, or one paper with its coverage and claims."""

    name: str
    title: str
    source: str
    sections: Sequence[Section]
    coverage: Mapping[str, int] | None = None
    claims: Sequence[Checked] = ()
    remark: str = ""


def run_files(result: RunResult, scenario: Scenario) -> Files:
    """Return what one run leaves: result.json, the figures, and as CSV the time series, each flow and each transfer."""
    written: Files = {
        "result.json": result.json() + "\n",
        "series.csv": _series_csv(result),
        "flows.csv": _flows_csv(result.flow_table, scenario),
    }
    if len(result.transfer_table["group"]):
        written["transfers.csv"] = _flows_csv(result.transfer_table, scenario)
    drawings: Drawings = {}
    for link in scenario.links:
        for name, drawing in plots.figures({result.aqm: result}, scenario, link).items():
            drawings[f"{link}-{name}" if len(scenario.links) > 1 else name] = drawing
    return written | _drawn(drawings)


def comparison_files(comparison: Comparison, command: str) -> Files:
    """Return what a comparison leaves: report.html, results.json and the figures."""
    written: Files = {"results.json": comparison.json() + "\n"}
    drawings: Drawings = {}
    links = comparison.scenario.links
    sections = [
        Section(
            title=f"Link {link}",
            subtitle=_seeds(comparison.seeds),
            heads=[metric.heading for metric in comparison.metrics(link)],
            subheads=(),
            rows={
                catalogue.title(spec): [
                    Item(comparison.text(spec, link, metric)) for metric in comparison.metrics(link)
                ]
                for spec in comparison.schemes
            },
            definition=definitions(comparison.metrics(link)),
            notes=(),
            warnings=comparison.warnings(link),
            figures=_figures(comparison, comparison.schemes, link, f"{link}-" if len(links) > 1 else "", drawings),
            parameters=_parameters(comparison, comparison.schemes),
        )
        for link in links
    ]
    name = comparison.scenario.name
    part = Part(name, comparison.scenario.title, f"Scenario {name}", sections)
    return written | page(part.title, [part], drawings, provenance([comparison], comparison.seeds, command))


def reproduction_files(reproduction: Reproduction, command: str) -> Files:
    """Return what a reproduction leaves: report.html, results.json and the figures."""
    written: Files = {"results.json": reproduction.json() + "\n"}
    drawings: Drawings = {}
    part = _part(reproduction, "", drawings)
    told = provenance(reproduction.comparisons.values(), reproduction.seeds, command)
    return written | page(part.title, [part], drawings, told)


def all_files(reproductions: Sequence[Reproduction], command: str) -> Files:
    """Return what the reproduction of several studies leaves: one report.html, results.json and the figures."""
    written: Files = {"results.json": all_json(reproductions) + "\n"}
    drawings: Drawings = {}
    parts = [_part(reproduction, f"{reproduction.study.name}-", drawings) for reproduction in reproductions]
    comparisons = [comparison for again in reproductions for comparison in again.comparisons.values()]
    told = provenance(comparisons, reproductions[0].seeds, command)
    return written | page(f"{len(parts)} papers run again", parts, drawings, told)


def page(title: str, parts: Sequence[Part], drawings: Drawings, provenance: Mapping[str, str]) -> Files:
    """Return report.html and the figures in it."""
    drawn = _drawn(drawings)
    text = pages.template("report.html").render(
        title=title,
        parts=parts,
        drawn={stem: plots.inline(drawn[f"{stem}.svg"]) for stem in drawings},
        verdicts=VERDICTS,
        claim_verdicts=CLAIM_VERDICTS,
        provenance=provenance,
    )
    return {"report.html": text, **drawn}


def _drawn(drawings: Drawings) -> dict[str, bytes]:
    """Return every drawing as SVG and as PNG, by file name."""
    encoded = plots.encode_all(drawings)
    files_of = {stem: {f"{stem}.svg": svg, f"{stem}.png": png} for stem, (svg, png) in encoded.items()}
    return {name: data for pair in files_of.values() for name, data in pair.items()}


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
        remark=f"Not built yet: {', '.join(unbuilt)}. Their numbers and curves are left out." if unbuilt else "",
    )


def _table_section(reproduction: Reproduction, table: Table, prefix: str, drawings: Drawings) -> Section:
    rows = reproduction.rows(table.number)
    cells = [cell for row in rows.values() for cell in row.values()]
    notes = list(dict.fromkeys(cell.why for cell in cells if cell.why))
    metrics = list({cell.metric.metric.name: cell.metric.metric for cell in cells}.values())
    comparison = reproduction.comparisons[table.scenarios[0]] if len(table.scenarios) == 1 else None
    specs = [spec for spec in dict.fromkeys(cell.scheme for cell in cells) if comparison and spec in comparison.schemes]
    heads = reproduction.columns(table.number)
    return Section(
        title=f"Table {table.number}" + (f" and Figure {table.figure}" if table.figure else ""),
        subtitle=table.title,
        heads=list(heads.values()),
        subheads=("paper", "ours"),
        rows={name: [item for column in heads for item in _pair(row.get(column), notes)] for name, row in rows.items()},
        definition=definitions(metrics),
        notes=notes,
        warnings=comparison.warnings(table.link) if comparison else (),
        figures=_figures(comparison, specs, table.link, f"{prefix}table-{table.number}-", drawings)
        if comparison and table.figure
        else {},
        parameters=_parameters(comparison, specs) if comparison else {},
    )


def _figure_section(reproduction: Reproduction, figure: Figure, prefix: str, drawings: Drawings) -> Section:
    title, absent = f"Figure {figure.number}", reproduction.absent(figure)
    missing = [f"{', '.join(absent)}: not built yet."] if absent else []
    if not reproduction.drawn(figure):
        return Section(title, figure.title, warnings=[f"Not drawn. {missing[0]}"])
    chart = reproduction.charts.get(figure.number)
    stem = f"{prefix}figure-{figure.number}"
    drawings[stem] = chart or _over_time(reproduction, figure)
    figures = {FIGURE_CAPTIONS[figure.kind]: stem}
    if chart is None:
        return Section(title, figure.title, warnings=missing, figures=figures)
    return Section(
        title,
        figure.title,
        heads=chart.heads,
        rows={name: [Item(number) for number in numbers] for name, numbers in chart.rows.items()},
        corner=figure.x_label,
        definition=definitions({panel.metric.metric.name: panel.metric.metric for panel in chart.panels}.values()),
        warnings=missing,
        figures=figures,
    )


def _over_time(reproduction: Reproduction, figure: Figure) -> plots.Multiples:
    """Return the queue, the drop probability or the utilisation against time, in the paper's panels."""
    panels = [_panel(reproduction, figure.kind, panel) for panel in figure.panels]
    places = [(load(panel.scenarios[0]), panel.link) for panel in figure.panels]
    end = places[0][0].duration
    if figure.kind == "queue":
        frame = plots.queue_frame(panels, places)
    else:
        frame = plots.utilisation_frame(end) if figure.kind == "utilisation" else plots.p_frame(panels, end)
    return plots.Multiples(panels, frame, figure.columns)


def _panel(reproduction: Reproduction, kind: str, panel: Panel) -> plots.Panel:
    schemes = {name: reproduction.study.spec(name) for name in panel.schemes}
    comparison = reproduction.comparisons.get(panel.scenarios[0])
    runs = {
        name: comparison.runs[spec, 1] for name, spec in schemes.items() if comparison and (spec, 1) in comparison.runs
    }
    if not runs:
        absent = [name for name, spec in schemes.items() if not built(spec)]
        return plots.Panel(panel.title, f"{', '.join(absent)} not built yet" if absent else "the run failed", [])
    if kind == "queue":
        return plots.queue_panel(panel.title, runs, load(panel.scenarios[0]), panel.link)
    draw = plots.utilisation_panel if kind == "utilisation" else plots.p_panel
    return draw(panel.title, runs, panel.link)


def _pair(cell: Cell | None, notes: Sequence[str]) -> tuple[Item, Item]:
    if cell is None:
        return Item(""), Item("")
    return Item(cell.printed), Item(cell.measured, cell.verdict, notes.index(cell.why) + 1 if cell.why else None)


def _figures(
    comparison: Comparison, specs: Sequence[str], link: str, prefix: str, drawings: Drawings
) -> dict[str, str]:
    """Add a link's figures of these schemes to `drawings`, return their names by caption."""
    runs = {spec: comparison.runs[spec, 1] for spec in specs if (spec, 1) in comparison.runs}
    drawn = plots.figures(runs, comparison.scenario, link)
    drawings.update({f"{prefix}{name}": drawing for name, drawing in drawn.items()})
    return {CAPTIONS[name]: f"{prefix}{name}" for name in drawn}


def _series_csv(result: RunResult) -> str:
    """Return one row a sample: the time, then each link's columns under `link.column`."""
    time = next(iter(result.series.values()))["time"]
    columns = {
        f"{link}.{name}": values
        for link, series in result.series.items()
        for name, values in series.items()
        if name != "time"
    }
    return _csv({"time": time, **columns})


def _flows_csv(table: "Columns", scenario: Scenario) -> str:
    """Return a table with a row for each flow or transfer, its group by name."""
    groups = [scenario.flows[int(index)] for index in table["group"]]
    return _csv({**table, "group": groups})


def _csv(columns: Mapping[str, Iterable[float | str]]) -> str:
    lines = [",".join(columns)]
    rows = zip(*columns.values(), strict=True)
    lines += [",".join(value if isinstance(value, str) else f"{value:.9g}" for value in row) for row in rows]
    return "\n".join(lines) + "\n"


def _parameters(comparison: Comparison, specs: Iterable[str]) -> dict[str, str]:
    """Return the parameters of schemes as they were used, with their units."""
    return {catalogue.title(spec): pages.parameters(comparison.scenario, spec) for spec in specs}


def provenance(comparisons: Iterable[Comparison], seeds: int, command: str) -> dict[str, str]:
    """Return what one needs to repeat the work, and what it cost."""
    batches = list({id(comparison): comparison for comparison in comparisons}.values())
    runs = [run for comparison in batches for run in comparison.runs.values()]
    failures = [failure for comparison in batches for failure in comparison.failures]
    facts = {"Command": command, "Version": f"aqmlab {_core.version()}", "Seeds": _seeds(seeds)}
    if runs:
        busy = sum(run.engine.wall for run in runs)
        departed = sum(link.departed for run in runs for link in run.links.values())
        wall = sum({batch.wall for batch in batches})  # all scenarios of a study share theirs
        facts["Cost"] = (
            f"{len(runs)} runs in {wall:.2f} s of wall time; {departed:,} packets sent, "
            f"{departed / max(busy, 1e-9) / 1e6:.1f} million a second and core"
        )
    if failures:
        facts["Failed runs"] = "; ".join(map(str, failures))
    return facts


def _seeds(seeds: int) -> str:
    return "seed 1" if seeds == 1 else f"seeds 1 to {seeds}, mean ± half-width of the 95 % interval"
