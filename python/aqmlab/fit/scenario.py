"""A fit as a scenario file, as sentences, and as a document."""

from collections.abc import Iterator
from math import isfinite
from typing import TYPE_CHECKING, Any

from aqmlab._core import version
from aqmlab.fit.direction import Candidate, DirectionFit
from aqmlab.fit.measurement import Direction
from aqmlab.fit.result import Fit, HeldOut, sources
from aqmlab.names import plain
from aqmlab.quantities import written

if TYPE_CHECKING:
    from collections.abc import Mapping

WORDS = {
    "drop-tail": "a drop-tail queue",
    "codel": "a queue like CoDel",
    "pie": "a queue like PIE",
    "fq-codel": "flow queueing like FQ-CoDel",
    "dualpi2": "a dual queue like DualPI2",
    "shaper": "a token bucket shaper before a drop-tail queue",
    "policer": "a token bucket policer without a queue",
}
"""Kinds of queues as sentences name them."""
NEXT = {
    frozenset(("dualpi2", "pie")): "pings with ECT(1) during the load (ping -Q 1)",
    frozenset(("drop-tail", "shaper")): "a transfer after a minute of silence: a full bucket shows in its first second",
    frozenset(("fq-codel", "policer")): "the sender's round-trip times during the load (iperf3 -J of the sending end)",
}
"""The measurement that separates two kinds."""
OTHERWISE = "a load of more streams (iperf3 -P 16), which fills a drop-tail queue and not a managed one"


def text(found: Fit) -> str:
    """Return the twin as a scenario of one page: links as fitted, and a transfer in each direction."""
    rtt = f'rtt = "{written(round(found.twin.rtt, 6), "time")}"'
    head = [f"# {line}".rstrip() for line in comments(found)]
    rows = [*head, "", 'schema = 1\ntitle = "Twin of a measured line"', 'duration = "30 s"\nwarmup = "5 s"', ""]
    rows += found.twin.tables()
    for way, other in ((Direction.down, Direction.up), (Direction.up, Direction.down)):
        name = "download" if way is Direction.down else "upload"
        rows.append(f'[[flows]]\nname = "{name}"\npath = ["{way}"]\nack_path = ["{other}"]\n{rtt}\ntcp = "linux"')
        rows.append(f"count = {_streams(found, way)}\n")
    rows.append(
        f'[[flows]]\nname = "ping"\npath = ["up"]\n{rtt}\nkind = "udp-cbr"\nrate = "10 kbit/s"\npacket = "56 B"'
    )
    return "\n".join(rows) + "\n"


def _streams(found: Fit, way: Direction) -> int:
    return found.directions[way].seen.load.streams if way in found.directions else 1


def comments(found: Fit) -> Iterator[str]:
    """Yield the origin and the quality of a twin, one row each."""
    yield f"Fitted by aqmlab {version()} from:"
    yield from (f"  {plain(each)}" for each in sources(found))
    yield from sentences(found)


def sentences(found: Fit) -> Iterator[str]:
    """Yield the findings, one sentence each."""
    low, high = (written(float(f"{each:.4g}"), "time") for each in found.base_interval)
    yield f"Base round-trip time: {written(float(f'{found.base:.4g}'), 'time')} ({low} to {high})."
    for way, each in found.directions.items():
        yield from _of_direction(way, each)
        if way in found.held_out:
            yield _of_rest(way, found.held_out[way])
        else:
            yield f"{_title(way)}: the rate seems to change, so the fit used the whole load and left nothing out."
    for way in Direction:
        if way not in found.directions:
            yield f"{_title(way)}: not measured; the twin assumes the rate of the other direction."


def _title(way: Direction) -> str:
    return f"{way}link".capitalize()


def _of_direction(way: Direction, found: DirectionFit) -> Iterator[str]:
    best = found.best
    yield f"{_title(way)}: {_link_in_words(best)}{_more(best)}. Score {best.score:.2f}."
    for each in found.candidates[1 : found.alike]:
        pair = frozenset((best.link.kind, each.link.kind))
        yield f"{_title(way)}: another line explains the measurement equally: {_link_in_words(each)}."
        yield f"To separate them, measure {NEXT.get(pair, OTHERWISE)}."


