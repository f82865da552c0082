"""A sheet: its tasks, and the parameters of each student."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from typing import Any, ClassVar

from aqmlab._core import Scenario
from aqmlab.entries import read_file
from aqmlab.names import unknown
from aqmlab.runs.simulation import Simulation
from aqmlab.studio.lessons import Expected, Lesson, Step, Try, lesson
from aqmlab.studio.lessons.play import play, seen

MINUTES = (15, 45, 90)
"""How long a sheet may take; a longer one has the tasks of the shorter ones too."""


@dataclass(frozen=True)
class ExerciseTask:
    """A task; `minutes` is the shortest sheet that has it. `text` may name parameters of the student in braces."""

    id: str
    text: str
    minutes: int
    hint: str
    kind: ClassVar[str] = ""


@dataclass(frozen=True)
class Predict(ExerciseTask):
    """A guess before the run, of what the task `of` will measure: any guess is taken."""

    of: str
    kind: ClassVar[str] = "predict"


@dataclass(frozen=True)
class Do(ExerciseTask):
    """A measurement in the student's own run: what `seen` says of a curve, in `unit`; right `within` a share of it."""

    each: Try
    unit: str
    within: float
    kind: ClassVar[str] = "do"


@dataclass(frozen=True)
class Compare(ExerciseTask):
    """The ratio of two measurements: `over[0]` divided by `over[1]`, both tasks of kind "do"."""

    over: tuple[str, str]
    within: float
    kind: ClassVar[str] = "compare"


@dataclass(frozen=True)
class Idea:
    """Something that an explanation has to say, in any of these wordings (regular expressions)."""

    any: tuple[str, ...]
    hint: str

    def is_in(self, text: str) -> bool:
        """Say whether a text has one of the wordings."""
        return any(re.search(wording, text) for wording in self.any)


@dataclass(frozen=True)
class Explain(ExerciseTask):
    """Words: they must have every one of `ideas` and none of `wrong`; `solution` is an answer that does."""

    ideas: tuple[Idea, ...]
    wrong: tuple[Idea, ...]
    solution: str
    kind: ClassVar[str] = "explain"


@dataclass(frozen=True)
class ExerciseSheet:
    """The exercises of a lesson; `individual` are paths of its scenario with the values that students may have."""

    id: str
    lesson: Lesson
    individual: Mapping[str, tuple[str, ...]]
    tasks: tuple[ExerciseTask, ...]

    def of(self, minutes: int) -> tuple[ExerciseTask, ...]:
        """Return the tasks of a sheet of so many minutes."""
        return tuple(task for task in self.tasks if task.minutes <= minutes)

    def task(self, name: str) -> ExerciseTask:
        """Return a task by its name."""
        return next(task for task in self.tasks if task.id == name)

    def assignment(self, student: str) -> "Assignment":
        """Return the sheet of one student; who has the same number, has the same parameters."""
        chosen = {}
        for path, values in self.individual.items():
            digest = sha256(f"{self.id} {path} {student.strip().lower()}".encode()).digest()
            chosen[path] = values[int.from_bytes(digest[:8], "big") % len(values)]
        return Assignment(self, student.strip(), chosen)


@dataclass(frozen=True)
class Assignment:
    """A sheet with the parameters of one student."""

    sheet: ExerciseSheet
    student: str
    values: Mapping[str, str]

    @cached_property
    def scenario(self) -> str:
        """The student's own scenario, TOML."""
        lesson = self.sheet.lesson
        return Simulation(Scenario.parse(lesson.scenario, lesson.id, [*self.values.items()])).to_toml()

    @cached_property
    def measured(self) -> Mapping[str, float]:
        """The measurements of the student's own runs, in base units, by task."""
        own = replace(self.sheet.lesson, scenario=self.scenario)
        found: dict[str, float] = {}
        for task in self.sheet.tasks:
            if isinstance(task, Do):
                [wanted] = task.each.expected
                each = replace(task.each, steps=tuple(replace(s, value=self.filled(s.value)) for s in task.each.steps))
                found[task.id] = seen(wanted, play(own, each, wanted.lane)[wanted.curve])
            elif isinstance(task, Compare):
                found[task.id] = found[task.over[0]] / found[task.over[1]]
        return found

    def filled(self, text: str) -> str:
        """Return a text with the student's parameters where it names them in braces."""
        return re.sub(r"\{([\w.]+)\}", lambda found: self.values[found[1]], text)


def sheets() -> tuple[ExerciseSheet, ...]:
    """Return all sheets, in the order of the lessons."""
    folder = files(__package__) / "sheets"
    names = sorted(item.name.removesuffix(".toml") for item in folder.iterdir() if item.name.endswith(".toml"))
    return tuple(read(name, read_file(__package__, "sheets", f"{name}.toml")) for name in names)


def sheet(name: str) -> ExerciseSheet:
    """Return a sheet; InputError with the nearest names if there is none."""
    found = {each.id: each for each in sheets()}
    if name not in found:
        raise unknown("sheet", "no sheet", name, found)
    return found[name]


def read(name: str, entries: Mapping[str, Any]) -> ExerciseSheet:
    """Return the sheet that a file describes."""
    about = lesson(entries["lesson"])
    individual = {entry["path"]: tuple(entry["values"]) for entry in entries["individual"]}
    return ExerciseSheet(name, about, individual, tuple(_task(entry) for entry in entries["tasks"]))


def _task(entry: Mapping[str, Any]) -> ExerciseTask:
    common = (entry["id"], entry["text"].strip(), entry["minutes"], entry.get("hint", ""))
    match entry["kind"]:
        case "predict":
            return Predict(*common, entry["of"])
        case "compare":
            first, second = entry["over"]
            return Compare(*common, (first, second), entry.get("within", 0.15))
        case "explain":
            solution = entry["solution"].strip()
            return Explain(*common, _ideas(entry["ideas"]), _ideas(entry.get("wrong", ())), solution)
        case _:
            return Do(*common, _try(entry), entry["unit"], entry.get("within", 0.1))


def _try(entry: Mapping[str, Any]) -> Try:
    steps = tuple(Step(step["at"], step["path"], step["value"], None) for step in entry.get("steps", ()))
    start, end = entry["between"]
    wanted = Expected(0, entry["curve"], start, end, entry.get("measure", "mean"), "", 0)
    return Try(entry["id"], "", (entry["aqm"],), steps, end, (wanted,))


def _ideas(entries: Sequence[Mapping[str, Any]]) -> tuple[Idea, ...]:
    return tuple(Idea(tuple(entry["any"]), entry["hint"]) for entry in entries)
