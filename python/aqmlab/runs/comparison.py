"""Schemes side by side: the combined result of a comparison's runs."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from aqmlab._core import Scenario
from aqmlab.catalogue import departs, title
from aqmlab.names import Named, unknown
from aqmlab.notebook import Result, Sheet
from aqmlab.runs import measures
from aqmlab.runs.metrics import LINK_METRICS, OF_STATION, find, split
from aqmlab.runs.results import RunResult, columns
from aqmlab.runs.statistics import Summary, branches
from aqmlab.runs.table import State, Table, ToldApart, Values
from aqmlab.runs.task import Failure

if TYPE_CHECKING:
    import pandas as pd


class View(NamedTuple):
    """A table of a comparison: measures by their heads, in order, and the link whose seeds may fall into two states."""

    title: str
    columns: Mapping[str, str]
    link: str


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Schemes side by side in one scenario: the outcome of each scheme under each seed, schemes first."""

    scenario: Scenario
    schemes: tuple[str, ...]
    seeds: int
    outcomes: tuple[RunResult | Failure, ...]
    wall: float
    """Seconds the whole batch took."""
    asked: tuple[str, ...] = ()
    """The requested measures; without any, tables show the measures of links and the usual measures of flows."""

    @cached_property
    def runs(self) -> Mapping[tuple[str, int], RunResult]:
        """The runs that succeeded, by scheme and seed."""
        keys = [(spec, seed) for spec in self.schemes for seed in range(1, self.seeds + 1)]
        found = zip(keys, self.outcomes, strict=True)
        return Named("runs", {key: outcome for key, outcome in found if isinstance(outcome, RunResult)})

    @property
    def linux(self) -> tuple[str, ...]:
        """The versions of Linux that did the runs; none if the simulator did them."""
        return tuple(dict.fromkeys(run.engine.version for run in self.runs.values() if run.engine.is_real))

    @property
    def failures(self) -> list[Failure]:
        """The runs that failed."""
        return [outcome for outcome in self.outcomes if isinstance(outcome, Failure)]

    @cached_property
    def measured(self) -> Table[str]:
        """The table of the runs, in the one form of all results; the case is the scenario's name."""
        runs: dict[tuple[str, str], dict[int, Values]] = {(self.scenario.name, spec): {} for spec in self.schemes}
        for (spec, seed), run in self.runs.items():
            runs[self.scenario.name, spec][seed] = run.values
        return Table(runs, {self.scenario.name: self.scenario.links[0]})

    @property
    def views(self) -> list[View]:
        """The tables that show it: the requested measures; or each link, then the flows."""
        first = self.scenario.links[0]
        if self.asked:
            return [View("Measures", {measures.heading(name): name for name in self.asked}, first)]
        return [*map(self.of_link, self.scenario.links), *map(self.of_station, self.scenario.stations), self.of_flows]

    def of_link(self, link: str) -> View:
        """Return the table of a link, with the settling time if a run has one."""
        shown = columns(run.links[link] for run in self.runs.values())
        return View(f"Link {link}", {metric.heading: f"links.{link}.{metric.name}" for metric in shown}, link)

    def of_station(self, station: str) -> View:
        """Return the table of a station of a Wi-Fi cell, or of those that are alike."""
        shown = {metric.heading: f"stations.{station}.{metric.name}" for metric in OF_STATION}
        return View(f"Station {station}", shown, self.scenario.links[0])

    @property
    def of_flows(self) -> View:
        """The table of the flows."""
        names = measures.usual(self.scenario)
        return View("Flows", {measures.heading(name): name for name in names}, self.scenario.links[0])

    def summary(self, spec: str, measure: str, state: State | None = None) -> Summary | None:
        """Return mean and interval of a measure over the seeds (of a state), None if no seed has it.

        The settling time has a value only for the seeds that settled, `n` of them. InputError for a scheme that was not
        compared, and for a link, a station or a group of flows that the scenario does not have.
        """
        if spec not in self.schemes:
            raise unknown("aqm", "not compared:", spec, self.schemes)
        of, _, name = split(measure)[0].partition(".")
        if of == "links":
            self.scenario.link(name)
        elif of == "flows":
            self.scenario.group(name)
        elif of == "stations" and name not in self.scenario.stations:
            raise unknown("stations", "no station", name, self.scenario.stations)
        return self.measured.summary(self.scenario.name, spec, measure, state)

    def row(self, spec: str, link: str) -> str:
        """Return what the schemes that a link had under `spec` add to its title: its own, or changed later."""
        of_runs = (run.links[link].schemes for (of, _), run in self.runs.items() if of == spec)
        return next((departs(spec, link, schemes) for schemes in of_runs), "")

    def states(self, spec: str, link: str, told_apart: ToldApart = branches) -> tuple[State, State] | None:
        """Return the two states the seeds fall into, judged by the mean queue of a link, or None."""
        return self.measured.states(self.scenario.name, spec, link, told_apart)

    @cached_property
    def repeated(self) -> tuple[str, ...]:
        """The schemes under which every seed gave the same run, so that there is nothing to take a mean over."""
        found = {spec: [run.values for (of, _), run in self.runs.items() if of == spec] for spec in self.schemes}
        return tuple(spec for spec, runs in found.items() if len(runs) > 1 and all(run == runs[0] for run in runs))

    @property
    def notes(self) -> list[str]:
        """Remarks on runs in which a link delivers nothing, and on the seeds."""
        of_runs = (f"{title(spec)}: {note}" for (spec, _), run in self.runs.items() for note in run.notes)
        return [*dict.fromkeys(of_runs), *self._on_seeds()]

    def _on_seeds(self) -> list[str]:
        """Return what there is to say of the seeds, for every link."""
        if not self.repeated:
            return []
        names = "every scheme" if self.repeated == self.schemes else ", ".join(map(title, self.repeated))
        return [
            f"All {self.seeds} seeds gave the same run under {names}, because nothing in it is random, so there is no "
            "interval. --jitter (set flows.*.start_spread=1) draws each flow's start within a round trip."
        ]

    def text(self, spec: str, measure: str) -> str:
        """Return a measure as people read it: mean ± half-width, or both means where there are two states.

        Runs that do not differ have no half-width.
        """
        metric, (place, _) = find(measure), split(measure)
        link = place.removeprefix("links.") if place.startswith("links.") else self.scenario.links[0]
        summaries = [self.summary(spec, measure, state) for state in self.states(spec, link) or (None,)]
        if len(summaries) == 2:
            return " | ".join(metric.show(summary.mean if summary else None) for summary in summaries)
        [summary] = summaries
        if summary is None:
            return metric.show(None)
        if spec in self.repeated:
            return metric.show(summary.mean)
        runs = len(self.measured.runs[self.scenario.name, spec])
        some = f" ({summary.n} of {runs} seeds)" if summary.n < runs else ""
        return metric.show(summary.mean, summary.half_width) + some

    def warnings(self, link: str, told_apart: ToldApart = branches) -> list[str]:
        """Return what must be read before the table is trusted: which schemes have two states."""
        found = [(spec, self.states(spec, link, told_apart)) for spec in self.schemes]
        return [
            f"{title(spec)} has two states here: {_state(two[0])} | {_state(two[1])}. "
            "A mean over all seeds describes neither."
            for spec, two in found
            if two
        ]

    def table(self, link: str | None = None, wanted: Sequence[str] | None = None) -> "pd.DataFrame | Sheet":
        """Return mean and 95 % half-width ("mean", "ci95") of measures, one row a scheme, as a data frame.

        `wanted` are names, with globs; without it the columns are the metrics of a link, by default the first, and the
        measures that were asked for. Without pandas it is a `Sheet`, which prints the same values as text.
        """
        if link is not None:
            self.scenario.link(link)
        names = self._tabled(link or self.scenario.links[0], wanted)
        try:
            import pandas as pd
        except ModuleNotFoundError:
            texts = [[spec, *(self.text(spec, name) for name in names.values())] for spec in self.schemes]
            return Sheet("", ["aqm", *map(measures.heading, names.values())], texts)
        rows = {spec: self._row(spec, names.values()) for spec in self.schemes}
        heads = pd.MultiIndex.from_product([list(names), ["mean", "ci95"]])
        return pd.DataFrame.from_dict(rows, orient="index", columns=heads, dtype=float).rename_axis("aqm")

    @property
    def headline(self) -> str:
        """The scenario, and how many schemes and seeds."""
        failed = f", {len(self.failures)} runs failed" if self.failures else ""
        return f"{self.scenario.name}, {', '.join(self.schemes)}, seeds 1 to {self.seeds}{failed}"

    def sheets(self) -> Iterator[Sheet]:
        """Return its views."""
        for view in self.views:
            rows = [
                [title(spec) + self.row(spec, view.link), *(self.text(spec, name) for name in view.columns.values())]
                for spec in self.schemes
            ]
            yield Sheet(view.title, ["Scheme", *view.columns], rows)

    def _tabled(self, link: str, wanted: Sequence[str] | None) -> dict[str, str]:
        """Return the measures of a data frame by the names of its columns."""
        if wanted is None:
            return {
                **{metric.name: f"links.{link}.{metric.name}" for metric in LINK_METRICS},
                **{name: name for name in self.asked},
            }
        return {name: name for name in measures.expand(wanted, measures.every(self.scenario), link)}

    def _row(self, spec: str, names: Iterable[str]) -> list[float | None]:
        return [value for name in names for value in _mean_and_width(self.summary(spec, name))]

    def json(self) -> str:
        """Return the summaries, the runs and the failures as one JSON document."""
        return json.dumps(self.document(), indent=1)

    def document(self) -> dict[str, Any]:
        """Return the summaries, the runs and the failures, for JSON."""
        of_links = [(link, metric) for link in self.scenario.links for metric in LINK_METRICS]
        others = self.asked or self.of_flows.columns.values()
        return {
            "schema": 1,
            "scenario": self.scenario.name,
            "seeds": self.seeds,
            "aqms": list(self.schemes),
            "summary": [
                {"link": link, "aqm": spec, "metric": metric.name, **self._entry(spec, f"links.{link}.{metric.name}")}
                for link, metric in of_links
                for spec in self.schemes
            ],
            "measures": [
                {"measure": name, "aqm": spec, **self._entry(spec, name)} for name in others for spec in self.schemes
            ],
            "runs": [json.loads(run.text) for run in self.runs.values()],
            "failures": [str(failure) for failure in self.failures],
        }

    def _entry(self, spec: str, measure: str) -> dict[str, Any]:
        summary = self.summary(spec, measure)
        return {
            "unit": find(measure).unit,
            "n": summary.n if summary else 0,
            "mean": summary.mean if summary else None,
            "interval": summary.interval if summary else None,
        }


class Documented(Protocol):
    """A comparison, by one engine or several."""

    def document(self) -> dict[str, Any]:
        """Return it for JSON."""


def document(comparisons: Sequence[Documented]) -> str:
    """Return one comparison, or several as a list `comparisons`, as one JSON document."""
    if len(comparisons) == 1:
        return json.dumps(comparisons[0].document(), indent=1)
    return json.dumps({"schema": 1, "comparisons": [each.document() for each in comparisons]}, indent=1)


def _state(state: State) -> str:
    return f"mean queue {state.mean:.0f} packets in {state.n} seed{'s' if state.n > 1 else ''}"


def _mean_and_width(summary: Summary | None) -> tuple[float | None, float | None]:
    return (summary.mean, summary.half_width) if summary else (None, None)
