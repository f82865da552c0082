"""A simulated measurement of a twin: the same load and probes, and the same observation of them."""

from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from aqmlab.fit.measurement import Intervals, LinkDirection, Series
from aqmlab.fit.observation import Load, Observation
from aqmlab.fit.twin import Twin
from aqmlab.quantities import written
from aqmlab.scenario import parse

if TYPE_CHECKING:
    from aqmlab._core import Simulation
    from aqmlab.fit.measurement import Floats

SPREAD = 0.5
"""Time within which the transfers of a load start, s."""
STEP = 0.010
"""Time resolution of the samples, s."""
HEADER = 28
"""Bytes of an IPv4 and an ICMP or UDP header."""


def scenario(twin: Twin, load: Load) -> str:
    """Return the scenario of a twin under a load, with probes in both directions."""
    return "\n".join([*_head(twin, load), *twin.tables(load.lead), *_flows(twin, load)])


def simulated(twin: Twin, load: Load, seed: int = 1) -> Observation:
    """Return what the tools would have measured on the twin. Times count from the first data, as in files."""
    slack = load.report * ceil((2 * twin.rtt + SPREAD) / load.report)
    return _from_first_data(_simulated(twin, replace(load, duration=load.duration + slack), seed), load)


def _from_first_data(seen: Observation, load: Load) -> Observation:
    """Return an observation with times from the first report that contains data, cut to the duration of the load."""
    import numpy as np

    late = int(np.argmax(seen.goodput.value > 0))
    by, count = late * load.report, len(load.edges()) - 1

    def counts(found: Intervals) -> Intervals:
        edges = load.edges()
        return Intervals(edges[:-1], edges[1:], found.value[late : late + count])

    def probes(found: Series) -> Series:
        time = found.time - by
        return Series(time[time < load.duration], found.value[time < load.duration])

    def reports(found: Series) -> Series:
        return Series(load.edges()[1:], found.value[late : late + count])

    return Observation(
        load,
        probes(seen.probes),
        counts(seen.goodput),
        l4s=seen.l4s and probes(seen.l4s),
        srtt=tuple(map(reports, seen.srtt)),
        retransmits=seen.retransmits and counts(seen.retransmits),
    )


def _simulated(twin: Twin, load: Load, seed: int) -> Observation:
    """Return the observation with times from the start of the first transfers."""
    from aqmlab import _core

    simulation = _core.Simulation(parse(scenario(twin, load), "twin", (), None), None, seed)
    flows = [("load", number) for number in range(load.streams)]
    columns = [(of, place, number, name) for of, place, number, name, _ in simulation.sample_columns(flows)]
    rows, retransmits = _sampled(simulation, load, flows)
    time = rows[:, 0] - load.lead

    def column(of: str, place: str, number: int | None, name: str) -> "Floats":
        return rows[:, columns.index((of, place, number, name))]

    def probes(suffix: str) -> Series:
        up, down = (
            _one_way(time, column("group", f"{way}{suffix}", None, "packet_delay"), load)
            for way in ("probe-up", "probe-down")
        )
        found = _round_trips(up, down, load)
        return Series(found.time, as_printed(found.value)) if load.rounded else found

    return Observation(
        load,
        probes(""),
        _by_report(time, column("group", "load", None, "goodput"), load),
        l4s=probes("-l4s") if load.l4s else None,
        srtt=tuple(_reported(time, column("flow", *flow, "srtt"), load) for flow in flows),
        retransmits=retransmits,
    )


def _head(twin: Twin, load: Load) -> Iterator[str]:
    end = load.lead + load.duration + min(4.0, 2 * twin.rtt + 1.0)
    yield f'schema = 1\nduration = "{written(end, "time")}"\nsample = "10 ms"\n'


def _flows(twin: Twin, load: Load) -> Iterator[str]:
    """Yield the groups of flows: the load, one of the other direction if there is one, probes in each direction."""
    rtt = f'rtt = "{written(twin.rtt, "time")}"'
    yield from _transfers("load", load, rtt, load.lead, load.lead + load.duration)
    if other := load.opposite:
        begin = max(0.0, load.lead + other.start - load.start)
        end = min(load.lead + other.start + other.duration - load.start, load.lead + load.duration)
        yield from _transfers("opposite", other, rtt, begin, end)
    rate = written(float(f"{8 * load.size / load.every:.9g}"), "bit/s")
    for direction in twin.links:
        for suffix, ecn in (("", ""), ("-l4s", 'ecn = "ect1"\n'))[: 1 + load.l4s]:
            yield f'[[flows]]\nname = "probe-{direction}{suffix}"\npath = ["{direction}"]\n{rtt}\n{ecn}kind = "udp-cbr"'
            yield f'rate = "{rate}"\npacket = "{load.size - HEADER} B"\nheader = "{HEADER} B"\n'


