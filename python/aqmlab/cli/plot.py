"""The command `plot`: a figure of what a sweep has stored."""

from pathlib import Path
from typing import Annotated

import typer

from aqmlab import files
from aqmlab._core import InputError
from aqmlab.cli.common import Folder, leave_file
from aqmlab.names import unknown

KINDS = (".pdf", ".svg", ".png")
"""What a figure can be written as, by the ending of its file."""


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
    leave_file(out, encode(draw(drawn), out.suffix.removeprefix(".")))
