"""The origin of each failure of a sentence."""

from collections.abc import Sequence

from aqmlab.present.terminal.console import aside, console, table, title
from aqmlab.study.sensitivity import WHOSE, Sensitivity


def sensitivities(several: Sequence[Sensitivity]) -> None:
    """Print of each study the sentences that fail, what was varied, and how many failures are whose."""
    out = console()
    for found in several:
        shown = table(f"{found.study.title}: {len(found.varied)} sentences fail", "Section", "Sentence", "Whose")
        for each in found.varied:
            shown.add_row(each.section, each.text, each.told)
        out.print(shown)
        for whose, meaning in WHOSE.items():
            out.print(title(f"{found.counts[whose]} {whose}"), aside(meaning))
