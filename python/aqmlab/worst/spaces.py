"""Spaces of scenarios: a scenario whose values may be ranges and choices, and whose parts may be absent.

A range is `{ from = "1 Mbit/s", to = "100 Mbit/s", scale = "log" }`, as in an experiment; with `of = "links.link.rate"`
it is a factor of another value. A choice is `{ any = ["codel", "pie"] }`, in which a value may be listed twice. `odds`
in a range, a choice or a table is the probability that it is there.
"""

import copy
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from math import exp, log
from pathlib import Path as File
from typing import Any

from aqmlab import quantities, scenario
from aqmlab._core import read_toml
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.runs.grid import SCALES, number
from aqmlab.worst.document import Document, Path, get, groups, leaves, named, put

BUILT_IN = ("link", "dynamics", "losses", "arrivals", "mix")
"""Names of the built-in spaces."""
RANGE, CHOICE, ODDS = {"from", "to", "scale", "of", "odds"}, {"any", "odds"}, "odds"
DIGITS = 3
"""Significant digits of a drawn value."""
MOST_GROUPS = 3
"""Groups of flows of a drawn scenario."""
WIDTH = 4.0
"""`around` varies a value from this part of it to this multiple."""
MAIN = "main"
"""The group of flows whose controller is searched."""

Point = Mapping[Path, float | int | bool]
"""A draw by path: positions in ranges from 0 to 1, numbers of choices, and under `odds` whether a part is there."""


@dataclass(frozen=True)
class Range:
    """A value from `low` to `high` in `unit` as written, or a factor of the value at `of`."""

    path: Path
    low: float
    high: float
    unit: str
    log: bool
    whole: bool
    of: Path | None = None

    def at(self, position: float) -> float:
        """Return the value at a position from 0 to 1."""
        if self.log:
            return float(exp(log(self.low) + position * log(self.high / self.low)))
        return self.low + position * (self.high - self.low)

    def position(self, value: float) -> float:
        """Return the position of a value: below 0 or above 1 outside of the range."""
        if self.log:
            return log(max(value, 1e-300) / self.low) / log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def text(self, value: float) -> str | int | float:
        """Return a value as a scenario has it, rounded."""
        if self.whole:
            return max(1, round(value)) if not self.unit else f"{max(1, round(value))} {self.unit}"
        return short(value, self.unit)


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    path: Path
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Space:
    """A scenario with ranges: its fixed values, and what varies."""

    document: Document
    ranges: tuple[Range, ...]
    choices: tuple[Choice, ...]
    odds: Mapping[Path, float]

    def draw(self, chance: random.Random) -> Point:
        """Draw a point. Every part costs the same random numbers, so that points do not depend on each other."""
        point: dict[Path, float | int | bool] = {
            (*path, ODDS): chance.random() < share for path, share in self.odds.items()
        }
        point |= {each.path: chance.randrange(len(each.values)) for each in self.choices}
        return point | {each.path: chance.random() for each in self.ranges}

    def is_there(self, point: Point, path: Path) -> bool:
        """Return whether a path and everything above it is there."""
        return all(point.get((*path[: i + 1], ODDS), True) for i in range(len(path)))

    def present(self, point: Point) -> list[Range]:
        """Return the ranges that matter at a point."""
        return [each for each in self.ranges if self.is_there(point, each.path)]

    def structure(self, point: Point) -> tuple[str | bool, ...]:
        """Return all of a point but the positions: what is there, and what was chosen."""
        there = tuple(self.is_there(point, path) for path in self.odds)
        chosen = (
            each.values[point_index(point, each)] if self.is_there(point, each.path) else None for each in self.choices
        )
        return (*there, *map(str, chosen))

    def scenario(self, point: Point) -> Document:
        """Return the scenario at a point."""
        found = self.document
        for choice in self.choices:
            found = put(found, choice.path, choice.values[point_index(point, choice)])
        for each in sorted(self.ranges, key=lambda each: each.of is not None):
            found = put(found, each.path, self._value(found, each, float(point[each.path])))
        for path in self.odds:
            if not self.is_there(point, path) and get(found, path) is not None:
                found = put(found, path, None)
        return found

    def _value(self, found: Document, each: Range, position: float) -> Any:
        value = each.at(position)
        if each.of is None:
            return each.text(value)
        return scaled(get(found, each.of), value)

    def refuse(self, document: Document) -> str | None:
        """Return why a drawn document is not taken; None if it is."""
        count = len(groups(document))
        return f"{count} groups of flows, more than {MOST_GROUPS}" if count > MOST_GROUPS else None

    @cached_property
    def by_name(self) -> Mapping[str, Range]:
        """The ranges by their names."""
        return {named(self.document, each.path): each for each in self.ranges}


