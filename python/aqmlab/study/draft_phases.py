"""The phases of BBR: what they are called, when they come on a path, and how they are found in what was recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aqmlab.study.draft import CasePath, CutShortError, Fact, Record, Spell, UnreachedError

STARTUP, DRAIN, PROBE_RTT = "startup", "drain", "probe_rtt"
DOWN, CRUISE, REFILL, UP = "probe_bw_down", "probe_bw_cruise", "probe_bw_refill", "probe_bw_up"
PROBE_BW = (DOWN, CRUISE, REFILL, UP)

LEAST_WINDOW = 4

ACK_WAIT = 0.06
"""Longest time (s) for which an ACK waits for a second segment: 40 ms or a handshake, and what timers add."""


@dataclass(frozen=True)
class BbrTraits:
    """Phases and constants in which versions of BBR differ, as far as the cases look at them; the interval in s."""

    cruise: str = CRUISE
    probe_bw: Sequence[str] = PROBE_BW
    drain_gain: float = 0.5
    probe_rtt_gain: float = 0.5
    probe_rtt_interval: float = 5.0
    probe_rtt_share: float = 0.5
    """What may be in flight in PROBE_RTT, as a share of the BDP; four segments in any case."""


LAWS: Mapping[str, BbrTraits] = {
    "bbr3": BbrTraits(),
    "bbr": BbrTraits("probe_bw", ("probe_bw",), 88 / 256, 1.0, 10.0, 0.0),
}
"""Laws that show the draft's variables; of BBR the numbers are those of Linux (tcp_bbr.c)."""


def traits(record: Record) -> BbrTraits:
    """Return those of the law of a record."""
    return LAWS[record.law]


def settled(place: CasePath) -> float:
    """Return a time (s) at which a flow has long left startup, which takes some log2(BDP) round trips of 8 segments."""
    return max(3.0, 40 * max(place.rtt, 8 / place.segments))


def late(place: CasePath) -> float:
    """Return a time (s) after the first PROBE_RTT, so that the next one is some seconds off."""
    return max(5.5, settled(place))


def moments(place: CasePath) -> list[float]:
    """Return times (s) from which on the first PROBE_DOWN has its rate cut."""
    return [settled(place) + 2.5 * i for i in range(8)]


def aggregation(place: CasePath) -> float:
    """Return the time (s) between two releases of ACKs: half a round trip."""
    return place.rtt / 2


BEFORE = {DRAIN: STARTUP, DOWN: UP, UP: REFILL}
"""The phase that leads to another."""


def missing(record: Record, name: str, after: float) -> Exception:
    """Return why there is no phase of a name from a time on that ends."""
    ways = [spell for spell in record.of(BEFORE.get(name, "")) if spell.then and spell.end >= after]
    if ways and all(spell.then == PROBE_RTT for spell in ways):
        return CutShortError(f"PROBE_RTT, due each 5 s, ends {BEFORE[name]} each time: no {name}")
    seen = " ".join(each.name for each in record.spells[:12])
    return UnreachedError(f"no {name} after {after:.3g} s that ends: {seen}")


def first(record: Record, name: str, after: float = 0.0) -> Spell:
    """Return the first phase of a name from a time on that PROBE_RTT does not cut short."""
    spells = [spell for spell in record.of(name, after) if spell.then]
    whole = [spell for spell in spells if spell.then != PROBE_RTT]
    if whole:
        return whole[0]
    if spells:
        raise CutShortError(f"PROBE_RTT, due each 5 s, ends {name} each time that it is reached")
    raise missing(record, name, after)


def nearest(record: Record, name: str, after: float) -> Spell:
    """Return the first phase of a name from a time on, whatever ends it."""
    for spell in record.of(name, after):
        if spell.then:
            return spell
    raise missing(record, name, after)


def changed(record: Record, name: str, after: float) -> Spell:
    """Return the phase in which a case has made its change, the first of a name from a time on."""
    spell = nearest(record, name, after)
    if spell.then == PROBE_RTT:
        raise CutShortError(f"PROBE_RTT, due each 5 s, ends the {name} of {spell.start:.2f} s")
    return spell


def goes(spell: Spell, *names: str) -> Fact:
    """Find what follows a phase."""
    asks = f"{spell.name} is followed by {' or '.join(names)}"
    return Fact(asks, spell.then in names, f"{spell.name} at {spell.start:.3f} s, {spell.then} at {spell.end:.3f} s")


def passes(record: Record, spell: Spell, name: str) -> Fact:
    """Find whether a phase is followed by another, which the same ACK ends if no more is in flight than it ends at.

    What is budgeted for bursts follows from the pace, which is set after the model: until then it is that of the phase.
    """
    then = record.at(spell.end)
    budget = max(then["inflight_bdp"], record.before(spell.end)["inflight_bdp"])
    most = budget if name == DRAIN else min(then["inflight_bdp"], then["inflight_with_headroom"])
    at_once = spell.then in traits(record).probe_bw and then.in_flight <= most + record.place.bundle
    ended = f", {name} passed with the same ACK: {then.in_flight} <= {most:.1f} in flight" if spell.then != name else ""
    told = f"{spell.name} at {spell.start:.3f} s, {spell.then} at {spell.end:.3f} s{ended}"
    return Fact(f"{spell.name} is followed by {name}", spell.then == name or at_once, told)


def gain(record: Record, spell: Spell, name: str, wanted: float) -> Fact:
    """Find a gain right after a phase has been entered."""
    found = record.at(spell.start)[name]
    return Fact(f"{name} is {wanted:g} in {spell.name}", found == wanted, f"{name} {found:g}")


def rounds(record: Record, spell: Spell) -> float:
    """Return the round trips that a phase lasted."""
    return record.before(spell.end)["round_count"] - record.at(spell.start)["round_count"]


def bandwidth_tolerance(path: CasePath) -> float:
    """Return by which share an estimate of the bandwidth may differ: 2 %, and what waiting ACKs make of it.

    Where packets are further apart than an ACK waits for a second one, it shifts samples, of the least window at worst.
    """
    waiting = ACK_WAIT * path.segments
    return 0.02 + (waiting / LEAST_WINDOW if waiting < 1 else 0)


def bandwidth(record: Record, time: float, rate: float) -> Fact:
    """Find whether the estimate is that of a rate (bit/s)."""
    path = CasePath(rate, record.place.rtt)
    allowed = bandwidth_tolerance(path)
    share = record.at(time)["max_bw"] / path.segments
    asks = f"max_bw is within {100 * allowed:.0f} % of the link"
    return Fact(asks, abs(share - 1) <= allowed, f"max_bw {share:.2%} of the link")
