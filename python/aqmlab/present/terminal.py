"""What people read in a terminal: tables on stdout, progress on stderr. Colour obeys NO_COLOR and pipes."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from aqmlab import catalogue
from aqmlab._core import Scenario
from aqmlab.catalogue import Law, Parameter, Scheme
from aqmlab.runs import findings
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.executor import Progress as OnDone
from aqmlab.runs.findings import Findings
from aqmlab.runs.metrics import Metric, definitions
from aqmlab.runs.plan import Experiment
from aqmlab.runs.results import FlowResult, RunResult, columns
from aqmlab.runs.sweep import BETTER, MEASURES, Sweep
from aqmlab.study import claims
from aqmlab.study.cells import VERDICTS, Cell
from aqmlab.study.paper import Figure, Study
from aqmlab.study.paper import Table as StudyTable
from aqmlab.study.reproduction import Reproduction, coverage

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


ESTIMATE_AFTER = 5
"""Seconds of a sweep before its time is estimated."""


@dataclass
class _Pace:
    """How fast the runs of a sweep go, told on stderr: a bar for people, one line where stderr is no terminal."""

    bar: Progress | None
    began: float
    first: float | None = None
    told: bool = False

    def __call__(self, done: float, total: int) -> None:
        now = time.monotonic()
        self.first = done if self.first is None else self.first
        rate = (done - self.first) / max(now - self.began, 1e-9)
        if self.bar:
            self.bar.update(self.bar.task_ids[0], completed=done, total=total, rate=f"{rate:.1f} runs/s")
        elif rate and not self.told and now - self.began > ESTIMATE_AFTER:
            self.told = True
            left = _clock((total - done) / rate)
            print(f"{done:,.0f} of {total:,} runs done, {rate:.1f} runs/s, about {left} left", file=sys.stderr)


@contextmanager
def pace(title: str) -> Iterator[OnDone]:
    """Yield a callback that tells how far a sweep is, its rate and the time left."""
    if not sys.stderr.isatty():
        yield _Pace(None, time.monotonic())
        return
    heads = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    with Progress(*heads, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        bar.add_task(title, total=None, rate="")
        yield _Pace(bar, time.monotonic())


def _clock(seconds: float) -> str:
    """Seconds as people say them."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def names(title: str, rows: Sequence[tuple[str, str]]) -> Table:
    """Return a list of names with one line about each."""
    table = plain_table(title)
    table.add_column("Name", style="bold", no_wrap=True)
    table.add_column("What it is")
    for row in rows:
        table.add_row(*row)
    return table


def schemes(found: Sequence[Scheme]) -> Table:
    """Return the catalogue: what each scheme is, and where it comes from."""
    table = plain_table("Aqms")
    table.add_column("Name", style="bold", no_wrap=True)
    table.add_column("Family", no_wrap=True)
    table.add_column("Year")
    table.add_column("What it is, and its source")
    for scheme in found:
        table.add_row(
            scheme.name, scheme.family, str(scheme.year), Text.assemble(scheme.summary, "\n", (scheme.source, "dim"))
        )
    return table


def run(result: RunResult, scenario: Scenario) -> None:
    """Print one run: each link's metrics and each flow group's."""
    out = console()
    out.print(Text(f"{scenario.title}\n{catalogue.title(result.aqm)}, seed {result.seed}", style="bold"))
    table = plain_table("")
    table.add_column("Link", style="bold")
    metrics = columns(result.links.values())
    _heads(table, metrics)
    for name, link in result.links.items():
        table.add_row(name, *(metric.show(getattr(link, metric.name)) for metric in metrics))
    out.print(table)
    out.print(_flows(result))
    out.print(Text(f"{result.engine.events:,} events in {result.engine.wall:.3f} s", style="bright_black"))


