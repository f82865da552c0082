"""The schemes that have a linear model: where they rest, and how they answer to a small change of the queue.

A law that acts every T seconds is taken as it is: D(e^{sT}) and the hold (1 - e^{-sT})/(sT) between two samples; what
sampling folds back from above half the sampling frequency is neglected. z stands for e^{-sT}, one sample ago.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf, log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from aqmlab._core import InputError, Scenario
from aqmlab.analysis.network import Network, number
from aqmlab.analysis.op import Point

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Complex = NDArray[np.complexfloating[Any, Any]]

Params = Mapping[str, Any]
Answer = Callable[["Complex"], "Complex"]

PIE_STEPS = ((1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (0.01, 8.0), (0.1, 2.0))
"""Bound of p and what its steps are divided by below it (RFC 8033, section 4.2)."""

PIE_SPACING = 1.85
"""Mean gap between PIE's signals times p, where it spreads them: 0.85 first, then a geometric gap (RFC 8033, 5.4)."""

RED_SPACING = 1.5
"""Mean gap between RED's signals times p_b with `wait`: gaps are uniform on [1/p_b, 2/p_b] (ns-2)."""


@dataclass(frozen=True)
class Linear:
    """The answer to small changes: p = feed(s) q + inner(s) p, with `integrators` poles at s = 0.

    `inner` is what a scheme sees of its own signals beside the queue: drops that it counts.
    """

    feed: Answer
    inner: Answer
    integrators: int


@dataclass(frozen=True)
class Law:
    """A scheme with its parameters in base units.

    `queue(p, network)` is where it rests while it signals the share p, in packets, infinite where it never does.
    `spacing` is the mean gap between signals times the p that the scheme shows; 1 where signals are independent.
    """

    name: str
    params: Params
    queue: Callable[[float, Network], float]
    at: Callable[[Point], Linear]
    spacing: float = 1.0


def law(scenario: Scenario, aqm: str) -> Law:
    """Return the law of a scheme written `name` or `name:k=v,...`, with what the scenario sets for it.

    InputError for a bad parameter, and for a scheme without linear model.
    """
    resolved = json.loads(scenario.scheme(aqm))
    return made(resolved["name"], {key: number(text) for key, text in resolved["parameters"].items()})


def made(name: str, params: Params) -> Law:
    """Return the law of a scheme with these parameters, in base units; InputError if it has none."""
    if name not in LAWS:
        raise InputError(f'aqm: "{name}" has no linear model; those that have one: {", ".join(sorted(LAWS))}')
    return LAWS[name](name, params)


def _change(s: "Complex", period: float) -> "Complex":
    """A sample less the one before: 1 - z."""
    difference: Complex = 1 - np.exp(-s * period)
    return difference


def _hold(s: "Complex", period: float) -> "Complex":
    return _change(s, period) / (s * period)


def _lag(s: "Complex", weight: float, period: float) -> "Complex":
    """An exponentially weighted average, one sample a period."""
    average: Complex = weight / (1 - (1 - weight) * np.exp(-s * period))
    return average


def _none(s: "Complex") -> "Complex":
    return np.zeros_like(s)


def _target(_: float, network: Network) -> float:
    return network.target


def _needs(condition: bool, name: str, text: str) -> None:
    if not condition:
        raise InputError(f"{name}: {text}, so that nothing holds the queue at a place of its own")


def _link(network: Network, params: Params) -> float:
    """Packets a second as the scheme counts them, by its own packet size."""
    return float(network.rate / (8 * params["mean_packet"]))


def _limit(network: Network, params: Params) -> float:
    """Queue that errors are measured by, packets; "auto" is the buffer."""
    return network.buffer if params["buffer"] == "auto" else float(params["buffer"])


def _pi(name: str, k: Params) -> Law:
    """p_k = p_{k-1} + a e_k - b e_{k-1}: (a - b z)/(1 - z), held."""
    _needs(k["a"] != k["b"], name, f"a = b = {k['a']:g} leaves no integral part")
    period = 1 / k["w"]

    def at(_: Point) -> Linear:
        return Linear(lambda s: (k["a"] - k["b"] * np.exp(-s * period)) / (s * period), _none, 1)

    return Law(name, k, _target, at)


def _pid(name: str, k: Params) -> Law:
    """Law p = k_p e + k_i T/(1 - z) e + k_d (1 - z)/T e, the last one averaged; held."""
    _needs(k["k_i"] > 0 or k["k_p"] > 0, name, "k_i = k_p = 0")
    period = 1 / k["w"]

    def at(_: Point) -> Linear:
        def feed(s: "Complex") -> "Complex":
            slope = _lag(s, k["derivative_weight"], period) * _change(s, period) / period
            answer: Complex = _hold(s, period) * (k["k_p"] + k["k_d"] * slope) + k["k_i"] / s
            return answer

        return Linear(feed, _none, 1 if k["k_i"] else 0)

    def queue(p: float, network: Network) -> float:
        return network.target + (0 if k["k_i"] else p / k["k_p"])

    return Law(name, k, queue, at)


