"""The kernels that were built: their places, and the facts about each."""

import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from aqmlab.problems import InputError

EXECUTABLE, ABOUT, CONFIG = "linux", "about.json", "config"
"""The files of an image."""

SAID = ("version", "digest", "built", "source")
"""The contents of about.json without the added files."""

SHOWN = 12
"""Digits of the digest in the name of an image's folder."""


@dataclass(frozen=True)
class Image:
    """One kernel that was built."""

    path: Path
    """The executable."""
    version: str
    """Version of the source, such as 7.3.4."""
    digest: str
    """SHA-256 of the executable."""
    built: str
    """When, in UTC (ISO 8601)."""
    source: str
    """Origin of the source: a folder, a file, or Debian's package with its version."""
    added: tuple[str, ...]
    """Files that were added to the source, each in the folder it went to, such as net/sched/sch_mine.c."""
    own_config: str | None = None
    """The configuration of a kernel that is not in the cache."""

    @property
    def name(self) -> str:
        """Version and the first digits of the digest."""
        return f"{self.version}-{self.digest[:SHOWN]}"

    @property
    def size(self) -> int:
        """Bytes of the executable."""
        return self.path.stat().st_size

    @property
    def config(self) -> str:
        """Its configuration in Linux's format."""
        return self.own_config or (self.path.parent / CONFIG).read_text(encoding="utf-8")

    def has(self, option: str) -> bool:
        """Say whether an option is built in, such as "NET_SCH_DUALPI2"."""
        return not lacking(self.config, [option])

    def lacks(self) -> list[str]:
        """Return the requested options that the source lacks."""
        return lacking(self.config, built_in(wanted()))


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
    """Return the kernel that was built last; InputError if there is none, or if its file has changed since."""
    found = images()
    if not found:
        raise InputError("kernel", "none is built; run: aqmlab kernel build")
    image, known = found[0], found[0].path.stat()
    if _digest(image.path, known.st_size, known.st_mtime_ns) != image.digest:
        raise InputError("kernel", f"{image.path}: has changed since it was built; run: aqmlab kernel build")
    return image


def chosen(kernel: str | Path | None) -> Image:
    """Return a kernel by its path, by its version or name in the cache (7.3.4, 7.3.4-2864fd6572f5); None is the newest.

    InputError if there is none.
    """
    if kernel is None:
        return newest()
    return next((image for image in images() if str(kernel) in (image.version, image.name)), None) or at(Path(kernel))


def at(path: Path) -> Image:
    """Return the kernel in a file or in a folder of the cache. InputError if it is not user-mode Linux."""
    executable = (path / EXECUTABLE if path.is_dir() else path).absolute()  # a kernel starts in a folder of its own
    if executable.name == EXECUTABLE and (executable.parent / ABOUT).is_file():
        return _described(executable.parent)
    if not (executable.is_file() and os.access(executable, os.X_OK)):
        built = ", ".join(image.name for image in images()) or "none"
        wanted = f"a program that `make ARCH=um linux` builds, or a kernel of aqmlab kernel list ({built})"
        raise InputError("kernel", f"{path}: expected user-mode Linux, {wanted}")
    version, config = (_said(executable, option) for option in ("--version", "--showconfig"))
    if "CONFIG_UML=y" not in config:
        raise InputError("kernel", f"{path}: is not user-mode Linux; expected a program that `make ARCH=um` builds")
    digest = sha256(executable.read_bytes()).hexdigest()
    return Image(executable, version.strip(), digest, "", str(path), (), config)


def _described(place: Path) -> Image:
    """Return the image in a folder. InputError if it is not a whole one."""
    try:
        return read(place)
    except (OSError, ValueError, KeyError) as error:
        raise InputError("kernel", f"{place}: is not a folder of aqmlab kernel build: {error}") from None


def _said(executable: Path, option: str) -> str:
    """Return what a kernel prints; nothing if it is no program."""
    try:
        done = subprocess.run([str(executable), option], capture_output=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")


@cache
def _digest(path: Path, size: int, changed: int) -> str:  # noqa: ARG001
    """Return the SHA-256 of a file, read once for each of its sizes and times."""
    return sha256(path.read_bytes()).hexdigest()


def read(place: Path) -> Image:
    """Return the image in a folder; OSError, ValueError or KeyError if it is not a whole one."""
    known = json.loads((place / ABOUT).read_text(encoding="utf-8"))
    path = place / EXECUTABLE
    path.stat()
    return Image(path, **{name: known[name] for name in SAID}, added=tuple(known["added"]))


def describe(image: Image) -> str:
    """Return the contents of an image's about.json; its place is not part of it."""
    return json.dumps({name: getattr(image, name) for name in (*SAID, "added")}, indent=1) + "\n"


def wanted() -> str:
    """Return the requested configuration of a build."""
    return files("aqmlab.kernel").joinpath("linux.config").read_text(encoding="utf-8")


def built_in(config: str) -> list[str]:
    """Return the options that a configuration of Linux builds in."""
    return re.findall(r"^CONFIG_(\w+)=y$", config, re.M)


def lacking(config: str, options: Iterable[str]) -> list[str]:
    """Return those options that a configuration does not build in."""
    there = {*built_in(config)}
    return [option for option in options if option not in there]


def _found() -> Iterator[Image]:
    for about in folder().glob(f"[!.]*/{ABOUT}"):
        with suppress(OSError, ValueError, KeyError):
            yield read(about.parent)
