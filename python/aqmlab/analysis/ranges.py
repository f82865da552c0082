"""The ranges of NPD-RED's gains (Xiong et al. 2010, section 3.2): by the paper's Routh array, and with exact delays.

The paper closes TCP's linear model (Hollot et al. 2002) by eq. (6), which is not the transform of its equation of p,
eq. (3), but of dp/dt = (K_p (q - q_ref) + K_d (q(t) - q(t - 1)))/B with times in seconds: `base = "integral"` of the
scheme. The poles of the loop are the zeros of s times eq. (11),

    `s (s R/N + 2/(R C)) (s + 1/R) + R C^2/(2 N^2 B) e^{-Rs} (K_p + K_d (1 - e^{-s}))`

For the Routh array both exponentials are cut after the square, as in `routh`. That leaves a fourth power of s with
the coefficient -R^3 C^2 K_d/(8 N^2 B): only for its sake must K_d be negative, eq. (20). `exact` cuts nothing.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aqmlab.analysis.stability import kd_lower, kp_range

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Real = NDArray[np.float64]
    Complex = NDArray[np.complexfloating[Any, Any]]

Interval = tuple[float, float]


class LoopConstants(NamedTuple):
    """Flows, round-trip time (s), capacity (1/s) and buffer, both in one unit: N, R, C and B of the paper."""

    n: float
    r: float
    c: float
    b: float

    def roots_at(self, w: "Real") -> "Complex":
        """Return the K_p + K_d (1 - e^{-jw}) for which a pole is at jw."""
        n, r, c, b = self
        s = 1j * w
        gains: Complex = -s * (s * r / n + 2 / (r * c)) * (s + 1 / r) * np.exp(s * r) * 2 * n**2 * b / (r * c**2)
        return gains


def routh(loop: LoopConstants, k_d: float) -> tuple[Interval, ...]:
    """Return the K_p > 0 that eq. (19) calls stable with a K_d: one interval or none."""
    found = kp_range(**loop._asdict(), kd=k_d)
    return () if found is None else (found,)


def exact(loop: LoopConstants, k_d: float) -> tuple[Interval, ...]:
    """Return the intervals of the K_p > 0 that are stable with a K_d; mostly one, or none.

    By D-decomposition: poles move to the other side where some are on the imaginary axis, by two, to the right if the
    imaginary part of `roots_at` rises there with the frequency. They are counted from K_d = 0 and a small K_p on,
    where the loop is stable, first along K_d, then along K_p.
    """
    w = _frequencies(loop, k_d)
    _, at, turns = _crossings(lambda w: loop.roots_at(w) - k_d * (1 - np.exp(-1j * w)), w)
    order = np.argsort(at)
    order = order[at[order] > 0]
    ends = [0.0, *at[order].tolist()]
    poles = _poles_without_k_p(loop, k_d, w) + 2 * np.cumsum([0, *turns[order]])
    found: list[Interval] = []
    for low, high, count in zip(ends[:-1], ends[1:], poles[:-1], strict=True):
        if count == 0:
            found.append((low, high))
    return tuple(found)


def _poles_without_k_p(loop: LoopConstants, k_d: float, w: "Real") -> int:
    """Return the poles in the right half-plane for a small K_p.

    Along K_d poles cross at `K_d = roots_at/(1 - e^{-jw})`, whose denominator is `2j sin(w/2) e^{-jw/2}`. Two poles
    cross at `s = 0`, where K_d cancels their damping, `2/(R^2 C)` in eq. (16).
    """
    n, r, c, b = loop
    at, real, turns = _crossings(lambda w: loop.roots_at(w) * np.exp(1j * w / 2) / 2j, w)
    sines = np.sin(at / 2)
    passed = (real / sines * k_d > 0) & (np.abs(real / sines) < abs(k_d))
    return int(2 * np.sum((turns * np.sign(sines) * np.sign(k_d))[passed])) + 2 * (k_d < -4 * n**2 * b / (r * c) ** 3)


def _frequencies(loop: LoopConstants, k_d: float) -> "Real":
    """Return frequencies (rad/s) between which the imaginary axis is looked at.

    Beyond the last K_d is too small to send poles back: every further K_p at which some cross is unstable.
    """
    top = 2 * np.pi / loop.r
    while abs(loop.roots_at(np.array(top))) < 8 * abs(k_d) * (1 + 1 / loop.r):
        top *= 2
    step = 1 / (16 * max(loop.r, 1))
    even = np.arange(step, top + 4 * np.pi / loop.r, step)
    slowest = min(2 * loop.n / (loop.r**2 * loop.c), step)
    return np.concatenate([np.geomspace(1e-6 * slowest, step, 400, endpoint=False), even])


def _crossings(curve: Callable[["Real"], "Complex"], w: "Real") -> tuple["Real", "Real", "NDArray[np.int64]"]:
    """Return where a curve over frequencies crosses the real axis: frequency, value, and 1 upwards or -1 downwards."""
    from scipy.optimize import brentq

    height = np.imag(curve(w))
    places = np.nonzero(height[:-1] * height[1:] < 0)[0]
    found = [brentq(lambda at: float(np.imag(curve(at))), w[i], w[i + 1], xtol=1e-300, rtol=1e-14) for i in places]
    at = np.array(found)
    return at, np.real(curve(at)), np.where(height[places] < 0, 1, -1)


def reach(range_of: Callable[[LoopConstants, float], tuple[Interval, ...]], loop: LoopConstants, way: int) -> float:
    """Return how far K_d may be from 0 in a direction, 1 or -1, so that some K_p is stable all the way."""
    n, r, c, _ = loop
    inside = outside = -1e-3 * way * kd_lower(**loop._asdict()) * min(1, n * (1 + r) / (r**2 * c))
    while range_of(loop, outside):
        inside, outside = outside, 8 * outside
    while abs(outside - inside) > 1e-6 * abs(outside):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if range_of(loop, middle) else (inside, middle)
    return inside


def lies_in(k_p: float, ranges: tuple[Interval, ...]) -> bool:
    """Return whether a gain is within one of some intervals."""
    return any(low < k_p < high for low, high in ranges)