def _average(network: Network, k: Params) -> float:
    """Weight of one sample of an average that takes one in each packet's transmission time."""
    return float(1 - (1 - k["q_weight"]) ** (_link(network, k) * k["interval"]))


def _pd(name: str, k: Params) -> Law:
    """p_k = p_{k-1} + (k_p e + k_d (1 - z) e)/B on the average queue."""
    _needs(k["k_p"] > 0, name, "k_p = 0")

    def at(point: Point) -> Linear:
        net, period = point.network, k["interval"]

        def feed(s: "Complex") -> "Complex":
            step = k["k_p"] + k["k_d"] * _change(s, period)
            answer: Complex = _lag(s, _average(net, k), period) * step / (net.buffer * s * period)
            return answer

        return Linear(feed, _none, 1)

    return Law(name, k, _target, at)


def _spi_red(name: str, k: Params) -> Law:
    """The law of `pd` with k_p on the change and k_i T on the error."""
    _needs(k["k_i"] > 0, name, "k_i = 0")
    return replace(_pd(name, {**k, "k_p": k["k_i"] * k["interval"], "k_d": k["k_p"]}), params=k)


def _thresholds(network: Network, k: Params) -> tuple[float, float]:
    low = max(network.target / 20, 5) if k["min_th"] == "auto" else k["min_th"]
    return low, max(2 * network.target - low, 3 * low) if k["max_th"] == "auto" else k["max_th"]


def _spacing(k: Params) -> float:
    """Mean gap between signals times p_b, for small p_b: uniform on [1/p_b, 2/p_b], or on [1, 1/p_b]."""
    return RED_SPACING if k["wait"] == "true" else 0.5


def _red(name: str, k: Params) -> Law:
    """p_b = max_p (avg - min_th)/(max_th - min_th), gentle above max_th; avg takes one sample an arrival."""

    def queue(p: float, network: Network) -> float:
        low, high = _thresholds(network, k)
        wanted = p * _spacing(k)
        if wanted <= k["max_p"]:
            return float(low + wanted / k["max_p"] * (high - low))
        return float(high * (1 + (wanted - k["max_p"]) / (1 - k["max_p"]))) if k["gentle"] == "true" else inf

    def at(point: Point) -> Linear:
        low, high = _thresholds(point.network, k)
        slope = k["max_p"] / (high - low) if point.queue < high else (1 - k["max_p"]) / high
        return Linear(lambda s: slope / _spacing(k) * _lag(s, k["q_weight"], 1 / point.offered), _none, 0)

    _needs(k["max_p"] > 0, name, "max_p = 0")
    return Law(name, k, queue, at, _spacing(k))


def _pd_red(name: str, k: Params) -> Law:
    """RED whose max_p is summed up from the error of the average queue and its change, as shares of `buffer`."""
    _needs(k["k_p"] > 0, name, "k_p = 0")

    def at(point: Point) -> Linear:
        low, high = _thresholds(point.network, k)
        share, period = (point.network.target - low) / (high - low), k["interval"]
        max_p = point.p * _spacing(k) / share
        if not 0 < max_p <= 1:
            raise InputError(f"operating point: none, pd-red needs max_p = {max_p:.3g} at its target; 0 to 1")

        def feed(s: "Complex") -> "Complex":
            adapted: Complex = (k["k_p"] + k["k_d"] * _change(s, period)) / (_limit(point.network, k) * s * period)
            average = _lag(s, k["q_weight"], 1 / point.offered)
            answer: Complex = (max_p / (high - low) + share * adapted) * average / _spacing(k)
            return answer

        return Linear(feed, _none, 1)

    return Law(name, k, _target, at, _spacing(k))


def _counted(point: Point, period: float) -> tuple[Answer, Answer]:
    """Packets offered in an interval against the queue, and against p: a drop is offered and does not join.

    offered = (q' + C)/(1 - d p): its changes are s q/(1 - d p) + d C/(1 - d p)^2 p.
    """
    kept = 1 - point.lost
    own = 0 if point.network.ecn else point.network.capacity / kept**2
    return lambda s: _change(s, period) / kept, lambda s: own * period * _hold(s, period)


