"""Files that a user adds to the kernel: a queueing discipline or a congestion-control law, each in one file of C."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aqmlab.problems import InputError

PLACES = {"register_qdisc": "net/sched", "tcp_register_congestion_control": "net/ipv4"}
"""The folder of the source for a file that calls each function."""


@dataclass(frozen=True)
class Addition:
    """One file that is added."""

    path: Path
    folder: str
    """Its place in the source."""
    text: bytes

    @property
    def name(self) -> str:
        """Its place in the source."""
        return f"{self.folder}/{self.path.name}"

    def put(self, tree: Path) -> None:
        """Copy the file into a copy of the source, and have it built in; InputError if the source has one there."""
        target = tree / self.name
        if target.exists():
            raise InputError("add", f"{self.path}: the source has {self.name} already; give it another name")
        target.write_bytes(self.text)
        with (tree / self.folder / "Makefile").open("a", encoding="utf-8") as makefile:
            makefile.write(f"\nobj-y += {self.path.stem}.o\n")


def read(paths: Sequence[Path]) -> list[Addition]:
    """Return the files to add; InputError for one that is neither a discipline nor a controller, or there twice."""
    added = [_read(path) for path in paths]
    for i, each in enumerate(added):
        if each.name in [other.name for other in added[:i]]:
            raise InputError("add", f"{each.path}: another file has that name; give it another one")
    return added


def _read(path: Path) -> Addition:
    if not path.is_file():
        raise InputError("add", f"{path}: does not exist; expected a C file")
    if not re.fullmatch(r"[A-Za-z][\w-]*\.c", path.name):
        raise InputError("add", f"{path}: expected a name such as sch_mine.c or tcp_mine.c")
    text = path.read_bytes()
    folder = next((place for call, place in PLACES.items() if re.search(rf"\b{call}\s*\(".encode(), text)), None)
    if folder is None:
        raise InputError("add", f"{path}: expected a file that calls one of {', '.join(PLACES)}")
    return Addition(path, folder, text)
