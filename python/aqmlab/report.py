"""One self-contained HTML page: tables with verdicts and definitions, figures, parameters, provenance."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from aqmlab import _core, catalogue, plots
from aqmlab._core import Scenario
from aqmlab.comparison import Comparison
from aqmlab.metrics import definitions
from aqmlab.reproduction import VERDICTS, Cell, Reproduction
from aqmlab.results import RunResult
from aqmlab.study import Table

if TYPE_CHECKING:
    from jinja2 import Template

Files = dict[str, bytes | str]
"""What to write, by file name."""

CAPTIONS = {
    "queue": "Packets waiting against time, seed 1. The dashed line is the target.",
    "p": "Drop probability against time, seed 1: pale as sampled, dark the mean over 1 s.",
}


@dataclass(frozen=True)
class Item:
    """One cell of a table: its text, the verdict on it and the number of its note."""

    text: str
    verdict: str | None = None
    note: int | None = None


@dataclass(frozen=True)
class Section:
    """One table with what belongs under it."""

    title: str
    subtitle: str
    heads: Sequence[str]
    subheads: Sequence[str]
    rows: Mapping[str, Sequence[Item]]
    definition: str
    notes: Sequence[str]
    warnings: Sequence[str]
    figures: Mapping[str, str]
    parameters: Mapping[str, str]


def run_files(result: RunResult, scenario: Scenario) -> Files:
    """Return what one run leaves: result.json, series.csv (seconds, packets) and the figures."""
    written: Files = {"result.json": result.json() + "\n", "series.csv": _series_csv(result)}
    for link in scenario.links:
        for name, figure in plots.figures({result.aqm: result}, scenario, link).items():
            stem = f"{link}-{name}" if len(scenario.links) > 1 else name
            written[f"{stem}.svg"] = plots.encode(figure, "svg")
            written[f"{stem}.png"] = plots.encode(figure, "png")
    return written


def comparison_files(comparison: Comparison, command: str) -> Files:
    """Return what a comparison leaves: report.html, results.json and the figures."""
    written: Files = {"results.json": comparison.json() + "\n"}
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
            figures=_draw(comparison, link, f"{link}-" if len(links) > 1 else "", written),
            parameters=_parameters(comparison),
        )
        for link in links
    ]
    written["report.html"] = _template().render(
        title=comparison.scenario.title,
        source=f"Scenario {comparison.scenario.name}",
        sections=sections,
        verdicts=VERDICTS,
        coverage=None,
        provenance=_provenance([comparison], comparison.seeds, command),
    )
    return written


def reproduction_files(reproduction: Reproduction, command: str) -> Files:
    """Return what a reproduction leaves: report.html, results.json and each table's figures."""
    written: Files = {"results.json": reproduction.json() + "\n"}
    sections = [_table_section(reproduction, table, written) for table in reproduction.tables]
    written["report.html"] = _template().render(
        title=reproduction.study.title,
        source=reproduction.study.source,
        sections=sections,
        verdicts=VERDICTS,
        coverage=reproduction.coverage,
        provenance=_provenance(reproduction.comparisons.values(), reproduction.seeds, command),
    )
    return written


def _table_section(reproduction: Reproduction, table: Table, written: Files) -> Section:
    rows = reproduction.rows(table.number)
    cells = [cell for row in rows.values() for cell in row.values()]
    notes = list(dict.fromkeys(cell.why for cell in cells if cell.why))
    metrics = list({cell.metric.metric.name: cell.metric.metric for cell in cells}.values())
    paper_names = {ours: paper for paper, ours in reproduction.study.schemes.items()}
    comparison = reproduction.comparisons.get(table.number)
    return Section(
        title=f"Table {table.number}" + (f" and Figure {table.figure}" if table.figure else ""),
        subtitle=table.title,
        heads=[metric.heading for metric in metrics],
        subheads=("paper", "ours"),
        rows={
            paper_names[scheme]: [item for cell in row.values() for item in _pair(cell, notes)]
            for scheme, row in rows.items()
        },
        definition=definitions(metrics),
        notes=notes,
        warnings=comparison.warnings(table.link) if comparison else (),
        figures=_draw(comparison, table.link, f"table-{table.number}-", written) if comparison else {},
        parameters=_parameters(comparison) if comparison else {},
    )


def _pair(cell: Cell, notes: Sequence[str]) -> tuple[Item, Item]:
    show = cell.metric.metric.show
    ours = show(cell.ours.mean, cell.ours.half_width) if cell.ours else ""
    return Item(show(cell.published)), Item(ours, cell.verdict, notes.index(cell.why) + 1 if cell.why else None)


def _draw(comparison: Comparison, link: str, prefix: str, written: Files) -> dict[str, str]:
    """Draw a link's figures, add them as PNG and SVG to `written`, return them as HTML by caption."""
    runs = {spec: run for (spec, seed), run in comparison.runs.items() if seed == 1}
    drawn = {}
    for name, figure in plots.figures(runs, comparison.scenario, link).items():
        svg = plots.encode(figure, "svg")
        written[f"{prefix}{name}.svg"] = svg
        written[f"{prefix}{name}.png"] = plots.encode(figure, "png")
        drawn[CAPTIONS[name]] = plots.inline(svg)
    return drawn


def _series_csv(result: RunResult) -> str:
    """Return one row a sample: the time, then each link's columns under `link.column`."""
    time = next(iter(result.series.values()))["time"]
    columns = {
        f"{link}.{name}": values
        for link, series in result.series.items()
        for name, values in series.items()
        if name != "time"
    }
    lines = [",".join(["time", *columns])]
    lines += [",".join(f"{value:.9g}" for value in row) for row in zip(time, *columns.values(), strict=True)]
    return "\n".join(lines) + "\n"


def _parameters(comparison: Comparison) -> dict[str, str]:
    """Return the parameters of every scheme as they were used, with their units."""
    used = {}
    for spec in comparison.schemes:
        units = {p.name: p.unit for p in catalogue.find(spec.partition(":")[0]).parameters}
        values = json.loads(comparison.scenario.scheme(spec))["parameters"]
        used[catalogue.title(spec)] = ", ".join(
            f"{name} = {_with_unit(str(value), units[name])}" for name, value in values.items()
        )
    return used


def _with_unit(value: str, unit: str) -> str:
    return value if unit in ("", "1", "ratio") or not _is_number(value) else f"{value} {unit}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _provenance(comparisons: Iterable[Comparison], seeds: int, command: str) -> dict[str, str]:
    """Return what one needs to repeat the work, and what it cost."""
    batches = list({id(comparison): comparison for comparison in comparisons}.values())
    runs = [run for comparison in batches for run in comparison.runs.values()]
    failures = [failure for comparison in batches for failure in comparison.failures]
    facts = {"Command": command, "Version": f"aqmlab {_core.version()}", "Seeds": _seeds(seeds)}
    if runs:
        busy = sum(run.engine.wall for run in runs)
        departed = sum(link.departed for run in runs for link in run.links.values())
        facts["Cost"] = (
            f"{len(runs)} runs in {batches[0].wall:.2f} s of wall time; {departed:,} packets sent, "
            f"{departed / max(busy, 1e-9) / 1e6:.1f} million a second and core"
        )
    if failures:
        facts["Failed runs"] = "; ".join(map(str, failures))
    return facts


def _seeds(seeds: int) -> str:
    return "seed 1" if seeds == 1 else f"seeds 1 to {seeds}, mean ± half-width of the 95 % interval"


@cache
def _template() -> "Template":
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = (files("aqmlab") / "templates" / "report.html").read_text(encoding="utf-8")
    return environment.from_string(text)
