"""The command `cite`."""

from typing import Annotated

import typer

EPILOG = "Example: aqmlab cite pie li2014"


def cite(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SCHEME|LAW|STUDY]...", help="Also what these rest on.", show_default=False),
    ] = None,
) -> None:
    """Print BibTeX: the tool, and the papers and RFCs of schemes, congestion controllers and studies."""
    from aqmlab.bundle.cite import references

    print("\n".join(references(names or ())), end="")
