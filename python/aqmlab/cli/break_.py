"""The command `break`: a search for the scenario in which a scheme or a controller is worst."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab import extras
from aqmlab.cli.common import Jobs, Json, Out, leave, progress
from aqmlab.cli.output import Format, Output, TableFormat
from aqmlab.problems import InputError

if TYPE_CHECKING:
    from aqmlab.worst.result import Worst
    from aqmlab.worst.score import Regret

EPILOG = "Example: aqmlab break codel --against fq-codel,pie --time 5min --out worst"
FILE = "worst.toml"
BUNDLE = "worst.zip"
NEWS_EVERY = 10
"""Seconds between two messages on the worst case so far, at least."""


def break_(
    target: Annotated[
        str,
        typer.Argument(metavar="TARGET", help="Scheme or controller, with parameters or not, or your own in a file."),
    ],
    against: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Peers; default: codel,pie,fq-codel for a scheme, reno,cubic for a controller."
        ),
    ] = None,
    between: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="sim,linux, or another scheme or controller: the largest difference instead."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Measures: delay, utilisation, loss, throughput, link.queue_mean, ..."),
    ] = None,
    space: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Parts of the space: link,dynamics,losses,arrivals,mix (default), or files."),
    ] = None,
    around: Annotated[
        str | None,
        typer.Option(metavar="SCENARIO", help="Search around this scenario: its numbers vary by a factor of 4."),
    ] = None,
    budget_time: Annotated[
        str | None, typer.Option("--time", metavar="TIME", help="Duration of the search; default: 5min.")
    ] = None,
    runs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Number of runs instead; reproducible.")] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the search.")] = 1,
    jobs: Jobs = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the search in DIR.")] = False,
    kind: Format = TableFormat.table,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Search for the smallest scenario in which a scheme or a controller is worst, compared with its peers.

    The finding holds under ten fresh seeds. --out stores each run, and writes the scenario, an experiment,
    results.json, the figure and a bundle. A number of runs gives the same result for any number of jobs and after any
    interruption. A time does not.
    """
    from aqmlab.catalogue import split
    from aqmlab.present.reports import worst as report
    from aqmlab.worst.plan import plan
    from aqmlab.worst.result import find_worst

    output = Output(kind, as_json, None, out)
    if budget_time is not None and runs is not None:
        raise InputError("time", f"{budget_time}: cannot be combined with --runs; leave out one of the two")
    asked = plan(
        target,
        space=_list(space),
        around=around,
        by=_list(by),
        against=split(against) if against else (),
        between=split(between) if between else (),
        budget=_budget(budget_time, runs),
        seed=seed,
    )
    if resume and out is None:
        raise InputError("resume", "needs --out DIR, the folder of the search to continue")
    if out:
        extras.check("matplotlib", "jinja2", "plotly")
    with progress(f"Searching for the worst case of {target}") as advance:
        found = find_worst(asked, out, resume=resume, jobs=jobs, progress=advance, news=_News())
    if out:
        _leave(out, found)
    output.show(found.document, lambda: report.parts(found, str(out / FILE) if out else FILE))


def _list(text: str | None) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()] if text else []


def _budget(budget_time: str | None, runs: int | None) -> str:
    return f"{runs} runs" if runs is not None else budget_time or "5min"


class _News:
    """Says on stderr how bad the worst scenario so far is."""

    def __init__(self) -> None:
        self._told_at = time.monotonic()

    def __call__(self, regret: "Regret") -> None:
        from aqmlab.worst.words import shown

        now = time.monotonic()
        if now - self._told_at < NEWS_EVERY:
            return
        self._told_at = now
        values = f"{shown(regret, regret.target)}, {shown(regret, regret.peers[regret.best])} under {regret.best}"
        print(f"Worst so far: {regret.criterion.phrase} is {values}", file=sys.stderr)


def _leave(out: Path, found: "Worst") -> None:
    """Write the scenario and an experiment, the figure, and the bundle of the experiment."""
    contents: dict[str, bytes | str] = {"results.json": found.json() + "\n"}
    if found.finding is None:
        leave(out, contents)
        return
    from aqmlab.present.figures.worst import figure
    from aqmlab.present.plots.files import encode_all
    from aqmlab.worst.words import experiment

    document, regret = found.finding.document, found.finding.regret
    contents[FILE] = found.finding.scenario
    contents["experiment.toml"] = experiment(found.plan, document, regret, FILE)
    leave(out, contents)
    if drawn := figure(found):
        leave(out, dict(encode_all({"worst": drawn})))
    if all(each.engine == "sim" for each in found.plan.contenders):
        from aqmlab.bundle import build

        with progress("Bundling the finding") as advance:
            leave(out, {BUNDLE: build.bundle(str(out / "experiment.toml"), progress=advance).data})
