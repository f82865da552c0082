"""Parts of a report in a terminal: titles, tables, and the sentences around them."""

from itertools import pairwise

from rich.table import Table
from rich.text import Text

from aqmlab.notebook import Item, Sheet
from aqmlab.present.terminal.console import COLOURS, table
from aqmlab.study.cells import VERDICTS


def as_table(sheet: Sheet, name: str) -> Table:
    """Return a table under this name."""
    texts = len(sheet.heads) if sheet.words else sheet.names
    shown = table(name, *sheet.heads[:texts], numbers=sheet.heads[texts:])
    for row, after in pairwise([*sheet.lines, [Item("")]]):
        shown.add_row(*map(_cell, row), end_section=sheet.grouped and bool(after[0].text))
    shown.add_section()
    for foot in sheet.foot:
        shown.add_row(*map(str, foot))
    return shown


def _cell(item: Item) -> Text:
    """Return a cell: a number after the published one that it is compared with, and in the colour of its verdict."""
    mark = f" {VERDICTS[item.verdict].mark}" if item.verdict in VERDICTS else ""
    style = COLOURS[item.verdict] if item.verdict else "bold" if item.bold else ""
    text = Text(f"{item.published} → " if item.published else "")
    return text.append(f"{item.text}{mark}", style=style)
