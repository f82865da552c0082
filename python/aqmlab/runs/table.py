"""The one table of runs: a row for each scenario, scheme, parameters, seed, place and measure, with value and unit.

Comparisons, sweeps, reproductions and suites are views of it. In memory it is what each run measured, by case, scheme
and seed; `Table.rows` and `Table.frame` give it in its long form.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from aqmlab import catalogue
from aqmlab.extras import required
from aqmlab.runs import metrics
from aqmlab.runs.statistics import Branch, Paired, Ranking, Summary, branches, paired, rank, summarise

if TYPE_CHECKING:
    import pandas as pd

Pairs = tuple[tuple[str, str], ...]
"""Names with their values as text, such as ("w", "85 Hz")."""


@dataclass(frozen=True)
class Case:
    """A scenario with the values that were set, in which schemes are compared, and its first link."""

    scenario: str
    link: str
    overrides: Pairs
    name: str = field(compare=False)
    """Its name for people."""

    def __str__(self) -> str:
        return self.name


C = TypeVar("C", bound=Hashable)
"""A case: a `Case`, or the name of a scenario of which nothing was set. Its text is its name."""

Values = Mapping[str, float | None]
"""The measurements of one run, by the full names of the measures; None if there is no value."""

ToldApart = Callable[[Sequence[float]], tuple[Branch, Branch] | None]
"""How two states are distinguished: by the test `branches`, or by the rule `parts` where there are known to be two."""


class Row(NamedTuple):
    """One value; `place` is "links.bottleneck", "flows.ftp" or "total", `unit` SI or packets."""

    scenario: str
    scheme: str
    parameters: str
    seed: int
    place: str
    measure: str
    value: float | None
    unit: str


class State(NamedTuple):
    """One of two states that the seeds of a scheme fall into, and its mean queue in packets."""

    seeds: tuple[int, ...]
    mean: float

    @property
    def n(self) -> int:
        """The number of seeds in it."""
        return len(self.seeds)


@dataclass(frozen=True)
class Table(Generic[C]):
    """Runs by case and scheme, then by seed in their order; `links` are the cases' first links.

    A measure that begins with "link." belongs to the first link.
    """

    runs: Mapping[tuple[C, str], Mapping[int, Values]]
    links: Mapping[C, str]

    def __repr__(self) -> str:
        schemes = {scheme for _, scheme in self.runs}
        return f"<Table: {sum(map(len, self.runs.values()))} runs, {len(schemes)} schemes>"

    def measured(self, case: C, scheme: str, measure: str) -> dict[int, float | None]:
        """Return a measure by seed, of the runs that know it; None where it never came about."""
        name = metrics.at(measure, self.links[case]) if measure.startswith(metrics.FIRST_LINK) else measure
        runs = self.runs.get((case, scheme), {})
        if f".{metrics.DROPS}" in name:  # a reason that never came up is not listed
            return {seed: values.get(name) or 0.0 for seed, values in runs.items()}
        return {seed: values[name] for seed, values in runs.items() if name in values}

    def values(self, case: C, scheme: str, measure: str) -> dict[int, float]:
        """Return a measure by seed, of the runs that have a value."""
        found = self.measured(case, scheme, measure)
        return {seed: float(value) for seed, value in found.items() if value is not None}

    def summary(self, case: C, scheme: str, measure: str, state: State | None = None) -> Summary | None:
        """Return mean and 95 % interval over the seeds (of a state), None if no seed has a value."""
        found = self.values(case, scheme, measure)
        chosen = [value for seed, value in found.items() if state is None or seed in state.seeds]
        return summarise(chosen) if chosen else None

    def states(
        self, case: C, scheme: str, link: str | None = None, told_apart: ToldApart = branches
    ) -> tuple[State, State] | None:
        """Return the two states the seeds fall into, judged by the mean queue (of the first link), or None."""
        found = self.values(case, scheme, f"links.{link or self.links[case]}.queue_mean")
        two, seeds = told_apart(list(found.values())), list(found)
        if two is None:
            return None
        low, high = (State(tuple(seeds[i] for i in branch.members), branch.mean) for branch in two)
        return low, high

    def difference(self, case: C, scheme: str, other: str, measure: str) -> Paired | None:
        """Return by how much a scheme exceeds another under the seeds they share; None if they share none."""
        ours, theirs = self.values(case, scheme, measure), self.values(case, other, measure)
        seeds = [seed for seed in ours if seed in theirs]
        return paired([ours[seed] for seed in seeds], [theirs[seed] for seed in seeds]) if seeds else None

    def ranking(self, schemes: Sequence[str], measures: Mapping[C, str], *, more_is_better: bool) -> Ranking | None:
        """Rank schemes over the cases in which each has a value, by a measure of each case; None if too few have."""
        blocks = [[self.summary(case, scheme, name) for scheme in schemes] for case, name in measures.items()]
        whole = [[summary.mean for summary in block if summary] for block in blocks if all(block)]
        means = {scheme: [block[i] for block in whole] for i, scheme in enumerate(schemes)}
        return rank(means, higher_is_better=more_is_better)

    def rows(self) -> Iterator[Row]:
        """Yield the table in its long form."""
        for (case, scheme), runs in self.runs.items():
            name, parameters = catalogue.halves(scheme)
            for seed, values in runs.items():
                for measure, value in values.items():
                    if measure.startswith(metrics.PLACES) and (value is None or isinstance(value, int | float)):
                        place, metric = metrics.split(measure)
                        yield Row(str(case), name, parameters, seed, place, metric, value, metrics.find(measure).unit)

    def frame(self) -> "pd.DataFrame":
        """Return the table in its long form as a data frame."""
        with required():
            import pandas as pd

        return pd.DataFrame.from_records(list(self.rows()), columns=list(Row._fields))


def told_states(about: str, states: Iterable[State]) -> str:
    """Say which two states a scheme has; a mean over all seeds describes neither."""
    low, high = states
    return (
        f"{about} has two states: mean queue {low.mean:.0f} packets in {low.n} of {low.n + high.n} "
        f"seeds, {high.mean:.0f} in the others. A mean over all seeds describes neither."
    )
