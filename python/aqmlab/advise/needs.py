"""The needs of users, and the measures of a scenario that represent them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aqmlab._core import Group, Scenario
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.runs.measures import heading, is_call
from aqmlab.runs.metrics import Metric, find, split

NEEDS = {
    "latency": "the delay of calls, games and pings, and the quality of calls",
    "transfers": "the completion times of pages and short transfers, and the bitrates of films and calls",
    "throughput": "the total goodput of each link that long transfers cross",
    "fairness": "Jain's index of the long transfers of a group",
}
"""Each with its measures."""

EVERYTHING = "everything"


TOGETHER = " + "
"""Between measures that are added up."""


@dataclass(frozen=True)
class Sign:
    """A measure of a scenario that represents a need, and whether more of it is better.

    `measure` may be a sum of several, written with " + "; `link` is their link, if they belong to one.
    """

    need: str
    measure: str
    more: bool
    link: str = ""

    @property
    def measures(self) -> list[str]:
        """The measures that are added up."""
        return self.measure.split(TOGETHER)

    @property
    def metric(self) -> Metric:
        """The metric that they are of."""
        return find(self.measures[0])

    @property
    def place(self) -> str:
        """The link or the group of flows that it is a measure of."""
        return self.link or split(self.measure)[0].partition(".")[2]

    @property
    def heading(self) -> str:
        """Place, title and unit, for the head of a column or row."""
        return f"{self.link}: {self.metric.heading}" if self.link else heading(self.measure)


def chosen(text: str) -> tuple[str, ...]:
    """Return the needs of a list such as "latency,fairness"; "everything" is all of them. InputError for others."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in (*NEEDS, EVERYTHING):
            raise unknown("for", "no need", name, [*NEEDS, EVERYTHING])
    if EVERYTHING in names and len(names) > 1:
        raise InputError("for", f"{text}: everything is all of {', '.join(NEEDS)}; name it alone, or some of them")
    return tuple(NEEDS) if names == [EVERYTHING] else tuple(dict.fromkeys(names))


def signs(scenario: Scenario, needs: Sequence[str]) -> list[Sign]:
    """Return the measures that represent these needs in a scenario."""
    groups = [scenario.group(name) for name in scenario.flows]
    found = [
        Sign("throughput", TOGETHER.join(f"flows.{name}.goodput" for name in names), more=True, link=link)
        for link, names in filled_links(scenario).items()
    ]
    found += [sign for group in groups for sign in _of_group(group)]
    return [sign for sign in found if sign.need in needs]


def sparse_groups(scenario: Scenario) -> list[str]:
    """Return the sparse groups of flows, whose packet delay represents latency."""
    groups = [scenario.group(name) for name in scenario.flows]
    return [group.name for group in groups if any(sign.need == "latency" for sign in _of_group(group))]


def filled_links(scenario: Scenario) -> dict[str, list[str]]:
    """Return the links that long transfers cross, and so can fill, with all groups of flows that cross them."""
    crossing: dict[str, list[str]] = {}
    filled = set()
    for name, flow in zip(scenario.flows, scenario.resolved()["flows"], strict=True):
        for link in dict.fromkeys(scenario.links[i] for i in flow["path"]):
            crossing.setdefault(link, []).append(name)
            filled |= {link} if flow["kind"] == "ftp" else set()
    return {link: crossing[link] for link in scenario.links if link in filled}


def _of_group(group: Group) -> Iterable[Sign]:
    place = f"flows.{group.name}"
    match group.kind:
        case "udp-cbr" | "udp-onoff":
            yield Sign("latency", f"{place}.packet_delay_p99", more=False)
            if is_call(group):
                yield Sign("latency", f"{place}.call.mos", more=True)
        case "media":
            yield Sign("latency", f"{place}.media.frame_delay_p95", more=False)
            yield Sign("transfers", f"{place}.goodput", more=True)
        case "app-limited":
            yield Sign("latency", f"{place}.packet_delay_p99", more=False)
        case "http" | "short":
            yield Sign("transfers", f"{place}.fct_p95", more=False)
        case "video":
            yield Sign("transfers", f"{place}.video.bitrate_mean", more=True)
        case _ if group.count > 1:
            yield Sign("fairness", f"{place}.jain", more=True)
