"""The command `merge`: the folders of a sweep's shards made into one."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from aqmlab.cli.common import Json, Out, exit_if_failed, print_json, progress
from aqmlab.problems import InputError

EPILOG = "Example: aqmlab merge shard-1 shard-2 shard-3 --out results"


def merge(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders that aqmlab sweep --shard wrote.")],
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Merge the shards of a sweep into one folder.

    Its runs.parquet is identical to the runs.parquet of an undivided sweep.
    """
    from aqmlab.runs import shards

    if out is None:
        raise InputError("out", "missing; --out DIR names the folder for the merged sweep")
    with progress(f"Merging {len(folders)} folders") as advance:
        found = shards.merge(folders, out, progress=advance)
    print(f"Wrote {out / 'runs.parquet'}", file=sys.stderr)
    if as_json:
        print_json(
            {
                "schema": 1,
                "title": found.title,
                "folders": [str(folder) for folder in folders],
                "runs": len(found.rows),
                "failures": found.failures,
            }
        )
    else:
        noun = "folder" if len(folders) == 1 else "folders"
        print(f"{found.title}: {len(found.rows):,} runs of {len(folders)} {noun}; {len(found.failures):,} failed")
    exit_if_failed(found.failures)
