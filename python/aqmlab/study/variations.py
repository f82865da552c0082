"""The variations under which a failing sentence is judged again: checks, scenarios, and constants of schemes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from aqmlab._core import Scenario, read_toml
from aqmlab.entries import loads
from aqmlab.study.ledger import Claim
from aqmlab.study.measured import scenario_of
from aqmlab.study.paper import Study
from aqmlab.study.readings import BANDS


@dataclass(frozen=True)
class Variation:
    """A sentence judged otherwise: another check (None where it does not apply), or another scenario, or both.

    `of` is the kind of variation: "band", "reading", "constant", or one of `aqmlab.study.paper.UNSTATED`, which runs
    the scenarios again.
    """

    name: str
    of: str
    check: Callable[[Claim], Claim | None]
    scenario: Callable[[Scenario], Scenario] | None = None


def _banded(by: float) -> Callable[[Claim], Claim | None]:
    """Return a change that multiplies the band of a settling time, and the numbers of vague words."""

    def change(claim: Claim) -> Claim | None:
        changed: dict[str, Any] = {key: _number(getattr(claim, key), by) for key in claim.worded}
        if claim.value in BANDS:
            changed["band"] = by * _band(claim)
        return replace(claim, **changed) if changed else None

    return change


def _number(number: float | tuple[float, float], by: float) -> float | tuple[float, float]:
    """Return a number with a factor's distance from 1, a range's width, or the end of a one-sided range times `by`."""
    if not isinstance(number, tuple):
        return 1 + (number - 1) * by
    low, high = number
    if low == 0:
        return low, _end(high, by)
    if high in (1, inf):
        return _end(low, by), high
    middle, half = (low + high) / 2, (high - low) / 2
    return middle - half * by, middle + half * by


def _end(end: float, by: float) -> float:
    """Return an end times `by`; for a share near 1, the distance from 1 is multiplied."""
    return 1 - (1 - end) * by if 0.5 < end < 1 else end * by


def _band(claim: Claim) -> float:
    """Return the band of a settling time, packets; by default the band in the first scenario."""
    if claim.band is not None:
        return claim.band
    return BANDS[claim.value] * scenario_of(claim.scenarios[0]).link(claim.link).target


def _around(value: str, other: str) -> Callable[[Claim], Claim | None]:
    """Return a change that measures the settling time around another level, in the same band."""
    return lambda claim: replace(claim, value=other, band=_band(claim)) if claim.value == value else None


def _measured(claim: Claim) -> Claim | None:
    """Return the check of the settling time that each run reports."""
    return replace(claim, value="settling_time") if claim.value in BANDS and not claim.during else None


def _late(claim: Claim) -> Claim | None:
    """Return the check of a queue over the second half of the run alone."""
    if claim.during or claim.average or claim.value not in ("queue_mean", "queue_std"):
        return None
    return replace(claim, during=((scenario_of(claim.scenarios[0]).duration / 2, inf),))


def _whole(claim: Claim) -> Claim | None:
    """Return the check as it is; None if it reads a part of the run that a longer run does not change."""
    return None if claim.during else claim


def _longer(scenario: Scenario) -> Scenario:
    return _with(scenario, {"duration": f"{1.5 * scenario.duration!r} s"})


def _flows(by: float) -> Callable[[Scenario], Scenario]:
    """Return a change that multiplies the number of flows of every group, with a minimum of one."""

    def scaled(value: Any) -> Any:
        if isinstance(value, list):
            return [scaled(each) for each in value]
        if isinstance(value, dict):
            count = {"count": max(1, round(value["count"] * by))} if "count" in value else {}
            return {key: scaled(each) for key, each in value.items()} | count
        return value

    return lambda scenario: _with(scenario, {"flows": scaled(_values(scenario)["flows"])})


def _marks(is_on: bool) -> Callable[[Scenario], Scenario]:
    """Return a change that turns ECN on or off for every group of TCP flows."""

    def change(scenario: Scenario) -> Scenario:
        groups = _values(scenario)["flows"]
        return _with(scenario, {"flows": [group | ({"ecn": is_on} if _is_tcp(group) else {}) for group in groups]})

    return change


def _is_tcp(group: Mapping[str, Any]) -> bool:
    return group.get("kind", "ftp") in ("ftp", "short", "web")


def _with(scenario: Scenario, changed: Mapping[str, Any]) -> Scenario:
    return Scenario.of({**_values(scenario), **changed}, scenario.name)


def _values(scenario: Scenario) -> dict[str, Any]:
    """Return the values of the scenario's file, with the settings of its place."""
    data = read_toml(scenario.text, scenario.name)
    for path, value in scenario.overrides:
        *parents, key = path.split(".")
        at: Any = data
        for parent in parents:
            at = at[parent] if isinstance(at, dict) else next(each for each in at if each["name"] == parent)
        at[key] = _value(value)
    return data


def _value(text: str) -> Any:
    """Return a setting as a TOML value; a quantity is a text."""
    try:
        return loads(f"value = {text}")["value"]
    except ValueError:
        return text


VARIATIONS = (
    Variation("half the band", "band", _banded(0.5)),
    Variation("twice the band", "band", _banded(2)),
    Variation("the queue's own level for the target", "reading", _around("transient", "stabilisation")),
    Variation("the target for the queue's own level", "reading", _around("stabilisation", "transient")),
    Variation("means over 1 s in 10 % of the buffer", "reading", _measured),
    Variation("the second half of the run", "reading", _late),
    Variation("runs 1.5 times as long", "length", _whole, _longer),
    Variation("a fifth fewer flows", "flows", lambda claim: claim, _flows(0.8)),
    Variation("a fifth more flows", "flows", lambda claim: claim, _flows(1.2)),
    Variation("a third of the flows", "load", lambda claim: claim, _flows(1 / 3)),
    Variation("three times the flows", "load", lambda claim: claim, _flows(3)),
    Variation("packets marked", "marking", lambda claim: claim, _marks(True)),
    Variation("packets dropped", "marking", lambda claim: claim, _marks(False)),
)
"""The variations of each sentence that fails, in addition to the constants of schemes."""


PLAIN = tuple(each for each in VARIATIONS if each.scenario is None)
"""The variations of a check alone."""


def constants(paper: Study) -> Iterator[Variation]:
    """Yield each constant of a scheme that the paper leaves open, as a variation of the sentences about it."""
    for name, specs in paper.open.items():
        for spec in specs:
            yield Variation(f"{spec} for {name}", "constant", _in_place_of(name, spec))


def _in_place_of(name: str, spec: str) -> Callable[[Claim], Claim | None]:
    """Return a change that replaces a scheme by another; None if the sentence is not about it."""

    def changed(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(spec if each == name else each for each in names)

    def change(claim: Claim) -> Claim | None:
        if name not in (*claim.schemes, *claim.below, *claim.above):
            return None
        return replace(claim, schemes=changed(claim.schemes), below=changed(claim.below), above=changed(claim.above))

    return change
