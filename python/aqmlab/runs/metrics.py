"""The measures of a run, declared once: name, unit, how a number is shown, what is better, the definition in one line.

A measure has one name everywhere: its place and its metric, `links.bottleneck.queue_delay_p99`, `flows.ftp.goodput`,
`flows.viewers.video.stalls`, `total.jain`. `link` is the first link of a scenario. docs/metrics.md describes them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from aqmlab.names import unknown


@dataclass(frozen=True)
class Shown:
    """How people read a value: times `scale`, in `unit`, so many digits after the point, perhaps a power of ten."""

    scale: float
    unit: str
    digits: int
    exponent: bool = False


PERCENT = Shown(100, "%", 2)
MILLISECONDS = Shown(1000, "ms", 1)
RATE = Shown(1e-6, "Mbit/s", 2)
COUNT = Shown(1, "1", 0)
SHOWN = {
    "ratio": PERCENT,
    "packets": Shown(1, "packets", 1),
    "s": Shown(1, "s", 1),
    "ms": Shown(1, "ms", 2),
}
"""By the unit a value is stored in."""


@dataclass(frozen=True)
class Metric:
    """One metric, stored in `unit` (SI or packets) and read as `shown`."""

    name: str
    title: str
    unit: str
    definition: str
    shown: Shown
    better: Literal["more", "less"] | None = None
    """Which value of two is the better one, where it can be said at all."""

    @property
    def heading(self) -> str:
        """Title and unit if it has one, for the head of a column."""
        return self.title if self.shown.unit in ("1", "ratio") else f"{self.title} ({self.shown.unit})"

    def show(self, value: float | None, half_width: float | None = None) -> str:
        """Return the value as people read it, with its half-width if there is one; a dash for None."""
        if value is None:
            return "–"
        text = self._text(value)
        return text if half_width is None else f"{text} ±\N{NO-BREAK SPACE}{self._text(half_width)}"

    def _text(self, value: float) -> str:
        return f"{value * self.shown.scale:.{self.shown.digits}{'e' if self.shown.exponent else 'f'}}"


LINK_METRICS = (
    Metric("utilisation", "Utilisation", "ratio", "bits sent, headers included, over rate × time", PERCENT, "more"),
    Metric("drop_ratio", "Drop ratio", "ratio", "packets dropped over packets that arrived", PERCENT, "less"),
    Metric("mark_ratio", "Mark ratio", "ratio", "packets marked over packets that arrived", PERCENT),
    Metric("queue_mean", "Queue mean", "packets", "time-weighted mean of the packets waiting", SHOWN["packets"]),
    Metric(
        "queue_std",
        "Queue std",
        "packets",
        "time-weighted standard deviation of the packets waiting",
        SHOWN["packets"],
    ),
    Metric(
        "queue_p95",
        "Queue p95",
        "packets",
        "95 % of the time the queue is at most this long",
        SHOWN["packets"],
    ),
    Metric("queue_delay_mean", "Delay mean", "s", "mean time from arrival to start of service", MILLISECONDS, "less"),
    Metric("queue_delay_p99", "Delay p99", "s", "99 % of the packets wait at most this long", MILLISECONDS, "less"),
    Metric(
        "settling_time",
        "Settling",
        "s",
        "from then on the mean queue over 1 s stays within 10 % of the buffer around the target",
        SHOWN["s"],
        "less",
    ),
)
"""The metrics of a link in tables, in their order. The packet in service is not waiting."""

OF_LINK = (
    *LINK_METRICS,
    Metric("queue_delay_std", "Delay std", "s", "standard deviation of the time waited", MILLISECONDS),
    Metric("arrived", "Arrived", "packets", "packets offered to the queue", COUNT),
    Metric("departed", "Departed", "packets", "packets taken into service", COUNT),
    Metric("dropped", "Dropped", "packets", "packets dropped", COUNT),
    Metric("marked", "Marked", "packets", "packets marked", COUNT),
    Metric("drops.overflow", "Overflow", "packets", "packets dropped because the buffer was full", COUNT),
    Metric("drops.early", "Early drops", "packets", "packets dropped by a random draw of the scheme", COUNT),
    Metric("drops.forced", "Forced drops", "packets", "packets dropped because the scheme drops everything", COUNT),
)
"""Everything that is measured of a link."""

OF_FLOWS = (
    Metric("count", "Flows", "1", "connections, sources, sessions or hosts", COUNT),
    Metric("goodput", "Goodput", "bit/s", "payload received by all flows", RATE, "more"),
    Metric("goodput_min", "Goodput min", "bit/s", "least payload that one flow received", RATE, "more"),
    Metric("goodput_p50", "Goodput median", "bit/s", "half of the flows receive at most this payload", RATE, "more"),
    Metric("goodput_max", "Goodput max", "bit/s", "most payload that one flow received", RATE),
    Metric("jain", "Jain", "1", "Jain's index of the flows' goodput", Shown(1, "1", 3), "more"),
    Metric("received", "Received", "packets", "packets received, retransmissions included", COUNT),
    Metric("marked", "Marked", "packets", "packets received with a congestion mark", COUNT),
    Metric("packet_delay_mean", "Packet delay", "s", "mean time from source to destination", MILLISECONDS, "less"),
    Metric(
        "packet_delay_std",
        "Packet delay std",
        "s",
        "standard deviation of the time from source to destination",
        MILLISECONDS,
        "less",
    ),
    Metric("packet_delay_p50", "Packet delay median", "s", "half of the packets take at most this long", MILLISECONDS),
    Metric("packet_delay_p95", "Packet delay p95", "s", "95 % of the packets take at most this long", MILLISECONDS),
    Metric("packet_delay_p99", "Packet delay p99", "s", "99 % of the packets take at most this long", MILLISECONDS),
    Metric("retransmits", "Retransmits", "packets", "segments sent again", COUNT),
    Metric("timeouts", "Timeouts", "1", "expiries of the retransmission timer", COUNT),
    Metric("ecn_reductions", "ECN reductions", "1", "windows reduced for a congestion mark", COUNT),
    Metric("transfers", "Transfers", "1", "transfers that began after the warm-up and are complete", COUNT),
    Metric("fct_mean", "FCT mean", "s", "mean time from the request of a transfer to its last ACK", MILLISECONDS),
    Metric("fct_p50", "FCT median", "s", "half of the transfers take at most this long", MILLISECONDS, "less"),
    Metric("fct_p95", "FCT p95", "s", "95 % of the transfers take at most this long", MILLISECONDS),
    Metric("fct_p99", "FCT p99", "s", "99 % of the transfers take at most this long", MILLISECONDS, "less"),
    Metric("video.segments", "Segments", "1", "segments of video asked for after the warm-up and complete", COUNT),
    Metric("video.bitrate_mean", "Bitrate", "bit/s", "mean bitrate of the segments of video", RATE, "more"),
    Metric("video.switches", "Switches", "1", "changes of the bitrate from one segment to the next", COUNT),
    Metric("video.stalls", "Stalls", "1", "times the playback buffer ran empty", COUNT, "less"),
    Metric("video.stall_time", "Stall time", "s", "time for which the playback buffer was empty", SHOWN["s"], "less"),
)
"""Everything that is measured of a group of flows, and of all together."""

FIRST_LINK = "link."
"""What stands for `links.NAME.` of a scenario's first link."""

