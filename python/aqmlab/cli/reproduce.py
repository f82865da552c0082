"""The command `reproduce`."""

from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab import files
from aqmlab.cli.common import Jobs, Json, Out, Seeds, check_report, command, exit_if_failed, leave, progress
from aqmlab.cli.output import Format, TableFormat, check_format, print_parts
from aqmlab.problems import InputError

if TYPE_CHECKING:
    from pathlib import Path

EPILOG = "Example: aqmlab reproduce li2014 --table 1 --table 2 --seeds 5 --out report"


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="STUDY", help="The study, see: aqmlab list studies", show_default=False)
    ] = None,
    table: Annotated[list[str] | None, typer.Option(metavar="N", help="Only this table; repeatable.")] = None,
    figure: Annotated[list[str] | None, typer.Option(metavar="N", help="Only this figure; repeatable.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every study, and one report about all.")] = False,
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Judge failing sentences again under other readings and settings.")
    ] = False,
    seeds: Seeds = 1,
    jobs: Jobs = None,
    kind: Format = TableFormat.table,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Reproduce a paper and judge its numbers and claims.

    The output lists the published and the measured numbers, cell by cell, with a verdict. --out writes report.html,
    results.json and the figures. --sensitivity judges each failing sentence again, by every reading that the text
    allows and under variations of the details that the paper omits; --out then stores the runs, to resume.
    """
    from aqmlab.present.reports import reproduction as report
    from aqmlab.study import paper, reproduction

    check_format(kind, as_json=as_json)
    if every == (name is not None):
        raise InputError("study", "give one study, or --all for every study; see: aqmlab list studies")
    if every and (table or figure):
        raise InputError("all", "every study has its own numbers; give --table and --figure with one study")
    if sensitivity:
        if table or figure:
            raise InputError("sensitivity", "varies every sentence that fails; leave out --table and --figure")
        _vary(name, seeds, jobs, kind, as_json, out)
        return
    if out:
        files.check_folder(out)
        check_report(out / "report.html", name or ", ".join(paper.studies()))
    chosen = [part for number in table or () for part in ("--table", number)]
    chosen += [part for number in figure or () for part in ("--figure", number)]
    again = command("reproduce", name or "--all", *chosen, "--seeds", str(seeds))
    with progress(f"Reproducing {name or 'every study'}") as advance:
        if name is None:
            several = reproduction.reproduce_all(seeds, jobs=jobs, progress=advance)
        else:
            numbers = {"tables": table or None, "figures": figure or None}
            several = [reproduction.reproduce(name, seeds=seeds, jobs=jobs, progress=advance, **numbers)]
    if out:
        with progress("Writing the report") as advance:
            left = report.files_of_all(several, again, advance) if every else report.files(several[0], again, advance)
        leave(out, left)
    if as_json:
        print(reproduction.all_json(several) if every else several[0].json())
    else:
        print_parts(report.parts_of_all(several) if every else report.parts(several[0]), kind)
    exit_if_failed([failure for reproduced in several for failure in reproduced.failures])


def _vary(name: str | None, seeds: int, jobs: int | None, kind: TableFormat, as_json: bool, out: "Path | None") -> None:
    from aqmlab.present.reports import sensitivity as report
    from aqmlab.study import paper, sensitivity

    if out:
        files.check_folder(out)
    found = []
    for study in [name] if name else paper.studies():
        file = out / f"{study}.jsonl" if out else None
        with progress(f"Varying {study}") as advance:
            found.append(sensitivity.sensitivity(study, seeds, jobs=jobs, progress=advance, file=file))
    if as_json:
        print(sensitivity.all_json(found) if name is None else found[0].json())
    else:
        print_parts(report.parts(found), kind)
