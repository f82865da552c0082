"""A student's sheet as text, the file to fill in, and the solutions, which are apart."""

from collections.abc import Mapping
from typing import Any

from aqmlab.exercise.sheet import ExerciseSheet


def text(sheet: ExerciseSheet, student: str, minutes: int) -> str:
    """Return the sheet as Markdown."""
    shown = sheet.ask("show", student, minutes)
    values = ", ".join(f"`{path}` = {value}" for path, value in shown["values"].items())
    parts = [
        f"# {sheet.title}: exercises of {minutes} minutes",
        f"Student {student.strip()}. Your parameters: {values}.",
        "Open your scenario with `aqmlab studio scenario.toml`; leave the seed at 1. Write each answer in "
        f"answers.toml, and check them: `aqmlab exercise check {sheet.id} answers.toml`. "
        f"The lesson is `{sheet.id}`, which has this sheet in the studio.",
    ]
    parts += [f"**{task['id']}** ({task['ask']}). {task['words']}{_scheme(task)}" for task in shown["tasks"]]
    return "\n\n".join(parts) + "\n"


def _scheme(task: Mapping[str, Any]) -> str:
    """Return the settings of a task's run in addition to the student's scenario."""
    if "run" not in task:
        return ""
    run = task["run"]
    return f" (Scheme: `{run['aqm']}`{''.join(f'; `{path}` = {value}' for path, value in run['set'].items())}.)"


def solutions(sheet: ExerciseSheet, student: str, minutes: int) -> str:
    """Return the expected contents of the student's file: measurements of the student's run, and a good explanation."""
    found = sheet.ask("solve", student, minutes)["solutions"]
    lines = [f"{sheet.id}, student {student.strip()}", *(f"{each['task']}: {each['told']}" for each in found)]
    return "\n".join(lines) + "\n"
