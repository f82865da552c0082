"""Figures as journals print them: small multiples over time, one panel a scheme."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from aqmlab._core import Scenario
from aqmlab.catalogue import title
from aqmlab.results import RunResult

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

WIDTH = 7.2
"""Inches; two columns of a journal page."""

LINE, PALE, TARGET = "#0072B2", "#A9D3EC", "#D55E00"
"""Blue and vermilion of the Okabe-Ito palette, told apart by every eye; in grey the dashes tell."""

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
class Panel:
    """One scheme's curve: seconds against values, a short remark, and whether to add its mean over 1 s."""

    title: str
    time: "Array"
    values: "Array"
    remark: str
    smooth: bool = False


@dataclass(frozen=True)
class Frame:
    """The axes all panels share: 0 to `end` s, 0 to `top` in steps of `steps`, a dashed line at `target`."""

    label: str
    end: float
    top: float
    steps: Sequence[float]
    target: float | None = None


def figures(runs: Mapping[str, RunResult], scenario: Scenario, link: str) -> dict[str, Figure]:
    """Return the figures of one link: "queue", and "p" for the schemes that expose a drop probability.

    `runs` are runs with series by scheme; each gives one panel. No runs, no figures.
    """
    if not runs:
        return {}
    at = next(entry for entry in json.loads(scenario.resolved_json())["links"] if entry["name"] == link)
    series = {spec: run.series[link] for spec, run in runs.items()}
    queues = [
        Panel(
            title(spec),
            columns["time"],
            columns["queue"],
            f"mean {runs[spec].links[link].queue_mean:.0f}, std {runs[spec].links[link].queue_std:.0f}",
        )
        for spec, columns in series.items()
    ]
    top = _packets(at["buffer"]) or max(float(panel.values.max()) for panel in queues) or 1.0
    end = scenario.duration
    drawn = {"queue": small_multiples(queues, Frame("Queue (packets)", end, top, THIRDS, _packets(at["target"])))}
    probabilities = [
        Panel(
            title(spec),
            columns["time"],
            columns["p"],
            f"drop ratio {100 * runs[spec].links[link].drop_ratio:.1f} %",
            smooth=True,
        )
        for spec, columns in series.items()
        if "p" in columns
    ]
    if probabilities:
        highest = max(float(panel.values.max()) for panel in probabilities)
        drawn["p"] = small_multiples(probabilities, Frame("Drop probability", end, highest or 1.0, QUARTERS))
    return drawn


def encode(figure: Figure, kind: str) -> bytes:
    """Return a figure as "png" (200 dpi) or "svg"; the same figure always gives the same bytes."""
    buffer = BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with mpl.rc_context(STYLE):
        figure.savefig(buffer, format=kind, dpi=200, metadata=metadata)
    return buffer.getvalue()


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


def small_multiples(panels: Sequence[Panel], frame: Frame) -> Figure:
    """Draw panels in two columns on the same axes; a single one as wide as the page."""
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    layout = ConstrainedLayoutEngine(w_pad=0.05, h_pad=0.04)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 0.55 + 1.3 * rows if columns == 2 else 3.0), layout=layout)
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes, panel in zip(grid.flat, panels, strict=False):
            _draw(axes, panel, frame)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for axes in grid[:, 0]:
            axes.set_ylabel(frame.label)
        for column in range(columns):
            last = grid[(len(panels) - 1 - column) // columns, column]
            last.set_xlabel("Time (s)")
            last.tick_params(labelbottom=True)
        layout.execute(figure)
        figure.set_layout_engine("none")  # laid out once for every format
    return figure


def _draw(axes: Any, panel: Panel, frame: Frame) -> None:
    axes.plot(*envelope(panel.time, panel.values), color=PALE if panel.smooth else LINE, linewidth=0.6)
    if panel.smooth:
        axes.plot(*envelope(*seconds_mean(panel.time, panel.values)), color=LINE, linewidth=1.0)
    if frame.target is not None:
        axes.axhline(frame.target, color=TARGET, linewidth=1.0, linestyle=(0, (4, 2)))
    axes.set_title(panel.title, loc="left", fontweight="bold", pad=3)
    axes.set_title(panel.remark, loc="right", fontsize=7, color="#444444", pad=3)
    axes.set_xlim(0, frame.end)
    axes.set_ylim(0, 1.05 * frame.top)
    axes.yaxis.set_major_locator(MaxNLocator(4, steps=frame.steps))


def _packets(quantity: str) -> float | None:
    """Return the number of a quantity in packets, None if it is in another unit."""
    number, unit = quantity.split()
    return float(number) if unit == "packets" else None
