"""A kernel started for a moment: does it run here, and by which of its two ways of running programs."""

import subprocess
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from aqmlab.kernel.images import Image
from aqmlab.kernel.steps import end

FIRST = "/bin/true"
"""The first program of a kernel that is only tried; the kernel ends when it does."""

OPTIONS = (
    *("mem=64M", "time-travel=inf-cpu", "seccomp=auto"),
    *("rootfstype=hostfs", "rootflags=/", "ro", f"init={FIRST}", "con=null", "con0=null,fd:1"),
)

BOOTED = "Attempted to kill init! exitcode=0x00000000"
"""The kernel's message after that program has run without a fault."""

WITHOUT_CORE = 'ulimit -c 0; exec "$0" "$@"'
"""Ends as the kernel does, which is a panic, leave no core file."""

LONGEST = 20
"""Seconds until a kernel that does not end is ended."""


@dataclass(frozen=True)
class Boot:
    """The outcome of starting a kernel."""

    is_up: bool
    """It ran a program."""
    has_seccomp: bool
    """Its programs' system calls are caught by a filter; else they are traced, at two to three times the cost."""
    said: str
    """The last line it printed."""


def try_out(image: Image) -> Boot:
    """Start a kernel with nothing to do, and return what it did."""
    with TemporaryDirectory() as folder:  # its files would go to ~/.uml, and stay there
        return _try_out([*OPTIONS, f"uml_dir={folder}/"], image)


def _try_out(options: list[str], image: Image) -> Boot:
    program = subprocess.Popen(
        ["sh", "-c", WITHOUT_CORE, image.path, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,  # a kernel that panics ends its whole group
    )
    try:
        said, _ = program.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return Boot(False, False, f"has not ended within {LONGEST} s")
    finally:
        end(program)
    lines = [line.strip() for line in said.splitlines() if line.strip()] or [f"ended with {program.returncode}"]
    seccomp = any("seccomp" in line and line.endswith("OK") for line in lines)
    return Boot(any(BOOTED in line for line in lines), seccomp, lines[-1])
