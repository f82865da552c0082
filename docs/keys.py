"""The page of all keys of a scenario, from their declarations."""

from collections.abc import Iterator, Mapping
from typing import Any

from tables import table

from aqmlab.runs import schemas

Schema = Mapping[str, Any]
SCHEMA = schemas.schema("scenario")
LINK = SCHEMA["properties"]["links"]["items"]["properties"]
INTRODUCTION = """\
Every key of a [scenario file](scenarios.md), with its values, its default and its meaning. A key with neither a default
nor `required` may be left out unless its meaning or a message says otherwise. `aqmlab schema scenario` prints the same
for editors and programs ([editors](scenarios.md#editors-and-programs))."""


def page(note: str) -> str:
    """The page."""
    top = {name: _flat(key) for name, key in SCHEMA["properties"].items()}
    parts = ["# Keys of a scenario", note, INTRODUCTION, "## The file", _table({**SCHEMA, "properties": top})]
    for name, key in SCHEMA["properties"].items():
        for path, section in _sections(name, key):
            parts += _section(path, section)
            parts += [part for kind in section.get("allOf", []) for part in _kind(path, kind)]
    return "\n\n".join(parts) + "\n"


def _sections(name: str, key: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the tables of a key that have headings: itself, and lists of tables in it."""
    if "properties" in key:
        yield f"[{name}]", key
    elif "properties" in key.get("items", {}):
        section = key["items"]
        yield f"[[{name}]]", section
        for inner, of in section["properties"].items():
            if "properties" in of.get("items", {}):
                yield f"[[{name}.{inner}]]", of["items"]


def _section(path: str, section: Schema) -> Iterator[str]:
    """Yield the keys of a table; where it has those of a link, too, these by reference."""
    of_kinds = {name for kind in section.get("allOf", []) for name in kind["then"]["properties"]}
    own = {name: key for name, key in section["properties"].items() if name not in of_kinds}
    yield f"## `{path}`"
    if path != "[[links]]" and (of_link := [name for name, key in own.items() if LINK.get(name) == key]):
        own = {name: key for name, key in own.items() if name not in of_link}
        yield f"It also has the keys of `[[links]]` from `{of_link[0]}` to `{of_link[-1]}`."
    yield _table({**section, "properties": own})


def _flat(key: Schema) -> Schema:
    """A key without those of its tables."""
    return {name: value for name, value in key.items() if name != "properties"}


def _kind(path: str, kind: Schema) -> Iterator[str]:
    """Yield the keys that come with a kind."""
    name = kind["if"]["properties"]["kind"]["const"]
    yield f'### `{path}` with `kind = "{name}"`'
    yield _table({**kind["then"], "properties": {name: key for name, key in kind["then"]["properties"].items() if key}})


def _table(section: Schema) -> str:
    rows = [row for name in section["properties"] for row in _rows("", name, section)]
    return table(("key", "values", "default", "meaning"), rows)


def _rows(path: str, name: str, section: Schema) -> Iterator[tuple[str, str, str, str]]:
    """Yield a key of a table at a path, then the keys of tables that it may be."""
    key = section["properties"][name]
    default = key.get("default", "" if name not in section.get("required", []) else "required")
    shown = f"`{str(default).lower() if isinstance(default, bool) else default}`" if "default" in key else default
    yield f"`{path}{name}`", _values(key), shown, key.get("description", "")
    for form in key.get("anyOf", [key]):
        for inner in form.get("properties", {}):
            yield from _rows(f"{path}{name}.", inner, form)


def _values(schema: Schema) -> str:
    """The values that fit a schema, in words."""
    schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if "title" in schema:
        return str(schema["title"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_values, schema["anyOf"])))
    if words := schema.get("enum", [each["const"] for each in schema.get("oneOf", [])]):
        return ", ".join(f"`{word}`" for word in words)
    if "const" in schema:
        return f"`{schema['const']}`"
    if "prefixItems" in schema:
        return f"[{', '.join(map(_values, schema['prefixItems']))}]"
    simple = {"boolean": "true or false", "string": "text", "object": "table"}
    return f"list: {_values(schema['items'])}" if "items" in schema else simple.get(schema.get("type", ""), "any value")
