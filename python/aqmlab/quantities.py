"""Quantities that the engine has written as text, in base units: s, bit/s, B, packets, Hz."""

from aqmlab import _core


def number(text: str) -> float | str:
    """Return a quantity in its base unit; any other text (a law, "auto") unchanged."""
    found = _core.quantity(text)
    return found[0] if found else text


def quantity(text: str) -> float:
    """Return a quantity in its base unit. ValueError for any other text."""
    found = _core.quantity(text)
    if found is None:
        raise ValueError(f"{text!r} is not a quantity")
    return found[0]
