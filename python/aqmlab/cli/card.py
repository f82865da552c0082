"""The command `card`."""

from typing import Annotated

import typer

from aqmlab.cli.common import ControllerName, Engine, Jobs, Json, Out, Seeds, command, exit_if_failed, progress, results
from aqmlab.cli.output import Format, Output, SizeOption, TableFormat

EPILOG = "Example: aqmlab card bbr3 --out card"


def card(
    law: ControllerName,
    only: Annotated[str | None, typer.Option(metavar="LIST", help="Sections of the RFC, with *: 5.1.*,7.9.")] = None,
    seeds: Seeds = 5,
    engine: Engine = "sim",
    jobs: Jobs = None,
    kind: Format = TableFormat.table,
    as_json: Json = False,
    size: SizeOption = None,
    out: Out = None,
) -> None:
    """Evaluate a congestion controller by the points of RFC 9743.

    Each row is a point of BCP 133, sections 5 to 7, measured over a range of rates, round-trip times and buffers. Reno
    and CUBIC run in the same scenarios for comparison. The card shows the harm to competing flows, or why a point is
    not measured. It ends with the response of the controller (aqmlab response). --engine linux adds a real Linux
    kernel in one scenario per row. --out writes report.html, results.json, the card as card.md and card.tex to attach
    to a draft, and the figures as PDF, SVG and PNG.
    """
    output = Output(kind, as_json, size, out)
    from aqmlab import laws
    from aqmlab.present.reports import card as report
    from aqmlab.study import card as cards

    spec = laws.law_spec(law)
    output.check(report.subject(spec))
    with progress(f"Measuring {spec}") as advance:
        found = cards.card(law, only=only, seeds=seeds, jobs=jobs, engine=engine, progress=advance)
    part = ["--only", only] if only is not None else []
    part += ["--engine", engine] if engine != "sim" else []
    repeated = command("card", law, *part, *output.options, "--seeds", str(seeds))
    output.write(
        lambda: results(found.document()) | report.attachments(found),
        lambda advance, width: report.files(found, repeated, advance, width),
    )
    output.show(found.document, lambda: report.parts(found))
    if not as_json and kind is TableFormat.table:
        print(f"{found.runs:,} runs in {found.wall:.0f} s")
    exit_if_failed(found.breakdowns)
