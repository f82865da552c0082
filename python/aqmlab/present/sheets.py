"""Tables of a result as text for a paper or a page: LaTeX and Markdown."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from aqmlab.notebook import Sheet
from aqmlab.present.tables import escaped, in_markdown, slug


def as_latex(sheets: Iterable[Sheet]) -> str:
    """Return a LaTeX table for each sheet, for the packages booktabs and longtable."""
    return "\n".join([r"% \usepackage{booktabs,longtable}", *map(_latex, sheets)])


def _latex(sheet: Sheet) -> str:
    columns = "l" * sheet.names + "r" * (len(sheet.heads) - sheet.names)
    return "\n".join(
        [
            rf"\begin{{longtable}}{{{columns}}}",
            rf"\caption{{{escaped(sheet.title)}}}\label{{tab:{slug(sheet.title)}}}\\",
            r"\toprule",
            " & ".join(map(escaped, sheet.heads)) + r" \\",
            r"\midrule",
            r"\endhead",
            r"\bottomrule",
            r"\endlastfoot",
            *(" & ".join(map(escaped, row)) + r" \\" for row in sheet.rows),
            r"\end{longtable}",
            "",
        ]
    )


def as_markdown(sheets: Iterable[Sheet]) -> str:
    """Return a Markdown table for each sheet, under its title."""
    return "\n".join(line for sheet in sheets for line in _markdown(sheet))


def _markdown(sheet: Sheet) -> Iterator[str]:
    numbers = len(sheet.heads) - sheet.names
    yield from (f"**{in_markdown(sheet.title)}**", "")
    yield f"| {' | '.join(map(in_markdown, sheet.heads))} |"
    yield f"|{' --- |' * sheet.names}{' --: |' * numbers}"
    yield from (f"| {' | '.join(map(in_markdown, row))} |" for row in sheet.rows)
    yield ""


TABLES: Mapping[str, Callable[[Iterable[Sheet]], str]] = {"latex": as_latex, "markdown": as_markdown}
"""The functions that write tables as text, by format."""
