"""The command `response`."""

from typing import Annotated

import typer

from aqmlab import files
from aqmlab.cli.common import (
    Format,
    Jobs,
    Json,
    Out,
    Seeds,
    SizeOption,
    TableFormat,
    check_format,
    check_report,
    command,
    exit_if_failed,
    leave,
    leave_results,
    page_size,
    print_json,
    print_parts,
    progress,
)

EPILOG = "Example: aqmlab response cubic --out cubic"


def response(
    law: Annotated[
        str,
        typer.Argument(
            metavar="CC",
            help="A name (bbr3, cubic:beta=0.8), or a shared library or Python file with your own controller.",
        ),
    ],
    aqm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Scheme of the shared link; default: droptail, or dualpi2 for DCTCP and Prague."
        ),
    ] = None,
    seeds: Seeds = 5,
    jobs: Jobs = None,
    kind: Format = TableFormat.table,
    as_json: Json = False,
    size: SizeOption = None,
    out: Out = None,
) -> None:
    """Measure the response function, RTT fairness and convergence of a congestion controller, and its queue.

    The response function is the mean window over the probability of a loss, or of a mark. Published equations are
    printed next to it, with the deviation. --out writes report.html, results.json, and the figures as PDF, SVG and PNG.
    """
    check_format(kind, as_json=as_json)
    from aqmlab import laws
    from aqmlab.present.reports import response as report
    from aqmlab.study.response import response as measure

    spec = laws.law_spec(law)
    if out:
        files.check_folder(out)
        check_report(out / "report.html", report.subject(spec))
    with progress(f"Measuring {spec}") as heard:
        found = measure(spec, aqm=aqm, seeds=seeds, jobs=jobs, progress=heard)
    if out:
        leave_results(out, found.document())
        options = [*(["--aqm", aqm] if aqm else []), "--seeds", str(seeds), *(["--size", size.value] if size else [])]
        with progress("Writing the report") as heard:
            left = report.files(found, command("response", law, *options), heard, page_size(size))
        leave(out, left)
    if as_json:
        print_json(found.document())
    else:
        print_parts(report.parts(found), kind)
    exit_if_failed(found.failures)
