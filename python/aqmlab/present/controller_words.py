"""The tables of controllers side by side: rows grouped by scheme, for the terminal, pages and papers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aqmlab._core import Scenario
from aqmlab.present.labels import footnote, label
from aqmlab.present.tables import DIFFERS, NARROW, Entry, cell, entries, escaped, in_markdown, remarks, slug, stacked
from aqmlab.present.text import titled
from aqmlab.runs.controllers import ControllerComparison, scheme_of
from aqmlab.runs.findings import CONTROLLER
from aqmlab.runs.table import Case


class Group(NamedTuple):
    """The rows of a scheme: its label, its case, and the entries of each controller."""

    scheme: str
    case: Case
    rows: Mapping[str, Sequence[Entry]]


@dataclass(frozen=True)
class GroupedTable:
    """A table of a scenario: for each scheme a group of rows; a head and a measure per column."""

    scenario: Scenario
    name: str
    columns: Mapping[str, str]
    groups: Sequence[Group]
    remarks: Sequence[str]

    @property
    def title(self) -> str:
        """The scenario and the name of the table."""
        return f"{self.scenario.name}: {self.name}"

    @property
    def caption(self) -> str:
        """The title of the scenario, the name of the table, and the remarks."""
        return " ".join([f"{titled(self.scenario, CONTROLLER)} ({self.title}).", *self.remarks])


def grouped(compared: ControllerComparison, scenario: str) -> Iterator[GroupedTable]:
    """Yield the tables of a scenario."""
    first = next(each for each in compared.first if each.scenario.name == scenario)
    for view in compared.views(scenario):
        measures = list(view.columns.values())
        groups = [
            Group(
                label(scheme_of(case)) + first.row(scheme_of(case), view.link), case, entries(compared, case, measures)
            )
            for case in compared.of_scenario(scenario)
        ]
        marks = footnote(group.scheme for group in groups)
        told = [*remarks(compared, measures), *([marks] if marks else [])]
        yield GroupedTable(first.scenario, view.title, view.columns, groups, told)


def every(compared: ControllerComparison) -> Iterator[GroupedTable]:
    """Yield the tables of all scenarios."""
    return (table for scenario in compared.scenarios for table in grouped(compared, scenario.name))


def text(entry: Entry) -> str:
    """Return an entry with its mark, and the number of seeds if not all have a value."""
    some = f" ({entry.some})" if entry.some else ""
    return f"{entry.text}{DIFFERS if entry.differs else ''}{some}"


def as_markdown(compared: ControllerComparison) -> str:
    """Return a Markdown table for each table, the best means in bold."""
    return "\n".join(line for table in every(compared) for line in _markdown(table))


def _markdown(table: GroupedTable) -> Iterator[str]:
    yield from (f"**{in_markdown(table.title)}**", "")
    yield f"| Scheme | Controller | {' | '.join(map(in_markdown, table.columns))} |"
    yield "|---|---" + "|--:" * len(table.columns) + "|"
    for scheme, _, rows in table.groups:
        for law, row in rows.items():
            cells = (in_markdown(text(entry)).replace(DIFFERS, rf"\{DIFFERS}") for entry in row)
            bold = (f"**{shown}**" if entry.best else shown for shown, entry in zip(cells, row, strict=True))
            yield f"| {in_markdown(scheme)} | {in_markdown(label(law))} | {' | '.join(bold)} |"
    yield ""
    yield from (f"- {in_markdown(remark)}" for remark in table.remarks)
    yield ""


def as_latex(compared: ControllerComparison) -> str:
    """Return a LaTeX table for each table, for the package booktabs, the best means in bold."""
    return "\n".join(["% \\usepackage{booktabs}", *(line for table in every(compared) for line in _latex(table))])


def _latex(table: GroupedTable) -> Iterator[str]:
    yield from (r"\begin{table}", r"\centering", rf"\caption{{{escaped(table.caption)}}}")
    yield from (rf"\label{{tab:{slug(table.title)}}}", NARROW)
    yield rf"\begin{{tabular}}{{ll{'r' * len(table.columns)}}}"
    yield r"\toprule"
    yield rf"Scheme & Controller & {' & '.join(map(stacked, table.columns))} \\"
    for scheme, _, rows in table.groups:
        yield r"\midrule"
        for i, (law, row) in enumerate(rows.items()):
            yield " & ".join([escaped(scheme) if i == 0 else "", escaped(label(law)), *map(cell, row)]) + r" \\"
    yield from (r"\bottomrule", r"\end{tabular}", r"\end{table}", "")


TABLES: Mapping[str, Callable[[ControllerComparison], str]] = {"markdown": as_markdown, "latex": as_latex}
"""The functions that write the tables as text, by format."""
