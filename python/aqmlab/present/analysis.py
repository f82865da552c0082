"""Figures of the loop: Bode, Nyquist, step response, stability map, and the models beside the packets."""

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from aqmlab.analysis.loop import RESOLVED, Loop
from aqmlab.analysis.maps import Axis, Map
from aqmlab.analysis.result import Analysis
from aqmlab.present import plots

if TYPE_CHECKING:
    from aqmlab.analysis.beside import Beside

HOLLOT, EXACT = plots.COLOURS[1], plots.COLOURS[0]


def figures(analysis: Analysis) -> dict[str, Figure]:
    """Return the figures of an analysis by the name of their file."""
    drawn = {"bode": bode(analysis), "nyquist": nyquist(analysis)}
    if analysis.stable:
        drawn["step"] = step(analysis)
    if analysis.map is not None:
        drawn["map"] = stability_map(analysis.map)
    if analysis.beside is not None:
        drawn["beside"] = beside(analysis.beside)
    return drawn


def _shown(analysis: Analysis) -> list[tuple[str, Loop, str, str]]:
    """The exact loop, and Hollot's dashed."""
    return [
        ("exact", analysis.models["exact"].loop, EXACT, "-"),
        ("Hollot et al.", analysis.models["hollot"].loop, HOLLOT, "--"),
    ]


def bode(analysis: Analysis) -> Figure:
    """Draw gain and phase of the open loop against frequency, with the two crossovers."""
    with mpl.rc_context(plots.STYLE):
        figure = Figure(figsize=(plots.WIDTH, 4.2), layout="constrained")
        gain, phase = figure.subplots(2, 1, sharex=True)
        for name, loop, colour, dashes in _shown(analysis):
            w = loop.frequencies[loop.frequencies < 20 / min(loop.point.rtts)]
            w = w[w > 1e-3 / max(loop.point.rtts)]
            response = loop.response(1j * w)
            angle = np.unwrap(np.angle(response))
            angle -= 2 * np.pi * np.round((angle[0] + np.pi / 4 * loop.linear.integrators) / (2 * np.pi))
            gain.loglog(w, np.abs(response), color=colour, linestyle=dashes, label=name)
            phase.semilogx(w, np.degrees(angle), color=colour, linestyle=dashes)
        gain.axhline(1, color=plots.TARGET, linewidth=0.8, linestyle=(0, (4, 2)))
        phase.axhline(-180, color=plots.TARGET, linewidth=0.8, linestyle=(0, (4, 2)))
        _mark_crossovers(analysis, gain, phase)
        gain.set_ylabel("Gain |L|")
        gain.legend(frameon=False, fontsize=7)
        gain.set_title(f"Open loop, {analysis.scheme}", loc="left", fontweight="bold", pad=3)
        gain.set_title(_remark(analysis), loc="right", fontsize=7, color="#444444", pad=3)
        phase.set_ylim(-720, 0)
        phase.set_yticks(range(-720, 1, 180))
        phase.set_ylabel("Phase (degrees)")
        phase.set_xlabel("Frequency (rad/s)")
    return figure


def _mark_crossovers(analysis: Analysis, gain: Any, phase: Any) -> None:
    margins = analysis.models["exact"].margins
    for place in (margins.gain_crossover, margins.phase_crossover):
        if place is not None:
            for axes in (gain, phase):
                axes.axvline(place, color="#888888", linewidth=0.6, linestyle=":")


def _remark(analysis: Analysis) -> str:
    margins = analysis.models["exact"].margins
    parts = ["stable" if analysis.stable else "unstable"]
    if margins.gain is not None:
        parts.append(f"gain margin {margins.gain:.3g}")
    if margins.phase is not None:
        parts.append(f"phase margin {margins.phase:.0f}°")
    return ", ".join(parts)


def nyquist(analysis: Analysis) -> Figure:
    """Draw the open loop in the complex plane around -1, positive frequencies."""
    with mpl.rc_context(plots.STYLE):
        figure = Figure(figsize=(plots.WIDTH / 2, plots.WIDTH / 2), layout="constrained")
        axes = figure.subplots()
        circle = np.exp(1j * np.linspace(0, 2 * np.pi, 200))
        axes.plot(circle.real, circle.imag, color="#aaaaaa", linewidth=0.6)
        for name, loop, colour, dashes in _shown(analysis):
            response = loop.response(1j * loop.frequencies[loop.frequencies < RESOLVED / min(loop.point.rtts)])
            axes.plot(response.real, response.imag, color=colour, linestyle=dashes, label=name)
        axes.plot(-1, 0, marker="+", color=plots.TARGET, markersize=9, markeredgewidth=1.6, linestyle="none")
        axes.annotate("-1", (-1, 0), xytext=(-13, -11), textcoords="offset points", fontsize=7)
        axes.set_xlim(-2.5, 1.5)
        axes.set_ylim(-2.5, 1.5)
        axes.set_aspect("equal")
        axes.set_xlabel("Real part of L")
        axes.set_ylabel("Imaginary part of L")
        axes.set_title(f"Nyquist, {analysis.scheme}", loc="left", fontweight="bold", pad=3)
        axes.legend(frameon=False, fontsize=7, loc="lower right")
    return figure


