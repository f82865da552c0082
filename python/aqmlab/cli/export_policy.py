"""The command `export-policy`."""

from pathlib import Path
from typing import Annotated

import typer

from aqmlab import files
from aqmlab.cli.common import leave_file

EPILOG = "Example: aqmlab export-policy model.zip --out my_aqm.py"


def export_policy(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model saved with aqmlab.gym.sb3.save.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File of the scheme, such as my_aqm.py.")],
    name: Annotated[
        str | None, typer.Option("--name", help="Class name; default: from the file name, MyAqm for my_aqm.py.")
    ] = None,
) -> None:
    """Export a trained policy as a standalone NumPy scheme."""
    from aqmlab.gym.policy import export

    files.check_file("out", out)
    text = export(model, name or "".join(part.capitalize() for part in out.stem.split("_")))
    leave_file(out, text.encode())
    print(f"{out}: try aqmlab compare li2014/table-1 --aqms pi,{out}")
