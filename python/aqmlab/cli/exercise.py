"""The command `exercise`, with those below it: list, show, check, mark and solution."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from aqmlab import files
from aqmlab.cli.common import leave, leave_file
from aqmlab.problems import InputError

EPILOG = "Example: aqmlab exercise show 01-bufferbloat --student s1234567 --out mine"

exercise = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Exercises for the lessons, with answers that are checked."
)

SheetName = Annotated[str, typer.Argument(metavar="SHEET", help="A sheet, such as 01-bufferbloat.")]
Student = Annotated[str, typer.Option(metavar="NUMBER", help="Student number, which determines the parameters.")]
Minutes = Annotated[int, typer.Option(metavar="15|45|90", help="Length of the sheet.")]


@exercise.command("list", epilog="Example: aqmlab exercise list")
def list_() -> None:
    """Print the sheets, with the number of tasks for 15, 45 and 90 minutes."""
    from aqmlab.exercise import MINUTES, sheets

    for each in sheets():
        counts = ", ".join(f"{len(each.of(minutes))} in {minutes} min" for minutes in MINUTES)
        print(f"{each.id}  {each.title}: {counts}")


@exercise.command(epilog=EPILOG)
def show(
    name: SheetName,
    student: Student,
    minutes: Minutes = 45,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for sheet.md, scenario.toml and answers.toml."),
    ] = None,
) -> None:
    """Print a student's sheet; --out also writes the scenario with the student's parameters."""
    from aqmlab import exercise
    from aqmlab.exercise.present import text

    sheet = exercise.sheet(name)
    words = text(sheet, student, minutes)
    if out is not None:
        files.check_folder(out)
        if os.path.lexists(out / "answers.toml"):
            raise InputError("out", f"{out}: answers.toml is there already and may be filled in; choose another folder")
        scenario, answers = (
            sheet.ask("show", student, minutes)["scenario"],
            sheet.ask("file", student, minutes)["text"],
        )
        leave(out, {"sheet.md": words, "scenario.toml": scenario, "answers.toml": answers})
    print(words, end="")


@exercise.command(epilog="Example: aqmlab exercise check 01-bufferbloat mine/answers.toml")
def check(
    name: SheetName,
    answers: Annotated[Path, typer.Argument(metavar="answers.toml", help="The answers.")],
) -> None:
    """Check answers against the student's own run; each rejected answer gets a hint.

    Exit code 1 if an answer is rejected, 2 if the file cannot be read.
    """
    from aqmlab import exercise

    found = exercise.check(exercise.sheet(name), exercise.Answers.read(answers))
    for verdict in found:
        print(f"{'accepted' if verdict.taken else 'rejected'}  {verdict.task}: {verdict.told}")
    print(f"{sum(verdict.taken for verdict in found)} of {len(found)} accepted")
    if not all(verdict.taken for verdict in found):
        raise typer.Exit(1)


@exercise.command(epilog="Example: aqmlab exercise mark 01-bufferbloat */answers.toml --out marks.csv")
def mark(
    name: SheetName,
    answers: Annotated[list[Path], typer.Argument(metavar="answers.toml...", help="The answers of all students.")],
    out: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Write the table to this file.")] = None,
) -> None:
    """Print the table of marks as CSV: one row per student, with the students who measured the same numbers."""
    from aqmlab import exercise

    if out is not None:
        files.check_file("out", out)
    found = exercise.table(exercise.sheet(name), [exercise.Answers.read(path) for path in answers])
    if out is None:
        sys.stdout.write(found)
    else:
        leave_file(out, found.encode())


@exercise.command(epilog="Example: aqmlab exercise solution 01-bufferbloat --student s1234567")
def solution(name: SheetName, student: Student, minutes: Minutes = 45) -> None:
    """Print the right answers of a student's sheet, for the lecturer."""
    from aqmlab import exercise
    from aqmlab.exercise.present import solutions

    print(solutions(exercise.sheet(name), student, minutes), end="")
