"""Presets of links: kinds of links that were measured, by name, with the keys of each direction."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from aqmlab import _core
from aqmlab._core import read_toml
from aqmlab.quantities import quantity


@dataclass(frozen=True)
class LinkPreset:
    """A preset of [[links]], such as "lte-down"; its keys in TOML say where they come from and what is guessed."""

    name: str
    text: str

    @property
    def title(self) -> str:
        """The first line of its description."""
        return self.text.partition("\n")[0].removeprefix("#").partition(":")[0].strip().rstrip(".")

    @property
    def keys(self) -> dict[str, Any]:
        """The keys of the link."""
        return read_toml(self.text, self.name)


@dataclass(frozen=True)
class PresetKind:
    """A kind of link: its presets by direction, "down" or "up", or one of them."""

    name: str
    links: dict[str, LinkPreset]

    def rate(self, direction: str) -> float | None:
        """Return the rate of a direction, bit/s, None if there is no preset of it."""
        return quantity(self.links[direction].keys["rate"]) if direction in self.links else None

    @property
    def varies(self) -> bool:
        """True if the rate of a direction varies."""
        return any("fading" in each.keys for each in self.links.values())


@cache
def presets() -> tuple[LinkPreset, ...]:
    """Return every preset."""
    return tuple(LinkPreset(name, text) for name, text in _core.presets())


def kind(name: str) -> PresetKind:
    """Return the presets of a kind such as "lte", or the one of that name ("lte-down"); no links if there is none."""
    known = {each.name: each for each in presets()}
    if name in known:
        stem, _, direction = name.rpartition("-")
        return PresetKind(stem, {direction: known[name]})
    return PresetKind(name, {d: known[f"{name}-{d}"] for d in ("down", "up") if f"{name}-{d}" in known})
