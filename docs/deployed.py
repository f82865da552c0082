"""Measure the tables of the deployed schemes and draw their picture, over the seeds 1 to 5 (some minutes).

`python docs/deployed.py` writes them into docs/deployed.md and docs/deployed-evidence.md, each table between
`<!-- its name -->` and `<!-- end -->`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import matplotlib as mpl
import tables
from matplotlib.figure import Figure

import aqmlab
from aqmlab.present import labels
from aqmlab.present.plots import style
from aqmlab.present.plots.files import encode
from aqmlab.runs.executor import run_many
from aqmlab.runs.results import RunResult
from aqmlab.runs.statistics import summarise
from aqmlab.runs.task import Task

PAGE = Path(__file__).parent / "deployed.md"
EVIDENCE = PAGE.with_name("deployed-evidence.md")
SEEDS = range(1, 6)
RATE = "links.bottleneck.rate"

Value = Callable[[RunResult], float]


@dataclass(frozen=True)
class Row:
    """A scheme, and its changes of the scenario."""

    aqm: str
    set: Mapping[str, str] = field(default_factory=dict)
    head: str = ""


@dataclass(frozen=True)
class Column:
    """A value, its changes of the scenario, and the range in which the promise is kept."""

    head: str
    value: Value
    digits: int = 1
    set: Mapping[str, str] = field(default_factory=dict)
    promise: tuple[float, float] | None = None


@dataclass(frozen=True)
class Table:
    """Rows and columns of one scenario."""

    name: str
    scenario: str
    rows: Sequence[Row]
    columns: Sequence[Column]

    def tasks(self) -> list[Task]:
        """Return the runs of every cell, row by row."""
        return [
            Task(aqmlab.load(self.scenario, {**row.set, **column.set}), row.aqm, seed)
            for row in self.rows
            for column in self.columns
            for seed in SEEDS
        ]

    def markdown(self) -> str:
        """Return the measured table: mean ± half-width of the 95 % interval, in italics if a promise is not kept."""
        outcomes = iter(measure(self.tasks()))
        heads, rows = ["", *(column.head for column in self.columns)], list[list[str]]()
        for row in self.rows:
            cells = [text(column, [column.value(next(outcomes)) for _ in SEEDS]) for column in self.columns]
            rows.append([row.head or labels.marked(f"`{row.aqm}`", row.aqm), *cells])
        marks = labels.footnote(row[0] for row in rows)
        return tables.table(heads, rows) + (f"\n\n{marks}" if marks else "")


def measure(tasks: Sequence[Task]) -> list[RunResult]:
    """Run the tasks, each once."""
    single = {(str(task.scenario.resolved()), task.aqm, task.seed): task for task in tasks}
    results = dict(zip(single, run_many(list(single.values())), strict=True))
    found = [results[str(task.scenario.resolved()), task.aqm, task.seed] for task in tasks]
    good = [run for run in found if isinstance(run, RunResult)]
    if len(good) < len(found):
        raise RuntimeError("a run failed")
    return good


def text(column: Column, values: Sequence[float]) -> str:
    """Return the values of the seeds as one cell."""
    found = summarise(values)
    shown = f"{found.mean:.{column.digits}f} ± {found.half_width:.{column.digits}f}"
    is_kept = column.promise is None or column.promise[0] <= found.mean <= column.promise[1]
    return shown if is_kept else f"*{shown}*"


def link(metric: str, factor: float = 1.0) -> Value:
    """Return a metric of the link, times `factor`."""
    return lambda run: factor * float(getattr(run.links["bottleneck"], metric))


def group(name: str, metric: str, factor: float = 1.0, less: float = 0.0) -> Value:
    """Return a metric of a group of flows minus `less`, times `factor`."""
    return lambda run: factor * (float(getattr(run.flows[name], metric)) - less)


def share(name: str) -> Value:
    """Return a group's share of all goodput, percent."""
    return lambda run: 100 * run.flows[name].goodput / run.total.goodput


def marked(name: str) -> Value:
    """Return the share of a group's packets that arrived with a mark, percent."""
    return lambda run: 100 * run.flows[name].marked / run.flows[name].received


def jain(run: RunResult) -> float:
    """Return Jain's index over all flows that are active for the whole measurement period."""
    assert run.total.jain is not None
    return run.total.jain


