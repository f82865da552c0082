"""Schemes side by side: what the runs of a comparison say together."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from aqmlab._core import Scenario
from aqmlab.catalogue import title
from aqmlab.runs.metrics import LINK_METRICS, Metric
from aqmlab.runs.results import RunResult, columns
from aqmlab.runs.statistics import Summary
from aqmlab.runs.table import State, Table, Values
from aqmlab.runs.task import Failure

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Comparison:
    """Schemes side by side in one scenario: the outcome of each scheme under each seed, schemes first."""

    scenario: Scenario
    schemes: tuple[str, ...]
    seeds: int
    outcomes: tuple[RunResult | Failure, ...]
    wall: float
    """Seconds the whole batch took."""

    @cached_property
    def runs(self) -> Mapping[tuple[str, int], RunResult]:
        """The runs that succeeded, by scheme and seed."""
        keys = [(spec, seed) for spec in self.schemes for seed in range(1, self.seeds + 1)]
        return {
            key: outcome for key, outcome in zip(keys, self.outcomes, strict=True) if isinstance(outcome, RunResult)
        }

    @property
    def failures(self) -> list[Failure]:
        """The runs that failed."""
        return [outcome for outcome in self.outcomes if isinstance(outcome, Failure)]

    def metrics(self, link: str) -> list[Metric]:
        """Return the metrics worth a column of a table."""
        return columns(run.links[link] for run in self.runs.values())

    @cached_property
    def measured(self) -> Table[str]:
        """What the runs measured, in the one form of all results; the case is the scenario's name."""
        runs: dict[tuple[str, str], dict[int, Values]] = {(self.scenario.name, spec): {} for spec in self.schemes}
        for (spec, seed), run in self.runs.items():
            runs[self.scenario.name, spec][seed] = run.values
        return Table(runs, {self.scenario.name: self.scenario.links[0]})

    def summary(self, spec: str, link: str, metric: str, state: State | None = None) -> Summary | None:
        """Return mean and interval of a metric over the seeds (of a state), None if no seed has it.

        The settling time has a value only for the seeds that settled, `n` of them.
        """
        return self.measured.summary(self.scenario.name, spec, f"links.{link}.{metric}", state)

    def branches(self, spec: str, link: str) -> tuple[State, State] | None:
        """Return the two states the seeds fall into, judged by the mean queue, or None."""
        return self.measured.states(self.scenario.name, spec, link)

    def text(self, spec: str, link: str, metric: Metric) -> str:
        """Return a metric as people read it: mean ± half-width, or both means where there are two states."""
        summaries = [self.summary(spec, link, metric.name, state) for state in self.branches(spec, link) or (None,)]
        if len(summaries) == 2:
            return " | ".join(metric.show(summary.mean if summary else None) for summary in summaries)
        [summary] = summaries
        if summary is None:
            return metric.show(None)
        runs = len(self.measured.runs[self.scenario.name, spec])
        some = f" ({summary.n} of {runs} seeds)" if summary.n < runs else ""
        return metric.show(summary.mean, summary.half_width) + some

    def warnings(self, link: str) -> list[str]:
        """Return what must be read before the table is trusted: which schemes have two states."""
        found = [(spec, self.branches(spec, link)) for spec in self.schemes]
        return [
            f"{title(spec)} has two states here: {_state(two[0])} | {_state(two[1])}. "
            "A mean over all seeds describes neither."
            for spec, two in found
            if two
        ]

    def table(self, link: str | None = None) -> "pd.DataFrame":
        """Return mean and 95 % half-width ("mean", "ci95") of every metric of a link, one row a scheme."""
        import pandas as pd

        place = link or self.scenario.links[0]
        rows = {spec: self._row(spec, place) for spec in self.schemes}
        columns = pd.MultiIndex.from_product([[metric.name for metric in LINK_METRICS], ["mean", "ci95"]])
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns, dtype=float).rename_axis("aqm")

    def _row(self, spec: str, link: str) -> list[float | None]:
        summaries = [self.summary(spec, link, metric.name) for metric in LINK_METRICS]
        return [value for summary in summaries for value in _mean_and_width(summary)]

    def json(self) -> str:
        """Return the summaries, the runs and the failures as one JSON document."""
        return json.dumps(
            {
                "schema": 1,
                "scenario": self.scenario.name,
                "seeds": self.seeds,
                "aqms": list(self.schemes),
                "summary": [
                    self._entry(spec, link, metric)
                    for link in self.scenario.links
                    for spec in self.schemes
                    for metric in LINK_METRICS
                ],
                "runs": [json.loads(run.text) for run in self.runs.values()],
                "failures": [str(failure) for failure in self.failures],
            },
            indent=1,
        )

    def _entry(self, spec: str, link: str, metric: Metric) -> dict[str, Any]:
        summary = self.summary(spec, link, metric.name)
        return {
            "link": link,
            "aqm": spec,
            "metric": metric.name,
            "unit": metric.unit,
            "n": summary.n if summary else 0,
            "mean": summary.mean if summary else None,
            "interval": summary.interval if summary else None,
        }


def _state(state: State) -> str:
    return f"mean queue {state.mean:.0f} packets in {state.n} seed{'s' if state.n > 1 else ''}"


def _mean_and_width(summary: Summary | None) -> tuple[float | None, float | None]:
    return (summary.mean, summary.half_width) if summary else (None, None)
