"""Exercises for the lessons: sheets whose answers are checked against the student's own run.

A sheet is `sheets/LESSON.toml`: parameters that differ from student to student, and tasks to predict, to do and to
explain. `sheet.py` finds it, `answers.py` reads what students write, `check.py` holds the one to the other, `marks.py`
makes the lecturer's table. What is right is decided in crates/exercise, for the studio's page too.
"""

from aqmlab.exercise.answers import Answers
from aqmlab.exercise.check import AnswerVerdict, check
from aqmlab.exercise.marks import table
from aqmlab.exercise.sheet import MINUTES, ExerciseSheet, sheet, sheets

__all__ = ["MINUTES", "AnswerVerdict", "Answers", "ExerciseSheet", "check", "sheet", "sheets", "table"]
