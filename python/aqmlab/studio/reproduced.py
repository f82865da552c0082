"""A paper reproduced: what `aqmlab reproduce --out` leaves, its numbers with the published ones, and its figures."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from aqmlab import untrusted
from aqmlab.names import unknown
from aqmlab.present.labels import label
from aqmlab.problems import InputError

RESULTS = "results.json"
LARGEST_FIGURE = 16 * untrusted.MIB
"""Bytes of a figure."""
COLUMNS = ["Scheme", "Measure", "Unit", "Paper", "Ours", "Verdict"]


class Reproduced:
    """The folder of a reproduction, of one study or of all; it does not change."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def version(self) -> str:
        """Return what changes when there is something new."""
        return str((self.path / RESULTS).stat().st_mtime_ns)

    def document(self) -> dict[str, Any]:
        """Return tables, sentences and the names of the figures."""
        found = read(self.path)
        try:
            studies = found.get("studies", [found])
            coverage = found["coverage"]
            match, cells = coverage["match"], coverage["cells"]
            return {
                "title": ", ".join(str(study["study"]) for study in studies),
                "told": f"{match} of {cells} published numbers match, {coverage['near']} are near",
                "done": match,
                "planned": cells,
                "failed": cells - match,
                "tables": [table for study in studies for table in _tables(study)],
                "figures": [{"name": name, "title": name.replace("-", " ")} for name in self._figures()],
                "version": self.version(),
            }
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError("results", f"{self.path.name}: {RESULTS} is not of a reproduction: {error}") from None

    def figure(self, name: str) -> bytes:
        """Return a figure as SVG; InputError if there is no such figure."""
        figures = self._figures()
        if name not in figures:
            raise unknown("figure", "no figure", name, figures)
        return untrusted.read(figures[name], LARGEST_FIGURE, within=self.path, field="figure")

    def _figures(self) -> dict[str, Path]:
        return {path.stem: path for path in sorted(self.path.glob("*.svg")) if path.is_file() and not path.is_symlink()}


def read(path: Path) -> dict[str, Any]:
    """Return results.json of a folder, nothing if there is none or it is something else."""
    file = path / RESULTS
    try:
        found = untrusted.read_json(file, within=path, field="results")
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _tables(study: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return each table of a study, and what the paper's sentences have come to."""
    tables = [
        {
            "title": f"{study['study']}, Table {number}",
            "columns": COLUMNS,
            "rows": [_row(cell) for cell in cells],
            "notes": _notes(cells),
        }
        for number, each in groupby(study["cells"], lambda cell: cell["table"])
        for cells in [list(each)]
    ]
    rows = [[str(claim[key]) for key in ("claim", "verdict", "measured")] for claim in study["claims"]]
    sentences = {"title": f"{study['study']}, sentences", "columns": ["Sentence", "Verdict", "Measured"], "notes": []}
    return [*tables, sentences | {"rows": rows}] if rows else tables


def _row(cell: Mapping[str, Any]) -> list[str]:
    words = [label(str(cell["scheme"])), str(cell["metric"]).replace("_", " "), str(cell["unit"])]
    return [*words, _number(cell["published"]), _number(cell["ours"]), str(cell["verdict"])]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _notes(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(str(cell["why"]) for cell in cells if cell["why"]))
