"""A student's sheet as text, the file to fill in, and the solutions, which are apart."""

from aqmlab.exercise.sheet import ExerciseSheet


def text(sheet: ExerciseSheet, student: str, minutes: int) -> str:
    """Return the sheet as Markdown."""
    shown = sheet.ask("show", student, minutes)
    values = ", ".join(f"`{path}` = {value}" for path, value in shown["values"].items())
    parts = [
        f"# {sheet.title}: exercises of {minutes} minutes",
        f"Student {student.strip()}. Your parameters: {values}.",
        "Open your scenario with `aqmlab studio scenario.toml`; leave the seed at 1. Write each answer in answers.toml, "
        f"and check them: `aqmlab exercise check {sheet.id} answers.toml`. The lesson is `{sheet.id}`; its page in the "
        "studio has this sheet too.",
    ]
    for task in shown["tasks"]:
        scheme = f" (Scheme: `{task['run']['aqm']}`.)" if "run" in task else ""
        parts.append(f"**{task['id']}** ({task['ask']}). {task['words']}{scheme}")
    return "\n\n".join(parts) + "\n"


def solutions(sheet: ExerciseSheet, student: str, minutes: int) -> str:
    """Return what should stand in the student's file: measurements of the student's own run, and a good explanation."""
    found = sheet.ask("solve", student, minutes)["solutions"]
    lines = [f"{sheet.id}, student {student.strip()}", *(f"{each['task']}: {each['told']}" for each in found)]
    return "\n".join(lines) + "\n"
