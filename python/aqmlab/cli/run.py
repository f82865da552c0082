"""The command `run`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from aqmlab import files
from aqmlab.cli.common import (
    Engine,
    Json,
    LawOption,
    Memory,
    Out,
    ScenarioName,
    Settings,
    TracesOption,
    leave,
    progress,
)
from aqmlab.cli.output import Format, TableFormat, check_format, print_parts
from aqmlab.problems import InputError
from aqmlab.scenario import assignments

EPILOG = "Example: aqmlab run li2014/table-1 --aqm pi:a=1e-5,b=9e-6 --seed 2"


def run(
    scenario: ScenarioName,
    aqm: Annotated[
        str | None, typer.Option(metavar="NAME[:k=v,...]", help="The scheme to use, or a Python file with your own.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, max=2**64 - 1, help="Seed of the run.")] = 1,
    settings: Settings = None,
    traces_in: TracesOption = None,
    law: LawOption = None,
    pcap: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the packets that leave the link, as pcapng.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write what happens to each packet at the link, as Parquet.")
    ] = None,
    link: Annotated[
        str | None, typer.Option(metavar="NAME", help="The link of --pcap and --trace; default: the first.")
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Threads of the run; default: one per core. The result is the same."),
    ] = None,
    engine: Engine = "sim",
    kernel: Annotated[
        str | None,
        typer.Option(metavar="PATH|VERSION", help="The kernel of --engine linux; default: the newest."),
    ] = None,
    memory: Memory = None,  # noqa: ARG001
    kind: Format = TableFormat.table,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Simulate one scenario once, or run it on Linux.

    --out writes result.json, series.csv and the figures.
    """
    check_format(kind, as_json=as_json)
    from aqmlab import laws, own, traces
    from aqmlab.runs import simulate
    from aqmlab.runs.checks import check_set
    from aqmlab.runs.task import LINUX, SIM

    if kernel is not None:
        if engine != LINUX:
            raise InputError("kernel", f"{kernel}: works with --engine linux only")
        engine = f"{LINUX}:{kernel}"
    scheme = None if aqm is None else own.spec(aqm)
    loaded = laws.load_with(scenario, assignments(settings or []), law, traces_in)
    if scheme is not None:
        check_set(loaded, [scheme])
    if out:
        files.check_folder(out)
    wanted = traces.Files(pcap, trace)
    traced = wanted.link(loaded, link, hidden=engine != SIM)
    with progress(f"Running {scenario}") as advance:
        result = simulate.run(
            loaded, scheme, seed, series=out is not None, trace=traced, threads=threads, engine=engine, progress=advance
        )
    for path in wanted.write(result.trace):
        print(f"Wrote {path}", file=sys.stderr)
    if out:
        from aqmlab.present import run_files

        leave(out, run_files.records(result, loaded))
        leave(out, run_files.pictures(result, loaded))
    if as_json:
        print(result.json())
    else:
        from aqmlab.present.reports import run as report

        print_parts(report.parts(result, loaded), kind)
