"""Features of an observation: distributions of delay and rate over time, retransmissions, and the start."""

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from aqmlab.fit.measurement import Intervals, Series
from aqmlab.fit.observation import Observation
from aqmlab.fit.twin import FULL

if TYPE_CHECKING:
    from aqmlab.fit.measurement import Floats

DELAYS, RATES = (5, 25, 50, 75, 95, 99), (5, 25, 50, 75, 95)
"""Percentiles of the delays and of the rates that are compared."""
START = 4.0
"""The part of a load, s, that shows the start of the transfers."""
TIMES = 6
"""Parts of the load that are also compared one by one."""
PACKETS = 150
"""Full packets in a window over which a rate is a mean."""


@dataclass(frozen=True)
class Scale:
    """The scale by which one measurement and its simulations are compared.

    `base` is the smallest round-trip time, s; `window` the time over which rates are means, s. `settled` is the time
    after which the transfers count as settled, s. `rate` is the modal payload rate in bit/s; `until` the end of the
    compared part, s.
    """

    base: float
    window: float
    settled: float
    rate: float
    until: float

    @classmethod
    def of(cls, seen: Observation, base: float, until: float | None = None) -> "Scale":
        """Return the scale of a measurement."""
        import numpy as np

        load = seen.load
        rate = max(float(np.mean(seen.goodput.value)), 1.0)
        window = load.report * max(1, round(PACKETS * 8 * FULL / rate / load.report))
        until = min(load.duration, until or load.duration)
        settled = min(max(START, 12 * base), until / 3)
        window = min(window, until / 10)
        return cls(base, window, settled, mode(rates(seen.goodput, window, settled, until)), until)


def rates(goodput: Intervals, window: float, begin: float, end: float) -> "Floats":
    """Return means over a window that slides from `begin` to `end`, in bit/s."""
    import numpy as np

    inside = (goodput.start >= begin - 1e-6) & (goodput.end <= end + 1e-6)
    value, step = goodput.value[inside], float(np.median(goodput.end - goodput.start))
    width = max(1, round(window / step))
    if len(value) < width:
        return value if len(value) else np.zeros(1)
    total = np.concatenate([[0.0], np.cumsum(value)])
    return np.asarray((total[width:] - total[:-width]) / width, dtype=np.float64)


def mode(values: "Floats") -> float:
    """Return the half-sample mode: the value around which most values are."""
    import numpy as np

    found = np.sort(values)
    while len(found) > 3:
        half = (len(found) + 1) // 2
        at = int(np.argmin(found[half - 1 :] - found[: len(found) - half + 1]))
        found = found[at : at + half]
    return float(np.mean(found))


def between(series: Series, begin: float, end: float) -> "Floats":
    """Return the values of a series from `begin` to `end`, those without a value left out."""
    import numpy as np

    inside = (series.time >= begin) & (series.time < end)
    value = series.value[inside]
    found: Floats = value[np.isfinite(value)]
    return found


def features(seen: Observation, scale: Scale) -> "dict[str, float]":
    """Return the features by name.

    Delays in s above the base, rates as shares of `scale.rate`, logarithms of counts, excess in s at that rate.
    """
    import numpy as np

    found: dict[str, float] = {}
    steady = (scale.settled, scale.until)
    probes = between(seen.probes, *steady) - scale.base
    _add(found, "probe", probes, DELAYS)
    if seen.l4s is not None:
        _add(found, "l4s", between(seen.l4s, *steady) - scale.base, (50, 95))
    own = np.concatenate([np.empty(0), *(between(each, *steady) for each in seen.srtt)]) - scale.base
    _add(found, "srtt", own, RATES)
    found["start delay"] = float(np.max(between(seen.probes, -1, START + 1) - scale.base, initial=0.0))
    begun = [between(each, 0, START).max(initial=scale.base) for each in seen.srtt]
    found["start srtt"] = float(np.mean(begun)) - scale.base if begun else np.nan
    found["rough"] = float(np.median(np.abs(np.diff(probes)))) if len(probes) > 2 else np.nan
    edges = np.linspace(0, scale.until, TIMES + 1)
    for i, (begin, end) in enumerate(pairwise(edges)):
        part = between(seen.probes, begin, end)
        found[f"probe at {i}"] = float(np.median(part)) - scale.base if len(part) else np.nan
        found[f"rate at {i}"] = float(np.mean(rates(seen.goodput, seen.load.report, begin, end))) / scale.rate
    found |= _of_rates(seen, scale)
    found |= _of_losses(seen, scale)
    return found


def _of_rates(seen: Observation, scale: Scale) -> dict[str, float]:
    import numpy as np

    steady = rates(seen.goodput, scale.window, scale.settled, scale.until) / scale.rate
    fine = rates(seen.goodput, seen.load.report, scale.settled, scale.until) / scale.rate
    begun = rates(seen.goodput, scale.window, 0, START + 1) / scale.rate
    found: dict[str, float] = {}
    _add(found, "rate", steady, RATES)
    found["mean rate"] = float(np.mean(fine))
    found["modal rate"] = mode(steady)
    found["rate spread"] = float(np.std(fine))
    found["start rate"] = float(np.max(begun))
    early = rates(seen.goodput, seen.load.report, 0, START) / scale.rate
    found["start mean"] = float(np.mean(early))
    found["start excess"] = _excess(early) * seen.load.report
    found["excess"] = _excess(fine) * seen.load.report
    return found


def _excess(rate: "Floats") -> float:
    """Return the largest amount by which any stretch of rates exceeds 1, in intervals."""
    import numpy as np

    total = np.concatenate([[0.0], np.cumsum(rate - 1.0)])
    return float(np.max(total - np.minimum.accumulate(total)))


def token_bucket(seen: Observation, scale: Scale) -> tuple[float, float]:
    """Return rate (payload bit/s) and depth (payload bits) of the smallest token bucket that all transfers satisfy."""
    import numpy as np

    step = seen.load.report
    total = np.concatenate([[0.0], np.cumsum(rates(seen.goodput, step, scale.settled / 2, scale.until) * step)])
    spans = np.unique(np.geomspace(max(1, 1 / step), max(2, len(total) // 2), 12).astype(int))
    most = [float(np.max(total[span:] - total[:-span])) for span in spans if span < len(total)]
    if len(most) < 2:
        return scale.rate, 0.0
    slope, depth = np.polyfit(spans[: len(most)] * step, most, 1)
    return float(slope), max(0.0, float(depth))


def _of_losses(seen: Observation, scale: Scale) -> dict[str, float]:
    import numpy as np

    lost = seen.probes.value[(seen.probes.time >= scale.settled) & (seen.probes.time < scale.until)]
    found = {"probe loss": float(np.mean(np.isnan(lost))) if len(lost) else np.nan}
    if seen.retransmits is not None:
        at = seen.retransmits.start
        steady = seen.retransmits.value[(at >= scale.settled) & (at < scale.until)]
        begun = seen.retransmits.value[at < scale.settled]
        found["losses"] = float(np.log1p(np.nansum(steady)))
        found["start losses"] = float(np.log1p(np.nansum(begun)))
        found["loss times"] = float(np.sqrt(np.mean(steady > 0))) if len(steady) else np.nan
    return found


def _add(found: dict[str, float], name: str, values: "Floats", percentiles: tuple[int, ...]) -> None:
    import numpy as np

    for each in percentiles:
        found[f"{name} {each}"] = float(np.percentile(values, each)) if len(values) > 2 else np.nan
