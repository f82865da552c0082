"""The candidate schemes for a link, with parameters that suit it."""

from collections.abc import Sequence

from aqmlab._core import Scenario
from aqmlab.catalogue import DEPLOYED
from aqmlab.quantities import written

FULL_PACKET = 1514
"""Bytes of a full packet with its Ethernet header."""

TURNS = 1.5
"""A target is at least so many full packets' time, as in CAKE: a packet in transmission is no queue."""

SHORT = 0.010
"""Round trips below this, s, need other parameters: the defaults are for 10 ms to 1 s."""


PATIENT = {"target": 0.050, "interval": 1.0}
"""CoDel's constants for a round trip of 1 s: the target a twentieth of the interval, as CAKE has it."""


def candidates(scenarios: Sequence[Scenario]) -> list[str]:
    """Return the deployed schemes, set for the slowest link and the longest round trip of some scenarios.

    A slow link raises the targets of CoDel and PIE to one and a half packets' time (CAKE's rule; OpenWrt uses nearly
    the same). If round trips are below 10 ms, CoDel's interval is the longest of them (RFC 8289, 4.3) and its target a
    tenth of that (4.4: 5 to 10 %); PIE's and DualPI2's target and time between updates are the longest round trip, and
    so is CAKE's rtt.

    If a rate varies, FQ-CoDel and CAKE are also candidates with the constants for a round trip of 1 s (CAKE's keyword
    `satellite`): their queue is long enough to bridge the moments after the rate has grown.
    """
    links = [scenario.link(name) for scenario in scenarios for name in scenario.links]
    least = TURNS * 8 * FULL_PACKET / min(rate for link in links for rate in link.rates)
    longest = max(_longest(scenario) for scenario in scenarios)
    codel, pie, cake = {}, {}, {}
    if longest < SHORT:
        codel = {"target": max(longest / 10, least), "interval": longest}
        pie = {"target": max(longest, least), "t_update": longest}
        cake = {"rtt": longest}
    else:
        if least > 0.005:
            codel = {"target": least, "interval": max(0.100, 2 * least)}
        if least > 0.015:
            pie = {"target": least}
    patient = [_spec("fq-codel", PATIENT), _spec("cake", {"rtt": PATIENT["interval"]})]
    times = {"codel": codel, "fq-codel": codel, "pie": pie, "fq-pie": pie, "dualpi2": pie, "cake": cake}
    usual = [_spec(scheme, times.get(scheme, {})) for scheme in DEPLOYED]
    return [*usual, *(patient if any(link.rate_changes for link in links) else [])]


def _longest(scenario: Scenario) -> float:
    """Return the longest round trip, s; 100 ms if it is drawn from a distribution without bounds."""
    groups = [scenario.group(name) for name in scenario.flows]
    ends = [group.rtt_range[1] if group.rtt_range else group.rtt for group in groups]
    return max(0.100 if end is None else end for end in ends)


def _spec(scheme: str, times: dict[str, float]) -> str:
    """Write a scheme with parameters that are times, to three digits."""
    pairs = [f"{name}={written(float(f'{value:.3g}'), 'time').replace(' ', '')}" for name, value in times.items()]
    return scheme + (":" + ",".join(pairs) if pairs else "")
