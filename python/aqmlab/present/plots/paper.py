"""Pictures as journals print them, by matplotlib: one function for each kind."""

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from aqmlab.present.plots.data import Bars, Boxes, Distributions, Dots, HeatMaps, LineChart, OverTime, Scatter
from aqmlab.present.plots.style import (
    DARK,
    LINE,
    PALE,
    TARGET,
    Look,
    entry,
    heading,
    label,
    legend,
    look,
    looks,
    page,
    points,
    wanted,
)

DASHED: Any = {"color": TARGET, "linestyle": (0, (4, 2))}
"""The look of a target, an operating point or a limit."""

GUIDE: Any = DASHED | {"color": DARK}
"""The same where vermilion is the colour of a scheme."""

LONGEST_NAME = 40
"""Letters of a name below an axis; a longer one would leave no room for the figure."""

FEW_TICKS = 6
"""Maximum number of varied values with separate ticks on a logarithmic axis."""

GROUP = 0.6
"""Width that the marks over one name take, as a share of the distance to the next name."""

BINS = 800
"""Number of intervals of a curve over time whose minimum and maximum are drawn."""


def over_time(drawn: OverTime) -> Figure:
    """Draw panels over time, all on the same axes; a single one as wide as the page."""
    of = looks(curve.name for panel in drawn.panels for curve in panel.curves if not curve.pale)
    alike = {"sharex": True, "sharey": len(drawn.frames) == 1}
    with page(len(drawn.panels), drawn.columns, 1.3, names=drawn.names, **alike) as (figure, grid):
        found: dict[str, Any] = {}
        dashed = GUIDE if drawn.names and len(of) > 1 else DASHED
        for i, (axes, panel) in enumerate(zip(grid.flat, drawn.panels, strict=False)):
            strokes = panel.strokes(BINS)
            for stroke in strokes:
                bold = 1.0 if drawn.names or len(strokes) > 1 else 0.6
                line = of[stroke.name].line if drawn.names and not stroke.pale else {"color": LINE}
                if stroke.pale:
                    bold, line = 0.6, {"color": PALE}
                elif panel.colour is not None:
                    line = line | {"color": look(panel.colour).colour}
                [found[stroke.name]] = axes.plot(stroke.time, stroke.values, linewidth=bold, **line)
                if panel.colour is not None:  # the legend explains the dashes, whatever the colour
                    found[stroke.name] = entry(of[stroke.name]._replace(colour=DARK), marker=False, line=True)
            if panel.target is not None:
                found[drawn.line] = axes.axhline(panel.target, linewidth=1.0, **dashed)
            heading(axes, panel.title, panel.remark)
            axes.set_xlim(0, drawn.end)
            axes.set_ylim(*drawn.frame(i).range)
            names = drawn.frame(i).names
            if names:
                axes.set_yticks(range(len(names)), names, fontsize="small")
            else:
                axes.yaxis.set_major_locator(MaxNLocator(4, steps=drawn.frame(i).steps))
        label(grid, "Time (s)", [drawn.frame(i).label for i in range(len(drawn.panels))])
        legend(figure, found if drawn.names else {})
    return figure


def scatter(drawn: Scatter) -> Figure:
    """Draw runs as small marks, their centres as large open ones, and the ellipses."""
    of = looks(drawn.names)
    with page(len(drawn.panels), drawn.columns, 1.6 if drawn.columns > 1 else 3.2, names=drawn.names) as (figure, grid):
        for axes, panel in zip(grid.flat, drawn.panels, strict=False):
            for name, cloud in panel.clouds.items():
                colour, marker, _ = of[name]
                size, alpha = (9, 0.5) if cloud.centre is not None else (14, 1.0)  # without a centre runs stand alone
                axes.scatter(*cloud.points.T, s=size, color=colour, marker=marker, alpha=alpha, linewidths=0)
                if cloud.centre is not None:
                    axes.scatter(*cloud.centre, s=28, facecolors="none", edgecolors=colour, marker=marker, linewidths=1)
                if cloud.ellipse is not None:
                    axes.plot(*cloud.ellipse.T, **of[name].line, linewidth=0.9, zorder=3)
            _own_axes(axes, panel.title, panel.x_range, panel.y_range)
        label(grid, drawn.x, [drawn.y] * len(drawn.panels))
        legend(figure, {name: entry(of[name], marker=True, line=False) for name in drawn.names})
    return figure


