"""JSON documents of measurement tools: their limits, their damage, and columns of numbers in them."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from aqmlab import untrusted
from aqmlab.problems import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

T = TypeVar("T")

_LONGEST_TEXT = 200
"""Characters of a text in a file that a fact repeats."""
_LARGEST = 1e15
"""Magnitude of a number in a column, in the unit of the file."""
_MOST_GAPS = 50
"""Missing probes for each one that was answered, beyond which the numbers are damaged."""


def documents(path: Path, expected: str, read: Callable[[], T]) -> T:
    """Return what `read` returns; InputError that names the file and what was `expected` for a damaged document."""
    try:
        return read()
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        reason = f"has no {error}" if isinstance(error, KeyError) else f"is damaged ({error})"
        raise InputError("file", f"{path}: {reason}; expected {expected}") from None


def parsed(content: bytes) -> Any:
    """Return a document; ValueError for any other text."""
    return untrusted.parse_json(content)


def text(value: object) -> str:
    """Return a value of a file as a fact states it."""
    return str(value)[:_LONGEST_TEXT]


def numbers(rows: Iterable[Mapping[str, Any]], key: str) -> "Floats":
    """Return a column; NaN where a row has no value. ValueError or TypeError for no number or a huge one."""
    import numpy as np

    found = np.array([np.nan if (value := row.get(key)) is None else float(value) for row in rows], dtype=float)
    if (np.abs(found) > _LARGEST).any():
        raise ValueError(f"{key}: {np.nanmax(np.abs(found)):g}; at most {_LARGEST:g}")
    return found


def probes(number: "Floats", sent: "Floats", delay: "Floats") -> "tuple[Floats, Floats]":
    """Return times and delays of all probes of a sequence, NaN for those without an answer.

    `number` are the sequence numbers of the answers. A missing probe was sent at the time between its neighbours.
    """
    import numpy as np

    _, first = np.unique(number, return_index=True)
    number, sent, delay = number[first], sent[first], delay[first]
    span = number[-1] - number[0]
    if not np.isfinite(span) or span > _MOST_GAPS * len(number) + 1000:
        raise ValueError(f"sequence numbers over {span:,.0f} for {len(number):,} answers")
    every = np.arange(int(span) + 1) + number[0]
    times, delays = np.interp(every, number, sent), np.full(len(every), np.nan)
    delays[(number - number[0]).astype(int)] = delay
    return np.maximum.accumulate(times), delays
