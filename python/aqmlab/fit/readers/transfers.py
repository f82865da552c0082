"""Transfers and pings in a capture: goodput, retransmissions, round-trip times and losses over time."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from aqmlab.fit.measurement import DelayRecord, Direction, FlowRecord, Intervals, Series
from aqmlab.fit.readers.trace import Trace
from aqmlab.fit.readers.vantage import Vantage, round_trips

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

STEP = 0.1
"""Interval over which a transfer is counted, s; longer if there were more than `_MOST_STEPS`."""
MOST_TRANSFERS = 64
"""Flows that are counted, the largest first."""
FEWEST_BYTES = 50_000
"""Payload of a flow that is counted."""
_MOST_STEPS = 36_000


def records(trace: Trace, seen: Vantage) -> tuple[list[FlowRecord], int]:
    """Return the transfers, and how many flows are too small or too many to be counted."""
    import numpy as np

    sizes = np.bincount(trace.flow, trace.payload, len(trace.flows)).tolist()
    carrying = [n for n, flow in enumerate(trace.flows) if flow.protocol != "icmp" and sizes[n]]
    chosen = [n for n in sorted(carrying, key=lambda n: (-sizes[n], n)) if sizes[n] >= FEWEST_BYTES][:MOST_TRANSFERS]
    found = []
    for number in chosen:
        flow, origin = trace.flows[number], int(trace.time[0])
        duration = (trace.time[flow.rows[-1]] - trace.time[flow.rows[0]]) / 1e9
        step = max(STEP, duration / _MOST_STEPS)
        edges = (trace.time[flow.rows[0]] - origin) / 1e9 + np.arange(int(duration / step) + 1) * step
        if len(edges) > 2:
            found.append(_transfer(trace, number, seen, edges, origin))
    return found, len(carrying) - len(found)


def _transfer(trace: Trace, number: int, seen: Vantage, edges: "NDArray[np.float64]", origin: int) -> FlowRecord:
    import numpy as np

    flow, is_leaving = trace.flows[number], seen.is_leaving[number]
    data = flow.rows[trace.payload[flow.rows] > 0]
    sizes, counts = np.unique(trace.payload[data], return_counts=True)
    other = trace.flows[flow.reverse] if flow.reverse is not None else None
    retransmits = srtt = lost = None
    counted, weight = data, trace.payload[data].astype(np.int64)
    if flow.protocol == "tcp" and is_leaving:
        before = np.maximum.accumulate(trace.sequence[data] + trace.payload[data])[:-1]
        again = data[1:][trace.sequence[data[1:]] < before]
        retransmits = _per_interval(trace, again, np.ones(len(again)), edges, origin, rate=False)
        if other is not None and trace.ack[other.rows].any():
            counted = other.rows
            weight = np.diff(np.maximum.accumulate(trace.ack[counted]), prepend=trace.ack[counted[0]])
            at, wait = round_trips(trace, flow, other)
            srtt = Series((at - origin) / 1e9, wait / 1e9)
    if flow.protocol == "rtp" and not is_leaving:
        highest = np.maximum.accumulate(trace.sequence[data])
        lost = _per_interval(trace, data, np.diff(highest, prepend=highest[0] - 1) - 1, edges, origin, rate=False)
    return FlowRecord(
        flow.name,
        Direction.up if seen.is_up[number] else Direction.down,
        "tcp" if flow.protocol == "tcp" else "udp",
        _per_interval(trace, counted, weight * 8, edges, origin, rate=True),
        at="sender" if is_leaving else "receiver",
        retransmits=retransmits,
        lost=lost,
        srtt=srtt,
        segment=int(sizes[np.argmax(counts)]),
    )


def _per_interval(
    trace: Trace, rows: "Integers", weight: "NDArray[Any]", edges: "NDArray[np.float64]", origin: int, *, rate: bool
) -> Intervals:
    """Return the sum of the weights in each interval, or the sum per second."""
    import numpy as np

    sums, _ = np.histogram((trace.time[rows] - origin) / 1e9, edges, weights=weight)
    return Intervals(edges[:-1], edges[1:], sums / np.diff(edges) if rate else sums)


def pings(trace: Trace, seen: Vantage) -> Iterator[DelayRecord]:
    """Yield the round-trip times of the pings that the near side sent; NaN for those without an answer."""
    import numpy as np

    for number, flow in enumerate(trace.flows):
        if flow.protocol != "icmp" or not seen.is_leaving[number]:
            continue
        requests = flow.rows[trace.flags[flow.rows] == 1]
        if len(requests) < 2:
            continue
        sent, delay = trace.time[requests], np.full(len(requests), np.nan)
        if flow.reverse is not None:
            other = trace.flows[flow.reverse]
            shift = (trace.first[flow.reverse] - trace.first[number] + 2**15) % 2**16 - 2**15
            wanted, order = trace.sequence[requests], np.argsort(trace.sequence[other.rows], kind="stable")
            answers = other.rows[order]
            at = np.minimum(np.searchsorted(trace.sequence[answers] + shift, wanted), len(answers) - 1)
            matched = trace.sequence[answers[at]] + shift == wanted
            delay[matched] = (trace.time[answers[at]] - sent)[matched] / 1e9
        size = int(trace.size[requests[0]])
        yield DelayRecord(flow.name, (sent - trace.time[0]) / 1e9, delay, size=size, ecn=int(trace.ecn[requests[0]]))
