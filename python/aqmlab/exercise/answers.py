"""Answers as students write them: a file."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aqmlab import _core
from aqmlab.exercise.sheet import MINUTES
from aqmlab.problems import InputError, located
from aqmlab.quantities import shown
from aqmlab.scenario import read_file


@dataclass(frozen=True)
class Answers:
    """The answers of a student to a sheet of so many minutes, as texts by task."""

    sheet: str
    student: str
    minutes: int
    given: Mapping[str, str]
    file: str = field(default="", compare=False)
    """The file that they were read from, for messages."""

    @classmethod
    def read(cls, path: Path) -> "Answers":
        """Return what a file says; InputError for anything else."""
        text = read_file(path, "answers")
        with located("", text, str(path)):
            return replace(cls.of(_core.read_toml(text, str(path))), file=str(path))

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "Answers":
        """Return the answers in a table: `sheet`, `student`, `minutes`, and the table `answers`."""
        texts = {}
        for key in ("sheet", "student"):
            if not str(data.get(key, "")).strip():
                raise InputError(key, f'is missing; write {key} = "..." above [answers]', "missing")
            texts[key] = str(data[key]).strip()
        minutes, given = data.get("minutes", MINUTES[1]), data.get("answers", {})
        if not isinstance(minutes, int) or minutes not in MINUTES:
            raise InputError(
                "minutes", f"{shown(minutes)}: expected {', '.join(map(str, MINUTES[:-1]))} or {MINUTES[-1]}"
            )
        if not isinstance(given, dict):
            raise InputError("answers", "expected a table: [answers], and below it a line for each task")
        return cls(texts["sheet"], texts["student"], minutes, {task: str(text) for task, text in given.items()})
