"""The command `doctor`."""

from dataclasses import asdict

import typer

from aqmlab.cli.common import Json, print_json

EPILOG = "Example: aqmlab doctor"


def doctor(as_json: Json = False) -> None:
    """Check the installation and print fixes for anything missing.

    It checks extras, speed, kernel and live runs. Exit code 1 if something is missing that live runs need.
    """
    from aqmlab.doctor import findings

    found = findings()
    if as_json:
        print_json([asdict(finding) for finding in found])
    else:
        for finding in found:
            sign = "ok  " if finding.is_good else "no  " if finding.is_needed else "hint"
            print(f"{sign}  {finding.name}: {finding.found}")
            if finding.mend and not finding.is_good:
                print(f"        {finding.mend}")
    if not all(finding.is_good for finding in found if finding.is_needed):
        raise typer.Exit(1)