def distributions(drawn: Distributions) -> Figure:
    """Draw cumulative distributions, one curve per scheme."""
    of = looks(drawn.names)
    with page(len(drawn.panels), drawn.columns, 1.6 if drawn.columns > 1 else 3.2, names=drawn.names) as (figure, grid):
        for axes, panel in zip(grid.flat, drawn.panels, strict=False):
            for name, (values, shares) in panel.curves.items():
                axes.plot(values, shares, linewidth=1.1, **of[name].line)
            _own_axes(axes, panel.title, panel.x_range, (0, 1.02))
        label(grid, drawn.x, [drawn.y] * len(drawn.panels))
        legend(figure, {name: entry(of[name], marker=False, line=True) for name in drawn.names})
    return figure


def dots(drawn: Dots) -> Figure:
    """Draw a measure: the seeds as small marks, next to them the mean and its 95 % interval."""
    of = looks(drawn.names)
    with page(1, 1, 2.6) as (figure, [[axes]]):
        for i, (name, values) in enumerate(drawn.values.items()):
            colour, marker, _ = of[name]
            axes.scatter([i - 0.12] * len(values), values.values(), s=9, color=colour, marker=marker, alpha=0.5, lw=0)
            _intervals(axes, [i + 0.12], [drawn.summaries[name]], of[name], markersize=5)
        _name(axes, list(drawn.values))
        axes.set_xlim(-0.5, len(drawn.values) - 0.5)  # a single scheme is in the middle
        axes.set_ylabel(drawn.label)
    return figure


def boxes(drawn: Boxes) -> Figure:
    """Draw box plots (Tukey's: whiskers to the last value within 1.5 boxes), with the seeds in the background."""
    of = looks(drawn.names)
    with page(1, 1, 2.6) as (figure, [[axes]]):
        for i, (name, values) in enumerate(drawn.values.items()):
            colour, marker, _ = of[name]
            axes.scatter([i] * len(values), values, s=9, color=colour, marker=marker, alpha=0.5, linewidths=0)
            edge = {"color": colour, "linewidth": 1.0}
            parts = {f"{part}props": edge for part in ("box", "whisker", "cap")}
            axes.boxplot(
                values, positions=[i], widths=0.5, showfliers=False, **parts, medianprops=edge | {"linewidth": 2.0}
            )
        _name(axes, list(drawn.values))
        axes.set_xlim(-0.5, len(drawn.values) - 0.5)  # a single scheme is in the middle
        axes.set_ylabel(drawn.label)
    return figure


def heat_maps(drawn: HeatMaps) -> Figure:
    """Draw a measure over two numbers as colours, which grow lighter, also in grey; and as numbers where there is room.

    Rows and columns are as far apart as the values are many, not as they are large.
    """
    values = np.stack([panel.values for panel in drawn.panels])
    ends = {"vmin": np.nanmin(values), "vmax": np.nanmax(values)}
    with page(len(drawn.panels), drawn.columns, 2.0, sharex=True, sharey=True) as (figure, grid):
        for axes, panel in zip(grid.flat, drawn.panels, strict=False):
            image = axes.imshow(panel.values, origin="lower", aspect="auto", cmap="cividis", **ends)
            axes.set_xticks(range(len(drawn.x)), [short(x) for x in drawn.x])
            axes.set_yticks(range(len(drawn.y)), [short(y) for y in drawn.y])
            axes.grid(visible=False)
            if len(drawn.x) <= MOST_CELLS and len(drawn.y) <= MOST_CELLS:
                _write_values(axes, panel.values, image.norm)
            heading(axes, panel.title)
        label(grid, drawn.x_label, [drawn.y_label] * len(drawn.panels))
        figure.colorbar(image, ax=grid, label=drawn.label)
        _thin_out(grid)
    return figure


def short(value: float | str) -> str:
    """Return a number with three digits, as short as it can be written: 1200, 0.005, 1.67e-5; a name unchanged."""
    if isinstance(value, str):
        return value
    digits = f"{value:.3g}"
    if "e" not in digits:
        return digits
    return f"{float(digits):.0f}" if 1e3 <= abs(value) < 1e5 else digits.replace("e-0", "e-").replace("e+0", "e")


def _thin_out(grid: Any) -> None:
    """Leave out every other label of columns and rows, or more of them, where they would run into each other."""
    figure = grid.flat[0].figure
    figure.get_layout_engine().execute(figure)
    for axes in grid.flat:
        for labels, length in ((axes.get_xticklabels(), "width"), (axes.get_yticklabels(), "height")):
            longest = max((getattr(label.get_window_extent(), length) for label in labels), default=0.0)
            room = getattr(axes.get_window_extent(), length) / max(len(labels), 1)  # inner panels have none
            for i, each in enumerate(labels):
                each.set_visible(i % max(1, ceil(1.15 * longest / room)) == 0)


MOST_CELLS = 6
"""Rows and columns of a heat map up to which its values are written into it."""


