"""The command `plot`: a figure of the results of a sweep."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from aqmlab import files
from aqmlab.cli.common import Across, Folder, LinkOption, leave, leave_file, progress
from aqmlab.cli.output import SizeOption, page_size
from aqmlab.problems import InputError

EPILOG = "Example: aqmlab plot results ranking --out ranking.pdf"

KINDS = (".pdf", ".svg", ".png")
"""The file formats of a figure, by suffix."""


ALL = "all"
"""The figure that means every figure that can be drawn."""


class Ellipse(StrEnum):
    """The content of an ellipse: the 95 % region of the mean, or the spread of the runs."""

    mean = "mean"
    sigma = "sigma"


class Log(StrEnum):
    """Logarithmic axes."""

    x = "x"
    y = "y"
    xy = "xy"


def plot(
    folder: Folder,
    figure: Annotated[
        str | None,
        typer.Argument(
            metavar="FIGURE",
            help="Figure to draw, or all: each that can be drawn; without it the available figures are listed.",
        ),
    ] = None,
    scenario: Annotated[
        str | None, typer.Option(metavar="NAME", help="Scenario, as named in reports; required if there are several.")
    ] = None,
    measure: Annotated[
        str | None, typer.Option(metavar="NAME", help="Measure to show; default: link.queue_delay_mean.")
    ] = None,
    link: LinkOption = None,
    aqms: Annotated[
        str | None, typer.Option(metavar="LIST", help="Schemes to show, in this order: a,b:k=v,...")
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="NAME", help="Draw the measure against set.PATH or SCHEME.PARAMETER.")
    ] = None,
    by: Annotated[str | None, typer.Option(metavar="NAME", help="The other axis of a heat map.")] = None,
    compared: Across = None,
    ellipse: Annotated[
        Ellipse, typer.Option(help="Ellipses: 95 % region of the mean, or 1 sigma of the runs.")
    ] = Ellipse.mean,
    size: SizeOption = None,
    log: Annotated[Log | None, typer.Option(help="Logarithmic axes.")] = None,
    x: Annotated[str | None, typer.Option("--x-label", metavar="TEXT", help="Label of the x axis.")] = None,
    y: Annotated[str | None, typer.Option("--y-label", metavar="TEXT", help="Label of the y axis.")] = None,
    footnotes: Annotated[
        bool,
        typer.Option(
            "--footnotes/--no-footnotes",
            help="Print the number of runs and the meaning of marks below the figure.",
        ),
    ] = True,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write; .pdf, .svg or .png. For all: a folder.")
    ] = None,
) -> None:
    """Draw a figure of a sweep for a paper or slides.

    Without FIGURE or --out it lists the available figures.
    """
    from aqmlab import own
    from aqmlab.names import unknown
    from aqmlab.present.figures import sweep as figures
    from aqmlab.present.sweep_files import all_figures
    from aqmlab.runs import findings

    found = findings.findings(folder)
    found = findings.at_link(found, link) if link else found
    found = findings.across(found, compared) if compared else found
    if figure is not None and figure not in (*figures.FIGURES, ALL):
        raise unknown("figure", "no figure", figure, (*figures.FIGURES, ALL))
    if figure is None or out is None:
        from aqmlab.present.terminal import plan as tables

        tables.what_to_draw(found, figures.FIGURES)
        return
    chosen = own.select(aqms) if aqms else ()
    if figure == ALL:
        others = {"scenario": scenario, "measure": measure, "against": against, "by": by, "log": log, "x-label": x}
        for option, value in {**others, "y-label": y}.items():
            if value is not None:
                raise InputError(option, f"{value}: is for a single figure; leave it out with all")
        files.check_folder(out)
        with progress("Drawing") as advance:
            written = all_figures(found, chosen, page_size(size), advance)
        leave(out, written)
        return
    if out.suffix not in KINDS:
        raise InputError("out", f"{out}: expected a name that ends in {', '.join(KINDS)}")
    files.check_file("out", out)
    from aqmlab.present.plots.files import draw, encode
    from aqmlab.present.plots.style import Print

    axes = log.value if log else ""
    wanted = figures.Wanted(figure, scenario, measure, against, by, chosen, ellipse.value, axes)
    drawn = figures.figure(found, wanted)
    how = Print(page_size(size), axes, x, y, footnotes, figures.caption(found, wanted))
    leave_file(out, encode(draw(drawn, how), out.suffix.removeprefix(".")))
