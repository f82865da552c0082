"""The command line: each command is a function of the package, with files and texts around it."""

import sys
import warnings
from collections.abc import Callable
from inspect import cleandoc
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

import aqmlab
from aqmlab import _core
from aqmlab._core import SchemeError
from aqmlab.cli.advise import EPILOG as ADVISE_EPILOG
from aqmlab.cli.advise import advise
from aqmlab.cli.analyse import EPILOG, analyse
from aqmlab.cli.bundle import bundle
from aqmlab.cli.card import card
from aqmlab.cli.cite import cite
from aqmlab.cli.compare import compare
from aqmlab.cli.doctor import doctor
from aqmlab.cli.exercise import EPILOG as EXERCISE_EPILOG
from aqmlab.cli.exercise import exercise
from aqmlab.cli.export_policy import EPILOG as EXPORT_EPILOG
from aqmlab.cli.export_policy import export_policy
from aqmlab.cli.kernel import EPILOG as KERNEL_EPILOG
from aqmlab.cli.kernel import kernel
from aqmlab.cli.list_ import list_
from aqmlab.cli.live import EPILOG as LIVE_EPILOG
from aqmlab.cli.live import live
from aqmlab.cli.merge import merge
from aqmlab.cli.plot import plot
from aqmlab.cli.report import report
from aqmlab.cli.reproduce import reproduce
from aqmlab.cli.run import run
from aqmlab.cli.show import show
from aqmlab.cli.studio import EPILOG as STUDIO_EPILOG
from aqmlab.cli.studio import studio
from aqmlab.cli.sweep import sweep
from aqmlab.cli.tc import EPILOG as TC_EPILOG
from aqmlab.cli.tc import tc_
from aqmlab.cli.tune import EPILOG as TUNE_EPILOG
from aqmlab.cli.tune import tune
from aqmlab.cli.verify import verify
from aqmlab.extras import MissingExtraError, required
from aqmlab.names import plain
from aqmlab.problems import InputError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

app = typer.Typer(
    name="aqmlab",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="A laboratory for Active Queue Management: simulate, compare and reproduce schemes.",
    epilog=f"Begin with: aqmlab compare li2014/table-1 --aqms red,pi\n\nHome: {_core.home()}",
)


def main() -> None:
    """Run the command line: exit 0 when done, 1 if a run failed, 2 on bad input, 130 when interrupted."""
    if sys.__stdout__ is not None and sys.stdout is sys.__stdout__:  # no test has put its own there
        sys.stdout = _patient(sys.stdout.fileno(), sys.stdout.encoding)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    warnings.showwarning = _note
    try:
        with required():
            app()
    except InputError as error:
        print(plain(f"Error: {error}"), file=sys.stderr)
        sys.exit(2)
    except (OSError, aqmlab.RunError, SchemeError, MissingExtraError) as error:
        print(plain(f"Error: {error}"), file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _note(message: Warning | str, *_: object, **__: object) -> None:
    """Show a warning as one line: a user of the command line does not know the place in the code."""
    print(plain(f"Note: {message}"), file=sys.stderr)


class _Patient(FileIO):
    """A file whose reader may leave, as in `aqmlab list | head -1`: what nobody reads is dropped, and is no failure.

    So the exit code is the same however much was read.
    """

    def write(self, data: "ReadableBuffer") -> int:
        """Write, and take what cannot be written as written if the reader has left."""
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


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


def _add(function: Callable[..., Any], epilog: str, name: str | None = None) -> None:
    """Add a command; the list of commands shows the first line of its help whole."""
    summary = cleandoc(function.__doc__ or "").partition("\n")[0]
    app.command(name, epilog=epilog, short_help=summary)(function)


_add(list_, "Example: aqmlab list aqms", "list")
_add(show, "Example: aqmlab show pi")
_add(run, "Example: aqmlab run li2014/table-1 --aqm pi:a=1e-5,b=9e-6 --seed 2")
_add(compare, "Example: aqmlab compare li2014/table-1 --aqms ared,rem,pi --seeds 5 --out report")
_add(card, "Example: aqmlab card bbr3 --out card")
_add(reproduce, "Example: aqmlab reproduce li2014 --table 1 --table 2 --seeds 5 --out report")
_add(sweep, "Example: aqmlab sweep experiment.toml --out results --resume")
_add(merge, "Example: aqmlab merge shard-1 shard-2 shard-3 --out results")
_add(report, "Example: aqmlab report results --format latex --measure link.queue_delay_p99")
_add(plot, "Example: aqmlab plot results ranking --out ranking.pdf")
_add(analyse, EPILOG)
_add(advise, ADVISE_EPILOG)
_add(tune, TUNE_EPILOG)
_add(tc_, TC_EPILOG, "tc")
_add(export_policy, EXPORT_EPILOG, "export-policy")
_add(live, LIVE_EPILOG)
_add(studio, STUDIO_EPILOG)
_add(bundle, "Example: aqmlab bundle li2014 --table 1 --out li2014.zip")
_add(verify, "Example: aqmlab verify li2014.zip")
_add(cite, "Example: aqmlab cite pie li2014")
app.add_typer(exercise, name="exercise", epilog=EXERCISE_EPILOG)
app.add_typer(kernel, name="kernel", epilog=KERNEL_EPILOG)
_add(doctor, "Example: aqmlab doctor")
