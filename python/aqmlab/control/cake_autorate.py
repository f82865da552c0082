"""cake-autorate: CAKE's bandwidth after pings and loads (github.com/lynxthecat/cake-autorate, script of 2026-08)."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from aqmlab.control.controller import Observed, RateController, Shaper
from aqmlab.own import Param

PACKET = 8 * 1514
"""Bits of a full packet with its Ethernet header, whose time at the rate of a shaper is not a delay of the link."""

FIRST_BASELINE = 0.100
"""One-way delay, s, that is taken for usual before the first ping; it falls at once."""


@dataclass
class Direction:
    """State of a shaper: late pings of the window, times at which its rate last went down or decayed, its load."""

    late: deque[bool]
    load: float = 0.0
    is_load_new: bool = False
    bufferbloat_at: float = 0.0
    decayed_at: float = 0.0
    bits: float = 0.0


class CakeAutorate(RateController):
    """cake-autorate with pinger fping: half of a round trip is the delay of either direction.

    Left out: sleep when idle, stalls, the replacement of reflectors, and pings older than 500 ms.
    """

    name = "cake-autorate"
    every = "50 ms"  # no_pingers = 6, each every reflector_ping_interval_s = 0.3

    delay_thr = Param("30 ms", ("0 s", "10 s"), doc="owd_delta_delay_thr_ms")
    max_adjust_up_thr = Param("10 ms", ("0 s", "10 s"), doc="avg_owd_delta_max_adjust_up_thr_ms")
    max_adjust_down_thr = Param("60 ms", ("0 s", "10 s"), doc="avg_owd_delta_max_adjust_down_thr_ms")
    window = Param(6, (1, 1000), doc="bufferbloat_detection_window, pings")
    detection_thr = Param(3, (1, 1000), doc="bufferbloat_detection_thr, pings")
    alpha_increase = Param(0.001, (0, 1), doc="alpha_baseline_increase")
    alpha_decrease = Param(0.9, (0, 1), doc="alpha_baseline_decrease")
    min_adjust_down = Param(0.99, (0, 1), doc="shaper_rate_min_adjust_down_bufferbloat")
    max_adjust_down = Param(0.75, (0, 1), doc="shaper_rate_max_adjust_down_bufferbloat")
    min_adjust_up = Param(1.0, (1, 10), doc="shaper_rate_min_adjust_up_load_high")
    max_adjust_up = Param(1.04, (1, 10), doc="shaper_rate_max_adjust_up_load_high")
    decay_down = Param(0.99, (0, 1), doc="shaper_rate_adjust_down_load_low")
    decay_up = Param(1.01, (1, 10), doc="shaper_rate_adjust_up_load_low")
    high_load_thr = Param(0.75, (0, 1), doc="high_load_thr")
    bufferbloat_refractory = Param("300 ms", ("0 s", "100 s"), doc="bufferbloat_refractory_period_ms")
    decay_refractory = Param("1 s", ("0 s", "100 s"), doc="decay_refractory_period_ms")
    load_interval = Param("200 ms", ("1 ms", "100 s"), doc="monitor_achieved_rates_interval_ms")

    def start(self, shapers: Sequence[Shaper]) -> None:
        """Begin with no late ping and no load."""
        self.baseline = FIRST_BASELINE
        self.deltas = deque([0.0] * int(self.window), maxlen=int(self.window))
        self.directions = [Direction(deque([False] * int(self.window), maxlen=int(self.window))) for _ in shapers]
        self.loaded_at = 0.0

    def decide(self, seen: Observed, shapers: Sequence[Shaper]) -> None:
        """Take in loads every 200 ms, and decide for each direction when a ping has come back."""
        self._monitor_achieved_rates(seen, shapers)
        if seen.delay is None:
            return
        owd = seen.delay / 2
        alpha = self.alpha_increase if owd >= self.baseline else self.alpha_decrease
        self.baseline += alpha * (owd - self.baseline)
        delta = owd - self.baseline
        self.deltas.append(delta)
        average = sum(self.deltas) / len(self.deltas)
        for shaper, direction in zip(shapers, self.directions, strict=True):
            own = PACKET / shaper.rate
            delay_thr, up_thr, down_thr = (
                thr + own for thr in (self.delay_thr, self.max_adjust_up_thr, self.max_adjust_down_thr)
            )
            direction.late.append(delta > delay_thr)
            is_calm = _has_passed(self.bufferbloat_refractory, direction.bufferbloat_at, seen.now)
            if sum(direction.late) >= self.detection_thr:
                if is_calm:
                    share = _share(average, delay_thr, down_thr)
                    shaper.rate *= self.min_adjust_down - share * (self.min_adjust_down - self.max_adjust_down)
                    direction.bufferbloat_at = direction.decayed_at = seen.now
            elif direction.load > self.high_load_thr:
                if direction.is_load_new and is_calm:
                    share = _share(average, delay_thr, up_thr)
                    shaper.rate *= self.min_adjust_up - share * (self.min_adjust_up - self.max_adjust_up)
                    direction.is_load_new, direction.decayed_at = False, seen.now
            elif _has_passed(self.decay_refractory, direction.decayed_at, seen.now):
                if shaper.rate > shaper.base:
                    shaper.rate = max(shaper.base, shaper.rate * self.decay_down)
                elif shaper.rate < shaper.base:
                    shaper.rate = min(shaper.base, shaper.rate * self.decay_up)
                direction.decayed_at = seen.now

    def _monitor_achieved_rates(self, seen: Observed, shapers: Sequence[Shaper]) -> None:
        for shaper, direction in zip(shapers, self.directions, strict=True):
            direction.bits += shaper.achieved * seen.span
        span = seen.now - self.loaded_at
        if round(1e6 * span) < round(1e6 * self.load_interval):
            return
        self.loaded_at = seen.now
        for shaper, direction in zip(shapers, self.directions, strict=True):
            direction.load, direction.is_load_new = direction.bits / span / shaper.rate, True
            direction.bits = 0.0


def _has_passed(period: float, since: float, now: float) -> bool:
    """Return whether more than a period has passed, in whole microseconds as in the script."""
    return round(1e6 * (now - since)) > round(1e6 * period)


def _share(average: float, none: float, whole: float) -> float:
    """Return the share of an adjustment that an average delay brings: 0 at `none`, 1 from `whole` on."""
    return 1.0 if none == whole else min(1.0, max(0.0, (average - none) / (whole - none)))
