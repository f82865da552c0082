"""The figures of a control loop: Bode, Nyquist, step response, stability map, and models compared with packets."""

from typing import TYPE_CHECKING

import numpy as np

from aqmlab.analysis.loop import RESOLVED, Loop
from aqmlab.analysis.maps import Axis, Map
from aqmlab.analysis.result import Analysis
from aqmlab.present.labels import label
from aqmlab.present.plots.data import (
    Bode,
    Curve,
    Drawing,
    Frame,
    Nyquist,
    OverTime,
    Panel,
    Response,
    StabilityMap,
)
from aqmlab.present.plots.style import THIRDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from aqmlab.analysis.beside import Beside

LABELS = {
    "rtt": ("Round-trip propagation (ms)", 1e3),
    "rate": ("Rate (Mbit/s)", 1e-6),
    "flows": ("Flows", 1.0),
    "gain": ("Factor on the gain", 1.0),
}
"""The label of an axis, and what its values are multiplied by; a parameter of a scheme is in its base unit."""

SHOWN = {"exact": "exact", "hollot": "Hollot et al."}
"""The linear models that are drawn, by their names."""


def figures(analysis: Analysis) -> dict[str, Drawing]:
    """Return the figures of an analysis by the name of their file."""
    drawn: dict[str, Drawing] = {"bode": bode(analysis), "nyquist": nyquist(analysis)}
    if analysis.stable:
        drawn["step"] = step(analysis)
    if analysis.map is not None:
        drawn["map"] = stability_map(analysis.map)
    if analysis.beside is not None:
        drawn["beside"] = beside(analysis.beside)
    return drawn


def axis(one: Axis) -> tuple[str, float]:
    """Return the label of an axis, with its unit, and what its values are multiplied by."""
    return LABELS.get(one.name, (one.name, 1.0))


def bode(analysis: Analysis) -> Bode:
    """Return gain and phase of the open loop, with the two crossovers."""
    margins = analysis.models["exact"].margins
    crossovers = [place for place in (margins.gain_crossover, margins.phase_crossover) if place is not None]
    responses = []
    for name, loop in _loops(analysis).items():
        w = loop.frequencies[loop.frequencies < 20 / min(loop.point.rtts)]
        responses.append(_response(name, loop, w[w > 1e-3 / max(loop.point.rtts)]))
    return Bode(f"Open loop, {label(analysis.scheme)}", _remark(analysis), responses, crossovers)


def nyquist(analysis: Analysis) -> Nyquist:
    """Return the open loop in the complex plane."""
    responses = [
        _response(name, loop, loop.frequencies[loop.frequencies < RESOLVED / min(loop.point.rtts)])
        for name, loop in _loops(analysis).items()
    ]
    return Nyquist(f"Nyquist, {label(analysis.scheme)}", responses)


def step(analysis: Analysis) -> OverTime:
    """Return the answer of the queue to a step of its reference; stable loops only."""
    curves = [Curve(name, *loop.step()) for name, loop in _loops(analysis).items() if loop.judge().stable]
    panel = Panel(f"Step response, {label(analysis.scheme)}", _remark(analysis), curves, target=1.0)
    ends = [float(end(curve.values)) for curve in curves for end in (np.min, np.max)]
    frame = Frame("Queue / step of its reference", max(1.0, *ends), bottom=min(0.0, *ends))
    return OverTime([panel], max(float(curve.time[-1]) for curve in curves), [frame], 1, line="reference")


def stability_map(found: Map) -> StabilityMap:
    """Return the gain margin over two quantities, and where the parameters are now."""
    (x_label, x_scale), (y_label, y_scale) = axis(found.x), axis(found.y)
    present = found.x.present * x_scale, found.y.present * y_scale
    x, y = found.x.values * x_scale, found.y.values * y_scale
    return StabilityMap(x_label, y_label, x, y, found.margin, found.holds, present)


def beside(found: "Beside") -> OverTime:
    """Return queue and p against time: packets, fluid, and the predicted operating point."""
    panels, frames = [], []
    shown = (("queue", 1.0, "Queue (packets)", THIRDS), ("p", 100.0, "Signalled (%)", THIRDS))
    for what, scale, heading, steps in shown:
        curves = [
            Curve(name, motion.time, scale * getattr(motion, what), pale=name == "packets")
            for name, motion in (("packets", found.packets), ("fluid model", found.fluid))
        ]
        point = scale * getattr(found.point, what)
        first = what == "queue"
        panels.append(Panel(label(found.scheme) if first else "", found.remark if first else "", curves, target=point))
        frames.append(Frame(heading, max(point, *(float(curve.values.max()) for curve in curves)), steps))
    return OverTime(panels, float(found.packets.time[-1]), frames, 1, line="operating point")


def _loops(analysis: Analysis) -> dict[str, Loop]:
    return {title: analysis.models[name].loop for name, title in SHOWN.items()}


def _response(name: str, loop: Loop, frequency: "NDArray[np.float64]") -> Response:
    """Return the open loop at some frequencies, its phase beginning where the integrators put it."""
    values = loop.response(1j * frequency)
    angle = np.unwrap(np.angle(values))
    angle -= 2 * np.pi * np.round((angle[0] + np.pi / 4 * loop.linear.integrators) / (2 * np.pi))
    return Response(name, frequency, values, np.degrees(angle))


def _remark(analysis: Analysis) -> str:
    margins = analysis.models["exact"].margins
    parts = ["stable" if analysis.stable else "unstable"]
    if analysis.disputed:
        parts = [f"{parts[0]}, but not with refined windows"]
    if margins.gain is not None:
        parts.append(f"gain margin {margins.gain:.3g}")
    if margins.phase is not None:
        parts.append(f"phase margin {margins.phase:.0f}°")
    return ", ".join(parts)
