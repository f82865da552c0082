"""The lecturer's table: a row for each file of answers."""

from collections.abc import Sequence

from aqmlab.csv_text import csv_text
from aqmlab.exercise.answers import Answers
from aqmlab.exercise.check import AnswerVerdict, check
from aqmlab.exercise.sheet import ExerciseSheet


def table(sheet: ExerciseSheet, handed_in: Sequence[Answers]) -> str:
    """Return CSV: student, minutes, tasks taken and there, 1 or 0 for each task, and who has the same measurements.

    Students have different parameters, so the same measurements in two files are hardly ever both found.
    """
    tasks = [task.id for task in sheet.tasks]
    verdicts = [check(sheet, answers) for answers in handed_in]
    measurements = [_measurements(sheet, found) for found in verdicts]
    rows: list[list[object]] = [["student", "minutes", "taken", "of", *tasks, "same_as"]]
    for i, answers in enumerate(handed_in):
        taken = {verdict.task: int(verdict.taken) for verdict in verdicts[i]}
        same = [
            other.student
            for j, other in enumerate(handed_in)
            if j != i and measurements[i] and measurements[i] == measurements[j] and other.student != answers.student
        ]
        marks = [taken.get(task, "") for task in tasks]
        rows.append([answers.student, answers.minutes, sum(taken.values()), len(taken), *marks, " ".join(same)])
    return csv_text(rows)


def _measurements(sheet: ExerciseSheet, verdicts: Sequence[AnswerVerdict]) -> dict[str, float]:
    """Return the numbers that were measured; none if they are fewer than two, which may agree by chance."""
    found = {each.task: each.number for each in verdicts if each.number is not None}
    found = {task: number for task, number in found.items() if sheet.task(task).kind == "do"}
    return found if len(found) > 1 else {}