def _flows(result: RunResult) -> Table:
    """Return the table of the flow groups; marks and completion times only where there are any."""
    groups = dict(result.flows) if len(result.flows) == 1 else {**result.flows, "all": result.total}
    shown: dict[str, Callable[[FlowResult], str]] = {
        "Count": lambda group: str(group.count),
        "Goodput (Mbit/s)": lambda group: f"{group.goodput / 1e6:.2f}",
        "Jain": lambda group: "–" if group.jain is None else f"{group.jain:.3f}",
        "Packet delay (ms)": lambda group: _milliseconds(group.packet_delay_mean),
        "Delay p99 (ms)": lambda group: _milliseconds(group.packet_delay_p99),
        "Retransmits": lambda group: f"{group.retransmits:,}",
        "Timeouts": lambda group: f"{group.timeouts:,}",
    }
    if result.total.marked:
        shown["Marked"] = lambda group: f"{group.marked:,}"
    if result.total.transfers:
        shown["Transfers"] = lambda group: f"{group.transfers:,}"
        shown["FCT p50 (ms)"] = lambda group: _milliseconds(group.fct_p50)
        shown["FCT p95 (ms)"] = lambda group: _milliseconds(group.fct_p95)
    if any(group.video for group in groups.values()):
        shown["Bitrate (Mbit/s)"] = lambda group: "–" if group.video is None else group.video.bitrate_text
        shown["Stalled (s)"] = lambda group: "–" if group.video is None else f"{group.video.stall_time:.1f}"
    table = plain_table("")
    table.add_column("Flows", style="bold")
    for head in shown:
        table.add_column("\n".join(head.split()), justify="right")
    for name, group in groups.items():
        table.add_row(name, *(show(group) for show in shown.values()))
    return table


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1000 * seconds:.1f}"


def comparison(compared: Comparison) -> None:
    """Print the schemes side by side, one table a link, with the definitions below."""
    out = console()
    out.print(Text(compared.scenario.title, style="bold"))
    for link in compared.scenario.links:
        metrics = compared.metrics(link)
        table = plain_table(f"Link {link}")
        table.add_column("Scheme", style="bold", no_wrap=True)
        _heads(table, metrics)
        for spec in compared.schemes:
            table.add_row(catalogue.title(spec), *(compared.text(spec, link, metric) for metric in metrics))
        out.print(table)
        _warn(out, compared, link)
        out.print(Text(definitions(metrics), style="bright_black"))


MOST_ROWS = 60
"""Rows of a sweep's summary that are still read in a terminal."""


def experiment(asked: Experiment, done: int) -> None:
    """Print what an experiment asks for, and how much of it is done."""
    out = console()
    out.print(Text(asked.title, style="bold"))
    dimensions = [
        ("scenarios", [world.name for world in asked.worlds]),
        ("schemes", [arm.aqm for arm in asked.arms]),
        *asked.overrides.items(),
        ("seeds", [str(seed) for seed in asked.seeds]),
    ]
    table = plain_table("")
    for head in ("Dimension", "Values", "Which"):
        table.add_column(head)
    for name, values in dimensions:
        table.add_row(name, str(len(values)), _some(list(values)))
    out.print(table)
    out.print(f"{len(asked.runs()):,} runs, {done:,} of them done")


def sweep(swept: Sweep) -> None:
    """Print means and intervals of each scenario and scheme, then the ranking of the schemes."""
    out = console()
    table = plain_table(swept.experiment.title)
    table.add_column("Scenario", style="bold")
    table.add_column("Scheme", style="bold", no_wrap=True)
    _heads(table, list(MEASURES.values()))
    for cell in swept.experiment.cells[:MOST_ROWS]:
        found = ((metric, swept.summary(cell, measure)) for measure, metric in MEASURES.items())
        shown = (metric.show(x.mean, x.half_width) if x else metric.show(None) for metric, x in found)
        varied = (
            f"{path} = {value}" for path, value in cell.overrides if len(swept.experiment.overrides.get(path, ())) != 1
        )
        where = "\n".join([cell.world.name, *varied])
        table.add_row(where, cell.arm.aqm, *shown)
    out.print(table)
    if len(swept.experiment.cells) > MOST_ROWS:
        out.print(
            f"The first {MOST_ROWS} of {len(swept.experiment.cells):,} rows; all of them: --json, or runs.parquet"
        )
    for note in swept.notes:
        out.print(Text(f"Note: {note}", style="yellow"))
    _ranking(out, swept)
    out.print(f"{len(swept.rows):,} runs, {swept.done_now:,} of them done now; {len(swept.failures):,} failed")


