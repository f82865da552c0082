"""The phases of BBR: their names, their times on a path, and how to find them in a record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aqmlab.study.draft import CasePath, CutShortError, Fact, Record, Spell, UnreachedError

STARTUP, DRAIN, PROBE_RTT = "startup", "drain", "probe_rtt"
DOWN, CRUISE, REFILL, UP = "probe_bw_down", "probe_bw_cruise", "probe_bw_refill", "probe_bw_up"
PROBE_BW = (DOWN, CRUISE, REFILL, UP)

LEAST_WINDOW = 4

ACK_WAIT = 0.06
"""Maximum delay of a delayed ACK (s): 40 ms or a handshake, and the granularity of timers."""


@dataclass(frozen=True)
class BbrTraits:
    """Phases and constants that differ between versions of BBR and matter to the cases; the interval is in s."""

    cruise: str = CRUISE
    probe_bw: Sequence[str] = PROBE_BW
    drain_gain: float = 0.5
    probe_rtt_gain: float = 0.5
    probe_rtt_interval: float = 5.0
    probe_rtt_share: float = 0.5
    """Permitted data in flight in PROBE_RTT, as a share of the BDP; at least four segments."""


LAWS: Mapping[str, BbrTraits] = {
    "bbr3": BbrTraits(),
    "bbr": BbrTraits("probe_bw", ("probe_bw",), 88 / 256, 1.0, 10.0, 0.0),
}
"""Controllers that show the draft's variables; BBR's numbers are from Linux (tcp_bbr.c)."""


def traits(record: Record) -> BbrTraits:
    """Return the traits of the controller of a record."""
    return LAWS[record.law]


def settled(place: CasePath) -> float:
    """Return a time (s) long after the end of startup, which takes some log2(BDP) round trips of 8 segments."""
    return max(3.0, 40 * max(place.rtt, 8 / place.segments))


def late(place: CasePath) -> float:
    """Return a time (s) after the first PROBE_RTT, some seconds before the next one."""
    return max(5.5, settled(place))


def moments(place: CasePath) -> list[float]:
    """Return times (s) after which the rate is cut in the first PROBE_DOWN."""
    return [settled(place) + 2.5 * i for i in range(8)]


def aggregation(place: CasePath) -> float:
    """Return the time (s) between two releases of ACKs: half a round trip."""
    return place.rtt / 2


BEFORE = {DRAIN: STARTUP, DOWN: UP, UP: REFILL}
"""The preceding phase, by phase."""


def missing(record: Record, name: str, after: float) -> Exception:
    """Return the reason why no phase of a name ends after a time."""
    ways = [spell for spell in record.of(BEFORE.get(name, "")) if spell.then and spell.end >= after]
    if ways and all(spell.then == PROBE_RTT for spell in ways):
        return CutShortError(f"PROBE_RTT, due every 5 s, ends {BEFORE[name]} each time: no {name}")
    seen = " ".join(each.name for each in record.spells[:12])
    return UnreachedError(f"no {name} after {after:.3g} s that ends: {seen}")


def first(record: Record, name: str, after: float = 0.0) -> Spell:
    """Return the first phase of a name after a time that PROBE_RTT does not end."""
    spells = [spell for spell in record.of(name, after) if spell.then]
    whole = [spell for spell in spells if spell.then != PROBE_RTT]
    if whole:
        return whole[0]
    if spells:
        raise CutShortError(f"PROBE_RTT, due every 5 s, ends {name} each time that it is reached")
    raise missing(record, name, after)


def nearest(record: Record, name: str, after: float) -> Spell:
    """Return the first phase of a name after a time, whatever ends it."""
    for spell in record.of(name, after):
        if spell.then:
            return spell
    raise missing(record, name, after)


def changed(record: Record, name: str, after: float) -> Spell:
    """Return the phase in which a case made its change, the first of a name after a time."""
    spell = nearest(record, name, after)
    if spell.then == PROBE_RTT:
        raise CutShortError(f"PROBE_RTT, due every 5 s, ends the {name} of {spell.start:.2f} s")
    return spell


def goes(spell: Spell, *names: str) -> Fact:
    """Check the phase that follows another."""
    asks = f"{spell.name} is followed by {' or '.join(names)}"
    return Fact(asks, spell.then in names, f"{spell.name} at {spell.start:.3f} s, {spell.then} at {spell.end:.3f} s")


def passes(record: Record, spell: Spell, name: str) -> Fact:
    """Check that a phase is followed by another; the same ACK ends it if the data in flight already meets its end.

    The budget for bursts follows from the pacing rate, which is set after the model. Until then the rate of the old
    phase applies.
    """
    then = record.at(spell.end)
    budget = max(then["inflight_bdp"], record.before(spell.end)["inflight_bdp"])
    most = budget if name == DRAIN else min(then["inflight_bdp"], then["inflight_with_headroom"])
    at_once = spell.then in traits(record).probe_bw and then.in_flight <= most + record.place.bundle
    ended = f", {name} passed with the same ACK: {then.in_flight} <= {most:.1f} in flight" if spell.then != name else ""
    text = f"{spell.name} at {spell.start:.3f} s, {spell.then} at {spell.end:.3f} s{ended}"
    return Fact(f"{spell.name} is followed by {name}", spell.then == name or at_once, text)


def gain(record: Record, spell: Spell, name: str, wanted: float) -> Fact:
    """Check a gain right after the start of a phase."""
    found = record.at(spell.start)[name]
    return Fact(f"{name} is {wanted:g} in {spell.name}", found == wanted, f"{name} {found:g}")


def rounds(record: Record, spell: Spell) -> float:
    """Return the duration of a phase in round trips."""
    return record.before(spell.end)["round_count"] - record.at(spell.start)["round_count"]


def bandwidth_tolerance(path: CasePath) -> float:
    """Return the tolerance of a bandwidth estimate as a share: 2 %, and the effect of delayed ACKs.

    If packets are further apart than the maximum delay of an ACK, that delay shifts samples, at worst in the minimum
    window.
    """
    waiting = ACK_WAIT * path.segments
    return 0.02 + (waiting / LEAST_WINDOW if waiting < 1 else 0)


def bandwidth(record: Record, time: float, rate: float) -> Fact:
    """Check that the bandwidth estimate matches a rate (bit/s)."""
    path = CasePath(rate, record.place.rtt)
    allowed = bandwidth_tolerance(path)
    share = record.at(time)["max_bw"] / path.segments
    asks = f"max_bw is within {100 * allowed:.0f} % of the link"
    return Fact(asks, abs(share - 1) <= allowed, f"max_bw {share:.2%} of the link")
