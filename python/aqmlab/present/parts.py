"""The parts of a report: what a result shows, given once for a terminal, a page and a paper."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING

from aqmlab.notebook import Item, Row, Sheet
from aqmlab.present.labels import footnote
from aqmlab.runs.metrics import Metric

if TYPE_CHECKING:
    from aqmlab.present.html.setup import Setup
    from aqmlab.study.claims import Checked


@dataclass(frozen=True)
class Section:
    """One table or figure with the text around it.

    `findings` are sentences above the table, `code` are lines to type or to store, below everything else. `metrics`
    are those in the table that need a definition. The title of the table is the one outside of its report. Only a page
    shows the `subtitle`, the numbered `notes`, `figures` (names of drawings by caption), the `setup` of the simulation,
    and the tables `folded` by title. Elsewhere successive sections `within` one table are groups of its rows; that is
    the head of their names.
    """

    title: str
    subtitle: str = ""
    sheet: Sheet | None = None
    metrics: Sequence[Metric] = ()
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    figures: Mapping[str, str] = field(default_factory=dict)
    setup: "Setup | None" = None
    folded: Mapping[str, Sheet] = field(default_factory=dict)
    findings: Sequence[str] = ()
    code: Sequence[str] = ()
    within: str = ""

    @property
    def marks(self) -> str:
        """The meaning of the marks of schemes in the table."""
        if not self.sheet:
            return ""
        return footnote(
            [*self.sheet.heads, *(str(cell) for row in self.sheet.rows for cell in row[: self.sheet.names])]
        )


@dataclass(frozen=True)
class Part:
    """One comparison, or one paper with its coverage and its ledger: sentences, and how their words are read.

    `warnings` come before its tables, `about` says how to read them.
    """

    name: str
    title: str
    source: str
    sections: Sequence[Section]
    coverage: Mapping[str, int] | None = None
    claims: "Sequence[Checked]" = ()
    words: Mapping[str, str] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    about: Sequence[str] = ()


def joined(sections: Iterable[Section]) -> Iterator[Section]:
    """Yield sections as they are printed: successive ones `within` one table are groups of its rows."""
    for within, several in groupby(sections, key=lambda section: section.within):
        if not within:
            yield from several
            continue
        group = list(several)
        sheets = [section.sheet for section in group if section.sheet]
        rows = [row for section in group for row in _group(section)]
        yield Section("", sheet=replace(sheets[0], heads=[within, *sheets[0].heads[1:]], rows=rows))


def _group(section: Section) -> Iterator[Row]:
    yield [Item(section.title, bold=True)]
    yield from section.sheet.rows if section.sheet else ()
    yield from ([warning] for warning in section.warnings)


def printed(parts: Iterable[Part]) -> Iterator[Section]:
    """Yield the sections of parts for print: each table with its title, and with the sentences about it as lines."""
    for part in parts:
        for section in joined(part.sections):
            if section.sheet:
                about = section.sheet.about or section.subtitle
                remarks = [f"{about[0].upper()}{about[1:]}".removesuffix(".") + "."] if about else []
                remarks += [*part.warnings, *part.about, *([section.marks] if section.marks else []), *section.warnings]
                sheet = replace(section.sheet, about="\n".join(remarks))
                yield replace(section, title=sheet.title or section.title, sheet=sheet, warnings=())
            elif section.findings or section.code:
                yield section
