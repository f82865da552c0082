"""The needs of a build: programs, headers, room on the disk."""

import platform
import shutil
import subprocess
from pathlib import Path

from aqmlab.problems import InputError

PROGRAMS = {
    "make": "make",
    "gcc": "gcc",
    "ld": "binutils",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "tar": "tar",
    "xz": "xz-utils",
}
"""Programs, and the packages of Debian that have them."""

HEADERS = "libc6-dev"


def check(folder: Path, room: float) -> None:
    """Raise InputError, which says what is missing, unless a kernel can be built in that folder.

    `room` is what the build takes there, in bytes.
    """
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        found = f"{platform.system()} on {platform.machine()}"
        raise InputError("kernel", f"user-mode Linux needs Linux on x86_64; this machine has {found}")
    missing = {program: package for program, package in PROGRAMS.items() if not shutil.which(program)}
    if "gcc" not in missing and not _compiles():
        missing["stdio.h"] = HEADERS
    if missing:
        packages = " ".join(dict.fromkeys(missing.values()))
        raise InputError("kernel", f"to build it, {', '.join(missing)} must be installed: sudo apt install {packages}")
    free = shutil.disk_usage(folder).free
    if free < room:
        reason = f"building takes {room / 1e9:.1f} GB, and {folder} has {free / 1e9:.1f} GB free"
        raise InputError("kernel", f"{reason}; make room, or set XDG_CACHE_HOME to a folder with more")


def _compiles() -> bool:
    command = ["gcc", "-E", "-include", "stdio.h", "-x", "c", "/dev/null"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