SOJOURN = Column("mean sojourn (ms)", link("queue_delay_mean", 1e3))
TAIL = Column("p99 sojourn (ms)", link("queue_delay_p99", 1e3))
UTILISATION = Column("utilisation (%)", link("utilisation", 100))
DROPS = Column("drops (%)", link("drop_ratio", 100), 2)


def rows(*specs: str) -> list[Row]:
    """Return a row for each scheme."""
    return [Row(spec) for spec in specs]


def at(megabits: int, **others: str) -> dict[str, str]:
    """Return the change of the link's rate, and others (`__` becomes a dot)."""
    return {RATE: f"{megabits} Mbit/s", **{key.replace("__", "."): value for key, value in others.items()}}


def grid(name: str, aqm: str, low: float, high: float) -> Table:
    """Mean sojourn times (ms) of a scheme against round-trip time, rate and flows."""
    return Table(
        name,
        "deployed/bulk",
        [
            Row(aqm, at(rate, flows__ftp__rtt=f"{rtt} ms"), f"{rtt} ms, {rate} Mbit/s")
            for rtt in (10, 20, 50, 100)
            for rate in (10, 100, 1000)
        ],
        [
            Column(f"{count} flows", SOJOURN.value, 1, {"flows.ftp.count": str(count)}, (low, high))
            for count in (2, 5, 10, 20)
        ],
    )


def voice_tail(megabits: int) -> Column:
    """p99 of the call's queueing and transmission time (ms); the promise is two packet times of the link plus 2 ms."""
    limit = 2 * 1500 * 8 / (1e3 * megabits) + 2
    value = group("voice", "packet_delay_p99", 1e3, 0.010)
    return Column(f"{megabits} Mbit/s (limit {limit:.1f})", value, 1, at(megabits), (0, limit))


def l4s_tail(megabits: int) -> Column:
    """p99 of the stream's queueing and transmission time (ms); the promise is 2 ms."""
    value = group("l4s", "packet_delay_p99", 1e3, 0.010)
    change = at(megabits, flows__l4s__rate=f"{0.2 * megabits} Mbit/s")
    return Column(f"ECT(1) p99 at {megabits} Mbit/s (ms)", value, 2, change, (0, 2))


BULK = "droptail", "red", "codel", "cobalt", "pie", "pi2", "dualpi2", "fq-codel", "fq-cobalt", "fq-pie", "cake"
SINGLE = "droptail", "red", "codel", "pie", "pi2", "cobalt"

TABLES = [
    Table("bulk", "deployed/bulk", rows(*BULK, "cake:bandwidth=50 Mbit/s"), [SOJOURN, TAIL, UTILISATION, DROPS]),
    grid("codel", "codel", 3, 8),
    grid("pie", "pie", 10, 20),
    Table(
        "slow-link",
        "deployed/slow-link",
        rows("droptail", "codel", "cobalt", "pie", "fq-codel", "cake"),
        [SOJOURN, TAIL, UTILISATION, DROPS, Column("Jain", jain, 2)],
    ),
    Table(
        "rtt-fairness",
        "deployed/rtt-fairness",
        rows(*SINGLE, "sfb", "choke", "dualpi2", "fq-codel", "fq-cobalt", "fq-pie", "cake"),
        [
            Column("10 ms (Mbit/s)", group("near", "goodput", 1e-6)),
            Column("200 ms (Mbit/s)", group("far", "goodput", 1e-6)),
            UTILISATION,
            Column("Jain", jain, 3),
        ],
    ),
    Table(
        "sparse",
        "deployed/sparse",
        rows(*SINGLE, "fq-codel", "fq-cobalt", "fq-pie", "cake"),
        [voice_tail(megabits) for megabits in (4, 10, 100)],
    ),
    Table(
        "l4s",
        "deployed/l4s",
        rows("codel", "pie", "fq-codel", "dualpi2", "dualpi2:flavour=linux"),
        [
            *(l4s_tail(megabits) for megabits in (10, 20, 100)),
            Column("Classic p99 (ms)", group("classic", "packet_delay_p99", 1e3, 0.010)),
            Column("marked ECT(1) (%)", marked("l4s")),
            UTILISATION,
        ],
    ),
    Table(
        "unresponsive",
        "deployed/unresponsive",
        rows("droptail", "red", "codel", "pie", "choke", "sfb", "fq-codel", "cake"),
        [Column("share of the stream (%)", share("blast")), SOJOURN, DROPS],
    ),
    Table(
        "hosts",
        "deployed/hosts",
        rows("droptail", "codel", "fq-codel", "cake:isolation=flows", "cake"),
        [Column("share of the host with one transfer (%)", share("one")), UTILISATION],
    ),
    Table(
        "tins",
        "deployed/tins",
        rows("droptail", "fq-codel", "cake:diffserv=besteffort", "cake", "cake:bandwidth=9 Mbit/s"),
        [
            Column("voice p99 (ms)", group("voice", "packet_delay_p99", 1e3, 0.010)),
            Column("video p99 (ms)", group("video", "packet_delay_p99", 1e3, 0.010)),
            Column("video (Mbit/s)", group("video", "goodput", 1e-6), 2),
            Column("transfers (Mbit/s)", group("ftp", "goodput", 1e-6), 2),
            Column("background (Mbit/s)", group("backup", "goodput", 1e-6), 2),
            UTILISATION,
        ],
    ),
    Table(
        "steps",
        "deployed/bulk",
        [
            Row(spec, {"flows.ftp.tcp": "prague"})
            for spec in ("codel", "dctcp-step:k=50 packets", "l4s-step", "dualpi2")
        ],
        [SOJOURN, TAIL, UTILISATION, DROPS, Column("marked (%)", marked("ftp"), 2)],
    ),
]


