"""The tables of a response: its numbers as people read them."""

from collections.abc import Iterator

from aqmlab.notebook import Sheet
from aqmlab.runs.statistics import Summary
from aqmlab.study.response import FAIR, HELD, LASTS, LOOK, Response, deviation


def sheets(response: Response) -> Iterator[Sheet]:
    """Yield the response function, RTT fairness, convergence and the queue over flows."""
    about = (
        "Seed 1." if response.seeds == 1 else f"Mean ± half-width of the 95 % interval, seeds 1 to {response.seeds}."
    )
    yield _function(response, about)
    yield Sheet(
        "RTT fairness: two flows that share a link",
        ["RTT of the second / first", "First (Mbit/s)", "Second (Mbit/s)", "First / second"],
        [
            [f"{each.ratio}", *(shown(rate, 1e-6) for rate in (each.first, each.second)), shown(each.quotient)]
            for each in response.fairness
        ],
        about=about,
    )
    yield _convergence(response, about)
    yield _queues(response, about)


def _function(response: Response, about: str) -> Sheet:
    heads = [f"p ({response.signal})", "Window (segments)", "Goodput (Mbit/s)", "Slope"]
    more = ["Equation (segments)", "Deviation (%)"] if response.equation else []
    rows = []
    for point, slope in zip(response.points, response.slopes, strict=True):
        row = [f"{point.p:g}", shown(point.window, digits=1), shown(point.rate, 1e-6), number(slope, 1, 2)]
        row += [number(point.equation, 1, 1), percent(deviation(point.window, point.equation))] if more else []
        rows.append(row)
    source = f" Equation: {response.equation}." if response.equation else ""
    return Sheet("Response function", [*heads, *more], rows, about=about + source)


def _convergence(response: Response, about: str) -> Sheet:
    found = response.convergence
    n = found.time.n if found.time else 0
    rule = (
        f"Converged: Jain's index of the goodputs is at least {FAIR:g} in {HELD} successive periods of {LOOK:g} s, "
        f"within {LASTS:g} s. "
    )
    row = [shown(found.time, digits=1), f"{n} of {found.seeds}"]
    return Sheet("Convergence: a second flow joins", ["Time (s)", "Seeds that converge"], [row], 0, about=rule + about)


def _queues(response: Response, about: str) -> Sheet:
    signals = "Mark ratio (%)" if response.is_marked else "Drop ratio (%)"
    heads = ["Flows", "Queue (packets)", "Delay (ms)", "Utilisation (%)", signals]
    more = ["Equation (packets)", "Deviation (%)"] if response.queue_equation else []
    rows = []
    for point in response.queues:
        row = [f"{point.flows}", shown(point.queue, digits=1), shown(point.delay, 1e3, 1)]
        row += [shown(point.utilisation, 100), shown(point.signals, 100)]
        row += [number(point.equation, 1, 1), percent(deviation(point.queue, point.equation))] if more else []
        rows.append(row)
    source = f" Equation: {response.queue_equation}." if response.queue_equation else ""
    return Sheet("Queue over the number of flows", [*heads, *more], rows, about=about + source)


def shown(summary: Summary | None, scale: float = 1.0, digits: int = 2) -> str:
    """Return mean and half-width of the interval as text, a dash without a value."""
    if summary is None:
        return "–"
    width = "" if summary.half_width is None else f" ±\N{NO-BREAK SPACE}{summary.half_width * scale:.{digits}f}"
    return f"{summary.mean * scale:.{digits}f}{width}"


def number(value: float | None, scale: float, digits: int) -> str:
    """Return a number as text, a dash without one."""
    return "–" if value is None else f"{value * scale:.{digits}f}"


def percent(share: float | None) -> str:
    """Return a deviation in percent with its sign, a dash without one."""
    return "–" if share is None else f"{100 * share:+.1f}"
