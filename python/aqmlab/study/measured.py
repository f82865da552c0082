"""The runs of a study: its scenarios under its schemes, by the names that the study gives them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, pstdev

from aqmlab import scenario
from aqmlab._core import Scenario
from aqmlab.runs import metrics
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.executor import Progress
from aqmlab.runs.simulate import compare_many
from aqmlab.runs.table import Table
from aqmlab.scenario import load
from aqmlab.study.readings import SeriesReading

OVER: Mapping[str, Callable[[Sequence[float]], float]] = {"mean": fmean, "std": pstdev, "min": min, "max": max}
"""Functions that combine the values of several scenarios, by name; `"std"` is over these scenarios alone."""

Needed = Mapping[str, Sequence[str]]
"""Which schemes to run, in order, by scenario."""

WITH, AND = " with ", "; "
"""Between a scenario and its settings in the name of a place: `jafar/case-1-100 with flows.ftp.ecn=true`."""


def scenario_of(place: str) -> Scenario:
    """Return the scenario of a place of a study: a built-in one, perhaps with settings."""
    name, _, settings = place.partition(WITH)
    return load(name, dict(setting.split("=", 1) for setting in settings.split(AND)) if settings else None)


def place_of(of: Scenario) -> str:
    """Return the place of a scenario: its name and its settings."""
    return of.name + (WITH + AND.join(f"{path}={value}" for path, value in of.overrides) if of.overrides else "")


def original(place: str) -> str:
    """Return the place under the original name of its scenario."""
    name, *settings = place.partition(WITH)
    return "".join([scenario.original(name), *settings])


@dataclass(frozen=True)
class StudyRuns:
    """The comparisons of a study by the name of their scenario; two names of one scenario share a comparison."""

    comparisons: Mapping[str, Comparison]

    @cached_property
    def table(self) -> Table[str]:
        """The table of the runs."""
        runs = {
            (name, spec): {seed: run.values for (ran, seed), run in compared.runs.items() if ran == spec}
            for name, compared in self.comparisons.items()
            for spec in compared.schemes
        }
        return Table(runs, {name: compared.scenario.links[0] for name, compared in self.comparisons.items()})

    def read(self, scenario: str, spec: str, link: str, reading: SeriesReading) -> dict[int, float | None]:
        """Return by seed the value that is read from the time series, for the seeds that have one."""
        compared = self.comparisons[scenario]
        series = {seed: run for (ran, seed), run in compared.runs.items() if ran == spec and run.series}
        return {seed: reading.of(run, compared.scenario, link) for seed, run in series.items()}

    def values(self, scenarios: Iterable[str], spec: str, link: str, path: str) -> dict[int, list[float | None]]:
        """Return by seed the value in each scenario, for the seeds whose runs all succeeded."""
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
    needed: Needed,
    read: Collection[str],
    seeds: int,
    jobs: int | None,
    progress: Progress | None,
    find: Callable[[str], Scenario] = scenario_of,
) -> StudyRuns:
    """Run the needed schemes and scenarios; scenarios in `read` record the series of every seed.

    A scenario with two names runs once.

    `find` returns the scenario of a place, by default as `scenario_of`.
    """
    schemes: dict[str, dict[str, None]] = {}
    for name, specs in needed.items():
        schemes.setdefault(original(name), {}).update(dict.fromkeys(specs))
    scenarios = {name: find(name) for name in schemes}
    grid = [(scenarios[name], list(specs)) for name, specs in schemes.items()]
    every_series = {scenarios[original(name)].name for name in read}
    found = compare_many(grid, seeds, every_series=every_series, jobs=jobs, progress=progress)
    compared = dict(zip(schemes, found, strict=True))
    return StudyRuns({name: compared[original(name)] for name in needed})
