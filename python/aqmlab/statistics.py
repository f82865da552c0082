"""What several seeds say together: a mean with its interval, or that there are two answers instead of one."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt


@dataclass(frozen=True)
class Summary:
    """The mean of `n` values and the half-width of its 95 % interval, None for a single value."""

    mean: float
    half_width: float | None
    n: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends of the interval."""
        return None if self.half_width is None else (self.mean - self.half_width, self.mean + self.half_width)

    def scaled(self, factor: float) -> "Summary":
        """Return the summary of the values times `factor`."""
        return Summary(self.mean * factor, self.half_width and self.half_width * factor, self.n)


@dataclass(frozen=True)
class Branch:
    """One of two groups of values: the positions of its members and their mean."""

    members: tuple[int, ...]
    mean: float

    @property
    def n(self) -> int:
        """How many values belong to it."""
        return len(self.members)


def summarise(values: Sequence[float]) -> Summary:
    """Return mean and 95 % Student-t interval of independent values, one a seed; at least one is needed."""
    n = len(values)
    mean = sum(values) / n
    if n == 1:
        return Summary(mean, None, 1)
    from scipy.stats import t

    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    return Summary(mean, float(t.ppf(0.975, n - 1)) * sqrt(variance / n), n)


def branches(values: Sequence[float]) -> tuple[Branch, Branch] | None:
    """Return the lower and the upper branch of a two-peaked sample, or None if it has one peak.

    Some runs settle in one of two states and the seed decides which (ARED at 500 flows: about 345 or about
    635 packets); their common mean describes neither. The rule: cut the sorted values at the widest gap;
    there are two branches if that gap is at least three times as wide as either part, and at least a fifth
    of the mean. Fewer than three values are never cut, for two always have a gap.
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    if len(order) < 3:
        return None
    gaps = [values[above] - values[below] for below, above in pairwise(order)]
    cut = max(range(len(gaps)), key=gaps.__getitem__)
    low, high = order[: cut + 1], order[cut + 1 :]
    widest = max(values[part[-1]] - values[part[0]] for part in (low, high))
    mean = sum(values) / len(values)
    if gaps[cut] < 3 * widest or gaps[cut] < abs(mean) / 5 or gaps[cut] == 0:
        return None
    return _branch(values, low), _branch(values, high)


def _branch(values: Sequence[float], members: Sequence[int]) -> Branch:
    return Branch(tuple(sorted(members)), sum(values[i] for i in members) / len(members))
