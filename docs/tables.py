"""Tables of Markdown, for the pages that are written from runs and declarations."""

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, of_numbers: bool = False) -> str:
    """Return a table; `of_numbers`: all columns but the first stand to the right."""
    lines = [heads, ["---", *["--:" if of_numbers else "---"] * (len(heads) - 1)], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
