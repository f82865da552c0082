"""The side of a link at which a capture was taken: the hosts there, and whether they are the subscriber's."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_network
from typing import TYPE_CHECKING

from aqmlab.fit.readers.headers import ACK, SYN
from aqmlab.fit.readers.trace import Address, Flow, Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

_MOST = 200
"""Connections whose response times are compared, the largest first."""
_LOCAL = 2_000_000
"""ns in which a host on the near side answers, if only one direction has answers."""
_PRIVATE = [
    ip_network(each) for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16")
]
_PRIVATE += [ip_network(each) for each in ("fc00::/7", "fe80::/10")]


@dataclass(frozen=True)
class Vantage:
    """For each flow of a trace, by number: whether its source is near the capture, and whether it leads up."""

    is_leaving: tuple[bool, ...]
    is_up: tuple[bool, ...]
    facts: dict[str, str]


def vantage(trace: Trace) -> Vantage:
    """Return the near side by cooked headers and by response times, which are short there; else by private addresses.

    The near side is the subscriber's, unless only the far side has private addresses or most bytes belong to
    connections that the far side opened.
    """
    import numpy as np

    count = len(trace.flows)
    packets, payload = np.bincount(trace.flow, minlength=count), np.bincount(trace.flow, trace.payload, count)
    cooked = np.bincount(trace.flow, np.array([0, 1, -1])[trace.is_sent], count)
    near: dict[Address, float] = {}
    for flow, sent in zip(trace.flows, cooked.tolist(), strict=True):
        near[flow.source] = near.get(flow.source, 0) + sent
        near[flow.destination] = near.get(flow.destination, 0) - sent
    if not cooked.any():
        for one, other in _largest(trace):
            if (is_near := _is_near(trace, one, other)) is not None:
                weight = len(one.rows) + len(other.rows)
                near[one.source] += weight if is_near else -weight
                near[other.source] -= weight if is_near else -weight
    leaving = tuple(_leaves(trace, number, near) for number in range(count))
    is_home = _score(trace, leaving, (payload + packets).tolist()) >= 0
    counts: dict[Address, int] = {}
    for flow, is_leaving, seen in zip(trace.flows, leaving, packets.tolist(), strict=True):
        host = flow.source if is_leaving else flow.destination
        counts[host] = counts.get(host, 0) + seen
    facts = {"captured near": str(max(counts, key=counts.__getitem__)), "side": "subscriber" if is_home else "server"}
    return Vantage(leaving, tuple(each == is_home for each in leaving), facts)


@lru_cache(2**16)
def is_private(address: Address) -> bool:
    """Return whether only a local network uses the address."""
    return any(address in each for each in _PRIVATE if each.version == address.version)


def _largest(trace: Trace) -> Iterator[tuple[Flow, Flow]]:
    """Yield the largest TCP connections, of each the flow that was seen first."""
    pairs = [
        (flow, trace.flows[flow.reverse])
        for number, flow in enumerate(trace.flows)
        if flow.protocol == "tcp" and flow.reverse is not None and number < flow.reverse
    ]
    yield from sorted(pairs, key=lambda pair: -len(pair[0].rows) - len(pair[1].rows))[:_MOST]


def _is_near(trace: Trace, one: Flow, other: Flow) -> bool | None:
    """Return whether the source of one flow is nearer than its destination; None if they do not show it."""
    there, back = _handshake(trace, one, other) or (_response(trace, one, other), _response(trace, other, one))
    if there is None:
        return None if back is None else back <= _LOCAL
    return there > (_LOCAL if back is None else back)


def _handshake(trace: Trace, one: Flow, other: Flow) -> tuple[int, int] | None:
    """Return the times from SYN to SYN-ACK and from there to the ACK, ns, as `one` sees them; None without either."""
    for client, server in ((one, other), (other, one)):
        flags, times = trace.flags[client.rows], trace.time[client.rows]
        answers = server.rows[trace.flags[server.rows] & (SYN | ACK) == SYN | ACK]
        if not len(answers):
            continue
        at = trace.time[answers[0]]
        opened = times[(flags & (SYN | ACK) == SYN) & (times <= at)]
        done = times[(flags & (SYN | ACK) == ACK) & (times >= at)]
        if len(opened) and len(done):
            found = int(at - opened[-1]), int(done[0] - at)
            return found if client is one else (found[1], found[0])
    return None


def _response(trace: Trace, one: Flow, other: Flow) -> int | None:
    """Return the shortest time from data to its acknowledgement, ns."""
    times = round_trips(trace, one, other)[1]
    return int(times.min()) if len(times) else None


def round_trips(trace: Trace, one: Flow, other: Flow) -> "tuple[Integers, Integers]":
    """Return the times of acknowledgements and the times since the data that they acknowledge was sent, ns.

    Only data that was sent once counts (Karn's algorithm), and only the acknowledgement that is first to cover it.
    """
    import numpy as np

    rows = one.rows[trace.payload[one.rows] > 0]
    if not len(rows) or not len(other.rows):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    begin, end = trace.sequence[rows], trace.sequence[rows] + trace.payload[rows]
    highest = np.maximum.accumulate(end)
    is_new = np.concatenate(([True], begin[1:] >= highest[:-1]))
    lowest = np.minimum.accumulate(begin[::-1])[::-1]
    is_once = is_new & np.concatenate((lowest[1:] >= end[:-1], [True]))
    acked = np.maximum.accumulate(trace.ack[other.rows])
    at = np.searchsorted(acked, end)
    valid = is_once & (at < len(acked))
    valid[:-1] &= (at[:-1] != at[1:]) | ~is_once[1:]  # of several that one ACK covers, the last
    answered = trace.time[other.rows[at[valid]]]
    wait = answered - trace.time[rows[valid]]
    return answered[wait > 0], wait[wait > 0]


def _leaves(trace: Trace, number: int, near: dict[Address, float]) -> bool:
    """Return whether the source of a flow is near."""
    flow = trace.flows[number]
    source, destination = near[flow.source], near[flow.destination]
    if source != destination:
        return source > destination
    if is_private(flow.source) != is_private(flow.destination):
        return is_private(flow.source)
    return flow.reverse is None or number < flow.reverse


def _score(trace: Trace, leaving: tuple[bool, ...], weights: list[float]) -> float:
    """Return by how much the near side is the subscriber's rather than the far side."""
    score = 0.0
    for flow, is_leaving, weight in zip(trace.flows, leaving, weights, strict=True):
        if is_private(flow.source) != is_private(flow.destination):
            score += weight if is_leaving == is_private(flow.source) else -weight
        elif len(flow.rows) and trace.flags[flow.rows[0]] & SYN and flow.protocol == "tcp":
            is_opener = not trace.flags[flow.rows[0]] & ACK
            score += weight if is_leaving == is_opener else -weight
    return score
