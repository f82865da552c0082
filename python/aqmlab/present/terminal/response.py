"""The response of a congestion controller: its four tables."""

from aqmlab.present.labels import label
from aqmlab.present.terminal import console as consoles
from aqmlab.present.terminal.parts import as_table
from aqmlab.study.response_result import ControllerResponse


def response(found: ControllerResponse) -> None:
    """Print the tables, each with the remarks on it."""
    out = consoles.console()
    out.print(consoles.title(f"Response of {label(found.law)}, shared link with {label(found.aqm)}"))
    for sheet in found.sheets():
        out.print(as_table(sheet, sheet.title), consoles.aside(sheet.about), sep="\n")
