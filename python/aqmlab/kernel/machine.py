"""A kernel that runs: it starts in a new folder, its guest writes lines there, and it leaves nothing.

The guest (crates/kernel) finds its order in the folder, which is its root, and writes its result there.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from aqmlab.kernel import guest
from aqmlab.kernel.images import Image

WATCHED = """
ulimit -c 0
exec 3<&0
(read _ <&3; rm -rf "$FOLDER"; kill -KILL 0) &
exec "$0" "$@" 3<&- < /dev/null
"""
"""Starts the kernel with a watcher, which ends both and removes their folder when this process has ended."""
STARTED = count()
"""Kernels of this process so far."""
LOOK = 0.02
"""Seconds between two looks at what the guest has written."""
EPOCH = 10**18
"""The kernel's wall clock as it starts, ns since 1970: initial sequence numbers depend on it."""
RESULT, CONSOLE = "result.jsonl", "console"
"""Files in the folder: the guest's lines, and the kernel's console."""


class StuckError(RuntimeError):
    """A guest that says nothing any longer, or has ended without a result."""


@dataclass(frozen=True)
class Machine:
    """A kernel that runs."""

    image: Image
    folder: Path
    """The root of its guest."""
    process: "subprocess.Popen[bytes]"
    result: IO[str]

    def lines(self, look: Callable[[float], None]) -> Iterator[dict[str, Any]]:
        """Yield what the guest writes, line by line, until the kernel has ended.

        `look` is called many times per second, with the seconds since the last line; what it raises ends the kernel.
        """
        text, last_output = "", time.monotonic()
        while True:
            has_ended = self.process.poll() is not None
            text += self.result.read()
            *whole, text = text.split("\n")
            for line in whole:
                last_output = time.monotonic()
                yield json.loads(line)
            look(time.monotonic() - last_output)
            if has_ended:
                return
            time.sleep(LOOK)


@contextmanager
def running(
    image: Image, memory: str, seed: int, files: dict[str, str], *, root: str = "", options: tuple[str, ...] = ()
) -> Iterator[Machine]:
    """Start a kernel, with these files in its folder, and end it.

    `root` are the kernel's options that name its root; by default it is confined to the folder. The folder is removed
    at the end, or by a watcher if this process is killed.
    """
    with TemporaryDirectory(prefix="aqmlab-kernel-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for place in ("proc", "dev", "view"):
            (folder / place).mkdir()
        shutil.copy(guest.path(), folder / "guest")
        for file, text in {RESULT: "", **files}.items():
            (folder / file).write_text(text, encoding="utf-8")
        own = (f"uml_dir={folder}/", root or f"hostfs={folder}")
        with (
            (folder / RESULT).open(encoding="utf-8") as result,
            (folder / CONSOLE).open("wb") as console,
            subprocess.Popen(
                ["sh", "-c", WATCHED, image.path, *_common(memory, seed), *options, *own],
                cwd=folder,
                env={"FOLDER": str(folder), "PATH": os.environ.get("PATH", os.defpath)},
                stdin=subprocess.PIPE,
                stdout=console,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # a group of its own, which can be ended as a whole
            ) as kernel,
        ):
            with suppress(ProcessLookupError):  # it may have ended already: who reads its lines sees it
                os.sched_setaffinity(kernel.pid, {_processor()})
            yield Machine(image, folder, kernel, result)


def _common(memory: str, seed: int) -> tuple[str, ...]:
    """Return the options of every kernel."""
    clock = ("time-travel=inf-cpu", f"time-travel-start={EPOCH}")
    root = ("rootfstype=hostfs", "rw", "init=/guest", "con=null", "con0=null,fd:1")
    return (*clock, "seccomp=auto", f"mem={memory}", "quiet", f"aqmlab.seed={seed}", *root)


def _processor() -> int:
    """Return the processor for the next kernel: its processes wait for each other, which costs half as much on one.

    Kernels that run at the same time have others, as far as there are any.
    """
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[(os.getpid() + next(STARTED)) % len(allowed)]
