"""Sheets of exercises, as files of the package."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from aqmlab import _core, scenario
from aqmlab.entries import filled, loads
from aqmlab.names import unknown

MINUTES = (15, 45, 90)
"""How long a sheet may take; a longer one has the tasks of the shorter ones too."""


@dataclass(frozen=True)
class ExerciseTask:
    """A task; `minutes` is the shortest sheet that has it. `text` may name parameters of the student in braces."""

    id: str
    kind: Literal["predict", "do", "compare", "explain"]
    minutes: int
    text: str
    hint: str = ""
    unit: str = ""
    of: str = ""


@dataclass(frozen=True)
class ExerciseSheet:
    """The exercises of a lesson, under the lesson's name; `text` is TOML.

    `individual` are paths of the lesson's scenario with the values that students may have.
    """

    id: str
    title: str
    text: str
    individual: Mapping[str, tuple[str, ...]]
    tasks: tuple[ExerciseTask, ...]

    def of(self, minutes: int) -> tuple[ExerciseTask, ...]:
        """Return the tasks of a sheet of so many minutes."""
        return tuple(task for task in self.tasks if task.minutes <= minutes)

    def task(self, name: str) -> ExerciseTask:
        """Return a task by its name."""
        return next(task for task in self.tasks if task.id == name)

    def ask(
        self,
        want: Literal["show", "check", "file", "solve"],
        student: str,
        minutes: int,
        answers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Return what there is to know about the sheet of a student; crates/exercise defines the keys."""
        asked = {"want": want, "student": student, "minutes": minutes, "answers": {**(answers or {})}}
        found: dict[str, Any] = json.loads(_core.exercise(json.dumps(self.document() | asked)))
        return found

    def document(self) -> dict[str, str]:
        """Return what decides the sheet of each student: itself, and the scenario of its lesson."""
        return {"sheet": self.text, "scenario": scenario.load(f"lessons/{self.id}").text}


@cache
def sheets() -> tuple[ExerciseSheet, ...]:
    """Return all sheets, in the order of the lessons."""
    folder = files(__package__) / "sheets"
    found = sorted((item.name, item.read_text(encoding="utf-8")) for item in folder.iterdir())
    return tuple(read(text) for name, text in found if name.endswith(".toml"))


def sheet(name: str) -> ExerciseSheet:
    """Return a sheet; InputError with the nearest names if there is none."""
    found = {each.id: each for each in sheets()}
    if name not in found:
        raise unknown("sheet", "no sheet", name, found)
    return found[name]


def read(text: str) -> ExerciseSheet:
    """Return the sheet that a text describes."""
    entries = loads(text)
    individual = {entry["path"]: tuple(entry["values"]) for entry in entries["individual"]}
    tasks = tuple(filled(ExerciseTask, entry) for entry in entries["tasks"])
    return ExerciseSheet(entries["lesson"], entries["title"], text, individual, tasks)
