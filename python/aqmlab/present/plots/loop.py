"""Pictures of a control loop: Bode, Nyquist, and the map of stability over two quantities."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from aqmlab.present.plots.data import Bode, Nyquist, StabilityMap
from aqmlab.present.plots.paper import DASHED
from aqmlab.present.plots.style import GREY, TARGET, WIDTH, entry, heading, label, legend, looks, page

LEVELS = (1e-3, 0.1, 0.25, 0.5, 1, 2, 4, 10, 1e3)
"""Gain margins at which a stability map changes its colour."""


def bode(drawn: Bode) -> Figure:
    """Draw gain and phase of the open loop against frequency, with the crossovers."""
    names = [response.name for response in drawn.responses]
    with page(2, 1, 1.9, names=names, sharex=True) as (figure, grid):
        gain, phase = grid.flat
        for response, look in zip(drawn.responses, looks(names).values(), strict=True):
            gain.loglog(response.frequency, np.abs(response.values), **look.line)
            phase.semilogx(response.frequency, response.phase, **look.line)
        for axes, limit in ((gain, 1), (phase, -180)):
            axes.axhline(limit, linewidth=0.8, **DASHED)
            for frequency in drawn.crossovers:
                axes.axvline(frequency, color=GREY, linewidth=0.6, linestyle=":")
        heading(gain, drawn.title, drawn.remark)
        phase.set_ylim(-720, 0)
        phase.set_yticks(range(-720, 1, 180))
        label(grid, "Frequency (rad/s)", ["Gain |L|", "Phase (degrees)"])
        legend(figure, {name: entry(look, marker=False, line=True) for name, look in looks(names).items()})
    return figure


def nyquist(drawn: Nyquist) -> Figure:
    """Draw the open loop in the complex plane around -1."""
    names = [response.name for response in drawn.responses]
    with page(1, 1, WIDTH / 2, width=WIDTH / 2) as (figure, [[axes]]):
        circle = np.exp(1j * np.linspace(0, 2 * np.pi, 200))
        axes.plot(circle.real, circle.imag, color=GREY, linewidth=0.6)
        for response, look in zip(drawn.responses, looks(names).values(), strict=True):
            axes.plot(response.values.real, response.values.imag, **look.line, label=response.name)
        axes.plot(-1, 0, marker="+", color=TARGET, markersize=9, markeredgewidth=1.6, linestyle="none")
        axes.annotate("-1", (-1, 0), xytext=(-13, -11), textcoords="offset points", fontsize=7)
        axes.set(xlim=(-2.5, 1.5), ylim=(-2.5, 1.5), aspect="equal")
        axes.set(xlabel="Real part of L", ylabel="Imaginary part of L")
        heading(axes, drawn.title)
        axes.legend(loc="lower right")
    return figure


def stability_map(drawn: StabilityMap) -> Figure:
    """Draw the gain margin over two quantities, the boundary of stability, and where the parameters are now."""
    with page(1, 1, 3.2, width=0.7 * WIDTH) as (figure, [[axes]]):
        bounded = np.clip(np.where(np.isinf(drawn.margin), LEVELS[-1], drawn.margin), LEVELS[0], LEVELS[-1])
        margin = np.ma.masked_invalid(np.log10(bounded))
        levels = np.log10(LEVELS)
        filled = axes.contourf(drawn.x, drawn.y, margin, levels=levels, cmap="RdYlBu", vmin=-1.2, vmax=1.2)
        outside = np.ma.masked_invalid(np.where(drawn.holds | np.isnan(drawn.margin), np.nan, 0))
        if outside.count():
            axes.contourf(drawn.x, drawn.y, outside, levels=[-1, 1], colors="none", hatches=["///"])
        if margin.min() < 0 < margin.max():
            axes.contour(drawn.x, drawn.y, margin, levels=[0], colors="black", linewidths=1.6)
        axes.plot(*drawn.present, "k*", markersize=8)
        _logarithmic(axes, drawn)
        title = "Gain margin; black: boundary of stability; hatched: the model does not hold"
        axes.set_title(title, loc="left", fontsize=8, pad=3)
        bar = figure.colorbar(filled, ax=axes, ticks=levels[1:-1])
        bar.ax.set_yticklabels([f"{level:g}" for level in LEVELS[1:-1]])
    return figure


def _logarithmic(axes: Any, drawn: StabilityMap) -> None:
    """Make both axes logarithmic, with ticks at 1, 2 and 5 times the powers of ten."""
    axes.set(xscale="log", yscale="log")
    for side in (axes.xaxis, axes.yaxis):
        side.set_major_locator(LogLocator(subs=(1, 2, 5)))
        side.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.set(xlim=(drawn.x[0], drawn.x[-1]), ylim=(drawn.y[0], drawn.y[-1]))
    axes.set(xlabel=drawn.x_label, ylabel=drawn.y_label)
