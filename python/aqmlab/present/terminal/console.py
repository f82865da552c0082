"""The console, and the one way in which tables, notes and titles are printed. Colour obeys NO_COLOR and pipes."""

import sys
from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from aqmlab.present.labels import footnote

PIPE_WIDTH = 160
"""Columns when stdout is not a terminal, so that no table is folded into a narrow one."""

COLOURS = {
    "match": "green",
    "near": "yellow",
    "off": "bold red",
    "unreproducible": "magenta",
    "missing": "bright_black",
    "holds": "green",
    "fails": "bold red",
    "shown": "cyan",
    "untestable": "bright_black",
}
"""The colour of each verdict."""

FIXED = ("Name", "Scheme")
"""Columns that are never wrapped, because people type what is in them."""


def console() -> Console:
    """Return the console on stdout; brackets in texts are printed, not taken as markup."""
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False, markup=False)


def title(text: str) -> Text:
    """Return the title of a page."""
    return Text(text, style="bold")


def note(text: str) -> Text:
    """Return what must be read before the numbers are trusted."""
    return Text(f"Note: {text}", style="yellow")


def aside(text: str) -> Text:
    """Return what explains the numbers, and may be skipped."""
    return Text(text, style="bright_black")


def marks(labels: Iterable[str]) -> list[Text]:
    """Return the line that explains the marks in the labels of schemes, if there are any."""
    return [aside(meaning)] if (meaning := footnote(labels)) else []


def explained(shown: Table) -> Table:
    """Return a table with what the marks in its first column mean below it."""
    shown.caption = footnote(map(str, shown.columns[0].cells)) or None
    return shown


def table(name: str, *texts: str, numbers: Iterable[str] = ()) -> Table:
    """Return an empty table: columns of text, the first bold, then columns of numbers.

    There is a line under the heads, and no borders. The head of a column of numbers has one word a line so that a table
    fits 80 columns.
    """
    empty = Table(
        title=name or None,
        title_justify="left",
        title_style="bold",
        caption_justify="left",
        caption_style="bright_black",
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for i, head in enumerate(texts):
        empty.add_column(head, style="bold" if i == 0 or head in FIXED else "", no_wrap=head in FIXED)
    for head in numbers:
        empty.add_column("\n".join(head.split()), justify="right")
    return empty
