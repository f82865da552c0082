"""The command `report`: the results of a sweep as a page or tables."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from aqmlab import files
from aqmlab.cli.common import Across, Folder, LinkOption, check_report, leave_file, progress
from aqmlab.problems import InputError

EPILOG = "Example: aqmlab report results --format latex --measure link.queue_delay_p99"


class Format(StrEnum):
    """The formats that `report` writes."""

    html = "html"
    latex = "latex"
    markdown = "markdown"
    csv = "csv"


def report(
    folder: Folder,
    kind: Annotated[Format, typer.Option("--format", help="A complete page (html), or its tables.")] = Format.html,
    measures: Annotated[
        list[str] | None, typer.Option("--measure", metavar="NAME", help="Show this measure only; repeatable.")
    ] = None,
    link: LinkOption = None,
    compared: Across = None,
    footnotes: Annotated[
        bool, typer.Option("--footnotes/--no-footnotes", help="Explain marks below LaTeX and Markdown tables.")
    ] = True,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File to write; default: DIR/report.html for a page, standard output for tables."
        ),
    ] = None,
) -> None:
    """Report the results of a sweep, also while it is running.

    The page is one self-contained file: ranking, tables, interactive figures, parameters, provenance.
    """
    from aqmlab.present import tables
    from aqmlab.runs import findings

    if not footnotes and kind.value not in tables.TABLES:
        raise InputError("footnotes", f"{kind.value}: only {' and '.join(tables.TABLES)} have footnotes")
    path = out or (folder / "report.html" if kind is Format.html else None)
    found = findings.findings(folder)
    found = findings.at_link(found, link) if link else found
    found = findings.across(found, compared) if compared else found
    if path:
        files.check_file("out", path)
    if kind is Format.html:
        from aqmlab.present.html import sweep as page

        if path:
            check_report(path, page.subject(found))
        with progress("Writing the report"):
            text = page.report(found, measures)
    else:
        shown = findings.chosen(found, measures)
        is_csv = kind is Format.csv
        text = tables.as_csv(found, shown) if is_csv else tables.TABLES[kind.value](found, shown, footnotes)
    if path:
        leave_file(path, text.encode())
    else:
        sys.stdout.write(text)
