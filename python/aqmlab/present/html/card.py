"""The report on a card: a section per point, with its rows, every cell, and pictures."""

import json

from aqmlab.notebook import Sheet
from aqmlab.present.card_words import remarks, texts, title, told
from aqmlab.present.figures.card import pictures
from aqmlab.present.html import page
from aqmlab.present.html.comparison import version
from aqmlab.present.html.page import Drawings, Files
from aqmlab.present.html.response import sections as of_response
from aqmlab.present.parts import Part, Section
from aqmlab.present.plots.style import PAGE, Size
from aqmlab.runs.executor import Progress
from aqmlab.study.card import Card, CardRow, MeasuredPoint, with_interval
from aqmlab.study.card_points import load_rfc


def records(card: Card) -> Files:
    """Return results.json."""
    return {"results.json": json.dumps(card.document(), indent=1, ensure_ascii=False) + "\n"}


def subject(law: str) -> str:
    """Return the subject of the report."""
    return f"card of {law}"


def files(card: Card, command: str, told_progress: Progress | None = None, size: Size = PAGE) -> Files:
    """Return report.html and the figures; `told_progress` gets the number of drawn figures."""
    drawn = pictures(card)
    drawings: Drawings = {name: drawing for name, (_, drawing) in drawn.items()}
    sections = [
        _section(card, each, {shown.caption: name for name, (shown, _) in drawn.items() if _has(each, shown.of)})
        for each in card.points
    ]
    if card.response:
        sections += of_response(card.response, drawings)
    first = Section("How to read it", "", findings=told(card), warnings=card.remarks)
    seeds = "seed 1" if card.seeds == 1 else f"seeds 1 to {card.seeds}"
    facts = {"Command": command, "Version": version(), "Runs": f"{card.runs:,}, {seeds}, in {card.wall:.0f} s"}
    rfc = load_rfc()
    part = Part("card", card.title, rfc.source, [first, *sections])
    return page.report(subject(card.law), card.title, [part], drawings, facts, told_progress, size)


def _has(measured: MeasuredPoint, cells: str) -> bool:
    return any(row.cells.id == cells for row in measured.rows)


def _section(card: Card, measured: MeasuredPoint, figures: dict[str, str]) -> Section:
    heads = [column.title for column in card.columns]
    rows = [[name, *cells] for name, cells in texts(card, measured).items()]
    return Section(
        title=title(measured.point),
        subtitle=f"Requirement: {measured.point.asks}.",
        sheet=Sheet("", ["Measure", *heads], rows, wrapped=True),
        warnings=remarks(measured),
        figures=figures,
        folded={row.title: _cells(card, row) for row in measured.rows if len(row.found) > 1},
    )


def _cells(card: Card, row: CardRow) -> Sheet:
    """Return every cell of a row."""
    cells = [[str(cell.path), *(with_interval(row, cell, column) for column in card.columns)] for cell in row.found]
    return Sheet("", ["Path and buffer", *(column.title for column in card.columns)], cells)
