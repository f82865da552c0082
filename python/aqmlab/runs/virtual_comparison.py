"""Schemes side by side under one real program: each scheme with each seed, in virtual time."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any

from aqmlab import own
from aqmlab._core import CommandError, Scenario, SchemeError
from aqmlab.catalogue import title
from aqmlab.kernel.machine import StuckError
from aqmlab.notebook import Result, Sheet
from aqmlab.runs.executor import Progress
from aqmlab.runs.live import LiveRun
from aqmlab.runs.own_measure import OwnMeasure
from aqmlab.runs.statistics import Paired, Summary, paired, summarise
from aqmlab.runs.virtual import run_virtual


@dataclass(frozen=True, repr=False)
class VirtualComparison(Result):
    """Every measure of each scheme and seed."""

    scenario: Scenario
    command: Sequence[str]
    schemes: tuple[str, ...]
    seeds: int
    measures: tuple[str, ...]
    """Names: the user's own first, then the measures of the links."""
    values: Mapping[tuple[str, str], Sequence[float | None]]
    """By scheme and measure, one value a seed; None where the program gave no number or the run failed."""
    failures: Sequence[str]

    def summary(self, scheme: str, measure: str) -> Summary | None:
        """Return mean and 95 % interval over the seeds that have a value; None if none has."""
        found = [value for value in self.values[scheme, measure] if value is not None]
        return summarise(found) if found else None

    def difference(self, scheme: str, measure: str) -> Paired | None:
        """Return the difference from the first scheme, paired by seed; None without a common seed."""
        pairs = zip(self.values[scheme, measure], self.values[self.schemes[0], measure], strict=True)
        both = [(ours, theirs) for ours, theirs in pairs if ours is not None and theirs is not None]
        return paired(*zip(*both, strict=True)) if both else None

    @property
    def headline(self) -> str:
        """The size of the comparison."""
        return f"{len(self.schemes)} schemes, {self.seeds} seeds: {' '.join(self.command)}"

    def sheets(self) -> Iterator[Sheet]:
        """Return the means, and the differences from the first scheme."""
        yield Sheet("Means with 95 % intervals", ["Scheme", *self.measures], list(map(self._means, self.schemes)))
        if len(self.schemes) > 1 and self.seeds > 1:
            first, *others = self.schemes
            rows = list(map(self._differences, others))
            yield Sheet(f"Differences from {title(first)}, paired by seed", ["Scheme", *self.measures], rows)

    def document(self) -> dict[str, Any]:
        """Return all values, means and differences as JSON has them."""
        return {
            "schema": 1,
            "scenario": self.scenario.name,
            "command": list(self.command),
            "seeds": self.seeds,
            "schemes": {scheme: {name: self._entry(scheme, name) for name in self.measures} for scheme in self.schemes},
            "failures": list(self.failures),
        }

    def _entry(self, scheme: str, measure: str) -> dict[str, Any]:
        summary, against = self.summary(scheme, measure), self.difference(scheme, measure)
        return {
            "values": list(self.values[scheme, measure]),
            "mean": summary and summary.mean,
            "half_width": summary and summary.half_width,
            "difference": against and against.difference.mean,
            "difference_half_width": against and against.difference.half_width,
        }

    def _means(self, scheme: str) -> list[str]:
        return [title(scheme), *(shown(self.summary(scheme, measure)) for measure in self.measures)]

    def _differences(self, scheme: str) -> list[str]:
        found = (self.difference(scheme, measure) for measure in self.measures)
        return [title(scheme), *(shown(each.difference if each else None, sign="+") for each in found)]


def shown(summary: Summary | None, sign: str = "") -> str:
    """Return a mean with its half-width as people read it."""
    if summary is None:
        return "–"
    width = f" ± {summary.half_width:.3g}" if summary.half_width is not None else ""
    return f"{summary.mean:{sign}.4g}{width}"


def compare_virtual(
    scenario: Scenario,
    command: Sequence[str],
    aqms: Sequence[str],
    seeds: int,
    measures: Sequence[OwnMeasure] = (),
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> VirtualComparison:
    """Run a command under each scheme with seeds 1 to `seeds`, in virtual time, and return every measure.

    `options` are options of `run_virtual`. The output of programs is read by the measures only. A run that fails is
    among the failures, and its values are None. InputError for wrong input.
    """
    schemes = own.select(aqms)
    cells = [(scheme, seed) for scheme in schemes for seed in range(1, seeds + 1)]
    done: dict[tuple[str, int], Mapping[str, float | None]] = {}
    failures: list[str] = []
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        one = partial(_measured, scenario, command, measures, options)
        waiting = {pool.submit(one, scheme, seed): (scheme, seed) for scheme, seed in cells}
        for count, future in enumerate(as_completed(waiting), 1):
            try:
                done[waiting[future]] = future.result()
            except (CommandError, SchemeError, StuckError) as error:
                scheme, seed = waiting[future]
                failures.append(f"{scheme}, seed {seed}: {error.args[0]}")
            if progress:
                progress(count, len(cells))
    names = tuple(dict.fromkeys(name for cell in cells for name in done.get(cell, {})))
    values = {
        (scheme, name): [done.get((scheme, seed), {}).get(name) for seed in range(1, seeds + 1)]
        for scheme in schemes
        for name in names
    }
    return VirtualComparison(scenario, command, schemes, seeds, names, values, sorted(failures))


def _measured(
    scenario: Scenario,
    command: Sequence[str],
    measures: Sequence[OwnMeasure],
    options: Mapping[str, Any],
    scheme: str,
    seed: int,
) -> dict[str, float | None]:
    """Return the measures of one run: the user's own, or the time it took, and the measures of the links."""
    out, err = BytesIO(), BytesIO()
    run = run_virtual(scenario, command, scheme, seed, output=(out, err), **options)
    printed = out.getvalue().decode(errors="replace")
    live = run.document["live"]
    seconds = live["duration"] - live["start"]
    mine = measures or [OwnMeasure("Time (s)", "time")]
    return {each.name: each.read(printed, run.code, seconds) for each in mine} | _of_links(run)


LINKS: dict[str, Callable[[Mapping[str, Any]], float | None]] = {
    "Delay p99 (ms)": lambda link: link["queue_delay_p99"] and 1e3 * link["queue_delay_p99"],
    "Drops (%)": lambda link: link["drop_ratio"] and 100 * link["drop_ratio"],
}


def _of_links(run: LiveRun) -> dict[str, float | None]:
    links = run.document["links"].items()
    return {f"{name}: {head}": read(link) for name, link in links for head, read in LINKS.items()}
