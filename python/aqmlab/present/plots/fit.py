"""The picture of a fit: measured and simulated delay and rate, over time and as distributions."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from aqmlab.fit.features import between
from aqmlab.fit.observation import Observation
from aqmlab.fit.result import USED, Fit
from aqmlab.fit.trial import simulated
from aqmlab.present.plots.files import encode
from aqmlab.present.plots.style import Print, entry, heading, legend, looks, page, printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = ("measured", "simulated")
PER_SECOND = 1.0
"""The interval of the rates in the picture, s."""


def picture(found: Fit, kind: str) -> bytes:
    """Return the picture as "png", "svg" or "pdf"; it simulates each direction once more."""
    with printed(Print()):
        return encode(_figure(found), kind)


def _figure(found: Fit) -> "Figure":
    of = looks(NAMES)
    with page(3 * len(found.directions), 3, 1.6, names=NAMES) as (figure, grid):
        for row, (way, fitted) in zip(grid.reshape(-1, 3), found.directions.items(), strict=True):
            again = simulated(found.twin, replace(fitted.seen.load, lead=1.0), 1)
            for name, seen in zip(NAMES, (fitted.seen, again), strict=True):
                for axes, (x, y) in zip(row, _curves(seen), strict=True):
                    axes.plot(x, y, linewidth=0.9, **of[name].line)
            if way in found.held_out:
                for axes in row[:2]:
                    axes.axvspan(USED * fitted.seen.load.duration, fitted.seen.load.duration, color="0.93")
            _name(row, way)
        legend(figure, {name: entry(of[name], marker=False, line=True) for name in NAMES})
    return figure


def _curves(seen: Observation) -> "Iterator[tuple[np.ndarray, np.ndarray]]":
    """Yield delay over time (s, ms), rate over time (s, Mbit/s), and the distribution of the delay."""
    inside = (seen.probes.time >= 0) & np.isfinite(seen.probes.value)
    yield seen.probes.time[inside], 1e3 * seen.probes.value[inside]
    width = max(1, round(PER_SECOND / seen.load.report))
    whole = len(seen.goodput.value) // width * width
    means = seen.goodput.value[:whole].reshape(-1, width).mean(axis=1)
    yield (np.arange(len(means)) + 0.5) * width * seen.load.report, means / 1e6
    delays = np.sort(between(seen.probes, 0, seen.load.duration))
    yield 1e3 * delays, np.arange(1, len(delays) + 1) / max(1, len(delays))


def _name(row: "list[Axes]", way: str) -> None:
    heading(row[0], f"{way.capitalize()}load: delay")
    heading(row[1], f"{way.capitalize()}load: goodput")
    heading(row[2], f"{way.capitalize()}load: distribution")
    for axes, (x, y) in zip(
        row,
        (("Time (s)", "Round-trip time (ms)"), ("Time (s)", "Goodput (Mbit/s)"), ("Round-trip time (ms)", "Share")),
        strict=True,
    ):
        axes.set_xlabel(x)
        axes.set_ylabel(y)
