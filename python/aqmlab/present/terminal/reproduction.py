"""Papers: published and measured numbers, claims, and coverage."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from aqmlab.present.labels import in_table
from aqmlab.present.terminal.console import COLOURS, aside, console, marks, note, table, title
from aqmlab.present.text import chart_rows, readings
from aqmlab.runs.statistics import parts
from aqmlab.study import claims
from aqmlab.study.cells import VERDICTS, Cell
from aqmlab.study.paper import Figure, PaperTable
from aqmlab.study.reproduction import Reproduction, coverage


def reproduction(reproduced: Reproduction) -> None:
    """Print the number of matches, each table with both numbers, the charts' numbers, then the sentences."""
    out = console()
    _coverage(out, reproduced.coverage)
    _tolerances(out, reproduced.cells)
    for wanted in reproduced.tables:
        _reproduced_table(out, reproduced, wanted)
    for figure in reproduced.figures:
        _reproduced_figure(out, reproduced, figure)
    if reproduced.claims:
        claims_table(out, "Sentences of the paper", reproduced.claims)
    if reproduced.unbuilt:
        out.print(aside(f"Omitted, because not implemented: {', '.join(reproduced.unbuilt)}"))


def reproductions(several: Sequence[Reproduction]) -> None:
    """Print several studies, and a summary of each at the end."""
    for reproduced in several:
        console().print(title(f"{reproduced.study.title}\n{reproduced.study.source}"))
        reproduction(reproduced)
    out = console()
    studies = table("All studies", "Study", numbers=("numbers", *VERDICTS, "sentences", *claims.VERDICTS))
    for reproduced in several:
        counts = [*reproduced.coverage.values(), *reproduced.ledger.values()]
        studies.add_row(reproduced.study.name, *map(str, counts))
    out.print(studies)
    _coverage(out, coverage(cell for reproduced in several for cell in reproduced.cells))


def _reproduced_table(out: Console, reproduced: Reproduction, wanted: PaperTable) -> None:
    heads = reproduced.columns(wanted.number)
    shown = table(f"Table {wanted.number}. {wanted.title}: published → measured", "Scheme", numbers=heads.values())
    rows = {in_table(wanted, name): row for name, row in reproduced.rows(wanted.number).items()}
    for name, row in rows.items():
        shown.add_row(name, *(_cell(row[column]) if column in row else "" for column in heads))
    out.print(shown, *marks(rows), sep="\n")
    if len(wanted.scenarios) == 1:
        for warning in reproduced.comparisons[wanted.scenarios[0]].warnings(wanted.link, parts):
            out.print(note(warning))


def _reproduced_figure(out: Console, reproduced: Reproduction, figure: Figure) -> None:
    chart = reproduced.charts.get(figure.number)
    absent = reproduced.absent(figure)
    left_out = f" ({', '.join(absent)}: not implemented)" if absent else ""
    if not reproduced.drawn(figure):
        out.print(aside(f"Figure {figure.number}. {figure.title}: not drawn{left_out}"))
    elif chart is None:
        out.print(f"Figure {figure.number}. {figure.title}: drawn with --out{left_out}")
    else:
        shown = table(f"Figure {figure.number}. {figure.title}{left_out}", figure.x_label, numbers=chart.heads)
        rows = chart_rows(reproduced.study, chart)
        for name, numbers in rows.items():
            shown.add_row(name, *numbers)
        out.print(shown, *marks(rows), sep="\n")


def claims_table(out: Console, heading: str, judged: Sequence[claims.Checked]) -> None:
    """Print the counts of all verdicts, the sentences that hold, then the others with readings and reason."""
    counts = {name: count for name, count in claims.tally(judged).items() if count and name in claims.VERDICTS}
    out.print(title(f"{heading}: {counts.get('holds', 0)} of {len(judged)} hold"))
    for name, count in counts.items():
        verdict = claims.VERDICTS[name]
        out.print(Text(f"{verdict.mark} {name} ({count}): {verdict.meaning}", style=COLOURS[name]))
    for checked in judged:
        if checked.verdict in SHORT:
            out.print(Text(f"{claims.VERDICTS[checked.verdict].mark} {checked.claim.section}: {checked.claim.text}"))
    others = sorted((each for each in judged if each.verdict not in SHORT), key=lambda each: each.verdict)
    if others:
        shown = table("The other sentences", "Section", "Sentence", "Verdict", "Other readings", "Measured, and reason")
        for each in others:
            verdict = claims.VERDICTS[each.verdict]
            mark = Text(f"{verdict.mark} {each.verdict}", style=COLOURS[each.verdict])
            shown.add_row(each.claim.section, each.claim.text, mark, readings(each.whose or ""), each.told)
        out.print(shown)
    out.print(aside("All sentences with their numbers: --json, or --out DIR for a page."))


SHORT = ("holds", "shown")
"""Verdicts that need no reason."""


def _tolerances(out: Console, cells: Sequence[Cell]) -> None:
    """Print the tolerance of each measure in the cells."""
    found = dict.fromkeys(f"{cell.metric.metric.title} {cell.metric.tolerance}" for cell in cells)
    if found:
        out.print(aside(f"Tolerances: {'; '.join(found)}."))


def _coverage(out: Console, counts: Mapping[str, int]) -> None:
    if not counts["cells"]:
        return
    out.print(title(f"{counts['match']} of {counts['cells']} published numbers match"))
    for name, verdict in VERDICTS.items():
        if counts[name]:
            out.print(Text(f"{verdict.mark} {counts[name]} {name}: {verdict.meaning}", style=COLOURS[name]))


def _cell(cell: Cell) -> Text:
    text = Text(f"{cell.printed} → ")
    text.append(f"{cell.measured} {VERDICTS[cell.verdict].mark}", style=COLOURS[cell.verdict])
    return text
