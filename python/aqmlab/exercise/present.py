"""A student's sheet as text, the file to fill in, and the solutions, which are apart."""

import json

from aqmlab.exercise.check import shown
from aqmlab.exercise.sheet import Assignment, Compare, Do, ExerciseTask, Explain, Predict

KINDS = {"predict": "Predict", "do": "Do", "compare": "Do", "explain": "Explain"}
"""What a task asks for, by its kind."""


def text(assignment: Assignment, minutes: int) -> str:
    """Return the sheet as Markdown."""
    sheet = assignment.sheet
    values = ", ".join(f"`{path}` = {value}" for path, value in assignment.values.items())
    parts = [
        f"# {sheet.lesson.title}: exercises of {minutes} minutes",
        f"Student {assignment.student}. Your parameters: {values}.",
        "Open your scenario with `aqmlab studio scenario.toml`, or paste its text into the studio's page; leave "
        "the seed at 1. Write each answer in answers.toml, and check them: "
        f"`aqmlab exercise check {sheet.id} answers.toml`. The lesson is `{sheet.lesson.id}`.",
    ]
    parts += [f"**{task.id}** ({KINDS[task.kind]}). {_words(assignment, task)}" for task in sheet.of(minutes)]
    return "\n\n".join(parts) + "\n"


def blank(assignment: Assignment, minutes: int) -> str:
    """Return the file of answers, to be filled in."""
    head = {"sheet": assignment.sheet.id, "student": assignment.student}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()]
    tasks = [f'{task.id} = ""' for task in assignment.sheet.of(minutes)]
    return "\n".join([*lines, f"minutes = {minutes}", "", "[answers]", *tasks]) + "\n"


def solutions(assignment: Assignment, minutes: int) -> str:
    """Return what should stand in the student's file: measurements of the student's own run, and a good explanation."""
    lines = [f"{assignment.sheet.id}, student {assignment.student}"]
    return (
        "\n".join([*lines, *(f"{task.id}: {_solution(assignment, task)}" for task in assignment.sheet.of(minutes))])
        + "\n"
    )


def _words(assignment: Assignment, task: ExerciseTask) -> str:
    """Return a task with all that its run needs."""
    words = " ".join(assignment.filled(task.text).split())
    return f"{words} (Scheme: `{task.each.aqms[0]}`.)" if isinstance(task, Do) else words


def _solution(assignment: Assignment, task: ExerciseTask) -> str:
    match task:
        case Predict():
            return f"any number; {task.of} comes out as {_solution(assignment, assignment.sheet.task(task.of))}"
        case Do():
            return shown(assignment.measured[task.id], task.unit)
        case Compare():
            return shown(assignment.measured[task.id], "")
        case Explain():
            return task.solution
    raise TypeError(task)
