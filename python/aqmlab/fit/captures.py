"""Two captures of one link, at its two ends: their packets matched, and their clocks fitted to each other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from aqmlab.fit.measurement import FlowRecord, Intervals, LinkDirection, Measurement, PacketLog, Series
from aqmlab.fit.readers.capture import CapturedPackets
from aqmlab.problems import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

MOST_DRIFT = 500e-6
"""Drift between two clocks that can be fitted, s/s; the largest by which NTP slews a clock."""
_BINS = 200
"""Parts of the measurement of which the smallest delay in each direction enters the fit."""
_COLUMNS = ("sent", "arrived", "size", "flow", "sequence", "payload", "ecn", "is_ack", "number")
_EARLY = 1e-3
"""s by which a packet may be faster than the fastest ones, before its match is taken for a mistake."""


@dataclass(frozen=True)
class Clocks:
    """The far clock minus the near one: `offset` in s at the start of the near capture, `drift` in s/s.

    `base_rtt` is the sum of the smallest delays of both directions in s, None if packets of one direction only were
    matched. The offset then contains the smallest delay of this direction. Otherwise it takes the smallest delays of
    both directions for equal.
    """

    offset: float
    drift: float
    base_rtt: float | None


def joined(first: Measurement, second: Measurement) -> Measurement:
    """Return the packets of two captures with the times at both ends, on the clock of the subscriber's.

    If both seem to be of the same side, the first is the subscriber's. A packet that did not reach the other end has no
    `arrived`. A segment that the sender's device split (TSO) counts as the packets that arrived. Raises InputError if
    the captures have no packets in common.
    """
    found = _joined(first, second)
    if found is None:
        raise InputError(
            "file", f"{second.source}: has no packets in common with {first.source}; expected its other end"
        )
    return found


def together(measurements: Sequence[Measurement]) -> tuple[Measurement, ...]:
    """Return measurements in which two captures of both ends of a link are one."""
    found: list[Measurement] = []
    for each in measurements:
        for i, other in enumerate(found):
            is_open = {each.tool, other.tool} == {"pcap"} and "other end" not in other.facts
            if is_open and (both := _joined(other, each)):
                found[i] = both
                break
        else:
            found.append(each)
    return tuple(found)


def _joined(first: Measurement, second: Measurement) -> Measurement | None:
    is_swapped = first.facts.get("side") == "server" and second.facts.get("side") == "subscriber"
    near, far = (second, first) if is_swapped else (first, second)
    start = (far.epoch or 0.0) - (near.epoch or 0.0)
    matched = _all_matched(near, far, start)
    if not matched:
        far = _turned(far)
        matched = _all_matched(near, far, start)
    if not matched:
        return None
    clocks = fitted(*(next((m.certain() for m in matched if m.direction is each), None) for each in LinkDirection))
    facts = {"clock offset": f"{clocks.offset:.6f} s", "clock drift": f"{clocks.drift * 1e6:.1f} ppm"}
    if clocks.base_rtt is None:
        facts["clock offset"] += ", which contains the smallest delay: only one direction has packets in common"
    lost = sum(each.left_over for each in matched)
    unused = (*near.unused, *far.unused, *((f"{lost:,} packets that only the receiver's capture has",) if lost else ()))
    logs = tuple(each.log(clocks) for each in matched)
    flows = (*near.flows, *(_on_near_clock(flow, clocks, start) for flow in far.flows))
    facts |= {**near.facts, "other end": far.source, "other digest": far.digest}
    return replace(near, flows=flows, packets=logs, facts=facts, unused=unused)


def _all_matched(near: Measurement, far: Measurement, start: float) -> "list[_Matched]":
    """Return the packets of each direction that both captures have."""
    ways = ((LinkDirection.up, near, far), (LinkDirection.down, far, near))
    found = (_matched(way, _rows(sender, "sent"), _rows(other, "arrived"), start) for way, sender, other in ways)
    return [each for each in found if each]


def _turned(found: Measurement) -> Measurement:
    """Return a capture as of the other side: if nothing in it answers, its own side is a guess."""
    packets = tuple(replace(log, sent=log.arrived, arrived=log.sent) for log in found.packets)
    flows = tuple(replace(flow, at="receiver" if flow.at == "sender" else "sender") for flow in found.flows)
    return replace(found, packets=packets, flows=flows)


def _on_near_clock(flow: FlowRecord, clocks: Clocks, start: float) -> FlowRecord:
    """Return a transfer that the far end counted, with its times on the near clock."""

    def near(time: "Floats") -> "Floats":
        return (time + start - clocks.offset) / (1 + clocks.drift)

    changed: dict[str, Any] = {}
    for name in ("goodput", "retransmits", "lost", "srtt"):
        match getattr(flow, name):
            case Intervals(begin, end, value):
                changed[name] = Intervals(near(begin), near(end), value)
            case Series(time, value):
                changed[name] = Series(near(time), value)
    return replace(flow, **changed)


def fitted(up: "tuple[Floats, Floats] | None", down: "tuple[Floats, Floats] | None") -> Clocks:
    """Return the clocks from times on the near clock and apparent delays in each direction.

    The lines below all delays of both directions, whose slopes are opposite, are as high as possible (Moon, Skelly and
    Towsley, INFOCOM 1999): a linear program over the smallest delays of parts of the measurement.
    """
    import numpy as np
    from scipy.optimize import linprog

    limits, bounds, gain = [], [], np.zeros(3)
    for column, sign, found in ((0, 1.0, up), (1, -1.0, down)):
        if found is None or not len(found[0]):
            continue
        time, delay = _smallest(*found)
        row = np.zeros((len(time), 3))
        row[:, column], row[:, 2] = 1, sign * time
        limits.append(row)
        bounds.append(delay)
        gain += row.sum(axis=0)
    free, has = (None, None), [bool(gain[0]), bool(gain[1])]
    slope = (-MOST_DRIFT, MOST_DRIFT)
    solved = linprog(
        -gain, np.vstack(limits), np.concatenate(bounds), bounds=[*(free if each else (0, 0) for each in has), slope]
    )
    assert solved.x is not None  # small enough values always satisfy the limits
    base_up, base_down, drift = (float(each) for each in solved.x)
    if all(has):
        return Clocks((base_up - base_down) / 2, drift, base_up + base_down)
    return Clocks(base_up if has[0] else -base_down, drift, None)


def _smallest(time: "Floats", delay: "Floats") -> "tuple[Floats, Floats]":
    """Return the smallest delay of each part of the time, and when it was."""
    import numpy as np

    part = np.minimum((time - time.min()) / max(float(np.ptp(time)), 1e-9) * _BINS, _BINS - 1).astype(int)
    order = np.lexsort((delay, part))
    first = order[np.concatenate(([True], np.diff(part[order]) > 0))]
    return time[first], delay[first]


@dataclass(frozen=True)
class _Matched:
    """Packets of one direction at both ends. `start` is the far epoch minus the near one, s."""

    direction: LinkDirection
    sender: CapturedPackets
    receiver: CapturedPackets
    start: float
    sent: "Integers"
    arrived: "Integers"
    is_certain: "NDArray[np.bool_]"

    @property
    def left_over(self) -> int:
        """The number of packets that the receiver's capture has, and the sender's has not."""
        return len(self.receiver.size) - len(self.arrived)

    def certain(self) -> "tuple[Floats, Floats]":
        """Return times on the near clock, and apparent delays, of packets that were sent and arrived once."""
        sent, arrived = (
            self.sender.sent[self.sent][self.is_certain],
            self.receiver.arrived[self.arrived][self.is_certain],
        )
        if self.direction is LinkDirection.up:
            return sent, arrived + self.start - sent
        return arrived, arrived - sent - self.start

    def log(self, clocks: Clocks) -> PacketLog:
        """Return the log on the near clock. A packet that arrives before the fastest ones could, was not matched."""
        import numpy as np

        sent, arrived = self.sender.sent, np.full(len(self.sender.sent), np.nan)
        arrived[self.sent] = self.receiver.arrived[self.arrived]
        if self.direction is LinkDirection.up:
            arrived = (arrived + self.start - clocks.offset) / (1 + clocks.drift)
        else:
            sent = (sent + self.start - clocks.offset) / (1 + clocks.drift)
        base = 0.0 if clocks.base_rtt is None else clocks.base_rtt / 2
        with np.errstate(invalid="ignore"):
            arrived = np.where(arrived - sent < base - _EARLY, np.nan, arrived)
        fields = {name: getattr(self.sender, name) for name in ("size", "flow", "sequence", "payload", "ecn", "is_ack")}
        return PacketLog(self.direction, sent, arrived, **fields, flows=self.sender.flows)


def _rows(found: Measurement, times: str) -> CapturedPackets | None:
    """Return the packets that a capture saw leave (`sent`) or arrive (`arrived`) at its own side."""
    import numpy as np

    for log in found.packets:
        rows = np.isfinite(getattr(log, times))
        if isinstance(log, CapturedPackets) and rows.any():
            return _chosen(log, rows)
    return None


def _chosen(log: CapturedPackets, rows: "NDArray[np.bool_] | Integers") -> CapturedPackets:
    columns: dict[str, Any] = {name: getattr(log, name)[rows] for name in _COLUMNS}
    return replace(log, **columns)


def _matched(
    direction: LinkDirection, sender: CapturedPackets | None, receiver: CapturedPackets | None, start: float
) -> _Matched | None:
    """Return the packets that both captures have; None if there are none."""
    import numpy as np

    if sender is None or receiver is None:
        return None
    flow = _same_flows(sender, receiver)[receiver.flow]
    receiver = _chosen(replace(receiver, flow=flow), flow >= 0)
    sender = _chosen(sender, np.isin(sender.flow, receiver.flow))
    if not len(sender.size):
        return None
    sender = _as_split(sender, receiver)
    both, inverse = np.unique(np.concatenate((_keys(sender), _keys(receiver))), return_inverse=True)
    one, other = inverse[: len(sender.size)], inverse[len(sender.size) :]
    counts = np.bincount(one, minlength=len(both)), np.bincount(other, minlength=len(both))
    most = int(max(each.max() for each in counts))
    codes = one * most + _rank(one, counts[0]), other * most + _rank(other, counts[1])
    _, sent, arrived = np.intersect1d(codes[0], codes[1], assume_unique=True, return_indices=True)
    if not len(sent):
        return None
    is_certain = (counts[0] == 1)[one[sent]] & (counts[1] == 1)[one[sent]]
    return _Matched(direction, sender, receiver, start, sent, arrived, is_certain) if is_certain.any() else None


def _same_flows(sender: CapturedPackets, receiver: CapturedPackets) -> "Integers":
    """Return for each flow of the receiver the sender's number of it, or -1.

    A flow has the same ends, or, if a router translates addresses, the same first number. UDP without RTP is left out:
    nothing identifies its packets.
    """
    import numpy as np

    ends = {frozenset(name.split(" ")): number for number, name in enumerate(sender.flows)}
    firsts = {(sender.flows[flow].split()[0], number): flow for flow, number in _firsts(sender)}
    found = np.full(len(receiver.flows), -1)
    for flow, number in _firsts(receiver):
        name = receiver.flows[flow]
        if not name.startswith("udp"):
            found[flow] = ends.get(frozenset(name.split(" ")), firsts.get((name.split()[0], number), -1))
    return found


def _firsts(log: CapturedPackets) -> list[tuple[int, int]]:
    """Return each flow, and the number in its first packet."""
    import numpy as np

    flows, rows = np.unique(log.flow, return_index=True)
    return list(zip(flows.tolist(), log.number[rows].tolist(), strict=True))


def _keys(log: CapturedPackets) -> "NDArray[np.uint64]":
    """Return what identifies packets at both ends: flow, number, length, and whether it is an ACK."""
    import numpy as np

    keys = log.flow.astype(np.uint64) << np.uint64(47)
    keys |= log.number.astype(np.uint64) << np.uint64(15)
    keys |= (log.payload.astype(np.uint64) & np.uint64(0x3FFF)) << np.uint64(1)
    keys |= log.is_ack.astype(np.uint64)
    return keys


def _rank(group: "Integers", counts: "Integers") -> "Integers":
    """Return how many packets of the same group follow: the last transmission of a segment is the one that arrived."""
    import numpy as np

    order = np.argsort(group, kind="stable")
    rank = np.empty(len(group), np.int64)
    rank[order] = np.cumsum(counts)[group[order]] - 1 - np.arange(len(group))
    return rank


def _as_split(sender: CapturedPackets, receiver: CapturedPackets) -> CapturedPackets:
    """Return the sender's packets, each segment that its device split replaced by the packets that arrived of it."""
    import numpy as np

    long = np.flatnonzero(sender.payload > receiver.payload.max())
    if not len(long):
        return sender
    parents, children = [], []
    for flow in np.unique(sender.flow[long]):
        own = long[sender.flow[long] == flow]
        own = own[np.argsort(sender.sequence[own], kind="stable")]
        rows = np.flatnonzero((receiver.flow == flow) & (receiver.payload > 0))
        if not len(rows):
            continue
        base = (int(log.number[i]) - int(log.sequence[i]) for log, i in ((receiver, rows[0]), (sender, own[0])))
        shift = (next(base) - next(base) + 2**31) % 2**32 - 2**31
        begin = receiver.sequence[rows] + shift
        at = np.searchsorted(sender.sequence[own], begin, "right") - 1
        holds = (at >= 0) & (begin + receiver.payload[rows] <= (sender.sequence + sender.payload)[own[at]])
        parents.append(own[at[holds]])
        children.append(rows[holds])
    parent, child = np.concatenate(parents), np.concatenate(children)
    columns: dict[str, Any] = {
        name: getattr(sender, name)[parent] for name in ("sent", "arrived", "ecn", "flow", "is_ack")
    }
    columns |= {name: getattr(receiver, name)[child] for name in ("size", "payload", "number")}
    columns["sequence"] = sender.sequence[parent] + (columns["number"] - sender.number[parent]).astype(np.int64)
    kept = _chosen(sender, np.setdiff1d(np.arange(len(sender.size)), parent))
    columns = {name: np.concatenate((getattr(kept, name), columns[name])) for name in _COLUMNS}
    both = replace(sender, **columns)
    return _chosen(both, np.argsort(both.sent, kind="stable"))
