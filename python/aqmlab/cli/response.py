"""The command `response`."""

from typing import Annotated

import typer

from aqmlab.cli.common import ControllerName, Jobs, Json, Out, Seeds, command, exit_if_failed, progress, results
from aqmlab.cli.output import Format, Output, SizeOption, TableFormat

EPILOG = "Example: aqmlab response cubic --out cubic"


def response(
    law: ControllerName,
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
    output = Output(kind, as_json, size, out)
    from aqmlab import laws
    from aqmlab.present.reports import response as report
    from aqmlab.study.response import response as measure

    spec = laws.law_spec(law)
    output.check(report.subject(spec))
    with progress(f"Measuring {spec}") as advance:
        found = measure(spec, aqm=aqm, seeds=seeds, jobs=jobs, progress=advance)
    repeated = command("response", law, *(["--aqm", aqm] if aqm else []), "--seeds", str(seeds), *output.options)
    output.write(
        lambda: results(found.document()), lambda advance, width: report.files(found, repeated, advance, width)
    )
    output.show(found.document, lambda: report.parts(found))
    exit_if_failed(found.failures)
