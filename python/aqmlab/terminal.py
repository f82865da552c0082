"""What people read in a terminal: tables on stdout, progress on stderr. Colour obeys NO_COLOR and pipes."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Timer

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from aqmlab import catalogue
from aqmlab._core import Scenario
from aqmlab.batch import Progress as OnDone
from aqmlab.catalogue import Scheme
from aqmlab.comparison import Comparison
from aqmlab.metrics import Metric, definitions
from aqmlab.reproduction import VERDICTS, Cell, Reproduction
from aqmlab.results import RunResult, columns
from aqmlab.study import Study

COLOURS = {
    "match": "green",
    "near": "yellow",
    "off": "bold red",
    "unreproducible": "magenta",
    "missing": "bright_black",
}

PIPE_WIDTH = 160
"""Columns when stdout is no terminal, so that no table is folded into a narrow one."""


def console() -> Console:
    """Return the console on stdout."""
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False)


@contextmanager
def progress(title: str) -> Iterator[OnDone]:
    """Yield a callback that moves a bar on stderr, shown once two seconds have passed."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(title, total=None)
    start = Timer(2.0, bar.start)
    start.daemon = True
    start.start()
    try:
        yield lambda done, total: bar.update(task, completed=done, total=total)
    finally:
        start.cancel()
        start.join()
        bar.stop()


def names(title: str, rows: Sequence[tuple[str, str]]) -> Table:
    """Return a list of names with one line about each."""
    table = _table(title)
    table.add_column("Name", style="bold", no_wrap=True)
    table.add_column("What it is")
    for row in rows:
        table.add_row(*row)
    return table


def run(result: RunResult, scenario: Scenario) -> None:
    """Print one run: each link's metrics and each flow group's."""
    out = console()
    out.print(Text(f"{scenario.title}\n{catalogue.title(result.aqm)}, seed {result.seed}", style="bold"))
    table = _table("")
    table.add_column("Link", style="bold")
    metrics = columns(result.links.values())
    _heads(table, metrics)
    for name, link in result.links.items():
        table.add_row(name, *(metric.show(getattr(link, metric.name)) for metric in metrics))
    out.print(table)
    flows = _table("")
    flows.add_column("Flows", style="bold")
    for head in ("Count", "Goodput (Mbit/s)", "Jain", "Packet delay (ms)", "Retransmits", "Timeouts"):
        flows.add_column(head, justify="right")
    for name, group in result.flows.items():
        flows.add_row(
            name,
            str(group.count),
            f"{group.goodput / 1e6:.2f}",
            "–" if group.jain is None else f"{group.jain:.3f}",
            "–" if group.packet_delay_mean is None else f"{1000 * group.packet_delay_mean:.1f}",
            f"{group.retransmits:,}",
            f"{group.timeouts:,}",
        )
    out.print(flows)
    out.print(Text(f"{result.engine.events:,} events in {result.engine.wall:.3f} s", style="bright_black"))


def comparison(compared: Comparison) -> None:
    """Print the schemes side by side, one table a link, with the definitions below."""
    out = console()
    out.print(Text(compared.scenario.title, style="bold"))
    for link in compared.scenario.links:
        metrics = compared.metrics(link)
        table = _table(f"Link {link}")
        table.add_column("Scheme", style="bold", no_wrap=True)
        _heads(table, metrics)
        for spec in compared.schemes:
            table.add_row(catalogue.title(spec), *(compared.text(spec, link, metric) for metric in metrics))
        out.print(table)
        _warn(out, compared, link)
        out.print(Text(definitions(metrics), style="bright_black"))


