"""Statistics over seeds: a mean with its interval, or two states instead of one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import ceil, log, sqrt
from statistics import stdev
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROUNDING = 1e-12
"""A share of the largest value: values that differ by less are equal."""

LEAST_SEEDS = 10
"""Below so many values nothing is said of two states."""

LEAST_IN_BRANCH = 3
"""The fewest values of a branch."""

FALSE_ALARMS = 0.005
"""Share of the samples of a uniform distribution in which two branches are found."""

MSER_LEAST = 5
"""The fewest batches that MSER keeps."""


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
        """The number of values in the group."""
        return len(self.members)


def summarise(values: Sequence[float]) -> Summary:
    """Return mean and 95 % Student-t interval of independent values, one a seed; at least one is needed."""
    n = len(values)
    mean = sum(values) / n
    if n == 1:
        return Summary(mean, None, 1)
    from scipy.special import stdtrit  # Student's t: scipy.stats takes half a second to load

    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    return Summary(mean, float(stdtrit(n - 1, 0.975)) * sqrt(variance / n), n)


def branches(values: Sequence[float]) -> tuple[Branch, Branch] | None:
    """Return the lower and the upper branch of a sample with two peaks; None if one peak explains it, or n < 10.

    Some runs settle in one of two states and the seed decides which (ARED at 500 flows: about 345 or about 635
    packets); their common mean describes neither. The test is the likelihood ratio of two normal distributions with one
    deviation, of which each value belongs to one, against a single normal distribution. It is compared with its 99.5th
    percentile over samples of a uniform distribution, which is larger than for normal samples: 0.5 % of uniform samples
    raise a false alarm, fewer normal ones, and at most 1 % of lognormal ones. Each branch has three values at least,
    and their means differ by a fifth of the common mean at least.
    """
    n = len(values)
    if n < LEAST_SEEDS or min(values) == max(values):
        return None
    import numpy as np

    order = np.argsort(values, kind="stable")
    ratio, cut = _likelihood_ratios(np.asarray(values, dtype=float)[order][None])
    if ratio[0] <= _uniform_ratio(n) or ratio[0] <= _critical_ratio(n):
        return None
    low, high = _branch(values, order[: cut[0]].tolist()), _branch(values, order[cut[0] :].tolist())
    return (low, high) if high.mean - low.mean >= abs(sum(values) / n) / 5 else None


def _likelihood_ratios(samples: "NDArray[np.float64]") -> "tuple[NDArray[np.float64], NDArray[np.intp]]":
    """Return twice the logarithm of each row's likelihood ratio, and the size of its lower branch; rows ascend."""
    import numpy as np

    n = samples.shape[1]
    centred = samples - samples.mean(axis=1, keepdims=True)
    sizes = np.arange(LEAST_IN_BRANCH, n - LEAST_IN_BRANCH + 1)
    sums = np.cumsum(centred, axis=1)[:, sizes - 1]
    total = (centred**2).sum(axis=1, keepdims=True)
    within = np.maximum(total - sums**2 * (n / (sizes * (n - sizes))), ROUNDING * total)
    best = within.argmin(axis=1)
    return n * np.log(total[:, 0] / within.min(axis=1)), sizes[best]


def _uniform_ratio(n: int) -> float:
    """Return the likelihood ratio of many uniform values: cut in the middle, their variance falls to a quarter.

    The critical ratio is above it, so that a sample below it, as most are, needs no other samples.
    """
    return n * log(4)


@cache
def _critical_ratio(n: int) -> float:
    """Return the 99.5th percentile of the likelihood ratio of `n` uniform values, by 20,000 samples."""
    import numpy as np

    samples = np.random.default_rng(n).random((20_000, n))
    samples.sort(axis=1)
    return float(np.quantile(_likelihood_ratios(samples)[0], 1 - FALSE_ALARMS))


