"""The figures of the cases of a draft: the phases of the sender over time, its window, pacing rate and queue."""

from collections.abc import Sequence

import numpy as np

from aqmlab.present.plots.data import Curve, Frame, OverTime, Panel
from aqmlab.study.draft import PACKET, JudgedCase, Record

PHASES = (
    "startup",
    "drain",
    "probe_bw_down",
    "probe_bw_cruise",
    "probe_bw_refill",
    "probe_bw_up",
    "probe_rtt",
)
"""The phases of BBRv3, in their order on the axis."""

PHASES_OF_BBR = ("startup", "drain", "probe_bw", "probe_rtt")


def phases_of_all(judged: Sequence[JudgedCase]) -> dict[str, OverTime]:
    """Return the figure of each case that ran, by file name; it shows the last run, which is judged."""
    return {f"case-{each.case.number:02}": phases(each.records[-1]) for each in judged if each.records}


def phases(record: Record) -> OverTime:
    """Return three panels over time: phase; data in flight, window and queue; pacing rate and bandwidth estimate."""
    samples = record.samples
    time = np.array([each.time for each in samples])
    names = PHASES_OF_BBR if any(each.phase == "probe_bw" for each in samples) else PHASES
    number = {name: i for i, name in enumerate(names)}

    def curve(name: str, values: Sequence[float]) -> Curve:
        return Curve(name, time, np.array(values, float))

    flight = [
        curve("in flight", [each.in_flight for each in samples]),
        curve("cwnd", [each.cwnd for each in samples]),
        curve("queue", [each.queue for each in samples]),
    ]
    scale = 8 * PACKET / 1e6
    rates = [
        curve("pacing rate", [each.pacing_rate * scale for each in samples]),
        curve("max_bw", [each.law.get("max_bw", 0.0) * scale for each in samples]),
    ]
    panels = [
        Panel("Phase", "", [curve("phase", [number[each.phase] for each in samples])]),
        Panel("Segments", "", flight),
        Panel("Rates", "", rates, target=record.place.rate / 1e6),
    ]
    frames = [
        Frame("", len(names) - 1, bottom=-0.5, names=names),
        Frame("Segments", _top(flight)),
        Frame("Mbit/s", _top(rates)),
    ]
    return OverTime(panels, float(time[-1]), frames, columns=1, line="link")


def _top(curves: Sequence[Curve]) -> float:
    return float(max(np.max(each.values) for each in curves))
