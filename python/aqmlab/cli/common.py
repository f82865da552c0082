"""Parts that commands share: common options, the progress bar, written files, exit codes."""

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab import extras, files, untrusted
from aqmlab.names import plain
from aqmlab.problems import InputError

if TYPE_CHECKING:
    from aqmlab._core import Scenario
    from aqmlab.runs.executor import Progress
    from aqmlab.runs.task import Failure


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder for the files.")]
Seeds = Annotated[int, typer.Option("--seeds", metavar="N", min=1, help="Run the seeds 1 to N.")]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", min=1, help="Maximum number of parallel runs; default: one per core."),
]


def _set_memory(text: str | None) -> None:
    if text is not None:
        from aqmlab.runs import memory

        memory.set_limit(text)


Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        callback=_set_memory,
        help='Memory limit of all runs together, such as "8 GB"; default: half of the machine\'s.',
    ),
]
Engine = Annotated[
    str, typer.Option(metavar="NAME", help="sim, the simulator, or linux, the newest kernel of aqmlab kernel build.")
]
Engines = Annotated[
    str | None,
    typer.Option(
        metavar="LIST", help="sim,linux, or kernels by path or version, linux:A,linux:B: run each, print differences."
    ),
]
ControllerName = Annotated[
    str,
    typer.Argument(
        metavar="CC",
        help="A name (bbr3, cubic:beta=0.8), or a shared library or Python file with your own controller.",
    ),
]
ScenarioName = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="A built-in name (li2014/table-1) or a TOML file.")
]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of aqmlab sweep --out.")]
LinkOption = Annotated[
    str | None, typer.Option("--link", metavar="NAME", help="Link to show; default: the first of a scenario.")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Replace a value of the scenario.")
]
TracesOption = Annotated[
    Path | None,
    typer.Option(
        "--traces",
        metavar="DIR",
        help="A further folder from which the scenario may read rate traces.",
    ),
]
LawOption = Annotated[
    str | None,
    typer.Option(
        "--cc",
        "--law",
        metavar="NAME[:k=v,...]",
        help="Congestion control of all TCP flows: a name, or a shared library or Python file with your own.",
    ),
]
CallOption = Annotated[
    str | None,
    typer.Option(
        "--call",
        metavar="NAME",
        help="Rate control of video calls (home/meeting): gcc, scream, nada or constant.",
    ),
]
Jitter = Annotated[bool, typer.Option("--jitter", help="Each flow starts up to a round trip later, drawn by the seed.")]
SPREAD = ("flows.*.start_spread", "1")
"""The settings of --jitter."""
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure", metavar="NAME", help="Show this measure, or all that match a pattern with *; repeatable."
    ),
]


Across = Annotated[
    str | None,
    typer.Option(
        "--compare",
        metavar="set.PATH",
        help="Compare the values of set.PATH instead of the schemes, such as controllers.",
    ),
]


LARGEST_PAGE = 1024 * untrusted.MIB
"""Bytes of a page that may be replaced."""
HEAD = 2000
"""Bytes of a page in which it says what it is about."""


@contextmanager
def progress(title: str) -> Iterator["Progress"]:
    """Yield a progress bar, or occasional progress messages if stderr is not a terminal.

    The output of a user's scheme goes to stderr meanwhile, so stdout contains the answer only.
    """
    with redirect_stdout(sys.stderr):
        if not sys.stderr.isatty():
            from aqmlab.present.terminal.lines import ProgressLines

            yield ProgressLines(title)
            return
        from aqmlab.present.terminal import progress

        with progress.progress(title) as advance:
            yield advance


def tell_time(runs: "Sequence[tuple[Scenario, int]]", jobs: int | None) -> None:
    """Print an estimate of the time of runs on Linux, with the number of runs of each scenario, on stderr."""
    from aqmlab.present.terminal.lines import clock
    from aqmlab.runs import linux

    count = sum(n for _, n in runs)
    if not count:
        return
    workers = jobs or os.cpu_count() or 1
    seconds = sum(n * linux.estimate(scenario) for scenario, n in runs) / min(workers, count)
    runs_on = "1 run" if count == 1 else f"{count:,} runs"
    print(f"{runs_on} on Linux, about {clock(seconds)} (an estimate from rates and durations)", file=sys.stderr)


def command(*arguments: str) -> str:
    """Return the command line that repeats this one; the program is another one where it was extended."""
    program = Path(sys.argv[0]).stem
    return shlex.join([*(["python", "-m", "aqmlab"] if program == "__main__" else [program]), *arguments])


def results(document: object) -> dict[str, bytes | str]:
    """Return results.json with a result."""
    return {"results.json": json.dumps(document, indent=1, ensure_ascii=False) + "\n"}


def print_json(document: object) -> None:
    """Print one document on stdout."""
    print(json.dumps(document, indent=1, ensure_ascii=False))


def leave(folder: Path, contents: dict[str, bytes | str]) -> None:
    """Write files into a folder, and report it; earlier ones of the same names are replaced.

    A command writes files before it prints, because its reader may exit: `aqmlab compare ... --out DIR | head -1`. It
    writes results before it draws, so a failed picture loses none. InputError if the path cannot be a folder.
    """
    files.check_folder(folder)
    files.write_all(folder, contents)
    print(f"Wrote {', '.join(str(folder / name) for name in sorted(contents))}", file=sys.stderr)


def check_report(path: Path, subject: str) -> None:
    """Raise InputError if `path` is a page other than a report on `subject`, which a report would replace.

    MissingExtraError if the packages for reports are not installed. A command checks before it simulates.
    """
    extras.check("jinja2")
    if not path.exists():
        return
    with untrusted.opened(path, LARGEST_PAGE, field="out", expected="a report, or no file") as file:
        head = file.read(HEAD).decode("utf-8", "replace")
    found = re.search(r'<meta name="subject" content="([^"]*)">', head)
    if not found or unescape(found[1]) != plain(subject):
        about = f"is about {unescape(found[1])}" if found else "does not say what it is about"
        raise InputError("out", f"{path}: this report {about}; choose another place for {subject}, or delete it")


def exit_if_failed(failures: "Sequence[Failure | str]") -> None:
    """End with 1 if a run failed, and say which."""
    for failure in failures:
        print(f"Error: {failure}", file=sys.stderr)
    if failures:
        raise typer.Exit(1)


def leave_file(path: Path, data: bytes) -> None:
    """Write one file, and report it. InputError if the path cannot be a file."""
    files.check_file("out", path)
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, data)
    print(f"Wrote {path}", file=sys.stderr)
