"""The page of the Python API, from signatures and docstrings; `generate.py` writes it."""

import inspect
import re
from importlib import import_module
from typing import Any

PACKAGES = ("aqmlab", "aqmlab.advise", "aqmlab.tc", "aqmlab.tune", "aqmlab.worst", "aqmlab.gym")
HEAD = """# Python, name by name

{note}

What each package offers, from its own docstrings. [Python](python.md) shows how the parts go together. The Rust crates
have pages of their own: `cargo doc --no-deps --open` in a clone."""


def page(note: str) -> str:
    """All public names, by package."""
    parts = [HEAD.format(note=note)]
    for package in PACKAGES:
        module = import_module(package)
        parts += [f"## {package}", paragraphs(module)]
        names = [name for name in sorted(getattr(module, "__all__", ())) if not name.startswith("__")]
        parts += [described(f"{package}.{name}", getattr(module, name)) for name in names]
    return "\n\n".join(parts) + "\n"


def described(name: str, what: Any) -> str:
    """One name: how it is called, what it does, and for a class its methods."""
    if not callable(what):
        return f"### {name}\n\n`{what!r}`"
    found = [f"### {name}", f"```py\n{name}{signature(what)}\n```", paragraphs(what)]
    if inspect.isclass(what):
        found += [f"`{method}`\n:   {line}" for method, line in methods(what)]
    return "\n\n".join(part for part in found if part)


def signature(what: Any) -> str:
    """The arguments, a line each where there are many."""
    try:
        text = str(inspect.signature(what))
    except ValueError:  # a class of the engine that only the engine makes
        return ""
    text = re.sub(r"<function [\w.]+ at 0x\w+>", "...", text)
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)
    return text.replace("typing.", "").replace("collections.abc.", "")


def methods(what: type) -> list[tuple[str, str]]:
    """The public methods and properties that a class itself has, with their first line."""
    found = []
    for name, member in sorted(vars(what).items()):
        if name.startswith("_") or not (
            callable(member) or inspect.isdatadescriptor(member) or hasattr(member, "__func__")
        ):
            continue
        if text := inspect.getdoc(member):
            found.append((name, text.partition("\n\n")[0].replace("\n", " ")))
    return found


def paragraphs(what: Any) -> str:
    """A docstring; examples at the prompt become code."""
    text = inspect.getdoc(what) or ""
    return re.sub(r"((?:^>>> .*\n?)+)", lambda lines: f"```py\n{lines[1].rstrip()}\n```\n", text, flags=re.MULTILINE)
