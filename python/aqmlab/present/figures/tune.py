"""The figures of a tune: its history, the values of each parameter, the front; and the ranks of a tournament."""

from math import log10

import numpy as np

from aqmlab import quantities
from aqmlab.present.labels import label
from aqmlab.present.plots.data import (
    Cloud,
    CriticalDifference,
    Drawing,
    LineChart,
    LinePanel,
    Scatter,
    ScatterPanel,
)
from aqmlab.runs.statistics import Summary
from aqmlab.tune.goal import Objective
from aqmlab.tune.result import Tuned
from aqmlab.tune.search import Candidate
from aqmlab.tune.space import Dimension
from aqmlab.tune.tournament import Compared

KEPT, OTHER, STOPPED = "evaluated by all runs", "violates a bound", "stopped early"

CAPTIONS = {
    "history": "The value of each candidate in order, estimated if it was stopped early; and the best so far.",
    "slices": "The value of each candidate against each parameter; logarithms if its scale is logarithmic.",
    "front": "The first two objectives of each candidate. None on the front is worse than another in both.",
}


def figures(found: Tuned) -> dict[str, Drawing]:
    """Return the figures of a tune by name."""
    drawn: dict[str, Drawing] = {"history": history(found)}
    if any(not each.choices for each in found.plan.space):
        drawn["slices"] = slices(found)
    if len(found.plan.objectives) > 1:
        drawn["front"] = front(found)
    return drawn


def history(found: Tuned) -> LineChart:
    """Return the candidates in their order, a panel for each objective."""
    panels = []
    for i, goal in enumerate(found.plan.objectives):
        candidates, best = {}, {}
        least: float | None = None
        for each in found.trials:
            if each.values is None:
                continue
            value = _shown(found, goal, each.values[i])
            candidates[float(each.number)] = Summary(value, None, 1)
            if each.feasible:
                least = value if least is None else goal.sign * min(goal.sign * least, goal.sign * value)
            if least is not None:
                best[float(each.number)] = Summary(least, None, 1)
        panels.append(LinePanel("", _axis(found, goal), {"candidate": candidates, "best so far": best}))
    return LineChart("Candidate", panels, columns=len(panels))


def slices(found: Tuned) -> Scatter:
    """Return the first objective against each parameter that is a number."""
    goal = found.plan.objectives[0]
    panels = []
    for dimension in found.plan.space:
        if not dimension.choices:
            points: dict[str, list[tuple[float, float]]] = {}
            for each in found.trials:
                if each.values is not None:
                    at = _position(dimension, each)
                    points.setdefault(_kind(each), []).append((at, _shown(found, goal, each.values[0])))
            title = f"{'log10 of ' if dimension.log else ''}{dimension.name}"
            panels.append(ScatterPanel(title, {kind: _cloud(points[kind]) for kind in points}))
    kinds = [kind for kind in (KEPT, OTHER, STOPPED) if any(kind in panel.clouds for panel in panels)]
    return Scatter("Parameter, base unit", _axis(found, goal), kinds, panels, centre="", columns=3)


def front(found: Tuned) -> Scatter:
    """Return the candidates in the plane of the first two objectives."""
    first, second = found.plan.objectives[:2]
    best = {each.spec for each in found.front}
    points: dict[str, list[tuple[float, float]]] = {}
    for each in found.trials:
        if each.values is not None:
            x, y = _shown(found, first, each.values[0]), _shown(found, second, each.values[1])
            points.setdefault("front" if each.spec in best else "other", []).append((x, y))
    panel = ScatterPanel("", {kind: _cloud(points[kind]) for kind in points})
    return Scatter(_axis(found, first), _axis(found, second), ("front", "other"), [panel], centre="", columns=1)


def ranks(found: Compared, schemes: str) -> CriticalDifference | None:
    """Return the critical-difference diagram of the tuned or of the published schemes."""
    ranking = found.ranking(schemes)
    return CriticalDifference(ranking, {name: label(name) for name in ranking.ranks}) if ranking else None


def _kind(each: Candidate) -> str:
    return STOPPED if each.stopped else KEPT if each.feasible else OTHER


def _cloud(points: list[tuple[float, float]]) -> Cloud:
    return Cloud(np.array(points), range(len(points)), None, None)


def _position(dimension: Dimension, each: Candidate) -> float:
    text = dict(pair.split("=", 1) for pair in each.spec.partition(":")[2].split(","))[dimension.name]
    value = quantities.quantity(text)
    return log10(value) if dimension.log else value


def _shown(found: Tuned, goal: Objective, value: float) -> float:
    return value * goal.metric(found.plan.places[0].scenario).shown.scale


def _axis(found: Tuned, goal: Objective) -> str:
    return goal.metric(found.plan.places[0].scenario).heading
