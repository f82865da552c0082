"""Answers as students write them: a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab import _core
from aqmlab.exercise.sheet import MINUTES
from aqmlab.problems import InputError
from aqmlab.scenario import read_file


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
