"""The ranges of NPD-RED's gains: the numbers of Xiong et al. 2010, hand calculation, and the argument principle."""

import json
from math import atan, pi

import numpy as np
import pytest
from scipy.optimize import brentq

import aqmlab
from aqmlab.analysis.ranges import Loop, exact, lies_in, routh
from conftest import Aqmlab

PAPER = {"rate": "45 Mbit/s", "rtt": "100 ms", "flows": 50, "buffer": "100 packets", "packet": "460 B", "unit": "bits"}
"""Section 4.1; TCP's 40 B make packets of the paper's 500."""

IN_PACKETS = Loop(n=50, r=0.1, c=750, b=75)
"""The link that the paper simulates: 3 Mbit/s of 500 B."""

LINK = ("--rate", "45 Mbit/s", "--rtt", "100 ms", "--flows", "50", "--buffer", "225 packets")


def test_the_printed_coefficients() -> None:
    """Section 4.1: (0.02 - 51637.5 K_d) (0.002 + 5568.75 K_d) + 253.125 K_d (4.4e-6 + 1.0e5 K_d)."""
    terms = aqmlab.gain_ranges("npd-red", **PAPER, simulate=False).coefficients
    assert terms["a4"] == pytest.approx((0, 0, -253.125))
    assert terms["a3"] == pytest.approx((0.002, 0, 5568.75))
    assert f"{terms['a1'][0]:.1e}" == "4.4e-06"
    assert f"{terms['a1'][2]:.1e}" == "1.0e+05"
    # g = R C^2/(2 N^2 B) = 101250: eq. (15) has g R^2/2, (16) -g R, (17) g.
    assert [terms[name][1] for name in ("a2", "a1", "a0")] == pytest.approx([506.25, -10125, 101250])


def test_one_printed_coefficient_has_a_power_of_r_too_many() -> None:
    """The last 0.1 in R C^2/(4 N^2 B) + R^2 C^2/(2 N^2 B) = 50625 + 10125 is squared in the printed 51637.5."""
    constant, _, k_d = aqmlab.gain_ranges("npd-red", **PAPER, simulate=False).coefficients["a2"]
    assert f"{constant:.2f}" == "0.02"
    assert k_d == pytest.approx(-(50625 + 10125))
    assert 50625 + 0.1 * 10125 == 51637.5


def test_the_printed_ranges() -> None:
    """-0.002/5568.75 is the bound of K_d; 3.99e-10 has the right digits; the printed pair is unstable."""
    found = aqmlab.gain_ranges("npd-red:k_p=2e-10,k_d=-3.59e-11", **PAPER, simulate=False)
    assert f"{found.k_d['printed'][0]:.3e}" == "-3.591e-07"
    [row] = [row for row in found.k_p if row.k_d == -3.59e-11]
    [(low, high)] = row.routh
    assert low == 0
    assert f"{high:.3e}" == "3.998e-11"
    printed = found.gains[-1]
    assert (printed.k_p, printed.routh, printed.exact) == (2e-10, False, False)
    # a1 > 0 at K_p = 0: K_d > -4.444e-6/101250.
    assert found.k_d["routh"][0] == pytest.approx(-4.3896e-11, rel=1e-4)


def test_only_the_cut_exponential_asks_for_a_negative_k_d() -> None:
    """a4 = -R^3 C^2 K_d/(8 N^2 B); with the exact delays K_p = 2 is stable for K_d from -2 to 4."""
    for k_d in (-2, -1, 0, 1, 2, 3, 4):
        assert lies_in(2, exact(IN_PACKETS, k_d)), k_d
    for k_d in (-2.5, 4.5):
        assert not lies_in(2, exact(IN_PACKETS, k_d)), k_d
    assert not any(routh(IN_PACKETS, k_d) for k_d in (0.0, 1.0, 4.0))


def test_without_k_d_the_bound_is_where_the_phase_is_half_a_turn() -> None:
    n, r, c, b = IN_PACKETS
    slow = 2 * n / (r**2 * c)
    w = brentq(lambda w: pi / 2 - atan(w / slow) - atan(w * r) - w * r, 1e-3, pi / r)
    # K_p C^2/(2NB) / (w |jw + 2N/(R^2 C)| |jw + 1/R|) = 1.
    bound = w * abs(1j * w + slow) * abs(1j * w + 1 / r) * 2 * n * b / c**2
    assert exact(IN_PACKETS, 0.0) == ((0.0, pytest.approx(bound)),)


def unstable_poles(loop: Loop, k_p: float, k_d: float) -> int:
    """Turns of the characteristic function around 0 along the right half-plane's edge: axis, then quarter circle."""
    n, r, c, b = loop
    g = r * c**2 / (2 * n**2 * b)
    radius = 10 / r + 4 * (g * n / r * (abs(k_p) + 2 * abs(k_d))) ** (1 / 3)
    even = np.arange(0, radius, 0.02 / max(r, 1))
    axis = np.concatenate([[0.0], np.geomspace(1e-9 * radius, radius, 4000), even[1:]])
    s = np.concatenate([1j * np.sort(axis), radius * np.exp(1j * np.linspace(pi / 2, 0, 4000))])
    around = s * (s * r / n + 2 / (r * c)) * (s + 1 / r) + g * np.exp(-r * s) * (k_p + k_d * (1 - np.exp(-s)))
    angle = np.unwrap(np.angle(around))
    return round((angle[0] - angle[-1]) / pi)


def test_the_argument_principle_agrees_at_300_points() -> None:
    """K_d to both sides, over three decades; K_p up to 1.5 times the largest stable one, 0.1 % around ends left out."""
    rng = np.random.default_rng(1)
    seen = {True: 0, False: 0}
    while sum(seen.values()) < 300:
        loop = Loop(rng.uniform(5, 500), 10 ** rng.uniform(-1.5, -0.2), 10 ** rng.uniform(2, 4.3), 10 ** rng.uniform(1.3, 3.3))
        damping = 4 * loop.n**2 * loop.b / (loop.r * loop.c) ** 3
        k_d = damping * rng.choice([-1, 1]) * 10 ** rng.uniform(-2, 1)
        found = exact(loop, k_d)
        top = found[-1][1] if found else exact(loop, 0.0)[0][1]
        k_p = top * rng.uniform(0, 1.5)
        if any(abs(k_p - end) < 1e-3 * top for ends in found for end in ends):
            continue
        stable = lies_in(k_p, found)
        assert (unstable_poles(loop, k_p, k_d) == 0) is stable, (loop, k_p, k_d)
        seen[stable] += 1
    assert min(seen.values()) > 75


def test_stable_k_p_may_have_a_gap() -> None:
    """Found by a search over random links; the poles are counted within each part."""
    loop = Loop(411.87649941196526, 0.046240917389995556, 7702.091700612124, 35.266461844299194)
    k_d = 4.806689727578657 * 4 * loop.n**2 * loop.b / (loop.r * loop.c) ** 3
    assert exact(loop, k_d) == ((0.0, pytest.approx(3.09797, rel=1e-4)), (pytest.approx(5.28196, rel=1e-4), pytest.approx(5.49641, rel=1e-4)))
    assert [unstable_poles(loop, k_p, k_d) > 0 for k_p in (3.0, 3.2, 5.2, 5.4, 5.6)] == [False, True, True, False, True]
