"""Answers as students write them: a file, and the numbers in it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab import _core
from aqmlab.exercise.sheet import MINUTES
from aqmlab.problems import InputError
from aqmlab.scenario import read_file

WORDS = {
    r"milli-?seconds?|msecs?": "ms",
    r"micro-?seconds?|[µμ]s": "us",
    r"seconds?|secs?": "s",
    r"packets?|pkts?|segments?": "packets",
    r"mbps|mb/s|mbits?/s(?:ec)?|megabits? (?:per|a) second": "Mbit/s",
    r"kbps|kb/s|kbits?/s(?:ec)?": "kbit/s",
    r"percent|per cent": "%",
}
"""Units in other words."""
NUMBER = r"\d+(?:[.,]\d+)*(?:e[-+]?\d+)?"
FOUND = re.compile(rf"({NUMBER})(?:\s*(?:-|–|to)\s*({NUMBER}))?\s*(%|[a-zµμ/]+)?", re.IGNORECASE)


@dataclass(frozen=True)
class WrittenNumber:
    """A number with its unit as text ("" without one); `half` is half of the last digit that was written."""

    value: float
    unit: str
    half: float


@dataclass(frozen=True)
class Answers:
    """The answers of a student to a sheet of so many minutes, as texts by task."""

    sheet: str
    student: str
    minutes: int
    given: Mapping[str, str]

    @classmethod
    def read(cls, path: Path) -> "Answers":
        """Return what a file says; InputError for anything else."""
        return cls.of(_core.read_toml(read_file(path, "file of answers"), str(path)))

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "Answers":
        """Return the answers in a table: `sheet`, `student`, `minutes`, and the table `answers`."""
        texts = {}
        for key in ("sheet", "student"):
            if not str(data.get(key, "")).strip():
                raise InputError(key, f'is missing; write {key} = "..." above [answers]')
            texts[key] = str(data[key]).strip()
        minutes, given = data.get("minutes", MINUTES[1]), data.get("answers", {})
        if minutes not in MINUTES:
            raise InputError("minutes", f"{minutes}: expected {', '.join(map(str, MINUTES[:-1]))} or {MINUTES[-1]}")
        if not isinstance(given, dict):
            raise InputError("answers", "expected a table: [answers], and below it a line for each task")
        return cls(texts["sheet"], texts["student"], minutes, {task: str(text) for task, text in given.items()})


def number(text: str) -> WrittenNumber | None:
    """Return the first number of a text: "about 0,92 s", "900 to 940 ms", "38 times"; None if there is none."""
    found = FOUND.search(text)
    if not found:
        return None
    first, last, unit = found[1], found[2], found[3] or ""
    value, half = _plain(first)
    if last:
        other, half = _plain(last)
        value = (value + other) / 2
    rest = text[found.end() - len(unit) :].strip().lower()
    for words, known in WORDS.items():
        if re.match(rf"(?:{words})(?![a-z])", rest):
            return WrittenNumber(value, known, half)
    known_unit = unit if unit and _core.quantity(f"1 {unit}") else ""
    return WrittenNumber(value, known_unit, half)


def _plain(text: str) -> tuple[float, float]:
    """Return a number with a decimal point or comma, or commas between thousands, and half of its last digit."""
    mantissa, _, exponent = text.lower().partition("e")
    if "," in mantissa and "." not in mantissa and not re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+", mantissa):
        mantissa = mantissa.replace(",", ".", 1)
    mantissa = mantissa.replace(",", "")
    scale = 10.0 ** int(exponent or 0)
    digits = mantissa.partition(".")[2]
    zeros = len(mantissa) - len(mantissa.rstrip("0")) if not digits else 0
    return float(mantissa) * scale, 0.5 * 10.0 ** (zeros - len(digits)) * scale
