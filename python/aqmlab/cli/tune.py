"""The command `tune`: a search for the parameters of a scheme, its numbers in a terminal, its report in a folder."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from aqmlab import extras, files
from aqmlab.cli.common import (
    Jobs,
    Json,
    LawOption,
    Out,
    Settings,
    check_report,
    command,
    exit_if_failed,
    leave,
    progress,
)
from aqmlab.cli.output import Format, TableFormat, check_format, print_parts
from aqmlab.problems import InputError, Problem
from aqmlab.scenario import assignments

EPILOG = (
    'Example: aqmlab tune pi --scenario li2014/table-1 --objective "min link.queue_error" '
    '--budget "100 runs" --out tuned'
)

Several = list[str] | None


def tune(
    scheme: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME[:k=v,...]", help="Scheme to tune; parameters given here stay fixed.", show_default=False
        ),
    ] = None,
    scenarios: Annotated[
        Several,
        typer.Option("--scenario", metavar="SCENARIO[:path=value,...]", help="Scenario to tune for; repeatable."),
    ] = None,
    objectives: Annotated[
        Several,
        typer.Option("--objective", metavar="TEXT", help="'min MEASURE' or 'max MEASURE'; globs allowed; repeatable."),
    ] = None,
    subject_to: Annotated[
        Several,
        typer.Option(metavar="TEXT", help="Constraint in every scenario: 'total.jain > 0.9'; repeatable."),
    ] = None,
    parameters: Annotated[
        str | None, typer.Option(metavar="LIST", help="Parameters to tune; default: every positive number.")
    ] = None,
    ranges: Annotated[
        Several,
        typer.Option(
            "--range", metavar="NAME=LOW..HIGH", help="Search range of a parameter, which is also tuned; repeatable."
        ),
    ] = None,
    budget: Annotated[str, typer.Option(metavar="N runs|TIME", help="Budget of the search.")] = "200 runs",
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="The search uses the seeds 1 to N.")] = 5,
    sampler: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="tpe, cma-es, nsga-iii or random; default: tpe, nsga-iii for several goals."),
    ] = None,
    over: Annotated[
        str, typer.Option(metavar="mean|cvar", help="Mean over scenarios and seeds, or mean of the worst quarter.")
    ] = "mean",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the sampler.")] = 1,
    held_out: Annotated[
        Several,
        typer.Option(metavar="SCENARIO[:path=value,...]", help="Scenario for evaluation only; repeatable."),
    ] = None,
    held_out_seeds: Annotated[
        int, typer.Option(metavar="N", min=2, help="Number of fresh seeds for the evaluation.")
    ] = 10,
    tournament: Annotated[
        bool, typer.Option("--tournament", help="Tune many schemes with equal budgets and compare them.")
    ] = False,
    study: Annotated[str | None, typer.Option(hidden=True)] = None,
    settings: Settings = None,
    law: LawOption = None,
    jobs: Jobs = None,
    executor: Annotated[
        str | None, typer.Option(metavar="URL", help="Executor: threads (default) or dask://host:port.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the search in DIR.")] = False,
    kind: Format = TableFormat.table,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Tune the parameters of a scheme, and evaluate them on seeds that the search did not use.

    --out stores each run, and writes report.html, results.json and the figures. A budget in runs gives the same result
    for any number of jobs and after any interruption. A budget in seconds does not.
    """
    check_format(kind, as_json=as_json)
    if study is not None:
        raise InputError("study", f"{study}: use --tournament; --study selects a suite of aqmlab compare")
    if tournament:
        _tournament(scheme, jobs, executor, kind, resume=resume, as_json=as_json, out=out)
        return
    if scheme is None:
        raise InputError("aqm", "missing; aqmlab tune pi --scenario li2014/table-1 --objective 'min link.queue_error'")
    from aqmlab.present.reports import tune as report
    from aqmlab.tune.plan import plan
    from aqmlab.tune.result import tune as search

    asked = plan(
        scheme,
        scenarios or [],
        objectives or [],
        subject_to=subject_to or (),
        parameters=parameters.split(",") if parameters else None,
        ranges=_ranges(ranges or []),
        budget=budget,
        seeds=seeds,
        sampler=sampler,
        over=over,
        seed=seed,
        held_out=held_out or (),
        held_out_seeds=held_out_seeds,
        set=assignments(settings or []),
        law=law,
    )
    if out:
        files.check_folder(out)
        check_report(out / "report.html", f"tune {scheme}")
    if resume and out is None:
        raise InputError("resume", "needs --out DIR, the folder of the tune to continue")
    if asked.budget.runs is None:
        print(
            f"Note: a budget of {asked.budget} depends on this machine; use one in runs for reproducible results",
            file=sys.stderr,
        )
    with progress(f"Tuning {scheme}") as advance:
        found = search(asked, out, resume=resume, jobs=jobs, executor=executor, progress=advance)
    if out:
        with progress("Writing the report") as advance:
            left = report.files(found, command(*_arguments()), advance)
        leave(out, left)
    if as_json:
        print(found.json())
    else:
        print_parts(report.parts(found), kind)
    if unmet := found.unmet():
        raise InputError(Problem("", unmet))
    exit_if_failed(found.failures)


def _arguments() -> list[str]:
    """The arguments that were typed."""
    return sys.argv[1:]


def _ranges(texts: list[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError("range", f"{text}: write NAME=LOW..HIGH, such as a=1e-6..1e-3")
        found[name.strip()] = value
    return found


def _tournament(
    scheme: str | None,
    jobs: int | None,
    executor: str | None,
    kind: TableFormat,
    *,
    resume: bool,
    as_json: bool,
    out: Path | None,
) -> None:
    from aqmlab.present.reports import tune as report
    from aqmlab.tune.tournament import run as compare

    if scheme is not None:
        raise InputError("aqm", f"{scheme}: the tournament uses its own schemes; leave it out")
    if out:
        files.check_folder(out)
        extras.check("jinja2")
    with progress("Tuning and comparing") as advance:
        found = compare(out, resume=resume, jobs=jobs, executor=executor, progress=advance)
    if out:
        leave(out, report.tournament_files(found, command("tune", "--tournament")))
    if as_json:
        print(found.json())
    else:
        print_parts(report.tournament(found), kind)
    exit_if_failed(found.failures)
