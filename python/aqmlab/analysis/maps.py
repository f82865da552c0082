"""Stability over two parameters: which loops of a grid are stable, and their factor on the gain."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aqmlab._core import Law, Scenario
from aqmlab.analysis.loop import close
from aqmlab.analysis.network import Network
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.quantities import number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Real = NDArray[np.float64]

POINTS = 100
"""Points along each axis."""

SPAN = 8.0
"""An axis without ends goes from the present value divided by this to the present value times this."""


@dataclass(frozen=True)
class Axis:
    """Values of a parameter in base units, evenly spaced in the logarithm; `present` is its present value.

    Besides the scheme's parameters "rate", "rtt", "flows", and "gain", a factor on the scheme's answer, may vary.
    """

    name: str
    values: "Real"
    present: float


@dataclass(frozen=True)
class Map:
    """Gain margins, rows by `y` and columns by `x`, below 1 where unstable; not a number without operating point.

    `holds` says where the model holds.
    """

    x: Axis
    y: Axis
    margin: "Real"
    holds: "NDArray[np.bool_]"

    @property
    def known(self) -> int:
        """Points that have an operating point."""
        return int(np.sum(~np.isnan(self.margin)))

    @property
    def stable(self) -> float:
        """Share of the points with an operating point that are stable."""
        return float(np.sum(self.margin > 1) / max(self.known, 1))


def axis(text: str, network: Network, rule: Law, points: int = POINTS) -> Axis:
    """Return the axis written `name` or `name=from..to`; InputError for a name that cannot vary and for bad ends."""
    name, _, ends = text.partition("=")
    present = _present(name, network, rule)
    if not ends:
        low, high = present / SPAN, present * SPAN
    else:
        parts = [_number(name, part.strip()) for part in ends.split("..")]
        if len(parts) != 2 or not 0 < parts[0] < parts[1]:
            raise InputError("map", f"{text}: expected {name}=FROM..TO with 0 < FROM < TO, such as rtt=20 ms..400 ms")
        low, high = parts
    return Axis(name, np.geomspace(low, high, points), present)


def _present(name: str, network: Network, rule: Law) -> float:
    known = {"rate": network.rate, "rtt": network.longest, "flows": network.flows, "gain": 1.0}
    known |= {key: value for key, value in rule.params.items() if not isinstance(value, str | bool) and value > 0}
    if name not in known:
        raise unknown("map", "nothing that varies", name, known)
    return known[name]


def _number(name: str, text: str) -> float:
    value = number(text)
    if isinstance(value, str):
        raise InputError("map", f"{name}: {text!r} is not a quantity; write numbers with their unit, such as 20 ms")
    return value


def stability_map(network: Network, rule: Law, x: Axis, y: Axis) -> Map:
    """Return the gain margin at each point of a grid, by the exact linearisation with classic windows."""
    points = [[_margin(network, rule, {x.name: a, y.name: b}) for a in x.values] for b in y.values]
    margin, holds = np.moveaxis(np.array(points), -1, 0)
    return Map(x, y, margin, holds > 0)


def _margin(network: Network, rule: Law, values: dict[str, float]) -> tuple[float, bool]:
    """Return the gain margin at a point, and whether the model holds there."""
    scaled = network.scaled(
        rate=values.get("rate", network.rate) / network.rate,
        rtt=values.get("rtt", network.longest) / network.longest,
        flows=values.get("flows", network.flows) / network.flows,
    )
    changed = {key: value for key, value in values.items() if key in rule.params}
    try:
        varied = rule.vary(changed) if changed else rule
        loop = close(scaled, varied, gain=values.get("gain", 1.0))
    except InputError:
        return np.nan, False
    verdict = loop.judge()
    if verdict.gain is None:
        return np.inf if verdict.stable else 0.0, not loop.point.doubts()
    return verdict.gain, not loop.point.doubts()


def axes(text: Sequence[str], scenario: Scenario, aqm: str, network: Network) -> tuple[Axis, Axis]:
    """Return both axes of `--map X,Y`; the ends of a parameter's axis are put to the scheme's own limits."""
    if len(text) != 2:
        raise InputError("map", f"{','.join(text)}: expected two names, such as rtt,flows")
    rule = scenario.law(aqm)
    both = [axis(one, network, rule) for one in text]
    if both[0].name == both[1].name:
        raise InputError("map", f"{both[0].name}: named twice; expected two different names")
    for one in both:
        if one.name in rule.params:
            for end in (one.values[0], one.values[-1]):
                rule.vary({one.name: float(end)})
    return both[0], both[1]
