"""Figures as journals print them: small multiples over time, and a metric against what is varied."""

import json
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from multiprocessing import get_context
from signal import SIG_IGN, SIGINT, signal
from typing import TYPE_CHECKING, Any, Protocol

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from aqmlab._core import Scenario
from aqmlab.catalogue import title
from aqmlab.runs.results import RunResult
from aqmlab.study.charts import Chart, ChartPanel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MANY = 6
"""Drawings from which on it pays to start more processes."""

FEW = 12
"""Panels up to which two in a row are wide enough to read and high enough for a page."""

WIDTH = 7.2
"""Inches; two columns of a journal page."""

LINE, PALE, TARGET = "#0072B2", "#A9D3EC", "#D55E00"
"""Blue and vermilion of the Okabe-Ito palette, told apart by every eye; in grey the dashes tell."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The Okabe-Ito palette for several lines in one panel."""

DASHES: Any = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
MARKERS = "os^Dv<P"
"""What tells the lines apart in grey."""

UNDATED: Any = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}, "pdf": {"CreationDate": None}}
"""What a file does not say of itself, by kind, lest its bytes change from day to day."""

THIRDS, QUARTERS = (1, 2, 3, 5, 10), (1, 2.5, 5, 10)
"""What one step of an axis may be, times a power of ten."""

STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.4,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.solid_joinstyle": "round",
    "svg.hashsalt": "aqmlab",
    "svg.fonttype": "path",
}


@dataclass(frozen=True)
class Curve:
    """Values against seconds, by the name of the scheme."""

    name: str
    time: "Array"
    values: "Array"


@dataclass(frozen=True)
class Panel:
    """One panel: one curve, or several of which only the means over 1 s are drawn.

    `smooth` adds that mean to a single curve; a dashed line is drawn at `target`.
    """

    title: str
    remark: str
    curves: Sequence[Curve]
    smooth: bool = False
    target: float | None = None


@dataclass(frozen=True)
class Frame:
    """The axes all panels share: 0 to `end` s, 0 to `top` in steps of `steps`."""

    label: str
    end: float
    top: float
    steps: Sequence[float]


@dataclass(frozen=True)
class Multiples:
    """Panels over time that share their axes, `columns` in a row: all it takes to draw them."""

    panels: Sequence[Panel]
    frame: Frame
    columns: int = 2


class Drawable(Protocol):
    """What draws itself, in the style of this module."""

    def figure(self) -> Figure:
        """Return the figure, laid out."""


Drawing = Multiples | Chart | Drawable


def figures(runs: Mapping[str, RunResult], scenario: Scenario, link: str) -> dict[str, Multiples]:
    """Return the figures of one link: "queue", and "p" for the schemes that expose a drop probability.

    `runs` are runs with series by scheme; each gives one panel. No runs, no figures.
    """
    shown = {
        "queue": [queue_panel(title(spec), {title(spec): run}, scenario, link) for spec, run in runs.items()],
        "p": [p_panel(title(spec), {title(spec): run}, link) for spec, run in runs.items() if "p" in run.series[link]],
    }
    frames = {"queue": queue_frame(shown["queue"], [(scenario, link)]), "p": p_frame(shown["p"], scenario.duration)}
    columns = 2 if len(runs) <= FEW else 3
    return {name: Multiples(panels, frames[name], columns) for name, panels in shown.items() if panels}


def queue_panel(name: str, runs: Mapping[str, RunResult], scenario: Scenario, link: str) -> Panel:
    """Return a panel of the packets waiting in `runs` (by scheme), with the target."""
    results = [run.links[link] for run in runs.values()]
    remark = f"mean {results[0].queue_mean:.0f}, std {results[0].queue_std:.0f}" if len(results) == 1 else ""
    return Panel(name, remark, _curves(runs, link, "queue"), target=target(scenario, link))


def target(scenario: Scenario, link: str) -> float | None:
    """Return the target of a link in packets, None if it is a delay."""
    return _packets(_link(scenario, link)["target"])


def p_panel(name: str, runs: Mapping[str, RunResult], link: str) -> Panel:
    """Return a panel of the drop probability in `runs`, by scheme."""
    ratios = [100 * run.links[link].drop_ratio for run in runs.values()]
    remark = f"drop ratio {ratios[0]:.1f} %" if len(ratios) == 1 else ""
    return Panel(name, remark, _curves(runs, link, "p"), smooth=True)


def utilisation_panel(name: str, runs: Mapping[str, RunResult], link: str) -> Panel:
    """Return a panel of the share of the time in which a link is busy in `runs`, by scheme."""
    shares = [100 * run.links[link].utilisation for run in runs.values()]
    remark = f"mean {shares[0]:.1f} %" if len(shares) == 1 else ""
    return Panel(name, remark, _curves(runs, link, "utilisation"), smooth=True)


