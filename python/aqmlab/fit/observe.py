"""Observations from measurements: the loads in them, and the probes before, during and after each load."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aqmlab.fit.measurement import DelayRecord, FlowRecord, Intervals, LinkDirection, Measurement, Series
from aqmlab.fit.observation import ECT1, Load, Observation, Observations
from aqmlab.fit.twin import FULL

if TYPE_CHECKING:
    from aqmlab.fit.measurement import Floats

LEAD = 5.0
"""Time before a load from which its probes are taken, s."""
MARGIN = 2.0
"""Time around a load in which probes do not count as idle, s: iperf3 states whole seconds, and a queue drains."""
SHORTEST_REPORT = 0.1
"""Intervals of a transfer shorter than this are added up, s."""


@dataclass(frozen=True)
class _Transfers:
    """TCP flows of one direction: from `start`, a Unix time, for `duration` s; `own` is their start on their clock."""

    direction: LinkDirection
    flows: tuple[FlowRecord, ...]
    start: float
    duration: float
    own: float

    @property
    def end(self) -> float:
        return self.start + self.duration

    @property
    def senders(self) -> list[FlowRecord]:
        return [flow for flow in self.flows if flow.at == "sender"]

    @property
    def counted(self) -> list[FlowRecord]:
        """The flows whose goodput counts: the receiver's, else the sender's."""
        return [flow for flow in self.flows if flow.at == "receiver"] or self.senders


@dataclass(frozen=True)
class _Probes:
    """Probes on the common clock, and the tool that sent them."""

    tool: str
    record: DelayRecord
    sent: "Floats"

    def around(self, load: _Transfers) -> Series:
        """Return the probes from LEAD before a load to its end; times count from its start."""
        time = self.sent - load.start
        near = (time >= -LEAD) & (time <= load.duration)
        return Series(time[near], self.record.delay[near])


def observed(measurements: Sequence[Measurement]) -> Observations:
    """Return the loads that files contain, with the probes around each, and the idle round-trip times."""
    loads = [part for each in _paired(measurements) for part in _transfers(each)]
    probes = [part for each in measurements for part in _probes(each)]
    common = [each for each in probes if each.record.ecn != ECT1]
    l4s = [each for each in probes if each.record.ecn == ECT1]
    found = [_observation(each, _most(common, each), _most(l4s, each)) for each in loads]
    return Observations(
        tuple(_with_opposite(each, found) for each in found),
        _idle(common or l4s, loads),
        next((each.record.size for each in probes if each.record.size), 84),
    )


def unused(measurement: Measurement) -> tuple[str, ...]:
    """Return the parts of a measurement that a fit does not use."""
    found = list(measurement.unused)
    if any(each.direction for each in measurement.delays):
        found.append("one-way delays")
    if any(each.is_mean for each in measurement.delays):
        found.append("round-trip times that are means over intervals")
    if measurement.delays and not _has_clock(measurement):
        found.append("round-trip times without the time of day (ping -D)")
    if any(each.protocol != "tcp" for each in measurement.flows):
        found.append("transfers over UDP")
    if measurement.counters:
        found.append("counters of queue disciplines")
    return tuple(found)


def _has_clock(measurement: Measurement) -> bool:
    """Return whether the times of its probes are on the clock of the loads."""
    return measurement.epoch is not None or bool(measurement.flows)


def _probes(measurement: Measurement) -> Iterator[_Probes]:
    """Yield the round-trip times of single probes, if it is known when they were sent."""
    if _has_clock(measurement):
        for each in measurement.delays:
            if each.direction is None and not each.is_mean:
                yield _Probes(measurement.tool, each, each.sent + (measurement.epoch or 0.0))


def _most(probes: Sequence[_Probes], load: _Transfers) -> _Probes | None:
    """Return the probes with the most answers around a load; None if none has any."""
    import numpy as np

    counts = [int(np.isfinite(each.around(load).value).sum()) for each in probes]
    return probes[counts.index(max(counts))] if any(counts) else None


def _paired(measurements: Sequence[Measurement]) -> Iterator[Measurement]:
    """Yield measurements with flows; the two ends of one test of iperf3 as one."""
    by_test: dict[str, Measurement] = {}
    for each in measurements:
        if each.flows:
            key = each.facts.get("cookie", each.source)
            first = by_test.get(key)
            by_test[key] = each if first is None else _both_ends(first, each)
    yield from by_test.values()


def _both_ends(one: Measurement, other: Measurement) -> Measurement:
    host, server = (one, other) if one.clock == "host" else (other, one)
    return replace(host, flows=host.flows + server.flows)


def _transfers(measurement: Measurement) -> Iterator[_Transfers]:
    """Yield the TCP flows of each direction."""
    for way in LinkDirection:
        flows = [flow for flow in measurement.flows if flow.direction is way and flow.protocol == "tcp"]
        flows = [flow for flow in flows if (flow.goodput.value > 0).any()]
        if flows:
            start = min(_first(flow) for flow in flows)
            end = max(float(flow.goodput.end[flow.goodput.value > 0][-1]) for flow in flows)
            found = _Transfers(way, tuple(flows), (measurement.epoch or 0.0) + start, end - start, start)
            yield replace(found, own=min(map(_first, found.counted)))


def _first(flow: FlowRecord) -> float:
    """Return the start of the first interval of a flow with data."""
    return float(flow.goodput.start[flow.goodput.value > 0][0])


def _observation(transfers: _Transfers, common: _Probes | None, l4s: _Probes | None) -> Observation:
    import numpy as np

    flows, counted, own = transfers.flows, transfers.counted, transfers.own
    none = Series(np.empty(0), np.empty(0))
    probes = common.around(transfers) if common else none
    report = max(SHORTEST_REPORT, round(float(np.median(counted[0].goodput.end - counted[0].goodput.start)), 4))
    load = Load(
        transfers.direction,
        len(counted),
        round(int(transfers.duration / report + 0.1) * report, 6),
        round(float(np.median(np.diff(probes.time))), 4) if len(probes.time) > 1 else 0.0,
        size=(common and common.record.size) or Load.size,
        l4s=l4s is not None,
        report=report,
        payload=next((flow.segment for flow in flows if flow.segment and flow.segment < FULL), Load.payload),
        controller=next((flow.controller for flow in flows if flow.controller), "cubic"),
        rounded=common is not None and common.tool == "ping",
        start=transfers.start,
    )
    again = [flow.retransmits for flow in transfers.senders if flow.retransmits is not None]
    return Observation(
        load,
        probes,
        _goodput([flow.goodput for flow in counted], own, load),
        l4s=l4s.around(transfers) if l4s else None,
        srtt=tuple(Series(flow.srtt.time - own, flow.srtt.value) for flow in transfers.senders if flow.srtt),
        retransmits=_counts(again, own, load) if again else None,
    )


def _with_opposite(seen: Observation, others: Sequence[Observation]) -> Observation:
    """Return an observation whose load names the load of the other direction at the same time, if there is one."""
    load = seen.load
    at_once = [
        each.load
        for each in others
        if each.load.direction is not load.direction
        and each.load.start < load.start + load.duration
        and load.start < each.load.start + each.load.duration
    ]
    return replace(seen, load=replace(load, opposite=at_once[0])) if at_once else seen


def _goodput(parts: Sequence[Intervals], own: float, load: Load) -> Intervals:
    """Return the rate of all streams per report; the bits of an interval of a stream are spread evenly over it."""
    import numpy as np

    edges = load.edges()
    total = np.zeros(len(edges))
    for part in parts:
        after = np.cumsum(np.nan_to_num(part.value) * (part.end - part.start))
        before = np.concatenate([[0.0], after[:-1]])
        times = np.maximum.accumulate(np.column_stack([part.start, part.end]).ravel() - own)
        total += np.interp(edges, times, np.column_stack([before, after]).ravel())
    return Intervals(edges[:-1], edges[1:], np.diff(total) / load.report)


def _counts(parts: Sequence[Intervals], own: float, load: Load) -> Intervals:
    """Return the sum over all streams per report; the count of an interval belongs to its middle."""
    import numpy as np

    edges = load.edges()
    middle = np.concatenate([(part.start + part.end) / 2 for part in parts]) - own
    total, _ = np.histogram(middle, edges, weights=np.concatenate([np.nan_to_num(part.value) for part in parts]))
    return Intervals(edges[:-1], edges[1:], total)


def _idle(probes: Sequence[_Probes], loads: Sequence[_Transfers]) -> "Floats":
    """Return the round-trip times of probes while nothing else is sent, s."""
    import numpy as np

    found = [np.empty(0)]
    for each in probes:
        free = np.isfinite(each.record.delay)
        for load in loads:
            free &= (each.sent < load.start - MARGIN / 10) | (each.sent > load.end + 2 * MARGIN)
        found.append(each.record.delay[free])
    return np.concatenate(found)
