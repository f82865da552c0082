"""Answers held to the student's own run."""

from collections.abc import Sequence
from dataclasses import dataclass

from aqmlab import _core
from aqmlab.exercise.answers import Answers, WrittenNumber, number
from aqmlab.exercise.sheet import Assignment, Compare, Do, ExerciseSheet, ExerciseTask, Explain, Predict
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.quantities import written

COARSEST = 0.15
"""How far off a rounded answer may be, as a share, however few its digits."""
SLIPS = (1e3, 1e6, 1e-3, 1e-6)
"""Factors between units that are taken for each other."""


@dataclass(frozen=True)
class AnswerVerdict:
    """The answer to a task is taken or not, and what to tell the student; a refusal never has the right value."""

    task: str
    taken: bool
    told: str


def check(sheet: ExerciseSheet, answers: Answers) -> list[AnswerVerdict]:
    """Return a verdict for each task of the sheet; InputError for answers to another sheet, or to tasks it has not."""
    if answers.sheet != sheet.id:
        raise InputError("sheet", f"{answers.sheet}: these answers are for another sheet than {sheet.id}")
    tasks = sheet.of(answers.minutes)
    for name in answers.given:
        if name not in {task.id for task in tasks}:
            raise unknown(f"answers.{name}", "no task", name, [task.id for task in tasks])
    assignment = sheet.assignment(answers.student)
    return [_verdict(assignment, task, answers.given.get(task.id, "").strip()) for task in tasks]


def shown(value: float, unit: str) -> str:
    """Return a measurement as a solution shows it: three digits, in a unit."""
    if not unit:
        return f"{value:.3g}"
    if unit == "%":
        return f"{100 * value:.3g} %"
    base = _core.quantity(f"1 {unit}")
    return f"{value / base[0]:.3g} {unit}" if base else written(value, unit)


def _verdict(assignment: Assignment, task: ExerciseTask, text: str) -> AnswerVerdict:
    if not text:
        return AnswerVerdict(task.id, False, "no answer yet")
    match task:
        case Predict():
            return _predicted(assignment, task, text)
        case Do():
            return _measured(task, text, assignment.measured[task.id], task.unit, task.within)
        case Compare():
            return _measured(task, text, assignment.measured[task.id], "", task.within)
        case Explain():
            return _explained(task, text)
    raise TypeError(task)


def _predicted(assignment: Assignment, task: Predict, text: str) -> AnswerVerdict:
    of = assignment.sheet.task(task.of)
    unit = of.unit if isinstance(of, Do) else ""
    given = number(text)
    value = None if given is None else _value(given, unit)
    if value is None:
        return AnswerVerdict(task.id, False, f"a prediction is a number{_as_in(unit)}")
    return AnswerVerdict(task.id, True, f"compare it with your answer to {task.of}: what did you not think of?")


def _measured(task: ExerciseTask, text: str, right: float, unit: str, within: float) -> AnswerVerdict:
    given = number(text)
    if given is None:
        return AnswerVerdict(task.id, False, f"there is no number in it{_as_in(unit)}")
    value = _value(given, unit)
    if value is None:
        return AnswerVerdict(task.id, False, f"its unit is missing or another one{_as_in(unit)}")
    half = min(given.half * abs(value / given.value if given.value else 1), COARSEST * abs(right))
    if abs(value - right) <= max(within * abs(right), half):
        return AnswerVerdict(task.id, True, "right")
    if any(abs(value * slip - right) <= within * abs(right) for slip in SLIPS):
        return AnswerVerdict(task.id, False, "the digits are right and the unit is not: look at the axis again")
    size = "too small" if value < right else "too large"
    return AnswerVerdict(task.id, False, f"{size}. {task.hint}".strip())


def _value(given: WrittenNumber, unit: str) -> float | None:
    """Return a number in base units; None if it has another kind of unit than is wanted."""
    if not unit:
        return given.value / 100 if given.unit == "%" else given.value
    if unit == "%":
        is_share = not given.unit and given.value <= 1
        return given.value if is_share else given.value / 100 if given.unit in ("", "%") else None
    wanted, found = _core.quantity(f"1 {unit}"), _core.quantity(f"1 {given.unit}") if given.unit else None
    return given.value * found[0] if wanted and found and wanted[1] == found[1] else None


def _as_in(unit: str) -> str:
    return f"; write it as in 12 {unit}" if unit else "; write it as in 12"


def _explained(task: Explain, text: str) -> AnswerVerdict:
    words = " ".join(text.lower().split())
    hints: Sequence[str] = [idea.hint for idea in task.wrong if idea.is_in(words)]
    hints = hints or [idea.hint for idea in task.ideas if not idea.is_in(words)]
    return AnswerVerdict(task.id, not hints, hints[0] if hints else "it has what matters")
