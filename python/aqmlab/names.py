"""Names from anywhere: unknown ones, in one wording with the nearest valid one, and as a terminal may show them."""

import json
from collections.abc import Iterable, Mapping
from typing import TypeVar

from aqmlab import _core
from aqmlab.problems import InputError

K = TypeVar("K")
V = TypeVar("V")
LONGEST = 200
"""Characters of a name that is not known, as an error has it."""
KEPT = "\n\t\N{NO-BREAK SPACE}"
"""Characters that `plain` keeps, though they are not printable."""


def unknown(field: str, what: str, name: str, known: Iterable[str]) -> InputError:
    """Return the error for a `name` given in `field` that is none of `known`; `what` says what it is not."""
    return InputError(field, _reason(what, name, known), "unknown")


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """Return the question whether the nearest of some names was meant, or None if none is near."""
    near = _core.nearest(name, sorted(set(known)))
    return None if near is None else f'did you mean "{near}"?'


def _reason(what: str, name: str, known: Iterable[str]) -> str:
    shown = name if len(name) <= LONGEST else f"{name[:LONGEST]}..."
    return f'{what} "{shown}"; {_core.hint(name, sorted(set(known)))}'


def is_text(name: str) -> bool:
    """Return whether a name of a file, or an argument, which may have any bytes, can be written as UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


class UnknownNameError(InputError, KeyError):
    """A name that a result does not have; the message has the nearest one."""

    __str__ = InputError.__str__


class Named(dict[K, V]):
    """A part of a result by name: a dictionary whose error for an unknown name has the nearest one.

    `field` is what it is called in errors.
    """

    def __init__(self, field: str, items: Mapping[K, V]) -> None:
        super().__init__(items)
        self.field = field

    def __missing__(self, key: K) -> V:
        name = key if isinstance(key, str) else repr(key)
        known = [each if isinstance(each, str) else repr(each) for each in self]
        raise UnknownNameError(self.field, _reason("unknown name", name, known), "unknown")


def plain(text: str) -> str:
    r"""Return a text without what a terminal would obey: control characters are written out, as in "\u001b".

    That is how JSON escapes them, so a document stays the same document. Lines, tabs and fixed spaces stay.
    """
    return text.translate(_Shown())


class _Shown:
    """The table of `plain`: the replacement of a character, by its code."""

    def __getitem__(self, code: int) -> int | str:
        letter = chr(code)
        return code if letter.isprintable() or letter in KEPT else json.dumps(letter)[1:-1]
