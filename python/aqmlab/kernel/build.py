"""A kernel built from source: checked before work starts, and in the cache whole or not at all."""

import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from aqmlab import lock
from aqmlab.kernel import additions, images, needs, source
from aqmlab.kernel.images import Image
from aqmlab.kernel.steps import Steps
from aqmlab.problems import InputError

Progress = Callable[[float, int], None]
"""Callback with the number of compiled files, and of all files."""

LOG = "build.log"
"""The log of the last build, in the folder of all kernels."""

FILES = 1400
"""Files that are compiled, about."""

WORK = ".build"

PROCESSOR = 460
"""Seconds of processor time that this takes, about."""

PROGRAMS = ("virtual.c", "arch/um/kernel")
"""A file of this package that the kernel gets, and its place: what programs in virtual time need of a kernel."""
DECLARED = """void um_idle_sleep(void);
void aqmlab_charge(void);
int aqmlab_time_stamp(struct uml_pt_regs *regs);
void aqmlab_report(void);"""

HZ = re.compile(r"(^config HZ\n\s+int\n\s+default )\d+$", re.M)
RANDOM = re.compile(r"(^ssize_t os_getrandom\(.*\)\n{\n)(?:\t.*\n)+(?=})", re.M)
IDLE = re.compile(r"^void um_idle_sleep\(void\);$(?:\n\w+ aqmlab_\w+\(.*\);)*", re.M)
CALLED = re.compile(r"^(\t\tPT_REGS_SET_SYSCALL_RETURN\(regs, ret\);\n)(?:\t\taqmlab_charge\(\);\n)?", re.M)
STAMP = "\tif (aqmlab_time_stamp(regs))\n\t\treturn;\n"
FAULT = re.compile(rf"^(?:{re.escape(STAMP)})?(\tif \(UPT_IS_USER\(regs\) && !SEGV_IS_FIXABLE\(fi\)\) {{)$", re.M)
PROCESS = "arch/um/os-Linux/skas/process.c"
ALARM = re.compile(r"^(\t\t\tcase SIGALRM:\n)(?:\t\t\t\t(?:aqmlab|unsch).*\n)*(\t\t\t\tbreak;)$", re.M)
REPORT = "\t\t\t\taqmlab_report();\n\t\t\t\tunscheduled_userspace_iterations--;\n"
SOCKET = re.compile(r"^(#include <sys/socket.h>\n)(?:#include <sys/prctl.h>\n)?", re.M)
TRAMP = re.compile(
    r"^(\tint ret;\n\n)(?:\tprctl\(PR_SET_TSC.*\n)?(\tif \(using_seccomp\) {\n\t\tinit_data\.signal_handler)", re.M
)
FREE = re.compile(
    r"^(\tsf->f_bfree = ).*\n(\tsf->f_bavail = ).*\n(\tsf->f_files = f_files;\n)(\tsf->f_ffree = ).*\n", re.M
)

EDITS = (
    ("arch/um/Kconfig", "HZ", HZ, r"\g<1>1000"),
    ("arch/um/os-Linux/util.c", "os_getrandom", RANDOM, r"\g<1>\tmemset(buf, 0, len);\n\treturn len;\n"),
    ("arch/um/include/shared/kern_util.h", "um_idle_sleep", IDLE, DECLARED),
    ("arch/um/kernel/skas/syscall.c", "the end of a system call", CALLED, r"\g<1>\t\taqmlab_charge();\n"),
    ("arch/um/kernel/trap.c", "a fault", FAULT, rf"{STAMP}\g<1>"),
    (PROCESS, "SIGALRM", ALARM, rf"\g<1>{REPORT}\g<2>"),
    (PROCESS, "sys/socket.h", SOCKET, r"\g<1>#include <sys/prctl.h>\n"),
    (PROCESS, "userspace_tramp", TRAMP, r"\g<1>\tprctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);\n\g<2>"),
    (
        "fs/hostfs/hostfs_kern.c",
        "hostfs_statfs",
        FREE,
        r"\g<1>f_blocks / 2;\n\g<2>f_blocks / 2;\n\g<3>\g<4>f_files / 2;\n",
    ),
)
"""Values that no configuration can set: a file, what it is about, how it is found there, what it becomes.

The clock runs at 1000 Hz as in distributions; user-mode Linux sets 100 Hz. The host gives no random numbers: all that
is random in the kernel follows from its command line, which has our seed (`random_init_early`). The rest calls
`virtual.c`: a system call takes time, the time-stamp counter reads the virtual clock, and SIGALRM asks which program
runs. The free space of the host, which changes, is half of the disk.
"""

