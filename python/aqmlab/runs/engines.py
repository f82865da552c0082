"""One comparison by several engines: their runs side by side, and by how much they differ."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from aqmlab._core import Scenario
from aqmlab.catalogue import title
from aqmlab.names import unknown
from aqmlab.notebook import Result, Sheet
from aqmlab.problems import InputError
from aqmlab.runs.comparison import Comparison, View
from aqmlab.runs.metrics import LINK_METRICS, Metric, find
from aqmlab.runs.statistics import Summary, summarise
from aqmlab.runs.task import ENGINES, is_linux

if TYPE_CHECKING:
    import pandas as pd


class Difference(NamedTuple):
    """By how much an engine exceeds another one under the same seeds, and as a share of the other one's mean.

    The share is None where that mean is 0.
    """

    absolute: Summary
    relative: float | None

    def show(self, metric: Metric) -> str:
        """Return it as people read it: "+1.2 ± 0.4 (+3.1 %)", without a sign and share where nobody can see any."""
        mean = metric.show(self.absolute.mean, self.absolute.half_width)
        if not float(metric.show(self.absolute.mean)):
            return mean.removeprefix("-")
        sign = "+" if self.absolute.mean > 0 else ""
        share = "" if self.relative is None else f" ({100 * self.relative:+.1f}\N{NO-BREAK SPACE}%)"
        return f"{sign}{mean}{share}"


class EngineRow(NamedTuple):
    """A row of a view: the measurements of an engine under a scheme, or the difference of two engines.

    `ends` says that it is the last one of its scheme.
    """

    scheme: str
    what: str
    texts: Sequence[str]
    ends: bool


@dataclass(frozen=True, repr=False)
class EngineComparison(Result):
    """Schemes in one scenario, as several engines run them; the first engine is the one that others are held to.

    `by_engine` contains the comparison of each.
    """

    by_engine: Mapping[str, Comparison]

    @property
    def engines(self) -> tuple[str, ...]:
        """The names of the engines, in order."""
        return tuple(self.by_engine)

    @property
    def first(self) -> Comparison:
        """The comparison by the first engine."""
        return self.by_engine[self.engines[0]]

    @property
    def scenario(self) -> Scenario:
        """The scenario."""
        return self.first.scenario

    @property
    def schemes(self) -> tuple[str, ...]:
        """The schemes, in order."""
        return self.first.schemes

    @property
    def seeds(self) -> int:
        """The number of seeds."""
        return self.first.seeds

    @property
    def failures(self) -> list[str]:
        """The runs that failed, and why."""
        return [f"{name}: {failure}" for name, each in self.by_engine.items() for failure in each.failures]

    @property
    def warnings(self) -> Mapping[str, list[str]]:
        """Remarks to read before a link's table is trusted, by link: which schemes have two states, and where."""
        return {
            link: [f"{name}: {warning}" for name, each in self.by_engine.items() for warning in each.warnings(link)]
            for link in self.scenario.links
        }

    @cached_property
    def views(self) -> list[View]:
        """The tables that show it: a comparison's, with the columns for which any engine has values."""
        each = zip(*(comparison.views for comparison in self.by_engine.values()), strict=True)
        return [
            View(views[0].title, {head: name for view in views for head, name in view.columns.items()}, views[0].link)
            for views in each
        ]

    def difference(self, spec: str, measure: str, engine: str | None = None) -> Difference | None:
        """Return by how much an engine, by default the last, exceeds the first; None if they share no seed's value.

        Both meet the same starts and sizes under one seed, so seeds are paired. InputError for an engine, a scheme,
        a link or a group of flows that was not compared.
        """
        name = self.engines[-1] if engine is None else engine
        if name not in self.by_engine:
            raise unknown("engine", "not compared:", name, self.engines)
        self.first.summary(spec, measure)  # refuses what was not compared
        found = [each.measured.values(self.scenario.name, spec, measure) for each in (self.by_engine[name], self.first)]
        ours, theirs = found
        seeds = [seed for seed in ours if seed in theirs]
        if not seeds:
            return None
        absolute = summarise([ours[seed] - theirs[seed] for seed in seeds])
        base = sum(theirs[seed] for seed in seeds) / len(seeds)
        return Difference(absolute, absolute.mean / abs(base) if base else None)

    def rows(self, view: View) -> Iterator[EngineRow]:
        """Yield the rows of a view: for each scheme the engines' rows, then their differences from the first."""
        measures, first, last = list(view.columns.values()), self.engines[0], self.engines[-1]
        for spec in self.schemes:
            for name, each in self.by_engine.items():
                yield EngineRow(spec, name, [each.text(spec, measure) for measure in measures], False)
            for name in self.engines[1:]:
                texts = [self._difference_text(spec, measure, name) for measure in measures]
                yield EngineRow(spec, f"{name} - {first}", texts, name == last)

    def _difference_text(self, spec: str, measure: str, engine: str) -> str:
        metric, found = find(measure), self.difference(spec, measure, engine)
        return metric.show(None) if found is None else found.show(metric)

    @property
    def headline(self) -> str:
        """The engines, the scenario, and how many schemes and seeds."""
        return f"{' and '.join(self.engines)}: {self.first.headline}"

    def sheets(self) -> Iterator[Sheet]:
        """Return its views."""
        for view in self.views:
            rows = [
                [title(row.scheme) + self.first.row(row.scheme, view.link), row.what, *row.texts]
                for row in self.rows(view)
            ]
            yield Sheet(view.title, ["Scheme", "Engine", *view.columns], rows, names=2)

    def table(self, link: str | None = None, wanted: Sequence[str] | None = None) -> "pd.DataFrame":
        """Return the tables of the engines (see `Comparison.table`) as one data frame by engine and scheme.

        MissingExtraError without pandas.
        """
        from aqmlab.extras import required

        with required():
            import pandas as pd
        tables = {name: each.table(link, wanted) for name, each in self.by_engine.items()}
        return pd.concat(tables, names=["engine"])  # type: ignore[arg-type]

    def json(self) -> str:
        """Return the summaries, the differences, the runs and the failures as one JSON document."""
        return json.dumps(self.document(), indent=1)

    def document(self) -> dict[str, Any]:
        """Return the document of a comparison, each entry and run with its engine, and the differences."""
        documents = {name: each.document() for name, each in self.by_engine.items()}
        found = {**documents[self.engines[0]], "engines": list(self.engines), "failures": self.failures}
        for part in ("summary", "measures"):
            found[part] = [{**entry, "engine": name} for name, each in documents.items() for entry in each[part]]
        found["runs"] = [
            {**run, "engine": {"name": name, **run["engine"]} | {"name": name}}
            for name, each in documents.items()
            for run in each["runs"]
        ]
        found["differences"] = list(self._differences())
        return found

    def _differences(self) -> Iterator[dict[str, Any]]:
        of_links = [f"links.{link}.{metric.name}" for link in self.scenario.links for metric in LINK_METRICS]
        others = self.first.asked or self.first.of_flows.columns.values()
        for measure in dict.fromkeys([*of_links, *others]):
            for spec in self.schemes:
                for name in self.engines[1:]:
                    found = self.difference(spec, measure, name)
                    yield {
                        "measure": measure,
                        "aqm": spec,
                        "engine": name,
                        "from": self.engines[0],
                        "unit": find(measure).unit,
                        "n": found.absolute.n if found else 0,
                        "mean": found.absolute.mean if found else None,
                        "interval": found.absolute.interval if found else None,
                        "relative": found.relative if found else None,
                    }


def check_engines(engines: Sequence[str]) -> None:
    """Raise InputError unless these are two or more engines that there are."""
    for name in engines:
        if not is_linux(name) and name not in ENGINES:
            raise unknown("engines", "no engine is called", name, ENGINES)
    if len(set(engines)) < max(2, len(engines)):
        raise InputError("engines", f"{','.join(engines) or 'none'}: expected two different ones, such as sim,linux")
