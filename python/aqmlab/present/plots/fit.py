"""The picture of a fit: measured and simulated delay and rate, over time and as distributions."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.artist import Artist
from matplotlib.patches import Patch

from aqmlab.fit.direction import DirectionFit
from aqmlab.fit.observation import Observation
from aqmlab.fit.result import Fit
from aqmlab.fit.trial import simulated
from aqmlab.present.plots.files import encode
from aqmlab.present.plots.style import Print, entry, heading, legend, looks, page, printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NAMES = ("measured", "simulated")
LEFT_OUT, SHADE = "not used by the fit", "0.92"
PER_SECOND = 1.0
"""The interval of the rates in the picture, s."""
POINTS = 300
"""Points of a curve over time at most: of more, each is the median of some."""


def picture(found: Fit, kind: str) -> bytes:
    """Return the picture as "png", "svg" or "pdf"; it simulates each direction once more."""
    with printed(Print()):
        return encode(_figure(found), kind)


def _figure(found: Fit) -> "Figure":
    of = looks(NAMES)
    entries: dict[str, Artist] = {name: entry(of[name], marker=False, line=True) for name in NAMES}
    if found.held_out:
        entries[LEFT_OUT] = Patch(facecolor=SHADE)
    with page(4 * len(found.directions), 2, 1.5, names=[*entries]) as (figure, grid):
        for panels, (way, fitted) in zip(grid.reshape(-1, 4), found.directions.items(), strict=True):
            again = simulated(found.twin, replace(fitted.seen.load, lead=1.0), 1)
            for name, seen in zip(NAMES, (fitted.seen, again), strict=True):
                for axes, (x, y) in zip(panels, _curves(seen), strict=True):
                    axes.plot(x, y, linewidth=1.0, **of[name].line)
            _decorate(panels, f"{way.capitalize()}load", fitted, way in found.held_out)
        legend(figure, entries)
    return figure


def _curves(seen: Observation) -> "list[tuple[Floats, Floats]]":
    """Return delay over time (s, ms) and its distribution, rate over time (s, Mbit/s) and its distribution."""
    load = seen.load
    inside = (seen.probes.time >= 0) & (seen.probes.time <= load.duration) & np.isfinite(seen.probes.value)
    time, delay = seen.probes.time[inside], 1e3 * seen.probes.value[inside]
    rate = seen.goodput.value / 1e6
    width = max(1, round(PER_SECOND / load.report))
    return [
        _medians(time, delay),
        _distribution(delay),
        (_means(seen.goodput.start, width) + load.report / 2, _means(rate, width)),
        _distribution(_means(rate, width)),
    ]


def _medians(time: "Floats", value: "Floats") -> "tuple[Floats, Floats]":
    """Return at most POINTS points, each the median of as many values."""
    width = max(1, -(-len(time) // POINTS))
    parts = [slice(i, i + width) for i in range(0, len(time), width)]
    return np.asarray([np.median(time[part]) for part in parts]), np.asarray([np.median(value[part]) for part in parts])


def _means(value: "Floats", width: int) -> "Floats":
    """Return means over so many values; the rest at the end is left out."""
    return np.asarray(value[: len(value) // width * width].reshape(-1, width).mean(axis=1))


def _distribution(value: "Floats") -> "tuple[Floats, Floats]":
    return np.sort(value), 100 * np.arange(1, len(value) + 1) / max(1, len(value))


def _decorate(panels: "list[Axes]", name: str, fitted: DirectionFit, has_rest: bool) -> None:
    """Write titles and labels; mark the part of the load that the fit left out."""
    for axes, title, x, y in zip(
        panels,
        ("delay", "distribution of the delay", "goodput", "distribution of the goodput"),
        ("Time (s)", "Round-trip time (ms)", "Time (s)", "Goodput (Mbit/s)"),
        ("Round-trip time (ms)", "Probes (%)", "Goodput (Mbit/s)", "Seconds (%)"),
        strict=True,
    ):
        heading(axes, f"{name}: {title}")
        axes.set_xlabel(x)
        axes.set_ylabel(y)
    panels[2].set_ylim(0, 1.1 * panels[2].dataLim.ymax)
    for axes in (panels[0], panels[2]):
        axes.set_xlim(0, fitted.seen.load.duration)
        if has_rest:
            axes.axvspan(fitted.scale.until, fitted.seen.load.duration, color=SHADE, linewidth=0)
