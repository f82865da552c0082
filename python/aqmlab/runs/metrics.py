"""The measures of a run, declared once: name, type, unit, how a number is shown, what is better, a line of definition.

A measure has one name everywhere: its place and its metric, `links.bottleneck.queue_delay_p99`, `flows.ftp.goodput`,
`flows.viewers.video.stalls`, `total.jain`. `link` is the first link of a scenario. docs/metrics.md describes them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal

from aqmlab.names import unknown
from aqmlab.notebook import Sheet


@dataclass(frozen=True)
class Shown:
    """How people read a value: times `scale`, in `unit`, with `digits` after the point, perhaps with an exponent."""

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
    """Which of two values is better, where either is."""

    @property
    def heading(self) -> str:
        """Title and unit if it has one, for the head of a column."""
        return f"{self.title} ({self.unit_shown})" if self.unit_shown else self.title

    @property
    def unit_shown(self) -> str:
        """The unit in which people read it, empty if it has none."""
        return "" if self.shown.unit in ("1", "ratio") else self.shown.unit

    def show(self, value: float | None, half_width: float | None = None) -> str:
        """Return the value as people read it, with its half-width if there is one; a dash for None."""
        if value is None:
            return "–"
        text = self._text(value)
        return text if half_width is None else f"{text} ±\N{NO-BREAK SPACE}{self._text(half_width)}"

    def _text(self, value: float) -> str:
        return f"{value * self.shown.scale:.{self.shown.digits}{'e' if self.shown.exponent else 'f'}}"


declared = partial(Metric, "")
"""The metric of a field, in its annotation; its name is that of the field."""


class Measured:
    """A place's measures; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        metrics = _metrics(type(self))
        rows = [[each.title, each.show(getattr(self, each.name)), each.unit_shown, each.definition] for each in metrics]
        return Sheet("", ("Measure", "Value", "Unit", "What it is"), rows).html()


@dataclass(frozen=True)
class LinkResult(Measured):
    """What is measured of a link after the warm-up; the packet in service is not waiting."""

    utilisation: Annotated[
        float,
        declared(
            "Utilisation",
            "ratio",
            "bits sent, headers included, over what the link could have carried",
            PERCENT,
            "more",
        ),
    ]
    drop_ratio: Annotated[
        float, declared("Drop ratio", "ratio", "packets dropped over packets that arrived", PERCENT, "less")
    ]
    mark_ratio: Annotated[float, declared("Mark ratio", "ratio", "packets marked over packets that arrived", PERCENT)]
    queue_mean: Annotated[
        float, declared("Queue mean", "packets", "time-weighted mean of the packets waiting", SHOWN["packets"])
    ]
    queue_std: Annotated[
        float,
        declared("Queue std", "packets", "time-weighted standard deviation of the packets waiting", SHOWN["packets"]),
    ]
    queue_p95: Annotated[
        int, declared("Queue p95", "packets", "95 % of the time the queue is at most this long", SHOWN["packets"])
    ]
    queue_delay_mean: Annotated[
        float | None, declared("Delay mean", "s", "mean time from arrival to start of service", MILLISECONDS, "less")
    ]
    queue_delay_std: Annotated[
        float | None, declared("Delay std", "s", "standard deviation of the time waited", MILLISECONDS)
    ]
    queue_delay_p99: Annotated[
        float | None, declared("Delay p99", "s", "99 % of the packets wait at most this long", MILLISECONDS, "less")
    ]
    settling_time: Annotated[
        float | None,
        declared(
            "Settling",
            "s",
            "from then on the mean queue over 1 s stays within 10 % of the buffer around the target",
            SHOWN["s"],
            "less",
        ),
    ]
    settling: Sequence[tuple[float, float | None]]
    """For the start and each scripted change: its time, and how long the queue takes to settle."""
    transient: Annotated[
        float | None,
        declared(
            "Transient",
            "s",
            "from then on the mean queue over 5 s stays within 10 % of the buffer around the target",
            SHOWN["s"],
            "less",
        ),
    ]
    queue_mean_settled: Annotated[
        float | None,
        declared("Settled mean", "packets", "mean of the packets waiting after the transient", SHOWN["packets"]),
    ]
    queue_error: Annotated[
        float | None,
        declared(
            "Queue error",
            "ratio",
            "root mean square of the packets waiting less the target, over the target",
            PERCENT,
            "less",
        ),
    ]
    arrived: Annotated[int, declared("Arrived", "packets", "packets offered to the queue", COUNT)]
    departed: Annotated[int, declared("Departed", "packets", "packets taken into service", COUNT)]
    dropped: Annotated[int, declared("Dropped", "packets", "packets dropped", COUNT)]
    marked: Annotated[int, declared("Marked", "packets", "packets marked", COUNT)]
    lost: Annotated[int, declared("Lost", "packets", "packets sent and lost on the wire", COUNT)]
    drops: Mapping[str, int]
    """Dropped packets by reason."""