def parts(values: Sequence[float]) -> tuple[Branch, Branch] | None:
    """Cut the values of a scheme that is known to have two states; None where the sample shows one of them only.

    This is a rule, not a test: the sorted values are cut at the widest gap, if that gap is at least three times as
    wide as either part, and at least a fifth of the mean. Fewer than three values are never cut, for two always have
    a gap. Of samples that have one peak it cuts many: use `branches` to find out.
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


@dataclass(frozen=True)
class Paired:
    """By how much one scheme exceeds another under the same seeds; `p` of the paired t-test, `effect` is Cohen's d_z.

    Both are None where all differences are equal except for rounding, or there is only one.
    """

    difference: Summary
    p: float | None
    effect: float | None


def paired(ours: Sequence[float], theirs: Sequence[float]) -> Paired:
    """Compare two samples value by value; the same position means the same seed."""
    differences = [our - their for our, their in zip(ours, theirs, strict=True)]
    summary = summarise(differences)
    deviation = stdev(differences) if len(differences) > 1 else 0.0
    if deviation <= ROUNDING * max(map(abs, (*ours, *theirs))):
        return Paired(summary, None, None)
    from scipy.special import stdtr

    effect = summary.mean / deviation
    return Paired(summary, 2 * float(stdtr(summary.n - 1, -abs(effect) * sqrt(summary.n))), effect)


@dataclass(frozen=True)
class Ranking:
    """Mean rank of each scheme over `blocks` scenarios, 1 the best; `p` of the Friedman test that all are alike.

    Schemes differ (Nemenyi test at 5 %) if their mean ranks differ by more than `critical` (Demšar 2006, section 3.2).
    """

    ranks: Mapping[str, float]
    blocks: int
    p: float
    critical: float


def rank(values: Mapping[str, Sequence[float]], *, higher_is_better: bool) -> Ranking | None:
    """Rank schemes by their values in the same scenarios; None for fewer than three schemes or two scenarios."""
    schemes, blocks = len(values), min(map(len, values.values()), default=0)
    if schemes < 3 or blocks < 2:
        return None
    from numpy import array
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    columns = array(list(values.values()), dtype=float)
    ranks = rankdata(-columns if higher_is_better else columns, axis=0).mean(axis=1)
    alike = bool((columns == columns[0]).all())
    p = 1.0 if alike else float(friedmanchisquare(*columns).pvalue)
    quantile = float(studentized_range.ppf(0.95, schemes, float("inf"))) / sqrt(2)
    critical = quantile * sqrt(schemes * (schemes + 1) / (6 * blocks))
    return Ranking(dict(zip(values, map(float, ranks), strict=True)), blocks, p, critical)


def mser(times: Sequence[float], values: Sequence[float], batch: int = 5) -> float | None:
    """Return the warm-up that the MSER rule suggests for a time series: when its first transient has passed, s.

    MSER leaves out the first d observations that make the mean of the others most certain: d minimises
    `sum((x - mean)^2) / (n - d)^2`, sum and mean over the n - d others (White 1997, Simulation 69(6), equation 2). As
    in MSER-5, the observations are means over `batch` values (White, Cobb and Spratt 2000). At least five of them are
    kept, because few values may agree by chance (Hoad, Robinson and Davies 2010). None if more than half would go: the
    run is too short to tell, or never settles.
    """
    import numpy as np

    n = len(values) // batch
    if n <= MSER_LEAST:
        return None
    means = np.asarray(values[: n * batch], dtype=float).reshape(n, batch).mean(axis=1)
    left = np.arange(n, 0, -1)
    tail = means[::-1] - means.mean()  # the sums below lose less to rounding about the mean
    sums, squares = np.cumsum(tail)[::-1], np.cumsum(tail * tail)[::-1]
    spread = np.maximum(squares - sums * sums / left, 0.0) / left**2
    d = int(np.argmin(spread[: n - MSER_LEAST + 1]))
    if 2 * d > n:
        return None
    return float(times[d * batch - 1]) if d else 0.0


def holm(p: Sequence[float]) -> list[float]:
    """Return the p-values of several tests, adjusted so that the chance of any false finding is kept (Holm 1979).

    SciPy does not have it, and statsmodels is a large package for ten lines.

    The smallest is multiplied by their number, the next by one less and so on; none falls below the one before, or
    exceeds 1.
    """
    adjusted, largest = [0.0] * len(p), 0.0
    for tested, i in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        largest = max(largest, min(1.0, (len(p) - tested) * p[i]))
        adjusted[i] = largest
    return adjusted


def more_seeds(values: Sequence[float], share: float, most: int) -> int:
    """Return how many seeds bring the 95 % half-width to `share` of the mean, as far as `values` tell; at most `most`.

    Their number if it is narrow enough. At least three are taken, and never more than twice as many at once, for
    the deviation is known badly at first.
    """
    n = len(values)
    if n < 3 or n >= most:
        return max(n, min(3, most))
    summary = summarise(values)
    width, wanted = summary.half_width or 0.0, share * abs(summary.mean)
    if width <= wanted:
        return n
    needed = ceil(n * (width / wanted) ** 2) if wanted else 2 * n
    return min(max(n + 1, min(needed, 2 * n)), most)
