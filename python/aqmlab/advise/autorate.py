"""CAKE and cake-autorate for a variable-rate access link: the commands that configure them."""

from collections.abc import Callable, Sequence

from aqmlab._core import Scenario

CONFIG = "/root/cake-autorate/config.primary.sh"
"""The settings file of cake-autorate on OpenWrt."""

LEAST = 100
"""The minimum rate in its settings, kbit/s."""

DIRECTIONS = {"down": "dl", "up": "ul"}
"""The directions by link, as its settings call them."""

TC_OF = Callable[[str, float], Sequence[str]]
"""Writes the tc commands that shape a link with CAKE to a rate, bit/s."""


def lines(scenario: Scenario, incoming: str, outgoing: str, shaper: TC_OF | None = None) -> tuple[str, ...]:
    """Return the settings of cake-autorate for the interfaces of an access link, after the commands of the shapers.

    It moves CAKE's bandwidth between a minimum and a maximum rate, and returns to a base rate when the load is low:
    the rates that the link does not exceed in 5, 95 and 50 % of the time. Other settings keep their defaults.
    """
    commands = [line for link in DIRECTIONS for line in (shaper(link, usual(scenario, link)) if shaper else ())]
    settings = [f"dl_if={incoming}", f"ul_if={outgoing}"]
    for link, direction in DIRECTIONS.items():
        least, base, greatest = (max(LEAST, round(rate / 1000)) for rate in scenario.link(link).typical_rates)
        settings += [
            f"min_{direction}_shaper_rate_kbps={least}",
            f"base_{direction}_shaper_rate_kbps={base}",
            f"max_{direction}_shaper_rate_kbps={greatest}",
        ]
    return (*commands, f"# {CONFIG}:", *settings)


def usual(scenario: Scenario, link: str) -> float:
    """Return the rate of a link that is not exceeded half of the time, bit/s."""
    return scenario.link(link).typical_rates[1]
