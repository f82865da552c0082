"""The report on a card: a section per point, with its rows, every cell, and pictures."""

from dataclasses import replace

from aqmlab.notebook import Sheet
from aqmlab.present.figures.card import pictures
from aqmlab.present.html import page
from aqmlab.present.html.page import Drawings, Files
from aqmlab.present.parts import Part, Section, printed
from aqmlab.present.plots.style import PAGE, Size
from aqmlab.present.reports import response
from aqmlab.present.reports.comparison import version
from aqmlab.present.sheets import as_latex, as_markdown
from aqmlab.present.tables import in_markdown
from aqmlab.present.text import runs
from aqmlab.runs.executor import Progress
from aqmlab.study.card import Card, CardRow, MeasuredPoint, with_interval
from aqmlab.study.card import shown as text_of
from aqmlab.study.card_points import CardPicture, CardPoint, load_rfc


def subject(law: str) -> str:
    """Return the subject of the report."""
    return f"card of {law}"


LEGEND = "Median over the cells of a row (minimum to maximum)."


def _title(point: CardPoint) -> str:
    """Return section, title, and MUST or SHOULD where the RFC says so."""
    return f"{point.name} ({point.word})" if point.word else point.name


def _remarks(measured: MeasuredPoint) -> list[str]:
    """Return the remarks of a point: why it is not measured, a note, and the cells that do not apply."""
    point = measured.point
    reason = [f"Not applicable, because {point.because}."] if point.because else []
    refused = {
        (row.cells.name, why): f"{column.title}, {row.cells.name}: not applicable, because {why}"
        for row in measured.rows
        for column, why in row.refused.items()
    }
    return [*reason, *([point.note] if point.note else []), *refused.values()]


def _about(card: Card) -> list[str]:
    """Return the notes for all rows: cells, seeds, and the notes of the RFC's file."""
    seeds = "one seed" if card.seeds == 1 else f"mean of n = {card.seeds} (seeds 1 to {card.seeds})"
    interval = "" if card.seeds == 1 else " ± is the half-width of the 95 % interval of the median over the seeds."
    return [f"{LEGEND} Each cell: {seeds}.{interval}", *load_rfc().notes]


def parts(card: Card) -> list[Part]:
    """Return a table of its points, and the tables of the response."""
    of_card = Part(
        "card",
        card.title,
        load_rfc().source,
        [_section(card, each) for each in card.points],
        warnings=card.remarks,
        about=_about(card),
    )
    return [of_card, *(response.parts(card.response) if card.response else [])]


def files(card: Card, command: str, progress: Progress | None = None, size: Size = PAGE) -> Files:
    """Return report.html and the figures; `progress` receives the number of drawn figures."""
    drawn = pictures(card)
    drawings: Drawings = {name: drawing for name, (_, drawing) in drawn.items()}
    part, *more = parts(card)
    sections = []
    for each, section in zip(card.points, part.sections, strict=True):
        figures = {caption(card, shown): name for name, (shown, _) in drawn.items() if _has(each, shown.of)}
        sections.append(_on_page(card, each, section, figures))
    if card.response:
        [of_response] = more
        sections += response.with_figures(card.response, of_response.sections, drawings)
    seeds = "seed 1" if card.seeds == 1 else f"seeds 1 to {card.seeds}"
    facts = {"Command": command, "Version": version(), "Runs": f"{card.runs:,}, {seeds}, in {card.wall:.0f} s"}
    shown = replace(part, sections=sections)
    return page.report(subject(card.law), card.title, [shown], drawings, facts, progress, size)


def attachments(card: Card) -> Files:
    """Return the card as documents for a draft: card.md and card.tex."""
    return {
        "card.md": f"# {in_markdown(card.title)}\n\n{untitled_markdown(card)}",
        "card.tex": as_latex(printed(parts(card))),
    }


def untitled_markdown(card: Card) -> str:
    """Return the tables in Markdown, the first without the title of the card."""
    first, *others = printed(parts(card))
    return as_markdown([replace(first, title=""), *others])


def caption(card: Card, picture: CardPicture) -> str:
    """Return the caption of a picture with the meaning of its marks, the number of runs and their seeds."""
    interval = "mean and 95 % interval, " if card.seeds > 1 else ""
    return f"{picture.caption.removesuffix('.')}; {interval}{runs({card.seeds}, range(1, card.seeds + 1))}."


def _has(measured: MeasuredPoint, cells: str) -> bool:
    return any(row.cells.id == cells for row in measured.rows)


def _section(card: Card, measured: MeasuredPoint) -> Section:
    heads = [column.title for column in card.columns]
    rows = [[row.title, *(text_of(row, column) for column in card.columns)] for row in measured.rows]
    return Section(
        title=_title(measured.point),
        sheet=Sheet(card.title, ["Measure", *heads], rows, wrapped=True),
        warnings=_remarks(measured),
        within="RFC 9743",
    )


def _on_page(card: Card, measured: MeasuredPoint, section: Section, figures: dict[str, str]) -> Section:
    """Return a point as its page shows it: also the requirement, figures, and every cell."""
    cells = {row.title: _cells(card, row) for row in measured.rows if len(row.found) > 1}
    return replace(section, subtitle=f"Requirement: {measured.point.asks}.", figures=figures, folded=cells)


def _cells(card: Card, row: CardRow) -> Sheet:
    """Return every cell of a row."""
    cells = [[str(cell.path), *(with_interval(row, cell, column) for column in card.columns)] for cell in row.found]
    return Sheet("", ["Path and buffer", *(column.title for column in card.columns)], cells)
