"""The command `card`."""

from typing import Annotated

import typer

from aqmlab import files
from aqmlab.cli.common import (
    Engine,
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

EPILOG = "Example: aqmlab card bbr3 --out card"


def card(
    law: Annotated[
        str,
        typer.Argument(
            metavar="CC",
            help="A name (bbr3, cubic:beta=0.8), or a shared library or Python file with your own controller.",
        ),
    ],
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
    check_format(kind, as_json=as_json)
    from aqmlab import laws
    from aqmlab.present.reports import card as report
    from aqmlab.study import card as cards

    spec = laws.law_spec(law)
    if out:
        files.check_folder(out)
        check_report(out / "report.html", report.subject(spec))
    with progress(f"Measuring {spec}") as heard:
        found = cards.card(law, only=only, seeds=seeds, jobs=jobs, engine=engine, progress=heard)
    if out:
        leave_results(out, found.document())
        leave(out, report.attachments(found))
        part = ["--only", only] if only is not None else []
        part += ["--engine", engine] if engine != "sim" else []
        part += ["--size", size.value] if size else []
        with progress("Writing the report") as heard:
            left = report.files(found, command("card", law, *part, "--seeds", str(seeds)), heard, page_size(size))
        leave(out, left)
    if as_json:
        print_json(found.document())
    else:
        print_parts(report.parts(found), kind)
    if not as_json and kind is TableFormat.table:
        print(f"{found.runs:,} runs in {found.wall:.0f} s")
    exit_if_failed(found.breakdowns)
