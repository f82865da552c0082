"""The network of a control loop: one link and the classes of long-lived TCP flows that share it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aqmlab._core import Group, Scenario
from aqmlab.problems import InputError
from aqmlab.scenario import load

QUANTILES = 16
"""Classes that a uniform distribution of round-trip times is divided into."""


@dataclass(frozen=True)
class FlowClass:
    """Long-lived flows whose round trip without queueing, the sending of a packet included, is `rtt` s."""

    flows: float
    rtt: float


@dataclass(frozen=True)
class Network:
    """A link and its flows; `packet` is the size on the wire (B), `window` the receivers' (packets).

    `target` and `buffer` are in packets. A buffer that the scenario has in bytes is that many packets of this size;
    `buffer_bytes` is its size in bytes.
    """

    rate: float
    packet: float
    target: float
    buffer: float
    ecn: bool
    window: float
    classes: tuple[FlowClass, ...]
    buffer_bytes: int | None = None

    @property
    def capacity(self) -> float:
        """Packets per second that the link sends."""
        return self.rate / (8 * self.packet)

    @property
    def flows(self) -> float:
        """Flows of all classes."""
        return sum(each.flows for each in self.classes)

    @property
    def longest(self) -> float:
        """Longest round-trip time without queueing, s."""
        return max(each.rtt for each in self.classes)

    def scaled(self, *, rate: float = 1.0, rtt: float = 1.0, flows: float = 1.0) -> "Network":
        """Return the network with rate, round-trip times and flows multiplied; target and buffer stay, in packets."""
        classes = tuple(FlowClass(flows * each.flows, rtt * each.rtt) for each in self.classes)
        return replace(self, rate=rate * self.rate, classes=classes)


def described(
    rate: str,
    rtt: str,
    flows: int,
    packet: str,
    target: str | None,
    values: Mapping[str, str],
    *,
    ecn: bool,
    buffer: str = "2 bdp",
) -> Scenario:
    """Return the scenario of SACK flows over one link.

    `target` is by default the scenario's own, a third of the buffer; `values` replace others by their paths.
    """
    link = {"name": "bottleneck", "rate": str(rate), "buffer": str(buffer)} | ({"target": target} if target else {})
    tcp = {"variant": "sack", "profile": "rfc"}
    group = {"name": "ftp", "count": flows, "rtt": str(rtt), "packet": str(packet), "ecn": ecn, "tcp": tcp}
    title = "One link and long-lived flows"
    document = {"schema": 1, "title": title, "duration": "100 s", "links": [link], "flows": [group]}
    return Scenario.of(document, "network", list(values.items()))


def network(source: str | Scenario) -> Network:
    """Return the network of a scenario's first link.

    InputError where the model has no place for something: several queues in a path, traffic other than long-lived TCP,
    flows that stop, a rate that changes, impairments, round-trip times of other distributions than constant and
    uniform.
    """
    loaded = load(source)
    groups = [loaded.group(name) for name in loaded.flows]
    link = loaded.link(loaded.links[0])
    if len(loaded.links) > 1:
        raise InputError("links", f"{len(loaded.links)} links; the model has one queue")
    if link.rate_changes:
        raise InputError(f"links.{link.name}.rate", "changes; the model is linearised at one rate")
    if link.has_layer:
        raise InputError(f"links.{link.name}.overhead", "the model does not support link layers; leave it out")
    for key in link.impairments:
        raise InputError(
            f"links.{link.name}.{key}", "impairments of the wire; the model's only signals are the queue's"
        )
    for group in groups:
        _check(group)
    sizes = {group.payload + group.header for group in groups}
    ecn = {group.ecn and link.ecn for group in groups}
    if len(sizes) > 1 or len(ecn) > 1:
        raise InputError("flows", "packet sizes or ECN differ between groups; the model has one of each")
    made = Network(
        rate=link.rate,
        packet=sizes.pop(),
        target=link.target,
        buffer=link.buffer,
        buffer_bytes=link.buffer_bytes,
        ecn=ecn.pop(),
        window=min(group.window for group in groups),
        classes=tuple(each for group in groups for each in _classes(group, link.rate)),
    )
    _check_access(made, groups)
    return made


def _check(group: Group) -> None:
    where = f"flows.{group.name}"
    if group.kind != "ftp":
        raise InputError(
            f"{where}.kind", f'"{group.kind}" is not a long-lived TCP flow; the model supports only these ("ftp")'
        )
    if group.acks_queue:
        raise InputError(f"{where}.ack_path", "ACKs that queue; the model's return path is a delay")
    if group.delayed_ack:
        raise InputError(
            f"{where}.tcp.delayed_ack",
            'true; the model\'s window grows by one packet a round trip; write false, or tcp = "sack"',
        )
    if group.stops:
        raise InputError(f"{where}.stop", "flows that stop; the model is linearised at one number of flows")


def _check_access(made: Network, groups: Sequence[Group]) -> None:
    rates = [None if group.access_rate is None else group.access_rate * group.count for group in groups]
    if all(rate is not None for rate in rates) and sum(rate or 0 for rate in rates) <= made.rate:
        raise InputError("flows", "access links together are no faster than the link; no queue, no operating point")


def _classes(group: Group, rate: float) -> list[FlowClass]:
    bits = 8 * (group.payload + group.header)
    sending = bits / rate + (bits / group.access_rate if group.access_rate else 0)
    if group.rtt is not None:
        return [FlowClass(group.count, group.rtt + sending)]
    if group.rtt_range is None:
        raise InputError(f"flows.{group.name}.rtt", "the model supports a constant or a uniform distribution")
    low, high = group.rtt_range
    step = (high - low) / QUANTILES
    return [FlowClass(group.count / QUANTILES, low + (i + 0.5) * step + sending) for i in range(QUANTILES)]
