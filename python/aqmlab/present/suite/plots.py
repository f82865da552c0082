"""The figures of a suite: delay against goodput with an ellipse a scheme, and distributions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse

from aqmlab.present.plots import COLOURS, DASHES, MARKERS, STYLE, WIDTH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FEWEST = 3
"""Runs that an ellipse needs."""

LEAST_RANGE = 0.1
"""What an axis shows at least, as a share of its largest value."""

COLUMNS, HEIGHT = 3, 1.6
"""Panels in a row, and the inches of one."""


@dataclass(frozen=True)
class Cloud:
    """One experiment, or a class of its flows: goodput (Mbit/s) against queueing delay (ms), a point each run."""

    title: str
    points: Mapping[str, Sequence[tuple[float, float]]]


@dataclass(frozen=True)
class TradeOff:
    """Delay against goodput, a panel each experiment; all it takes to draw them."""

    panels: Sequence[Cloud]
    schemes: Sequence[str]

    def figure(self) -> Figure:
        """Draw the panels, each on axes of its own, for experiments differ by more than schemes."""
        figure, grid, layout = _grid(len(self.panels))
        with mpl.rc_context(STYLE):
            for axes, panel in zip(grid.flat, self.panels, strict=False):
                for i, scheme in enumerate(self.schemes):
                    _cloud(axes, np.array(panel.points.get(scheme, ())), i)
                axes.set_title(panel.title, loc="left", fontsize=7, fontweight="bold", pad=3)
                axes.margins(0.12)
                _widen(axes)
            _finish(figure, grid, layout, self.schemes, "Queueing delay (ms)", "Goodput (Mbit/s)", markers=True)
        return figure


@dataclass(frozen=True)
class Distribution:
    """One experiment: quantiles, evenly spaced from 0 to 1, by scheme."""

    title: str
    quantiles: Mapping[str, "Array"]


@dataclass(frozen=True)
class Distributions:
    """Cumulative distributions, a panel each experiment, of what `label` names."""

    panels: Sequence[Distribution]
    schemes: Sequence[str]
    label: str

    def figure(self) -> Figure:
        """Draw the panels."""
        figure, grid, layout = _grid(len(self.panels))
        with mpl.rc_context(STYLE):
            for axes, panel in zip(grid.flat, self.panels, strict=False):
                for i, scheme in enumerate(self.schemes):
                    values = panel.quantiles.get(scheme, np.array([]))
                    line = {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)]}
                    axes.plot(values, np.linspace(0, 1, len(values)), linewidth=1.0, **line)
                axes.set_title(panel.title, loc="left", fontsize=7, fontweight="bold", pad=3)
                axes.set_ylim(0, 1.02)
                _widen(axes)
            _finish(figure, grid, layout, self.schemes, self.label, "Share at most", markers=False)
        return figure


def _grid(count: int) -> tuple[Figure, Any, ConstrainedLayoutEngine]:
    """Return a figure of `count` axes, its grid and its layout, not yet executed."""
    rows, layout = -(-count // COLUMNS), ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 0.6 + HEIGHT * rows), layout=layout)
        grid = figure.subplots(rows, COLUMNS, squeeze=False)
        for axes in grid.flat[count:]:
            axes.set_visible(False)
    return figure, grid, layout


def _cloud(axes: Any, points: Any, i: int) -> None:
    if not len(points):
        return
    colour = COLOURS[i % len(COLOURS)]
    axes.plot(*points.T, MARKERS[i % len(MARKERS)], color=colour, markersize=3.2, alpha=0.85, markeredgewidth=0)
    if len(points) >= FEWEST:
        axes.plot(*np.median(points, axis=0), "o", color=colour, markersize=5.5, fillstyle="none", markeredgewidth=0.9)
        centre, width, height, angle = ellipse(points)
        axes.add_patch(Ellipse(centre, width, height, angle=angle, fill=False, edgecolor=colour, linewidth=0.9))


def _widen(axes: Any) -> None:
    """Show at least a tenth of each axis' largest value, so that no panel makes much of a small difference."""
    for limits, limit in ((axes.get_xlim(), axes.set_xlim), (axes.get_ylim(), axes.set_ylim)):
        middle, half = sum(limits) / 2, max(limits[1] - limits[0], LEAST_RANGE * limits[1]) / 2
        limit(middle - half, middle + half)
    axes.locator_params(nbins=4)


def ellipse(points: Any) -> tuple[tuple[float, float], float, float, float]:
    """Return centre, both axes (full length) and the angle (degrees) of the 1-sigma ellipse of a sample.

    The contour at one standard deviation of the Gaussian of maximum likelihood, whose covariance is that of the sample
    with n in the denominator (RFC 7928, section 2.7), after Winstein, Transport architectures for an evolving Internet,
    PhD thesis, MIT 2014.
    """
    values, vectors = np.linalg.eigh(np.cov(points.T, bias=True))
    minor, major = 2 * np.sqrt(np.maximum(values, 0))
    angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
    centre = points.mean(axis=0)
    return (float(centre[0]), float(centre[1])), float(major), float(minor), angle


def _finish(
    figure: Figure, grid: Any, layout: ConstrainedLayoutEngine, schemes: Sequence[str], x: str, y: str, *, markers: bool
) -> None:
    """Write what the axes are, once, and one legend for all panels."""
    figure.supxlabel(x, fontsize=8)
    figure.supylabel(y, fontsize=8)
    lines = [
        Line2D(
            [],
            [],
            color=COLOURS[i % len(COLOURS)],
            marker=MARKERS[i % len(MARKERS)] if markers else "",
            linestyle="" if markers else DASHES[i % len(DASHES)],
            markersize=4,
        )
        for i in range(len(schemes))
    ]
    figure.legend(lines, schemes, loc="outside upper center", ncols=min(6, len(schemes)), fontsize=7, frameon=False)
    for axes in grid.flat:
        axes.tick_params(labelsize=6)
    layout.execute(figure)
    figure.set_layout_engine("none")  # laid out once for every format
