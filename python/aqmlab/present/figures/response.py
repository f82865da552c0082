"""The figures of a response: window over loss or marks with equations, rates of a joining flow, queue over flows."""

import numpy as np

from aqmlab.present.labels import label
from aqmlab.present.plots.data import Curve, Drawing, Frame, LineChart, LinePanel, OverTime, Panel
from aqmlab.runs.statistics import Summary
from aqmlab.study.equations import CUBIC, EQUATIONS, RENO, SCALABLE, Equation
from aqmlab.study.response import full_window, lossy_path
from aqmlab.study.response_result import RTT, Response

Drawn = dict[str, tuple[str, Drawing]]
"""Captions and drawings by the stem of their files."""


def figures(response: Response) -> Drawn:
    """Return the figures with something to show."""
    name, n = (
        label(response.law),
        "seed 1" if response.seeds == 1 else f"n = {response.seeds} (seeds 1 to {response.seeds})",
    )
    interval = "" if response.seeds == 1 else "mean and 95 % interval, "
    found: Drawn = {}
    if any(point.window for point in response.points):
        caption = f"Mean window of {name} over the probability of a {response.signal}, with equations: {interval}{n}."
        found["response"] = caption, function(response)
    if any(point.quotient for point in response.fairness):
        caption = f"Goodput of two flows of {name} over the quotient of their round-trip times: {interval}{n}."
        found["rtt-fairness"] = caption, _fairness(response)
    if response.convergence.rates:
        found["convergence"] = f"Goodput of two flows of {name}, of which the second joins; seed 1.", _joining(response)
    if any(point.queue for point in response.queues):
        found["queue-over-flows"] = (
            f"Mean queue of flows of {name} over their number: {interval}{n}.",
            _queues(response),
        )
    return found


def function(response: Response) -> LineChart:
    """Return the measured window over p, and equations: the controller's own, or else those of the standards."""
    lines = {label(response.law): {point.p: point.window for point in response.points if point.window}}
    full = full_window(lossy_path(response.law, response.is_marked, response.points[0].p, 200))
    for name, equation in _equations(response).items():
        values = {point.p: equation.window(point.p, RTT, full) for point in response.points}
        lines[name] = {p: Summary(value, None, 1) for p, value in values.items() if value}
    title = f"Probability of a {response.signal}"
    return LineChart(title, [LinePanel("", "Window (segments)", lines, True)], columns=1, logarithmic=True)


def _equations(response: Response) -> dict[str, Equation]:
    if response.law in EQUATIONS:
        return {"Equation": EQUATIONS[response.law]}
    return {"Scalable": SCALABLE} if response.is_marked else {"Reno, equation": RENO, "CUBIC, equation": CUBIC}


def _fairness(response: Response) -> LineChart:
    lines: dict[str, dict[float, Summary]] = {"first flow": {}, "second flow": {}}
    for point in response.fairness:
        for name, rate in zip(lines, (point.first, point.second), strict=True):
            if rate:
                lines[name][float(point.ratio)] = rate.scaled(1e-6)
    return LineChart("RTT of the second / first flow", [LinePanel("", "Goodput (Mbit/s)", lines)], 1)


def _joining(response: Response) -> OverTime:
    time, first, second = (np.array(column) for column in zip(*response.convergence.rates, strict=True))
    curves = [Curve("first flow", time, 1e-6 * first), Curve("second flow", time, 1e-6 * second)]
    top = max(float(curve.values.max()) for curve in curves)
    return OverTime([Panel("", "", curves)], float(time[-1]), [Frame("Goodput (Mbit/s)", top or 1.0)], 1)


def _queues(response: Response) -> LineChart:
    lines = {label(response.law): {float(point.flows): point.queue for point in response.queues if point.queue}}
    if response.queue_equation:
        lines["Equation"] = {float(point.flows): Summary(point.equation or 0.0, None, 1) for point in response.queues}
    return LineChart("Number of flows", [LinePanel("", "Mean queue (packets)", lines)], 1, logarithmic=True)