def queue_frame(panels: Sequence[Panel], places: Sequence[tuple[Scenario, str]]) -> Frame:
    """Return axes for the packets waiting at links: up to the largest buffer, unless most of it is never used."""
    buffers = [_packets(_link(scenario, link)["buffer"]) for scenario, link in places]
    buffer, highest = max((buffer for buffer in buffers if buffer), default=0.0), _highest(panels)
    top = buffer if highest > buffer / 3 else highest
    return Frame("Queue (packets)", max(scenario.duration for scenario, _ in places), top, THIRDS)


def p_frame(panels: Sequence[Panel], end: float) -> Frame:
    """Return axes for the drop probability: up to the highest."""
    return Frame("Drop probability", end, _highest(panels), QUARTERS)


def utilisation_frame(end: float) -> Frame:
    """Return axes for the utilisation: up to 1."""
    return Frame("Utilisation", end, 1.0, QUARTERS)


def _highest(panels: Sequence[Panel]) -> float:
    return max((float(curve.values.max()) for panel in panels for curve in panel.curves), default=0) or 1.0


def _curves(runs: Mapping[str, RunResult], link: str, column: str) -> list[Curve]:
    return [
        Curve(name, run.series[link]["time"], run.series[link][column])
        for name, run in runs.items()
        if column in run.series[link]
    ]


def _link(scenario: Scenario, link: str) -> Any:
    return next(entry for entry in json.loads(scenario.resolved_json())["links"] if entry["name"] == link)


def encode_all(drawings: Mapping[str, Drawing]) -> dict[str, tuple[bytes, bytes]]:
    """Return each drawing as SVG and as PNG; many are drawn on all cores."""
    if len(drawings) < MANY:
        return {name: _encoded(drawing) for name, drawing in drawings.items()}
    with ProcessPoolExecutor(mp_context=get_context("spawn"), initializer=_leave_interrupts) as pool:
        try:
            return dict(zip(drawings, pool.map(_encoded, drawings.values()), strict=True))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _leave_interrupts() -> None:
    """Let the process that waits handle Ctrl-C."""
    signal(SIGINT, SIG_IGN)


def _encoded(drawing: Drawing) -> tuple[bytes, bytes]:
    if isinstance(drawing, Chart):
        figure = chart(drawing)
    else:
        figure = small_multiples(drawing) if isinstance(drawing, Multiples) else drawing.figure()
    return encode(figure, "svg"), encode(figure, "png")


def encode(figure: Figure, kind: str) -> bytes:
    """Return a figure as "png" (200 dpi), "svg" or "pdf"; the same figure always gives the same bytes."""
    buffer = BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(buffer, format=kind, dpi=200, metadata=UNDATED[kind])
    return _shorter(buffer.getvalue()) if kind == "svg" else buffer.getvalue()


def _shorter(svg: bytes) -> bytes:
    """Return an SVG whose lines keep two digits after the point, a fortieth of a millimetre: half the bytes."""
    return re.sub(rb"(?m)^([ML]) (-?\d+\.\d\d)\d* (-?\d+\.\d\d)\d*", rb"\1 \2 \3", svg)


def inline(svg: bytes) -> str:
    """Return an SVG as an element for HTML: no XML head, as wide as its place."""
    text = svg.decode("utf-8")
    head, rest = text[text.index("<svg ") :].split(">", 1)
    return re.sub(r' (width|height)="[^"]*"', "", head) + ">" + rest


def envelope(time: "Array", values: "Array", bins: int = 800) -> tuple["Array", "Array"]:
    """Return the lowest and highest value of each of `bins` stretches: the same picture, far fewer points."""
    size = len(values) // bins
    if size < 3:
        return time, values
    whole = size * bins
    blocks = values[:whole].reshape(bins, size)
    ends = np.sort(np.stack([blocks.argmin(axis=1), blocks.argmax(axis=1)], axis=1), axis=1)
    picked = (ends + size * np.arange(bins)[:, None]).ravel()
    rest = np.arange(whole, len(values))
    chosen = np.concatenate([picked, rest])
    return time[chosen], values[chosen]


