"""Schemes side by side under one real program: each scheme with each seed, in virtual time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aqmlab import own
from aqmlab._core import Scenario
from aqmlab.catalogue import title
from aqmlab.notebook import Result, Sheet
from aqmlab.runs.executor import Outcome, Progress, run_many
from aqmlab.runs.metrics import PROGRAM, find
from aqmlab.runs.own_measure import TIME, OwnMeasure
from aqmlab.runs.program import Program
from aqmlab.runs.results import RunResult
from aqmlab.runs.statistics import Paired, Summary, paired, summarise
from aqmlab.runs.task import LINUX, Failure, Task


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
    schemes, own_or_time = own.select(aqms), tuple(measures) or (OwnMeasure("Time (s)", TIME),)
    program = Program(tuple(command), own_or_time, options)
    program.check(schemes)
    tasks = [
        Task(scenario, scheme, seed, engine=LINUX, program=program)
        for scheme in schemes
        for seed in range(1, seeds + 1)
    ]
    outcomes = run_many(tasks, jobs, progress)
    read = {each.name: f"{PROGRAM}{each.name}" for each in program.measures}
    read |= {f"{link}: {head}": f"links.{link}.{name}" for link in scenario.links for head, name in OF_LINKS.items()}
    values = {
        (scheme, head): [_value(outcome, name) for outcome in outcomes[i * seeds : (i + 1) * seeds]]
        for i, scheme in enumerate(schemes)
        for head, name in read.items()
    }
    failures = [
        f"{each.task.aqm}, seed {each.task.seed}: {each.reason}" for each in outcomes if isinstance(each, Failure)
    ]
    return VirtualComparison(scenario, command, schemes, seeds, tuple(read), values, failures)


OF_LINKS = {"Delay p99 (ms)": "queue_delay_p99", "Drops (%)": "drop_ratio"}
"""The measures of links that it shows."""


def _value(outcome: Outcome, measure: str) -> float | None:
    """Return a measure of a run as the head of its column says; None without a value."""
    value = outcome.values.get(measure) if isinstance(outcome, RunResult) else None
    return value if value is None or measure.startswith(PROGRAM) else find(measure).shown.scale * value
