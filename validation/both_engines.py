"""Scenarios that both engines run under the same seeds, and the test whether their results agree.

A list is a file of JSON lines. A row contains the scenario, the results of Linux in virtual time by seed, and the
version of Linux, or the reason why Linux rejected the scenario.
"""

import json
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

import exceptions

from aqmlab import _core
from aqmlab.kernel.images import images
from aqmlab.runs.executor import do_all
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import LINUX, SIM, Failure, Task
from aqmlab.runs.workers import workers

DIGITS = 6
"""Of a stored value."""
REFUSED = "not run"
"""The cell of a scenario that one of the engines refuses, or in which it fails."""

Runs = Mapping[str, Sequence[float]]
"""The values of each measure, by seed."""


@dataclass(frozen=True)
class Tolerance:
    """The allowed difference of a mean: a value, or a share of the mean of Linux, whichever is more."""

    floor: float
    share: float

    def of(self, theirs: float) -> float:
        """Return the difference that is allowed."""
        return max(self.floor, self.share * theirs)


@dataclass(frozen=True)
class Row:
    """A scenario, and the values of Linux; `refused` is the reason if there are none."""

    id: str
    text: str
    kernel: str = ""
    runs: Runs | None = None
    refused: str = ""

    @property
    def is_tried(self) -> bool:
        """Linux ran it or rejected it."""
        return self.runs is not None or bool(self.refused)

    @property
    def seeds(self) -> int:
        """The number of seeds that Linux ran."""
        return len(next(iter(self.runs.values()))) if self.runs else 0

    def extended(self, version: str, found: Runs | str) -> "Row":
        """Return the row with the results of Linux under further seeds, or with the reason of its rejection."""
        if isinstance(found, str):
            return replace(self, kernel=version, runs=None, refused=found)
        runs = {name: [*(self.runs or {}).get(name, ()), *values] for name, values in found.items()}
        return replace(self, kernel=version, runs=runs, refused="")

    @property
    def scenario(self) -> _core.Scenario:
        """The scenario."""
        return _core.Scenario.parse(self.text, self.id)


@dataclass(frozen=True)
class Cell:
    """A measure under both engines, by seed, and the tolerance of its mean."""

    name: str
    theirs: Sequence[float]
    ours: Sequence[float]
    tolerance: float
    errors: float = 0.0
    """Standard errors of Linux's mean by which the means may differ, up to twice the tolerance."""

    @property
    def difference(self) -> float:
        """The difference of the means."""
        return abs(fmean(self.ours) - fmean(self.theirs))

    @property
    def agrees(self) -> bool:
        """The means differ by no more than the tolerance, or than the standard errors allow."""
        error = self.errors * stdev(self.theirs) / sqrt(len(self.theirs))
        return self.difference <= max(self.tolerance, min(error, 2 * self.tolerance))


@dataclass(frozen=True)
class Checked:
    """A row with its cells; `refused` is the reason if there are none."""

    row: Row
    cells: Sequence[Cell] = ()
    refused: str = ""

    @property
    def differing(self) -> list[str]:
        """Names of the cells that do not agree."""
        return [REFUSED] if self.refused else [cell.name for cell in self.cells if not cell.agrees]

    def __str__(self) -> str:
        """Return the cells that do not agree, Linux first."""
        if self.refused:
            return self.refused
        wrong = (cell for cell in self.cells if not cell.agrees)
        return ", ".join(f"{cell.name} {fmean(cell.theirs):.4g} / {fmean(cell.ours):.4g}" for cell in wrong)


def read(path: Path) -> list[Row]:
    """Return the rows of a list; a missing file is an empty list."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [Row(**json.loads(line)) for line in text.splitlines()]


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write a list."""
    lines = ({key: value for key, value in vars(row).items() if value} for row in rows)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def measures(run: RunResult, names: Sequence[str]) -> dict[str, float]:
    """Return the goodput of each group in bit/s, and these measures of each link; 0 if there is no value."""
    found = {f"goodput of {name}": flows.goodput for name, flows in run.flows.items()}
    for link, values in run.links.items():
        found |= {f"{name} of {link}": float(getattr(values, name) or 0) for name in names}
    return found


