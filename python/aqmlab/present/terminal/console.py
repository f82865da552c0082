"""The console, and the one way in which tables, notes and titles are printed. Colour obeys NO_COLOR and pipes."""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import replace
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from aqmlab.names import plain
from aqmlab.present.labels import footnote

PIPE_WIDTH = 160
"""Columns when stdout is not a terminal and COLUMNS says nothing, so that no table is folded into a narrow one."""

COLOURS = {
    "match": "green",
    "near": "yellow",
    "off": "bold red",
    "unreproducible": "magenta",
    "missing": "bright_black",
    "holds": "green",
    "weak": "yellow",
    "undecided": "magenta",
    "fails": "bold red",
    "shown": "cyan",
    "background": "bright_black",
    "untestable": "bright_black",
    "not applicable": "bright_black",
    "skipped": "bright_black",
}
"""The colour of each verdict."""

FIXED = ("Name", "Scheme")
"""Columns that are never wrapped, because people type what is in them."""


class Plain(Console):
    """A console that prints control characters of texts from files and does not execute them."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the parts of the output, their control characters written out; colours are not part of a text."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else plain(text), style, control)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text as it is measured and shown, with its control characters written out."""
        return super().render_str(plain(text), **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; off a terminal no line ends in blanks, which a comparison of two outputs would show."""
        if self.is_terminal:
            super().print(*objects, **options)
            return
        with self.capture() as printed:
            super().print(*objects, **options)
        self.file.write(re.sub(r" +$", "", printed.get(), flags=re.MULTILINE))

    def write(self, text: str) -> None:
        """Print a text line by line as it is, in time proportional to its length, which wrapping is not."""
        self.file.write(f"{plain(text)}\n")


def console() -> Plain:
    """Return the console on stdout; brackets in texts are printed, not taken as markup."""
    asked = os.environ.get("COLUMNS", "")
    width = int(asked) if asked else None if sys.stdout.isatty() else PIPE_WIDTH
    return Plain(width=width, highlight=False, markup=False)


def title(text: str) -> Text:
    """Return the title of a page."""
    return Text(text, style="bold")


def note(text: str) -> Text:
    """Return what must be read before the numbers are trusted."""
    return Text(f"Note: {text}", style="yellow")


def aside(text: str) -> Text:
    """Return what explains the numbers, and may be skipped."""
    return Text(text, style="bright_black")


class Stack(Table):
    """A table without truncation: columns without room are below, with the first columns repeated."""

    leads = 1
    """How many columns each part begins with; they say what a row is."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for column in self.columns:
            if column.no_wrap:
                column.min_width = _width(column)
        parts = self._parts(console, options)
        for i, part in enumerate(parts):
            part.title = self.title if i == 0 else None
            part.caption = self.caption if i == len(parts) - 1 else None
            yield from Table.__rich_console__(part, console, options)

    def _parts(self, console: Console, options: ConsoleOptions) -> "list[Stack]":
        """Return as few tables as the width allows, each with the first columns."""
        width = options.max_width
        roomy = options.update(width=sum(map(_width, self.columns)) + 10 * len(self.columns))
        leads = [_narrow(column, width // 2) for column in self.columns[: self.leads]]
        parts: list[Stack] = []
        part = self._with(leads)
        for column in self.columns[self.leads :]:
            wider = self._with([*part.columns, column])
            if len(part.columns) > len(leads) and Measurement.get(console, roomy, wider).minimum > width:
                parts.append(part)
                wider = self._with([*leads, column])
            part = wider
        return [*parts, part] if parts else [self]

    def _with(self, columns: Iterable[Column]) -> "Stack":
        """Return the same rows with these columns only."""
        part = copy(self)
        part.columns = [replace(column, _index=i) for i, column in enumerate(columns)]
        return part


def _width(column: Column) -> int:
    """The characters that a column takes where nothing is folded."""
    texts = [column.header, *column.cells]
    return max((cell_len(line) for text in texts for line in plain(str(text)).splitlines()), default=0)


def _narrow(column: Column, most: int) -> Column:
    """A first column, which may be folded if it would take more than its share."""
    return replace(column, no_wrap=False, min_width=None) if _width(column) > most else column


def explained(shown: Table) -> Table:
    """Return a table with the meaning of the marks in its first column below it."""
    shown.caption = footnote(map(str, shown.columns[0].cells)) or None
    return shown


def table(name: str, *texts: str, numbers: Iterable[str] = ()) -> Table:
    """Return an empty table: columns of text, the first bold, then columns of numbers.

    There is a rule under the heads, and no borders. The head of a column of numbers has one word per row, so a table
    fits 80 columns. A number is never folded, a text only between words where there is room.
    """
    empty = Stack(
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
        style = "bold" if i == 0 or head in FIXED else ""
        empty.add_column(head, style=style, no_wrap=head in FIXED, overflow="fold")
    for head in numbers:
        empty.add_column("\n".join(head.split()), justify="right", no_wrap=True, overflow="fold")
    empty.leads = len(texts) if len(empty.columns) > len(texts) else 1
    return empty
