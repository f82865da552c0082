"""The test cases of a draft: the verdict on each, with the measured values."""

from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from aqmlab.present.terminal.console import aside, console, table, title
from aqmlab.study.draft import DraftCase, JudgedCase

MARKS = {
    "holds": ("✓", "green"),
    "fails": ("✗", "red"),
    "not applicable": ("∅", "bright_black"),
    "skipped": ("–", "bright_black"),
}


def cases_page(name: str, source: str, known: Sequence[DraftCase]) -> None:
    """Print the cases of a draft with their requirements."""
    out = console()
    out.print(title(f"{name}\n{source}\n"))
    listed = table("", "Case", "Requirement")
    for case in known:
        listed.add_row(f"{case.number} {case.title}", case.asks)
    out.print(listed)


def cases(name: str, source: str, judged: Sequence[JudgedCase]) -> None:
    """Print a row per case, then the number of each verdict."""
    out = console()
    out.print(title(name), aside(source), sep="\n")
    shown = table("", "Case", "Requirement", "Path", "Verdict", "Measured values, reason")
    for each in judged:
        mark, colour = MARKS[each.verdict]
        whose = f" ({each.whose})" if each.whose else ""
        verdict = Text(f"{mark} {each.verdict}{whose}", style=colour)
        shown.add_row(f"{each.case.number} {each.case.title}", each.case.asks, str(each.place), verdict, each.told)
    out.print(shown)
    counts = Counter(each.verdict for each in judged)
    out.print(", ".join(f"{counts[verdict]} {verdict}" for verdict in MARKS if counts[verdict]))
