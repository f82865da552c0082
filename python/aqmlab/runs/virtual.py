"""A command on an emulated link in virtual time: `aqmlab live` in a kernel whose clock jumps from timer to timer."""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from signal import SIGALRM
from typing import Any, Protocol

from aqmlab import own
from aqmlab._core import CommandError, Interrupted, Scenario, SchemeError
from aqmlab.kernel import images
from aqmlab.kernel.images import Image
from aqmlab.kernel.machine import CONSOLE, Machine, StuckError, running
from aqmlab.problems import InputError
from aqmlab.quantities import whole
from aqmlab.runs import check_seed
from aqmlab.runs.live import LiveRun, Watch, write_setup

MEMORY = "3000M"
"""Of the guest, of which it takes what programs use and the files they read."""
SYSCALL = 1e-6
"""Seconds that a system call of a program takes by default."""
LONGEST_SYSCALL = 1e-3
SILENT = 4.0
"""Seconds of the host without a report, after which the kernel is asked for its time and program."""
ASKING = 2.0
"""Seconds between two questions."""
STILL = 20.0
"""Seconds in which virtual time must move; else the program that holds it is named."""
ROOT = ("rootflags=/proc/self/cwd",)
"""The kernel's own folder as its root, by a name that is the same in every run: the command line seeds the kernel."""
PROGRAMS = ("USER_NS", "IPC_NS", "SYSVIPC", "POSIX_MQUEUE", "INOTIFY_USER", "SECCOMP_FILTER", "TUN")
"""Options of the kernel without which programs do not run."""
WITHOUT_CHANCE = {"OPENSSL_ia32cap": "~0x4000000000000000:~0x40000"}
"""Environment in which OpenSSL and BoringSSL (Chromium) use no RDRAND and RDSEED, which no seed reaches."""
RUNS = re.compile(rb"aqmlab: (\d+) ns, (\d+) (.*)")
"""The kernel's answer: its time, and the process that runs."""
FILES = ("stdout", "stderr")
LONGEST_SPREAD = 3600.0
"""Seconds."""


class Stream(Protocol):
    """A binary stream, such as `sys.stdout.buffer`."""

    def write(self, data: bytes, /) -> object:
        """Write data."""

    def flush(self) -> object:
        """Write everything."""


def run_virtual(
    scenario: Scenario,
    command: Sequence[str],
    aqm: own.Scheme | None = None,
    seed: int = 1,
    *,
    serve: Sequence[str] = (),
    also: Sequence[str] = (),
    duration: float | None = None,
    start_spread: float = 0.0,
    mtu: int = 1500,
    sysctls: Sequence[tuple[str, str]] = (),
    directory: Path | None = None,
    writable: Sequence[Path] | None = None,
    syscall: float = SYSCALL,
    kernel: str | Path | None = None,
    quiet_stdout: bool = False,
    folder: Path | None = None,
    output: tuple[Stream, Stream] | None = None,
    watch: Watch | None = None,
    is_cancelled: Callable[[], bool] = bool,
) -> LiveRun:
    """Run a command on the scenario's link inside a kernel in virtual time, and return the measurements.

    The other options are as in `live`; `also` are lines for a shell at the command's end of the link. The command
    starts up to `start_spread` seconds after these, at a time drawn from the seed (`live.start`). The same seed
    gives the same result, whatever else this machine does. Each system call of a program takes `syscall` seconds;
    nothing else takes time. Programs start in `directory`, by default the working folder. They see this machine's
    files, and may change those in `writable`, by default `directory`. `kernel` is a kernel's file, folder or version,
    by default the newest. `output` are streams for the programs' stdout and stderr, by default this process's; `watch`
    is called once per virtual second. The run ends with Interrupted once `is_cancelled` returns true.

    InputError for wrong input, or a kernel without the options that programs need. CommandError if the command cannot
    be started. SchemeError if a scheme fails. StuckError if the kernel ends or a program holds time still.
    """
    check_seed(seed)
    whole("mtu", mtu, 68, 65535)
    if not 0 <= syscall <= LONGEST_SYSCALL:
        raise InputError("syscall", f"{syscall * 1e6:g} us: expected 0 to {LONGEST_SYSCALL * 1e3:g} ms")
    start = start_of(seed, start_spread)
    image, scheme, inside = check(kernel), built_in(aqm), (directory or Path()).resolve()
    if folder is not None:
        write_setup(folder, scenario, scheme, seed)
    order = {
        "scenario": scenario.text,
        "name": scenario.name,
        "overrides": scenario.overrides,
        "aqm": scheme,
        "seed": seed,
        "setup": {
            "command": list(map(_word, command)),
            "serve": list(serve),
            "also": list(also),
            "start": start,
            "logs": None if folder is None else str(folder.resolve()),
            "outside": False,
            "quiet_stdout": quiet_stdout,
            "mtu": mtu,
            "foreground": False,
            "sysctls": list(sysctls),
        },
        "duration": None if duration is None else start + duration,
        "directory": str(inside),
        "writable": _writable([inside] if writable is None else writable, folder),
        "environment": [(_word(name), _word(value)) for name, value in (WITHOUT_CHANCE | os.environ).items()],
        "user": (os.getuid(), os.getgid()),
    }
    options = (*ROOT, f"aqmlab.syscall={round(syscall * 1e9)}")
    files = {"live.json": json.dumps(order), **dict.fromkeys(FILES, "")}
    with running(image, MEMORY, seed, files, root="rootfstype=hostfs", options=options) as machine:
        run = _result(machine, output or (sys.stdout.buffer, sys.stderr.buffer), watch, is_cancelled)
    run.document["live"]["start"] = start
    return run


