"""The stability range of NPD-RED's gains, against the coefficients that Xiong et al. print and against the roots."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from aqmlab.analysis.stability import coefficients, kd_lower, kp_range, kp_upper

PAPER = {"n": 50, "r": 0.1, "c": 45e6, "b": 400e3}
"""50 flows, 100 ms, 45 Mbit/s and 100 packets of 500 B, in bits."""


def test_coefficients_are_the_printed_ones() -> None:
    """Section 4.1: (0.02 - 51637.5 K_d) (0.002 + 5568.75 K_d), 253.125 K_d, 4.4e-6 + 1.0e5 K_d."""
    free, slope = (coefficients(Polynomial([0, 1]), kd, **PAPER) for kd in (0.0, 1.0))
    by_kd = [one(0) - none(0) for none, one in zip(free, slope, strict=True)]
    assert free[3](0) == pytest.approx(0.002)  # R / N
    assert by_kd[3] == pytest.approx(5568.75)  # C^2 R^2 (1 + R) / (4 N^2 B)
    assert by_kd[4] == pytest.approx(-253.125)  # -R^3 C^2 / (8 N^2 B)
    assert free[1](0) == pytest.approx(4.444e-6, rel=1e-3)  # 2 / (R^2 C)
    assert by_kd[1] == pytest.approx(101250)  # R C^2 / (2 N^2 B)


def test_lower_bound_of_kd_is_the_printed_one() -> None:
    assert kd_lower(**PAPER) == pytest.approx(-3.59e-7, rel=1e-3)  # -0.002 / 5568.75


def test_upper_bound_of_kp_has_the_printed_digits_and_a_tenth_of_the_printed_size() -> None:
    assert kp_upper(**PAPER, kd=-3.59e-11) == pytest.approx(3.998e-11, rel=1e-3)


def test_no_kp_is_stable_at_the_printed_bound_of_kd() -> None:
    """a1 = 2 / (R^2 C) + 101250 K_d is negative below K_d = -4.39e-11, so eq. (19) fails for every K_p."""
    assert np.isnan(kp_upper(**PAPER, kd=-3.59e-7))
    assert np.isnan(kp_upper(**PAPER, kd=-4.4e-11))
    assert not np.isnan(kp_upper(**PAPER, kd=-4.3e-11))


@pytest.mark.parametrize("kd", [-4e-11, -3.59e-11, -1e-12])
def test_the_bound_is_where_a_root_crosses_the_axis(kd: float) -> None:
    bound = kp_upper(**PAPER, kd=kd)
    for factor, stable in ((0.99, True), (1.01, False)):
        values = [a(factor * bound) for a in coefficients(Polynomial([0, 1]), kd, **PAPER)]
        assert bool(np.all(np.real(np.roots(values[::-1])) < 0)) is stable


def is_stable(n: float, r: float, c: float, b: float, kp: float, kd: float) -> bool:
    """All roots of the polynomial lie in the left half-plane."""
    values = [a(kp) for a in coefficients(Polynomial([0, 1]), kd, n, r, c, b)]
    return bool(np.all(np.real(np.roots(values[::-1])) < 0))


def test_ranges_equal_a_root_search_on_1000_random_points() -> None:
    """K_p at either side of its range, for K_d at either side of its own; K_p within 0.1 % of an end is left out."""
    rng = np.random.default_rng(1)
    seen = {True: 0, False: 0}
    for _ in range(1000):
        link = {"n": rng.uniform(1, 2000), "r": 10 ** rng.uniform(-2, 0)}
        link |= {"c": 10 ** rng.uniform(2, 5), "b": 10 ** rng.uniform(1, 4)}
        least = kd_lower(**link)
        kd = least * (rng.uniform(-0.1, 1.1) if rng.random() < 0.3 else 10 ** rng.uniform(-5, 0))
        ends = kp_range(**link, kd=kd)
        kp = rng.uniform(-0.1, 2) * (abs(least) if ends is None else ends[1])
        if ends and min(abs(kp - end) for end in ends) < 1e-3 * ends[1]:
            continue
        inside = ends is not None and ends[0] < kp < ends[1]
        assert is_stable(**link, kp=kp, kd=kd) == inside, (link, kp, kd)
        seen[inside] += 1
    assert min(seen.values()) > 200


def test_close_to_the_bound_of_kd_the_range_of_kp_begins_above_0() -> None:
    """Against eq. (33): the root search agrees."""
    link = {"n": 1809.85, "r": 0.95363, "c": 2039.46, "b": 350.138}
    kd = 0.98 * kd_lower(**link)
    ends = kp_range(**link, kd=kd)
    assert ends is not None
    low, high = ends
    assert 0 < low < high
    assert not is_stable(**link, kp=0.98 * low, kd=kd)
    assert is_stable(**link, kp=1.02 * low, kd=kd)
    assert is_stable(**link, kp=0.98 * high, kd=kd)
    assert not is_stable(**link, kp=1.02 * high, kd=kd)


def test_in_packets_the_range_is_one_of_ordinary_gains() -> None:
    """The link that is simulated: 750 packets/s and 75 packets; -4*50*75 / (0.1 * 750^2 * 1.1) = -0.2424."""
    link = {"n": 50, "r": 0.1, "c": 750, "b": 75}
    assert kd_lower(**link) == pytest.approx(-0.2424, rel=1e-3)
    assert 13 < kp_upper(**link, kd=-1e-5) < 14
