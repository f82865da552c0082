"""The figures of a sweep: clouds of runs, dots, lines, distributions, queues over time, the ranking."""

from dataclasses import dataclass

import numpy as np

from aqmlab._core import InputError
from aqmlab.names import unknown
from aqmlab.present.figures.ellipses import of_mean
from aqmlab.present.figures.runs import queue_frame
from aqmlab.present.figures.stored import DELAYS, SERIES, Runs, how_to_store, stored
from aqmlab.present.labels import label
from aqmlab.present.plots.data import (
    Cloud,
    CriticalDifference,
    Curve,
    DistributionPanel,
    Distributions,
    Dots,
    Drawing,
    Frame,
    LinePanel,
    Lines,
    OverTime,
    Panel,
    Scatter,
    ScatterPanel,
)
from aqmlab.present.plots.style import THIRDS
from aqmlab.runs.findings import Findings, check_measure, more_is_better
from aqmlab.runs.grid import number
from aqmlab.runs.measures import heading
from aqmlab.runs.metrics import find
from aqmlab.runs.statistics import Ranking, Summary, summarise
from aqmlab.runs.table import Case

DELAY, GOODPUT, JAIN, SETTLING = "link.queue_delay_mean", "total.goodput", "total.jain", "link.settling_time"

FIGURES = {
    "queue": "packets waiting against time, a panel for each scheme (needs series)",
    "cdf": "distribution of the queue delay (needs series)",
    "delay-throughput": "goodput against mean queue delay, a point for each run, with 95 % ellipses",
    "fairness": "Jain's index of the goodput, by scheme",
    "settling": "settling time, by scheme, of the runs that settle",
    "measure": "a measure by scheme, or --against a value that was varied",
    "ranking": "critical-difference diagram of the schemes by a measure",
}
"""What can be drawn of a sweep."""

MEASURE_OF = {"fairness": JAIN, "settling": SETTLING}
"""The figures that show one measure by scheme under a name of their own."""


def scatter(found: Findings, case: Case, x: str = DELAY, y: str = GOODPUT) -> Scatter:
    """Return the runs of a case in the plane of two measures; without the schemes that lack one of them."""
    clouds = {}
    for scheme in found.schemes:
        across, up = (_shown(found, case, scheme, measure) for measure in (x, y))
        seeds = [seed for seed in across if seed in up]
        if seeds:
            points = np.array([(across[seed], up[seed]) for seed in seeds])
            clouds[label(scheme)] = Cloud(points, seeds, points.mean(axis=0), of_mean(points))
    panel = ScatterPanel("", clouds)
    return Scatter(heading(x), heading(y), names(found), [panel], centre="mean", columns=1)


def dots(found: Findings, case: Case, measure: str) -> Dots:
    """Return a measure of each run of a case; without the schemes that have no value."""
    values = {label(scheme): got for scheme in found.schemes if (got := _shown(found, case, scheme, measure))}
    summaries = {name: summarise(list(got.values())) for name, got in values.items()}
    return Dots(heading(measure), names(found), values, summaries)


def lines(found: Findings, measure: str, against: str, scenario: str | None = None) -> Lines:
    """Return a measure against a value that was varied: "set.PATH", or "SCHEME.PARAMETER".

    Each line is a scheme with its other parameters, each panel a scenario with its other values. With `scenario`,
    only the panels are kept whose name begins with it. InputError for what was not varied or is not a number.
    """
    check_measure(found, measure)
    xs = _positions(found, against)
    panels: dict[str, dict[str, dict[float, Summary]]] = {}
    for case in found.cases.values():
        rest = ", ".join([case.scenario, *_others(found, case, against)])
        for scheme in found.schemes:
            row = next(iter(found.runs(case, scheme).values()), {})
            summary = found.measured.summary(case, scheme, measure)
            if row.get(against) is not None and summary:
                line = panels.setdefault(rest, {}).setdefault(_without(scheme, against), {})
                line[xs[str(row[against])][0]] = summary.scaled(find(measure).shown.scale)
    if scenario is not None:
        panels = {name: panel for name, panel in panels.items() if f"{name}, ".startswith(f"{scenario}, ")}
        if not panels:
            raise unknown("scenario", "nothing is drawn of", scenario, {case.scenario for case in found.cases.values()})
    unit = next(iter(xs.values()))[1]
    x = f"{against.removeprefix('set.')}{f' ({unit})' if unit else ''}"
    return Lines(x, [LinePanel(title, heading(measure), drawn) for title, drawn in panels.items()])


def cdf(found: Findings, case: Case, delays: Runs) -> Distributions:
    """Return the share of packets that waited at most so long, from share 0 on."""
    curves = {}
    for scheme in found.schemes:
        if run := delays.get((case, scheme)):
            delay, share = 1e3 * run.columns["queue_delay"], run.columns["share"]
            curves[label(scheme)] = np.concatenate([delay[:1], delay]), np.concatenate([[0.0], share])
    longest = max((float(delay[-1]) for delay, _ in curves.values()), default=0.0) or 1.0
    panel = DistributionPanel("", curves, (0.0, 1.05 * longest))
    return Distributions("Queue delay (ms)", "Share of packets", names(found), [panel], 1)


