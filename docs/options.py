"""The tables of options in docs/commands.md, from the commands that `aqmlab` declares."""

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

import typer
from marks import between
from tables import table

from aqmlab.cli import app

DEFAULT = re.compile(r"; default: (.+?)(?:\.(?= |$)|;|$)")
"""The default in the help of an option."""
OPTION = re.compile(r"(?<![\w-])--\w[\w-]*")


def page(text: str) -> str:
    """Return docs/commands.md with the table of each command between its marks written again."""
    for name, command in commands(typer.main.get_command(app)):
        text = between(text, f"options of {name}", options(command))
    return text


def commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each command with options or arguments by its full name, as in `kernel build`."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        elif command.params:
            yield f"{before}{name}", command


def options(command: Any) -> str:
    """Return the table of a command: its arguments first, then its options in the order of `--help`."""
    shown = [param for param in command.params if not getattr(param, "hidden", False)]
    order = sorted(shown, key=lambda param: param.param_type_name != "argument")
    return table(("name", "value", "default", "meaning"), [row(param) for param in order])


def row(param: Any) -> tuple[str, str, str, str]:
    """Return the row of an argument or option."""
    help_text, in_help = split(param.help)
    meaning = OPTION.sub(r"`\g<0>`", help_text.replace("*", r"\*"))
    if param.param_type_name == "argument":
        return f"`{param.metavar}`", "", "required" if param.required else in_help, meaning
    names = ", ".join(f"`{name}`" for name in [*param.opts, *param.secondary_opts])
    value = "" if param.is_flag else f"`{metavar(param)}`"
    return names, value, "required" if param.required else in_help or default(param), meaning


def metavar(param: Any) -> str:
    """Return the name of an option's value, or the values that it accepts."""
    return str(param.metavar or "|".join(getattr(param.type, "choices", ())) or "TEXT")


def default(param: Any) -> str:
    """Return an option's declared default, as it is written on the command line."""
    value = param.default.value if isinstance(param.default, Enum) else param.default
    if isinstance(value, bool):
        return f"`{param.opts[0]}`" if value else ""
    return "" if value is None else f"`{value}`"


def split(text: str) -> tuple[str, str]:
    """Return the help of an option without its default, and the default."""
    if not (found := DEFAULT.search(text)):
        return text, ""
    rest = text[found.end() :].strip(" ;")
    before = text[: found.start()]
    after = f" {rest[:1].upper()}{rest[1:]}" if rest else ""
    return f"{before}.{after}", found[1]