def seconds_mean(time: "Array", values: "Array") -> tuple["Array", "Array"]:
    """Return the sliding mean over 1 s, nothing for a series shorter than that."""
    window = max(1, round(1 / (time[1] - time[0])))
    if window > len(values):
        return time[:0], values[:0]
    return time[window // 2 :][: len(values) - window + 1], np.convolve(values, np.ones(window) / window, "valid")


def small_multiples(drawing: Multiples) -> Figure:
    """Draw panels over time; a single one as wide as the page."""
    panels, frame = drawing.panels, drawing.frame
    figure, grid, layout = _grid(len(panels), drawing.columns, 1.3, sharey=True)
    with mpl.rc_context(STYLE):
        for axes, panel in zip(grid.flat, panels, strict=False):
            _draw(axes, panel, frame)
        label_below(grid, len(panels), "Time (s)")
        for axes in grid[:, 0]:
            axes.set_ylabel(frame.label)
        layout.execute(figure)
        figure.set_layout_engine("none")  # laid out once for every format
    return figure


def chart(drawn: Chart) -> Figure:
    """Draw a metric against what is varied, one panel for each of the chart's; bars where nothing is."""
    one_metric = len({panel.metric.metric.name for panel in drawn.panels}) == 1
    figure, grid, layout = _grid(len(drawn.panels), drawn.figure.columns, 2.0, sharey=one_metric)
    with mpl.rc_context(STYLE):
        for axes, panel in zip(grid.flat, drawn.panels, strict=False):
            if drawn.figure.kind == "bars":
                _bars(axes, panel)
            else:
                _lines(axes, panel, drawn.figure.logarithmic)
            axes.set_title(panel.title, loc="left", fontweight="bold", pad=3)
            axes.set_ylabel(panel.metric.metric.heading)
        label_below(grid, len(drawn.panels), drawn.figure.x_label)
        layout.execute(figure)
        figure.set_layout_engine("none")
    return figure


def _grid(count: int, wanted: int, height: float, *, sharey: bool) -> tuple[Figure, Any, ConstrainedLayoutEngine]:
    """Return a figure of `count` axes in rows of `height` inches, its grid and its layout, not yet executed."""
    columns = min(wanted, count)
    rows = -(-count // columns)
    layout = ConstrainedLayoutEngine(w_pad=0.05, h_pad=0.04)
    total = 0.55 + height * rows if columns > 1 else 0.4 + 2.6 * rows
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, total), layout=layout)
        grid = figure.subplots(rows, columns, sharex=True, sharey=sharey, squeeze=False)
        for axes in grid.flat[count:]:
            axes.set_visible(False)
    return figure, grid, layout


def label_below(grid: Any, count: int, label: str) -> None:
    """Write what the abscissa is under the last panel of each column."""
    columns = grid.shape[1]
    for column in range(columns):
        last = grid[(count - 1 - column) // columns, column]
        last.set_xlabel(label)
        last.tick_params(labelbottom=True)


def _draw(axes: Any, panel: Panel, frame: Frame) -> None:
    if len(panel.curves) == 1:
        [curve] = panel.curves
        axes.plot(*envelope(curve.time, curve.values), color=PALE if panel.smooth else LINE, linewidth=0.6)
        if panel.smooth:
            axes.plot(*envelope(*seconds_mean(curve.time, curve.values)), color=LINE, linewidth=1.0)
    for curve, colour, dashes in zip(panel.curves, COLOURS, DASHES, strict=False):
        if len(panel.curves) > 1:
            means = envelope(*seconds_mean(curve.time, curve.values))
            axes.plot(*means, color=colour, linestyle=dashes, linewidth=1.0, label=curve.name)
            axes.legend(loc="upper right", fontsize=6.5, frameon=False, ncols=3)
    if panel.target is not None:
        axes.axhline(panel.target, color=TARGET, linewidth=1.0, linestyle=(0, (4, 2)))
    axes.set_title(panel.title, loc="left", fontweight="bold", pad=3)
    axes.set_title(panel.remark, loc="right", fontsize=7, color="#444444", pad=3)
    axes.set_xlim(0, frame.end)
    axes.set_ylim(0, 1.05 * frame.top)
    axes.yaxis.set_major_locator(MaxNLocator(4, steps=frame.steps))


def _lines(axes: Any, panel: ChartPanel, logarithmic: bool) -> None:
    """Draw each line with its intervals over the seeds."""
    scale = panel.metric.metric.shown.scale
    for i, (name, line) in enumerate(panel.lines.items()):
        widths = [point.half_width for point in line.values()]
        axes.errorbar(
            list(line),
            [scale * point.mean for point in line.values()],
            yerr=None if None in widths else [scale * width for width in widths if width is not None],
            color=COLOURS[i % len(COLOURS)],
            linestyle=DASHES[i % len(DASHES)],
            marker=MARKERS[i % len(MARKERS)],
            markersize=3,
            linewidth=1.0,
            capsize=2,
            label=name,
        )
    if logarithmic:
        axes.set_xscale("log")
    if any(panel.lines):
        axes.legend(fontsize=6.5, frameon=False, ncols=2)


def _bars(axes: Any, panel: ChartPanel) -> None:
    """Draw one bar a scheme, with its interval over the seeds."""
    metric = panel.metric.metric
    points = [next(iter(line.values())) for line in panel.lines.values()]
    axes.bar(
        list(panel.lines),
        [metric.shown.scale * point.mean for point in points],
        yerr=[metric.shown.scale * (point.half_width or 0) for point in points],
        color=LINE,
        width=0.6,
    )


def _packets(quantity: str) -> float | None:
    """Return the number of a quantity in packets, None if it is in another unit."""
    number, unit = quantity.split()
    return float(number) if unit == "packets" else None
