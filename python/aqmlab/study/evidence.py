"""The evidence for a claim: the compared values by place and seed, and whether the claim holds there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isnan, nan
from statistics import fmean, median
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
"""By place, scheme and seed. A missing value, such as a settling time, is infinite; a share of 0 is nan."""


TIMES = ("settling_time", "transient", "stabilisation")
"""Values that are infinite if a queue does not settle: over the seeds the median counts, not the mean."""


class Judged(Protocol):
    """A paper or a suite whose claims are judged: its names of schemes, and its printed numbers."""

    @property
    def differences(self) -> Mapping[str, Sequence[str]]:
        """Rows that subtract the mean of several schemes from one scheme."""

    @property
    def tables(self) -> Sequence[PaperTable]:
        """The tables that it prints."""

    def spec(self, name: str, /) -> str:
        """Return the scheme of this name."""


class Source(Protocol):
    """The results of a place under a scheme, by seed."""

    def values(self, places: Iterable[str], spec: str, link: str, path: str, /) -> Mapping[int, Sequence[float | None]]:
        """Return the value in each place, for the seeds that all places have."""

    def read(self, place: str, spec: str, link: str, reading: SeriesReading, /) -> Mapping[int, float | None]:
        """Return the values that are read from the time series."""


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
        """Return the printed values; empty if a scenario has no such number."""
        keys = [(scenario, spec, at(path, link)) for scenario in scenarios]
        return {1: [self.numbers[key] for key in keys]} if all(key in self.numbers for key in keys) else {}

    def read(self, *_: object) -> dict[int, float | None]:
        """Return an empty mapping, because tables print no time series."""
        return {}


def gather(paper: Judged, claim: Claim, source: Source, names: Iterable[str]) -> BySeed:
    """Return the values of a source in each place of the claim: in each scenario, or over each group."""
    over_groups = claim.average or claim.trend or claim.steady
    groups = claim.groups if over_groups else tuple((name,) for name in claim.scenarios)
    return {
        _place(group, reading): {name: _row(paper, claim, source, group, reading, name) for name in names}
        for group in groups
        for reading in claim.readings
    }


def centres(claim: Claim, by_seed: BySeed) -> Found:
    """Return the means over the seeds (medians for TIMES or with `median`), or their distance from the target."""
    centre = median if claim.median or claim.value in TIMES else fmean
    return {
        place: {name: _distance(claim, centre(values.values()) if values else inf) for name, values in schemes.items()}
        for place, schemes in by_seed.items()
    }


def of_each_seed(claim: Claim, by_seed: BySeed) -> dict[int, Found]:
    """Return the same for each seed that all runs have."""
    have = [set(values) for schemes in by_seed.values() for values in schemes.values()]
    return {
        seed: {
            place: {name: _distance(claim, values[seed]) for name, values in schemes.items()}
            for place, schemes in by_seed.items()
        }
        for seed in sorted(set.intersection(*have))
    }


def decide(claim: Claim, found: Found) -> tuple[bool | None, Found]:
    """Return whether the claim holds, and the places where it does not; all of them if it fails from place to place.

    The verdict is None if no place contradicts the claim, but the check needs a ratio to 0, a value below 0, or the
    order of two queues that never settle.
    """
    goes = _every(_goes(claim, [values[name] for values in found.values()]) for name in claim.schemes)
    if goes is False:
        return False, found
    holds = {place: _holds(claim, values) for place, values in found.items()}
    allowed = (len(found) - 1) // 2 if claim.most else 0
    against = {place: found[place] for place, held in holds.items() if held is False}
    if len(against) > allowed:
        return False, against
    if goes is None:
        return None, found
    open_ = {place: found[place] for place, held in holds.items() if held is not True}
    return (None, open_) if len(open_) > allowed else (True, {})


def holds_in_print(paper: Judged, claim: Claim) -> bool | None:
    """Say whether the claim holds for the paper's own numbers; None if the paper does not print all of them."""
    by_seed = gather(paper, claim, Printed.of(paper), [*claim.schemes, *claim.below, *claim.above])
    if not all(values for schemes in by_seed.values() for values in schemes.values()):
        return None
    return decide(claim, centres(claim, by_seed))[0]


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
    """Return by seed the mean over a group; for a difference, the first scheme minus the mean of the others."""

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
    """Return each value divided by its whole; None if either is missing, nan if the whole is 0."""
    return [
        None if value is None or whole is None else value / whole if whole else nan
        for value, whole in zip(values, wholes, strict=True)
    ]


def _distance(claim: Claim, value: float) -> float:
    return value if claim.target is None else abs(value - claim.target)


def _goes(claim: Claim, values: Sequence[float]) -> bool | None:
    """Say whether a scheme's values change from place to place as the claim says."""
    if any(map(isnan, values)):
        return None
    steady = claim.steady is None or _within_factor(claim.steady, values)
    if claim.trend is None:
        return steady
    steps = pairwise(values if claim.trend == "rises" else values[::-1])
    return _every([steady, *(_less(claim, before, after) for before, after in steps)])


def _holds(claim: Claim, values: Values) -> bool | None:
    """Say whether the claim holds in a place."""
    if any(map(isnan, values.values())):
        return None
    of = [values[name] for name in claim.schemes]
    below = [values[name] for name in claim.below if name in values]
    above = [values[name] for name in claim.above if name in values]
    return _every(
        [
            not claim.within or all(claim.within[0] <= value <= claim.within[1] for value in of),
            claim.alike is None or _within_factor(claim.alike, of),
            *(_all_but(claim.rank - 1, [_less(claim, value, other) for other in below]) for value in of),
            *(_all_but(claim.rank - 1, [_less(claim, other, value) for other in above]) for value in of),
            *(_within_factor(claim.up_to, (value, other)) for value in of for other in (*below, *above) if claim.up_to),
        ]
    )


def _less(claim: Claim, less: float, more: float) -> bool | None:
    """Say whether one value is below another by the claim's factor and margin.

    None (undecided) for a value below 0, a multiple of 0, and the order of two queues that never settle.
    """
    if more == 0 or (less == 0 and claim.factor != 1) or less == more == inf:
        return None
    return less * claim.factor + claim.margin < more


def _within_factor(factor: float, values: Sequence[float]) -> bool | None:
    return None if min(values) in (0, inf) else max(values) <= factor * min(values)


def _every(parts: Iterable[bool | None]) -> bool | None:
    return _all_but(0, list(parts))


def _all_but(allowed: int, parts: Sequence[bool | None]) -> bool | None:
    """Say whether at most `allowed` parts fail; None if it depends on undecided parts."""
    if parts.count(False) > allowed:
        return False
    return True if len(parts) - parts.count(True) <= allowed else None
