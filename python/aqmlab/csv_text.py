"""Tables as CSV, in which no cell is a formula."""

import csv
import io
import re
from collections.abc import Iterable

from aqmlab.names import plain

FORMULA = re.compile("[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""How a text begins that a spreadsheet takes for a formula, also in full width (OWASP, CSV injection)."""
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV, one per line of text unless a cell contains several.

    A text that a spreadsheet would take for a formula gets an apostrophe in front; numbers do not. Control characters
    are written out.
    """
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(map(_cell, row) for row in rows)
    return out.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    is_formula = FORMULA.match(value) and not NUMBER.fullmatch(value)
    return plain(f"'{value}" if is_formula else value)
