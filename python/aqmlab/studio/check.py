"""Problems as the page shows them: the field, the message, and where in the text the field is."""

from typing import Any

from aqmlab.problems import Problem, problems_of

MOST = 100
"""Problems that are shown."""


def problems(error: Exception, lane: int | None = None) -> list[dict[str, Any]]:
    """Return the problems of an error, which may be of one lane."""
    return [_problem(each) | {"lane": lane} for each in problems_of(error)[:MOST]]


def _problem(problem: Problem) -> dict[str, Any]:
    at = problem.location
    where = {"line": at and at.line, "column": at and at.column, "length": at and at.length}
    return {"field": problem.path or None, "message": problem.reason, **where}
