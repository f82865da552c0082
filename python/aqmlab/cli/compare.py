"""The command `compare`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from aqmlab import files
from aqmlab._core import InputError
from aqmlab.cli.common import Jobs, Json, Out, Seeds, Settings, command, exit_if_failed, leave, print_json, progress
from aqmlab.runs import simulate
from aqmlab.runs.task import Failure
from aqmlab.scenario import assignments


def compare(
    scenario: Annotated[
        str | None,
        typer.Argument(metavar="SCENARIO", help="A built-in name (li2014/table-1) or a TOML file.", show_default=False),
    ] = None,
    aqms: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="a,b:k=v,... | seed-papers (default, or the study's own) | all; FILE.py[:Class] for your own",
        ),
    ] = None,
    seeds: Seeds = 1,
    settings: Settings = None,
    name: Annotated[
        str | None,
        typer.Option("--study", metavar="NAME", help="Every experiment of a suite instead: rfc7928, l4s, bbr."),
    ] = None,
    rate: Annotated[str | None, typer.Option(metavar="RATE", help="Rate of your link, with --study.")] = None,
    rtt: Annotated[str | None, typer.Option(metavar="TIME", help="Round-trip time over it, with --study.")] = None,
    flows: Annotated[
        int | None, typer.Option(metavar="N", help="Long flows where the RFC has a few, with --study.")
    ] = None,
    jobs: Jobs = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Simulate schemes side by side, in a scenario or in every experiment of a suite.

    With --study rfc7928 the experiments are those of RFC 7928, scaled to your link: --rate, --rtt, --flows. The studies
    l4s and bbr hold what is written of L4S and of BBR against the simulator, on links of their own or on yours.
    --out leaves report.html, results.json and the figures.
    """
    mine = {"rate": rate, "rtt": rtt, "flows": flows}
    link = {option: value for option, value in mine.items() if value is not None}
    if (scenario is None) == (name is None):
        raise InputError("scenario: give one scenario, or --study rfc7928 for every experiment of a suite")
    if scenario is not None and link:
        option, value = next(iter(link.items()))
        raise InputError(f"{option}: {value}: describes the link of a suite; give it with --study rfc7928")
    if scenario is None and settings:
        raise InputError(f"set: {settings[0]}: replaces a value of one scenario; give the scenario, without --study")
    if out:
        files.check_folder(out)
    wanted = Wanted(aqms, seeds, jobs, as_json, out)
    failures = (
        _in_suite(name or "", link, wanted) if scenario is None else _in_scenario(scenario, settings or [], wanted)
    )
    exit_if_failed(failures)


@dataclass(frozen=True)
class Wanted:
    """What a comparison is asked for, besides where."""

    aqms: str | None
    seeds: int
    jobs: int | None
    as_json: bool
    out: Path | None

    def command(self, *where: str) -> str:
        """Return the command line that repeats the comparison."""
        aqms = ["--aqms", self.aqms] if self.aqms is not None else []
        return command("compare", *where, *aqms, "--seeds", str(self.seeds))


def _in_scenario(scenario: str, settings: Sequence[str], wanted: Wanted) -> list[Failure]:
    from aqmlab.present.terminal import runs as tables

    with progress(f"Comparing in {scenario}") as told:
        compared = simulate.compare(
            scenario,
            wanted.aqms or "seed-papers",
            wanted.seeds,
            set=assignments(settings),
            jobs=wanted.jobs,
            progress=told,
        )
    if wanted.out:
        from aqmlab.present.html import comparison as page

        options = [part for setting in settings for part in ("--set", setting)]
        leave(wanted.out, page.files(compared, wanted.command(scenario, *options)))
    if wanted.as_json:
        print(compared.json())
    else:
        tables.comparison(compared)
    return compared.failures


def _in_suite(name: str, link: dict[str, Any], wanted: Wanted) -> list[Failure]:
    from aqmlab.present.terminal import suite as tables
    from aqmlab.study import suite_result

    with progress(f"Comparing in {name}") as told:
        compared = suite_result.compare_suite(
            name, wanted.aqms, seeds=wanted.seeds, jobs=wanted.jobs, progress=told, **link
        )
    if wanted.out:
        from aqmlab.present.html import suite as page

        options = [part for option, value in link.items() for part in (f"--{option}", str(value))]
        leave(wanted.out, page.files(compared, wanted.command("--study", name, *options)))
    if wanted.as_json:
        print_json(compared.document())
    else:
        tables.suite(compared)
    return compared.failures
