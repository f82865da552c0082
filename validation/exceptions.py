"""Read `exceptions.toml`: the cells that differ from another simulator or a kernel and are accepted, and their causes.

A cell is a measure of a row. `faults` compares the list with the cells that differ: both must be equal.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pages

FILE = Path(__file__).parent / "exceptions.toml"

Cells = Mapping[str, Sequence[str]]
"""The measures that differ, by row."""


@dataclass(frozen=True)
class Accepted:
    """Cells that differ for the same reason."""

    cells: Cells
    cause: str = "Not known."
    trial: Mapping[str, str] | None = None
    """A change of the scenario that was tried: its description, and the text before and after it."""


@cache
def _stored() -> Mapping[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def accepted(source: str) -> list[Accepted]:
    """Return the accepted cells of a source: ns2, traffic, ns3, linux, kernel, random, reported or bbr."""
    trials = _stored()["trials"]
    return [
        Accepted(each["cells"], each.get("cause", Accepted.cause), trials[each["trial"]] if "trial" in each else None)
        for each in _stored().get(source, [])
    ]


def of_row(source: str, row: str) -> Accepted:
    """Return the entry that lists a row, or an empty one."""
    return next((each for each in accepted(source) if row in each.cells), Accepted({}))


def causes(source: str, differing: Cells) -> list[str]:
    """Return a table of the rows that differ, by cause."""
    known = [("; ".join(row for row in each.cells if row in differing), each.cause) for each in accepted(source)]
    return pages.table(["rows that do not agree", "cause"], [each for each in known if each[0]])


def faults(source: str, differing: Cells) -> list[str]:
    """Return the cells that differ without being accepted, and those that are accepted without differing."""
    listed = {(row, cell) for each in accepted(source) for row, cells in each.cells.items() for cell in cells}
    found = {(row, cell) for row, cells in differing.items() for cell in cells}
    return [
        *(f"{row}: {cell} differs and is not in {FILE.name}" for row, cell in sorted(found - listed)),
        *(f"{row}: {cell} is in {FILE.name} and does not differ" for row, cell in sorted(listed - found)),
    ]