def point_index(point: Point, choice: Choice) -> int:
    """Return the number of the chosen value."""
    return int(point[choice.path])


def short(value: float, unit: str, digits: int = DIGITS) -> str | float:
    """Return a number with its unit, of few digits."""
    rounded = float(f"{value:.{digits}g}")
    text = f"{int(rounded)}" if rounded.is_integer() else f"{rounded:g}"
    return f"{text} {unit}" if unit else float(text)


def scaled(value: Any, factor: float, digits: int = DIGITS) -> str:
    """Return a quantity times a factor, in a unit that suits it."""
    found = quantities.number(str(value))
    if isinstance(found, str):
        raise InputError("space", f"{value!r}: cannot be multiplied; expected a quantity")
    base = number(value)
    unit = base[1] if base else ""
    if unit.endswith("bit/s"):
        size = float(f"{found * factor:.{digits}g}")
        return quantities.written(size, "bit/s")
    return str(short((base[0] if base else found) * factor, unit, digits))


def read(names: Sequence[str], around: str | None = None) -> Space:
    """Return the space of names and files, one merged into the other; `around` is a scenario whose numbers vary.

    InputError if a file cannot be read, or describes nothing that varies.
    """
    document: Document = _around(around) if around else {}
    for name in dict.fromkeys(names):
        document = _merged(document, _document(name))
    given = around or ",".join(names)
    if not document.get("links") or not document.get("flows"):
        raise InputError("space", f"{given}: has no links or no flows; combine it with link, as in link,{given}")
    found = _space(document)
    if not found.ranges and not found.choices and not found.odds:
        example = 'write a range such as { from = "1 Mbit/s", to = "50 Mbit/s" }'
        raise InputError("space", f"{given}: nothing varies; {example}")
    return found


def _document(name: str) -> Document:
    if name in BUILT_IN:
        text = (files("aqmlab.worst") / "spaces" / f"{name}.toml").read_text(encoding="utf-8")
        return read_toml(text, name)
    if not name.endswith(".toml") and not os.path.lexists(name):
        raise unknown("space", "no space and no file", name, BUILT_IN)
    return read_toml(scenario.read_file(File(name), "space"), name)


def _merged(base: Any, more: Any) -> Any:
    """Return two documents as one: tables of the same name become one, changes are added, later values replace."""
    if isinstance(base, dict) and isinstance(more, dict):
        return {key: _merged(base.get(key), more[key]) if key in more else base[key] for key in {**base, **more}}
    if isinstance(base, list) and isinstance(more, list) and all(isinstance(each, dict) for each in [*base, *more]):
        found = list(base)
        for each in more:
            at = [i for i, known in enumerate(found) if "name" in each and known.get("name") == each["name"]]
            found = [_merged(known, each) if i in at else known for i, known in enumerate(found)] + (
                [] if at else [each]
            )
        return found
    return more


def _space(document: Document) -> Space:
    ranges: list[Range] = []
    choices: list[Choice] = []
    odds: dict[Path, float] = {}
    plain = copy.deepcopy(document)
    for path, value in list(leaves(document)):
        if not isinstance(value, dict):
            continue
        if ODDS in value:
            odds[path] = _odds(document, path, value[ODDS])
        if "from" in value or "to" in value:
            ranges.append(_range(document, path, value))
            plain = put(plain, path, value)
        elif "any" in value:
            choices.append(_choice(document, path, value))
        elif ODDS in value:
            plain = put(plain, path, {key: each for key, each in get(plain, path).items() if key != ODDS})
    return Space(plain, tuple(ranges), tuple(choices), odds)


