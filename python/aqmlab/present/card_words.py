"""The words of a card: its rows as texts, for the terminal, pages and drafts."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from aqmlab.present import sheets
from aqmlab.present.tables import escaped, in_markdown, longtable
from aqmlab.study.card import Card, MeasuredPoint, shown
from aqmlab.study.card_points import CardPoint, load_rfc

LEGEND = "Median over the cells of a row (minimum to maximum)."


def title(point: CardPoint) -> str:
    """Return section, title, and MUST or SHOULD where the RFC says so."""
    return f"{point.name} ({point.word})" if point.word else point.name


def texts(card: Card, measured: MeasuredPoint) -> dict[str, list[str]]:
    """Return the rows of a point: a text for each column."""
    return {row.title: [shown(row, column) for column in card.columns] for row in measured.rows}


def remarks(measured: MeasuredPoint) -> list[str]:
    """Return the remarks of a point: why it is not measured, a note, and the cells that do not apply."""
    point = measured.point
    reason = [f"Not applicable, because {point.because}."] if point.because else []
    refused = {
        (row.cells.name, why): f"{column.title}, {row.cells.name}: not applicable, because {why}"
        for row in measured.rows
        for column, why in row.refused.items()
    }
    return [*reason, *([point.note] if point.note else []), *refused.values()]


def told(card: Card) -> list[str]:
    """Return the notes for all rows: cells, seeds, and the notes of the RFC's file."""
    seeds = "one seed" if card.seeds == 1 else f"mean of n = {card.seeds} (seeds 1 to {card.seeds})"
    interval = "" if card.seeds == 1 else " ± is the half-width of the 95 % interval of the median over the seeds."
    return [f"{LEGEND} Each cell: {seeds}.{interval}", *load_rfc().notes]


def as_markdown(card: Card) -> str:
    """Return the card in Markdown: one table, and the tables of the response."""
    heads = ["RFC 9743", *(column.title for column in card.columns)]
    below = [f"- {in_markdown(each)}" for each in [*card.remarks, *told(card)]]
    more = sheets.as_markdown(card.response.sheets()) if card.response else ""
    return "\n".join([*_markdown_rows(card, heads), "", *below, "", *([more] if more else [])])


def _markdown_rows(card: Card, heads: Sequence[str]) -> Iterator[str]:
    yield f"| {' | '.join(map(in_markdown, heads))} |"
    yield "|---" + "|--:" * (len(heads) - 1) + "|"
    blank = " |" * (len(heads) - 1)
    for each in card.points:
        yield f"| **{in_markdown(title(each.point))}** |{blank}"
        yield from (f"| {' | '.join(map(in_markdown, [name, *cells]))} |" for name, cells in texts(card, each).items())
        yield from (f"| *{in_markdown(remark)}* |{blank}" for remark in remarks(each))


def as_latex(card: Card) -> str:
    """Return the card in LaTeX: its table, and the tables of the response; the first line names the packages."""
    count = len(card.columns)
    widths = [0.33, *[0.56 / count] * count]
    columns = "".join(rf">{{\raggedright\arraybackslash}}p{{{width:.2f}\linewidth}}" for width in widths)
    caption = " ".join([f"{card.title}.", *(f"{each[0].upper()}{each[1:]}." for each in card.remarks), *told(card)])
    heads = ["RFC 9743", *(column.title for column in card.columns)]
    name = f"card-{card.law.partition(':')[0]}"
    card_table = longtable(columns, caption, name, heads, _latex_rows(card, count))
    more = sheets.in_latex(card.response.sheets()) if card.response else []
    return "\n".join([r"% \usepackage{array,booktabs,longtable}", *card_table, *more])


def _latex_rows(card: Card, count: int) -> Iterator[str]:
    for each in card.points:
        yield rf"\multicolumn{{{1 + count}}}{{l}}{{\textbf{{{escaped(title(each.point))}}}}} \\"
        for name, cells in texts(card, each).items():
            yield " & ".join(map(escaped, [name, *cells])) + r" \\"
        for remark in remarks(each):
            yield rf"\multicolumn{{{1 + count}}}{{p{{0.95\linewidth}}}}{{\emph{{{escaped(remark)}}}}} \\"


def attachments(card: Card) -> dict[str, bytes | str]:
    """Return the card as documents for a draft: card.md and card.tex."""
    return {"card.md": f"# {in_markdown(card.title)}\n\n{as_markdown(card)}", "card.tex": as_latex(card)}


TABLES: Mapping[str, Callable[[Card], str]] = {"markdown": as_markdown, "latex": as_latex}
"""The functions that write a card as text for a draft, by format."""