def _link_in_words(found: Candidate) -> str:
    return f"{WORDS[found.link.kind]}, {_rate(found)}, {_buffer(found)}"


def _rate(found: Candidate) -> str:
    return _with_interval(found, "rate", found.link.rate, "bit/s")


def _buffer(found: Candidate) -> str:
    if "buffer" in found.intervals:
        return "buffer " + _with_interval(found, "buffer", found.link.buffer, "packets")
    return f"buffer not identified (never full; the twin has {found.link.buffer:.0f} packets)"


def _more(found: Candidate) -> str:
    link, rows = found.link, []
    if link.burst:
        rows.append(f"bucket {link.burst / 1e3:.4g} kB, wire {written(float(f'{link.peak:.3g}'), 'bit/s')}")
    if found.intervals.get("loss", (0.0, 0.0))[0] > 0:
        rows.append(f"random loss {100 * link.loss:.2g} %")
    if link.steps:
        levels = ", ".join(f"{link.rate * by / 1e6:.4g} from {at:.3g} s" for at, by in link.steps)
        rows.append(f"rate changes (Mbit/s): {levels}")
    return "".join(f", {row}" for row in rows)


def _with_interval(found: Candidate, name: str, value: float, unit: str) -> str:
    digits = "{:.4g}".format if unit == "bit/s" else "{:.0f}".format
    shown = written(float(digits(value)), unit)
    if name not in found.intervals:
        return shown
    low, high = (written(float(digits(each)), unit) for each in found.intervals[name])
    return f"{shown} ({low} to {high})"


def _of_rest(way: Direction, rest: HeldOut) -> str:
    def pair(values: tuple[float, float], scale: float, unit: str) -> str:
        return f"{values[0] * scale:.3g} {unit} measured, {values[1] * scale:.3g} simulated"

    parts = (
        f"median delay {pair(rest.delay_median, 1e3, 'ms')}",
        f"p95 {pair(rest.delay_p95, 1e3, 'ms')}",
        f"goodput {pair(rest.goodput, 1e-6, 'Mbit/s')}",
    )
    return f"{_title(way)}, last third of the load, which the fit did not use: {'; '.join(parts)}."


def document(found: Fit) -> dict[str, Any]:
    """Return a fit as a document for JSON."""
    best = {way: each.best for way, each in found.directions.items()}
    return {
        "schema": 1,
        "line": {
            "rtt": found.twin.rtt,
            "base": found.base,
            **{way.value: _link(each) for way, each in best.items()},
        },
        "intervals": {
            "base": list(found.base_interval),
            **{way.value: {name: list(ends) for name, ends in each.intervals.items()} for way, each in best.items()},
        },
        "candidates": {
            way.value: [_rival(each, i < fits.alike) for i, each in enumerate(fits.candidates)]
            for way, fits in found.directions.items()
        },
        "quality": {way.value: _quality(found, way) for way in found.directions},
        "sources": [
            {"file": each.source, "tool": each.tool, "sha256": each.digest, "unused": list(each.unused)}
            for each in found.measurements
        ],
        "scenario": found.text,
    }


def _link(found: Candidate) -> "Mapping[str, Any]":
    link = found.link
    extra = {"burst": link.burst, "peak": link.peak} if link.burst else {}
    steps = {"steps": [list(each) for each in link.steps]} if link.steps else {}
    return {"kind": link.kind, "rate": link.rate, "buffer": link.buffer, "loss": link.loss, **extra, **steps}


def _rival(found: Candidate, alike: bool) -> "Mapping[str, Any]":
    return {**_link(found), "score": found.score, "alike": alike}


def _quality(found: Fit, way: Direction) -> "Mapping[str, Any]":
    rest = found.held_out.get(way)
    score: dict[str, Any] = {"score": found.directions[way].best.score}
    if rest is None:
        return score
    pairs = {"delay_median": rest.delay_median, "delay_p95": rest.delay_p95, "goodput": rest.goodput}
    held = {name: [each if isfinite(each) else None for each in pair] for name, pair in pairs.items()}
    return {**score, "held_out": held}
