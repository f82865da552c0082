"""The extras: packages that `pip install aqmlab` leaves out, such as the extra `reports`.

The package's own metadata has the list, so it is written in pyproject.toml only.
"""

import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

FOR_DEVELOPERS = ("dev",)
"""Extras that no user needs."""

_REQUIREMENT = re.compile(r"""(([\w.-]+)[^;]*);.*\bextra == ["']([\w-]+)["']""")


class MissingExtraError(ModuleNotFoundError):
    """An extra is not installed; the message contains the command that installs it."""


@contextmanager
def required() -> Iterator[None]:
    """Say which extra has the package that an import lacks; any other missing module stays a fault."""
    try:
        yield
    except ModuleNotFoundError as error:
        line = advice(error)
        if line is None:
            raise
        raise MissingExtraError(f"{error.name} is not installed: {line}", name=error.name) from None


def check(*packages: str) -> None:
    """Raise MissingExtraError unless these packages, which extras bring, are installed. Imports nothing.

    Callers check before they start work that would be lost.
    """
    with required():
        for name in packages:
            if find_spec(name) is None:
                raise ModuleNotFoundError(name=name)


def extras() -> dict[str, list[str]]:
    """Return the packages of each extra; they are imported by the names under which they are installed."""
    return {extra: list(wanted) for extra, wanted in _requirements().items()}


def _requirements() -> dict[str, dict[str, str]]:
    """Return the packages of each extra with their requirements for pip, such as "jinja2>=3.1"."""
    from importlib.metadata import requires

    found: dict[str, dict[str, str]] = {}
    for line in requires("aqmlab") or ():
        wanted = _REQUIREMENT.match(line)
        if wanted and wanted[3] not in FOR_DEVELOPERS:
            found.setdefault(wanted[3], {})[wanted[2].lower()] = wanted[1].replace(" ", "")
    return found


def absent() -> dict[str, list[str]]:
    """Return the extras with missing packages, and these packages."""
    lacks = {extra: [name for name in names if find_spec(name) is None] for extra, names in extras().items()}
    return {extra: names for extra, names in lacks.items() if names}


def install(*names: str) -> str:
    """Return the command that installs the packages of extras for this Python.

    It names the packages, as an index need not have aqmlab, and a wheel may be gone from where it was installed from.
    """
    wanted = [text for name in names for text in _requirements()[name].values()]
    return shlex.join([sys.executable, "-m", "pip", "install", *wanted])


def advice(error: ModuleNotFoundError) -> str | None:
    """Return the command that installs a missing import; None if no extra contains it."""
    package = (error.name or "").partition(".")[0]
    return next((install(extra) for extra, names in extras().items() if package in names), None)
