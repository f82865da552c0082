"""What is wrong with a scenario, and where in its text: the engine names the field, this finds its line."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from aqmlab._core import InputError, Scenario

LONGEST_LINE, LONGEST_PATH = 1000, 200
"""Characters: what is in a longer line is not looked for, nor all of a longer path; patterns are tried at each."""
MOST = 100
"""Problems that are shown."""


class TextError(InputError):
    """A text that is no scenario."""

    def __init__(self, text: str, message: str) -> None:
        super().__init__(message)
        self.text = text


class Spot(NamedTuple):
    """Where something is in a text: line and column count from 1."""

    line: int
    column: int
    length: int


def parse(text: str, name: str) -> Scenario:
    """Return a scenario; TextError with all that is wrong with it. No file is read, traces are in the text."""
    try:
        return Scenario.parse(text, name)
    except InputError as error:
        raise TextError(text, str(error)) from error


def problems(text: str, message: str, lane: int | None = None) -> list[dict[str, Any]]:
    """Return what an error says, line by line: field, message, and where in the text its field is."""
    spots = dict(_spots(text)) if text else {}
    return [_problem(line, spots) | {"lane": lane} for line in message.splitlines()[:MOST]]


def _problem(line: str, spots: dict[str, Spot]) -> dict[str, Any]:
    field, colon, reason = line.partition(": ")
    if not colon or " " in field:
        return {"field": None, "message": line, "line": None, "column": None, "length": None}
    spot = _syntax(reason) if reason.startswith("is not TOML") else _spot(field, reason, spots)
    found = spot._asdict() if spot else {"line": None, "column": None, "length": None}
    return {"field": field, "message": reason, **found}


def _syntax(reason: str) -> Spot | None:
    """Where a text ceases to be TOML."""
    found = re.match(r"is not TOML: line (\d+), column (\d+)", reason)
    return Spot(int(found[1]), int(found[2]), 1) if found else None


def _spot(field: str, reason: str, spots: dict[str, Spot]) -> Spot | None:
    """Where a field is, or else the nearest table around it."""
    if reason.startswith("unknown key") and f"{field} =" in spots:
        return spots[f"{field} ="]
    while field not in spots and "." in field:
        field = field.rpartition(".")[0]
    return spots.get(field)


_HEADER = re.compile(r"\s*(\[\[?)\s*([\w.\"'-]+)\s*\]\]?")
_PAIR = re.compile(r"""\s*([\w."'-]+)\s*=\s*""")
_INLINE = re.compile(r"""[{,]\s*([\w"'-]+)\s*=\s*("(?:[^"\\]|\\.){0,99}"|'[^']{0,99}'|\[[^\]]{0,99}\]|[^,}\]]+)""")
_VALUE = re.compile(r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^#"']+)+""")


def _spots(text: str) -> Iterator[tuple[str, Spot]]:
    """Yield where each table and each value is, by its path; tables of an array by their index and by their name.

    The key itself is under the path and " =".
    """
    found = list(_by_index(text))
    lines = text.splitlines()
    names = {}
    for path, spot in found:
        if re.fullmatch(r"\w+\.\d+\.name", path):
            quoted = lines[spot.line - 1][spot.column - 1 :][: spot.length]
            names[path.rpartition(".")[0]] = quoted.strip("\"'")
    for path, spot in found:
        yield path, spot
        array, _, rest = path.partition(".")
        index, dot, rest = rest.partition(".")
        if name := names.get(f"{array}.{index}"):
            yield f"{array}.{name}{dot}{rest}", spot


def _by_index(text: str) -> Iterator[tuple[str, Spot]]:
    table, counts = "", dict[str, int]()
    for number, line in _code(text):
        if len(line) > LONGEST_LINE:
            continue
        if header := _HEADER.match(line):
            table = _unquoted(header[2])[:LONGEST_PATH]
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = f"{table}.{counts[table]}"
            yield table, Spot(number, header.start(1) + 1, header.end() - header.start(1))
        elif pair := _PAIR.match(line):
            start = pair.end()
            value = _VALUE.match(line, start)
            end = start + len(value[0].rstrip()) if value else start
            path = f"{table}.{_unquoted(pair[1])}" if table else _unquoted(pair[1])
            yield path, Spot(number, start + 1, max(end - start, 1))
            yield f"{path} =", Spot(number, pair.start(1) + 1, len(pair[1]))
            for inner in _INLINE.finditer(line, start, end):
                spot = Spot(number, inner.start(2) + 1, len(inner[2].rstrip()))
                yield f"{path}.{_unquoted(inner[1])}", spot


def _code(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not within a text of several lines, counted from 1."""
    within = ""
    for number, line in enumerate(text.splitlines(), 1):
        if within:
            within = "" if within in line else within
            continue
        yield number, line
        for quotes in ('"""', "'''"):
            if line.count(quotes) == 1:
                within = quotes


def _unquoted(key: str) -> str:
    return key.replace('"', "").replace("'", "")
