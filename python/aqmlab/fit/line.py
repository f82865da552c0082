"""The description of a link from a twin: what `aqmlab advise` needs of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab._core import Scenario, read_toml
from aqmlab.fit.measurement import Direction
from aqmlab.problems import InputError
from aqmlab.quantities import quantity, written
from aqmlab.scenario import load

if TYPE_CHECKING:
    from aqmlab.fit.result import Progress

COPIED = ("buffer", "loss", "jitter")
"""Keys of a link that its conditions take from a twin."""


@dataclass(frozen=True)
class MeasuredLine:
    """Rates in bit/s and round-trip time in s of a twin, and settings of its links for other scenarios."""

    down: float
    up: float
    rtt: float
    settings: dict[str, str]


def measured_line(path: str, progress: "Progress | None" = None) -> MeasuredLine:
    """Return the link of a twin's scenario file, or of a measurement, which is fitted first.

    InputError for a scenario without links `down` and `up`; errors of a measurement are as of `fit`.
    """
    if path.endswith(".toml"):
        return of_scenario(load(path))
    from aqmlab.fit.result import fit

    return of_scenario(fit([Path(path)], progress=progress).scenario)


def of_scenario(scenario: Scenario) -> MeasuredLine:
    """Return the link of a twin's scenario."""
    ways = tuple(each.value for each in Direction)
    if not set(ways) <= set(scenario.links):
        raise InputError("from", f"{scenario.name}: has no links down and up; expected a file of aqmlab fit --out")
    links = {link["name"]: link for link in read_toml(scenario.text, scenario.name)["links"]}
    rtt = next((group.rtt for name in scenario.flows if (group := scenario.group(name)).rtt), None)
    if rtt is None:
        raise InputError("from", f"{scenario.name}: its flows have no fixed rtt; expected a file of aqmlab fit --out")
    settings = {f"links.{way}.{key}": _toml(links[way][key]) for way in ways for key in COPIED if links[way].get(key)}
    settings |= {f"links.{way}.rate": _toml(links[way]["rate"]) for way in ways if scenario.link(way).rate_changes}
    down, up = (_rate(scenario, links[way], way) for way in (Direction.down, Direction.up))
    return MeasuredLine(down, up, rtt, settings)


def _rate(scenario: Scenario, link: dict[str, Any], way: str) -> float:
    """Return the rate at which a link passes traffic in the long run, bit/s."""
    if policer := link.get("policer"):
        return quantity(policer["rate"])
    if classes := link.get("classes"):
        return quantity(classes[0]["rate"])
    return scenario.link(way).typical_rates[1]


def _toml(value: Any) -> str:
    """Return a value as `--set` takes it."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_toml(each)}' for key, each in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else written(value, "")
