"""The display of results: one row of text at the prompt, tables in a notebook, and a progress bar there."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from aqmlab.names import plain


@dataclass(frozen=True)
class Item:
    """A cell of a table that is more than a text.

    `verdict` adds its mark, `note` the number of a note under the table. `published` is the number that the text is
    compared with. `value` is what rows are sorted by, None if there is none. `bold` emphasises the text, `small` is a
    second line, `hint` is shown under the pointer.
    """

    text: str
    verdict: str | None = None
    note: int | None = None
    value: float | None = None
    bold: bool = False
    small: str = ""
    hint: str = ""
    published: str = ""

    def __str__(self) -> str:
        return self.text

    @property
    def full(self) -> str:
        """The text after the published number that it is compared with."""
        return f"{self.published} → {self.text}" if self.published else self.text


Row = Sequence[str | Item]
"""The cells of a row. A single cell spans the table: bold it begins a group of rows, else it is a remark."""


@dataclass(frozen=True)
class Sheet:
    """A table of cells; the first `names` columns says what a row is about, `about` more than the title in print.

    `foot` are rows below a rule. In a `grouped` table, rows with the same first text are a group, which shows it once.
    `subheads` are the heads of each published and measured number. A click on a head of a `sortable` table of a page
    sorts its rows. The cells are `words` where they are not numbers. Names that are long may be `wrapped`.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Row]
    names: int = 1
    about: str = ""
    foot: Sequence[Row] = ()
    grouped: bool = False
    subheads: Sequence[str] = ()
    sortable: bool = False
    words: bool = False
    wrapped: bool = False

    @property
    def lines(self) -> list[list[Item]]:
        """The rows without the foot as they are shown: each group shows its first text once."""
        before = [None, *(str(row[0]) for row in self.rows)] if self.grouped else [None] * len(self.rows)
        return [
            [Item(""), *row[1:]] if row[0].text == above else row
            for row, above in zip(_items(self.rows), before, strict=False)
        ]

    @property
    def bottom(self) -> list[list[Item]]:
        """The rows of the foot."""
        return _items(self.foot)

    def __str__(self) -> str:
        """Return it as text: one line a row, or one a head where there are more heads than rows."""
        grid = [list(map(str, row)) for row in (self.heads, *self.rows)]
        if len(self.heads) > len(grid):
            grid = list(map(list, zip(*grid, strict=True)))
        widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
        first, *others = widths
        lines = [
            "  ".join([row[0].ljust(first), *(text.rjust(width) for text, width in zip(row[1:], others, strict=True))])
            for row in grid
        ]
        return plain("\n".join([self.title] * bool(self.title) + [line.rstrip() for line in lines]))

    def _repr_html_(self) -> str:
        return self.html()

    def html(self) -> str:
        """Return it as HTML."""
        heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in self.heads)
        cells = ("".join(self._cell(i, str(cell)) for i, cell in enumerate(row)) for row in self.rows)
        rows = "".join(f"<tr>{row}</tr>" for row in cells)
        caption = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"

    def _cell(self, i: int, text: str) -> str:
        return f'<th scope="row">{escape(text)}</th>' if i < self.names else f"<td>{escape(text)}</td>"


def _items(rows: Iterable[Row]) -> list[list[Item]]:
    return [[cell if isinstance(cell, Item) else Item(cell) for cell in row] for row in rows]


class Result:
    """A result: `headline` describes it in one row of text, `sheets` are its tables."""

    @property
    @abstractmethod
    def headline(self) -> str:
        """One row of text that describes it."""

    @abstractmethod
    def sheets(self) -> Iterable[Sheet]:
        """Return what it found, as tables."""

    def __repr__(self) -> str:
        return plain(f"<{type(self).__name__}: {self.headline}>")

    def __str__(self) -> str:
        """Return what `print` shows: the headline and the tables as text."""
        return "\n\n".join([plain(self.headline), *map(str, self.sheets())])

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.headline)}</p>" + "".join(sheet.html() for sheet in self.sheets())


def bar(title: str) -> Callable[[float, float], None]:
    """Return a `progress` for `run`, `compare` and others that shows a bar below the cell of a notebook."""
    from IPython.display import HTML, display

    def html(done: float, of: float) -> HTML:
        return HTML(f'<label>{escape(title)} <progress value="{done:g}" max="{of:g}"></progress></label>')

    shown = display(html(0, 1), display_id=True)
    return lambda done, of: shown.update(html(done, of))
