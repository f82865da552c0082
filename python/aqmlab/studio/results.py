"""Folders of results: how far a sweep has come, its tables and its figures."""

import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.runs import findings as stored
from aqmlab.runs.findings import Findings
from aqmlab.runs.measures import heading
from aqmlab.runs.store import PLAN, held, other
from aqmlab.studio import reproduced
from aqmlab.studio.reproduced import Reproduced

MOST_CASES = 40
"""Cases that are shown."""


@dataclass
class Folder:
    """A folder that `aqmlab sweep --out` leaves, perhaps still running; read again after a change."""

    path: Path
    _found: tuple[str, Findings | None] = ("", None)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def version(self) -> str:
        """Return what changes when there is something new."""
        try:
            parts = sorted((self.path / "parts").glob("[!.]*.parquet"))
            last = max((path.stat().st_mtime_ns for path in parts), default=0)
        except OSError:  # a part was merged into another just now
            return ""
        return f"{len(parts)}-{last}"

    def findings(self) -> Findings | None:
        """Return what has been found so far, None before the first run is done."""
        with self._lock:
            version = self.version()
            if self._found[0] != version or not version:
                self._found = (version, self._read())
            return self._found[1]

    def _read(self) -> Findings | None:
        if not (self.path / PLAN).exists():
            raise InputError("results", f"{self.path.name}: holds no sweep (yet)")
        try:
            return stored.findings(self.path)
        except InputError:
            return None

    def document(self) -> dict[str, Any]:
        """Return progress, tables and the names of the figures."""
        version, found = self.version(), self.findings()
        if found is None:
            empty: dict[str, Any] = {"title": self.path.name, "done": 0, "planned": None, "failed": 0}
            return empty | {"tables": [], "figures": [], "version": version}
        done = sum(row["state"] == "done" for row in found.rows)
        return {
            "title": found.title,
            "done": done,
            "planned": found.planned,
            "failed": len(found.rows) - done,
            "tables": _tables(found),
            "figures": [{"name": name, "title": title} for name, title in _figures(found)],
            "version": version,
        }

    def figure(self, name: str) -> bytes:
        """Return a figure as SVG; InputError if there is no such figure."""
        from aqmlab.present.figures import sweep as figures
        from aqmlab.present.plots.files import draw, encode

        found = self.findings()
        known = dict(_figures(found)) if found else {}
        if found is None or name not in known:
            raise unknown("figure", "no figure", name, known)
        number, _, kind = name.partition("-")
        case = None if kind == "ranking" else found.cases[int(number)].name
        with _DRAWING:
            return encode(draw(figures.figure(found, figures.Wanted(kind, case))), "svg")


_DRAWING = threading.Lock()
"""Figures are drawn one after the other: matplotlib has one state."""


def folder(path: str | os.PathLike[str]) -> Folder | Reproduced:
    """Return a folder of results; InputError if there is none."""
    if not Path(path).is_dir():
        raise InputError("results", f"{path}: no such folder; expected a folder of sweep --out or reproduce --out")
    if "coverage" in reproduced.read(Path(path)):
        return Reproduced(Path(path))
    if not (Path(path) / PLAN).exists() and other(Path(path)):  # a sweep may be about to begin
        raise InputError("results", f"{path}: {held(Path(path))}; expected a folder of sweep --out or reproduce --out")
    return Folder(Path(path))


def _tables(found: Findings) -> list[dict[str, Any]]:
    from aqmlab.present import tables

    measures = stored.chosen(found, None)
    return [
        {
            "title": case.name,
            "columns": ["Scheme", *map(heading, measures)],
            "rows": [
                [tables.named(found, case, scheme), *(entry.text for entry in row)]
                for scheme, row in tables.entries(found, case, measures).items()
            ],
            "notes": tables.notes(found, case),
        }
        for case in found.cases[:MOST_CASES]
    ]


def _figures(found: Findings) -> list[tuple[str, str]]:
    """Return the figures that can be drawn, by name and title."""
    from aqmlab.present.figures.sweep import DELAY

    shown = [("0-ranking", "Ranking of the schemes by delay")] if found.ranking(DELAY) else []
    for i, case in enumerate(found.cases[:MOST_CASES]):
        shown += [(f"{i}-delay-throughput", f"Delay and goodput, {case}"), (f"{i}-measure", f"Delay, {case}")]
    return shown