def _rem(name: str, k: Params) -> Law:
    """price_k = price_{k-1} + gamma (x + alpha e - c), p = 1 - phi^-price: dp/dprice = ln(phi) (1 - p)."""
    _needs(k["alpha"] * k["gamma"] > 0, name, "alpha or gamma = 0")
    period = k["interval"]

    def queue(p: float, network: Network) -> float:
        offered = network.capacity / (1 if network.ecn else 1 - p) if p < 1 else inf
        return float(network.target + (_link(network, k) - offered) * period / k["alpha"])

    def at(point: Point) -> Linear:
        by_queue, by_p = _counted(point, period)
        slope = k["gamma"] * log(k["phi"]) * (1 - point.p)

        def smooth(s: "Complex") -> "Complex":
            return _lag(s, k["input_weight"], period)

        return Linear(
            lambda s: slope * (smooth(s) * by_queue(s) + k["alpha"]) / (s * period),
            lambda s: slope * smooth(s) * by_p(s) / (s * period),
            1,
        )

    return Law(name, k, queue, at)


def _rq_aqm(name: str, k: Params) -> Law:
    """Law p = r_kp (x/c - 1) + q_kp e/BDP + q_ki T/(1 - z) e/BDP, held."""
    _needs(k["q_ki"] > 0, name, "q_ki = 0")
    period = k["interval"]

    def at(point: Point) -> Linear:
        by_queue, by_p = _counted(point, period)
        capacity = _link(point.network, k)
        rate, bdp = k["r_kp"] / (capacity * period), capacity * k["rtt"]
        return Linear(
            lambda s: (rate * by_queue(s) + k["q_kp"] / bdp) * _hold(s, period) + k["q_ki"] / (bdp * s),
            lambda s: rate * by_p(s) * _hold(s, period),
            1,
        )

    return Law(name, k, _target, at)


def _npd_red(name: str, k: Params) -> Law:
    """Law p = base + (k_p e + k_d (1 - z) e)/B; the base is fixed, the last p, or an average of the share lost."""
    _needs(k["k_p"] != 0, name, "k_p = 0")
    period, slow, weight = k["interval"], k["loss_interval"], k["loss_weight"]

    def queue(p: float, network: Network) -> float:
        return network.target + ((p - k["p0"]) * _limit(network, k) / k["k_p"] if k["base"] == "fixed" else 0)

    def at(point: Point) -> Linear:
        def step(s: "Complex") -> "Complex":
            answer: Complex = (k["k_p"] + k["k_d"] * _change(s, period)) / _limit(point.network, k)
            return answer

        if k["base"] == "recursive":
            return Linear(lambda s: step(s) / (s * period), _none, 1)
        if k["base"] == "fixed":
            return Linear(lambda s: step(s) * _hold(s, period), _none, 0)
        # The mean of p over one loss interval, held over the next.
        return Linear(lambda s: step(s) * _hold(s, period), lambda s: _lag(s, weight, slow) * _hold(s, slow) ** 2, 0)

    return Law(name, k, queue, at)


def _delay_target(k: Params) -> Callable[[float, Network], float]:
    return lambda _, network: float(k["target"] * network.capacity)


def _pi2(name: str, k: Params) -> Law:
    """A PI of the sojourn time makes p', and p = p'^2: 2 p' (alpha + beta (1 - z))/(1 - z), held.

    The head of the queue tells how long it waited, one sojourn time late, and is signalled there, one sojourn time
    early: both cancel.
    """
    _needs(k["alpha"] > 0, name, "alpha = 0")
    period = k["t_update"]

    def at(point: Point) -> Linear:
        slope = 2 * sqrt(point.p) / point.network.capacity
        return Linear(lambda s: slope * (k["alpha"] + k["beta"] * _change(s, period)) / (s * period), _none, 1)

    return Law(name, k, _delay_target(k), at)


def _pie(name: str, k: Params) -> Law:
    """A PI of the sojourn time, which the head tells one sojourn time late; steps are divided as p has it."""
    _needs(k["alpha"] > 0, name, "alpha = 0")
    period = k["t_update"]

    spacing = PIE_SPACING if k["derandomize"] == "true" else 1.0

    def at(point: Point) -> Linear:
        divisor = next((divisor for bound, divisor in PIE_STEPS if point.p * spacing < bound), 1.0)
        slope = 1 / (divisor * spacing * point.network.capacity)
        late = point.queue / point.network.capacity

        def feed(s: "Complex") -> "Complex":
            step: Complex = k["alpha"] + k["beta"] * _change(s, period)
            answer: Complex = slope * step * np.exp(-s * late) / (s * period)
            return answer

        return Linear(feed, _none, 1)

    return Law(name, k, _delay_target(k), at, spacing)


LAWS: dict[str, Callable[[str, Params], Law]] = {
    "npd-red": _npd_red,
    "pd": _pd,
    "pd-red": _pd_red,
    "pi": _pi,
    "pi2": _pi2,
    "pid": _pid,
    "pie": _pie,
    "red": _red,
    "rem": _rem,
    "rq-aqm": _rq_aqm,
    "spi-red": _spi_red,
}
"""The schemes with a linear model, by name."""
