"""Data in TOML: files of the package, and their entries as dataclasses."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib.resources import files
from tomllib import loads
from typing import Any, TypeVar

__all__ = ["families", "filled", "insert", "loads", "of_family", "read_file"]

T = TypeVar("T")


def read_file(package: str, *path: str) -> dict[str, Any]:
    """Return the contents of a file in a package."""
    return loads(files(package).joinpath(*path).read_text(encoding="utf-8"))


def filled(kind: type[T], entry: Mapping[str, Any]) -> T:
    """Return a dataclass with those values of an entry that are its fields; lists become tuples."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    known = {name: value for name, value in entry.items() if name in names}
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in known.items()})


def families() -> dict[str, Any]:
    """Return the texts of the built-in scenarios that differ from another one in a few values, by name.

    `families/<study>.toml` lists them: a family has the text `of` a scenario. The first of its `rows` are the values
    of that scenario, each other row those of a scenario called `name`. `places` are the parts of the text that contain
    values, whose names are in angle brackets.
    """
    found: dict[str, Any] = {}
    for item in (files("aqmlab") / "families").iterdir():
        for family in loads(item.read_text(encoding="utf-8"))["families"]:
            name = f"{family['of'].partition('/')[0]}/{family['name']}"
            found |= {insert(name, _values(family, row)): of_family(family, row) for row in family["rows"][1:]}
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
    """Return a text with each value in the place of its name in angle brackets: "<rate> Mbit/s"."""
    for name, value in values.items():
        text = text.replace(f"<{name}>", str(value))
    return text