NEEDED = ("UML_TIME_TRAVEL_SUPPORT", "HIGH_RES_TIMERS", "HOSTFS", "NET_NS", "VETH", "NET_SCHED")
"""Options without which no scenario runs; what else a source does not have is said (`Image.lacks`)."""

SAME = {
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_VERSION": "1",
    "KBUILD_BUILD_USER": "aqmlab",
    "KBUILD_BUILD_HOST": "aqmlab",
}
"""Variables that would make two builds of the same source differ."""


def build(
    given: Path | None = None,
    *,
    sha256: str | None = None,
    add: Sequence[Path] = (),
    keep: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Image:
    """Build a kernel and keep it in the cache; without a source Debian's package is fetched.

    Each step is reported, and compiled files are counted.

    InputError, before any work, for an unusable source or added file, and for missing tools.
    ChildProcessError if the source cannot be fetched or compiled.
    """
    added = additions.read(add)
    source.check(given, sha256)
    folder = images.folder()
    folder.mkdir(parents=True, exist_ok=True)
    room = source.room(given)
    needs.check(folder, room)
    with lock.held(folder, "kernel", "another build"), _work(folder / WORK) as work:
        steps, tree = Steps(folder / LOG), work / "source"
        tell(f"This takes {room / 1e9:.1f} GB in {folder} until it is done; the log is {steps.log}")
        tell(source.preparing(given))
        origin = source.prepare(given, tree, steps)
        _edit(tree)
        for each in added:
            each.put(tree)
        _configure(tree, steps)
        jobs = jobs or os.cpu_count() or 1
        tell(f"Compiling about {FILES:,} files: {max(1, round(PROCESSOR / jobs / 60))} min if nothing else is running")
        _compile(tree, steps, jobs, progress)
        return _store(tree, _version(tree, steps), origin, tuple(each.name for each in added), keep)


@contextmanager
def _work(folder: Path) -> Iterator[Path]:
    """Give an empty folder that is removed at the end; one that a build left, which was killed, is removed first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _edit(tree: Path) -> None:
    for name, what, found, becomes in EDITS:
        path = tree / name
        text, n = found.subn(becomes, path.read_text(encoding="utf-8") if path.is_file() else "")
        if n != 1:
            raise InputError("source", f"{name} does not have {what} in the way of Linux 7.3; take a source near to it")
        path.write_text(text, encoding="utf-8")
    name, place = PROGRAMS
    (tree / place / name).write_bytes(files("aqmlab.kernel").joinpath(name).read_bytes())
    makefile, built_in = tree / place / "Makefile", f"\nobj-y += {Path(name).stem}.o\n"
    text = makefile.read_text(encoding="utf-8") if makefile.is_file() else ""
    makefile.write_text(text.replace(built_in, "") + built_in, encoding="utf-8")


def _configure(tree: Path, steps: Steps) -> None:
    (tree / ".config").write_text(images.wanted(), encoding="utf-8")
    steps.run(["make", "ARCH=um", "olddefconfig"], tree, SAME)
    lacks = images.lacking((tree / ".config").read_text(encoding="utf-8"), NEEDED)
    if lacks:
        raise InputError("source", f"it does not have {', '.join(lacks)}; use Linux 7.3 or later")


def _compile(tree: Path, steps: Steps, jobs: int, progress: Progress | None) -> None:
    done = 0

    def count(line: str) -> None:
        nonlocal done
        done += line.startswith("  ")  # such as "  CC      net/sched/sch_pie.o"
        if progress:
            progress(done, max(FILES, done))

    steps.run(["make", "ARCH=um", f"--jobs={jobs}", "linux"], tree, SAME, count)


def _version(tree: Path, steps: Steps) -> str:
    """Return the version of the source, such as 7.3.4."""
    lines: list[str] = []
    steps.run(["make", "--silent", "ARCH=um", "kernelversion"], tree, on_line=lines.append)
    return lines[-1].strip()


def _store(tree: Path, version: str, origin: str, added: tuple[str, ...], keep: bool) -> Image:
    """Move what was built to its place in the cache, all of it at once; an equal kernel that is there makes way."""
    made = tree.with_name("image")
    made.mkdir()
    executable = made / images.EXECUTABLE
    shutil.copy(tree / "linux", executable)
    shutil.copyfile(tree / ".config", made / images.CONFIG)
    digest = source.digest(executable)
    image = Image(executable, version, digest, lock.time_now(), origin, added)
    (made / images.ABOUT).write_text(images.describe(image), encoding="utf-8")
    if keep:
        tree.rename(made / "source")
    place = images.place(image.version, digest)
    if place.exists():
        place.rename(made.with_name("old"))
    made.rename(place)
    return images.read(place)
