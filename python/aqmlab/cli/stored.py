"""The commands that read what a sweep has stored: report and plot."""

import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from aqmlab import files
from aqmlab._core import InputError
from aqmlab.names import unknown

KINDS = (".pdf", ".svg", ".png")
"""What a figure can be written as, by the ending of its file."""


class Format(str, Enum):
    """What `report` writes."""

    html = "html"
    latex = "latex"
    markdown = "markdown"
    csv = "csv"


Folder = Annotated[Path, typer.Argument(metavar="DIR", help="What aqmlab sweep --out left.")]


def report(
    folder: Folder,
    kind: Annotated[
        Format, typer.Option("--format", help="A page with everything (html), or its tables.")
    ] = Format.html,
    measures: Annotated[
        list[str] | None, typer.Option("--measure", metavar="NAME", help="Show this measure only; repeatable.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Default: DIR/report.html; tables are printed.")
    ] = None,
) -> None:
    """Tell what a sweep has found, also while it goes on.

    The page is one file that loads nothing: ranking, tables, interactive figures, parameters, provenance.
    """
    from aqmlab.present import tables
    from aqmlab.runs import findings

    path = out or (folder / "report.html" if kind is Format.html else None)
    found = findings.findings(folder)
    if path:
        files.check_file("out", path)
    if kind is Format.html:
        from aqmlab.present.html import sweep as page

        text = page.report(found, measures)
    else:
        text = tables.TEXTS[kind.value](found, findings.chosen(found, measures))
    if path:
        _leave(path, text.encode())
    else:
        sys.stdout.write(text)


def plot(
    folder: Folder,
    figure: Annotated[
        str | None, typer.Argument(metavar="FIGURE", help="What to draw; without it: what there is.")
    ] = None,
    scenario: Annotated[
        str | None, typer.Option(metavar="NAME", help="The scenario, as reports name it; needed if there are several.")
    ] = None,
    measure: Annotated[
        str | None, typer.Option(metavar="NAME", help="What measure and ranking show; default: link.queue_delay_mean.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="NAME", help="Draw the measure against set.PATH or SCHEME.PARAMETER.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to; .pdf, .svg or .png.")] = None,
) -> None:
    """Draw a figure of a sweep, as a paper could print it.

    Without FIGURE or --out it lists what can be drawn.
    """
    from aqmlab.present.figures import sweep as figures
    from aqmlab.runs import findings

    found = findings.findings(folder)
    if figure is not None and figure not in figures.FIGURES:
        raise unknown("figure", "no figure", figure, figures.FIGURES)
    if figure is None or out is None:
        from aqmlab.present.terminal import sweep as tables

        tables.what_to_draw(found, figures.FIGURES)
        return
    if out.suffix not in KINDS:
        raise InputError(f"out: {out}: expected a name that ends in {', '.join(KINDS)}")
    files.check_file("out", out)
    from aqmlab.present.plots.files import draw, encode

    drawn = figures.figure(found, figures.Wanted(figure, scenario, measure, against))
    _leave(out, encode(draw(drawn), out.suffix.removeprefix(".")))


def _leave(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, data)
    print(f"Left: {path}", file=sys.stderr)
