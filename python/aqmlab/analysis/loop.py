"""The loop at an operating point: plant, controller, stability, margins, step response.

Hollot, Misra, Towsley & Gong (IEEE Trans. Automatic Control 47(6), 2002) linearise the fluid model of one class to

    `P(s) = (C^2/(2N)) e^{-sR} / ((s + 2N/(R^2 C)) (s + 1/R))`

which leaves out the delayed effects of window and queue on themselves. The exact model of classes i uses
`a_i = 1/(W R_i)`, `b_i = 1/(R_i^2 C)`, `k_i = W^2/(2 R_i)`, `E_i = e^{-s R_i}` and `kept = 1 - d p`:

    `(s + a_i (1 + E_i)) w_i = -b_i (1 - E_i) q - k_i E_i p`
    `(s + kept sum N_i W/(R_i^2 C)) q = kept sum (N_i/R_i) w_i - d (C/kept) p`

For b_i = d = 0 and 2 a_i for a_i (1 + E_i) it is Hollot's P(s), for any number of classes. In
general, with growth g(W) and cut c(W) (see `op`), a_i (1 + E_i) is (c' p W - g' + c p E_i)/R_i, b_i = g/(R_i^2 C) and
k_i = c W/R_i. Delays are exact.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from aqmlab._core import Law, Linear, Windows
from aqmlab.analysis.network import Network
from aqmlab.analysis.op import CLASSIC, OperatingPoint, solve
from aqmlab.extras import required

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Real = NDArray[np.float64]
    Complex = NDArray[np.complexfloating[Any, Any]]

SLOWEST, RESOLVED, FASTEST = 1e-4, 60.0, 1e4
"""Frequencies times the round-trip time: evenly spaced in the logarithm up to 1 and beyond RESOLVED, else by `STEP`."""

STEP = 0.1

NEARLY = 1e-3
"""By how much an interpolated gain margin may be wrong."""


@dataclass(frozen=True)
class LoopVerdict:
    """Poles of the closed loop in the right half-plane, and the gain margin as in `Margins`."""

    poles: int
    gain: float | None

    @property
    def stable(self) -> bool:
        """Small changes die out."""
        return self.poles == 0


@dataclass(frozen=True)
class Margins:
    """The margins of a loop: gain (ratio), phase (degrees), delay (s), with the crossovers (rad/s); None if unlimited.

    The gain margin of a stable loop is the smallest factor above 1 that makes it unstable. The gain margin of an
    unstable loop is the factor below 1 that takes every crossing of the negative axis below 1. An unstable loop is
    without phase and delay margins.
    """

    gain: float | None
    phase_crossover: float | None
    phase: float | None
    gain_crossover: float | None
    delay: float | None


@dataclass(frozen=True)
class Loop:
    """A scheme closed around a network at their operating point; `exact` keeps what Hollot's P(s) leaves out.

    `gain` multiplies the scheme's answer, its rest unchanged.
    """

    point: OperatingPoint
    law: Law
    exact: bool = True
    gain: float = 1.0

    @cached_property
    def linear(self) -> Linear:
        """The scheme's answer to small changes."""
        return self.law.at(self.point)

    def _parts(self, s: "Complex") -> tuple["Complex", "Complex", "Complex"]:
        """The queue's own denominator, what it does to itself through the windows, and what p does to it."""
        point, capacity, window = self.point, self.point.network.capacity, self.point.window
        growth, cut = point.windows.growth(window), point.windows.cut(window)
        faster, deeper = point.windows.slopes(window)
        kept = 1 - point.lost
        own = s.copy()
        again, signal = np.zeros_like(s), np.zeros_like(s)
        for flows, rtt in zip(point.network.classes, point.rtts, strict=True):
            late = np.exp(-s * rtt)
            own += kept * flows.flows * window / (rtt**2 * capacity)
            here, before = (deeper * point.p * window - faster) / rtt, cut * point.p / rtt
            share = kept * flows.flows / rtt / (s + here + before * (late if self.exact else 1))
            signal += share * cut * window / rtt * late
            if self.exact:
                again += share * growth * (1 - late) / (rtt**2 * capacity)
        if self.exact and not point.network.ecn:
            signal += point.offered
        return own, again, signal

    def plant(self, s: "Complex") -> "Complex":
        """Return how much shorter the queue is for a higher p, packets."""
        own, again, signal = self._parts(s)
        return signal / (own + again)

    def controller(self, s: "Complex") -> "Complex":
        """Return the scheme's p for a longer queue, 1/packet."""
        return self.gain * self.linear.feed(s) / (1 - self.gain * self.linear.inner(s))

    def response(self, s: "Complex") -> "Complex":
        """Return the open loop L(s) = P(s) C(s)."""
        return self.plant(s) * self.controller(s)

    @cached_property
    def frequencies(self) -> "Real":
        """Frequencies at which the loop is evaluated, rad/s."""
        longest, shortest = max(self.point.rtts), min(self.point.rtts)
        slow = np.geomspace(SLOWEST, 1, 250, endpoint=False) / longest
        middle = np.arange(1, RESOLVED * longest / shortest, STEP) / longest
        fast = np.geomspace(middle[-1], FASTEST / shortest, 60)[1:]
        return np.concatenate([slow, middle, fast])

    def judge(self) -> "LoopVerdict":
        """Return the number of poles of the closed loop in the right half-plane, and the gain margin.

        Poles by the argument principle: F = (1 - inner)(1 + again/own) + signal feed/own is built of stable parts and
        the controller's k integrators only, so Z = k/2 - (change of arg F from 0 to infinity)/pi. A loop whose gain is
        not yet below 1/2 where the grid no longer resolves its delay has gone around -1 many times before: at least
        one.
        """
        w = self.frequencies
        own, again, signal = self._parts(1j * w)
        inner = 1 - self.gain * self.linear.inner(1j * w)
        around = signal * self.gain * self.linear.feed(1j * w) / own
        open_loop = inner * (1 + again / own)
        turned = np.unwrap(np.angle(open_loop + around))
        poles = round(self.linear.integrators / 2 - (turned[-1] - turned[0]) / np.pi)
        resolved = w < RESOLVED / min(self.point.rtts)
        unresolved = np.any(np.abs(around[~resolved]) > 0.5)
        crossings = _crossings((around / open_loop)[resolved])
        return LoopVerdict(max(poles, int(unresolved)), _gain_margin(crossings, poles == 0 and not unresolved))

    def margins(self) -> Margins:
        """Return the margins, by python-control on the frequency response; see `Margins`."""
        with required():
            import control

        w = self.frequencies[self.frequencies < RESOLVED / min(self.point.rtts)]
        system: Any = control.FrequencyResponseData(self.response(1j * w), w, smooth=True)
        gains, phases, _, at_gains, at_phases, _ = control.stability_margins(system, returnall=True)
        stable = self.judge().stable
        gain = _gain_margin(np.asarray(gains), stable)
        crossover = None if gain is None else float(at_gains[int(np.argmin(np.abs(gains - gain)))])
        if not (stable and len(phases)):
            return Margins(gain, crossover, None, None, None)
        phase = int(np.argmin(np.abs(phases)))
        delays = np.radians(np.asarray(phases) % 360) / np.asarray(at_phases)
        return Margins(gain, crossover, float(phases[phase]), float(at_phases[phase]), float(min(delays)))

    def step(self, count: int = 400) -> tuple["Real", "Real"]:
        """Return times (s) and the queue's answer to a step of its reference, 1 at the end; of a stable loop.

        The inverse Fourier integral 2/pi int Re T(jw) sin(wt)/w dw of T = L/(1 + L): delays exact, no Padé. Between two
        frequencies Re T is straight, for which the integral is known (Filon); below the first it is as at the first.
        """
        from scipy.special import sici

        loop = self.response(1j * self.frequencies)
        crossing = self.frequencies[np.abs(loop) > 1]
        end = 12 / (crossing[-1] if len(crossing) else 1 / max(self.point.rtts)) + 10 * max(self.point.rtts)
        times = np.linspace(0, end, count)
        w = np.concatenate([[0.0], self.frequencies])
        real = np.real(loop / (1 + loop))
        real = np.concatenate([real[:1], real])
        slope = np.diff(real) / np.diff(w)
        wt = np.outer(times[1:], w)
        sines = np.diff(sici(wt)[0]) @ (real[:-1] - slope * w[:-1])
        cosines = np.diff(np.cos(wt)) @ slope / times[1:]
        return times, np.concatenate([[0.0], 2 / np.pi * (sines - cosines)])


def _crossings(loop: "Complex") -> "Real":
    """Return 1/|L| where L crosses the negative real axis; between two points angle and log |L| are straight."""
    places = np.nonzero((loop.imag[:-1] * loop.imag[1:] < 0) & (loop.real[:-1] < 0) & (loop.real[1:] < 0))[0]
    before, after = np.angle(-loop[places]), np.angle(-loop[places + 1])
    part = before / (before - after)
    size = np.log(np.abs(loop))
    factors: Real = np.exp(-(1 - part) * size[places] - part * size[places + 1])
    return factors


def _gain_margin(factors: "Real", stable: bool) -> float | None:
    """Return the margin as in `Margins`; next to 1 the verdict decides on which side it is."""
    if not stable:
        return min(1.0, float(np.min(factors))) if len(factors) else None
    above = factors[factors > 1 - NEARLY]
    return max(1.0, float(np.min(above))) if len(above) else None


def close(network: Network, law: Law, *, windows: Windows = CLASSIC, exact: bool = True, gain: float = 1.0) -> Loop:
    """Return the loop of a scheme and a network at their operating point; InputError where there is none."""
    return Loop(solve(network, law, windows), law, exact, gain)
