"""Names from anywhere: unknown ones, in one wording with the nearest valid one, and as a terminal may show them."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from aqmlab._core import InputError

FEW = 12
"""Most names that an error lists."""

K = TypeVar("K")
V = TypeVar("V")


def unknown(field: str, what: str, name: str, known: Iterable[str]) -> InputError:
    """Return the error for a `name` given in `field` that is none of `known`; `what` says what it is not."""
    return InputError(f'{field}: {what} "{name}"; {_hint(name, known)}')


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """Return the question whether the nearest of some names was meant, or None if none is near."""
    near = get_close_matches(name, sorted(set(known)), n=1, cutoff=0.5)
    return f'did you mean "{near[0]}"?' if near else None


def _hint(name: str, known: Iterable[str]) -> str:
    """The nearest name; without one that is near, all names if they are few, or else those that are least far."""
    choices = sorted(set(known))
    if asked := suggestion(name, choices):
        return asked
    if len(choices) <= FEW:
        return f"known: {', '.join(choices) or 'none'}"
    nearest = get_close_matches(name, choices, n=3, cutoff=0)
    return f"nearest of {len(choices)}: {', '.join(nearest)}; aqmlab list has all"


class UnknownNameError(InputError, KeyError):
    """A name that a result does not have; the message has the nearest one."""

    __str__ = Exception.__str__


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
        raise UnknownNameError(f'{self.field}: unknown name "{name}"; {_hint(name, known)}')


def plain(text: str) -> str:
    """Return a text without what a terminal would obey: control characters are written out.

    Lines, tabs and fixed spaces stay.
    """
    shown = (each.isprintable() or each in "\n\t\N{NO-BREAK SPACE}" for each in text)
    return "".join(each if is_shown else ascii(each)[1:-1] for each, is_shown in zip(text, shown, strict=True))