def played(row: Row, engine: str, seeds: Sequence[int], names: Sequence[str]) -> Runs | str:
    """Return the results of an engine in a scenario, or the reason why it rejects it or fails."""
    try:
        tasks = [Task(row.scenario, None, seed, engine=engine) for seed in seeds]
    except ValueError as error:
        return str(error)
    found: dict[int, RunResult | Failure] = {}
    with workers() as pool:
        do_all(tasks, pool, found.update)
    outcomes = [found[i] for i in range(len(tasks))]
    failed = next((outcome.reason for outcome in outcomes if isinstance(outcome, Failure)), None)
    return failed or by_name([measures(run, names) for run in outcomes if isinstance(run, RunResult)])


def by_name(runs: Sequence[Mapping[str, float]]) -> Runs:
    """Return the values of each measure, by seed."""
    return {name: [float(f"{run[name]:.{DIGITS}g}") for run in runs] for name in runs[0]}


def measured(rows: Sequence[Row], version: str, seeds: Sequence[int], names: Sequence[str]) -> Iterator[Row]:
    """Yield the rows with the results of Linux under their missing seeds."""
    for row in rows:
        yield row.extended(version, played(row, LINUX, seeds[row.seeds :], names))


def store(
    path: Path, rows: Sequence[Row], seeds: Sequence[int], names: Sequence[str], wanted: Container[str] | None = None
) -> list[Row]:
    """Run the missing seeds of all rows, or of those `wanted`, on Linux, and store each row once it is measured.

    Rejected scenarios are tried again.
    """
    kept = list(rows)
    waiting = [i for i, row in enumerate(kept) if (wanted is None or row.id in wanted) and row.seeds < len(seeds)]
    if not images():
        print(f"no kernel is built (aqmlab kernel build): {len(waiting)} scenarios are not measured")
        return kept
    found = measured([kept[i] for i in waiting], images()[0].version, seeds, names)
    for done, (i, row) in enumerate(zip(waiting, found, strict=True), 1):
        kept[i] = row
        write(path, kept)
        print(f"{done} of {len(waiting)}: {row.id}", flush=True)
    return kept


def left(checked: Sequence[Checked], listed: int) -> str:
    """Return a sentence on the scenarios without a row, if there are any."""
    return f" {listed - len(checked)} more have no row yet." if listed > len(checked) else ""


def differing(checked: Sequence[Checked]) -> dict[str, list[str]]:
    """Return the cells that do not agree, by scenario."""
    return {each.row.id: each.differing for each in checked if each.differing}


def check(
    rows: Iterable[Row],
    seeds: Sequence[int],
    tolerances: Mapping[str, Tolerance],
    sharing: float,
    errors: float = 0.0,
) -> Iterator[Checked]:
    """Yield the rows with the results of the simulator under the seeds that Linux ran.

    A tolerance belongs to a measure. The goodput of a group may differ by the share `sharing` of the total goodput.
    """
    names = [name for name in tolerances if name != "goodput"]
    for row in rows:
        ours = played(row, SIM, seeds[: row.seeds or 1], names)
        if row.runs is None or isinstance(ours, str):
            yield Checked(row, refused=row.refused or str(ours))
            continue
        everything = sum(fmean(values) for name, values in row.runs.items() if name.startswith("goodput"))
        cells = []
        for name, theirs in row.runs.items():
            allowed = tolerances[name.partition(" of ")[0]].of(fmean(theirs))
            if name.startswith("goodput"):
                allowed = max(allowed, sharing * everything)
            cells.append(Cell(name, theirs, ours[name], allowed, errors))
        yield Checked(row, cells)


def publish(source: str, checked: Sequence[Checked], page: Path, text: str) -> None:
    """Write a validation page and exit: with code 1 if `exceptions.toml` lists other cells than those that differ."""
    page.write_text(text, encoding="utf-8")
    agree = sum(not each.differing for each in checked)
    print(f"{agree} of {len(checked)} {source} scenarios agree with Linux; see docs/{page.name}")
    sys.exit("\n".join(exceptions.faults(source, differing(checked))) or 0)
