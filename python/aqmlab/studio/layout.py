"""The drawing of a scenario: its links from left to right, and the groups of flows that cross them."""

from typing import Any

from aqmlab._core import Scenario
from aqmlab.present.html.topology import columns_of

DETAILS = ("delay", "buffer", "target", "ecn", "aqm", "fixed")
"""The properties of a link in the scenario."""


def layout(scenario: Scenario) -> dict[str, Any]:
    """Return the links and groups of a scenario; quantities as texts with their units, numbers in SI units."""
    resolved = scenario.resolved()
    names = [link["name"] for link in resolved["links"]]
    x = columns_of([group["path"] for group in resolved["flows"]], len(names))
    links = [_link(scenario, link, column) for link, column in zip(resolved["links"], x, strict=True)]
    return {"links": links, "groups": [_group(scenario, group, names) for group in resolved["flows"]]}


def _link(scenario: Scenario, link: dict[str, Any], column: int) -> dict[str, Any]:
    numbers = scenario.link(link["name"])
    return {
        "name": link["name"],
        "x": column,
        "rate": numbers.rate,
        "rate_text": link["rate"] if isinstance(link["rate"], str) else "varies",
        "packets": numbers.buffer,
        "target_packets": numbers.target,
        **{key: link[key] for key in DETAILS},
    }


def _group(scenario: Scenario, group: dict[str, Any], names: list[str]) -> dict[str, Any]:
    numbers = scenario.group(group["name"])
    tcp = group.get("tcp")
    return {
        "name": group["name"],
        "kind": group["kind"],
        "count": numbers.count,
        "rtt": numbers.rtt,
        "rtt_text": group["rtt"],
        "path": [names[link] for link in group["path"]],
        "ack_path": [names[link] for link in group.get("ack_path", [])],
        "ecn": numbers.ecn,
        "law": tcp and str(tcp["congestion_control"]).partition(":")[0],
        "rate": numbers.rate,
        "start": group["groups"][0]["start"],
        "stop": group["groups"][0]["stop"],
    }
