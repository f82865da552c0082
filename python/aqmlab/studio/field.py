"""Fields of a message from the browser; InputError for anything that is not as it should be."""

import json
from collections.abc import Iterable
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed leaves it out
from typing import Any, TypeVar

from aqmlab import untrusted
from aqmlab.names import unknown
from aqmlab.problems import InputError

T = TypeVar("T")
LONGEST_TEXT = 1000
"""Characters of a name, a path or a value."""
MOST_DIGITS = 4000
"""Of an integer in a message; what is out of range is refused with the name of its field."""

MOST_OUTSIDE = 5000
"""Characters of a message outside of its texts: the interpreter is busy with these for less than a millisecond."""
MOST_TEXTS = 1000
"""Texts of a message, names of fields included."""


def read(text: str) -> dict[str, Any]:
    """Return a JSON object, which can be written as JSON again: its numbers are finite, its characters are whole."""
    if not _is_plain(text):
        raise InputError("message", f"more than {MOST_OUTSIDE} characters outside of texts, or {MOST_TEXTS} texts")
    try:
        found = untrusted.parse_json(text, most_digits=MOST_DIGITS)
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        raise InputError("message", "has half of a character (a lone surrogate); expected Unicode text") from error
    except ValueError as error:
        raise InputError("message", f"is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InputError("message", "expected a JSON object")
    return found


def _is_plain(text: str) -> bool:
    """Return whether the part of a message outside of its texts is as small as in every message of the page."""
    at = outside = 0
    for _ in range(MOST_TEXTS + 1):
        quote = text.find('"', at)
        outside += (len(text) if quote < 0 else quote) - at
        if quote < 0 or outside > MOST_OUTSIDE:
            return outside <= MOST_OUTSIDE
        try:
            _, at = scanstring(text, quote + 1)
        except ValueError:
            return True  # whoever reads it says what is wrong there
    return False


def text(message: dict[str, Any], key: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text."""
    found = message.get(key)
    if not isinstance(found, str):
        raise InputError(key, "expected a text")
    if len(found) > longest:
        raise InputError(key, f"longer than {longest} characters")
    return found


def one_of(message: dict[str, Any], key: str, known: Iterable[T]) -> T:
    """Return what is one of `known`."""
    found, choices = message.get(key), list(known)
    for choice in choices:
        if type(found) is type(choice) and found == choice:
            return choice
    raise unknown(key, "unknown choice", str(found)[:60], map(str, choices))
