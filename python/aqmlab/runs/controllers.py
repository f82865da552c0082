"""Congestion controllers side by side: scenarios × schemes × controllers × seeds, compared as schemes are."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from aqmlab import laws
from aqmlab._core import Scenario
from aqmlab.catalogue import usual
from aqmlab.names import unknown
from aqmlab.notebook import Result, Sheet
from aqmlab.own import Scheme
from aqmlab.own import select as select_aqms
from aqmlab.runs.checks import check_engine, check_set
from aqmlab.runs.comparison import Comparison, View
from aqmlab.runs.executor import Progress
from aqmlab.runs.findings import CONTROLLER, SCHEME, Findings, adjusted, ranked, rankings
from aqmlab.runs.metrics import LINK_METRICS, find
from aqmlab.runs.results import RunResult
from aqmlab.runs.simulate import Source, compare_many, expanded
from aqmlab.runs.table import Case, told_states
from aqmlab.runs.task import SIM
from aqmlab.scenario import Values

USUAL = ("link.utilisation", "link.drop_ratio", "link.queue_delay_mean", "total.goodput", "total.jain")
"""The measures by which controllers are ranked and drawn by default; link is the busiest link of a scenario."""


@dataclass(frozen=True, repr=False)
class ControllerComparison(Result, Findings):
    """Controllers side by side under each scheme, in one scenario or several.

    The controllers take the place of the schemes of other findings: `schemes` are the controllers, and each scheme in a
    scenario is a case.
    """

    by_controller: Mapping[str, Sequence[Comparison]]
    """By controller: the comparison of the schemes in each scenario."""
    asked: Sequence[str] = ()
    """The requested measures, which tables show instead of the usual ones."""

    @classmethod
    def of(cls, by_controller: Mapping[str, Sequence[Comparison]], asked: Sequence[str]) -> "ControllerComparison":
        """Return the comparison of the controllers whose runs these are."""
        links = {each.scenario.name: _busiest(each) for each in next(iter(by_controller.values()))}
        rows = [row for law, each in by_controller.items() for compared in each for row in _rows(law, compared, links)]
        path = f"set.flows.*.{CONTROLLER}"
        return cls(Path(), rows, len(rows), by_controller, asked, compared=path)

    @property
    def scenarios(self) -> list[Scenario]:
        """The scenarios, as the first controller meets them."""
        return [each.scenario for each in self.first]

    @property
    def first(self) -> Sequence[Comparison]:
        """The comparisons under the first controller."""
        return self.by_controller[self.schemes[0]]

    @property
    def title(self) -> str:
        """The title of the scenario, or their number."""
        return self.scenarios[0].title if len(self.first) == 1 else f"{len(self.first)} scenarios"

    @property
    def aqms(self) -> list[str]:
        """The schemes, in order."""
        return list(dict.fromkeys(spec for each in self.first for spec in each.schemes))

    @property
    def measures(self) -> Sequence[str]:
        """The measures that are ranked and drawn."""
        return self.asked or USUAL

    @property
    def notes(self) -> list[str]:
        """Remarks to read before the means are trusted: controllers whose seeds fall into two states, and where."""
        found = {(case, law): self.measured.states(case, law) for case in self.cases for law in self.schemes}
        states = [told_states(f"{case.name}, {law}", two) for (case, law), two in found.items() if two]
        same = [note for each in self.by_controller.values() for compared in each for note in compared.notes]
        return [*states, *dict.fromkeys(same)]

    @cached_property
    def ranks(self) -> "Mapping[str, Any]":
        """The rankings over the scenarios and schemes, by measure; none if there are too few."""
        return rankings(self, ranked(self.measures, every=bool(self.asked)))

    def views(self, scenario: str) -> list[View]:
        """Return the tables of a scenario, with the columns for which any controller has values."""
        of = [[each.views for each in found if each.scenario.name == scenario] for found in self.by_controller.values()]
        if not of[0]:
            raise unknown("scenario", "not compared:", scenario, [each.name for each in self.scenarios])
        return [
            View(views[0].title, {head: name for view in views for head, name in view.columns.items()}, views[0].link)
            for views in zip(*(views for [views] in of), strict=True)
        ]

    def of_scenario(self, scenario: str) -> list[Case]:
        """Return the cases of a scenario, one per scheme."""
        return [case for case in self.cases if case.scenario == scenario]

    def sheets(self) -> Iterator[Sheet]:
        """Return a table per scenario and view."""
        for scenario in self.scenarios:
            for view in self.views(scenario.name):
                rows = [
                    [scheme_of(case), law, *(self._text(case, law, measure) for measure in view.columns.values())]
                    for case in self.of_scenario(scenario.name)
                    for law in self.schemes
                ]
                yield Sheet(f"{scenario.name}: {view.title}", ["Scheme", "Controller", *view.columns], rows, names=2)

    def _text(self, case: Case, law: str, measure: str) -> str:
        summary, metric = self.measured.summary(case, law, measure), find(measure)
        return metric.show(summary.mean, summary.half_width) if summary else metric.show(None)

    @property
    def headline(self) -> str:
        """The scenarios, the controllers, the schemes and the number of seeds."""
        failed = f", {len(self.failures)} runs failed" if self.failures else ""
        names = ", ".join(scenario.name for scenario in self.scenarios)
        return f"{names}, {', '.join(self.schemes)} under {', '.join(self.aqms)}, seeds 1 to {len(self.seeds)}{failed}"

    def json(self) -> str:
        """Return summaries, paired differences from the first controller, rankings and runs as one JSON document."""
        return json.dumps(self.document(), indent=1)

    def document(self) -> dict[str, Any]:
        """Return summaries, paired differences from the first controller, rankings and runs, for JSON."""
        return {
            "schema": 1,
            "scenarios": [scenario.name for scenario in self.scenarios],
            "links": [self.of_scenario(scenario.name)[0].link for scenario in self.scenarios],
            "seeds": len(self.seeds),
            "ccs": self.schemes,
            "aqms": self.aqms,
            "summary": adjusted([*self._entries()]),
            "ranking": {measure: vars(ranking) for measure, ranking in self.ranks.items()},
            "notes": self.notes,
            "runs": [
                {"cc": law, **json.loads(run.text)}
                for law, found in self.by_controller.items()
                for compared in found
                for run in compared.runs.values()
            ],
            "failures": self.failures,
        }

    def _entries(self) -> Iterator[dict[str, Any]]:
        for compared in self.first:
            scenario = compared.scenario
            of_links = [f"links.{link}.{metric.name}" for link in scenario.links for metric in LINK_METRICS]
            measures = [*of_links, *(compared.asked or compared.of_flows.columns.values())]
            for case in self.of_scenario(scenario.name):
                for law in self.schemes:
                    place = {"scenario": scenario.name, "aqm": scheme_of(case), "cc": law}
                    yield from (
                        {**place, "measure": measure, **self.entry(case, law, measure)}
                        for measure in dict.fromkeys(measures)
                    )


def scheme_of(case: Case) -> str:
    """Return the scheme of a case in which controllers are compared."""
    return dict(case.overrides)[SCHEME.removeprefix("set.")]


def _busiest(compared: Comparison) -> str:
    """Return the link with the highest mean utilisation, the first of several."""
    links = compared.scenario.links
    return max(links, key=lambda link: sum(run.links[link].utilisation for run in compared.runs.values()))


def _rows(law: str, compared: Comparison, links: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the runs of a comparison as rows of findings."""
    scenario = compared.scenario
    seeds = range(1, compared.seeds + 1)
    places = [(spec, seed) for spec in compared.schemes for seed in seeds]
    for (spec, seed), outcome in zip(places, compared.outcomes, strict=True):
        place = {"scenario": scenario.name, "link": links[scenario.name], SCHEME: spec, "aqm": law, "seed": seed}
        key = f"{scenario.name} {spec} {law} {seed}"
        if isinstance(outcome, RunResult):
            yield {"key": key, **place, "state": "done", "error": None, **outcome.values}
        else:
            yield {"key": key, **place, "state": "failed", "error": outcome.reason}


