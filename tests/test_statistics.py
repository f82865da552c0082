"""Means, intervals and branches against values worked out by hand."""

from collections.abc import Callable
from math import exp, log, sqrt
from random import Random
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqmlab.runs import statistics
from aqmlab.runs.metrics import LINK_METRICS
from aqmlab.runs.statistics import Branch, branches, holm, more_seeds, mser, paired, parts, rank, summarise

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray


def test_one_value_has_no_interval() -> None:
    summary = summarise([3.0])
    assert (summary.mean, summary.half_width, summary.interval, summary.n) == (3.0, None, None, 1)


def test_interval_by_hand() -> None:
    # mean 3, variance 2.5, standard error sqrt(0.5) = 0.70711, t(0.975, 4) = 2.77645
    summary = summarise([1, 2, 3, 4, 5])
    assert summary.mean == 3
    assert summary.half_width == pytest.approx(1.96324, abs=1e-5)
    assert summary.interval == pytest.approx((1.03676, 4.96324), abs=1e-5)
    assert summary.scaled(10).half_width == pytest.approx(19.6324, abs=1e-4)


def test_equal_values_have_an_interval_of_no_width() -> None:
    assert summarise([7.0, 7.0]).half_width == 0


def test_known_states_are_told_apart() -> None:
    two = parts([348.1, 631.9, 349.6, 351.2, 640.8])
    assert two is not None
    low, high = two
    assert (low.members, high.members) == ((0, 2, 3), (1, 4))
    assert low.mean == pytest.approx(349.6333, abs=1e-4)
    assert (high.mean, high.n) == (pytest.approx(636.35), 2)


def test_one_seed_may_be_a_branch() -> None:
    two = parts([345, 347, 635])
    assert two is not None
    assert [branch.n for branch in two] == [2, 1]


@pytest.mark.parametrize(
    "values",
    [
        [],
        [345],
        [345, 635],  # two values always have a gap
        [300, 300, 300],
        [345, 348, 351],  # the gap is no wider than the parts
        [318.9, 319.0, 321.8],  # a wide gap, but less than a fifth of the mean
        [100, 200, 300, 400],  # spread out, not split
    ],
)
def test_one_state(values: list[float]) -> None:
    assert parts(values) is None
    assert branches(values) is None


SAMPLES: dict[str, Callable[["Generator", int], "NDArray[np.float64]"]] = {
    "normal": lambda random, n: 100 + 30 * random.standard_normal(n),
    "uniform": lambda random, n: random.random(n),
    "lognormal": lambda random, n: np.exp(random.standard_normal(n)),
}


@pytest.mark.parametrize("n", [10, 20, 50])
@pytest.mark.parametrize("kind", SAMPLES)
def test_one_state_is_seldom_called_two(kind: str, n: int) -> None:
    random = np.random.default_rng(2026)
    alarms = sum(branches(list(SAMPLES[kind](random, n))) is not None for _ in range(1000))
    assert alarms <= 18  # the stated rate is 0.5 %, of lognormal samples 1 %


@pytest.mark.parametrize(
    ("n", "share", "separation", "least"),
    [(50, 0.1, 10, 0.7), (20, 0.2, 10, 0.75), (20, 0.5, 8, 0.95), (10, 0.5, 12, 0.6)],
)
def test_two_states_are_found(n: int, share: float, separation: float, least: float) -> None:
    random = np.random.default_rng(2026)

    def finds() -> bool:
        values = 10 + separation * (random.random(n) < share) + random.standard_normal(n)
        return branches(list(values)) is not None

    assert sum(finds() for _ in range(200)) / 200 >= least


def test_the_states_of_ared_are_found() -> None:
    # Li 2014, Table 1: of 40 seeds 34 are near 350 packets and five near 633, one is on its way.
    random = np.random.default_rng(2026)
    measured = [350.0 + 0.3 * i for i in range(-17, 17)] + [633.0 + i for i in range(-2, 3)] + [470.0]
    found = [branches([float(value) for value in random.choice(measured, 50)]) for _ in range(100)]
    assert sum(two is not None and two[1].mean > 550 for two in found) >= 90


def test_nothing_is_said_below_ten_seeds_nor_of_fewer_than_three_in_a_state() -> None:
    assert branches([345.0, 346, 347, 348, 630, 631, 632, 633, 634]) is None
    assert branches([345.0, 346, 347, 348, 349, 350, 351, 352, 632, 633]) is None
    two = branches([632.0, 345, 346, 347, 348, 633, 349, 350, 351, 634])
    assert two is not None
    assert (two[1].members, two[0].mean, two[1].mean) == ((0, 5, 9), 348.0, 633.0)


def test_states_that_hardly_differ_are_one() -> None:
    assert branches([100.0] * 10 + [105.0] * 10) is None  # beyond all doubt, but a twentieth


@pytest.mark.parametrize("n", [10, 11, 20, 50, 200])
def test_no_sample_below_the_ratio_of_uniform_values_has_branches(n: int) -> None:
    assert statistics._uniform_ratio(n) < statistics._critical_ratio(n)


@given(st.lists(st.floats(0, 1e6), min_size=3, max_size=30), st.sampled_from([parts, branches]))
def test_branches_divide_the_values(
    values: list[float], rule: Callable[[list[float]], "tuple[Branch, Branch] | None"]
) -> None:
    two = rule(values)
    if two:
        low, high = two
        assert sorted(low.members + high.members) == list(range(len(values)))
        assert max(values[i] for i in low.members) < min(values[i] for i in high.members)


