"""The command `kernel`, with those below it: build, list and path."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab.cli.common import Json, print_json, progress

if TYPE_CHECKING:
    from aqmlab.kernel.images import Image

EPILOG = "Example: aqmlab kernel build"

kernel = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Build and list user-mode Linux kernels for --engine linux."
)


@kernel.command(epilog="Example: aqmlab kernel build --source ../linux --add sch_mine.c")
def build(
    source: Annotated[
        Path | None,
        typer.Option(metavar="DIR|FILE", help="A Linux tree, or an archive; default: Debian's package."),
    ] = None,
    sha256: Annotated[
        str | None, typer.Option(metavar="DIGEST", help="SHA-256 of the archive, from its publisher.")
    ] = None,
    add: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE.c", help="A queueing discipline or congestion controller to build in; repeatable."),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep source and objects in the kernel's folder.")] = False,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Number of parallel compilers; default: one per core.")
    ] = None,
) -> None:
    """Build a user-mode Linux kernel that runs in virtual time, and store it in the cache.

    It needs no root. A tree given by --source is copied, not changed. Exit code 2 if a package is missing, with the
    command that installs it; 1 if the source cannot be fetched or compiled.
    """
    from aqmlab.kernel import build as builder

    with progress("Building Linux") as advance:
        made = builder.build(source, sha256=sha256, add=add or (), keep=keep, jobs=jobs, progress=advance, tell=_tell)
    if lacks := made.lacks():
        print(f"Note: this source does not contain {', '.join(lacks)}", file=sys.stderr)
    print(f"Linux {made.version} is at {made.path}")


@kernel.command("list", epilog="Example: aqmlab kernel list")
def list_(as_json: Json = False) -> None:
    """List the stored kernels, the newest first."""
    from aqmlab.kernel import images

    found = images.images()
    if as_json:
        print_json([_document(image) for image in found])
        return
    if not found:
        print("No kernel is built; run: aqmlab kernel build", file=sys.stderr)
        return
    from aqmlab.present.terminal.console import console, table

    listed = table("Kernels", "Version", "Digest", "Built", "Source", "Added", numbers=["Size (MB)"])
    for each in found:
        cells = [each.version, each.digest[: images.SHOWN], each.built, each.source, ", ".join(each.added)]
        listed.add_row(*cells, f"{each.size / 1e6:.1f}")
    console().print(listed)


@kernel.command(epilog="Example: aqmlab kernel path")
def path() -> None:
    """Print the path of the newest kernel; exit code 2 if there is none."""
    from aqmlab.kernel import images

    print(images.newest().path)


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


def _document(image: "Image") -> dict[str, object]:
    facts = {name: value for name, value in asdict(image).items() if name != "own_config"}
    return facts | {"path": str(image.path), "size": image.size, "lacks": image.lacks()}
