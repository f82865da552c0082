"""The display of results: one row of text at the prompt, tables in a notebook, and a progress bar there."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from aqmlab.names import plain


@dataclass(frozen=True)
class Sheet:
    """A table of texts; the first `names` columns says what a row is about, `about` more than the title in print."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1
    about: str = ""

    def __str__(self) -> str:
        """Return it as text: one line a row, or one a head where there are more heads than rows."""
        grid = [self.heads, *self.rows]
        if len(self.heads) > len(grid):
            grid = list(zip(*grid, strict=True))
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
        rows = "".join(f"<tr>{''.join(self._cell(i, text) for i, text in enumerate(row))}</tr>" for row in self.rows)
        caption = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"

    def _cell(self, i: int, text: str) -> str:
        return f'<th scope="row">{escape(text)}</th>' if i < self.names else f"<td>{escape(text)}</td>"


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
