"""The origin of each failure of a sentence."""

from collections.abc import Sequence

from aqmlab.present.terminal.console import aside, console, table, title
from aqmlab.present.text import READINGS, readings
from aqmlab.study.sensitivity import WHOSE, Sensitivity


def sensitivities(several: Sequence[Sensitivity]) -> None:
    """Print for each study the failing sentences with their variations, and the number of failures by origin."""
    out = console()
    for found in several:
        shown = table(
            f"{found.study.title}: {len(found.varied)} sentences fail", "Section", "Sentence", "Other readings"
        )
        for each in found.varied:
            shown.add_row(each.section, each.text, readings(each.told))
        out.print(shown)
        for whose, meaning in WHOSE.items():
            out.print(title(f"{READINGS[whose]}: {found.counts[whose]}"), aside(meaning))