def _ranking(out: Console, swept: Sweep) -> None:
    """Print the mean ranks, if there are schemes and scenarios enough for them."""
    found = {measure: ranking for measure in BETTER if (ranking := swept.ranking(measure))}
    if not found:
        return
    table = plain_table("Mean rank over the scenarios, 1 the best")
    table.add_column("Scheme", style="bold", no_wrap=True)
    for measure in found:
        table.add_column(MEASURES[measure].title, justify="right")
    for arm in swept.experiment.arms:
        table.add_row(arm.aqm, *(f"{ranking.ranks[arm.aqm]:.2f}" for ranking in found.values()))
    table.add_section()
    table.add_row("critical difference", *(f"{ranking.critical:.2f}" for ranking in found.values()))
    table.add_row("p (Friedman)", *(f"{ranking.p:.2g}" for ranking in found.values()))
    out.print(table)


def what_to_draw(found: Findings, figures: Mapping[str, str]) -> None:
    """Print the figures, scenarios, measures and varied values of a stored sweep."""
    out = console()
    out.print(names("Figures", list(figures.items())))
    out.print(names("Scenarios", [(name, f"link {case.link}") for name, case in found.cases.items()]))
    out.print(names("Measures", [(name, findings.MEASURES[name].definition) for name in found.measures]))
    if found.varied:
        out.print(names("Varied values", [(name, ", ".join(values)) for name, values in found.varied.items()]))


def reproduction(reproduced: Reproduction) -> None:
    """Print each table, ours beside published with marks, the charts' numbers, the claims, then the coverage."""
    out = console()
    for table in reproduced.tables:
        _reproduced_table(out, reproduced, table)
    for figure in reproduced.figures:
        _reproduced_figure(out, reproduced, figure)
    if reproduced.claims:
        out.print(_claims(reproduced))
    if reproduced.unbuilt:
        out.print(Text(f"Not built yet, so left out: {', '.join(reproduced.unbuilt)}", style="bright_black"))
    _coverage(out, reproduced.coverage)


def reproductions(several: Sequence[Reproduction]) -> None:
    """Print several studies, and a line about each at the end."""
    for reproduced in several:
        console().print(Text(f"{reproduced.study.title}\n{reproduced.study.source}", style="bold"))
        reproduction(reproduced)
    out = console()
    table = plain_table("All studies")
    table.add_column("Study", style="bold")
    for head in ("numbers", *VERDICTS, "claims", "hold"):
        table.add_column(head, justify="right")
    for reproduced in several:
        hold = sum(checked.verdict == "holds" for checked in reproduced.claims)
        counts = [*reproduced.coverage.values(), len(reproduced.claims), hold]
        table.add_row(reproduced.study.name, *map(str, counts))
    out.print(table)
    _coverage(out, coverage(cell for reproduced in several for cell in reproduced.cells))


def _reproduced_table(out: Console, reproduced: Reproduction, table: StudyTable) -> None:
    heads = reproduced.columns(table.number)
    shown = plain_table(f"Table {table.number}. {table.title}: published → ours")
    shown.add_column("Scheme", style="bold", no_wrap=True)
    for head in heads.values():
        shown.add_column("\n".join(head.split()), justify="right")
    for name, row in reproduced.rows(table.number).items():
        shown.add_row(name, *(_cell(row[column]) if column in row else "" for column in heads))
    out.print(shown)
    if len(table.scenarios) == 1:
        _warn(out, reproduced.comparisons[table.scenarios[0]], table.link)


def _reproduced_figure(out: Console, reproduced: Reproduction, figure: Figure) -> None:
    chart = reproduced.charts.get(figure.number)
    absent = reproduced.absent(figure)
    left_out = f" ({', '.join(absent)}: not built yet)" if absent else ""
    if not reproduced.drawn(figure):
        out.print(Text(f"Figure {figure.number}. {figure.title}: not drawn{left_out}", style="bright_black"))
    elif chart is None:
        out.print(f"Figure {figure.number}. {figure.title}: drawn with --out{left_out}")
    else:
        shown = plain_table(f"Figure {figure.number}. {figure.title}{left_out}")
        shown.add_column(figure.x_label)
        for head in chart.heads:
            shown.add_column(head, justify="right")
        for name, numbers in chart.rows.items():
            shown.add_row(name, *numbers)
        out.print(shown)


