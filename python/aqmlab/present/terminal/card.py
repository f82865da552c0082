"""The card of a congestion controller: a row per measure of each point of RFC 9743."""

from rich.text import Text

from aqmlab.present.card_words import remarks, texts, title, told
from aqmlab.present.terminal import console as consoles
from aqmlab.present.terminal.response import response
from aqmlab.study.card import Card
from aqmlab.study.card_points import load_rfc


def card(shown: Card) -> None:
    """Print the points with their rows, then the notes."""
    out = consoles.console()
    out.print(consoles.title(shown.title), consoles.aside(load_rfc().source), sep="\n")
    for remark in shown.remarks:
        out.print(consoles.note(remark))
    table = consoles.table("", "RFC 9743", numbers=(column.title for column in shown.columns))
    for each in shown.points:
        table.add_section()
        table.add_row(title(each.point))
        for name, cells in texts(shown, each).items():
            table.add_row(Text(f"  {name}", style="not bold"), *cells)
        for remark in remarks(each):
            table.add_row(Text(f"  {remark}", style="not bold italic"))
    out.print(table)
    for sentence in told(shown):
        out.print(consoles.aside(sentence))
    out.print(consoles.aside(f"{shown.runs:,} runs in {shown.wall:.0f} s"))
    if shown.response:
        response(shown.response)
