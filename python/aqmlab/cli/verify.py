"""The command `verify`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from aqmlab.cli.common import Jobs, Json, Memory, print_json, progress

EPILOG = "Example: aqmlab verify li2014.zip"


def verify(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A zip file of aqmlab bundle, or its folder.")],
    run_code: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Run this Python file of the bundle, a scheme; repeatable."),
    ] = None,
    jobs: Jobs = None,
    memory: Memory = None,  # noqa: ARG001
    as_json: Json = False,
) -> None:
    """Run a bundle again and compare every number.

    Says which are the same to the bit, which lie within the 95 % interval of those stored, and which do neither. A
    changed, missing or added file is refused with its name. Exit code 1 if a number was not found again.
    """
    from aqmlab.bundle import shown
    from aqmlab.bundle import verify as verifying

    found = verifying.read(bundle)
    print(f"{len(found.files):,} files are those of the manifest; {len(found.runs):,} runs to do", file=sys.stderr)
    with progress("Running again") as told:
        verified = verifying.verify(found, run_code=run_code or (), jobs=jobs, progress=told)
    if as_json:
        print_json(verified.document())
    else:
        shown.verified(verified)
    if verified.neither:
        raise typer.Exit(1)
