"""The command `sweep`."""

import sys
from contextlib import redirect_stdout
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from aqmlab.cli.common import (
    SPREAD,
    Jitter,
    Jobs,
    Json,
    LawOption,
    Measures,
    Memory,
    Out,
    TracesOption,
    exit_if_failed,
    print_json,
    tell_time,
)
from aqmlab.cli.output import Format, TableFormat, check_format, print_parts
from aqmlab.problems import InputError
from aqmlab.runs import MOST_SEEDS

EPILOG = "Example: aqmlab sweep experiment.toml --out results --resume"


class Recorded(StrEnum):
    """The runs whose time series a sweep records."""

    first = "first"
    all = "all"


def sweep(
    experiment: Annotated[
        Path, typer.Argument(metavar="EXPERIMENT", help="Experiment file (TOML); see docs/sweeps.md.")
    ],
    out: Out = None,
    jobs: Jobs = None,
    memory: Memory = None,  # noqa: ARG001
    executor: Annotated[
        str | None, typer.Option(metavar="URL", help="Executor: threads (default) or dask://host:port.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue in DIR: run the missing runs only.")] = False,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Run part I of N only; aqmlab merge combines the parts.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the planned runs without running them.")] = False,
    engine: Annotated[
        str | None, typer.Option(metavar="NAME", help="sim or linux; default: the experiment's engine, or sim.")
    ] = None,
    law: LawOption = None,
    traces: TracesOption = None,
    measures: Measures = None,
    jitter: Jitter = False,
    precise: Annotated[
        str | None,
        typer.Option("--precision", metavar="[MEASURE=]P%", help="Add seeds until the 95 % interval is this narrow."),
    ] = None,
    most_seeds: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=MOST_SEEDS, help="Maximum number of seeds with --precision."),
    ] = 100,
    series: Annotated[
        Recorded | None,
        typer.Option(help="Record time series of the first seed of each scenario and scheme, or of all runs."),
    ] = None,
    kind: Format = TableFormat.table,
    as_json: Json = False,
) -> None:
    """Run scenarios × schemes × values × seeds.

    Each result is stored in DIR when its run ends. A stopped sweep continues with --resume.
    """
    check_format(kind, as_json=as_json)
    from aqmlab.present.reports import sweep as report
    from aqmlab.present.terminal import plan as tables
    from aqmlab.present.terminal.progress import pace
    from aqmlab.runs import plan, shards
    from aqmlab.runs import sweep as sweeps

    asked = plan.read(experiment, (SPREAD,) if jitter else (), engine, law, traces)
    wanted = sweeps.precision(precise, most_seeds) if precise else None
    runs = asked.runs()
    part = shards.shard(shard, len(runs)) if shard else None
    own = part.part(runs) if part else runs
    if dry_run:
        done = len(own) - len(sweeps.not_done(asked, out, part))
        if as_json:
            print_json({"schema": 1, "title": asked.title, "runs": len(own), "done": done})
        else:
            tables.plan(asked, len(own), done)
        return
    if out is None:
        raise InputError("out", "missing; give the results folder with --out DIR, or use --dry-run")
    print(f"{len(own):,} runs of {asked.title}", file=sys.stderr)
    if asked.engine == "linux" and not asked.program:
        tell_time([(run.condition.scenario, 1) for run in sweeps.not_done(asked, out, part)], jobs)
    with redirect_stdout(sys.stderr), pace("Sweeping") as progress:  # stdout is for the result
        swept = sweeps.sweep(
            asked,
            out,
            jobs=jobs,
            executor=executor,
            resume=resume,
            measures=measures or (),
            precise=wanted,
            series=series and series.value,
            shard=part,
            progress=progress,
        )
    for name in swept.repaired:
        print(f"Repaired {out / name}, which was damaged", file=sys.stderr)
    print(f"Wrote {out / 'runs.parquet'}", file=sys.stderr)
    if as_json:
        print_json(swept.document())
    else:
        print_parts(report.parts(swept), kind)
    exit_if_failed(swept.failures)
