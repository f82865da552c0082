"""Gains by published rules, for the longest round trip and the fewest flows, in the schemes' own units.

A loop that is stable there is stable for shorter round trips and more flows (Hollot et al. 2002, propositions 1 to 3):
the plant's gain goes as R^3 C^3/(4 N^2).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import exp, hypot, pi, sqrt

from aqmlab._core import Law
from aqmlab.analysis.network import Network
from aqmlab.problems import InputError

GAIN_MARGIN = 3.0
"""Of PID and RQ-AQM; the corresponding phase margin is 60 degrees: 90 degrees times 2/3."""


@dataclass(frozen=True)
class Design:
    """Parameters as texts with units, and the rule that they follow."""

    scheme: str
    parameters: Mapping[str, str]
    rule: str

    @property
    def spec(self) -> str:
        """The text for `--aqm`."""
        return f"{self.scheme}:" + ",".join(f"{key}={value}" for key, value in self.parameters.items())


@dataclass(frozen=True)
class _Plant:
    """Hollot's P(s) with one class: gain at 0, the windows' pole (rad/s), round trip (s)."""

    gain: float
    pole: float
    rtt: float
    capacity: float


def design(law: Law, network: Network) -> Design:
    """Return gains for a network; what the rule leaves open (sampling, target, thresholds) stays as in `law`.

    InputError for a scheme without a rule.
    """
    if law.name not in RULES:
        raise InputError("aqm", f'"{law.name}" has no design rule; those that have one: {", ".join(sorted(RULES))}')
    rtt = network.longest + network.target / network.capacity
    load = rtt * network.capacity / network.flows
    plant = _Plant(load**2 * rtt * network.capacity / 4, 2 / (load * rtt), rtt, network.capacity)
    return RULES[law.name](law, network, plant)


def tustin(integral: float, zero: float, frequency: float) -> tuple[float, float]:
    """Return a and b of PI's equation for K (s/zero + 1)/s, K being `integral`, at a sampling frequency (Hz)."""
    proportional, half = integral / zero, integral / (2 * frequency)
    return proportional + half, proportional - half


def _pi(law: Law, _: Network, plant: _Plant) -> Design:
    """Zero on the windows' pole z and crossover there."""
    z = plant.pole
    integral = z * hypot(1, z * plant.rtt) / plant.gain
    a, b = tustin(integral, z, law.params["w"])
    return Design(
        "pi",
        {"a": f"{a:.6g}", "b": f"{b:.6g}", "w": f"{law.params['w']:g} Hz"},
        f"Hollot et al. 2002: K = {integral:.3g}, zero and crossover at 2N/(R^2 C) = {z:.3g} rad/s; Tustin",
    )


def _gains(plant: _Plant) -> tuple[float, float, float]:
    """k_p, k_i, k_d that cancel both poles and leave pi/(2 GAIN_MARGIN R) e^{-sR}/s (Ho, Hang & Cao 1995)."""
    slow = 1 / plant.pole
    integral = pi / (2 * GAIN_MARGIN * plant.rtt * plant.gain)
    return integral * (slow + plant.rtt), integral, integral * slow * plant.rtt


def _pid(law: Law, _: Network, plant: _Plant) -> Design:
    k_p, k_i, k_d = _gains(plant)
    return Design(
        "pid",
        {"k_p": f"{k_p:.4g}", "k_i": f"{k_i:.4g}", "k_d": f"{k_d:.4g}", "w": f"{law.params['w']:g} Hz"},
        "Ho, Hang & Cao 1995: both poles cancelled, gain margin 3, phase margin 60 degrees",
    )


def _rq_aqm(law: Law, network: Network, plant: _Plant) -> Design:
    """The gains of `pid` over the scheme's own capacity and bandwidth-delay product."""
    k_p, k_i, k_d = _gains(plant)
    capacity = network.rate / (8 * law.params["mean_packet"])
    bdp = capacity * network.longest
    return Design(
        "rq-aqm",
        {
            "r_kp": f"{k_d * capacity:.4g}",
            "q_kp": f"{k_p * bdp:.4g}",
            "q_ki": f"{k_i * bdp:.4g}",
            "rtt": f"{1e3 * network.longest:.6g} ms",
        },
        "as PID (Ho, Hang & Cao 1995), scaled: r_kp = k_d C, q_kp = k_p BDP, q_ki = k_i BDP",
    )


def _red(law: Law, network: Network, plant: _Plant) -> Design:
    """`L P(0) = |1 + j w/K|` at `w = min(2N/(R^2 C), 1/R)/10`: the average's pole K brings the crossover there."""
    k = law.params | law.auto(network)
    low, high = k["min_th"], k["max_th"]
    slope = k["max_p"] / (high - low) / law.spacing
    excess = slope * plant.gain
    crossover = min(plant.pole, 1 / plant.rtt) / 10
    if excess <= 1:
        raise InputError(
            "red",
            f"gain at rest L P(0) = {excess:.3g} is not above 1 and needs no average; raise max_p, or bring the "
            "thresholds together",
        )
    pole = crossover / sqrt(excess**2 - 1)
    return Design(
        "red",
        {
            "q_weight": f"{1 - exp(-pole / plant.capacity):.4g}",
            "max_p": f"{k['max_p']:g}",
            "min_th": f"{low:g} packets",
            "max_th": f"{high:g} packets",
        },
        f"Hollot et al. 2001, proposition 1: crossover {crossover:.3g} rad/s, pole of the average {pole:.3g} rad/s",
    )


def _pi2(law: Law, network: Network, _: _Plant) -> Design:
    """RFC 9332, figure 2: for the longest round trip alone."""
    update = min(law.params["target"], network.longest / 3)
    return Design(
        "pi2",
        {
            "alpha": f"{0.1 * update / network.longest**2:.4g} Hz",
            "beta": f"{0.3 / network.longest:.4g} Hz",
            "t_update": f"{1e3 * update:.6g} ms",
        },
        "RFC 9332, A.1: t_update = min(target, RTT/3), alpha = 0.1 t_update/RTT^2, beta = 0.3/RTT",
    )


RULES: dict[str, Callable[[Law, Network, _Plant], Design]] = {
    "pi": _pi,
    "pi2": _pi2,
    "pid": _pid,
    "red": _red,
    "rq-aqm": _rq_aqm,
}
"""The schemes with a design rule, by name."""
