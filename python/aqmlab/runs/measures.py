"""The measures of a scenario: their names, with globs, and the measures that are shown by default."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from aqmlab._core import Group, Scenario
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.runs.metric import of
from aqmlab.runs.metrics import DROPS, FIRST_LINK, OF_FLOWS, OF_LINK, OF_STATION, PROGRAM, Metric, at, find, split

SLOWDOWN = "slowdown."
ONLY_OF = {
    "call.": ("udp-cbr", "udp-onoff", "media"),
    "media.": ("media",),
    "video.": ("video",),
    SLOWDOWN: ("short", "http", "video"),
}
"""The kinds of traffic that alone have the metrics with these names."""

USUAL = {
    "ftp": ("goodput", "jain"),
    "quic": ("goodput", "jain"),
    "app-limited": ("goodput", "packet_delay_p99"),
    "udp-cbr": ("packet_delay_p99", "call.loss_ratio"),
    "udp-onoff": ("packet_delay_p99", "call.loss_ratio"),
    "media": ("goodput", "media.frame_delay_p95", "media.freezes"),
    "http": ("fct_p50", "fct_p95"),
    "short": ("fct_p50", "fct_p95"),
    "video": ("video.bitrate_mean", "video.stall_time"),
}
"""The measures shown of a group, by its kind of traffic."""

SPEECH = (0.010, 0.060)
"""Seconds between its packets, and at most 128 kbit/s: traffic that is treated as a call, whose quality is shown."""


def every(scenario: Scenario) -> list[str]:
    """Return the names of all measures of a scenario's runs, but for reasons of drops that only some schemes have."""
    groups = [scenario.group(name) for name in scenario.flows]
    return [
        *(f"links.{link}.{metric.name}" for link in scenario.links for metric in OF_LINK),
        *(f"flows.{group.name}.{metric.name}" for group in groups for metric in OF_FLOWS if _has(group, metric)),
        *(f"stations.{station}.{metric.name}" for station in scenario.stations for metric in OF_STATION),
        *(f"total.{metric.name}" for metric in OF_FLOWS if not metric.name.startswith(tuple(ONLY_OF))),
    ]


def of_program(scenario: Scenario, names: Iterable[str]) -> list[str]:
    """Return the names of all measures of a program's runs on the scenario's link, its own first."""
    links = [f"links.{link}.{metric.name}" for link in scenario.links for metric in OF_LINK]
    groups = [f"{group}.{metric.name}" for group in ("flows.up", "flows.down", "total") for metric in of("FlowResult")]
    return [*(f"{PROGRAM}{name}" for name in names), *links, *groups]


def _has(group: Group, metric: Metric) -> bool:
    if metric.name.startswith(SLOWDOWN) and not group.on_fabric:
        return False
    return all(not metric.name.startswith(of) or group.kind in kinds for of, kinds in ONLY_OF.items())


def of_first_link(names: Iterable[str], link: str) -> list[str]:
    """Return the names "link.METRIC" of the measures of `link` among `names`."""
    prefix = f"links.{link}."
    return [f"{FIRST_LINK}{name.removeprefix(prefix)}" for name in names if name.startswith(prefix)]


def usual(scenario: Scenario) -> list[str]:
    """Return the measures of flows that tell most about a scenario, by the kinds of its traffic."""
    groups = [scenario.group(name) for name in scenario.flows]
    return [f"flows.{group.name}.{name}" for group in groups for name in _usual(group)]


def _usual(group: Group) -> Sequence[str]:
    if group.kind == "udp-cbr" and is_call(group):
        return (*USUAL[group.kind], "call.mos")
    return [name for name in USUAL[group.kind] if name != "jain" or group.count > 1]


def is_call(group: Group) -> bool:
    """Return whether datagrams of a constant rate are what a telephone sends."""
    rate = group.rate or 0.0
    return 0 < rate <= 128e3 and SPEECH[0] <= 8 * (group.payload + group.header) / rate <= SPEECH[1]


def expand(patterns: Iterable[str], names: Sequence[str], link: str | None = None) -> list[str]:
    """Return the requested measures, in order, each once.

    A pattern is a name or has `*`, `?` or `[...]` in it; if `link` is given, "link.queue_mean" and "queue_mean" refer
    to that link. Raises InputError, with the nearest name, for a pattern that fits none of `names`.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        full = pattern if link is None or pattern.startswith("*") else at(pattern, link)
        fitting = [name for name in names if fnmatchcase(name, full)]
        if not fitting and f".{DROPS}" in full and full.partition(f".{DROPS}")[0] in {split(name)[0] for name in names}:
            fitting = [full]  # a reason that only some schemes have
        if not fitting and set(pattern) & set("*?["):
            raise InputError("measure", f"{pattern}: matches no measure; known, for example: {', '.join(names[:5])}")
        if not fitting:
            of_link = {f"link.{split(name)[1]}" for name in names if link is not None and name.startswith("links.")}
            raise unknown("measure", "no measure", pattern, {*names, *of_link, *(split(name)[1] for name in names)})
        found.update(dict.fromkeys(fitting))
    return list(found)


def heading(measure: str) -> str:
    """Return place, title and unit of a measure, for the head of a column: "voice: Packet delay p99 (ms)".

    The place is left out where it is the first link ("link.") or all flows.
    """
    of = "" if measure.startswith((FIRST_LINK, "total.", PROGRAM)) else f"{split(measure)[0].partition('.')[2]}: "
    return f"{of}{find(measure).heading}"
