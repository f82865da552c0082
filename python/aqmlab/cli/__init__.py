"""The command line: each command is a function of the package, with files and texts around it."""

import sys
import warnings
from typing import Annotated

import typer

import aqmlab
from aqmlab import _core
from aqmlab._core import InputError, SchemeError
from aqmlab.cli.advise import EPILOG as ADVISE_EPILOG
from aqmlab.cli.advise import advise
from aqmlab.cli.analyse import EPILOG, analyse
from aqmlab.cli.bundle import bundle
from aqmlab.cli.cite import cite
from aqmlab.cli.compare import compare
from aqmlab.cli.doctor import doctor
from aqmlab.cli.export_policy import EPILOG as EXPORT_EPILOG
from aqmlab.cli.export_policy import export_policy
from aqmlab.cli.list_ import list_
from aqmlab.cli.live import EPILOG as LIVE_EPILOG
from aqmlab.cli.live import live
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

app = typer.Typer(
    name="aqmlab",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="A laboratory for Active Queue Management: simulate, compare and reproduce schemes.",
    epilog="Begin with: aqmlab compare li2014/table-1 --out report",
)


def main() -> None:
    """Run the command line: exit 0 when done, 1 if a run failed, 2 on bad input, 130 when interrupted."""
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


def _note(message: Warning | str, category: type[Warning], *place: object) -> None:
    """Show a warning as one line: a user of the command line does not know the place in the code."""
    print(plain(f"Note: {message}"), file=sys.stderr)


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


app.command("list", epilog="Example: aqmlab list aqms")(list_)
app.command(epilog="Example: aqmlab show pi")(show)
app.command(epilog="Example: aqmlab run li2014/table-1 --aqm pi:a=1e-5,b=9e-6 --seed 2")(run)
app.command(epilog="Example: aqmlab compare li2014/table-1 --aqms ared,rem,pi --seeds 5 --out report")(compare)
app.command(epilog="Example: aqmlab reproduce li2014 --table 1 --table 2 --seeds 5 --out report")(reproduce)
app.command(epilog="Example: aqmlab sweep experiment.toml --out results --resume")(sweep)
app.command(epilog="Example: aqmlab report results --format latex --measure link.queue_delay_p99")(report)
app.command(epilog="Example: aqmlab plot results ranking --out ranking.pdf")(plot)
app.command(epilog=EPILOG)(analyse)
app.command(epilog=ADVISE_EPILOG)(advise)
app.command(epilog=TUNE_EPILOG)(tune)
app.command("tc", epilog=TC_EPILOG)(tc_)
app.command("export-policy", epilog=EXPORT_EPILOG)(export_policy)
app.command(epilog=LIVE_EPILOG)(live)
app.command(epilog=STUDIO_EPILOG)(studio)
app.command(epilog="Example: aqmlab bundle li2014 --table 1 --out li2014.zip")(bundle)
app.command(epilog="Example: aqmlab verify li2014.zip")(verify)
app.command(epilog="Example: aqmlab cite pie li2014")(cite)
app.command(epilog="Example: aqmlab doctor")(doctor)