def compare_ccs(
    scenarios: Source | Sequence[Source],
    ccs: laws.Law | Sequence[laws.Law],
    aqms: Scheme | Sequence[Scheme] | None = None,
    seeds: int = 1,
    *,
    set: Values | Sequence[Values] | None = None,
    measures: Sequence[str] = (),
    jobs: int | None = None,
    engine: str = SIM,
    traces: Path | None = None,
    progress: Progress | None = None,
) -> ControllerComparison:
    """Simulate scenarios with each of several congestion controllers under each scheme, with the seeds 1 to `seeds`.

    `ccs` are two or more controllers for all TCP flows: "cubic,bbr3,./libmine.so", or a list of what `law` of `run`
    takes. Under one seed all of them meet the same starts and sizes, so their differences are paired. `set` has the
    same values for all scenarios, or those of each. The other arguments are those of `compare`. Raises InputError for
    bad input, before anything runs.
    """
    sources = [scenarios] if isinstance(scenarios, str | os.PathLike | Scenario) else [*scenarios]
    values = [*set] if isinstance(set, Sequence) else [set] * len(sources)
    given = None if aqms is None else select_aqms(aqms)
    names = laws.select(ccs)
    loaded = {
        law: [laws.load_with(each, of, law, traces) for each, of in zip(sources, values, strict=True)] for law in names
    }
    grid = [(each, given or usual(each.name)) for found in loaded.values() for each in found]
    for each, specs in grid:
        check_set(each, specs)
        check_engine(engine, each, specs)
    compared = iter(compare_many(grid, seeds, series=False, jobs=jobs, engine=engine, progress=progress))
    asked = {law: [expanded(each, measures, found) for each in found] for law, found in loaded.items()}
    by_controller = {law: [replace(next(compared), asked=each) for each in asked[law]] for law in names}
    every = dict.fromkeys(name for each in asked[names[0]] for name in each)
    return ControllerComparison.of(by_controller, list(every))
