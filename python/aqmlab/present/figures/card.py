"""The figures of a card: measures over the buffer, a panel per rate and round trip; and by scheme."""

from aqmlab.present.plots.data import BarPanel, Bars, LineChart, LinePanel
from aqmlab.runs.statistics import Summary
from aqmlab.study.card import Card, CardRow
from aqmlab.study.card_points import CardPicture, load_rfc


def pictures(card: Card) -> dict[str, tuple[CardPicture, LineChart | Bars]]:
    """Return the pictures with more than one cell in the card, by file name."""
    found = ((picture, card.rows(picture.of, picture.measure)) for picture in load_rfc().pictures)
    return {
        picture.name: (picture, _drawn(card, picture, rows))
        for picture, rows in found
        if sum(len(row.found) for row in rows) > 1
    }


def _drawn(card: Card, picture: CardPicture, rows: list[CardRow]) -> LineChart | Bars:
    return _by_scheme(card, picture, rows) if len(rows) > 1 else _over_buffer(card, picture, rows[0])


def _over_buffer(card: Card, picture: CardPicture, row: CardRow) -> LineChart:
    lines: dict[str, dict[str, dict[float, Summary]]] = {}
    for cell in row.found:
        panel = lines.setdefault(f"{cell.path.rate}, {cell.path.rtt}", {})
        for column in card.columns:
            if summary := row.summary(cell, column):
                line = panel.setdefault(column.title, {})
                line[float(cell.path.buffer.split()[0])] = summary.scaled(row.shown.scale)
    panels = [LinePanel(title, picture.label, of, picture.logarithmic) for title, of in lines.items()]
    return LineChart("Buffer (BDP)", panels, columns=3, logarithmic=True)


def _by_scheme(card: Card, picture: CardPicture, rows: list[CardRow]) -> Bars:
    """Return bars: the schemes of one cell, a panel per controller."""
    panels = []
    for column in card.columns:
        found = {row.by: row.summary(row.found[0], column) for row in rows}
        bars = {name: summary.scaled(rows[0].shown.scale) for name, summary in found.items() if summary}
        panels.append(BarPanel(column.title, picture.label, bars))
    return Bars(panels, columns=1)
