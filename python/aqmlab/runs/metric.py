"""A measure of a run: name, unit, definition, how people read it, and which of two values is better."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from aqmlab import _core
from aqmlab.notebook import Sheet


@dataclass(frozen=True)
class Shown:
    """The form of a value for people: times `scale`, in `unit`, with `digits` after the point; perhaps an exponent."""

    scale: float
    unit: str
    digits: int
    exponent: bool = False


@dataclass(frozen=True)
class Metric:
    """One metric, stored in `unit` (SI or packets) and read as `shown`."""

    name: str
    title: str
    unit: str
    definition: str
    shown: Shown
    better: Literal["more", "less"] | None = None
    """Which of two values is better, where either is."""

    @property
    def heading(self) -> str:
        """Title and unit, if there is one, for the head of a column."""
        return f"{self.title} ({self.unit_shown})" if self.unit_shown else self.title

    @property
    def unit_shown(self) -> str:
        """The unit in which people read it, empty if there is none."""
        return "" if self.shown.unit in ("1", "ratio") else self.shown.unit

    def show(self, value: float | None, half_width: float | None = None) -> str:
        """Return the value as people read it, with its half-width if there is one; a dash for None."""
        if value is None:
            return "–"
        text = self._text(value)
        return text if half_width is None else f"{text} ±\N{NO-BREAK SPACE}{self._text(half_width)}"

    def _text(self, value: float) -> str:
        return f"{value * self.shown.scale:.{self.shown.digits}{'e' if self.shown.exponent else 'f'}}"


@cache
def of(result: str) -> tuple[Metric, ...]:
    """Return the metrics that the engine declares for a result ("LinkResult", "FlowResult", ...), in order."""
    return tuple(_metrics(_core.measures()[result]["fields"]))


def _metrics(fields: list[dict[str, Any]]) -> Iterator[Metric]:
    for field in fields:
        if measure := field["measure"]:
            definition = " ".join(field["doc"].partition("\n\n")[0].split()).rstrip(".")
            definition = definition[0].lower() + definition[1:]
            shown = Shown(*measure["shown"])
            yield Metric(field["name"], measure["title"], measure["unit"], definition, shown, measure["better"])


class Measured:
    """The measures of one place; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        metrics = of(type(self).__name__)
        rows = [[each.title, each.show(getattr(self, each.name)), each.unit_shown, each.definition] for each in metrics]
        return Sheet("", ("Measure", "Value", "Unit", "Definition"), rows).html()
