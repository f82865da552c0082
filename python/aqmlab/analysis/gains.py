"""NPD-RED's gains around a link: their ranges (see `ranges`), and the link simulated with gains inside and outside."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from numpy.polynomial import Polynomial

from aqmlab._core import Scenario
from aqmlab.analysis.network import Network, network
from aqmlab.analysis.op import OperatingPoint
from aqmlab.analysis.ranges import Interval, LoopConstants, exact, lies_in, reach, routh
from aqmlab.analysis.stability import coefficients, kd_lower
from aqmlab.notebook import Result, Sheet
from aqmlab.problems import InputError
from aqmlab.runs.simulate import run

if TYPE_CHECKING:
    from aqmlab.runs.metrics import LinkResult

SCHEME = "npd-red:base=integral"
"""The equation to which the ranges apply."""

UNITS = ("packets", "bits")
"""The units of the capacity and the buffer."""


@dataclass(frozen=True)
class GainRow:
    """The stable K_p for a K_d, by the Routh array and with the exact delays."""

    k_d: float
    routh: tuple[Interval, ...]
    exact: tuple[Interval, ...]


@dataclass(frozen=True)
class Gains:
    """A pair of gains, what both conditions say of it, and what was measured at the link; None if it was not."""

    k_p: float
    k_d: float
    routh: bool
    exact: bool
    simulated: "LinkResult | None" = None

    @property
    def spec(self) -> str:
        """The text for `--aqm`."""
        return f"{SCHEME},k_p={self.k_p:.6g},k_d={self.k_d:.6g}"

    def document(self) -> dict[str, Any]:
        """Return it for JSON."""
        names = ("queue_mean", "queue_std", "utilisation", "drop_ratio", "mark_ratio")
        run = self.simulated
        return {
            **{name: getattr(self, name) for name in ("k_p", "k_d", "routh", "exact", "spec")},
            "simulated": None if run is None else {name: getattr(run, name) for name in names},
        }


@dataclass(frozen=True, repr=False)
class GainRanges(Result):
    """The ranges of NPD-RED's gains around a link.

    `k_d` contains the ends of K_d: "printed" is eq. (23), "routh" and "exact" are those between which some K_p is
    stable. `k_p` contains the stable K_p for some K_d, `gains` pairs inside and outside. `network` is what was
    simulated: its round trip is R less the wait in a queue at its target.
    """

    loop: LoopConstants
    unit: str
    network: Network
    k_d: dict[str, Interval]
    k_p: tuple[GainRow, ...]
    gains: tuple[Gains, ...]
    doubts: tuple[str, ...]

    @property
    def coefficients(self) -> dict[str, tuple[float, float, float]]:
        """a4 to a0, eqs. (13) to (17): the part that does not depend on the gains, and the factors of K_p and K_d."""
        none, one = (coefficients(Polynomial([0, 1]), k_d, **self.loop._asdict()) for k_d in (0.0, 1.0))
        return {
            f"a{i}": (float(none[i](0)), float(none[i](1) - none[i](0)), float(one[i](0) - none[i](0)))
            for i in range(4, -1, -1)
        }

    @property
    def setting(self) -> str:
        """The plant that the ranges are for."""
        n, r, c, b = self.loop
        return f"{n:g} flows, R = {1e3 * r:.4g} ms, C = {c:.6g} {self.unit}/s, B = {b:.6g} {self.unit}"

    @property
    def headline(self) -> str:
        """The scheme and what its gains are for."""
        return f"{SCHEME}: {self.setting}"

    def sheets(self) -> Iterator[Sheet]:
        """Return the coefficients, the ranges and the pairs."""
        rows = [[name, *(f"{each:.6g}" for each in terms)] for name, terms in self.coefficients.items()]
        yield Sheet("Eqs. (13) to (17)", ["coefficient", "constant", "times K_p", "times K_d"], rows)
        ends = {name: f"{low:.4g} to {high:.4g}" for name, (low, high) in self.k_d.items()}
        rows = [
            ["K_d, eq. (23)", ends["printed"], "-"],
            ["K_d with a stable K_p", ends["routh"], ends["exact"]],
            *([f"K_p at K_d = {row.k_d:.4g}", _text(row.routh), _text(row.exact)] for row in self.k_p),
        ]
        yield Sheet("Stable gains", ["gain", "Routh", "exact delays"], rows)
        heads = ["K_p", "K_d", "Routh", "exact delays", "queue (packets)", "deviation", "signalled (%)", "busy (%)"]
        yield Sheet("Simulated", heads, [_pair(each) for each in self.gains], names=2)

    def document(self) -> dict[str, Any]:
        """Return everything for JSON."""
        n, r, c, b = self.loop
        return {
            "schema": 1,
            "scheme": SCHEME,
            "unit": self.unit,
            "flows": n,
            "rtt": r,
            "capacity": c,
            "buffer": b,
            "network": asdict(self.network) | {"capacity": self.network.capacity},
            "holds": not self.doubts,
            "doubts": self.doubts,
            "coefficients": {
                name: dict(zip(("constant", "k_p", "k_d"), terms, strict=True))
                for name, terms in self.coefficients.items()
            },
            "k_d": self.k_d,
            "k_p": [asdict(row) for row in self.k_p],
            "gains": [each.document() for each in self.gains],
        }

    def json(self) -> str:
        """Return what `aqmlab analyse npd-red --ranges --json` prints."""
        return json.dumps(self.document(), indent=1)


def _text(ranges: tuple[Interval, ...]) -> str:
    return ", ".join(f"{low:.4g} to {high:.4g}" for low, high in ranges) or "none"


def _pair(gains: Gains) -> list[str]:
    run = gains.simulated
    measured = (
        ["-"] * 4
        if run is None
        else [
            f"{run.queue_mean:.1f}",
            f"{run.queue_std:.1f}",
            f"{100 * (run.drop_ratio + run.mark_ratio):.2f}",
            f"{100 * run.utilisation:.1f}",
        ]
    )
    return [
        f"{gains.k_p:.4g}",
        f"{gains.k_d:.4g}",
        *("inside" if each else "outside" for each in (gains.routh, gains.exact)),
        *measured,
    ]


def find(
    loop: LoopConstants, given: tuple[float, float] | None
) -> tuple[dict[str, Interval], list[GainRow], list[Gains]]:
    """Return the ranges of K_d, the ranges of K_p for some K_d, and pairs of gains.

    The pairs are inside both ranges, inside the exact one only, outside both, and the given one.
    """
    k_d = {
        "printed": (kd_lower(**loop._asdict()), 0.0),
        "routh": (reach(routh, loop, -1), 0.0),
        "exact": (reach(exact, loop, -1), reach(exact, loop, 1)),
    }
    least, (lowest, highest) = k_d["routh"][0], k_d["exact"]
    both, only = max(least, lowest) / 2, highest / 2
    chosen = {lowest / 2, both, 0.0, only, *(() if given is None else (given[1],))}
    rows = {each: GainRow(each, routh(loop, each), exact(loop, each)) for each in sorted(chosen)}
    first, second, wider = rows[both].routh[0], rows[both].exact[0], rows[only].exact[0]
    pairs = [
        ((max(first[0], second[0]) + min(first[1], second[1])) / 2, both),
        (sum(wider) / 2, only),
        (2 * max(first[1], second[1]), both),
        *(() if given is None else (given,)),
    ]
    gains = [Gains(k_p, at, lies_in(k_p, rows[at].routh), lies_in(k_p, rows[at].exact)) for k_p, at in pairs]
    return k_d, list(rows.values()), gains


def around(link: Scenario, given: tuple[float, float] | None, unit: str, *, simulate: bool) -> GainRanges:
    """Return the ranges for a link whose round trips are R, waiting included, and measure it with gains inside and out.

    InputError if the wait alone is longer.
    """
    found = network(link)
    group = link.group(link.flows[0])
    assert group.rtt is not None
    wait = found.target / found.capacity + found.longest - group.rtt
    if wait >= group.rtt:
        raise InputError(
            "rtt",
            f"{1e3 * group.rtt:.4g} ms must include the queueing delay at the target, {1e3 * wait:.4g} ms; "
            "give a longer rtt or a shorter target",
        )
    shorter = {
        "links.bottleneck.buffer": f"{found.buffer} packets",
        "links.bottleneck.target": f"{found.target} packets",
        f"flows.{group.name}.rtt": f"{group.rtt - wait} s",
    }
    simulated = Scenario.parse(link.text, link.name, [*link.overrides, *shorter.items()])
    found = network(simulated)
    scale = 8 * found.packet if unit == "bits" else 1.0
    loop = LoopConstants(found.flows, group.rtt, scale * found.capacity, scale * found.buffer)
    k_d, rows, pairs = find(loop, given)
    gains = [_measured(each, simulated) for each in pairs] if simulate else pairs
    window = group.rtt * found.capacity / found.flows
    rest = OperatingPoint(found, 2 / window**2, found.target, window, (group.rtt,))
    return GainRanges(loop, unit, found, k_d, tuple(rows), tuple(gains), tuple(rest.doubts()))


def _measured(gains: Gains, scenario: Scenario) -> Gains:
    """Return gains with the behaviour of the link; gains that the scheme does not accept are not simulated."""
    try:
        scenario.parameters(gains.spec)
    except InputError:
        return gains
    [link] = run(scenario, gains.spec).links.values()
    return replace(gains, simulated=link)
