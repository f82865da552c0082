"""The figures of a sweep: clouds of runs, dots, lines, distributions, queues over time, the ranking."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from aqmlab import catalogue
from aqmlab.names import unknown
from aqmlab.present.figures import words
from aqmlab.present.figures.ellipses import of_mean, of_spread
from aqmlab.present.figures.runs import queue_frame, utilisation_frame
from aqmlab.present.figures.stored import DELAYS, SERIES, Runs, how_to_store, stored
from aqmlab.present.labels import label
from aqmlab.present.plots.data import (
    Boxes,
    Cloud,
    CriticalDifference,
    Curve,
    DistributionPanel,
    Distributions,
    Dots,
    Drawing,
    Frame,
    HeatMaps,
    HeatPanel,
    LineChart,
    LinePanel,
    OverTime,
    Panel,
    Scatter,
    ScatterPanel,
)
from aqmlab.present.plots.style import THIRDS
from aqmlab.present.text import runs
from aqmlab.problems import InputError
from aqmlab.runs.findings import Findings, check_measure, more_is_better, only
from aqmlab.runs.grid import number
from aqmlab.runs.metrics import find
from aqmlab.runs.statistics import Ranking, Summary, summarise
from aqmlab.runs.table import Case

DELAY, GOODPUT, JAIN, SETTLING = "link.queue_delay_mean", "total.goodput", "total.jain", "link.settling_time"

FIGURES = {
    "queue": "packets waiting against time, a panel for each scheme (needs series)",
    "utilisation": "utilisation against time, a panel for each scheme (needs series)",
    "cdf": "distribution of the queueing delay over packets (needs series)",
    "ecdf": "distribution of a measure over seeds",
    "delay-throughput": "goodput against mean queueing delay, a point for each run, with ellipses",
    "fairness": "Jain's index of the goodput, by scheme",
    "settling": "settling time, by scheme, of the runs that settle",
    "measure": "a measure by scheme, or --against a value that was varied",
    "box": "box plots of a measure by scheme",
    "heat": "a measure as colours --against one varied value and --by another, a panel for each scheme",
    "ranking": "critical-difference diagram of the schemes by a measure",
}
"""The figures of a sweep."""

LOGARITHMIC = {"cdf": "x", "ecdf": "x", "delay-throughput": "xy", "fairness": "y", "settling": "y", "box": "y"}
"""The axes that may be logarithmic; of measure it is y, and x too where it is drawn against a value."""

OF_ANY = ("measure", "box", "heat", "ecdf", "ranking")
"""The figures that show whichever measure is wanted."""

INTERVALS = ("measure", "fairness", "settling")
"""The figures that show means with their intervals."""

MEASURE_OF = {"fairness": JAIN, "settling": SETTLING}
"""The figures that show one measure by scheme under a name of their own."""


def scatter(found: Findings, case: Case, ellipse: Literal["mean", "sigma"] = "mean") -> Scatter:
    """Return the runs of a case in the plane of delay and goodput; without the schemes that lack one of them.

    The ellipse is the 95 % region of the mean, or the spread of the runs (1 sigma).
    """
    x, y = DELAY, GOODPUT
    around = of_mean if ellipse == "mean" else of_spread
    clouds = {}
    for scheme in found.schemes:
        across, up = (_shown(found, case, scheme, measure) for measure in (x, y))
        seeds = [seed for seed in across if seed in up]
        if seeds:
            points = np.array([(across[seed], up[seed]) for seed in seeds])
            clouds[label(scheme)] = Cloud(points, seeds, points.mean(axis=0), around(points))
    panel = ScatterPanel("", clouds)
    return Scatter(words.measure(x), words.measure(y), names(found), [panel], centre="mean", columns=1)


def dots(found: Findings, case: Case, measure: str) -> Dots:
    """Return a measure of each run of a case; without the schemes that have no value."""
    values = {label(scheme): got for scheme in found.schemes if (got := _shown(found, case, scheme, measure))}
    summaries = {name: summarise(list(got.values())) for name, got in values.items()}
    return Dots(words.measure(measure), names(found), values, summaries)


def boxes(found: Findings, case: Case, measure: str) -> Boxes:
    """Return a measure of all runs of a case by scheme; without the schemes that have no value."""
    values = {label(scheme): [*_shown(found, case, scheme, measure).values()] for scheme in found.schemes}
    return Boxes(words.measure(measure), names(found), {name: got for name, got in values.items() if got})


def ecdf(found: Findings, case: Case, measure: str) -> Distributions:
    """Return the share of the seeds with at most a value of a measure, in steps of one seed."""
    curves = {}
    for scheme in found.schemes:
        if values := sorted(_shown(found, case, scheme, measure).values()):
            steps = np.arange(len(values) + 1) / len(values)
            curves[label(scheme)] = np.repeat(values, 2), np.repeat(steps, 2)[1:-1]
    return Distributions(words.measure(measure), "Share of seeds", names(found), [DistributionPanel("", curves)], 1)


def heat(found: Findings, measure: str, against: str, by: str, scenario: str | None = None) -> HeatMaps:
    """Return a measure over two values that were varied; each panel is a scheme in a scenario with its other values."""
    check_measure(found, measure)
    if against == by:
        raise InputError("by", f"{by}: is on the other axis already; give another value that was varied")
    across, up = _axis(found, against), _axis(found, by)
    x, y = (sorted(set(axis.places.values())) for axis in (across, up))
    panels: dict[tuple[str, str], HeatPanel] = {}
    for case in _cases(found, scenario):
        rest = _titled(found, case, against, by)
        for scheme in found.schemes:
            row = next(iter(found.runs(case, scheme).values()), {})
            summary = found.measured.summary(case, scheme, measure)
            if row.get(against) is not None and row.get(by) is not None and summary:
                name = _without(scheme, against, by)
                empty = HeatPanel(name, np.full((len(y), len(x)), np.nan))
                cell = y.index(up.places[str(row[by])]), x.index(across.places[str(row[against])])
                panels.setdefault((rest, name), empty).values[cell] = summary.mean * find(measure).shown.scale
    if not panels:
        raise InputError("against", f"{against}: no scheme has runs that vary in it and in {by}")
    several = len({rest for rest, _ in panels}) > 1
    drawn = [HeatPanel(f"{name}, {rest}" if several else name, panel.values) for (rest, name), panel in panels.items()]
    return HeatMaps(across.label, up.label, words.measure(measure), across.names or x, up.names or y, drawn)


def lines(found: Findings, measure: str, against: str, scenario: str | None = None) -> LineChart:
    """Return a measure against a value that was varied: "set.PATH", or "SCHEME.PARAMETER".

    Each line is a scheme with its other parameters, each panel a scenario with its other values. `scenario` keeps
    only the cases whose name begins with it. Values that are not numbers in one unit are names on the axis, in the
    order of the sweep. InputError for a value that was not varied.
    """
    check_measure(found, measure)
    axis = _axis(found, against)
    panels: dict[str, dict[str, dict[float, Summary]]] = {}
    for case in _cases(found, scenario):
        rest = _titled(found, case, against)
        for scheme in found.schemes:
            row = next(iter(found.runs(case, scheme).values()), {})
            summary = found.measured.summary(case, scheme, measure)
            if row.get(against) is not None and summary:
                line = panels.setdefault(rest, {}).setdefault(_without(scheme, against), {})
                line[axis.places[str(row[against])]] = summary.scaled(find(measure).shown.scale)
    drawn = [LinePanel(title, words.measure(measure), each) for title, each in panels.items()]
    return LineChart(axis.label, drawn, names_of_x=axis.names)


def cdf(found: Findings, case: Case, delays: Runs) -> Distributions:
    """Return the share of packets that waited at most so long, from share 0 on."""
    curves = {}
    for scheme in found.schemes:
        if run := delays.get((case, scheme)):
            delay, share = 1e3 * run.columns["queue_delay"], run.columns["share"]
            curves[label(scheme)] = np.concatenate([delay[:1], delay]), np.concatenate([[0.0], share])
    longest = max((float(delay[-1]) for delay, _ in curves.values()), default=0.0) or 1.0
    panel = DistributionPanel("", curves, (0.0, 1.05 * longest))
    return Distributions("Queueing delay (ms)", "Share of packets", names(found), [panel], 1)


def utilisation(found: Findings, case: Case, series: Runs) -> OverTime:
    """Return the panels of the utilisation of the link, one per scheme."""
    panels = []
    for scheme in found.schemes:
        if run := series.get((case, scheme)):
            mean = found.runs(case, scheme)[run.seed][f"links.{case.link}.utilisation"]
            curve = Curve(label(scheme), run.columns["time"], run.columns["utilisation"])
            panels.append(Panel(label(scheme), f"mean {100 * mean:.1f} %", [curve], "both"))
    end = max(float(panel.curves[0].time[-1]) for panel in panels)
    return OverTime(panels, end, [utilisation_frame()])


def queue(found: Findings, case: Case, series: Runs) -> OverTime:
    """Return the panels of the packets waiting, one per scheme, with the target of a scheme that has one."""
    scenario = found.scenario(case)
    panels = []
    for scheme in found.schemes:
        if run := series.get((case, scheme)):
            row = found.runs(case, scheme)[run.seed]
            mean, std = (row[f"links.{case.link}.{name}"] for name in ("queue_mean", "queue_std"))
            curve = Curve(label(scheme), run.columns["time"], run.columns["queue"])
            aim = found.target(case, scheme)
            panels.append(Panel(label(scheme), f"mean {mean:.0f}, std {std:.0f}", [curve], target=aim))
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
    """A figure to draw: one of `FIGURES`, the name of a case, a measure, and what to draw it against.

    `by` is the other axis of a heat map, `aqms` are the schemes wanted, in their order, `ellipse` is what the ellipses
    show, `log` names the logarithmic axes.
    """

    figure: str
    scenario: str | None = None
    measure: str | None = None
    against: str | None = None
    by: str | None = None
    aqms: tuple[str, ...] = ()
    ellipse: Literal["mean", "sigma"] = "mean"
    log: str = ""


def figure(found: Findings, wanted: Wanted) -> Drawing:
    """Return a figure. InputError for data that the sweep lacks, and for options that the figure does not support."""
    name = wanted.figure
    found = only(found, wanted.aqms) if wanted.aqms else found
    measure = check_measure(found, wanted.measure or MEASURE_OF.get(name, DELAY))
    _check(wanted)
    if name == "ranking":
        return _ranking(found, measure)
    if name == "heat":
        return heat(found, measure, wanted.against or "", wanted.by or "", wanted.scenario)
    if wanted.against:
        chart = lines(found, measure, wanted.against, wanted.scenario)
        if chart.names_of_x and "x" in wanted.log:
            raise InputError("log", f"x: the values of {wanted.against} are names: {', '.join(chart.names_of_x)}")
        return chart
    case = _case(found, wanted.scenario)
    if name in OVER_TIME or name == "cdf":
        what, columns = SERIES if name in OVER_TIME else DELAYS
        runs = stored(found, what, columns, [case])
        if not runs:
            raise InputError("figure", f"{name}: no {what} of {case.name} are stored; {how_to_store(found)}")
        return OVER_TIME[name](found, case, runs) if name in OVER_TIME else cdf(found, case, runs)
    if name == "delay-throughput":
        return scatter(found, case, wanted.ellipse)
    if not any(_shown(found, case, scheme, measure) for scheme in found.schemes):
        raise InputError("figure", f"{name}: no run of {case.name} has a value of {measure}")
    return OF_MEASURE.get(name, dots)(found, case, measure)


def caption(found: Findings, wanted: Wanted) -> str:
    """Return the caption of a figure: a scheme that is alone, what marks show, the runs of each value, and their seeds.

    Empty if the figure shows no run.
    """
    found = only(found, wanted.aqms) if wanted.aqms else found
    shown = {place: seeds for place, seeds in _seeds(found, wanted).items() if seeds}
    if not shown:
        return ""
    axes = [name for name in (wanted.against, wanted.by) if name]
    names = dict.fromkeys(_without(scheme, *axes) for _, scheme in shown)
    alone = [f"{name}." for name in names if len(names) == 1]
    counts = [len(seeds) for seeds in shown.values()]
    mean = "Mean and 95 % interval, " if wanted.figure in INTERVALS and max(counts) > 1 else ""
    return " ".join([*alone, f"{mean}{runs(counts, set().union(*shown.values()))}."])


def _seeds(found: Findings, wanted: Wanted) -> dict[tuple[Case, str], set[int]]:
    """Return the seeds of the runs that a figure shows, by case and scheme."""
    name = wanted.figure
    axes = [axis for axis in (wanted.against, wanted.by) if axis]
    if name == "ranking":
        cases = found.cases
    else:
        cases = _cases(found, wanted.scenario) if axes else [_case(found, wanted.scenario)]
    if name in OVER_TIME or name == "cdf":
        what, _ = SERIES if name in OVER_TIME else DELAYS
        return {place: {run.seed} for place, run in stored(found, what, (), cases).items()}
    measures = [DELAY, GOODPUT] if name == "delay-throughput" else [wanted.measure or MEASURE_OF.get(name, DELAY)]
    return {
        (case, scheme): set.intersection(*({*found.measured.values(case, scheme, each)} for each in measures))
        for case in cases
        for scheme in found.schemes
        if all(row.get(axis) is not None for row in found.runs(case, scheme).values() for axis in axes)
    }


OVER_TIME = {"queue": queue, "utilisation": utilisation}
OF_MEASURE: Mapping[str, Callable[[Findings, Case, str], Drawing]] = {"box": boxes, "ecdf": ecdf}
"""The functions that return these figures."""


def _check(wanted: Wanted) -> None:
    """Raise InputError for options that a figure does not support, and for missing ones."""
    name = wanted.figure
    if wanted.measure and name not in OF_ANY:
        raise InputError("measure", f"{wanted.measure}: {name} has its own; use the figure measure")
    if wanted.against and name not in ("measure", "heat"):
        raise InputError("against", f"{wanted.against}: only the figures measure and heat are drawn against a value")
    if (wanted.by is not None) != (name == "heat") or (name == "heat" and not wanted.against):
        raise InputError("by", "a heat map, and no other figure, is drawn --against one varied value and --by another")
    if wanted.ellipse != "mean" and name != "delay-throughput":
        raise InputError("ellipse", f"{wanted.ellipse}: only the figure delay-throughput has ellipses")
    may = LOGARITHMIC.get(name, "") if name != "measure" else "xy" if wanted.against else "y"
    for side in wanted.log:
        if side not in may:
            raise InputError("log", f"{side}: expected {' or '.join(may) or 'nothing'} with the figure {name}")


def _case(found: Findings, name: str | None) -> Case:
    """The case of that name, or the only one."""
    cases = {case.name: case for case in found.cases}
    if name is None and len(cases) > 1:
        raise InputError("scenario", f"missing; --scenario is one of: {'; '.join(cases)}")
    if name is not None and name not in cases:
        raise unknown("scenario", "no scenario", name, cases)
    return found.cases[0] if name is None else cases[name]


def _cases(found: Findings, scenario: str | None) -> list[Case]:
    """The cases whose name begins with the name of a scenario and its values."""
    kept = [case for case in found.cases if scenario is None or f"{case.name}, ".startswith(f"{scenario}, ")]
    if not kept:
        raise unknown("scenario", "no figure can be drawn of", scenario or "", {case.scenario for case in found.cases})
    return kept


def _ranking(found: Findings, measure: str) -> CriticalDifference:
    if more_is_better(measure) is None:
        raise InputError("measure", f"{measure}: neither more nor less is better, so schemes cannot be ranked by it")
    ranks = found.ranking(measure)
    if ranks is None:
        raise InputError("figure", "ranking: needs three schemes, and two scenarios in which each has a value")
    return ranking(ranks)


def _shown(found: Findings, case: Case, scheme: str, measure: str) -> dict[int, float]:
    """A measure by seed in the unit people read."""
    scale = find(measure).shown.scale
    return {seed: scale * value for seed, value in found.measured.values(case, scheme, measure).items()}


@dataclass(frozen=True)
class Axis:
    """The axis of a varied value: its label, and the place of each text; `names` are at 0, 1, ... if there are any."""

    label: str
    places: Mapping[str, float]
    names: Sequence[str] = ()


def _axis(found: Findings, against: str) -> Axis:
    """Return the axis of a varied value: numbers in one unit, or names in the order of the sweep."""
    if against not in found.varied:
        if not found.varied:
            raise InputError("against", f"{against}: this sweep varies nothing but scenarios, schemes and seeds")
        raise unknown("against", "was not varied:", against, found.varied)
    texts = found.varied[against]
    numbers = {text: at for text in texts if (at := number(text))}
    units = {unit for _, unit in numbers.values()}
    if len(numbers) == len(texts) and len(units) == 1:
        places = {text: at for text, (at, _) in numbers.items()}
        return Axis(words.axis(against, units.pop(), found.varied), places)
    names = [words.called(against, text) for text in texts]
    return Axis(words.quantity(against, found.varied), {text: float(i) for i, text in enumerate(texts)}, names)


def _titled(found: Findings, case: Case, *axes: str) -> str:
    """The name of a case where these values are on axes."""
    others = [
        words.setting(f"set.{path}", value, found.varied)
        for path, value in case.overrides
        if f"set.{path}" in found.varied and f"set.{path}" not in axes
    ]
    return ", ".join([case.scenario, *others])


def _without(scheme: str, *axes: str) -> str:
    """The title of a scheme without the parameters on axes."""
    name, given = catalogue.halves(scheme)
    kept = [pair for pair in given.split(",") if pair and f"{name}.{pair.partition('=')[0].strip()}" not in axes]
    return label(name + (f":{','.join(kept)}" if kept else ""))
