"""Readings of a time series, as one reads a figure: values of claims that a run does not have itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from aqmlab._core import Link, Scenario
from aqmlab.runs.metrics import PERCENT, SHOWN, Metric
from aqmlab.runs.results import RunResult

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Curve = NDArray[np.float64]


@dataclass(frozen=True)
class SeriesReading:
    """A value of TAKE between `start` and `end` (s) of the run; `band` and `between` in packets."""

    value: str
    start: float
    end: float
    band: float | None = None
    between: tuple[float, float] | None = None

    def of(self, run: RunResult, scenario: Scenario, link: str) -> float | None:
        """Return the value; None if it never came about."""
        columns = run.series[link]
        part = (columns["time"] >= self.start) & (columns["time"] <= self.end)
        return TAKE[self.value](self, {name: columns[name][part] for name in columns}, scenario.link(link))


BANDS = {"transient": 0.1, "stabilisation": 0.5}
"""How far from its level a queue that has settled may be, as a share of the target, where a claim gives no band."""


def _transient(reading: SeriesReading, columns: Mapping[str, "Curve"], place: Link) -> float | None:
    """Return the end of the transient, counted from `start`; None if the queue has left the band in the end.

    `settling_time` averages over 1 s and so counts every later excursion.
    """
    return _settled(reading, columns, place.target, place.target)


def _stabilisation(reading: SeriesReading, columns: Mapping[str, "Curve"], place: Link) -> float | None:
    late = columns["time"] > columns["time"][-1] - 15
    return _settled(reading, columns, float(columns["queue"][late].mean()), place.target)


def _settled(reading: SeriesReading, columns: Mapping[str, "Curve"], level: float, target: float) -> float | None:
    """Return from when on, counted from `start`, the queue over 5 s stays in a band; None if it ends outside."""
    import numpy as np

    band = BANDS[reading.value] * target if reading.band is None else reading.band
    time = columns["time"]
    means = _means(columns["queue"], time, 5)
    outside = np.flatnonzero(np.abs(means - level) > band)
    if len(outside) == 0:
        return 0.0
    return None if outside[-1] == len(means) - 1 else float(time[outside[-1] + 1]) - reading.start


def _share(reading: SeriesReading, columns: Mapping[str, "Curve"], _: object) -> float:
    low, high = reading.between or (0.0, inf)
    return float(((columns["queue"] >= low) & (columns["queue"] <= high)).mean())


def _means(curve: "Curve", time: "Curve", seconds: float) -> "Curve":
    """Return the mean over so many seconds from each sample on."""
    import numpy as np

    window = round(seconds / (time[1] - time[0]))
    return np.convolve(curve, np.ones(window) / window, "valid")


TAKE: Mapping[str, Callable[[SeriesReading, Mapping[str, "Curve"], Link], float | None]] = {
    "transient": _transient,
    "stabilisation": _stabilisation,
    "share": _share,
    "lowest_utilisation": lambda _, columns, __: float(_means(columns["utilisation"], columns["time"], 1).min()),
    "p_max": lambda _, columns, __: float(columns["p"].max()),
    "p_std": lambda _, columns, __: float(columns["p"].std()),
    "queue_mean": lambda _, columns, __: float(columns["queue"].mean()),
    "queue_std": lambda _, columns, __: float(columns["queue"].std()),
}
"""How each value is taken from the columns of a link."""

READ = (
    Metric(
        "transient",
        "Transient",
        "s",
        "from then on the queue, averaged over 5 s, stays within 10 % of the target, or within the band that the "
        "claim gives around it",
        SHOWN["s"],
    ),
    Metric(
        "stabilisation",
        "Stabilisation",
        "s",
        "from then on the queue, averaged over 5 s, stays within half of the target around its mean over the last 15 s",
        SHOWN["s"],
    ),
    Metric("share", "Share", "ratio", "share of the time in which the queue is between two lengths", PERCENT),
    Metric("lowest_utilisation", "Lowest utilisation", "ratio", "least utilisation over 1 s", PERCENT),
    Metric("p_max", "Greatest p", "ratio", "greatest drop probability", PERCENT),
    Metric("p_std", "Deviation of p", "ratio", "standard deviation of the drop probability", PERCENT),
)
"""The values that runs do not have, and that are read off the series also where a claim gives no times."""
