"""The response of a congestion controller: its four tables."""

from aqmlab.present.labels import label
from aqmlab.present.terminal import console as consoles
from aqmlab.study.response_result import Response


def response(found: Response) -> None:
    """Print the tables, each with the remarks on it."""
    out = consoles.console()
    out.print(consoles.title(f"Response of {label(found.law)}, shared link with {label(found.aqm)}"))
    for sheet in found.sheets():
        shown = consoles.table(sheet.title, sheet.heads[0], numbers=sheet.heads[1:])
        for row in sheet.rows:
            shown.add_row(*row)
        out.print(shown, consoles.aside(sheet.about), sep="\n")
