"""Quantities as text, and in base units: s, bit/s, B, packets, Hz; and numbers as callers give them."""

from math import inf
from numbers import Integral

from aqmlab import _core
from aqmlab.problems import InputError

UNITS = {"time": (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)), "bit/s": (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3))}
"""The units in which we write times and rates."""


def number(text: str) -> float | str:
    """Return a quantity in its base unit; any other text (a controller, "auto") unchanged."""
    found = _core.quantity(text)
    return found[0] if found else text


def quantity(text: str) -> float:
    """Return a quantity in its base unit. ValueError for any other text."""
    found = _core.quantity(text)
    if found is None:
        raise ValueError(f"{text!r} is not a quantity")
    return found[0]


def written(value: float, unit: str) -> str:
    """Return a number in our base unit as text."""
    for suffix, scale in UNITS.get(unit, ()):
        if value >= scale:
            return f"{value / scale:.12g} {suffix}"
    if unit in ("packets", "B", "Hz", "bit/s", "time"):
        return f"{value:.12g} {'s' if unit == 'time' else unit}"
    return f"{value:.12g}"


def option_value(option: str, text: str | None, unit: str) -> float | None:
    """Return the value of an option, such as "50Mbit/s", in bit/s or s; InputError for anything else."""
    return None if text is None else read(option, text, unit)


def read(field: str, text: str, unit: str) -> float:
    """Return a rate ("bit/s") or a time ("s"), such as "50Mbit/s"; InputError for anything else."""
    found = _core.quantity(text)
    if found is None or found[1] != unit or found[0] <= 0:
        example = {"bit/s": "a rate; write e.g. 50Mbit/s", "s": "a time; write e.g. 30ms"}[unit]
        raise InputError(field, f'"{text}" is not {example}')
    return found[0]


def whole(field: str, value: object, least: int, most: int) -> int:
    """Return a whole number from `least` to `most`; InputError, which names the field, for anything else."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        raise InputError(field, f"{shown(value)}: expected a whole number from {least} to {most}")
    return int(value)


def real(value: float) -> float:
    """Return a number as a float; an integer that is beyond all of them is infinite."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def shown(value: object) -> str:
    """Return a value as an error has it, 60 characters at most."""
    try:
        return repr(value)[:60]
    except ValueError:  # Python writes no more digits
        return "an integer of more than 4,300 digits"