DROPS = "drops."
"""Before the reason of a drop, of which a scheme may have its own; a run without such drops does not list it."""

_OF_LINK = {metric.name: metric for metric in OF_LINK}
_OF_FLOWS = {metric.name: metric for metric in OF_FLOWS}


def find(measure: str) -> Metric:
    """Return the metric of a measure such as "links.bottleneck.queue_mean"; InputError with the nearest name."""
    place, _, name = measure.partition(".")
    if place in ("links", "flows"):
        name = name.partition(".")[2]
    known = _OF_FLOWS if place in ("flows", "total") else _OF_LINK
    if name.startswith(DROPS) and name not in known and known is _OF_LINK:
        reason = name.removeprefix(DROPS)
        return Metric(name, f"Drops, {reason}", "packets", f"packets dropped: {reason}", COUNT)
    if place not in ("links", "link", "flows", "total") or name not in known:
        names = [f"{part}.{name}" for part, of in (("link", _OF_LINK), ("total", _OF_FLOWS)) for name in of]
        raise unknown("measure", "no measure", measure, names)
    return known[name]


def split(measure: str) -> tuple[str, str]:
    """Return place and metric of a measure: ("links.bottleneck", "queue_mean"), ("total", "jain")."""
    place, _, name = measure.partition(".")
    if place == "total":
        return place, name
    of, _, name = name.partition(".")
    return f"{place}.{of}", name


def at(measure: str, link: str) -> str:
    """Return a measure in full: that of `link` where "link.queue_mean" or "queue_mean" leaves the link open."""
    if measure.startswith(("links.", "flows.", "total.")):
        return measure
    return f"links.{link}.{measure.removeprefix(FIRST_LINK)}"


def definitions(metrics: Iterable[Metric]) -> str:
    """Return the line of definitions that belongs under a table of these metrics."""
    return "; ".join(f"{metric.title}: {metric.definition}" for metric in metrics) + "."
