"""Scores: the measures that can be bad in a scenario, and the regret of a target against the best of its peers.

The regret of a measure is the logarithm of (value + floor) over (best peer's value + floor); of a measure of which more
is better, the reverse. The floor keeps small differences from counting: 0.1 ms against 1 ms of delay is no regret.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, isfinite, log

from aqmlab._core import Scenario
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.runs.metrics import FIRST_LINK, PLACES, Metric, find
from aqmlab.worst.spaces import MAIN

OTHERS = "others"
"""The group of flows that a controller may harm."""
RATIO = 1.2
"""A finding is at least so many times as bad as the best peer."""
FAILED = "failed"
"""The pseudo-measure of runs that end with an error."""


@dataclass(frozen=True)
class Criterion:
    """A measure that can be bad: `sign` is 1 if less is better, -1 if more is; `floor` in its unit.

    The floor of a rate is a share of the link's rate. `phrase` is its name within a sentence.
    """

    name: str
    measure: str
    sign: int
    floor: float
    phrase: str
    needs: str = ""
    """A condition on the scenario: "alone", "others" or "several"."""

    @property
    def metric(self) -> Metric | None:
        """The form in which its values are shown; None for failures."""
        return None if self.measure == FAILED else find(self.measure)

    def applies(self, scenario: Scenario) -> bool:
        """Return whether the measure means something in a scenario."""
        if self.needs == "alone":
            return sum(scenario.group(name).is_tcp for name in scenario.flows) == 1
        if self.needs == "others":
            return OTHERS in scenario.flows
        if self.needs == "several":
            return MAIN in scenario.flows and scenario.group(MAIN).count > 1
        return True

    def floor_in(self, scenario: Scenario) -> float:
        """Return the floor in a scenario."""
        metric = self.metric
        return self.floor * scenario.link(scenario.links[0]).rate if metric and metric.unit == "bit/s" else self.floor

    def value(self, measured: Mapping[str, float | None]) -> float | None:
        """Return the value of a run; None without one."""
        found = measured.get(self.name)
        return found if found is not None and isfinite(found) else None

    def regret(self, target: float, best: float, floor: float) -> float:
        """Return by which logarithm of a factor the target is worse."""
        return self.sign * log((max(0.0, target) + floor) / (max(0.0, best) + floor))

    def best(self, values: Sequence[float]) -> float:
        """Return the best of several values."""
        return min(values) if self.sign > 0 else max(values)


FAILURES = Criterion(FAILED, FAILED, 1, 0.1, "share of runs that fail")

OF_SCHEMES = (
    Criterion("delay", "link.queue_delay_p99", 1, 0.005, "the 99th percentile of the queueing delay"),
    Criterion("utilisation", "link.utilisation", -1, 0.05, "the utilization"),
    Criterion("loss", "link.drop_ratio", 1, 0.01, "the drop ratio"),
    Criterion("fairness", f"flows.{MAIN}.jain", -1, 0.1, "Jain's fairness index", "several"),
)
"""The measures of schemes by default."""

OF_CONTROLLERS = (
    Criterion("throughput", f"flows.{MAIN}.goodput", -1, 0.05, "the goodput", "alone"),
    Criterion("harm", f"flows.{OTHERS}.goodput", -1, 0.05, "the goodput of the other flows", "others"),
    Criterion("starvation", f"flows.{MAIN}.goodput_min", -1, 0.01, "the goodput of the slowest flow", "several"),
    Criterion("delay", "link.queue_delay_p99", 1, 0.005, "the 99th percentile of the queueing delay"),
    Criterion("loss", "link.drop_ratio", 1, 0.01, "the drop ratio"),
)
"""The measures of controllers by default."""

OF_ENGINES = (
    Criterion("delay", "link.queue_delay_p99", 1, 0.003, "the 99th percentile of the queueing delay"),
    Criterion("mean delay", "link.queue_delay_mean", 1, 0.003, "the mean queueing delay"),
    Criterion("utilisation", "link.utilisation", -1, 0.05, "the utilization"),
    Criterion("loss", "link.drop_ratio", 1, 0.01, "the drop ratio"),
    Criterion("marks", "link.mark_ratio", 1, 0.02, "the mark ratio"),
    Criterion("goodput", f"flows.{MAIN}.goodput", -1, 0.05, "the goodput"),
)
"""The measures of two engines or versions, of which any difference counts."""

FLOORS = {"s": 0.005, "ratio": 0.01, "bit/s": 0.05, "packets": 5.0}
"""Floors of other measures by their unit."""


def criteria(by: Sequence[str], usual: Sequence[Criterion]) -> tuple[Criterion, ...]:
    """Return the measures asked for by name, such as "delay" or "flows.main.fct_p95"; the usual ones if none is.

    InputError for an unknown measure, or for one without a better direction.
    """
    known = {each.name: each for each in usual}
    found = [known[name] if name in known else _other(name, known) for name in dict.fromkeys(by)]
    return (*(found or usual), FAILURES)


def _other(name: str, known: Mapping[str, Criterion]) -> Criterion:
    measure = name if name.startswith((FIRST_LINK, *PLACES)) else f"{FIRST_LINK}{name}"
    try:
        metric = find(measure)
    except InputError:
        raise unknown("by", "no measure", name, [*known, "link.queue_delay_mean", "total.goodput"]) from None
    if metric.better is None:
        raise InputError(
            "by",
            f"{name}: neither more nor less of it is better; expected one of {', '.join(known)} or another measure",
        )
    title = metric.title[0].lower() + metric.title[1:]
    return Criterion(name, measure, 1 if metric.better == "less" else -1, FLOORS.get(metric.unit, 0.05), f"the {title}")


@dataclass(frozen=True)
class Regret:
    """The regret of a target in one measure over several seeds, and the values that give it.

    `mean` and the ends of `interval` (95 %) are factors: 3 means three times as bad.
    """

    criterion: Criterion
    target: float
    peers: Mapping[str, float]
    best: str
    mean: float
    interval: tuple[float, float] | None
    n: int

    @property
    def log(self) -> float:
        """The logarithm of the mean factor."""
        return log(self.mean)

    def holds(self) -> bool:
        """Return whether the target is worse by `RATIO` at least, beyond chance if there are several seeds."""
        return (self.interval[0] if self.interval else self.mean) >= RATIO


def regrets(
    criterion: Criterion,
    target: Sequence[float | None],
    peers: Mapping[str, Sequence[float | None]],
    floor: float,
    *,
    either_way: bool = False,
) -> Regret | None:
    """Return the regret over seeds, against the peer with the best mean; None if a value is missing.

    With `either_way` a difference in the other direction counts as much.
    """
    from statistics import fmean

    from aqmlab.runs.statistics import summarise

    ours = [value for value in target if value is not None]
    theirs = {name: [value for value in values if value is not None] for name, values in peers.items()}
    if len(ours) < len(target) or not theirs or any(len(values) < len(ours) for values in theirs.values()) or not ours:
        return None
    means = {name: fmean(values) for name, values in theirs.items()}
    best = next(name for name, mean in means.items() if mean == criterion.best(list(means.values())))
    logs = [criterion.regret(our, their, floor) for our, their in zip(ours, theirs[best], strict=True)]
    found = summarise([-value for value in logs] if either_way and fmean(logs) < 0 else logs)
    interval = found.interval and (exp(found.interval[0]), exp(found.interval[1]))
    return Regret(criterion, fmean(ours), means, best, exp(found.mean), interval, len(ours))
