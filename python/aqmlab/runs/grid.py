"""The dimensions of an experiment: values, lists of values, and ranges, as texts with units."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from aqmlab.names import unknown
from aqmlab.problems import InputError

RANGE = ("from", "to", "steps", "scale")
SCALES = ("linear", "log")
MOST_STEPS = 1_000
QUANTITY = re.compile(r"([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)(.*)", re.DOTALL)


def flat(entry: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the paths and values of [set]; links.bottleneck.rate may be written with quotes or without."""
    if not isinstance(entry, dict):
        raise InputError("experiment.set", f"{entry!r}: expected a table of paths and values")
    for name, value in entry.items():
        if isinstance(value, dict) and "from" not in value:
            yield from flat(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def values_of(path: str, value: Any) -> list[str]:
    """Return the values of a dimension as texts: of a list, of a range, or the one value."""
    if isinstance(value, dict):
        return _range(f"experiment.{path}", value)
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(each, str | int | float) for each in values):
        raise InputError(f"experiment.{path}", f"{value!r}: expected a text, a number, or a list of them")
    return list(dict.fromkeys(str(each).lower() if isinstance(each, bool) else str(each) for each in values))


def _range(path: str, entry: Mapping[str, Any]) -> list[str]:
    """Return the values of { from = "50 Hz", to = "400 Hz", steps = 4, scale = "log" }, both ends included."""
    for key in entry.keys() - set(RANGE):
        raise unknown(path, "unknown key", key, RANGE)
    (low, unit), (high, other) = (_quantity(f"{path}.{end}", entry.get(end)) for end in ("from", "to"))
    steps, scale = entry.get("steps"), entry.get("scale", "linear")
    if unit != other:
        raise InputError(str(path), f'from is in "{unit}", to in "{other}"; write both in one unit')
    if not isinstance(steps, int) or isinstance(steps, bool) or not 2 <= steps <= MOST_STEPS:
        raise InputError(f"{path}.steps", f"{steps!r}: expected a number of values, 2 to {MOST_STEPS}")
    if scale not in SCALES:
        raise unknown(f"{path}.scale", "unknown scale", str(scale), SCALES)
    if scale == "log" and not low * high > 0:
        raise InputError(
            str(path), f"{low:g} to {high:g}: both ends of a log range must have the same sign and not be 0"
        )
    parts = [i / (steps - 1) for i in range(steps)]
    numbers = [low * (high / low) ** part if scale == "log" else low + (high - low) * part for part in parts]
    return [f"{number:.6g} {unit}".strip() for number in numbers]


def number(value: Any) -> tuple[float, str] | None:
    """Return the number and the unit, as written, of a quantity such as "85 Hz"; None for any other text."""
    match = None if isinstance(value, bool) else QUANTITY.fullmatch(str(value).strip())
    with suppress(ValueError):
        return (float(match[1]), match[2].strip()) if match else None
    return None


def _quantity(path: str, value: Any) -> tuple[float, str]:
    if found := number(value):
        return found
    raise InputError(str(path), f'{value!r}: expected a number with its unit, such as "50 Hz"')
