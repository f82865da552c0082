"""A study: a paper's tables as data, so that they can be run again and compared cell by cell.

`studies/<name>.toml` names the paper, says which scheme and metric of ours each published one is, how close
is close enough, which scenario a table is, and why a cell may not be reproducible. `published/<name>.csv`
holds the printed numbers.
"""

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from aqmlab._core import InputError
from aqmlab.metrics import SHOWN, Metric
from aqmlab.names import unknown

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class StudyMetric:
    """A metric as the paper defines it: `factor` times our metric `ours`; None while we have none."""

    metric: Metric
    ours: str | None
    factor: float
    absolute: float
    relative: float
    tolerance: str

    def limit(self, published: float) -> float:
        """Return how far from a published value is still a match, in the metric's unit."""
        return max(self.absolute, self.relative * abs(published))


@dataclass(frozen=True)
class Table:
    """One table of the paper: the scenario and link that give it, or why it cannot be run yet."""

    number: str
    title: str
    scenario: str | None
    link: str
    figure: str | None
    missing: str | None


@dataclass(frozen=True)
class Note:
    """A written reason why cells deviate; an empty field stands for all."""

    tables: tuple[str, ...]
    schemes: tuple[str, ...]
    metrics: tuple[str, ...]
    why: str

    def covers(self, cell: "Published") -> bool:
        """Say whether the note is about this cell."""
        pairs = ((self.tables, cell.table), (self.schemes, cell.scheme), (self.metrics, cell.metric))
        return all(not allowed or value in allowed for allowed, value in pairs)


@dataclass(frozen=True)
class Published:
    """One printed number, under the paper's names."""

    table: str
    scheme: str
    metric: str
    value: float


@dataclass(frozen=True)
class Study:
    """A paper as data."""

    name: str
    title: str
    source: str
    schemes: Mapping[str, str]
    metrics: Mapping[str, StudyMetric]
    tables: Sequence[Table]
    notes: Sequence[Note]
    published: Sequence[Published]

    def why(self, cell: Published) -> str | None:
        """Return the written reason for a cell's deviation, None if there is none."""
        return next((note.why for note in self.notes if note.covers(cell)), None)

    def select(self, tables: Iterable[str] | None, figures: Iterable[str] | None) -> list[Table]:
        """Return the tables of these numbers and of these figures, all if neither is given."""
        if tables is None and figures is None:
            return list(self.tables)
        wanted = [self._find("table", number, {t.number: t for t in self.tables}) for number in tables or ()]
        wanted += [
            self._find("figure", number, {t.figure: t for t in self.tables if t.figure}) for number in figures or ()
        ]
        return [table for table in self.tables if table in wanted]

    def _find(self, kind: str, number: str, known: Mapping[str, Table]) -> Table:
        if number not in known:
            raise InputError(f"{kind}: {number}: {self.name} has no such {kind}; valid: {', '.join(known)}")
        return known[number]


@cache
def studies() -> tuple[str, ...]:
    """Return the names of the studies."""
    return tuple(
        sorted(
            item.name.removesuffix(".toml")
            for item in (files("aqmlab") / "studies").iterdir()
            if item.name.endswith(".toml")
        )
    )


@cache
def load_study(name: str) -> Study:
    """Return a study by name; InputError with the nearest names if there is none."""
    if name not in studies():
        raise unknown("study", "unknown study", name, studies())
    data = tomllib.loads((files("aqmlab") / "studies" / f"{name}.toml").read_text(encoding="utf-8"))
    rows = (files("aqmlab") / "published" / data["published"]).read_text(encoding="utf-8").splitlines()
    return Study(
        name=name,
        title=data["title"],
        source=data["source"],
        schemes=data["schemes"],
        metrics={key: _metric(key, entry) for key, entry in data["metrics"].items()},
        tables=[_table(entry) for entry in data["tables"]],
        notes=[_note(entry) for entry in data["notes"]],
        published=[
            Published(row["table"], row["scheme"], row["metric"], float(row["value"])) for row in csv.DictReader(rows)
        ],
    )


def _metric(name: str, entry: Mapping[str, Any]) -> StudyMetric:
    unit = entry["unit"]
    return StudyMetric(
        metric=Metric(name, entry["title"], unit, entry["definition"], SHOWN[unit]),
        ours=entry.get("ours"),
        factor=entry.get("factor", 1.0),
        absolute=entry["absolute"],
        relative=entry.get("relative", 0.0),
        tolerance=entry["tolerance"],
    )


def _table(entry: Mapping[str, Any]) -> Table:
    return Table(
        number=entry["number"],
        title=entry["title"],
        scenario=entry.get("scenario"),
        link=entry.get("link", "bottleneck"),
        figure=entry.get("figure"),
        missing=entry.get("missing"),
    )


def _note(entry: Mapping[str, Any]) -> Note:
    return Note(
        tables=tuple(entry.get("tables", ())),
        schemes=tuple(entry.get("schemes", ())),
        metrics=tuple(entry.get("metrics", ())),
        why=entry["why"],
    )
