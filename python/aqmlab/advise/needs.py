"""What matters to people, and which measures of a scenario tell of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aqmlab._core import Group, InputError, Scenario
from aqmlab.names import unknown
from aqmlab.runs.measures import is_call

NEEDS = {
    "latency": "the delay of calls, games and pings, and the quality of calls",
    "transfers": "the completion times of pages and short transfers, and the bitrate of films",
    "throughput": "the use of the links that long transfers cross",
    "fairness": "equal rates of the transfers of a group",
}
"""Each with what is looked at."""

EVERYTHING = "everything"


@dataclass(frozen=True)
class Sign:
    """A measure of a scenario that tells of a need, and whether more of it is better."""

    need: str
    measure: str
    more: bool


def chosen(text: str) -> tuple[str, ...]:
    """Return the needs of a list such as "latency,fairness"; "everything" is all of them. InputError for others."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in (*NEEDS, EVERYTHING):
            raise unknown("for", "no need", name, [*NEEDS, EVERYTHING])
    if EVERYTHING in names and len(names) > 1:
        raise InputError(f"for: {text}: everything is all of {', '.join(NEEDS)}; name it alone, or some of them")
    return tuple(NEEDS) if names == [EVERYTHING] else tuple(dict.fromkeys(names))


def signs(scenario: Scenario, needs: Sequence[str]) -> list[Sign]:
    """Return what tells of these needs in a scenario."""
    groups = [scenario.group(name) for name in scenario.flows]
    found = [Sign("throughput", f"links.{link}.utilisation", more=True) for link in _filled(scenario)]
    found += [sign for group in groups for sign in _of_group(group)]
    return [sign for sign in found if sign.need in needs]


def _filled(scenario: Scenario) -> list[str]:
    """Return the links that long transfers cross, and so can fill."""
    crossed = {link for flow in scenario.resolved()["flows"] if flow["kind"] == "ftp" for link in flow["path"]}
    return [name for i, name in enumerate(scenario.links) if i in crossed]


def _of_group(group: Group) -> Iterable[Sign]:
    place = f"flows.{group.name}"
    match group.kind:
        case "udp-cbr" | "udp-onoff":
            yield Sign("latency", f"{place}.packet_delay_p99", more=False)
            if is_call(group):
                yield Sign("latency", f"{place}.call.mos", more=True)
        case "http" | "short":
            yield Sign("transfers", f"{place}.fct_p95", more=False)
        case "video":
            yield Sign("transfers", f"{place}.video.bitrate_mean", more=True)
        case _ if group.count > 1:
            yield Sign("fairness", f"{place}.jain", more=True)