def _transfers(name: str, load: Load, rtt: str, begin: float, end: float) -> Iterator[str]:
    """Yield the group of a load that lasts from `begin` to `end`, s."""
    other = LinkDirection.down if load.direction is LinkDirection.up else LinkDirection.up
    yield f'[[flows]]\nname = "{name}"\npath = ["{load.direction}"]\nack_path = ["{other}"]\n{rtt}'
    yield f'count = {load.streams}\nstart = "{written(begin, "time")}"\nstart_spread = {SPREAD}'
    yield f'stop = "{written(end, "time")}"'
    yield f'packet = "{load.payload} B"\ntcp = {{ profile = "linux", congestion_control = "{load.controller}" }}\n'


def _sampled(simulation: "Simulation", load: Load, flows: list[tuple[str, int]]) -> "tuple[Floats, Intervals]":
    """Run to the end; return a row for each STEP, and the retransmitted segments of each report."""
    import numpy as np

    parts, counts = [simulation.sample_until(load.lead, STEP, flows)], [0]
    edges = load.edges()[1:]
    for edge in edges:
        parts.append(simulation.sample_until(load.lead + float(edge), STEP, flows))
        counts.append(sum(simulation.flow(*flow)["retransmits"] for flow in flows))
    parts.append(simulation.sample_until(simulation.end, STEP, flows))
    rows = np.concatenate(parts).astype(float)
    return rows, Intervals(edges - load.report, edges, np.diff(np.asarray(counts, dtype=np.float64)))


def _one_way(time: "Floats", delay: "Floats", load: Load) -> Series:
    """Return the delays of probes by the time of sending; one sample holds one probe, or the mean of a few."""
    import numpy as np

    there = ~np.isnan(delay)
    sent = np.round((time[there] - delay[there] + load.lead) / load.every) * load.every - load.lead
    return Series(sent, delay[there])


def _round_trips(up: Series, down: Series, load: Load) -> Series:
    """Join both directions: an echo leaves when its request has arrived. A probe that is not in both is lost."""
    import numpy as np

    def at(series: Series, times: "Floats") -> "Floats":
        """Delays at the nearest time of sending, NaN where none is near."""
        if not len(series.time):
            return np.full(len(times), np.nan)
        nearest = np.clip(np.searchsorted(series.time, times - load.every / 2), 0, len(series.time) - 1)
        return np.where(np.abs(series.time[nearest] - times) < 0.75 * load.every, series.value[nearest], np.nan)

    sent = np.arange(-load.lead, load.duration, load.every, dtype=np.float64)
    there = at(up, sent)
    back = at(down, np.round((sent + np.nan_to_num(there) + load.lead) / load.every) * load.every - load.lead)
    return Series(sent, there + back)


def _by_report(time: "Floats", rate: "Floats", load: Load) -> Intervals:
    """Return means over the intervals of a report."""
    import numpy as np

    edges = load.edges()
    bits = np.concatenate([[0.0], np.cumsum(np.nan_to_num(rate) * np.diff(time, prepend=time[0] - STEP))])
    total = np.interp(edges, np.concatenate([[time[0] - STEP], time]), bits)
    return Intervals(edges[:-1], edges[1:], np.diff(total) / load.report)


def _reported(time: "Floats", value: "Floats", load: Load) -> Series:
    """Return the value at the end of each report."""
    import numpy as np

    edges = load.edges()[1:]
    at = np.clip(np.searchsorted(time, edges - STEP / 2), 0, len(time) - 1)
    return Series(edges, value[at])


def as_printed(rtt: "Floats") -> "Floats":
    """Return round-trip times in s with the digits that ping prints: three, of milliseconds from 100 on none."""
    import numpy as np

    ms = rtt * 1e3
    unit = np.select([ms < 1, ms < 10, ms < 100], [1e-3, 1e-2, 1e-1], 1.0)
    return np.asarray(np.round(ms / unit) * unit * 1e-3, dtype=np.float64)
