"""Parts of a report in a terminal: titles, tables, and the sentences around them."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from rich.console import Console
from rich.table import Table
from rich.text import Text

from aqmlab.notebook import Item, Sheet
from aqmlab.present.parts import Part, Section, joined
from aqmlab.present.terminal.console import COLOURS, aside, console, note, table, title
from aqmlab.present.text import readings
from aqmlab.runs.metrics import definitions
from aqmlab.study import claims
from aqmlab.study.cells import VERDICTS


def as_table(sheet: Sheet, name: str) -> Table:
    """Return a table under this name."""
    texts = len(sheet.heads) if sheet.words else max(sheet.names, 1)
    under = f": {' → '.join(sheet.subheads)}" if sheet.subheads else ""
    shown = table(name + under, *sheet.heads[:texts], numbers=sheet.heads[texts:])
    is_indented = any(len(row) == 1 for row in sheet.lines)
    for row, after in pairwise([*sheet.lines, [Item("")]]):
        if len(row) == 1 and row[0].bold:
            shown.add_section()
            shown.add_row(row[0].text)
        elif is_indented:
            first, *cells = row
            shown.add_row(Text(f"  {first.text}", "not bold" if cells else "not bold italic"), *map(_cell, cells))
        else:
            shown.add_row(*map(_cell, row), end_section=sheet.grouped and bool(after[0].text))
    shown.add_section()
    for row in sheet.bottom:
        shown.add_row(*map(_cell, row))
    return shown


def _cell(item: Item) -> Text:
    """Return a cell: a number after the published one that it is compared with, and in the colour of its verdict."""
    mark = f" {VERDICTS[item.verdict].mark}" if item.verdict in VERDICTS else ""
    style = COLOURS[item.verdict] if item.verdict else "bold" if item.bold else ""
    text = Text(f"{item.published} → " if item.published else "")
    return text.append(f"{item.text}{mark}", style=style)


def show(parts: Sequence[Part], *, explain: bool | None = None) -> None:
    """Print parts one below the other; `explain` adds the definition of each measure, False says how to get it."""
    out = console()
    for part in parts:
        _part(out, part)
    metrics = dict.fromkeys(metric for part in parts for section in part.sections for metric in section.metrics)
    if explain is not None:
        out.print(aside(definitions(metrics) if explain else "--explain prints the definition of each column."))


def _part(out: Console, part: Part) -> None:
    if part.title:
        out.print(title(part.title))
    if part.coverage:
        _coverage(out, part.coverage)
    for line in [*([aside(part.source)] if part.source else []), *map(note, part.warnings)]:
        out.print(line)
    for before, section in pairwise([Section(""), *joined(part.sections)]):
        if before.code or (before.findings and not before.sheet):
            out.print()
        _section(out, section)
    for text in dict.fromkeys([*part.about, *(section.marks for section in part.sections if section.marks)]):
        out.print(aside(text))
    if part.claims:
        _claims(out, "Sentences of the paper" if part.coverage else "Published claims", part.claims)


def _section(out: Console, section: Section) -> None:
    if section.title and not section.sheet:
        out.print(title(section.title))
    for finding in section.findings:
        out.print(finding)
    if section.sheet:
        if section.findings:
            out.print()
        out.print(as_table(section.sheet, section.title))
        for text in section.sheet.about.splitlines():
            out.print(aside(text))
    for warning in section.warnings:
        out.print(note(warning))
    for line in section.code:
        out.print(line, soft_wrap=True)


def _coverage(out: Console, counts: Mapping[str, int]) -> None:
    if not counts["cells"]:
        return
    out.print(title(f"{counts['match']} of {counts['cells']} published numbers match"))
    for name, verdict in VERDICTS.items():
        if counts[name]:
            out.print(Text(f"{verdict.mark} {counts[name]} {name}: {verdict.meaning}", style=COLOURS[name]))


SHORT = ("holds", "shown")
"""Verdicts that need no reason."""


def _claims(out: Console, heading: str, judged: Sequence[claims.Checked]) -> None:
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
            shown.add_row(each.claim.section, each.claim.text, mark, readings(each.whose or ""), each.explanation)
        out.print(shown)
    out.print(aside("All sentences with their numbers: --json, or --out DIR for a page."))
