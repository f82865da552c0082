"""The parts of a report: what a result shows, given once for a terminal, a page and a paper."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aqmlab.notebook import Sheet
from aqmlab.present.html.setup import Setup
from aqmlab.present.labels import footnote
from aqmlab.runs.metrics import Metric
from aqmlab.study.claims import Checked


@dataclass(frozen=True)
class Section:
    """One table or figure with the text around it.

    `findings` are sentences above the table, `metrics` are those in it that need a definition. The title of the table
    is the one outside of its report. Only a page shows the `subtitle`, the numbered `notes`, `figures` (names of
    drawings by caption), the `setup` of what was simulated, and the tables `folded` by title.
    """

    title: str
    subtitle: str = ""
    sheet: Sheet | None = None
    metrics: Sequence[Metric] = ()
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    figures: Mapping[str, str] = field(default_factory=dict)
    setup: Setup | None = None
    folded: Mapping[str, Sheet] = field(default_factory=dict)
    findings: Sequence[str] = ()

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
    """One comparison, or one paper with its coverage and its ledger: sentences, and how their words are read."""

    name: str
    title: str
    source: str
    sections: Sequence[Section]
    coverage: Mapping[str, int] | None = None
    claims: Sequence[Checked] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""