def _claims(reproduced: Reproduction) -> Table:
    table = plain_table("What the paper says")
    for head in ("Section", "Claim", "Verdict", "Measured, and why"):
        table.add_column(head)
    for checked in reproduced.claims:
        colour = {"holds": "green", "fails": "bold red", "missing": "bright_black"}[checked.verdict]
        table.add_row(
            checked.claim.section,
            checked.claim.text,
            Text(f"{claims.VERDICTS[checked.verdict]} {checked.verdict}", style=colour),
            ". ".join(part for part in (checked.measured, checked.why) if part),
        )
    return table


def _coverage(out: Console, counts: Mapping[str, int]) -> None:
    if not counts["cells"]:
        return
    out.print(Text(f"{counts['match']} of {counts['cells']} published numbers match", style="bold"))
    for name, verdict in VERDICTS.items():
        if counts[name]:
            out.print(Text(f"{verdict.mark} {counts[name]} {name}: {verdict.meaning}", style=COLOURS[name]))


def scheme_page(scheme: Scheme) -> None:
    """Print a scheme's page: idea, parameters, state shown, and the studies that measure it."""
    out = console()
    out.print(Text(f"{scheme.title} ({scheme.name}), {scheme.family}, {scheme.year}", style="bold"))
    out.print(Text(f"{scheme.summary}\nSource: {scheme.source}\nConfidence: {scheme.confidence}\n"))
    out.print(Markdown(scheme.page))
    out.print(_parameters(scheme.parameters))
    if scheme.observables:
        shown = names("State shown", [(item.name, f"{item.doc} ({item.unit})") for item in scheme.observables])
        out.print(shown)
    out.print(names("Known of it", scheme.facts()))
    out.print(f"Measured in: {', '.join(scheme.papers) or 'no study yet'}")


def law_page(law: Law) -> None:
    """Print the page of a congestion-control law: idea, equations and parameters."""
    out = console()
    out.print(Text(f"{law.title} ({law.name}), {law.year}", style="bold"))
    out.print(Text(f"{law.summary}\nSource: {law.source}\n"))
    out.print(Markdown(law.page))
    out.print(_parameters(law.parameters))


def _parameters(declared: Sequence[Parameter]) -> Table | str:
    if not declared:
        return "No parameters."
    table = plain_table("Parameters")
    for head in ("Name", "Default", "Unit", "Range", "Meaning", "Source"):
        table.add_column(head)
    for item in declared:
        table.add_row(item.name, item.default, item.unit, item.legal, item.doc, item.source)
    return table


def tcp_page() -> None:
    """Print the constants of TCP in both profiles."""
    out = console()
    out.print(Text('TCP constants, set under tcp of [[flows]]: tcp = { profile = "ns2", min_rto = "1 s" }'))
    table = plain_table("Constants")
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
    table = plain_table("Tables and figures")
    for head in ("Table", "Figure", "What it shows", "Scenarios"):
        table.add_column(head)
    for item in study.tables:
        table.add_row(item.number, item.figure or "–", item.title, _some(item.scenarios))
    for figure in study.figures:
        names = dict.fromkeys(name for panel in figure.panels for name in panel.scenarios)
        table.add_row("–", figure.number, figure.title, _some(list(names)))
    out.print(table)


def _some(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more or "the stability analysis"


def _warn(out: Console, compared: Comparison, link: str) -> None:
    for warning in compared.warnings(link):
        out.print(Text(f"Note: {warning}", style="yellow"))


def _cell(cell: Cell) -> Text:
    text = Text(f"{cell.printed} → ")
    text.append(f"{cell.measured} {VERDICTS[cell.verdict].mark}", style=COLOURS[cell.verdict])
    return text


def _heads(table: Table, metrics: Sequence[Metric]) -> None:
    """Add a column for each metric, its head one word a line so that a table fits 80 columns."""
    for metric in metrics:
        table.add_column("\n".join(metric.heading.split()), justify="right")


def plain_table(title: str) -> Table:
    """Return an empty table as all are drawn here: a line under the heads, no borders."""
    return Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
