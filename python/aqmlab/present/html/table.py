"""Tables of a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Item:
    """One cell of a table.

    `verdict` adds its mark, `note` the number of a note under the table. `value` is what rows are sorted by, None if
    there is none. `bold` emphasises the text, `small` is a second line, `hint` is shown under the pointer.
    """

    text: str
    verdict: str | None = None
    note: int | None = None
    value: float | None = None
    bold: bool = False
    small: str = ""
    hint: str = ""


@dataclass(frozen=True)
class HtmlTable:
    """Rows of cells by name; `corner` is the head of the names. `subheads` are under each head, `foot` at the end.

    A click on a head of a `sortable` table sorts the rows. The cells are `words` where they are not numbers. Names that
    are long may be `wrapped`.
    """

    corner: str
    heads: Sequence[str]
    rows: Mapping[str, Sequence[Item]]
    subheads: Sequence[str] = ()
    foot: Mapping[str, Sequence[Item]] = field(default_factory=dict)
    sortable: bool = False
    words: bool = False
    wrapped: bool = False
