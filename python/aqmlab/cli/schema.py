"""The command `schema`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from aqmlab import files
from aqmlab.cli.common import leave_file

EPILOG = "Example: aqmlab schema scenario --out scenario.schema.json"


def schema(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="scenario, experiment or exercise.")],
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="File instead of the terminal.")] = None,
) -> None:
    """Print the JSON Schema of scenarios, experiments or exercises, for editors and programs."""
    from aqmlab.runs import schemas

    text = json.dumps(schemas.schema(kind), indent=1)
    if out is None:
        print(text)
    else:
        files.check_file("out", out)
        leave_file(out, f"{text}\n".encode())
