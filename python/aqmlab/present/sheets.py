"""Sections of a report as text for a paper or a page: LaTeX and Markdown."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from aqmlab.names import plain
from aqmlab.notebook import Item, Sheet
from aqmlab.present.parts import Section
from aqmlab.present.tables import escaped, floating, in_markdown, longtable

MOST_ROWS = 40
"""Rows of a LaTeX table up to which it is a float, which also fits papers of two columns; a longer one spans pages."""


def as_latex(sections: Iterable[Section]) -> str:
    """Return each section with its LaTeX table, for the packages booktabs and, if a table is long, longtable."""
    lines = [line for section in sections for line in _latex_section(section)]
    needed = {"array": any(r"\arraybackslash" in line for line in lines), "longtable": r"\endhead" in lines}
    packages = sorted(["booktabs", *(name for name, is_needed in needed.items() if is_needed)])
    return "\n".join([rf"% \usepackage{{{','.join(packages)}}}", *lines])


def _latex_section(section: Section) -> Iterator[str]:
    if section.title and not section.sheet:
        yield rf"\paragraph{{{escaped(section.title)}}}"
    for text in [*section.findings, *([] if section.sheet else section.warnings)]:
        yield from (escaped(text), "")
    if section.sheet:
        yield from _latex(section.sheet, section.title)
    if section.code:
        code = (rf"\texttt{{{escaped(line)}}}\\" for line in section.code)
        yield from (r"\begin{flushleft}", *code, r"\end{flushleft}", "")


def _latex(sheet: Sheet, title: str) -> list[str]:
    numbers = len(sheet.heads) - sheet.names
    columns = "l" * sheet.names + ("l" if sheet.words else "r") * numbers
    if sheet.wrapped:
        widths = [0.33 / sheet.names] * sheet.names + [0.56 / numbers] * numbers
        columns = "".join(rf">{{\raggedright\arraybackslash}}p{{{width:.2f}\linewidth}}" for width in widths)
    rows: list[str] = []
    for row in sheet.lines:
        rows += [r"\midrule"] if sheet.grouped and rows and row[0].text else []
        rows.append(_latex_row(row, len(sheet.heads)))
    rows += [r"\midrule", *(_latex_row(row, len(sheet.heads)) for row in sheet.bottom)] if sheet.foot else []
    caption = f"{title}. {sheet.about}" if sheet.about else title
    write = floating if len(rows) <= MOST_ROWS else longtable
    return write(columns, caption, title, sheet.heads, rows)


def _latex_row(row: Sequence[Item], width: int) -> str:
    cells = [rf"\textbf{{{escaped(item.full)}}}" if item.bold else escaped(item.full) for item in row]
    if len(row) == 1 < width:
        [cell] = cells
        text = cell if row[0].bold else rf"\emph{{{cell}}}"
        cells = [rf"\multicolumn{{{width}}}{{p{{0.95\linewidth}}}}{{{text}}}"]
    return " & ".join(cells) + r" \\"


def as_markdown(sections: Iterable[Section]) -> str:
    """Return each section with its Markdown table, under its title."""
    return "\n".join(line for section in sections for line in _markdown_section(section))


def _markdown_section(section: Section) -> Iterator[str]:
    if section.title and not section.sheet:
        yield from (f"**{in_markdown(section.title)}**", "")
    yield from _sentences([*section.findings, *([] if section.sheet else section.warnings)])
    if section.sheet:
        yield from (f"**{in_markdown(section.title)}**", "") if section.title else ()
        yield from _markdown(section.sheet)
        yield from _sentences(section.sheet.about.splitlines())
    yield from (*(f"    {plain(line)}" for line in section.code), "") if section.code else ()


def _sentences(texts: Sequence[str]) -> Iterator[str]:
    yield from (f"- {in_markdown(text)}" if len(texts) > 1 else in_markdown(text) for text in texts)
    yield from [""] * bool(texts)


def _markdown(sheet: Sheet) -> Iterator[str]:
    numbers = len(sheet.heads) - sheet.names
    yield f"| {' | '.join(map(in_markdown, sheet.heads))} |"
    yield f"|{' --- |' * sheet.names}{(' --- |' if sheet.words else ' --: |') * numbers}"
    yield from (_markdown_row(row, len(sheet.heads)) for row in [*replace(sheet, grouped=False).lines, *sheet.bottom])
    yield ""


def _markdown_row(row: Sequence[Item], width: int) -> str:
    cells = [f"**{in_markdown(item.full)}**" if item.bold else in_markdown(item.full) for item in row]
    if len(row) == 1 < width:
        [cell] = cells
        return f"| {cell if row[0].bold else f'*{cell}*'} |{' |' * (width - 1)}"
    return f"| {' | '.join(cells)} |"


TABLES: Mapping[str, Callable[[Iterable[Section]], str]] = {"latex": as_latex, "markdown": as_markdown}
"""The functions that write sections as text, by format."""
