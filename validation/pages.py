"""Parts that all validation pages share."""

from collections.abc import Iterable, Sequence

FRONT = """\
---
search:
  boost: 0.3
---

"""
"""Metadata of an evidence page: the site's search ranks it low."""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [f"| {' | '.join(line)} |" for line in (heads, ["---"] * len(heads), *rows)]
