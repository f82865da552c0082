"""The output of commands that print tables and write reports: the options --format, --json, --size and --out."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab import files
from aqmlab.cli.common import check_report, leave, print_json, progress
from aqmlab.problems import InputError

if TYPE_CHECKING:
    from aqmlab.present.html.page import Files
    from aqmlab.present.parts import Part
    from aqmlab.present.plots.style import Size
    from aqmlab.runs.executor import Progress


class TableFormat(StrEnum):
    """The formats in which a command prints tables."""

    table = "table"
    markdown = "markdown"
    latex = "latex"


Format = Annotated[
    TableFormat, typer.Option("--format", help="Format of the tables: for reading, or text for a paper.")
]


class PageWidth(StrEnum):
    """The widths that journals and slides have."""

    ieee1 = "ieee1"
    ieee2 = "ieee2"
    slide = "slide"


SizeOption = Annotated[
    PageWidth | None,
    typer.Option(
        "--size",
        help="Figures for one or two columns of an IEEE journal (3.5 in, 7.16 in), or a slide; default: 7.2 in.",
    ),
]


def page_size(wanted: PageWidth | None) -> "Size":
    """Return the size of figures for a width."""
    from aqmlab.present.plots.style import PAGE, SIZES

    return SIZES[wanted.value] if wanted else PAGE


def check_format(kind: TableFormat, *, as_json: bool) -> None:
    """Raise InputError for a format of tables together with --json."""
    if as_json and kind is not TableFormat.table:
        raise InputError("format", f"{kind.value}: --json prints one JSON document; use only one of the two")


def print_parts(parts: "Sequence[Part]", kind: TableFormat = TableFormat.table, *, explain: bool | None = None) -> None:
    """Print a report in a terminal, where `explain` adds the definitions of its measures, or its tables as text."""
    if kind is TableFormat.table:
        from aqmlab.present.terminal.parts import show

        show(parts, explain=explain)
    else:
        from aqmlab.present.parts import printed
        from aqmlab.present.sheets import TABLES

        sys.stdout.write(TABLES[kind.value](printed(parts)))


@dataclass(frozen=True)
class Output:
    """The output of a command: on stdout, and a report in a folder.

    InputError for a format of tables together with --json, or if the path cannot be a folder.
    """

    kind: TableFormat
    as_json: bool
    size: PageWidth | None
    out: Path | None

    def __post_init__(self) -> None:
        check_format(self.kind, as_json=self.as_json)
        if self.out:
            files.check_folder(self.out)

    def check(self, subject: str) -> None:
        """Raise InputError if the folder contains a report on another subject, before anything is simulated."""
        if self.out:
            check_report(self.out / "report.html", subject)

    @property
    def options(self) -> list[str]:
        """The options of a command line that draws the same figures."""
        return ["--size", self.size.value] if self.size else []

    def write(self, records: "Callable[[], Files]", report: "Callable[[Progress, Size], Files]") -> None:
        """Write the results, and then the report with its figures, if there is a folder for them."""
        if self.out:
            leave(self.out, records())
            with progress("Writing the report") as advance:
                written = report(advance, page_size(self.size))
            leave(self.out, written)

    def show(
        self,
        document: Callable[[], object],
        parts: "Callable[[], Sequence[Part]]",
        *,
        explain: bool | None = None,
    ) -> None:
        """Print the result: its document with --json, else its parts; `explain` adds the definitions of measures."""
        if self.as_json:
            print_json(document())
        else:
            print_parts(parts(), self.kind, explain=explain)
