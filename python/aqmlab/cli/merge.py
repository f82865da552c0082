"""The command `merge`: the folders of a sweep's shards made into one."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from aqmlab.cli.common import Json, Out, exit_if_failed, print_json, progress
from aqmlab.problems import InputError

EPILOG = "Example: aqmlab merge shard-1 shard-2 shard-3 --out results"


def merge(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="What aqmlab sweep --shard left.")],
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Merge the shards of a sweep into one folder.

    Its runs.parquet is the same to the byte as that of a sweep that was not divided.
    """
    from aqmlab.runs import shards

    if out is None:
        raise InputError("out", "missing; --out DIR says where the merged sweep goes")
    with progress(f"Merging {len(folders)} folders") as told:
        found = shards.merge(folders, out, progress=told)
    print(f"Left in {out}: runs.parquet", file=sys.stderr)
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