def start_of(seed: int, spread: float) -> float:
    """Return when the command starts, uniform in 0 to `spread` seconds. InputError for a spread out of range."""
    if not 0 <= spread <= LONGEST_SPREAD:
        raise InputError("start-spread", f"{spread:g} s: expected 0 to {LONGEST_SPREAD:g} s")
    return round(Random(seed).uniform(0, spread), 9)


def check(kernel: str | Path | None = None) -> Image:
    """Return the kernel of a run. InputError if it cannot run programs, or there is none."""
    image = images.chosen(kernel)
    lacks = images.lacking(image.config, PROGRAMS)
    if lacks:
        reason = f"Linux {image.version} ({image.path}) was built without {', '.join(lacks)}, which programs need"
        raise InputError("kernel", f"{reason}; run: aqmlab kernel build")
    return image


def _word(text: str) -> dict[str, list[int]]:
    """Return a word of a command as the guest reads it: bytes, which need not be UTF-8."""
    return {"Unix": list(os.fsencode(text))}


def _writable(given: Sequence[Path], folder: Path | None) -> list[str]:
    """Return the folders that programs may change."""
    paths = [*given, *([folder] if folder else [])]
    for path in paths:
        if not path.is_dir():
            raise InputError("write", f"{path}: expected a folder")
    return [str(path) for path in dict.fromkeys(path.resolve() for path in paths)]


def built_in(aqm: own.Scheme | None) -> str | None:
    """Return a scheme in words. InputError for one of the user's, which cannot run inside the kernel."""
    spec = None if aqm is None else own.spec(aqm)
    if spec is not None and own.is_own(spec):
        raise InputError("aqm", f"{spec}: a scheme of your own cannot run inside the kernel; expected a built-in one")
    return spec


def _result(
    machine: Machine, output: tuple[Stream, Stream], watch: Watch | None, is_cancelled: Callable[[], bool]
) -> LiveRun:
    with _Output(machine, output) as printed:
        watchdog = _Watchdog(machine)

        def look(silent: float) -> None:
            if is_cancelled():
                raise Interrupted("the run was cancelled")
            printed.pass_on()
            watchdog.look(silent)

        for line in machine.lines(look):
            if "now" in line:
                if watch:
                    watch(line["now"], line["up"], line["down"])
                continue
            printed.pass_on()
            return _ended(machine, line)
    said = (machine.folder / CONSOLE).read_text(encoding="utf-8", errors="replace").strip()
    last = said.splitlines()[-1] if said else "its console is empty"
    raise StuckError(f"Linux {machine.image.version} has ended without a result: {last}")


def _ended(machine: Machine, line: dict[str, Any]) -> LiveRun:
    """Return the result in the last line of the guest, or raise what it says."""
    if "not_started" in line:
        raise CommandError(*line["not_started"])
    if "scheme" in line:
        raise SchemeError(line["scheme"])
    if "error" in line:
        raise StuckError(f"Linux {machine.image.version}: {line['error']}")
    import numpy as np

    found = line["result"]
    series = {
        link: {name: np.asarray(values, dtype=float) for name, values in columns.items()}
        for link, columns in found["series"].items()
    }
    flows = [tuple(row) for row in found["flows"]]
    return LiveRun(found["document"], found["code"], found["warnings"], series, flows)


class _Output:
    """The output of programs, passed on while they run."""

    def __init__(self, machine: Machine, to: tuple[Stream, Stream]) -> None:
        self.streams = [((machine.folder / name).open("rb"), stream) for name, stream in zip(FILES, to, strict=True)]

    def __enter__(self) -> "_Output":
        return self

    def __exit__(self, *_: object) -> None:
        for source, _stream in self.streams:
            source.close()

    def pass_on(self) -> None:
        """Copy what is new."""
        for source, stream in self.streams:
            if new := source.read():
                stream.write(new)
                stream.flush()


class _Watchdog:
    """Sees a program that holds virtual time still, and names it."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.console = machine.folder / CONSOLE
        self.asked_at = self.moved_at = time.monotonic()
        self.now = b""

    def look(self, silent: float) -> None:
        """Ask the kernel for its time and program after a silence; StuckError if time does not move for too long.

        A question does not change the run.
        """
        present = time.monotonic()
        if silent < SILENT or present - self.asked_at < ASKING:
            return
        answers = RUNS.findall(self.console.read_bytes())
        if not answers or answers[-1][0] != self.now:
            self.now, self.moved_at = answers[-1][0] if answers else b"", present
        elif present - self.moved_at > STILL:
            _, process, name = answers[-1]
            raise StuckError(
                f"{name.decode(errors='replace')} (process {int(process)}) has held virtual time still for "
                f"{present - self.moved_at:.0f} s: it computes, or waits in a loop without a system call"
            )
        self.asked_at = present
        for process in _programs(self.machine.process.pid):
            with suppress(ProcessLookupError):
                os.kill(process, SIGALRM)


def _programs(kernel: int) -> list[int]:
    """Return the processes of the host that execute a guest's program at the moment."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, rest = status.read_text().rsplit(")", 1)
            state, parent = rest.split()[:2]
            if int(parent) == kernel and state == "R":
                found.append(int(name.split()[0]))
    return found
