"""The command `fit`: the twin of a measured line as a scenario file, its findings in a terminal, and its picture."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from aqmlab import extras, files
from aqmlab.cli.common import Jobs, Json, leave_file, progress
from aqmlab.cli.output import Format, Output, TableFormat
from aqmlab.problems import InputError

EPILOG = "Example: aqmlab fit down.json down-ping.txt up.json up-ping.txt --out line.toml"

KINDS = (".pdf", ".svg", ".png")
"""The file formats of the picture, by suffix."""


def fit(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...", help="Measurements of one line: iperf3 -J, ping, flent, captures.", show_default=False
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Scenario file of the twin.")] = None,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Picture of measured and simulated delay and rate; .pdf, .svg or .png."),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print the commands that measure a link; FILE is the other end's address.")
    ] = False,
    jobs: Jobs = None,
    kind: Format = TableFormat.table,
    as_json: Json = False,
) -> None:
    """Find the rate, delay, buffer and kind of queue of a measured line, and write its twin as a scenario.

    Give all measurements of one line together: transfers in one or both directions, with pings before and during
    them. aqmlab simulates lines until delay and rate agree with the measurement, and names lines that explain it
    equally.
    """
    from aqmlab.fit import plan as plans
    from aqmlab.present.reports import fit as report

    if plan:
        print(plans.commands(str(paths[0]) if paths else plans.HOST), end="")
        return
    if not paths:
        raise InputError("file", "missing; give measurements of one line (aqmlab fit --plan prints how to make them)")
    output = Output(kind, as_json, None, None)
    _check(out, picture)
    from aqmlab.fit import fit as search

    with progress("Fitting the link") as advance:
        found = search(paths, jobs=jobs, progress=advance)
    if out:
        leave_file(out, found.text.encode())
    if picture:
        from aqmlab.present.plots import fit as pictures

        leave_file(picture, pictures.picture(found, picture.suffix[1:]))
    output.show(found.document, lambda: report.parts(found))
    for measurement in found.measurements:
        if measurement.unused:
            print(f"Not used of {measurement.source}: {', '.join(measurement.unused)}.", file=sys.stderr)


def _check(out: Path | None, picture: Path | None) -> None:
    """Raise InputError for a file that cannot be written, before any work."""
    for option, path in (("out", out), ("picture", picture)):
        if path:
            files.check_file(option, path)
    if picture and picture.suffix not in KINDS:
        raise InputError("picture", f"{picture}: expected a name that ends in {', '.join(KINDS)}")
    if picture:
        extras.check("matplotlib")
