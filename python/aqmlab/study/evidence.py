"""The evidence of a claim: what it compares, where and under which seed, and whether it holds there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from statistics import fmean
from typing import Protocol

from aqmlab.runs.metrics import at
from aqmlab.study.ledger import Claim
from aqmlab.study.paper import PaperTable
from aqmlab.study.readings import SeriesReading

Values = Mapping[str, float]
"""Of one place, by scheme."""

Found = Mapping[str, Values]
"""By place: a scenario, or a group of them, perhaps between two times."""

BySeed = Mapping[str, Mapping[str, Mapping[int, float]]]
"""By place, scheme and seed. A value that a run does not have, such as a settling time, is endless."""


class Judged(Protocol):
    """A paper or a suite, of which claims are judged: what it calls our schemes, and the numbers that it prints."""

    @property
    def differences(self) -> Mapping[str, Sequence[str]]:
        """Rows that are one scheme less the mean of others."""

    @property
    def tables(self) -> Sequence[PaperTable]:
        """The tables that it prints."""

    def spec(self, name: str, /) -> str:
        """Return the scheme that it calls so."""


class Source(Protocol):
    """The results of a place under a scheme, by seed."""

    def values(self, places: Iterable[str], spec: str, link: str, path: str, /) -> Mapping[int, Sequence[float | None]]:
        """Return what each place has, for the seeds that all have."""

    def read(self, place: str, spec: str, link: str, reading: SeriesReading, /) -> Mapping[int, float | None]:
        """Return what is read off a time series."""


@dataclass(frozen=True)
class Printed:
    """The numbers of a paper's tables, as if they were measured under seed 1: by scenario, scheme and measure."""

    numbers: Mapping[tuple[str, str, str], float]

    @classmethod
    def of(cls, paper: Judged) -> "Printed":
        """Return the numbers of the tables that one scenario gives."""
        return cls(
            {
                (table.scenarios[0], table.schemes[cell.scheme], at(metric.ours, table.link)): metric.uncount(
                    cell.value
                )
                for table in paper.tables
                for cell in table.published
                if len(table.scenarios) == 1 and cell.scheme in table.schemes
                if (metric := table.metrics[cell.metric]).ours
            }
        )

    def values(self, scenarios: Iterable[str], spec: str, link: str, path: str) -> dict[int, list[float | None]]:
        """Return what the tables print, nothing if a scenario has no such number."""
        keys = [(scenario, spec, at(path, link)) for scenario in scenarios]
        return {1: [self.numbers[key] for key in keys]} if all(key in self.numbers for key in keys) else {}

    def read(self, *_: object) -> dict[int, float | None]:
        """Return what is printed of a time series: nothing."""
        return {}


def gather(paper: Judged, claim: Claim, source: Source, names: Iterable[str]) -> BySeed:
    """Return what a source has in each place of the claim: in each scenario, or over each group."""
    over_groups = claim.average or claim.trend or claim.steady
    groups = claim.groups if over_groups else tuple((name,) for name in claim.scenarios)
    return {
        _place(group, reading): {name: _row(paper, claim, source, group, reading, name) for name in names}
        for group in groups
        for reading in claim.readings
    }


def means(claim: Claim, by_seed: BySeed) -> Found:
    """Return the means over the seeds, or their distance from the claim's target."""
    return {
        place: {name: _distance(claim, fmean(values.values()) if values else inf) for name, values in schemes.items()}
        for place, schemes in by_seed.items()
    }


def of_each_seed(claim: Claim, by_seed: BySeed) -> dict[int, Found]:
    """Return the same of each seed that every run has."""
    have = [set(values) for schemes in by_seed.values() for values in schemes.values()]
    return {
        seed: {
            place: {name: _distance(claim, values[seed]) for name, values in schemes.items()}
            for place, schemes in by_seed.items()
        }
        for seed in sorted(set.intersection(*have))
    }


def failing(claim: Claim, found: Found) -> Found:
    """Return the places where the claim fails, all of them if it fails from one to the other; none if it holds."""
    if not all(_goes(claim, [values[name] for values in found.values()]) for name in claim.schemes):
        return found
    places = {place: values for place, values in found.items() if not _holds(claim, values)}
    allowed = (len(found) - 1) // 2 if claim.most else 0
    return places if len(places) > allowed else {}


def holds_in_print(paper: Judged, claim: Claim) -> bool | None:
    """Say whether the claim holds of the paper's own numbers; None where not all that it compares are printed."""
    by_seed = gather(paper, claim, Printed.of(paper), [*claim.schemes, *claim.below, *claim.above])
    if not all(values for schemes in by_seed.values() for values in schemes.values()):
        return None
    return not failing(claim, means(claim, by_seed))


def _place(group: Sequence[str], reading: SeriesReading | None) -> str:
    where = group[0] if len(group) == 1 else f"{group[0]} to {group[-1].rpartition('/')[2]}"
    return where if reading is None or reading.end == inf else f"{where} at {reading.start:g} to {reading.end:g} s"


def _row(
    paper: Judged,
    claim: Claim,
    source: Source,
    group: Sequence[str],
    reading: SeriesReading | None,
    name: str,
) -> dict[int, float]:
    """Return by seed the mean over a group; of a row that is a difference, the first scheme less the others' mean."""

    def mean(part: str) -> dict[int, float]:
        spec = paper.spec(part)
        if reading is None:
            by_seed = source.values(group, spec, claim.link, claim.value)
            if claim.per:
                wholes = source.values(group, spec, claim.link, claim.per)
                by_seed = {seed: _shares(values, wholes[seed]) for seed, values in by_seed.items() if seed in wholes}
        else:
            [read] = [source.read(scenario, spec, claim.link, reading) for scenario in group]
            by_seed = {seed: [value] for seed, value in read.items()}
        return {seed: fmean(inf if value is None else value for value in values) for seed, values in by_seed.items()}

    first, *others = map(mean, paper.differences.get(name, [name]))
    return {
        seed: value - (fmean(other[seed] for other in others) if others else 0.0)
        for seed, value in first.items()
        if all(seed in other for other in others)
    }


def _shares(values: Sequence[float | None], wholes: Sequence[float | None]) -> list[float | None]:
    """Return each value over its whole, None where there is none."""
    return [None if value is None or not whole else value / whole for value, whole in zip(values, wholes, strict=True)]


def _distance(claim: Claim, value: float) -> float:
    return value if claim.target is None else abs(value - claim.target)


def _goes(claim: Claim, values: Sequence[float]) -> bool:
    """Say whether a scheme's values go from place to place as the claim says."""
    if claim.steady is not None and max(values) > claim.steady * min(values):
        return False
    if claim.trend is None:
        return True
    steps = pairwise(values if claim.trend == "rises" else values[::-1])
    return all(before * claim.factor + claim.margin < after for before, after in steps)


def _holds(claim: Claim, values: Values) -> bool:
    """Say whether the claim holds in a place."""
    of = [values[name] for name in claim.schemes]
    if claim.within and not all(claim.within[0] <= value <= claim.within[1] for value in of):
        return False
    if claim.alike is not None and max(of) > claim.alike * min(of):
        return False
    below = [values[name] for name in claim.below if name in values]
    above = [values[name] for name in claim.above if name in values]
    return all(
        sum(not value * claim.factor + claim.margin < other for other in below) < claim.rank
        and sum(not value > other * claim.factor + claim.margin for other in above) < claim.rank
        for value in of
    )