def _write_values(axes: Any, values: Any, norm: Any) -> None:
    """Write the values into their cells, light on dark and dark on light."""
    for (i, j), value in np.ndenumerate(values):
        if not np.isnan(value):
            colour = "white" if norm(value) < 0.55 else "black"
            axes.text(j, i, short(value), ha="center", va="center", color=colour, fontsize=points(6.5))


def lines(drawn: LineChart) -> Figure:
    """Draw a measure against what is varied: means with their 95 % intervals; without lines between names."""
    of = looks([*drawn.names, ""])
    aside = _aside(drawn.names) if drawn.names_of_x else {}
    every = sorted({x for panel in drawn.panels for line in panel.lines.values() for x in line})
    alike = {"sharex": True, "sharey": len({panel.label for panel in drawn.panels}) == 1}
    rings = dict(zip(drawn.marks, RINGS, strict=False))
    with page(len(drawn.panels), drawn.columns, 2.0, names=[*drawn.names, *rings], **alike) as (figure, grid):
        for axes, panel in zip(grid.flat, drawn.panels, strict=False):
            for name, (curve, place) in drawn.marks.items():
                axes.scatter(place, panel.lines[curve][place].mean, marker=rings[name], **RING)
            for name, line in panel.lines.items():
                xs = sorted(line)
                at = [x + aside.get(name, 0.0) for x in xs]
                dashes = "none" if aside else of[name].dashes
                _intervals(axes, at, [line[x] for x in xs], of[name], linestyle=dashes)
            if drawn.names_of_x:
                _name(axes, drawn.names_of_x, grid.shape[1])
                axes.set_xlim(-0.5, len(drawn.names_of_x) - 0.5)
                axes.grid(visible=False, axis="x")
            if drawn.logarithmic:
                axes.set_xscale("log")
                if 0 < len(every) <= FEW_TICKS:
                    axes.set_xticks(every)
                    axes.xaxis.set_minor_locator(NullLocator())
                axes.xaxis.set_major_formatter("{x:g}")
            if panel.logarithmic:
                axes.set_yscale("log")
                axes.yaxis.set_major_formatter("{x:g}")
            heading(axes, panel.title)
        label(grid, drawn.x, [panel.label for panel in drawn.panels])
        curves = {name: entry(of[name], marker=True, line=not aside) for name in drawn.names}
        legend(figure, curves | {name: axes.scatter([], [], marker=ring, **RING) for name, ring in rings.items()})
    return figure


RINGS = "osD^v"
"""The shapes of marks around points, in their order."""
RING = {"s": 55, "facecolors": "none", "edgecolors": DARK, "linewidths": 1.0, "zorder": 4}


def _aside(names: Sequence[str]) -> dict[str, float]:
    """Return how far the mark of each line is from the place of a name on the axis, so that none covers another."""
    middle = (len(names) - 1) / 2
    return {name: (i - middle) * GROUP / max(len(names), 1) for i, name in enumerate(names)}


def bars(drawn: Bars) -> Figure:
    """Draw one bar a scheme, with its 95 % interval."""
    with page(len(drawn.panels), drawn.columns, 2.0) as (figure, grid):
        for axes, panel in zip(grid.flat, drawn.panels, strict=False):
            summaries = panel.bars.values()
            widths = [summary.half_width or 0 for summary in summaries]
            axes.bar(range(len(panel.bars)), [each.mean for each in summaries], yerr=widths, color=LINE, width=0.6)
            _name(axes, list(panel.bars), grid.shape[1])
            heading(axes, panel.title)
            axes.set_ylabel(panel.label)
    return figure


def _intervals(axes: Any, xs: Any, summaries: Any, look: Look, **more: Any) -> None:
    """Draw means, with their intervals where there are several seeds."""
    widths = [summary.half_width for summary in summaries]
    axes.errorbar(
        xs,
        [summary.mean for summary in summaries],
        None if None in widths else widths,
        **{"color": look.colour, "marker": look.marker, "markersize": 3.5, "linewidth": 1.0, "capsize": 2, **more},
    )


def _name(axes: Any, names: Sequence[str], columns: int = 1) -> None:
    """Write the names of schemes under their marks, turned where they need more room; long names are cut."""
    names = [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in names]
    inches = axes.figure.get_figwidth() / wanted().scale / columns
    turned = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if len(", ".join(names)) > 11 * inches else {}
    axes.set_xticks(range(len(names)), names, **turned)


def _own_axes(axes: Any, title: str, x: Any, y: Any) -> None:
    """Give a panel its title and its own axes."""
    heading(axes, title)
    axes.set(**{name: limits for name, limits in (("xlim", x), ("ylim", y)) if limits is not None})
    if axes.get_subplotspec().get_gridspec().ncols > 1:
        axes.locator_params(nbins=4)
