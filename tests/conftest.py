"""What the tests share: the installed command, and a scenario that takes no time."""

import io
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from multiprocessing import forkserver, get_context
from pathlib import Path
from types import ModuleType

import pytest
import typer.main

import aqmlab as lab

COMMAND = Path(sysconfig.get_path("scripts")) / "aqmlab"
SMALL = Path(__file__).parent / "small.toml"

for variable in ("COLUMNS", "LINES", "FORCE_COLOR", "CLICOLOR_FORCE", "NO_COLOR", "TTY_COMPATIBLE"):
    os.environ.pop(variable, None)  # what commands print is read here, whatever terminal the tests are started from

BASIC = """
schema = 1
title = "Small"
scenarios = ["small.toml"]
aqms = ["droptail", { name = "pi", w = ["85 Hz", "170 Hz"] }]
seeds = 2
[set]
links.bottleneck.rate = ["5 Mbit/s", "10 Mbit/s"]
"""
"""An experiment of 12 runs."""


@cache
def live_fault() -> str | None:
    """Return why this machine cannot run live, None if it can."""
    from aqmlab.runs import live

    try:
        live.live(live.EmulatedLine(up="1 Mbit/s", down=None).scenario(), ["true"])
    except OSError as error:
        return f"this machine cannot run live: {error}"
    return None


@cache
def virtual_fault() -> str | None:
    """Return why programs cannot run in virtual time here, None if they can."""
    from aqmlab.problems import InputError
    from aqmlab.runs import virtual

    try:
        virtual.check()
    except InputError as error:
        return f"no kernel that runs programs: {error}"
    return None


@pytest.fixture(scope="session")
def live_machine() -> None:
    """Skip where the machine has no user namespaces or no TUN devices."""
    if fault := live_fault():
        pytest.skip(fault)


def heed_interrupts() -> None:
    """What runs in the background of a shell, such as these tests, may ignore Ctrl-C and hand that on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


Aqmlab = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def small() -> str:
    return str(SMALL)


FORKS = get_context("forkserver")
PACKAGE = Path(lab.__file__).parent
MODULES = [
    ".".join(("aqmlab", *path.relative_to(PACKAGE).with_suffix("").parts))
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.stem not in ("__init__", "__main__", "sb3", "cluster")
]
LIBRARIES = [
    "cmaes",
    "control",
    "fontTools.subset",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "matplotlib.pyplot",
    "pandas",
    "pyarrow.parquet",
    "pytest",
    "scipy.stats",
]
FORKS.set_forkserver_preload([*MODULES, *LIBRARIES, "preloaded"])
"""Each command has a process of its own, forked from one that has imported what takes long."""


@cache
def start_forkserver() -> None:
    """Start that process; it finds `preloaded` in this folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        forkserver.ensure_running()


@pytest.fixture
def aqmlab(tmp_path: Path) -> Aqmlab:
    """Run the command as a user does, in an empty folder."""
    return partial(forked, tmp_path)


@pytest.fixture
def within(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Aqmlab:
    """Run the command in this process, in an empty folder: a tenth of the time, for commands that are refused."""
    monkeypatch.chdir(tmp_path)
    return partial(in_process, monkeypatch)


command_tree = cache(typer.main.get_command)
"""The commands with all their options, which take longer to build than most commands need to refuse their input."""


def in_process(
    monkeypatch: pytest.MonkeyPatch, *args: object, stdin: bytes = b""
) -> "subprocess.CompletedProcess[str]":
    """Run the command in this process, with streams of its own."""
    from aqmlab.cli import main
    from aqmlab.runs import memory

    arguments = ["aqmlab", *map(str, args)]
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.setattr(typer.main, "get_command", command_tree)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
    for name, stream in zip(("stdout", "stderr"), streams, strict=True):
        monkeypatch.setattr(sys, name, stream)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    code: object = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    finally:
        memory.set_limit(None)
    told = [stream.buffer.getvalue().decode() for stream in streams]  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(arguments, code, *told)  # type: ignore[arg-type]


def forked(folder: Path, *args: object, limit: float | None = None) -> "subprocess.CompletedProcess[str]":
    """Run the command as a user does, in a folder; a command that does not end within `limit` seconds fails."""
    return in_fork(run_command, folder, [str(COMMAND), *map(str, args)], limit)


def forked_program(folder: Path, text: str) -> "subprocess.CompletedProcess[str]":
    """Run a Python program as `python -c` does, in a folder."""
    return in_fork(run_program, folder, ["-c", text])


def in_fork(
    run: Callable[[Sequence[str]], None], folder: Path, arguments: Sequence[str], limit: float | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run something in a process of its own that has imported what takes long."""
    start_forkserver()
    with tempfile.TemporaryDirectory() as streams:
        files = Path(streams) / "stdout", Path(streams) / "stderr"
        process = FORKS.Process(target=run_alone, args=(run, arguments, folder, dict(os.environ), *files))
        process.start()
        process.join(limit)
        if process.exitcode is None:
            process.kill()
            pytest.fail(f"does not end: {arguments}")
        told = [file.read_text(encoding="utf-8") for file in files]
    return subprocess.CompletedProcess(arguments, process.exitcode, *told)


def run_alone(
    run: Callable[[Sequence[str]], None],
    arguments: Sequence[str],
    folder: Path,
    environment: dict[str, str],
    *files: Path,
) -> None:
    """Be a process of these arguments, in this folder, its two streams in files."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = list(arguments)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8")
    sys.stderr = sys.__stderr__ = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), "utf-8", write_through=True)
    run(arguments)


def run_program(arguments: Sequence[str]) -> None:
    """Be the program of `python -c`, which is in the module `__main__`, with its folder first on the path."""
    option, text = arguments
    sys.argv = [option]
    sys.path.insert(0, "")
    program = sys.modules["__main__"] = ModuleType("__main__")
    exec(compile(text, "<string>", "exec"), program.__dict__)
    sys.stdout.flush()


def run_command(arguments: Sequence[str]) -> None:
    """Be the command."""
    from aqmlab.cli import main

    main()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a small scenario and an experiment about it: 1 x 2 x 3 x 2 = 12 runs."""
    (tmp_path / "small.toml").write_text(SMALL.read_text())
    (tmp_path / "e.toml").write_text(BASIC)
    return tmp_path


VARIED = """
schema = 1
title = "Small & <quick>"
scenarios = ["small.toml"]
aqms = ["droptail", { name = "pi", w = ["85 Hz", "170 Hz"] }]
seeds = 4
[set]
links.bottleneck.rate = ["5 Mbit/s", "10 Mbit/s"]
duration = "1 s"
"""
"""An experiment of 24 runs; the title is one that must be escaped on a page."""


@pytest.fixture(scope="session")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of 2 rates x 3 schemes x 4 seeds = 24 runs, without series."""
    from aqmlab.runs import sweep as sweeps

    folder = tmp_path_factory.mktemp("swept")
    (folder / "small.toml").write_text(SMALL.read_text())
    (folder / "e.toml").write_text(VARIED)
    sweeps.sweep(folder / "e.toml", folder / "out")
    return folder / "out"


@pytest.fixture(scope="session")
def with_series(swept: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same sweep with series of some runs."""
    from sweeping import store_series

    folder = tmp_path_factory.mktemp("series") / "out"
    shutil.copytree(swept, folder)
    store_series(folder)
    return folder