def _odds(document: Document, path: Path, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise InputError(
            f"space.{named(document, path)}.odds", f"{value!r}: expected a probability, above 0 and at most 1"
        )
    return float(value)


def _range(document: Document, path: Path, entry: Mapping[str, Any]) -> Range:
    name = f"space.{named(document, path)}"
    for key in entry.keys() - RANGE:
        raise unknown(name, "unknown key", key, RANGE)
    low_end, high_end = (number(entry.get(end)) for end in ("from", "to"))
    if low_end is None or high_end is None or low_end[1] != high_end[1]:
        given = f"{entry.get('from')!r} to {entry.get('to')!r}"
        raise InputError(name, f'{given}: expected two numbers in one unit, such as "1 ms" and "50 ms"')
    (low, unit), (high, _) = low_end, high_end
    scale = str(entry.get("scale", "linear"))
    if scale not in SCALES:
        raise unknown(f"{name}.scale", "unknown scale", scale, SCALES)
    if not low < high or (scale == "log" and low <= 0):
        raise InputError(
            name,
            f"{entry['from']} to {entry['to']}: is empty; the lower end comes first, and is above 0 on a log scale",
        )
    whole = unit in ("packets", "B") or (not unit and isinstance(entry["from"], int) and isinstance(entry["to"], int))
    of = _path(document, name, str(entry["of"])) if "of" in entry else None
    return Range(path, low, high, unit, scale == "log", whole and of is None, of)


def _path(document: Document, name: str, of: str) -> Path:
    known = {named(document, path): path for path, _ in leaves(document)}
    if of not in known:
        raise unknown(f"{name}.of", "no value of the space", of, known)
    return known[of]


def _choice(document: Document, path: Path, entry: Mapping[str, Any]) -> Choice:
    name = f"space.{named(document, path)}"
    for key in entry.keys() - CHOICE:
        raise unknown(name, "unknown key", key, CHOICE)
    if not isinstance(entry["any"], list) or not entry["any"]:
        raise InputError(f"{name}.any", f"{entry['any']!r}: expected a list of values, at least one")
    return Choice(path, tuple(entry["any"]))


def _around(source: str) -> Document:
    """Return a scenario with a range for each quantity of its links, flows and changes that is above 0."""
    name, text = scenario.read(source)
    document = read_toml(text, name)
    if "trace" in text:
        raise InputError("around", f"{source}: follows a recorded trace; choose a scenario with rates in numbers")
    for path, value in list(leaves(document)):
        if path[0] in ("links", "flows", "changes") and (varied := _varied(path, value)):
            document = put(document, path, varied)
    return document


def _varied(path: Path, value: Any) -> dict[str, Any] | None:
    """Return the range around a value; None for a value that stays as it is."""
    if path[-1] == "count" and isinstance(value, int) and value > 0:
        return {"from": max(1, round(value / WIDTH)), "to": max(2, round(WIDTH * value)), "scale": "log"}
    if path[-1] in ("packet", "header", "path", "name", "at") or not isinstance(value, str):
        return None
    found, base = quantities.number(value), number(value)
    if isinstance(found, str) or base is None or base[0] <= 0:
        return None
    low, high = (f"{base[0] * factor:.6g} {base[1]}" for factor in (1 / WIDTH, WIDTH))
    return {"from": low, "to": high, "scale": "log"}


def without(space: Space, is_wanted: "Iterator[Path] | Sequence[Path]") -> Space:
    """Return the space without the choices at these paths, whose values are the search's own."""
    left_out = set(is_wanted)
    document = space.document
    for path in left_out:
        document = put(document, path, None)
    return Space(
        document,
        tuple(each for each in space.ranges if each.path not in left_out),
        tuple(each for each in space.choices if each.path not in left_out),
        {path: share for path, share in space.odds.items() if path not in left_out},
    )
