"""Answers held to the student's own run."""

from dataclasses import dataclass

from aqmlab.exercise.answers import Answers
from aqmlab.exercise.sheet import ExerciseSheet
from aqmlab.problems import InputError, of_file


@dataclass(frozen=True)
class AnswerVerdict:
    """The answer to a task is taken or not, and what to tell the student; a refusal never has the right value.

    `number` is the number that was answered, in base units, if one is asked for.
    """

    task: str
    taken: bool
    told: str
    number: float | None


def check(sheet: ExerciseSheet, answers: Answers) -> list[AnswerVerdict]:
    """Return a verdict for each task of the sheet; InputError for answers to another sheet, or to unknown tasks."""
    with of_file(answers.file):
        if answers.sheet != sheet.id:
            raise InputError("sheet", f"{answers.sheet[:60]}: these answers are for another sheet than {sheet.id}")
        found = sheet.ask("check", answers.student, answers.minutes, answers.given)
    return [AnswerVerdict(**verdict) for verdict in found["verdicts"]]
