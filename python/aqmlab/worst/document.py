"""A scenario as a document of TOML: its values by path, and its text."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

Document = dict[str, Any]
"""A scenario; None takes the place of a part that was left out, so that positions in lists stay."""

Path = tuple[str | int, ...]
"""Keys and positions from the top of a document to a value."""

FIRST = (
    "schema",
    "title",
    "duration",
    "warmup",
    "name",
    "kind",
    "at",
    "path",
    "rate",
    "delay",
    "buffer",
    "count",
    "rtt",
)
"""Keys in the order in which people read them; others follow."""

LISTS = ("links", "flows", "changes", "buffers", "stations", "sites", "plans")
"""Keys of lists of tables, which are written as `[[links]]`."""


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the path of everything in a document, tables before their contents; nothing that was left out."""
    if path:
        yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        if each is not None:
            yield from leaves(each, (*path, key))


def get(document: Document, path: Path) -> Any:
    """Return what is at a path; None if nothing is."""
    found: Any = document
    for key in path:
        if isinstance(found, dict):
            found = found.get(str(key))
        elif isinstance(found, list) and isinstance(key, int) and key < len(found):
            found = found[key]
        else:
            return None
    return found


def put(document: Document, path: Path, value: Any) -> Document:
    """Return a document with another value at a path; None leaves it out. The one given does not change."""
    return _put(document, path, value)  # type: ignore[no-any-return]


def _put(part: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    if isinstance(part, list):
        return [_put(each, path[1:], value) if i == path[0] else each for i, each in enumerate(part)]
    return {**part, str(path[0]): _put(part.get(path[0]), path[1:], value)}


def named(document: Document, path: Path) -> str:
    """Return a path in the form of `--set`: links and flows by their names, "links.link.rate"."""
    parts: list[str] = []
    for i, key in enumerate(path):
        name = get(document, (*path[: i + 1], "name")) if isinstance(key, int) else key
        parts.append(str(key if name is None else name))
    return ".".join(parts)


def groups(document: Document) -> list[Mapping[str, Any]]:
    """Return the groups of flows."""
    return [each for each in document.get("flows") or [] if each is not None]


def written(document: Document) -> str:
    """Return a document as TOML, without blank lines within a table."""
    lines = _pairs({key: value for key, value in document.items() if key not in LISTS})
    for name in LISTS:
        for row in document.get(name) or []:
            if row is not None:
                lines += ["", f"[[{name}]]", *_pairs(row)]
    return "\n".join(lines) + "\n"


def _pairs(table: Mapping[str, Any]) -> list[str]:
    keys = sorted(table, key=lambda key: FIRST.index(key) if key in FIRST else len(FIRST))
    return [f"{_key(key)} = {_value(table[key])}" for key in keys if _is_there(table[key])]


def size(text: str) -> int:
    """Return the number of lines of a text that are not empty."""
    return sum(bool(line) for line in text.splitlines())


def _is_there(value: Any) -> bool:
    return value is not None and value != {}


def _key(key: str) -> str:
    return key if key.replace("-", "").replace("_", "").isalnum() and key.isascii() else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        inner = (f"{_key(key)} = {_value(each)}" for key, each in value.items() if _is_there(each))
        return f"{{ {', '.join(inner)} }}"
    if isinstance(value, list):
        return f"[{', '.join(_value(each) for each in value if each is not None)}]"
    return json.dumps(value, ensure_ascii=False)
