"""Observations from measurements: the loads in them, and the probes before, during and after each load."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from aqmlab.fit.measurement import DelayRecord, Direction, FlowRecord, Intervals, Measurement, Series
from aqmlab.fit.observation import ECT1, Load, Observation, Observed
from aqmlab.fit.twin import FULL

if TYPE_CHECKING:
    from aqmlab.fit.measurement import Floats

LEAD = 5.0
"""Time before a load from which its probes are taken, s."""
MARGIN = 2.0
"""Time around a load in which probes do not count as idle, s: iperf3 states whole seconds, and a queue drains."""


def observed(measurements: Sequence[Measurement]) -> Observed:
    """Return the loads that files contain, with the probes around each, and the idle round-trip times."""
    loads = [part for each in _paired(measurements) for part in _loads(each)]
    spans = [(start, start + duration) for _, _, start, duration in loads]
    probes = [(each, probe) for each in measurements for probe in each.delays if probe.direction is None]
    return Observed(
        tuple(_observation(way, flows, start, duration, probes) for way, flows, start, duration in loads),
        _idle([each for each in probes if each[1].ecn != ECT1] or probes, spans),
        next((probe.size for _, probe in probes if probe.size), 84),
    )


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


def _loads(measurement: Measurement) -> Iterator[tuple[Direction, list[FlowRecord], float, float]]:
    """Yield the TCP flows of each direction with the start of the load, s, and its duration, s."""
    for way in Direction:
        flows = [flow for flow in measurement.flows if flow.direction is way and flow.protocol == "tcp"]
        busy = [flow.goodput for flow in flows if flow.goodput.value.max(initial=0) > 0]
        if busy:
            start = min(float(each.start[each.value > 0][0]) for each in busy)
            end = max(float(each.end[each.value > 0][-1]) for each in busy)
            yield way, flows, (measurement.epoch or 0.0) + start, end - start


def _observation(
    way: Direction,
    flows: Sequence[FlowRecord],
    start: float,
    duration: float,
    probes: Sequence[tuple[Measurement, DelayRecord]],
) -> Observation:
    import numpy as np

    senders = [flow for flow in flows if flow.at == "sender"]
    counted = [flow for flow in flows if flow.at == "receiver"] or senders
    own = min(float(flow.goodput.start[flow.goodput.value > 0][0]) for flow in counted if flow.goodput.value.any())
    common = [_around(measurement, probe, start, duration) for measurement, probe in probes if probe.ecn != ECT1]
    l4s = [_around(measurement, probe, start, duration) for measurement, probe in probes if probe.ecn == ECT1]
    merged, marked = _merged(common), _merged(l4s)
    report = round(float(np.median(counted[0].goodput.end - counted[0].goodput.start)), 4)
    again = [flow.retransmits for flow in senders if flow.retransmits is not None]
    load = Load(
        way,
        len(counted),
        round(round(duration / report) * report, 6),
        round(float(np.median(np.diff(merged.time))), 4) if len(merged.time) > 1 else 0.0,
        size=next((probe.size for _, probe in probes if probe.size), 84),
        l4s=len(marked.time) > 0,
        report=report,
        payload=next((flow.segment for flow in flows if flow.segment and flow.segment < FULL), Load.payload),
        controller=next((flow.controller for flow in flows if flow.controller), "cubic"),
        rounded=all(measurement.tool == "ping" for measurement, _ in probes),
        start=start,
    )
    return Observation(
        load,
        merged,
        _shifted(_sum([flow.goodput for flow in counted]), own),
        l4s=marked if load.l4s else None,
        srtt=tuple(Series(flow.srtt.time - own, flow.srtt.value) for flow in senders if flow.srtt is not None),
        retransmits=_shifted(_sum(again), own) if again else None,
    )


def _around(measurement: Measurement, probe: DelayRecord, start: float, duration: float) -> Series:
    """Return probes from LEAD before a load to its end; times count from its start."""
    time = probe.sent + ((measurement.epoch or 0.0) - start)
    near = (time >= -LEAD) & (time <= duration)
    return Series(time[near], probe.delay[near])


def _merged(parts: Sequence[Series]) -> Series:
    import numpy as np

    time = np.concatenate([np.empty(0), *(part.time for part in parts)])
    value = np.concatenate([np.empty(0), *(part.value for part in parts)])
    order = np.argsort(time, kind="stable")
    return Series(time[order], value[order])


def _sum(parts: Sequence[Intervals]) -> Intervals:
    """Return the sum over streams, in the intervals of the first stream; the others differ by microseconds."""
    import numpy as np

    first = max(parts, key=lambda part: len(part.start))
    middle = (first.start + first.end) / 2
    total = np.zeros(len(middle))
    for part in parts:
        at = np.clip(np.searchsorted(part.end, middle), 0, len(part.end) - 1)
        there = (part.start[at] <= middle) & (middle < part.end[at])
        total += np.where(there, np.nan_to_num(part.value[at]), 0.0)
    return Intervals(first.start, first.end, total)


def _shifted(part: Intervals, by: float) -> Intervals:
    return Intervals(part.start - by, part.end - by, part.value)


def _idle(probes: Sequence[tuple[Measurement, DelayRecord]], spans: Sequence[tuple[float, float]]) -> "Floats":
    """Return the round-trip times of probes while nothing else is sent, s."""
    import numpy as np

    found = [np.empty(0)]
    for measurement, probe in probes:
        time = probe.sent + (measurement.epoch or 0.0)
        free = np.isfinite(probe.delay)
        for start, end in spans:
            free &= (time < start - MARGIN / 10) | (time > end + 2 * MARGIN)
        found.append(probe.delay[free])
    return np.concatenate(found)
