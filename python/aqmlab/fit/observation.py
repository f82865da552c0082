"""The view of a measurement that estimators and simulations share: one direction under load, with its probes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aqmlab.fit.measurement import Intervals, LinkDirection, Series

if TYPE_CHECKING:
    from aqmlab.fit.measurement import Floats

ECT1 = 1
"""The ECN field by which L4S identifies its packets."""


@dataclass(frozen=True)
class Load:
    """Transfers in one direction: `streams` under a congestion `controller`, for `duration` s, and probes meanwhile.

    `every` is the interval of the probes in s and `size` their IP packet in bytes; `l4s` says that there are also
    probes with ECT(1). `report` is the interval of the transfers' counts, s, and `payload` the bytes of a segment.
    The probes begin `lead` s before the load, and are `rounded` as ping prints them.
    `start` is a Unix time, if the files state it. `opposite` is a load of the other direction at the same time.
    """

    direction: LinkDirection
    streams: int
    duration: float
    every: float
    size: int = 84
    l4s: bool = False
    report: float = 0.1
    payload: int = 1448
    controller: str = "cubic"
    lead: float = 1.0
    rounded: bool = False
    start: float = 0.0
    opposite: "Load | None" = None

    def edges(self) -> "Floats":
        """Return the ends of the reports, s, from 0 on."""
        import numpy as np

        return np.arange(round(self.duration / self.report) + 1, dtype=np.float64) * self.report


@dataclass(frozen=True)
class Observation:
    """One direction under load: all times count from the start of the load, s.

    `probes` are round-trip times by the time of sending, `l4s` the same for probes with ECT(1). `goodput` is the sum
    over all streams in bit/s. `srtt` is the smoothed round-trip time of each stream in s, `retransmits` the
    sum in segments.
    """

    load: Load
    probes: Series
    goodput: Intervals
    l4s: Series | None = None
    srtt: tuple[Series, ...] = ()
    retransmits: Intervals | None = None


@dataclass(frozen=True)
class Observations:
    """All that files say of one line: each loaded direction, and the idle round-trip times in s."""

    loads: tuple[Observation, ...]
    idle: "Floats"
    size: int = 84