@dataclass(frozen=True)
class CallResult(Measured):
    """What became of a group's datagrams after the warm-up, and what a G.711 call over them would be like."""

    sent: Annotated[int, declared("Sent", "packets", "datagrams sent", COUNT)]
    loss_ratio: Annotated[
        float, declared("Loss ratio", "ratio", "datagrams that were not received over those sent", PERCENT, "less")
    ]
    r_factor: Annotated[
        float | None,
        declared(
            "R factor",
            "1",
            "transmission rating of a G.711 call that waits for 99 % of the packets (ITU-T G.107)",
            Shown(1, "1", 0),
            "more",
        ),
    ]
    mos: Annotated[
        float | None,
        declared("MOS", "1", "mean opinion score of that call, 1 to 4.5 (ITU-T G.107)", Shown(1, "1", 2), "more"),
    ]


@dataclass(frozen=True)
class VideoResult(Measured):
    """What the viewers of adaptive video saw after the warm-up, together."""

    segments: Annotated[
        int, declared("Segments", "1", "segments of video asked for after the warm-up and complete", COUNT)
    ]
    bitrate_mean: Annotated[
        float | None, declared("Bitrate", "bit/s", "mean bitrate of the segments of video", RATE, "more")
    ]
    switches: Annotated[int, declared("Switches", "1", "changes of the bitrate from one segment to the next", COUNT)]
    stalls: Annotated[int, declared("Stalls", "1", "times the playback buffer ran empty", COUNT, "less")]
    stall_time: Annotated[
        float, declared("Stall time", "s", "time for which the playback buffer was empty", SHOWN["s"], "less")
    ]

    @property
    def bitrate_text(self) -> str:
        """Return the mean bitrate in Mbit/s; a dash if no segment is complete."""
        return "–" if self.bitrate_mean is None else f"{self.bitrate_mean / 1e6:.2f}"


