"""The command `verify`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from aqmlab.cli.common import Jobs, Json, Memory, progress
from aqmlab.cli.output import Format, Output, TableFormat

EPILOG = "Example: aqmlab verify li2014.zip"


def verify(
    bundle: Annotated[
        Path, typer.Argument(metavar="BUNDLE", help="A zip file of aqmlab bundle, or the unpacked folder.")
    ],
    run_code: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Allow this Python file of the bundle, a scheme, to run; repeatable."),
    ] = None,
    jobs: Jobs = None,
    memory: Memory = None,  # noqa: ARG001
    kind: Format = TableFormat.table,
    as_json: Json = False,
) -> None:
    """Repeat the runs of a bundle and compare every number.

    It counts numbers that are bit-identical, numbers within the stored 95 % interval, and all others. A changed,
    missing or added file is rejected by name (exit code 2). Exit code 1 if a number is not reproduced.
    """
    from aqmlab.bundle import report
    from aqmlab.bundle import verify as verifying

    output = Output(kind, as_json, None, None)
    found = verifying.read(bundle)
    print(f"{len(found.files):,} files match the manifest; {len(found.runs):,} runs to repeat", file=sys.stderr)
    with progress("Repeating runs") as advance:
        verified = verifying.verify(found, run_code=run_code or (), jobs=jobs, progress=advance)
    output.show(verified.document, lambda: report.parts(verified))
    if verified.neither:
        raise typer.Exit(1)