def picture() -> Figure:
    """Draw the delays of transfers and of a call beyond propagation: median, p95 and p99 by scheme."""
    panels = (
        ("deployed/bulk", "ftp", 25.0, "Ten transfers, 100 Mbit/s, RTT 50 ms"),
        ("deployed/sparse", "voice", 10.0, "A call with ten transfers, 10 Mbit/s"),
    )
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(style.WIDTH, 2.9), layout="constrained")
        for axes, (scenario, name, propagation, title) in zip(figure.subplots(1, 2, sharey=True), panels, strict=True):
            draw(axes, scenario, name, propagation)
            axes.set_title(title, loc="left", fontweight="bold", pad=3)
            axes.set_xlabel("Queueing and transmission (ms)")
        style.explain_marks(figure)
    figure.axes[0].invert_yaxis()
    figure.axes[1].legend(loc="lower right", fontsize=6.5, frameon=True)
    return figure


def draw(axes: Any, scenario: str, name: str, propagation: float) -> None:
    """Draw a bar with three marks for each scheme, means over the seeds."""
    quantiles = ("p50", "p95", "p99")
    columns = [Column(q, group(name, f"packet_delay_{q}", 1e3, propagation / 1e3)) for q in quantiles]
    outcomes = measure(Table("", scenario, rows(*BULK), columns[:1]).tasks())
    runs = [outcomes[i : i + len(SEEDS)] for i in range(0, len(outcomes), len(SEEDS))]
    values = [[fmean(map(column.value, of_scheme)) for of_scheme in runs] for column in columns]
    places = range(len(BULK))
    axes.hlines(places, values[0], values[2], color=style.PALE, linewidth=3)
    for value, column, colour, marker in zip(values, columns, style.PALETTE, "os^", strict=False):
        axes.plot(value, places, linestyle="none", marker=marker, markersize=4, color=colour, label=column.head)
    axes.set_yticks(places, [labels.label(spec) for spec in BULK])
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")


def main() -> None:
    """Write the tables into the pages, and the picture."""
    for page in (PAGE, EVIDENCE):
        text = page.read_text(encoding="utf-8")
        for table in TABLES:
            if f"<!-- {table.name} -->" in text:
                written = f"<!-- {table.name} -->\n\n{table.markdown()}\n\n<!-- end -->"
                before, after = re.split(rf"<!-- {table.name} -->.*?<!-- end -->", text, flags=re.DOTALL)
                text = before + written + after
        page.write_text(text, encoding="utf-8")
    PAGE.with_suffix(".png").write_bytes(encode(picture(), "png"))


if __name__ == "__main__":
    main()
