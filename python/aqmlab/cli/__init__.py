"""The command line: each command is a function of the package, with files and texts around it."""

import os
import re
import sys
import warnings
from importlib import import_module
from inspect import cleandoc
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

import aqmlab
from aqmlab import _core
from aqmlab._core import SchemeError
from aqmlab.extras import MissingExtraError, required
from aqmlab.names import is_text, plain
from aqmlab.problems import InputError, in_words
from aqmlab.scenario import OldFileNotice

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

COMMANDS = (
    "list_",
    "show",
    "schema",
    "run",
    "compare",
    "card",
    "response",
    "reproduce",
    "sweep",
    "merge",
    "report",
    "plot",
    "analyse",
    "advise",
    "fit",
    "tune",
    "break_",
    "tc",
    "export_policy",
    "live",
    "studio",
    "bundle",
    "verify",
    "cite",
    "exercise",
    "kernel",
    "doctor",
)
"""The modules of the commands, in the order of `aqmlab --help`. Each has a function or `Typer` of
its name, and an example, `EPILOG`."""

LONGEST = 2000
"""Characters per row of a message."""
MOST = 100
"""Lines of a message."""


def _home() -> list[str]:
    return [f"Home: {home}"] if (home := _core.home()) else []


app = typer.Typer(
    name="aqmlab",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="A laboratory for Active Queue Management: simulate, compare and reproduce schemes.",
    epilog="\n\n".join(["Begin with: aqmlab compare li2014/table-1 --aqms red,pi", *_home()]),
)


def main() -> None:
    """Run the command line: exit 0 when done, 1 if a run failed, 2 on bad input, 130 when interrupted."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the end
    if sys.__stdout__ is not None and sys.stdout is sys.__stdout__:  # no test has put its own there
        sys.stdout = _patient(sys.stdout.fileno(), sys.stdout.encoding)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.stdout, sys.stderr = _PlainStream(sys.stdout), _PlainStream(sys.stderr)
    warnings.showwarning = _Notes()
    try:
        try:
            _check_surroundings()
            with required():
                app()
        finally:
            sys.stdout.flush()  # a disk may be full
    except InputError as error:
        print(f"Error: {_shortened(str(error))}", file=sys.stderr)
        sys.exit(2)
    except (OSError, aqmlab.RunError, SchemeError, MissingExtraError) as error:
        print(f"Error: {in_words(error)}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _check_surroundings() -> None:
    """Forget sizes of a terminal that none has; InputError for an argument that is no text, as a file's name may be."""
    for name in ("COLUMNS", "LINES"):
        if not re.fullmatch("[1-9][0-9]{0,3}", os.environ.get(name, "80")):
            del os.environ[name]
    for argument in sys.argv[1:]:
        if not is_text(argument):
            raise InputError("argument", f"{argument}: is not UTF-8 text; rename the file of this name")


def _shortened(message: str) -> str:
    """Return a message as people still read it; a stranger's file may have endless names, and as many mistakes."""
    lines = message.split("\n")
    shown = [
        each if len(each) <= LONGEST else f"{each[: LONGEST // 2]} ... {each[-LONGEST // 4 :]}" for each in lines[:MOST]
    ]
    return "\n".join([*shown, *([f"... and {len(lines) - MOST:,} more"] if len(lines) > MOST else [])])


class _Notes:
    """Shows a warning as one line: a user of the command line does not know the place in the code.

    A notice of a changed default is shown for the first file only.
    """

    def __init__(self) -> None:
        self._is_known = False

    def __call__(self, message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        is_of_old = issubclass(category, OldFileNotice)
        if not (is_of_old and self._is_known):
            print(f"Note: {message}", file=sys.stderr)
        self._is_known |= is_of_old


class _PlainStream:
    """A stream without control characters; rich writes its colours to the underlying stream, by that name."""

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write a text, its control characters written out."""
        return self.rich_proxied_file.write(plain(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


class _Patient(FileIO):
    """A file whose reader may leave, as in `aqmlab list | head -1`: what nobody reads is dropped, and is no failure.

    So the exit code is the same however much was read. Any other fault is raised once, and what follows is dropped.
    """

    is_closed = False

    def write(self, data: "ReadableBuffer") -> int:
        """Write, and take what cannot be written as written if the reader has left."""
        size = memoryview(data).nbytes
        if self.is_closed:
            return size
        try:
            return super().write(data)
        except BrokenPipeError:
            return size
        except OSError as error:
            self.is_closed = True
            raise OSError(error.errno, error.strerror, "standard output") from None


def _patient(number: int, encoding: str) -> TextIO:
    """Return a text file of that descriptor that endures a reader who leaves."""
    raw = _Patient(number, "w", closefd=False)
    return TextIOWrapper(BufferedWriter(raw), encoding, line_buffering=raw.isatty())


def _version(wanted: bool) -> None:
    if wanted:
        commit = _core.commit()
        built_from = f"commit {commit}" if commit != "unknown" else f"no git, sources {_core.source()}"
        print(f"aqmlab {_core.version()} ({_core.build_profile()}, {built_from})")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _add(module_name: str) -> None:
    """Add a command; the list of commands shows the first line of its help whole."""
    module = import_module(f"aqmlab.cli.{module_name}")
    command, name = getattr(module, module_name), module_name.strip("_").replace("_", "-")
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name, epilog=module.EPILOG)
    else:
        summary = cleandoc(command.__doc__ or "").partition("\n")[0]
        app.command(name, epilog=module.EPILOG, short_help=summary)(command)


for command_module in COMMANDS:
    _add(command_module)
