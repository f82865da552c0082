"""Tables of a result as text for a paper or a page: LaTeX and Markdown."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from aqmlab.notebook import Item, Sheet
from aqmlab.present.tables import PACKAGES, escaped, in_markdown, longtable


def as_latex(sheets: Iterable[Sheet]) -> str:
    """Return a LaTeX table for each sheet, for the packages booktabs and longtable."""
    return "\n".join([PACKAGES, *in_latex(sheets)])


def in_latex(sheets: Iterable[Sheet]) -> Iterator[str]:
    """Yield the lines of a LaTeX table for each sheet."""
    return (line for sheet in sheets for line in _latex(sheet))


def _latex(sheet: Sheet) -> list[str]:
    columns = "l" * sheet.names + "r" * (len(sheet.heads) - sheet.names)
    rows = (" & ".join(map(_latex_cell, row)) + r" \\" for row in sheet.lines)
    caption = f"{sheet.title}. {sheet.about}" if sheet.about else sheet.title
    return longtable(columns, caption, sheet.title, sheet.heads, rows)


def _latex_cell(item: Item) -> str:
    return rf"\textbf{{{escaped(item.text)}}}" if item.bold else escaped(item.text)


def as_markdown(sheets: Iterable[Sheet]) -> str:
    """Return a Markdown table for each sheet, under its title."""
    return "\n".join(line for sheet in sheets for line in _markdown(sheet))


def _markdown(sheet: Sheet) -> Iterator[str]:
    numbers = len(sheet.heads) - sheet.names
    yield from (f"**{in_markdown(sheet.title)}**", "")
    yield f"| {' | '.join(map(in_markdown, sheet.heads))} |"
    yield f"|{' --- |' * sheet.names}{' --: |' * numbers}"
    yield from (f"| {' | '.join(map(_markdown_cell, row))} |" for row in sheet.lines)
    yield from ("", *([in_markdown(sheet.about), ""] if sheet.about else []))


def _markdown_cell(item: Item) -> str:
    return f"**{in_markdown(item.text)}**" if item.bold else in_markdown(item.text)


TABLES: Mapping[str, Callable[[Iterable[Sheet]], str]] = {"latex": as_latex, "markdown": as_markdown}
"""The functions that write tables as text, by format."""