def reproduction(reproduced: Reproduction) -> None:
    """Print each table, ours beside published with marks, then the coverage."""
    out = console()
    paper_names = {ours: paper for paper, ours in reproduced.study.schemes.items()}
    for table in reproduced.tables:
        rows = reproduced.rows(table.number)
        if table.missing:
            out.print(Text(f"Table {table.number}. {table.title}: {table.missing}", style="bright_black"))
            continue
        shown = _table(f"Table {table.number}. {table.title}: published → ours")
        shown.add_column("Scheme", style="bold", no_wrap=True)
        _heads(shown, [cell.metric.metric for cell in next(iter(rows.values())).values()])
        for scheme, row in rows.items():
            shown.add_row(paper_names[scheme], *(_cell(cell) for cell in row.values()))
        out.print(shown)
        _warn(out, reproduced.comparisons[table.number], table.link)
    coverage = reproduced.coverage
    out.print(Text(f"{coverage['match']} of {coverage['cells']} published numbers match", style="bold"))
    for name, verdict in VERDICTS.items():
        if coverage[name]:
            out.print(Text(f"{verdict.mark} {coverage[name]} {name}: {verdict.meaning}", style=COLOURS[name]))


def scheme_page(scheme: Scheme) -> None:
    """Print a scheme's page: idea, parameters, state shown, and the studies that measure it."""
    out = console()
    out.print(Text(f"{scheme.title} ({scheme.name}), {scheme.family}, {scheme.year}", style="bold"))
    out.print(Text(f"{scheme.summary}\nSource: {scheme.source}\nConfidence: {scheme.confidence}\n"))
    out.print(Markdown(scheme.page))
    table = _table("Parameters")
    for head in ("Name", "Default", "Unit", "Range", "Meaning", "Source"):
        table.add_column(head)
    for parameter in scheme.parameters:
        table.add_row(
            parameter.name,
            parameter.default,
            parameter.unit,
            parameter.legal,
            parameter.doc,
            parameter.source,
        )
    out.print(table if scheme.parameters else "No parameters.")
    if scheme.observables:
        shown = names("State shown", [(item.name, f"{item.doc} ({item.unit})") for item in scheme.observables])
        out.print(shown)
    out.print(f"Measured in: {', '.join(scheme.papers) or 'no study yet'}")


def tcp_page() -> None:
    """Print the constants of TCP in both profiles."""
    out = console()
    out.print(Text('TCP constants, set under tcp of [[flows]]: tcp = { profile = "ns2", min_rto = "1 s" }'))
    table = _table("Constants")
    for head in ("Name", "rfc", "ns2", "Unit", "Range", "Meaning", "Source"):
        table.add_column(head)
    for constant in catalogue.tcp_constants():
        table.add_row(
            constant.name,
            constant.default,
            constant.ns2,
            constant.unit,
            constant.legal,
            constant.doc,
            constant.source,
        )
    out.print(table)


def scenario_page(scenario: Scenario, text: str) -> None:
    """Print a scenario: its file, and its values with every default filled in."""
    out = console()
    out.print(Text(f"{scenario.title} ({scenario.name})", style="bold"))
    out.print(Text(f"\n{text.strip()}\n"))
    out.print(Text("With every default filled in (seconds, bit/s, packets):", style="bold"))
    out.print(Text(json.dumps(json.loads(scenario.resolved_json()), indent=2)))


def study_page(study: Study) -> None:
    """Print a study: the paper and its tables."""
    out = console()
    out.print(Text(f"{study.title}\n{study.source}\n", style="bold"))
    out.print(f"{len(study.published)} published numbers; schemes: {', '.join(study.schemes)}")
    table = _table("Tables")
    for head in ("Table", "Figure", "What it shows", "Scenario"):
        table.add_column(head)
    for item in study.tables:
        table.add_row(item.number, item.figure or "–", item.title, item.scenario or item.missing)
    out.print(table)


def _warn(out: Console, compared: Comparison, link: str) -> None:
    for warning in compared.warnings(link):
        out.print(Text(f"Note: {warning}", style="yellow"))


def _cell(cell: Cell) -> Text:
    show = cell.metric.metric.show
    ours = show(cell.ours.mean, cell.ours.half_width) if cell.ours else ""
    text = Text(f"{show(cell.published)} → ")
    text.append(f"{ours} {VERDICTS[cell.verdict].mark}", style=COLOURS[cell.verdict])
    return text


def _heads(table: Table, metrics: Sequence[Metric]) -> None:
    """Add a column for each metric, its head one word a line so that a table fits 80 columns."""
    for metric in metrics:
        table.add_column("\n".join(metric.heading.split()), justify="right")


def _table(title: str) -> Table:
    return Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
