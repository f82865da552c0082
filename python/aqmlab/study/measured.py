"""What the runs of a study measured: values by scenario, scheme and seed, and what several scenarios say together."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any

from aqmlab import catalogue
from aqmlab._core import Scenario
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.results import RunResult

OVER: Mapping[str, Callable[[Sequence[float]], float]] = {"mean": fmean, "std": pstdev, "min": min, "max": max}
"""What becomes of the values of several scenarios, by its name in a study; "std" is over these scenarios alone."""

TRANSIENT = "transient"
"""The path of the transient's length, which is taken from the time series and so known for seed 1 alone."""

WHOLE = {"links", "flows", "total"}
"""Paths that begin so start at the whole result, all others at a link."""


@dataclass(frozen=True)
class Measured:
    """The comparisons of a study by the name of their scenario; two names of one world share a comparison."""

    comparisons: Mapping[str, Comparison]

    def values(self, scenarios: Iterable[str], spec: str, link: str, path: str) -> dict[int, list[float | None]]:
        """Return by seed what each scenario measured, for the seeds of which every run succeeded."""
        found = [self._of(self.comparisons[scenario], spec, link, path) for scenario in scenarios]
        seeds = sorted(set[int].intersection(*map(set, found)))
        return {seed: [values[seed] for values in found] for seed in seeds}

    def _of(self, comparison: Comparison, spec: str, link: str, path: str) -> dict[int, float | None]:
        runs = {seed: run for (name, seed), run in comparison.runs.items() if name == spec}
        if path == TRANSIENT:
            return {seed: transient(run, comparison.scenario, link) for seed, run in runs.items() if run.series}
        return {seed: value(run, link, path) for seed, run in runs.items()}

    def together(self, scenarios: Sequence[str], spec: str, link: str, path: str, over: str) -> dict[int, float]:
        """Return by seed one value for all scenarios, for the seeds in which every scenario has one."""
        found = {}
        for seed, values in self.values(scenarios, spec, link, path).items():
            present = [value for value in values if value is not None]
            if len(present) == len(values):
                found[seed] = float(OVER[over](present))
        return found


def value(run: RunResult, link: str, path: str) -> float | None:
    """Return a measured value: of the link ("queue_mean"), or of the run ("total.jain", "flows.ftp.goodput")."""
    if path.startswith("drops."):
        return float(
            run.links[link].drops.get(path.removeprefix("drops."), 0)
        )  # a reason that never came up is not listed
    parts = path.split(".")
    found: Any = run if parts[0] in WHOLE else run.links[link]
    for part in parts:
        found = found[part] if isinstance(found, Mapping) else getattr(found, part)
    return None if found is None else float(found)


def transient(run: RunResult, scenario: Scenario, link: str) -> float | None:
    """Return from when on the queue, averaged over the next 5 s, stays within 10 % of the buffer around the target.

    This is what one reads off a figure; `settling_time` averages over 1 s and so counts every later excursion. None
    if the queue has left that band in the end.
    """
    import numpy as np

    place = next(entry for entry in json.loads(scenario.resolved_json())["links"] if entry["name"] == link)
    buffer, target = (float(place[name].removesuffix(" packets")) for name in ("buffer", "target"))
    time, queue = run.series[link]["time"], run.series[link]["queue"]
    window = round(5 / scenario.sample)
    means = np.convolve(queue, np.ones(window) / window, "valid")
    outside = np.flatnonzero(np.abs(means - target) > buffer / 10)
    if len(outside) == 0:
        return 0.0
    return None if outside[-1] == len(means) - 1 else float(time[outside[-1] + 1])


def built(spec: str) -> bool:
    """Say whether the scheme of `spec` ("pi:w=160Hz") is in the catalogue."""
    return spec.partition(":")[0] in {scheme.name for scheme in catalogue.schemes()}
