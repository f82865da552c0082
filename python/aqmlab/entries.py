"""Data in TOML: files of the package, and their entries as dataclasses."""

from collections.abc import Mapping
from dataclasses import fields
from importlib.resources import files
from tomllib import loads
from typing import Any, TypeVar

__all__ = ["filled", "insert", "loads", "read_file"]

T = TypeVar("T")


def read_file(package: str, *path: str) -> dict[str, Any]:
    """Return the contents of a file in a package."""
    return loads(files(package).joinpath(*path).read_text(encoding="utf-8"))


def filled(kind: type[T], entry: Mapping[str, Any]) -> T:
    """Return a dataclass with those values of an entry that are its fields; lists become tuples."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    known = {name: value for name, value in entry.items() if name in names}
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in known.items()})


def insert(text: str, values: Mapping[str, object]) -> str:
    """Return a text with each value in the place of its name in angle brackets: "<rate> Mbit/s"."""
    for name, value in values.items():
        text = text.replace(f"<{name}>", str(value))
    return text
