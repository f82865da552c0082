"""The result of a fit: as a scenario file, as sentences, and as a document."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab._core import version
from aqmlab.fit.direction import DirectionFit, KindCandidate
from aqmlab.fit.measurement import LinkDirection, Measurement
from aqmlab.fit.twin import Twin, TwinLink
from aqmlab.names import plain
from aqmlab.quantities import written

if TYPE_CHECKING:
    from aqmlab._core import Scenario

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
AT_ONCE = (
    "Both directions were loaded at the same time, and a round-trip time does not show in which one it waited. "
    "To identify queues and buffers, measure one direction after the other (aqmlab fit --plan)."
)
DROP_TAIL = "a load of more streams (iperf3 -P 16), which fills a drop-tail queue and not a managed one"
OTHERWISE = "a longer load of more streams (iperf3 -P 16 -t 120), under which the delays of schemes differ more"
TOO_SHORT = 10
"""Packets of a buffer in which no scheme acts, so that all kinds of queue are the same link."""


@dataclass(frozen=True)
class HeldOut:
    """The last third of a load, which the fit did not use: measured and simulated values.

    `delay_median` and `delay_p95` in s above the base, `goodput` in bit/s; each a pair (measured, simulated).
    """

    delay_median: tuple[float, float]
    delay_p95: tuple[float, float]
    goodput: tuple[float, float]


@dataclass(frozen=True)
class Fit:
    """The twin of a measured line.

    `base` is the smallest round-trip time in s with its 95 % interval `base_interval`; `directions` are the fits of the
    measured directions; `held_out` is absent for a direction whose rate seems to change.
    """

    twin: Twin
    base: float
    base_interval: tuple[float, float]
    directions: Mapping[LinkDirection, DirectionFit]
    held_out: Mapping[LinkDirection, HeldOut]
    measurements: tuple[Measurement, ...]

    @property
    def text(self) -> str:
        """The twin as the text of a scenario file."""
        return text(self)

    @property
    def scenario(self) -> "Scenario":
        """The twin as a scenario."""
        from aqmlab.scenario import parse

        return parse(self.text, "line", (), None)

    def document(self) -> dict[str, Any]:
        """Return it as a document for JSON."""
        return document(self)


def sources(found: Fit) -> Sequence[str]:
    """Return the files with their digests, one per row."""
    files = [(each.source, each.tool, each.digest) for each in found.measurements]
    files += [
        (each.facts["other end"], each.tool, each.facts["other digest"])
        for each in found.measurements
        if "other end" in each.facts
    ]
    return [f"{Path(source).name} ({tool}, sha256 {digest[:16]})" for source, tool, digest in files]


def text(found: Fit) -> str:
    """Return the twin as a scenario of one page: links as fitted, and a transfer in each direction."""
    rtt = f'rtt = "{written(round(found.twin.rtt, 6), "time")}"'
    head = [f"# {line}".rstrip() for line in comments(found)]
    rows = [*head, "", 'schema = 1\ntitle = "Twin of a measured line"', 'duration = "30 s"\nwarmup = "5 s"', ""]
    rows += found.twin.tables()
    for way, other in ((LinkDirection.down, LinkDirection.up), (LinkDirection.up, LinkDirection.down)):
        name = "download" if way is LinkDirection.down else "upload"
        rows.append(f'[[flows]]\nname = "{name}"\npath = ["{way}"]\nack_path = ["{other}"]\n{rtt}\ntcp = "linux"')
        rows.append(f"count = {_streams(found, way)}\n")
    rows.append(
        f'[[flows]]\nname = "ping"\npath = ["up"]\n{rtt}\nkind = "udp-cbr"\nrate = "10 kbit/s"\npacket = "56 B"'
    )
    return "\n".join(rows) + "\n"


def _streams(found: Fit, way: LinkDirection) -> int:
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
    if any(each.seen.load.opposite for each in found.directions.values()):
        yield AT_ONCE
    for way in LinkDirection:
        if way not in found.directions:
            yield f"{_title(way)}: not measured; the twin assumes the rate of the other direction."


def _title(way: LinkDirection) -> str:
    return f"{way}link".capitalize()


def _of_direction(way: LinkDirection, found: DirectionFit) -> Iterator[str]:
    best = found.best
    if found.seen.load.opposite:
        yield f"{_title(way)}: {_rate(best)}; queue and buffer not identified{_more(best)}. Score {best.score:.2f}."
        yield f"{_title(way)}: the twin has {WORDS[best.link.kind]} of {best.link.buffer:.0f} packets."
        return
    yield f"{_title(way)}: {_link_in_words(best)}{_more(best)}. Score {best.score:.2f}."
    for each in found.candidates[1 : found.alike]:
        yield f"{_title(way)}: another line explains the measurement equally: {_link_in_words(each)}."
        yield _separation(best.link, each.link)


def _separation(one: TwinLink, other: TwinLink) -> str:
    """Return the sentence about the measurement that separates two links."""
    if "policer" not in (one.kind, other.kind) and max(one.buffer, other.buffer) < TOO_SHORT:
        return "No measurement separates them: no scheme acts in a buffer this short."
    pair = frozenset((one.kind, other.kind))
    return f"To separate them, measure {NEXT.get(pair, DROP_TAIL if 'drop-tail' in pair else OTHERWISE)}."


def _link_in_words(found: KindCandidate) -> str:
    return f"{WORDS[found.link.kind]}, {_rate(found)}, {_buffer(found)}"


def _rate(found: KindCandidate) -> str:
    if "rate" in found.intervals:
        return _with_interval(found, "rate", found.link.rate, "bit/s")
    return f"rate not identified (the twin has {written(float(f'{found.link.rate:.3g}'), 'bit/s')})"


def _buffer(found: KindCandidate) -> str:
    if "buffer" in found.intervals:
        return "buffer " + _with_interval(found, "buffer", found.link.buffer, "packets")
    return f"buffer not identified (the twin has {found.link.buffer:.0f} packets)"


def _more(found: KindCandidate) -> str:
    link, rows = found.link, []
    if link.burst:
        rows.append(f"bucket {link.burst / 1e3:.4g} kB, wire {written(float(f'{link.peak:.3g}'), 'bit/s')}")
    if found.intervals.get("loss", (0.0, 0.0))[0] > 0:
        rows.append(f"random loss {100 * link.loss:.2g} %")
    if link.steps:
        levels = ", ".join(f"{link.rate * by / 1e6:.4g} from {at:.3g} s" for at, by in link.steps)
        rows.append(f"rate changes (Mbit/s): {levels}")
    return "".join(f", {row}" for row in rows)


def _with_interval(found: KindCandidate, name: str, value: float, unit: str) -> str:
    digits = "{:.4g}".format if unit == "bit/s" else "{:.0f}".format
    low, high = (written(float(digits(each)), unit) for each in found.intervals[name])
    return f"{written(float(digits(value)), unit)} ({low} to {high})"


def _of_rest(way: LinkDirection, rest: HeldOut) -> str:
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


def _link(found: KindCandidate) -> Mapping[str, Any]:
    link = found.link
    extra = {"burst": link.burst, "peak": link.peak} if link.burst else {}
    steps = {"steps": [list(each) for each in link.steps]} if link.steps else {}
    return {"kind": link.kind, "rate": link.rate, "buffer": link.buffer, "loss": link.loss, **extra, **steps}


def _rival(found: KindCandidate, alike: bool) -> Mapping[str, Any]:
    return {**_link(found), "score": found.score, "alike": alike}


def _quality(found: Fit, way: LinkDirection) -> Mapping[str, Any]:
    rest = found.held_out.get(way)
    score: dict[str, Any] = {"score": found.directions[way].best.score}
    if rest is None:
        return score
    pairs = {"delay_median": rest.delay_median, "delay_p95": rest.delay_p95, "goodput": rest.goodput}
    held = {name: [each if isfinite(each) else None for each in pair] for name, pair in pairs.items()}
    return {**score, "held_out": held}