def test_values_as_people_read_them() -> None:
    show = {metric.name: metric.show for metric in LINK_METRICS}
    assert show["drop_ratio"](0.1722) == "17.22"
    assert show["drop_ratio"](0.1722, 0.0011) == "17.22 ±\N{NO-BREAK SPACE}0.11"
    assert show["queue_delay_mean"](0.0841) == "84.1"
    assert show["settling_time"](None) == "–"


def test_a_paired_difference_is_that_of_the_differences() -> None:
    """Differences 1, 2, 3: mean 2, deviation 1, t = 2 sqrt(3); with 2 degrees of freedom p = 1 - t / sqrt(t² + 2)."""
    found = paired([11.0, 22.0, 33.0], [10.0, 20.0, 30.0])
    assert found.difference.mean == pytest.approx(2)
    assert found.difference.half_width == pytest.approx(4.3027 / sqrt(3), rel=1e-4)
    assert found.effect == pytest.approx(2)
    assert found.p == pytest.approx(1 - sqrt(12 / 14))


def test_equal_differences_have_no_test() -> None:
    found = paired([2.0, 3.0], [1.0, 2.0])
    assert (found.difference.mean, found.p, found.effect) == (1, None, None)
    assert paired([2.0], [1.0]).p is None


def test_ranks_that_never_change() -> None:
    """Friedman's statistic is 12 (4² + 8² + 12²) / (4 · 3 · 4) - 3 · 4 · 4 = 8, and p = exp(-8 / 2)."""
    found = rank({"a": [1, 2, 3, 4], "b": [2, 3, 4, 5], "c": [3, 4, 5, 6]}, higher_is_better=False)
    assert found is not None
    assert found.ranks == {"a": 1, "b": 2, "c": 3}
    assert found.blocks == 4
    assert found.p == pytest.approx(exp(-4))
    turned = rank({"a": [1, 2], "b": [2, 3], "c": [2, 4]}, higher_is_better=True)
    assert turned is not None
    assert turned.ranks == {"a": 3, "b": 1.75, "c": 1.25}


def test_critical_difference_of_demsar() -> None:
    """Demšar 2006, section 3.2.2: four classifiers on 14 data sets, 2.569 sqrt(4 · 5 / (6 · 14)) = 1.25."""
    found = rank({name: [float(i)] * 14 for i, name in enumerate("abcd")}, higher_is_better=True)
    assert found is not None
    assert found.critical == pytest.approx(2.569 * sqrt(20 / 84), rel=1e-3)


def test_too_few_to_rank() -> None:
    assert rank({"a": [1, 2], "b": [2, 1]}, higher_is_better=True) is None
    assert rank({"a": [1], "b": [2], "c": [3]}, higher_is_better=True) is None


@pytest.mark.parametrize(
    ("values", "share", "most", "wanted"),
    [
        ([10], 0.1, 100, 3),  # no interval yet
        ([10], 0.1, 2, 2),
        ([9, 10, 11], 0.25, 100, 3),  # half-width 2.484
        ([9, 10, 11], 0.2, 100, 5),  # 3 (2.484 / 2)² = 4.6
        ([9, 10, 11], 0.1, 100, 6),  # 18.5, but at most twice as many
        ([9, 10, 11], 0.1, 5, 5),
        ([-1, 0, 1], 0.1, 100, 6),  # no share of 0 is wide enough
        ([0, 0, 0], 0.1, 100, 3),
    ],
)
def test_more_seeds(values: list[float], share: float, most: int, wanted: int) -> None:
    assert more_seeds(values, share, most) == wanted


def test_holm_by_hand() -> None:
    # 4 x 0.01, 3 x 0.02, then 2 x 0.03 and 1 x 0.04, none below the one before
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


TRANSIENT = [4.0, 2, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]
"""With d left out: 14.917/144 = 0.1036, 4.545/121 = 0.0376, 2.5/100 = 0.0250, 2.222/81 = 0.0274, 2/64 = 0.0313, ..."""


def test_mser_by_hand() -> None:
    times = [0.5 * (i + 1) for i in range(60)]
    assert mser(times, TRANSIENT, batch=1) == 1.0
    assert mser(times, [value for value in TRANSIENT for _ in range(5)]) == 5.0  # two batches of five
    assert mser(times, [7.0] * 60) == 0.0


def test_mser_does_not_trust_the_end_of_a_run() -> None:
    times = [float(i) for i in range(200)]
    assert mser(times, times) is None  # a ramp never settles
    assert mser(times, [*TRANSIENT[:4], 5.0]) is None
    quiet = [10.0] * 10 + [0.0, 1.0] * 43 + [0.5] * 4  # the last four agree by chance
    assert mser(times, quiet, batch=1) == 9.0


@pytest.mark.parametrize(("a", "bias"), [(0.8, 50.0), (0.95, 50.0), (0.99, 100.0)])
def test_mser_finds_a_known_transient(a: float, bias: float) -> None:
    """AR(1), x' = a x + e, begun at `bias`, which falls as a^t to the lasting deviation 1/sqrt(1 - a^2)."""
    passed = log(bias * sqrt(1 - a * a)) / -log(a)
    random, n, found = Random(1), 4000, []
    for _ in range(15):
        x, values = bias, []
        for _ in range(n):
            values.append(x)
            x = a * x + random.gauss(0, 1)
        found.append(mser(list(range(n)), values) or 0.0)
    assert passed / 2 <= median(found) <= 3 * passed


def test_differences_that_are_equal_but_for_rounding_have_no_test() -> None:
    """0.3 - 0.1 is not 0.2: a t-test of what rounding leaves would be sure of nothing."""
    found = paired([0.3, 0.4, 0.5], [0.1, 0.2, 0.3])
    assert found.difference.mean == pytest.approx(0.2)
    assert (found.p, found.effect) == (None, None)
