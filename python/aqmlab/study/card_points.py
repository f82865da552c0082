"""The points of RFC 9743 (BCP 133) as data, and the scenarios of their cells.

`rfc9743.toml` lists the points, `card.py` measures them, and docs/card.md describes the measurement.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, cached_property
from itertools import product
from typing import Any

from aqmlab import _core
from aqmlab._core import Scenario
from aqmlab.entries import filled, read_file
from aqmlab.names import unknown
from aqmlab.quantities import read
from aqmlab.study.suite import LinkSetting

TRANSFER = 50
"""Packets of a short transfer, on average."""

SCALED = re.compile(r"(\d+(?:\.\d+)?) (rate|rtt|bdp|load)\b")
"""A quantity that scales with the path of a cell."""

AXES = ("rate", "rtt", "buffer")
"""Quantities of a path that vary over cells."""


@dataclass(frozen=True)
class CardCells:
    """The cells of a row, which differ only in their path: a scenario, its settings, and the measures.

    `by` contains the settings of each of several rows. `victim` is the victim's congestion controller. If the victim
    has none, `alone` contains the settings of the scenario without the controller of the card. `harm` lists measures of
    the victim whose change counts.
    """

    name: str
    scenario: str
    rate: Sequence[str]
    rtt: Sequence[str]
    buffer: Sequence[str]
    set: Mapping[str, str] = field(default_factory=dict)
    by: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: {"": {}})
    measures: Mapping[str, str] = field(default_factory=dict)
    victim: str = ""
    alone: Mapping[str, str] = field(default_factory=dict)
    harm: Mapping[str, str] = field(default_factory=dict)
    id: str = ""

    def paths(self, *, every: bool) -> Iterator["CardPath"]:
        """Yield all paths of the range, or only the middle one."""
        ranges = (self.rate, self.rtt, self.buffer)
        return (CardPath(*values) for values in product(*(each if every else [middle(each)] for each in ranges)))


@dataclass(frozen=True)
class CardPoint:
    """A point of the RFC: `asks` paraphrases it, `word` is MUST, SHOULD or empty; `because` explains missing cells."""

    section: str
    title: str
    asks: str
    word: str = ""
    note: str = ""
    because: str = ""
    cells: Sequence[CardCells] = ()

    @property
    def name(self) -> str:
        """Section and title."""
        return f"{self.section} {self.title}"


@dataclass(frozen=True)
class CardPicture:
    """A picture: a measure of the cells with the identifier `of` over the buffer, a panel per rate and round trip.

    If these cells are several rows, the picture shows the rows as bars, with a panel per controller.
    """

    name: str
    caption: str
    label: str
    of: str
    measure: str
    logarithmic: bool = False


@dataclass(frozen=True)
class Rfc:
    """The document that the card follows, with its points and pictures."""

    title: str
    source: str
    notes: Sequence[str]
    scenarios: Mapping[str, Mapping[str, Any]]
    usual: Mapping[str, Any]
    link: Mapping[str, Any]
    flow: Mapping[str, Any]
    tcp: Mapping[str, Any]
    points: Sequence[CardPoint]
    pictures: Sequence[CardPicture]

    def only(self, patterns: str | None) -> Sequence[CardPoint]:
        """Return the points of a list of sections, with globs ("5.1.*,7.9"); all of them if None."""
        if patterns is None:
            return self.points
        asked = [pattern.strip() for pattern in patterns.split(",")]
        for pattern in asked:
            if not any(fnmatchcase(point.section, pattern) for point in self.points):
                raise unknown("only", "no point of RFC 9743", pattern, [point.section for point in self.points])
        return [point for point in self.points if any(fnmatchcase(point.section, each) for each in asked)]


@cache
def load_rfc() -> Rfc:
    """Return RFC 9743 as data of the card."""
    data = read_file("aqmlab.study", "rfc9743.toml")
    points = [
        filled(CardPoint, {**entry, "cells": [_cells(each, data["range"]) for each in entry.get("cells", [])]})
        for entry in data["points"]
    ]
    return filled(Rfc, {**data, "points": points, "pictures": [CardPicture(**each) for each in data["pictures"]]})


def _cells(entry: Mapping[str, Any], ranges: Mapping[str, Sequence[str]]) -> CardCells:
    """Return cells; an axis without values takes the middle of its range, or the whole range if `grid` names it."""
    usual = {axis: ranges[axis] if axis in entry.get("grid", ()) else [middle(ranges[axis])] for axis in AXES}
    return filled(CardCells, {**usual, **entry})


def middle(values: Sequence[str]) -> str:
    """Return the middle of some values, the lower of two."""
    return values[(len(values) - 1) // 2]


@dataclass(frozen=True)
class CardPath:
    """The path of a cell, with quantities as in a scenario; `buffer` is the buffer of its link."""

    rate: str
    rtt: str
    buffer: str

    @cached_property
    def link(self) -> LinkSetting:
        """The same in numbers."""
        return LinkSetting(read("rate", self.rate, "bit/s"), read("rtt", self.rtt, "s"))

    def scaled(self, value: Any) -> Any:
        """Return a value of a scenario with its quantities scaled to the path."""
        if isinstance(value, str):
            return SCALED.sub(lambda found: self._scaled(*found.groups()), value)
        if isinstance(value, Mapping):
            return {key: self.scaled(each) for key, each in value.items()}
        return [self.scaled(each) for each in value] if isinstance(value, list) else value

    def _scaled(self, number: str, unit: str) -> str:
        if unit == "load":
            return f"{float(number) * self.link.rate / 8 / 1500 / TRANSFER:.9g} Hz"
        return self.link.value(f"{number} {unit}")

    def __str__(self) -> str:
        return f"{self.rate}, {self.rtt}, {self.buffer.replace('bdp', 'BDP')}"


def scenario(cells: CardCells, by: str, path: CardPath, law: str, alone: Mapping[str, str] | None = None) -> Scenario:
    """Return the scenario of a cell with a congestion controller; `alone` contains the settings for its victim alone.

    Raises InputError if the controller does not support the scenario.
    """
    rfc = load_rfc()
    values: dict[str, Any] = deepcopy({**rfc.usual, **rfc.scenarios[cells.scenario]})
    values["links"] = [{**rfc.link, "buffer": path.buffer, **link} for link in values["links"]]
    values["flows"] = [_flow(rfc, flow, law, cells.victim) for flow in values["flows"]]
    changed = {**cells.set, **cells.by[by], **(alone or {})}
    values = path.scaled({"schema": 1, "title": f"{cells.name}, {path}", **values})
    return Scenario.of(values, f"card/{cells.scenario}", list(path.scaled(changed).items()))


def _flow(rfc: Rfc, flow: Mapping[str, Any], law: str, victim: str) -> dict[str, Any]:
    """Return a group of flows with its defaults."""
    whole = {**rfc.flow, **flow}
    if not flow.get("kind", "").startswith("udp"):
        own = law if flow["name"] == "law" or flow["name"].startswith("law-") else victim
        whole["tcp"] = {**rfc.tcp, "congestion_control": own}
        if _needs_ecn(own.partition(":")[0]):
            whole["ecn"] = True
    return whole


@cache
def _needs_ecn(name: str) -> bool:
    """A controller that gets an echo per mark needs ECN: Linux enables it with DCTCP (TCP_CONG_NEEDS_ECN)."""
    return any("an ECN echo per packet" in law["asks"] for law in _core.laws() if law["name"] == name)