def queue(found: Findings, case: Case, series: Runs) -> OverTime:
    """Return the panels of the packets waiting, one a scheme, with the target."""
    scenario = found.scenario(case)
    panels = []
    for scheme in found.schemes:
        if run := series.get((case, scheme)):
            row = found.runs(case, scheme)[run.seed]
            mean, std = (row[f"links.{case.link}.{name}"] for name in ("queue_mean", "queue_std"))
            curve = Curve(label(scheme), run.columns["time"], run.columns["queue"])
            at = scenario.link(case.link).target if scenario else None
            panels.append(Panel(label(scheme), f"mean {mean:.0f}, std {std:.0f}", [curve], target=at))
    if scenario:
        return OverTime(panels, scenario.duration, [queue_frame(panels, [(scenario, case.link)])])
    end = max(float(panel.curves[0].time[-1]) for panel in panels)
    top = max(float(panel.curves[0].values.max()) for panel in panels)
    return OverTime(panels, end, [Frame("Queue (packets)", top or 1.0, THIRDS)])


def ranking(found: Ranking) -> CriticalDifference:
    """Return the critical-difference diagram of a ranking."""
    return CriticalDifference(found, {scheme: label(scheme) for scheme in found.ranks})


def names(found: Findings) -> list[str]:
    """Return what the schemes are called in figures, in order: each keeps its look in all figures of a sweep."""
    return [label(scheme) for scheme in found.schemes]


@dataclass(frozen=True)
class Wanted:
    """A figure to draw: one of `FIGURES`, the name of a case, a measure, and what to draw it against."""

    figure: str
    scenario: str | None = None
    measure: str | None = None
    against: str | None = None


def figure(found: Findings, wanted: Wanted) -> Drawing:
    """Return a figure. InputError for what the sweep does not have, and for what the figure does not take."""
    name = wanted.figure
    measure = check_measure(found, wanted.measure or MEASURE_OF.get(name, DELAY))
    if wanted.measure and name not in ("measure", "ranking"):
        raise InputError(f"measure: {wanted.measure}: {name} has its own; use the figure measure")
    if wanted.against and name != "measure":
        raise InputError(f"against: {wanted.against}: only the figure measure is drawn against a value")
    if name == "ranking":
        return _ranking(found, measure)
    if wanted.against:
        return lines(found, measure, wanted.against, wanted.scenario)
    case = _case(found, wanted.scenario)
    if name in ("queue", "cdf"):
        what, columns = SERIES if name == "queue" else DELAYS
        runs = stored(found, what, columns, [case])
        if not runs:
            raise InputError(f"figure: {name}: no {what} of {case.name} are stored; {how_to_store(found)}")
        return queue(found, case, runs) if name == "queue" else cdf(found, case, runs)
    return scatter(found, case) if name == "delay-throughput" else dots(found, case, measure)


def _case(found: Findings, name: str | None) -> Case:
    """The case of that name, or the only one."""
    if name is None and len(found.cases) > 1:
        raise InputError(f"scenario: missing; --scenario is one of: {'; '.join(found.cases)}")
    if name is not None and name not in found.cases:
        raise unknown("scenario", "no scenario", name, found.cases)
    return found.cases[name] if name is not None else next(iter(found.cases.values()))


def _ranking(found: Findings, measure: str) -> CriticalDifference:
    if more_is_better(measure) is None:
        raise InputError(f"measure: {measure}: neither more nor less is better, so schemes cannot be ranked by it")
    ranks = found.ranking(measure)
    if ranks is None:
        raise InputError("figure: ranking: needs three schemes, and two scenarios in which each has a value")
    return ranking(ranks)


def _shown(found: Findings, case: Case, scheme: str, measure: str) -> dict[int, float]:
    """A measure by seed in the unit people read."""
    scale = find(measure).shown.scale
    return {seed: scale * value for seed, value in found.measured.values(case, scheme, measure).items()}


def _positions(found: Findings, against: str) -> dict[str, tuple[float, str]]:
    """Return where each value lies on the abscissa, with its unit; InputError unless all are numbers in one unit."""
    if against not in found.varied:
        if not found.varied:
            raise InputError(f"against: {against}: this sweep varies nothing but scenarios, schemes and seeds")
        raise unknown("against", "was not varied:", against, found.varied)
    read = {text: number(text) for text in found.varied[against]}
    xs = {text: position for text, position in read.items() if position}
    if len(xs) < len(read) or len({unit for _, unit in xs.values()}) > 1:
        raise InputError(f"against: {against}: {', '.join(read)}: expected numbers in one unit")
    return xs


def _others(found: Findings, case: Case, against: str) -> list[str]:
    """What else is varied of a case."""
    return [
        f"{path}={value}"
        for path, value in case.overrides
        if f"set.{path}" in found.varied and f"set.{path}" != against
    ]


def _without(scheme: str, against: str) -> str:
    """The title of a scheme without the parameter on the abscissa."""
    name, _, given = scheme.partition(":")
    kept = [pair for pair in given.split(",") if pair and f"{name}.{pair.partition('=')[0].strip()}" != against]
    return label(name + (f":{','.join(kept)}" if kept else ""))
