"""The problems of an input as values: the field, the reason, and where it is written."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple, overload

from aqmlab import _core

Kind = Literal["value", "unknown", "key", "missing", "syntax"]
"""A problem: the value; the value, which names what is not there; the field, which does not exist; that the field
is not there; the text around it, which does not follow its format."""


class Location(NamedTuple):
    """The place of a field in a file: line and column count from 1."""

    file: str
    line: int
    column: int
    length: int
    """Characters of it on this line, at least 1."""


class Problem(NamedTuple):
    """One refused value."""

    path: str
    """The field, such as "links.bottleneck.rate"; empty if it is the whole input."""
    reason: str
    """The value, what was expected, and the nearest valid choice."""
    kind: Kind = "value"
    location: Location | None = None
    """Its place, if it is in a file."""

    def __str__(self) -> str:
        at = self.location
        return (
            (f"{at.file}:{at.line}:{at.column}: " if at else "") + (f"{self.path}: " if self.path else "") + self.reason
        )


class InputError(ValueError):
    """An input that cannot be used: a scenario, a scheme, a parameter, an option.

    `InputError("seed", "-1: expected a number from 0 on")` contains one problem, `InputError(*problems)` several; its
    text lists one per row.
    """

    problems: tuple[Problem, ...]

    @overload
    def __init__(self, path: str, reason: str, kind: Kind = "value", /) -> None: ...
    @overload
    def __init__(self, *problems: Problem) -> None: ...
    def __init__(self, *given: "str | Problem") -> None:
        super().__init__(*given)
        self.problems = tuple(given) if isinstance(given[0], Problem) else (Problem(*given),)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


@contextmanager
def blamed_on(path: str) -> Iterator[None]:
    """Give the problems that are raised within this path: the field in which the user wrote the wrong value."""
    try:
        yield
    except InputError as error:
        raise InputError(*(each._replace(path=path) for each in error.problems)) from None


@contextmanager
def of_file(file: str) -> Iterator[None]:
    """Say of the problems raised here in which file they are, if they come from one."""
    try:
        yield
    except InputError as error:
        if not file:
            raise
        raise InputError(*(each._replace(path=f"{file}: {each.path}") for each in error.problems)) from None


@contextmanager
def located(before: str, text: str, file: str) -> Iterator[None]:
    """Say of the problems raised here where they are written in a text of TOML; its paths begin with `before`."""
    try:
        yield
    except InputError as error:
        raise InputError(*(_at(each, before, text, file) for each in error.problems)) from None


def _at(problem: Problem, before: str, text: str, file: str) -> Problem:
    if problem.location or not problem.path.startswith(before):
        return problem
    found = _core.location(text, file, problem.path.removeprefix(before), problem.kind == "key")
    if found is None and problem.kind == "missing":
        found = (file, 1, 1, 1)
    return problem._replace(location=found and Location(*found))


def problems_of(error: Exception) -> tuple[Problem, ...]:
    """Return the problems of an error; of any other than an InputError its text."""
    return error.problems if isinstance(error, InputError) else (Problem("", in_words(error)),)


def in_words(error: Exception) -> str:
    """Return the text of an error; of one of the system the file and the reason, without its number."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return re.sub(r"\[errno \d+\] | \(os error \d+\)", "", str(error), flags=re.IGNORECASE)
