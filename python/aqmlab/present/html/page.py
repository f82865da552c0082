"""The one way to make a page: tables, sections, and the templates that show them. Text is escaped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from aqmlab import catalogue
from aqmlab._core import Scenario
from aqmlab.present.labels import footnote
from aqmlab.present.plots import files
from aqmlab.present.plots.data import Drawing
from aqmlab.study.cells import VERDICTS
from aqmlab.study.claims import VERDICTS as CLAIM_VERDICTS
from aqmlab.study.claims import Checked

if TYPE_CHECKING:
    from jinja2 import Environment

Files = dict[str, bytes | str]
"""What to write, by file name."""

Drawings = dict[str, Drawing]
"""What to draw, by the name of the file without its ending."""


@dataclass(frozen=True)
class Item:
    """One cell of a table.

    `verdict` adds its mark, `note` the number of a note under the table. `value` is what rows are sorted by, None if
    there is none. `bold` makes the text stand out, `small` is a second line, `hint` is shown under the pointer.
    """

    text: str
    verdict: str | None = None
    note: int | None = None
    value: float | None = None
    bold: bool = False
    small: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells by name; `corner` is the head of the names. `subheads` stand under each head, `foot` at the end.

    A click on a head of a `sortable` table sorts the rows.
    """

    corner: str
    heads: Sequence[str]
    rows: Mapping[str, Sequence[Item]]
    subheads: Sequence[str] = ()
    foot: Mapping[str, Sequence[Item]] = field(default_factory=dict)
    sortable: bool = False


@dataclass(frozen=True)
class Section:
    """One table or figure with what belongs under it; `figures` are names of drawings by caption."""

    title: str
    subtitle: str
    table: Table | None = None
    definition: str = ""
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    figures: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def marks(self) -> str:
        """What the marks of schemes in the table mean."""
        return footnote([*self.table.heads, *self.table.rows] if self.table else [])


@dataclass(frozen=True)
class Part:
    """One comparison, or one paper with its coverage and its ledger: sentences, and what their words are taken for."""

    name: str
    title: str
    source: str
    sections: Sequence[Section]
    coverage: Mapping[str, int] | None = None
    claims: Sequence[Checked] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""


def report(title: str, parts: Sequence[Part], drawings: Drawings, facts: Mapping[str, str]) -> Files:
    """Return report.html and the figures in it; `facts` say how to repeat the work."""
    drawn = files.encode_all(drawings)
    inline = {stem: files.inline(drawn[f"{stem}.svg"]) for stem in drawings}
    return {"report.html": render("report.html", title=title, parts=parts, drawn=inline, facts=facts), **drawn}


def render(name: str, **given: object) -> str:
    """Return a template of the package, filled; what it is given is escaped unless the template marks it safe."""
    return _environment().get_template(name).render(given)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("aqmlab.present.html")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals |= {"verdicts": VERDICTS, "claim_verdicts": CLAIM_VERDICTS}
    return environment


def parameters(scenario: Scenario, spec: str) -> str:
    """Return the parameters of a scheme as a scenario uses it, with their units."""
    at = catalogue.by_link(spec)
    units = {
        f"{link}.{parameter.name}" if link else parameter.name: parameter.unit
        for link, scheme in (at or {"": spec}).items()
        for parameter in catalogue.find(catalogue.halves(scheme)[0]).parameters
    }
    values = scenario.parameters(spec)
    return ", ".join(f"{name} = {_with_unit(str(value), units[name])}" for name, value in values.items())


def _with_unit(value: str, unit: str) -> str:
    return value if unit in ("", "1", "ratio") or not _is_number(value) else f"{value} {unit}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
