"""Problems as the page shows them: the field, the message, and where in the text the field is."""

import json
from typing import Any

from aqmlab.problems import Problem, problems_of

MOST = 100
"""Problems that are shown."""


def problems(error: Exception, lane: int | None = None) -> list[dict[str, Any]]:
    """Return the problems of an error, which may be of one lane."""
    return [_problem(each) | {"lane": lane} for each in problems_of(error)[:MOST]]


def message(error: Exception, id: object) -> str:
    """Return the message that answers the request `id` with an error."""
    found = {"type": "problem", "problems": problems(error)}
    return json.dumps(found if id is None else found | {"id": id}, ensure_ascii=False)


def _problem(problem: Problem) -> dict[str, Any]:
    at = problem.location
    where = {"line": at and at.line, "column": at and at.column, "length": at and at.length}
    return {"field": problem.path or None, "message": problem.reason, **where}
