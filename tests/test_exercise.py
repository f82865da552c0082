"""Exercises: right answers are taken in any wording, wrong ones refused with a hint that does not tell them."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest

from aqmlab import InputError
from aqmlab.entries import loads
from aqmlab.exercise import MINUTES, Answers, ExerciseSheet, check, sheet, sheets, table
from aqmlab.studio.lessons import Expected, Step, Try, lesson, lessons
from aqmlab.studio.lessons.play import play, seen
from conftest import Aqmlab
from exercise_words import oddly, solved, wrongly

FAST = ("01-bufferbloat",)
"""Sheets whose runs take a tenth of a second; those of the others wait for the night."""
SHEETS = [pytest.param(each, id=each.id, marks=[] if each.id in FAST else pytest.mark.nightly) for each in sheets()]


def values_of(each: ExerciseSheet, student: str) -> dict[str, str]:
    found: dict[str, str] = each.ask("show", student, 15)["values"]
    return found


def taken(each: ExerciseSheet, given: dict[str, str], student: str = "4711", minutes: int = 90) -> dict[str, bool]:
    answers = Answers(each.id, student, minutes, given)
    return {verdict.task: verdict.taken for verdict in check(each, answers)}


@pytest.mark.parametrize("each", SHEETS)
def test_right_answers_are_taken_whole_and_rounded_and_in_other_words(each: ExerciseSheet) -> None:
    right = solved(each, "4711", 90)
    assert all(taken(each, right).values())
    found = taken(each, oddly(each, right))
    assert [name for name, right in found.items() if not right] == []


@pytest.mark.parametrize("each", SHEETS)
def test_wrong_answers_are_refused_with_a_hint_that_does_not_tell(each: ExerciseSheet) -> None:
    right = solved(each, "4711", 90)
    measured = [task.id for task in each.of(90) if task.kind in ("do", "compare")]
    verdicts = check(each, Answers(each.id, "4711", 90, wrongly(each, right)))
    assert not any(verdict.taken for verdict in verdicts)
    for verdict in verdicts:
        assert len(verdict.told) > 10
        if verdict.task in measured:
            assert right[verdict.task].split()[0] not in verdict.told


@pytest.mark.parametrize("each", sheets(), ids=lambda each: each.id)
def test_a_sheet_has_something_to_predict_to_do_and_to_explain_in_every_length(each: ExerciseSheet) -> None:
    counts = [len(each.of(minutes)) for minutes in MINUTES]
    assert counts[0] >= 4
    assert counts[0] < counts[1] < counts[2]
    kinds = {task.kind for task in each.of(15)}
    assert {"predict", "do", "explain"} <= kinds
    combinations = 1
    for values in each.individual.values():
        combinations *= len(set(values))
    assert combinations >= 18
    assert all(task.hint for task in each.tasks if task.kind in ("do", "compare"))
    assert not any(re.search(r"[{}]", task["words"]) for task in each.ask("show", "1", 90)["tasks"])
    assert each.title == lesson(each.id).title


def test_every_lesson_has_a_sheet() -> None:
    assert [each.id for each in sheets()] == [each.id for each in lessons()]


def test_students_have_parameters_of_their_own_which_stay() -> None:
    each = sheet("01-bufferbloat")
    values = [values_of(each, str(number)) for number in range(200)]
    assert len({tuple(found.values()) for found in values}) == 40  # five rates, eight buffers
    assert values_of(each, " S1 ") == values_of(each, "s1")
    # stays as long as sheets do: who hands in later has the same
    assert values_of(each, "4711") == {"links.up.rate": "10 Mbit/s", "links.up.buffer": "950 ms"}


def test_the_file_that_a_page_leaves_is_read_again(tmp_path: Path) -> None:
    given = {"guess": '1 ms "at most"', "standing": "", "managed": "2 ms # \\", "why": "TCP fills it:\n'always'"}
    file = tmp_path / "answers.toml"
    file.write_text(sheet("01-bufferbloat").ask("file", "Zoë 1", 15, given)["text"], encoding="utf-8")
    assert Answers.read(file) == Answers("01-bufferbloat", "Zoë 1", 15, given)


def test_answers_of_another_student_are_wrong_and_stand_out(tmp_path: Path) -> None:
    each = sheet("01-bufferbloat")
    copied = solved(each, "4711", 15)
    rows = list(
        csv.DictReader(table(each, [Answers(each.id, name, 15, copied) for name in ("4711", "1001")]).splitlines())
    )
    assert [(row["student"], row["taken"], row["of"], row["same_as"]) for row in rows] == [
        ("4711", "4", "4", "1001"),
        ("1001", "3", "4", "4711"),
    ]
    assert rows[1]["standing"] == "0"
    assert rows[0]["short"] == ""


def test_no_student_is_a_formula() -> None:
    each = sheet("01-bufferbloat")
    assert "\n'=1+1," in table(each, [Answers(each.id, "=1+1", 15, {})])


def test_a_sheet_measures_as_a_lesson_does() -> None:
    """Lessons are played in Python, exercises by the engine: both see the same of a curve."""
    each = sheet("01-bufferbloat")
    lent = replace(lesson(each.id), scenario=each.ask("show", "4711", 90)["scenario"])
    measured = {found["task"]: found["measured"] for found in each.ask("solve", "4711", 90)["solutions"]}
    for entry in loads(each.text)["tasks"]:
        if entry["kind"] == "do":
            wanted = Expected(0, entry["curve"], *entry["between"], "mean", "", 0)
            steps = tuple(Step(step["at"], step["path"], step["value"], None) for step in entry.get("steps", ()))
            curves = play(lent, Try("", "", (entry["aqm"],), steps, wanted.end, (wanted,)), 0)
            assert seen(wanted, curves[wanted.curve]) == pytest.approx(measured[entry["id"]], rel=1e-6)


def test_a_slip_of_the_unit_is_named() -> None:
    each = sheet("01-bufferbloat")
    given = solved(each, "4711", 15)
    given["standing"] = given["standing"].replace("ms", "s")
    [found] = [verdict for verdict in check(each, Answers(each.id, "4711", 15, given)) if verdict.task == "standing"]
    assert (found.taken, found.told) == (False, "the digits are right and the unit is not: look at the axis again")
    given["standing"] = given["standing"].split()[0]
    [found] = [verdict for verdict in check(each, Answers(each.id, "4711", 15, given)) if verdict.task == "standing"]
    assert (found.taken, found.told) == (False, "its unit is missing or wrong; write it as in 12 ms")


def test_a_sheet_is_shown_filled_in_checked_and_marked(aqmlab: Aqmlab, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shown = aqmlab("exercise", "show", "01-bufferbloat", "--student", "4711", "--minutes", "15", "--out", str(mine))
    assert shown.returncode == 0
    assert (mine / "sheet.md").read_text() == shown.stdout
    assert 'rate = "10 Mbit/s"' in (mine / "scenario.toml").read_text()
    file = mine / "answers.toml"
    assert aqmlab("exercise", "check", "01-bufferbloat", str(file)).returncode == 1
    again = aqmlab("exercise", "show", "01-bufferbloat", "--student", "4711", "--out", str(mine))
    assert again.returncode == 2
    assert "may be filled in" in again.stderr
    solution = aqmlab("exercise", "solution", "01-bufferbloat", "--student", "4711", "--minutes", "15").stdout
    told = dict(line.split(": ", 1) for line in solution.splitlines()[1:])
    text = file.read_text()
    for task, answer in told.items():
        text = text.replace(f'{task} = ""', f'{task} = "{answer.rpartition(" as ")[2]}"')
    file.write_text(text)
    found = aqmlab("exercise", "check", "01-bufferbloat", str(file))
    assert (found.returncode, found.stdout.splitlines()[-1]) == (0, "4 of 4 accepted")
    marks = aqmlab("exercise", "mark", "01-bufferbloat", str(file)).stdout
    assert marks.splitlines()[1].startswith("4711,15,4,4,1,1,1,1,")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('sheet = "01-bufferbloat"\n', "student: is missing"),
        ('sheet = "02-red-knobs"\nstudent = "1"\n', "for another sheet"),
        ('sheet = "01-bufferbloat"\nstudent = "1"\nminutes = 20\n', "20: expected 15, 45 or 90"),
        ('sheet = "01-bufferbloat"\nstudent = "1"\n[answers]\nstandin = "1 ms"\n', 'did you mean "standing"'),
        ('sheet = "01-bufferbloat"\nstudent = "1"\nanswers = 3\n', "expected a table"),
        ("sheet =", "answers.toml"),
    ],
)
def test_a_file_that_is_no_file_of_answers_is_refused(within: Aqmlab, tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "answers.toml").write_text(text)
    found = within("exercise", "check", "01-bufferbloat", str(tmp_path / "answers.toml"))
    assert found.returncode == 2
    assert told in found.stderr
    assert "Traceback" not in found.stderr


def test_an_unknown_sheet_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match='did you mean "01-bufferbloat"'):
        sheet("01-buferbloat")
