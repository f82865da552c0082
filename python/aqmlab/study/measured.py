"""What the runs of a study measured: its scenarios under its schemes, by the names that the study gives them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, pstdev

from aqmlab._core import Scenario
from aqmlab.runs import metrics
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.executor import Progress
from aqmlab.runs.results import RunResult
from aqmlab.runs.simulate import compare_many
from aqmlab.runs.table import State, Table, Values
from aqmlab.scenario import load, original
from aqmlab.study.paper import TRANSIENT

OVER: Mapping[str, Callable[[Sequence[float]], float]] = {"mean": fmean, "std": pstdev, "min": min, "max": max}
"""What becomes of the values of several scenarios, by its name in a study; "std" is over these scenarios alone."""

Needed = Mapping[str, Sequence[str]]
"""Which schemes to run, in order, by scenario."""


@dataclass(frozen=True)
class Measured:
    """The comparisons of a study by the name of their scenario; two names of one scenario share a comparison."""

    comparisons: Mapping[str, Comparison]
    transients: Collection[tuple[str, str]] = ()
    """The scenarios and links whose transients are asked for; they are known of the runs with series, seed 1."""

    @cached_property
    def table(self) -> Table[str]:
        """What the runs measured, with the transients that are asked for."""
        runs: dict[tuple[str, str], dict[int, Values]] = {}
        for name, compared in self.comparisons.items():
            for (spec, seed), run in compared.runs.items():
                runs.setdefault((name, spec), {})[seed] = {
                    **run.values,
                    **{
                        f"links.{link}.{TRANSIENT}": transient(run, compared.scenario, link)
                        for scenario, link in self.transients
                        if scenario == name and run.series
                    },
                }
        return Table(runs, {name: compared.scenario.links[0] for name, compared in self.comparisons.items()})

    def states(self, scenario: str, spec: str, link: str) -> tuple[State, State] | None:
        """Return the two states the seeds fall into, or None."""
        return self.table.states(scenario, spec, link)

    def values(self, scenarios: Iterable[str], spec: str, link: str, path: str) -> dict[int, list[float | None]]:
        """Return by seed what each scenario measured, for the seeds whose runs all succeeded."""
        measure = metrics.at(path, link)
        found = [self.table.measured(scenario, spec, measure) for scenario in scenarios]
        seeds = sorted(set[int].intersection(*map(set, found)))
        return {seed: [values[seed] for values in found] for seed in seeds}

    def together(self, scenarios: Sequence[str], spec: str, link: str, path: str, over: str) -> dict[int, float]:
        """Return by seed one value for all scenarios, for the seeds that have one in every scenario."""
        found = {}
        for seed, values in self.values(scenarios, spec, link, path).items():
            present = [value for value in values if value is not None]
            if len(present) == len(values):
                found[seed] = float(OVER[over](present))
        return found


def measure(
    needed: Needed, transients: Collection[tuple[str, str]], seeds: int, jobs: int | None, progress: Progress | None
) -> Measured:
    """Run what is needed, a scenario that has two names once."""
    schemes: dict[str, dict[str, None]] = {}
    for name, specs in needed.items():
        schemes.setdefault(original(name), {}).update(dict.fromkeys(specs))
    grid = [(load(name), list(specs)) for name, specs in schemes.items()]
    compared = dict(zip(schemes, compare_many(grid, seeds, jobs=jobs, progress=progress), strict=True))
    return Measured({name: compared[original(name)] for name in needed}, transients)


def transient(run: RunResult, scenario: Scenario, link: str) -> float | None:
    """Return from when on the queue, averaged over the next 5 s, stays within 10 % of the buffer around the target.

    This is what one reads off a figure; `settling_time` averages over 1 s and so counts every later excursion. None
    if the queue has left that band in the end.
    """
    import numpy as np

    place = scenario.link(link)
    time, queue = run.series[link]["time"], run.series[link]["queue"]
    window = round(5 / scenario.sample)
    means = np.convolve(queue, np.ones(window) / window, "valid")
    outside = np.flatnonzero(np.abs(means - place.target) > place.buffer / 10)
    if len(outside) == 0:
        return 0.0
    return None if outside[-1] == len(means) - 1 else float(time[outside[-1] + 1])
