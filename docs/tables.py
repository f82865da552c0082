"""Markdown tables for the generated pages."""

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, of_numbers: bool = False) -> str:
    """Return a table; with `of_numbers` all columns but the first are aligned right."""
    lines = [heads, ["---", *["--:" if of_numbers else "---"] * (len(heads) - 1)], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
