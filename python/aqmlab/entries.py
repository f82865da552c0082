"""Data in TOML: files of the package, and their entries as dataclasses."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from importlib.resources import files
from itertools import product
from tomllib import loads
from typing import Any, TypeVar

__all__ = ["families", "filled", "insert", "loads", "of_family", "read_file", "varied"]

T = TypeVar("T")


def read_file(package: str, *path: str) -> dict[str, Any]:
    """Return the contents of a file in a package."""
    return loads(files(package).joinpath(*path).read_text(encoding="utf-8"))


def filled(kind: type[T], entry: Mapping[str, Any]) -> T:
    """Return a dataclass with those values of an entry that are its fields; lists become tuples."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    known = {name: value for name, value in entry.items() if name in names}
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in known.items()})


def families() -> dict[str, Callable[[], str]]:
    """Return functions for the texts of the built-in scenarios that differ from another one in a few values, by name.

    `families/<study>.toml` lists them. A family has the text `of` a scenario, whose values are the first of its `rows`;
    each other row gives the values of a scenario called `name`. `places` are the parts of the text that contain values,
    whose names are in angle brackets.
    """
    found: dict[str, Callable[[], str]] = {}
    for item in (files("aqmlab") / "families").iterdir():
        for family in loads(item.read_text(encoding="utf-8"))["families"]:
            name = f"{family['of'].partition('/')[0]}/{family['name']}"
            found |= {insert(name, _values(family, row)): partial(of_family, family, row) for row in family["rows"][1:]}
    return found


def of_family(family: Mapping[str, Any], row: Sequence[object]) -> str:
    """Return the text of the scenario of a family that has the values of a row."""
    first, values = _values(family, family["rows"][0]), _values(family, row)
    text = (files("aqmlab") / "scenarios" / f"{family['of']}.toml").read_text(encoding="utf-8")
    for place in family["places"]:
        text = text.replace(insert(place, first), insert(place, values))
    return text


def _values(family: Mapping[str, Any], row: Sequence[object]) -> dict[str, object]:
    return dict(zip(family["columns"], row, strict=True))


def insert(text: str, values: Mapping[str, object]) -> str:
    """Return a text with each value in the place of its name, <rtt>, and a multiple of it in the place of <4 rtt>."""
    for name, value in values.items():
        text = text.replace(f"<{name}>", str(value))
        if f" {name}>" in text:
            text = re.sub(rf"<(\d+) {name}>", partial(_multiple, value), text)
    return text


def _multiple(value: Any, found: re.Match[str]) -> str:
    return f"{int(found[1]) * float(value):g}"


def inserted(value: Any, values: Mapping[str, object]) -> Any:
    """Return a value with `insert` done to each text in it."""
    if isinstance(value, str):
        return insert(value, values)
    if isinstance(value, Mapping):
        return {key: inserted(each, values) for key, each in value.items()}
    return [inserted(each, values) for each in value] if isinstance(value, list) else value


def varied(entry: Mapping[str, Any], title: str) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
    """Yield an entry for every combination of the values that its `vary` lists, with the names of these values.

    The text at the key `title` contains the names instead of the values. In a list each value is its own name.
    """
    vary = entry.get("vary", {})
    choices = ({value: value for value in values} if isinstance(values, list) else values for values in vary.values())
    for pairs in product(*(each.items() for each in choices)):
        names, values = ({key: pair[part] for key, pair in zip(vary, pairs, strict=True)} for part in (0, 1))
        yield {**inserted(entry, values), title: insert(entry[title], names)}, names