def step(analysis: Analysis) -> Figure:
    """Draw the answer of the queue to a step of its reference; stable loops only."""
    with mpl.rc_context(plots.STYLE):
        figure = Figure(figsize=(plots.WIDTH, 2.6), layout="constrained")
        axes = figure.subplots()
        for name, loop, colour, dashes in _shown(analysis):
            if loop.judge().stable:
                axes.plot(*loop.step(), color=colour, linestyle=dashes, label=name)
        axes.axhline(1, color=plots.TARGET, linewidth=0.8, linestyle=(0, (4, 2)))
        axes.set_xlim(left=0)
        axes.set_xlabel("Time (s)")
        axes.set_ylabel("Queue / step of its reference")
        axes.set_title(f"Step response, {analysis.scheme}", loc="left", fontweight="bold", pad=3)
        axes.set_title(_remark(analysis), loc="right", fontsize=7, color="#444444", pad=3)
        axes.legend(frameon=False, fontsize=7)
    return figure


def stability_map(drawn: Map) -> Figure:
    """Draw the gain margin over two parameters, the boundary of stability, and where the parameters are now."""
    with mpl.rc_context(plots.STYLE):
        figure = Figure(figsize=(0.7 * plots.WIDTH, 3.6), layout="constrained")
        axes = figure.subplots()
        (x_label, x_scale), (y_label, y_scale) = shown(drawn.x), shown(drawn.y)
        x, y = drawn.x.values * x_scale, drawn.y.values * y_scale
        margins = np.ma.masked_invalid(
            np.log10(np.clip(np.where(np.isinf(drawn.margin), 1e3, drawn.margin), 1e-3, 1e3))
        )
        levels = np.log10([1e-3, 0.1, 0.25, 0.5, 1, 2, 4, 10, 1e3])
        filled = axes.contourf(x, y, margins, levels=levels, cmap="RdYlBu", vmin=-1.2, vmax=1.2)
        outside = np.ma.masked_invalid(np.where(drawn.holds | np.isnan(drawn.margin), np.nan, 0))
        if outside.count():
            axes.contourf(x, y, outside, levels=[-1, 1], colors="none", hatches=["///"])
        if 0 < drawn.stable < 1:
            axes.contour(x, y, margins, levels=[0], colors="black", linewidths=1.6)
        axes.plot(drawn.x.present * x_scale, drawn.y.present * y_scale, "k*", markersize=8)
        axes.set_xscale("log")
        axes.set_yscale("log")
        for side in (axes.xaxis, axes.yaxis):
            side.set_major_locator(LogLocator(subs=(1, 2, 5)))
            side.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.set_xlim(x[0], x[-1])
        axes.set_ylim(y[0], y[-1])
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.set_title(
            "Gain margin; black: boundary of stability; hatched: the model does not hold", loc="left", fontsize=8, pad=3
        )
        bar = figure.colorbar(filled, ax=axes, ticks=levels[1:-1])
        bar.ax.set_yticklabels([f"{10**level:g}" for level in levels[1:-1]])
    return figure


LABELS = {
    "rtt": ("Round-trip propagation (ms)", 1e3),
    "rate": ("Rate (Mbit/s)", 1e-6),
    "flows": ("Flows", 1.0),
    "gain": ("Factor on the gain", 1.0),
}
"""What stands at an axis, and what its values are multiplied by; a parameter of a scheme stands in its base unit."""


def shown(one: Axis) -> tuple[str, float]:
    """Return what an axis is called, with its unit, and what its values are multiplied by."""
    return LABELS.get(one.name, (one.name, 1.0))


def beside(drawn: "Beside") -> Figure:
    """Draw queue and p against time: packets, fluid, and the predicted operating point."""
    with mpl.rc_context(plots.STYLE):
        figure = Figure(figsize=(plots.WIDTH, 3.8), layout="constrained")
        queue, share = figure.subplots(2, 1, sharex=True)
        curves = (("packets", drawn.packets, plots.PALE, 0.6), ("fluid model", drawn.fluid, EXACT, 1.1))
        for name, motion, colour, width in curves:
            for axes, values in ((queue, motion.queue), (share, 100 * motion.p)):
                axes.plot(*plots.envelope(motion.time, values), color=colour, linewidth=width, label=name)
        for axes, value in ((queue, drawn.point.queue), (share, 100 * drawn.point.p)):
            axes.axhline(value, color=plots.TARGET, linewidth=1, linestyle=(0, (4, 2)), label="operating point")
            axes.set_ylim(bottom=0)
        queue.set_xlim(0, drawn.packets.time[-1])
        queue.set_ylabel("Queue (packets)")
        share.set_ylabel("Signalled (%)")
        share.set_xlabel("Time (s)")
        queue.set_title(drawn.title, loc="left", fontweight="bold", pad=3)
        queue.set_title(drawn.remark, loc="right", fontsize=7, color="#444444", pad=3)
        queue.legend(frameon=False, fontsize=7, ncols=3, loc="upper right")
    return figure
