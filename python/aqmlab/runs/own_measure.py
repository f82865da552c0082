"""A measure of the user's: a number that a program prints, its exit code, or the time it took."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aqmlab.problems import InputError

EXIT, TIME = "exit", "time"
WORDS = (EXIT, TIME)
JSON = "json:"
STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


@dataclass(frozen=True)
class OwnMeasure:
    """A named number of a program.

    `source` is "exit", the exit code; "time", the seconds it ran; "json:$.a.b[0]", a number of the JSON it prints; or a
    regular expression whose first group is the number in its output.
    """

    name: str
    source: str

    def read(self, printed: str, code: int, seconds: float) -> float | None:
        """Return the number, None if the program printed none."""
        if self.source == EXIT:
            return float(code)
        if self.source == TIME:
            return seconds
        if self.source.startswith(JSON):
            return _number(_at(_document(printed), self.source.removeprefix(JSON)))
        found = re.search(self.source, printed, re.M)
        return _number(found[1]) if found else None


def own_measures(given: Sequence[str]) -> list[OwnMeasure]:
    """Return the measures in texts such as "load=Load time: ([0-9.]+) s"; InputError for any other text."""
    measures = [_measure(text) for text in given]
    for i, measure in enumerate(measures):
        if measure.name in [other.name for other in measures[:i]]:
            raise InputError("measure", f"{measure.name}: given twice; give another name")
    return measures


def _measure(text: str) -> OwnMeasure:
    name, equals, source = text.partition("=")
    source = source if equals else name
    if not name.strip() or not source or (not equals and name not in WORDS):
        raise InputError("measure", f"{text}: expected NAME=REGEX, NAME=json:$.PATH, or one of {', '.join(WORDS)}")
    if source.startswith(JSON):
        path = source.removeprefix(JSON)
        if not path.startswith("$") or STEP.sub("", path[1:]):
            raise InputError("measure", f"{text}: expected a path such as json:$.timing.load or json:$.runs[0].rate")
    elif source not in WORDS:
        _check_expression(text, source)
    return OwnMeasure(name.strip(), source)


def _check_expression(text: str, source: str) -> None:
    try:
        groups = re.compile(source).groups
    except re.error as error:
        raise InputError("measure", f"{text}: is not a regular expression: {error}") from None
    if not groups:
        raise InputError("measure", f"{text}: put the number in parentheses, such as load=Load time: ([0-9.]+) s")


def _document(printed: str) -> Any:
    """Return the JSON that a program printed; None if it is not JSON."""
    try:
        return json.loads(printed)
    except ValueError:
        return None


def _at(document: Any, path: str) -> Any:
    """Return the value at a path; None if there is none."""
    for key, place in STEP.findall(path):
        try:
            document = document[int(place)] if place else document[key]
        except (KeyError, IndexError, TypeError):
            return None
    return document


def _number(found: Any) -> float | None:
    try:
        return float(found)
    except (TypeError, ValueError):
        return None
