"""The program that a kernel starts: where it is."""

from importlib.resources import files
from pathlib import Path

from aqmlab.problems import InputError


def path() -> Path:
    """Return the guest's executable. InputError where this installation has none."""
    found = Path(str(files("aqmlab.kernel") / "guest"))
    if not found.is_file():
        raise InputError("engine", '"linux" needs the guest, which this installation lacks; it is in wheels for Linux')
    return found
