"""Read `exceptions.toml`: the cells that differ from another simulator or a kernel and are accepted, and why.

A cell is a measure of a row. `faults` compares the list with what differs: it must name these cells and no others.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "exceptions.toml"

Cells = Mapping[str, Sequence[str]]
"""The measures that differ, by row."""


@dataclass(frozen=True)
class Accepted:
    """Cells that differ for the same reason."""

    cells: Cells
    cause: str = "The cause is not known."
    trial: Mapping[str, str] | None = None
    """A change of our scenario that was tried: what it is, and the text before and after it."""


@cache
def _stored() -> Mapping[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def accepted(source: str) -> list[Accepted]:
    """Return what is accepted of a source ("ns2", "traffic", "ns3", "linux", "kernel", "random", "reported", "bbr")."""
    trials = _stored()["trials"]
    return [
        Accepted(each["cells"], each.get("cause", Accepted.cause), trials[each["trial"]] if "trial" in each else None)
        for each in _stored().get(source, [])
    ]


def of_row(source: str, row: str) -> Accepted:
    """Return what is known of a row; nothing is of one that is not listed."""
    return next((each for each in accepted(source) if row in each.cells), Accepted({}))


def notes(source: str, differing: Cells) -> list[str]:
    """Return a line of Markdown for each cause, with the rows that it explains."""
    known = [([row for row in each.cells if row in differing], each.cause) for each in accepted(source)]
    return [f"- {'; '.join(rows)}: {cause}" for rows, cause in known if rows]


def faults(source: str, differing: Cells) -> list[str]:
    """Return the cells that differ without being accepted, and those that are accepted without differing."""
    listed = {(row, cell) for each in accepted(source) for row, cells in each.cells.items() for cell in cells}
    found = {(row, cell) for row, cells in differing.items() for cell in cells}
    return [
        *(f"{row}: {cell} differs and is not in {FILE.name}" for row, cell in sorted(found - listed)),
        *(f"{row}: {cell} is in {FILE.name} and does not differ" for row, cell in sorted(listed - found)),
    ]
