"""Controllers side by side: a table per scenario with rows grouped by scheme, then the ranking."""

from rich.table import Table
from rich.text import Text

from aqmlab.present.controller_words import GroupedTable, grouped, text
from aqmlab.present.labels import label
from aqmlab.present.terminal import console as consoles
from aqmlab.present.terminal.sweep import ranking
from aqmlab.present.text import titled
from aqmlab.runs.controllers import ControllerComparison
from aqmlab.runs.findings import CONTROLLER
from aqmlab.runs.metrics import definitions, find


def controllers(found: ControllerComparison, *, explain: bool = False) -> None:
    """Print the controllers side by side; `explain` adds what the columns are."""
    out = consoles.console()
    for scenario in found.scenarios:
        out.print(consoles.title(titled(scenario, CONTROLLER)))
        for each in grouped(found, scenario.name):
            out.print(_table(each))
            last = each
    out.print(*map(consoles.aside, last.remarks), sep="\n")
    out.print(*map(consoles.note, found.notes), sep="\n", end="\n" if found.notes else "")
    ranking(out, found, found.ranks)
    names = [name for each in found.scenarios for view in found.views(each.name) for name in view.columns.values()]
    how = "--explain prints the definition of each column."
    out.print(consoles.aside(definitions(dict.fromkeys(map(find, names))) if explain else how))


def _table(each: GroupedTable) -> Table:
    shown = consoles.table(each.name, "Scheme", "Controller", numbers=each.columns)
    for scheme, _, rows in each.groups:
        for i, (law, row) in enumerate(rows.items()):
            cells = [Text(text(entry), style="bold" if entry.best else "") for entry in row]
            shown.add_row(scheme if i == 0 else "", label(law), *cells, end_section=i == len(rows) - 1)
    return shown