@dataclass(frozen=True)
class FlowResult(Measured):
    """What is measured of a group of flows after the warm-up, or of all; `call` and `video` where that is the kind."""

    count: Annotated[int, declared("Flows", "1", "connections, sources, sessions or hosts", COUNT)]
    goodput: Annotated[float, declared("Goodput", "bit/s", "payload received by all flows", RATE, "more")]
    goodput_min: Annotated[
        float | None, declared("Goodput min", "bit/s", "least payload that one flow received", RATE, "more")
    ]
    goodput_p50: Annotated[
        float | None,
        declared("Goodput median", "bit/s", "half of the flows receive at most this payload", RATE, "more"),
    ]
    goodput_max: Annotated[float | None, declared("Goodput max", "bit/s", "most payload that one flow received", RATE)]
    jain: Annotated[float | None, declared("Jain", "1", "Jain's index of the flows' goodput", Shown(1, "1", 3), "more")]
    received: Annotated[int, declared("Received", "packets", "packets received, retransmissions included", COUNT)]
    marked: Annotated[int, declared("Marked", "packets", "packets received with a congestion mark", COUNT)]
    packet_delay_mean: Annotated[
        float | None, declared("Packet delay", "s", "mean time from source to destination", MILLISECONDS, "less")
    ]
    packet_delay_std: Annotated[
        float | None,
        declared(
            "Packet delay std", "s", "standard deviation of the time from source to destination", MILLISECONDS, "less"
        ),
    ]
    packet_delay_p50: Annotated[
        float | None, declared("Packet delay median", "s", "half of the packets take at most this long", MILLISECONDS)
    ]
    packet_delay_p95: Annotated[
        float | None, declared("Packet delay p95", "s", "95 % of the packets take at most this long", MILLISECONDS)
    ]
    packet_delay_p99: Annotated[
        float | None, declared("Packet delay p99", "s", "99 % of the packets take at most this long", MILLISECONDS)
    ]
    packet_delay_p999: Annotated[
        float | None, declared("Packet delay p99.9", "s", "99.9 % of the packets take at most this long", MILLISECONDS)
    ]
    packet_delay_variation_p99: Annotated[
        float | None,
        declared(
            "Delay variation p99",
            "s",
            "packet delay that 99 % of the packets do not exceed, less the least (RFC 5481)",
            MILLISECONDS,
            "less",
        ),
    ]
    power: Annotated[
        float | None,
        declared("Power", "bit/s^2", "goodput over mean packet delay", Shown(1e-9, "Mbit/s per ms", 3), "more"),
    ]
    retransmits: Annotated[int, declared("Retransmits", "packets", "segments sent again", COUNT)]
    timeouts: Annotated[int, declared("Timeouts", "1", "expiries of the retransmission timer", COUNT)]
    ecn_reductions: Annotated[int, declared("ECN reductions", "1", "windows reduced for a congestion mark", COUNT)]
    transfers: Annotated[
        int, declared("Transfers", "1", "transfers that began after the warm-up and are complete", COUNT)
    ]
    failed: Annotated[int, declared("Failed", "1", "connections given up because no SYN was answered", COUNT, "less")]
    fct_mean: Annotated[
        float | None,
        declared("FCT mean", "s", "mean time from the request of a transfer to its last ACK", MILLISECONDS),
    ]
    fct_p50: Annotated[
        float | None, declared("FCT median", "s", "half of the transfers take at most this long", MILLISECONDS, "less")
    ]
    fct_p95: Annotated[
        float | None, declared("FCT p95", "s", "95 % of the transfers take at most this long", MILLISECONDS)
    ]
    fct_p99: Annotated[
        float | None, declared("FCT p99", "s", "99 % of the transfers take at most this long", MILLISECONDS, "less")
    ]
    call: CallResult | None = None
    video: VideoResult | None = None

    @classmethod
    def of(cls, group: Mapping[str, Any]) -> "FlowResult":
        """Return the typed view of a group, which has `call` and `video` only where that is its kind."""
        parts = {name: of(**group[name]) for name, of in _PARTS.items() if name in group}
        return cls(**{**group, **parts})


_PARTS: Mapping[str, type[CallResult] | type[VideoResult]] = {"call": CallResult, "video": VideoResult}


def _metrics(of: type, before: str = "") -> list[Metric]:
    """Return what the fields of a class declare, in their order."""
    annotations = of.__annotations__.items()
    found = [(name, metric) for name, each in annotations for metric in getattr(each, "__metadata__", ())]
    return [replace(metric, name=f"{before}{name}") for name, metric in found]


OF_LINK = (
    *_metrics(LinkResult),
    Metric("drops.overflow", "Overflow", "packets", "packets dropped because the buffer was full", COUNT),
    Metric("drops.early", "Early drops", "packets", "packets dropped by a random draw of the scheme", COUNT),
    Metric("drops.forced", "Forced drops", "packets", "packets dropped because the scheme drops everything", COUNT),
)
"""Everything that is measured of a link."""

OF_FLOWS = (*_metrics(FlowResult), *_metrics(CallResult, "call."), *_metrics(VideoResult, "video."))
"""Everything that is measured of a group of flows, and of all together."""

FIRST_LINK = "link."
"""What stands for `links.NAME.` of a scenario's first link."""

DROPS = "drops."
"""The prefix of the reason of a drop; a scheme may have its own reasons; a run without such drops does not list it."""

_OF_LINK = {metric.name: metric for metric in OF_LINK}
_OF_FLOWS = {metric.name: metric for metric in OF_FLOWS}

LINK_METRICS = tuple(
    _OF_LINK[name]
    for name in (
        "utilisation",
        "drop_ratio",
        "mark_ratio",
        "lost",
        "queue_mean",
        "queue_std",
        "queue_p95",
        "queue_delay_mean",
        "queue_delay_p99",
        "settling_time",
    )
)
"""The metrics of a link in tables, in their order."""


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
