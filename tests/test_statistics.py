"""Means, intervals and branches against values worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqmlab.metrics import LINK_METRICS
from aqmlab.statistics import branches, summarise


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


def test_two_states_are_told_apart() -> None:
    two = branches([348.1, 631.9, 349.6, 351.2, 640.8])
    assert two is not None
    low, high = two
    assert (low.members, high.members) == ((0, 2, 3), (1, 4))
    assert low.mean == pytest.approx(349.6333, abs=1e-4)
    assert (high.mean, high.n) == (pytest.approx(636.35), 2)


def test_one_seed_may_be_a_branch() -> None:
    two = branches([345, 347, 635])
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
    assert branches(values) is None


@given(st.lists(st.floats(0, 1e6), min_size=3, max_size=30))
def test_branches_divide_the_values(values: list[float]) -> None:
    two = branches(values)
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
