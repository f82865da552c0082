"""The command `bundle`."""

import os
from pathlib import Path
from typing import Annotated

import typer

from aqmlab import files
from aqmlab.cli.common import Jobs, leave_file, progress
from aqmlab.problems import InputError

EPILOG = "Example: aqmlab bundle li2014 --table 1 --out li2014.zip"


def bundle(
    source: Annotated[
        str, typer.Argument(metavar="DIR|STUDY|SWEEP", help="Folder of sweep or reproduce, a study, or an experiment.")
    ],
    table: Annotated[
        list[str] | None, typer.Option(metavar="N", help="Only this table of a study; repeatable.")
    ] = None,
    figure: Annotated[list[str] | None, typer.Option(metavar="N", help="Only this figure; repeatable.")] = None,
    seeds: Annotated[int | None, typer.Option(metavar="N", min=1, help="Seeds of a study; default: 1.")] = None,
    jobs: Jobs = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Bundle to write; default: the source's name with .zip.")
    ] = None,
) -> None:
    """Pack results with everything that others need to reproduce them.

    One zip file: scenarios, schemes, runs, figures, versions, hashes, a README, and reproduce.sh. Check it with aqmlab
    verify. The same results give the same bytes.
    """
    from aqmlab.bundle import build
    from aqmlab.bundle.verify import read

    path = out or Path(f"{files.resolved(Path(source)).stem or 'bundle'}.zip")
    files.check_file("out", path)
    if os.path.exists(path):
        try:
            read(path)
        except InputError:
            raise InputError("out", f"{path}: exists and is not a bundle; choose another name, or delete it") from None
    with progress(f"Bundling {source}") as advance:
        made = build.bundle(source, tables=table, figures=figure, seeds=seeds, jobs=jobs, progress=advance)
    leave_file(path, made.data)
    print(f"{made.title}: {made.runs:,} runs, {made.files:,} files, {len(made.data):,} bytes")
