"""The measures of a run by name. The engine declares them, where it computes them; docs/metrics.md describes them.

A measure has one name everywhere: its place and its metric, `links.bottleneck.queue_delay_p99`, `flows.ftp.goodput`,
`flows.viewers.video.stalls`, `stations.laptop.airtime`, `total.jain`. `link` is the first link of a scenario. A number
that a user's program prints is `program.NAME`.
"""

from collections.abc import Iterable
from dataclasses import replace

from aqmlab.names import unknown
from aqmlab.runs.declared import (
    CallResult,
    FlowResult,
    LinkResult,
    MediaResult,
    SlowdownResult,
    StationResult,
    VideoResult,
)
from aqmlab.runs.metric import Metric, Shown, of

__all__ = [
    "CallResult",
    "FlowResult",
    "LinkResult",
    "MediaResult",
    "Metric",
    "Shown",
    "SlowdownResult",
    "StationResult",
    "VideoResult",
]

PLACES = ("links.", "flows.", "stations.", "total.", "program.")
"""The prefixes of the full names of measures."""

PERCENT = Shown(100, "%", 2)
PROGRAM = "program."
"""The prefix of the numbers that a program prints."""
COUNT = Shown(1, "1", 0)
SHOWN = {
    "ratio": PERCENT,
    "packets": Shown(1, "packets", 1),
    "s": Shown(1, "s", 1),
    "ms": Shown(1, "ms", 2),
}
"""By the unit a value is stored in."""


def _within(result: str, before: str) -> list[Metric]:
    return [replace(metric, name=f"{before}{metric.name}") for metric in of(result)]


class OwnMetric(Metric):
    """A number that a program prints, of any size: people read four digits."""

    def _text(self, value: float) -> str:
        return f"{value:.4g}"


FIRST_LINK = "link."
"""The short form of `links.NAME.` of a scenario's first link."""

DROPS = "drops."
"""The prefix of the reason of a drop; a scheme may have its own reasons; a run without such drops does not list it."""

OF_LINK = (*of("LinkResult"), *_within("drops", DROPS))
"""Everything that is measured of a link."""

OF_FLOWS = (
    *of("FlowResult"),
    *_within("CallResult", "call."),
    *_within("VideoResult", "video."),
    *_within("MediaResult", "media."),
    *_within("SlowdownResult", "slowdown."),
)
"""Everything that is measured of a group of flows, and of all together."""

OF_STATION = of("StationResult")
"""Everything that is measured of the stations of a Wi-Fi cell."""

_OF_LINK = {metric.name: metric for metric in OF_LINK}
_OF_FLOWS = {metric.name: metric for metric in OF_FLOWS}
_KNOWN = {
    "links": _OF_LINK,
    "link": _OF_LINK,
    "flows": _OF_FLOWS,
    "total": _OF_FLOWS,
    "stations": {metric.name: metric for metric in OF_STATION},
}
"""Metrics by the place that they are of."""

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
    if place in ("links", "flows", "stations"):
        name = name.partition(".")[2]
    if measure.startswith(PROGRAM):
        return OwnMetric(name, name, "1", "number that the program prints", COUNT)
    known = _KNOWN.get(place, {})
    if name.startswith(DROPS) and name not in known and known is _OF_LINK:
        reason = name.removeprefix(DROPS)
        return Metric(name, f"Drops, {reason}", "packets", f"packets dropped: {reason}", COUNT)
    if name not in known:
        names = [f"{part}.{name}" for part in ("link", "total") for name in _KNOWN[part]]
        raise unknown("measure", "no measure", measure, names)
    return known[name]


def split(measure: str) -> tuple[str, str]:
    """Return place and metric of a measure: ("links.bottleneck", "queue_mean"), ("total", "jain")."""
    place, _, name = measure.partition(".")
    if place in ("total", "program"):
        return place, name
    of, _, name = name.partition(".")
    return f"{place}.{of}", name


def at(measure: str, link: str) -> str:
    """Return a measure in full: "link.queue_mean" and "queue_mean" refer to `link`."""
    if measure.startswith(PLACES):
        return measure
    return f"links.{link}.{measure.removeprefix(FIRST_LINK)}"


def definitions(metrics: Iterable[Metric]) -> str:
    """Return the text of definitions that belongs under a table of these metrics."""
    return "; ".join(f"{metric.title}: {metric.definition}" for metric in dict.fromkeys(metrics)) + "."
