"""The kernels that were built: where they are, and what is known of each."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from aqmlab.problems import InputError

EXECUTABLE, ABOUT, CONFIG = "linux", "about.json", "config"
"""The files of an image."""

SHOWN = 12
"""Digits of the digest in the name of an image's folder."""


@dataclass(frozen=True)
class Image:
    """One kernel that was built."""

    path: Path
    """The executable."""
    version: str
    """That of the source, such as 7.3.4."""
    digest: str
    """SHA-256 of the executable."""
    built: str
    """When, in UTC (ISO 8601)."""
    source: str
    """Where the source came from: a folder, a file, or Debian's package with its version."""
    added: tuple[str, ...]
    """Files that were added to the source, each in the folder it went to, such as net/sched/sch_mine.c."""

    @property
    def size(self) -> int:
        """Bytes of the executable."""
        return self.path.stat().st_size

    def has(self, option: str) -> bool:
        """Say whether an option is built in, such as "NET_SCH_DUALPI2"."""
        text = (self.path.parent / CONFIG).read_text(encoding="utf-8")
        return re.search(rf"^CONFIG_{re.escape(option)}=y$", text, re.M) is not None


def folder() -> Path:
    """Return the folder of all kernels in the user's cache; it need not exist."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(given) if given.startswith("/") else Path.home() / ".cache"  # a relative one is to be ignored
    return cache / "aqmlab" / "kernel"


def place(version: str, digest: str) -> Path:
    """Return the folder of one kernel."""
    return folder() / f"{version}-{digest[:SHOWN]}"


def images() -> list[Image]:
    """Return all kernels that were built, the newest first."""
    return sorted(_found(), key=lambda image: image.built, reverse=True)


def newest() -> Image:
    """Return the kernel that was built last; InputError if there is none."""
    found = images()
    if not found:
        raise InputError("kernel", "none is built; run: aqmlab kernel build")
    return found[0]


def describe(image: Image) -> str:
    """Return what an image's about.json says; where it lies is not in it."""
    known = asdict(image)
    del known["path"]
    return json.dumps(known, indent=1) + "\n"


def _found() -> Iterator[Image]:
    for about in folder().glob(f"[!.]*/{ABOUT}"):
        path = about.with_name(EXECUTABLE)
        if os.access(path, os.X_OK):
            known = json.loads(about.read_text(encoding="utf-8"))
            yield Image(**known | {"path": path, "added": tuple(known["added"])})
