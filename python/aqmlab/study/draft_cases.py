"""The example test cases of draft-ietf-ccwg-bbr (editor's copy of 2026-08-03, commit 4ce5e87), in its order.

What a case asks for is in our words; the numbers are the draft's. Where its steps do not bring about what it asks for,
the case takes other steps and says so.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log2
from typing import Any

from aqmlab.problems import InputError
from aqmlab.quantities import read
from aqmlab.runs.executor import Progress
from aqmlab.study.draft import (
    FLOW,
    INSTANT,
    LINK,
    PACKET,
    CaseChange,
    CasePath,
    CaseRun,
    CutShortError,
    DraftCase,
    Fact,
    JudgedCase,
    Record,
    Spell,
    UnreachedError,
    bare,
    bits,
    buffer,
    judge_all,
    seconds,
)
from aqmlab.study.paper import DRAFTS

(NAME,) = DRAFTS
"""What the command line calls the study."""

TITLE = "BBR: the example test cases of its draft"

SOURCE = "draft-ietf-ccwg-bbr, BBR Example Test Cases, editor's copy of 2026-08-03 (4ce5e87)"

STARTUP, DRAIN, PROBE_RTT = "startup", "drain", "probe_rtt"
DOWN, CRUISE, REFILL, UP = "probe_bw_down", "probe_bw_cruise", "probe_bw_refill", "probe_bw_up"
PROBE_BW = (DOWN, CRUISE, REFILL, UP)


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

WITHOUT_PHASE = {"bbr": "BBR's probe_bw is one phase: no probe_bw_down, refill or up"}
WITHOUT_BOUND = {"bbr": "BBR has neither inflight_longterm nor bw_shortterm"}

LOSS_THRESH, BETA, HEADROOM, LEAST_WINDOW = 0.02, 0.7, 0.15, 4
PROBE_RTT_DURATION = 0.2
PAUSE = 11.0
"""Seconds that an application waits: longer than any interval of PROBE_RTT."""
STARTUP_LOSSES = 6

CUTS = (0.9, 0.4)
"""Shares of the rate that case 4 leaves: as written, and so that what is in flight does not end DRAIN."""

RATE, LOSS, OFFERED = f"links.{LINK}.rate", f"links.{LINK}.loss", f"flows.{FLOW}.rate"
DELAY = f"links.{LINK}.delay"


def settled(place: CasePath) -> float:
    """Return a time (s) at which a flow has long left startup, which takes some log2(BDP) round trips of 8 segments."""
    return max(3.0, 40 * max(place.rtt, 8 / place.segments))


def late(place: CasePath) -> float:
    """Return a time (s) after the first PROBE_RTT, so that the next one is some seconds off."""
    return max(5.5, settled(place))


def cycle(place: CasePath) -> float:
    """Return the longest time (s) between two probes for bandwidth: 3 s, and the round trips of refill, up and down."""
    return 3.0 + 16 * place.rtt


def offered(rate: float, place: CasePath) -> dict[str, str]:
    """Return the keys of a flow whose application offers data at a rate, at most 1000 times a round trip."""
    chunk = max(1, round(rate * place.rtt / 8 / 1448 / 1000))
    return {"kind": '"app-limited"', "rate": bits(rate), "chunk": f'"{chunk} packets"'}


def held(rate: float, place: CasePath) -> list[CaseChange]:
    """Return changes that take back what an application could not send, each round trip until a flow has settled.

    Its window starts small: without them it would have a backlog, and be limited by the network until that is sent.
    """
    end = settled(place)
    count = min(100, round(end / place.rtt))
    return [CaseChange(OFFERED, bits(rate).strip('"'), after=end * i / count) for i in range(1, count)]


def scaled(share: float, place: CasePath) -> str:
    """Return a share of the path's rate, as the value of a change."""
    return bits(share * place.rate).strip('"')


def text(time: float) -> str:
    """Return a time (s) as the value of a change."""
    return seconds(time).strip('"')


def traits(record: Record) -> BbrTraits:
    """Return those of the law of a record."""
    return LAWS[record.law]


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


def bandwidth(record: Record, time: float, rate: float) -> Fact:
    """Find whether the estimate is within 2 % of a rate (bit/s)."""
    share = record.at(time)["max_bw"] / CasePath(rate, record.place.rtt).segments
    return Fact("max_bw is within 2 % of the link", abs(share - 1) <= 0.02, f"max_bw {share:.2%} of the link")


def plateau(record: Record) -> Iterator[Fact]:
    """Case 1."""
    startup = first(record, STARTUP)
    yield passes(record, startup, DRAIN)
    yield bandwidth(record, startup.end, record.place.rate)
    then = record.at(startup.end)
    counted = then["full_bw_count"] == 3 and then["full_bw_now"] == then["full_bw_reached"] == 1
    yield Fact("full_bw_count 3 sets full_bw_now and full_bw_reached", counted, f"count {then['full_bw_count']:g}")


def startup_loss(record: Record) -> Iterator[Fact]:
    """Case 2."""
    startup = first(record, STARTUP)
    yield passes(record, startup, DRAIN)
    _before, then = record.before(startup.end), record.at(startup.end)
    loss = settled(record.place)
    counts = {each["full_bw_count"] for each in record.between(loss / 2, loss)}
    passed = record.before(loss)["round_count"] - record.at(loss / 2)["round_count"]
    told = f"in {passed:g} round trips before the loss no sample counts for a plateau"
    yield Fact("samples are application-limited", len(counts) == 1 and startup.end > loss, told)
    yield Fact("it is the loss", then.retransmits > 0, f"{then.retransmits} segments sent again")
    flags = then["full_bw_now"] == then["full_bw_reached"] == 1 and then["full_bw_count"] < 3
    yield Fact("loss sets full_bw_now and full_bw_reached", flags, f"full_bw_count {then['full_bw_count']:g}")


def drain_inflight(record: Record) -> Iterator[Fact]:
    """Case 3."""
    yield from drained(record, first(record, DRAIN))


def drained(record: Record, drain: Spell) -> Iterator[Fact]:
    """Find how a drain ends."""
    yield goes(drain, *(name for name in traits(record).probe_bw if name not in (REFILL, UP)))
    yield gain(record, drain, "pacing_gain", traits(record).drain_gain)
    then = record.at(drain.end)
    fits = then.in_flight <= then["inflight_bdp"] + record.place.bundle
    yield Fact("it ends with BBRInflight(1.0) in flight", fits, f"{then.in_flight} <= {then['inflight_bdp']:.1f}")
    above = all(
        each.in_flight > each["inflight_bdp"] - record.place.bundle for each in record.between(drain.start, drain.end)
    )
    yield Fact("more is in flight until then", above, f"{rounds(record, drain):g} round trips")


def drain_time(written: Record, record: Record) -> Iterator[Fact]:
    """Case 4: the first run takes the draft's 10 %."""
    drain = changed(record, DRAIN, 0.0)
    yield goes(drain, DOWN, CRUISE)
    then = record.at(drain.end)
    above = all(each.in_flight > each["inflight_bdp"] for each in record.between(drain.start, drain.end))
    yield Fact("more than the BDP is in flight", above, f"{then.in_flight} > {then['inflight_bdp']:.1f} at its end")
    lasted = then["round_count"] - record.at(drain.start)["round_count"]
    yield Fact("it ends after 3 round trips", lasted == 4, f"round_count has grown by {lasted:g}, more than 3")
    other = first(written, DRAIN)
    yield Fact("", True, f"with 10 % less it ends by what is in flight after {rounds(written, other):g} round trips")


def up_plateau(record: Record) -> Iterator[Fact]:
    """Case 5."""
    up = first(record, UP)
    yield goes(up, DOWN)
    lost = sum(each.lost for each in record.between(up.start, up.end))
    yield Fact("nothing is lost", lost == 0, f"{lost} lost")
    before, then = record.before(up.end), record.at(up.end)
    full = then["full_bw_now"] == 1 and then["full_bw_count"] == 3
    yield Fact("full_bw_count 3 sets full_bw_now", full, f"full_bw_count {then['full_bw_count']:g}")
    took = then["round_count"] - record.at(up.start)["round_count"]
    yield Fact("it takes 3 round trips", took >= 3, f"{took:g} round trips")
    used = max(each.in_flight / each.cwnd for each in record.between(up.start, up.end)) if up.lasted else 0
    yield Fact("the window is used", used > 0.9 or before["inflight_longterm"] > 1e9, f"{used:.0%} of cwnd in flight")


def up_loss(record: Record) -> Iterator[Fact]:
    """Case 6."""
    up = changed(record, UP, settled(record.place))
    yield passes(record, up, DOWN)
    before, then = record.before(up.end), record.at(up.end)
    yield Fact("no plateau ends it", then["full_bw_now"] == 0, f"full_bw_count {before['full_bw_count']:g}")
    bound = then["inflight_longterm"]
    yield Fact("inflight_longterm is updated all the same", bound < 1e9, f"inflight_longterm {bound:g}")


def stays(startup: Record, up: Record) -> Iterator[Fact]:
    """Case 7: what the application could not send in PROBE_RTT, it sends afterwards without a limit."""
    spells = startup.spells[:3]
    names = [spell.name for spell in spells]
    told = f"{' '.join(names)} in {spells[-1].start:.2f} s"
    yield Fact("it leaves startup for probe_rtt only, and comes back", names == [STARTUP, PROBE_RTT, STARTUP], told)
    spell = next(iter(up.of(UP, settled(up.place))), None)
    if spell is None:
        raise UnreachedError(f"no {UP}")
    lost = sum(each.lost for each in [*startup.between(0, spells[-1].start), *up.between(spell.start, spell.end)])
    yield Fact("nothing is lost", lost == 0, f"{lost} lost")
    ends = spell.then or "the end of the run"
    yield Fact("it stays in probe_up", spell.then in ("", PROBE_RTT), f"up for {spell.lasted:.2f} s, then {ends}")


def down_inflight(record: Record) -> Iterator[Fact]:
    """Case 8."""
    down = next((each for each in record.of(DOWN) if record.at(each.start)["inflight_longterm"] < 1e9), None)
    if down is None:
        raise missing(record, DOWN, settled(record.place))
    yield goes(down, CRUISE)
    yield gain(record, down, "pacing_gain", 0.9)
    then = record.at(down.end)
    most = min(then["inflight_with_headroom"], then["inflight_bdp"])
    yield Fact(
        "both bounds hold at its end", then.in_flight <= most + record.place.bundle, f"{then.in_flight} <= {most:.1f}"
    )
    above = all(
        each.in_flight > min(each["inflight_with_headroom"], each["inflight_bdp"]) - record.place.bundle
        for each in record.between(down.start, down.end)
    )
    yield Fact("not before", above, f"{rounds(record, down):g} round trips")


def down_time(*records: Record) -> Iterator[Fact]:
    """Case 9: the first try that PROBE_RTT does not cut short."""
    tries = [
        (record, nearest(record, DOWN, after)) for record, after in zip(records, moments(records[0].place), strict=True)
    ]
    whole = [(record, down) for record, down in tries if down.then != PROBE_RTT]
    if not whole:
        raise CutShortError(f"PROBE_RTT, due each 5 s, cuts all of {len(tries)} tries short")
    record, down = whole[0]
    yield goes(down, REFILL)
    yield Fact("", True, f"PROBE_RTT cuts {len(tries) - len(whole)} of {len(tries)} tries short")
    wait = record.at(down.start)["bw_probe_wait"]
    yield Fact("after bw_probe_wait", down.lasted >= wait, f"{down.lasted:.3f} s of {wait:.3f} s")


def moments(place: CasePath) -> list[float]:
    """Return times (s) from which on the first PROBE_DOWN has its rate cut."""
    return [settled(place) + 2.5 * i for i in range(8)]


def probe_rtt(record: Record) -> Iterator[Fact]:
    """Case 10."""
    ended = [each for each in record.of(PROBE_RTT) if each.then]
    of = traits(record)
    probes = [each for each in ended if record.at(each.start - 2 * INSTANT).phase in of.probe_bw]
    if not probes:
        raise UnreachedError(f"no {PROBE_RTT} from PROBE_BW")
    probe = probes[0]
    before, then = record.before(probe.start), record.at(probe.start)
    age = probe.start - before["probe_rtt_min_stamp"]
    due = of.probe_rtt_interval
    yield Fact(f"it begins {due:g} s after the last minimum", age >= due - 2 * INSTANT, f"after {age:.3f} s")
    came = record.at(probe.start - 2 * INSTANT).phase
    yield Fact("it comes from probe_bw", came in of.probe_bw, f"from {came}")
    yield gain(record, probe, "cwnd_gain", of.probe_rtt_gain)
    least = probe.lasted >= PROBE_RTT_DURATION + record.place.rtt * 0.99
    yield Fact(
        "200 ms and a round trip",
        least or (probe.lasted >= PROBE_RTT_DURATION and rounds(record, probe) >= 1),
        f"{probe.lasted * 1e3:.0f} ms, {rounds(record, probe):g} round trips",
    )
    yield goes(probe, *of.probe_bw)
    few = record.before(probe.end)
    yield Fact(
        "few are in flight",
        few.in_flight <= max(LEAST_WINDOW, of.probe_rtt_share * few["bdp"]) + record.place.bundle,
        f"{few.in_flight} in flight",
    )
    after = record.between(probe.end, probe.end + max(1.0, 4 * record.place.rtt))
    yield Fact(
        "it resumes",
        max(each.in_flight for each in after) >= 0.9 * min(few["bdp"], then["bdp"]),
        f"{max(each.in_flight for each in after)} in flight afterwards",
    )


def idle(record: Record) -> Iterator[Fact]:
    """Case 11."""
    pause, again = settled(record.place), settled(record.place) + PAUSE
    of = traits(record)
    at = record.at(again - 0.1)
    yield Fact("it is idle", at.in_flight == 0 and at.phase in of.probe_bw, f"{at.in_flight} in flight in {at.phase}")
    sent = next((each for each in record.between(again, again + 1) if each.in_flight), None)
    told = sent is not None and sent["idle_restart"] == 1
    yield Fact("idle_restart is set", told, "idle_restart " + ("1" if told else "0"))
    age = again - at["probe_rtt_min_stamp"]
    yield Fact("the interval has passed", age > of.probe_rtt_interval, f"minimum {age:.2f} s old")
    probes = [spell for spell in record.of(PROBE_RTT) if pause < spell.start < again + 4.5]
    yield Fact("no probe_rtt follows", not probes, f"{len(probes)} in 4.5 s")


def aggregated_startup(record: Record) -> Iterator[Fact]:
    """Case 12."""
    startup = first(record, STARTUP)
    yield passes(record, startup, DRAIN)
    found = record.at(startup.end)["max_bw"] / record.place.segments
    yield Fact("the full bandwidth is found", found >= 0.98, f"max_bw {found:.0%} of the link")
    before = record.before(startup.end)
    burst = record.place.segments * aggregation(record.place)
    extra = max(each["extra_acked"] for each in record.between(startup.end - 4 * record.place.rtt, startup.end))
    yield Fact("extra_acked is what a burst brings", 0.5 <= extra / burst <= 2, f"{extra:.0f} of bursts of {burst:.0f}")
    yield Fact("cwnd > 2 BDP", before.cwnd > 2 * before["bdp"], f"{before.cwnd:.0f} > {2 * before['bdp']:.0f}")


def aggregated_cruise(record: Record) -> Iterator[Fact]:
    """Case 13."""
    name, least = traits(record).cruise, 8 * record.place.rtt
    spells = [each for each in record.of(name) if each.end - max(each.start, settled(record.place)) > least]
    if not spells:
        raise UnreachedError(f"no {name} that lasts")
    cruise = spells[0]
    start = max(cruise.start, settled(record.place))
    sample = record.at((start + cruise.end) / 2)
    burst = record.place.segments * aggregation(record.place)
    extra = sample["extra_acked"]
    yield Fact("extra_acked is what a burst brings", 0.5 <= extra / burst <= 2, f"{extra:.0f} of bursts of {burst:.0f}")
    wanted = 2 * sample["bdp"] + 0.9 * extra
    bound = min(sample.law.get(name, inf) for name in ("inflight_with_headroom", "inflight_shortterm"))
    yield Fact(
        "cwnd has it on top",
        sample.cwnd >= min(wanted, bound),
        f"cwnd {sample.cwnd:.0f}, 2 BDP {2 * sample['bdp']:.0f}",
    )
    used = record.utilisation(start + 2 * record.place.rtt, cruise.end)
    yield Fact("the link is used", used >= 0.97, f"{used:.1%} of the link")


def aggregation(place: CasePath) -> float:
    """Return the time (s) between two releases of ACKs: half a round trip."""
    return place.rtt / 2


def behind_bursts_of_acks(place: CasePath, duration: float) -> CaseRun:
    """Return a run whose ACKs come together, as from a link that aggregates."""
    every = seconds(aggregation(place))
    return CaseRun(duration, back={"aggregation": f"{{ every = {every} }}"}, link={"buffer": buffer(4, place)})


def sub_packet(record: Record) -> Iterator[Fact]:
    """Case 14."""
    of = traits(record)
    spell = nearest(record, of.cruise, 0.0)
    found = [each for each in record.between(spell.start, record.samples[-1].time) if each.phase in of.probe_bw]
    least = min(each.cwnd for each in record.between(spell.start, record.samples[-1].time))
    yield Fact("cwnd is 4 at least", least >= LEAST_WINDOW, f"cwnd {least:g} at least, PROBE_RTT included")
    cruising = [
        each.pacing_rate / each["pacing_gain"] / record.place.segments for each in found if each.phase == of.cruise
    ]
    mean = sum(cruising) / len(cruising)
    yield Fact("the pace is that of the link", abs(mean - 1) <= 0.05, f"{mean:.1%} of the link in cruise")
    used = record.utilisation(found[0].time, record.samples[-1].time)
    yield Fact("the pipe does not stall", used >= 0.97, f"{used:.1%} of the link")


def faster(record: Record) -> Iterator[Fact]:
    """Case 15: from a tenth of the rate."""
    rise = settled(record.place)
    reached = next((each for each in record.samples if each["max_bw"] >= 0.98 * record.place.segments), None)
    if reached is None:
        probes = [each for each in record.of(UP, rise) if each.then]
        if all(each.then == PROBE_RTT for each in probes):
            raise CutShortError(
                f"PROBE_RTT, due each 5 s, ends each of {len(probes)} probes: too short for the new rate"
            )
        raise UnreachedError(
            f"max_bw {record.samples[-1]['max_bw'] / record.place.segments:.0%} of the new rate at the end"
        )
    up = next(each for each in reversed(record.of(UP)) if each.start <= reached.time)
    steps = up_steps(record, up)
    bound = [(step, grown) for step, grown in steps if 0.75 * step <= grown <= 1.6 * step]
    doubles = len({step for step, _ in bound}) >= 2 and max(step for step, _ in steps) >= 16
    told = ", ".join(f"{grown:.0f} of {step:.0f}" for step, grown in bound)
    yield Fact("the step doubles", doubles, f"round trips that the bound limits throughout grow it by {told}")
    most = max(grown / step for step, grown in steps)
    yield Fact("it grows by no more", most <= 1.6, f"by {most:.2f} steps at most")
    begun = next(each for each in record.of(UP) if each.end > rise)
    took = reached["round_count"] - record.at(max(begun.start, rise))["round_count"]
    most = 8 * log2(max(2.0, record.place.bdp))
    yield Fact(
        "O(log BDP) round trips", took <= most, f"{took:g} round trips of probing and between, {most:.0f} allowed"
    )


def up_steps(record: Record, up: Spell) -> list[tuple[float, float]]:
    """Return the step of each round trip of a probe, and by how much inflight_longterm grew in it."""
    found = [each for each in record.between(up.start, up.end) if each["inflight_longterm"] < 1e9]
    rounds_ = sorted({each["round_count"] for each in found})
    of = {count: [each for each in found if each["round_count"] == count] for count in rounds_}
    pairs = [(of[a][-1], of[b][-1]) for a, b in itertools.pairwise(rounds_)]
    return [(2.0 ** (b["bw_probe_up_rounds"] - 1), b["inflight_longterm"] - a["inflight_longterm"]) for a, b in pairs]


def slower(record: Record) -> Iterator[Fact]:
    """Case 16."""
    fall, place = settled(record.place), record.place
    reduced = [each for each in record.samples if each.time > fall and each["bw_shortterm"] < 1e9]
    lowest = min((each["bw_shortterm"] for each in reduced), default=float("inf"))
    quick = bool(reduced) and reduced[0].time - fall < 2.0 + 40 * place.rtt
    yield Fact(
        "bw_shortterm falls with the losses",
        quick and lowest < 0.5 * place.segments,
        f"after {reduced[0].time - fall:.2f} s, to {lowest / place.segments:.0%} of the old rate"
        if reduced
        else "never",
    )
    low = next(
        (each for each in record.samples if each.time > fall and each["max_bw"] <= 1.02 * 0.1 * place.segments), None
    )
    if low is None:
        probes = [each for each in record.of(UP, fall) if each.then]
        if all(each.then == PROBE_RTT for each in probes):
            raise CutShortError(
                f"PROBE_RTT, due each 5 s, ends each of {len(probes)} probes: max_bw is forgotten with the feedback of "
                "whole ones only"
            )
        raise UnreachedError(f"max_bw {record.samples[-1]['max_bw'] / place.segments:.0%} of the old rate at the end")
    cycles = len([each for each in record.of(UP, fall) if each.start < low.time])
    yield Fact("max_bw follows after 2 cycles", cycles <= 2, f"after {low.time - fall:.2f} s, {cycles} probes")


def policed(record: Record) -> Iterator[Fact]:
    """Case 17."""
    reaction = [each for each in record.samples if each["bw_shortterm"] < 1e9 and each["inflight_shortterm"] < 1e9]
    told = f"first at {reaction[0].time:.2f} s" if reaction else "never"
    yield Fact("it adapts bw_shortterm and inflight_shortterm", bool(reaction), told)
    end = record.samples[-1].time
    late = record.between(end / 2, end)
    sent = sum(each.bits for each in late) / 8 / PACKET
    lost = sum(each.lost for each in late) / sent
    share = sent * (1 - lost) / (end / 2) / (record.place.segments / 2)
    yield Fact("it conforms to the token rate", 0.8 <= share <= 1.02, f"{share:.1%} of the token rate")
    allowed = LOSS_THRESH + probe_losses(CasePath(record.place.rate / 2, record.place.rtt))
    told = f"{lost:.2%} lost in the second half, {allowed:.2%} allowed"
    yield Fact("it loses at most LossThresh, and what its probes must lose", lost <= allowed, told)


def probe_losses(place: CasePath) -> float:
    """Return the share of its packets that a sender loses to a policer by its probes.

    A probe sends at 1.25 of the rate for two round trips, the second until its losses are heard of; the next one comes
    after as many round trips as the path holds segments, 63 at most, or 2.5 s, and the three of refill, up and down.
    """
    between = min(min(63.0, place.bdp) * place.rtt, 2.5) + 3 * place.rtt
    return 0.25 * 2 * place.rtt / between


def undone(record: Record) -> Iterator[Fact]:
    """Cases 18 and 19."""
    start = late(record.place)
    up = changed(record, UP, start)
    before, already = record.before(up.end), record.at(up.start).retransmits
    sent = next((each for each in record.samples if each.time > up.start and each.retransmits > already), None)
    if sent is None:
        raise UnreachedError("nothing is sent again")
    yield Fact("segments are sent again", True, f"at {sent.time:.3f} s")
    lost = sum(each.lost for each in record.between(up.start, up.end + 4 * record.place.rtt))
    yield Fact("nothing was lost", lost == 0, f"{lost} lost")
    names = [spell.name for spell in record.spells if spell.start >= up.start][:5]
    back = [REFILL, UP]
    returns = any(names[: len(way) + 2] == [*way, *back] for way in ([UP], [UP, DOWN], [UP, DOWN, CRUISE]))
    yield Fact("it returns to its search", returns, " ".join(names))
    refill = first(record, REFILL, up.end)
    yield Fact(
        "at once", refill.start - up.end < 1.0 + 4 * record.place.rtt, f"after {(refill.start - up.end) * 1e3:.1f} ms"
    )
    reduced = min((each["inflight_longterm"] for each in record.between(up.end, refill.start)), default=0.0)
    told = f"inflight_longterm {before['inflight_longterm']:g}, then {reduced:g}"
    yield Fact("the loss has lowered a bound", reduced < before["inflight_longterm"], told)
    after = record.at(refill.start)
    for name in ("bw_shortterm", "inflight_shortterm", "inflight_longterm"):
        yield Fact(f"{name} is restored", after[name] >= before[name], f"{name} {after[name]:g} of {before[name]:g}")


def startup_probe_rtt(record: Record) -> Iterator[Fact]:
    """Case 20."""
    probe = first(record, PROBE_RTT)
    before = record.before(probe.start)
    yield Fact("full_bw_reached is false", before["full_bw_reached"] == 0, f"probe_rtt at {probe.start:.2f} s")
    yield goes(probe, STARTUP)
    startup = [each for each in record.of(STARTUP, probe.end) if each.then == DRAIN]
    yield Fact(
        "it goes on to look for the bandwidth",
        bool(startup),
        f"drain at {startup[0].end:.2f} s" if startup else "no drain",
    )
    if startup:
        yield bandwidth(record, startup[0].end, record.place.rate)


def up_loss_bound(record: Record) -> Iterator[Fact]:
    """Case 21."""
    up = changed(record, UP, settled(record.place))
    before, then = record.before(up.end), record.at(up.end)
    start = record.at(up.start)
    yield Fact("inflight_longterm is set", start["inflight_longterm"] < 1e9, f"{start['inflight_longterm']:.1f}")
    yield goes(up, DOWN)
    yield Fact("no plateau ends it", then["full_bw_now"] == 0, f"full_bw_count {then['full_bw_count']:g}")
    least = BETA * min(before["bdp"], before.cwnd)
    scaled_ = then["inflight_longterm"] < before["inflight_longterm"] and then["inflight_longterm"] >= least - 1e-6
    yield Fact(
        "it is scaled down, to Beta of the target at the least",
        scaled_,
        f"from {before['inflight_longterm']:.1f} to {then['inflight_longterm']:.1f}, Beta leaves {least:.1f}",
    )


def refill_limited(record: Record) -> Iterator[Fact]:
    """Case 22."""
    refill = changed(record, REFILL, settled(record.place))
    start, then = record.at(refill.start), record.at(refill.end)
    low = min(each["max_bw"] for each in record.between(refill.start, refill.end))
    yield Fact(
        "max_bw stays",
        low >= start["max_bw"] and then["max_bw"] <= 1.02 * start["max_bw"],
        f"max_bw {start['max_bw']:.1f}, {then['max_bw']:.1f}",
    )
    yield goes(refill, UP)
    ups = record.of(UP, refill.end)
    yield Fact("later probes end", ups[0].then == DOWN or ups[0].then == PROBE_RTT, f"{UP}, then {ups[0].then}")


def long_enough(place: CasePath, cycles: float = 2) -> float:
    """Return a duration (s) that has so many probes for bandwidth after startup."""
    return round(settled(place) + cycles * cycle(place) + 1.0, 3)


def too_small(least: float, why: str) -> Callable[[CasePath], str]:
    """Return the limit of a case that needs some segments in flight."""
    return lambda place: f"the path holds {place.bdp:.2g} segments: {why}" if place.bdp < least else ""


def below_budget(place: CasePath) -> str:
    """Say where what is in flight cannot fall to what the path holds."""
    least = place.least_inflight
    return f"the path holds {place.bdp:.2g} segments: QuantizationBudget is {least:.3g}" if place.bdp < least else ""


def waits_for_reno(place: CasePath) -> str:
    """Say where case 9 cannot be had: IsRenoCoexistenceProbeTime comes before the 2 to 3 s of bw_probe_wait."""
    count = min(63.0, place.bdp)
    return f"{count:.3g} round trips, after which Reno would have lost, come first" if count * place.rtt < 2.2 else ""


def overtakes(place: CasePath) -> str:
    """Say where no segment overtakes another on the shorter path of case 18: they leave in bursts."""
    apart, shorter = (place.bundle - 1) / place.segments, 0.35 * place.rtt
    told = f"bursts leave each {apart * 1e3:.2g} ms: none overtakes on a path shorter by {shorter * 1e3:.2g} ms"
    return too_small(12, "no three segments that overtake another")(place) or (told if apart > shorter else "")


def policer(place: CasePath) -> str:
    """Return a policer of half of the rate; its bucket holds a BDP, ten packets at least."""
    burst = max(10 * PACKET, place.rate / 2 * place.rtt / 8)
    return f'{{ rate = {bits(place.rate / 2)}, burst = "{burst:.0f} B" }}'


CASES: Sequence[DraftCase] = [
    DraftCase(
        1,
        "Exiting STARTUP on Bandwidth Plateau",
        "max_bw within 2 % of the link; full_bw_count 3; then DRAIN",
        lambda place: [CaseRun(settled(place))],
        plateau,
    ),
    DraftCase(
        2,
        "Exiting STARTUP on Loss When Application-Limited",
        "loss above 2 % in six ranges of a round trip ends STARTUP, though samples are application-limited",
        lambda place: [
            CaseRun(
                settled(place) + 20 * place.rtt,
                flow=offered(0.5 * place.rate, place),
                changes=[
                    *held(0.5 * place.rate, place),
                    CaseChange(LOSS, "12%", after=settled(place)),
                    CaseChange(LOSS, "0%", DRAIN),
                ],
            )
        ],
        startup_loss,
        too_small(100, "12 % of half of it are not six ranges"),
        lacks={"bbr": "BBR does not leave startup because of losses"},
    ),
    DraftCase(
        3,
        "Exiting DRAIN Based on Inflight",
        "pacing_gain 0.5; ends with BBRInflight(1.0) in flight; then PROBE_BW",
        lambda place: [CaseRun(settled(place))],
        drain_inflight,
        below_budget,
    ),
    DraftCase(
        4,
        "Exiting DRAIN Based on Time",
        "after 3 round trips to PROBE_BW, with more than the BDP in flight",
        lambda place: [
            CaseRun(settled(place), changes=[CaseChange(RATE, scaled(share, place), DRAIN)]) for share in (0.9, 0.4)
        ],
        drain_time,
        below_budget,
        why="the check takes a cut by 60 %: a sender that paces at half of its estimate drains the queue of a "
        "path that has lost a tenth",
        lacks={"bbr": "BBR's drain has no bound in time"},
    ),
    DraftCase(
        5,
        "Exiting PROBE_UP on Bandwidth Plateau",
        "3 round trips with less than 25 % of growth; then PROBE_DOWN",
        lambda place: [CaseRun(long_enough(place), link={"buffer": buffer(4, place)})],
        up_plateau,
        below_budget,
        lacks=WITHOUT_PHASE,
    ),
    DraftCase(
        6,
        "Exiting PROBE_UP on Loss When Application-Limited",
        "loss above 2 % ends PROBE_UP; inflight_longterm is set",
        lambda place: [
            CaseRun(
                long_enough(place, 3),
                flow=offered(1.5 * place.rate, place),
                link={"buffer": buffer(4, place)},
                changes=[
                    CaseChange(OFFERED, scaled(0.5, place), UP, settled(place)),
                    CaseChange(LOSS, "20%", UP, settled(place), 2.5 * place.rtt),
                ],
            )
        ],
        up_loss,
        too_small(12, "a lost segment is more than 2 % of it"),
        "draft",
        'HandleInflightTooHigh sets inflight_longterm only "if (!RS.is_app_limited)"; the case asks for it "regardless '
        'of the application-limited state"',
        lacks=WITHOUT_PHASE,
    ),
    DraftCase(
        7,
        "Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss",
        "stays there, but for PROBE_RTT",
        lambda place: [
            CaseRun(
                settled(place) + 10.0, flow=offered(0.5 * place.rate, place), changes=held(0.5 * place.rate, place)
            ),
            CaseRun(
                long_enough(place, 3),
                flow=offered(1.5 * place.rate, place),
                link={"buffer": buffer(4, place)},
                changes=[CaseChange(OFFERED, scaled(0.5, place), UP, settled(place))],
            ),
        ],
        stays,
        below_budget,
        why='ProbeRTTInterval bounds "indefinitely": 5 s',
        lacks=WITHOUT_PHASE,
    ),
    DraftCase(
        8,
        "Exiting PROBE_DOWN on Inflight",
        "pacing_gain 0.9; ends with both bounds kept; then CRUISE",
        lambda place: [CaseRun(long_enough(place, 3), link={"buffer": '"0.5 bdp"'})],
        down_inflight,
        lambda place: below_budget(place) or too_small(20, "half of it is no queue for a probe")(place),
        lacks=WITHOUT_PHASE,
    ),
    DraftCase(
        9,
        "Exiting PROBE_DOWN After Max Time",
        "after bw_probe_wait to REFILL, without CRUISE",
        lambda place: [
            CaseRun(
                after + 3 * cycle(place),
                link={"buffer": buffer(4, place)},
                changes=[CaseChange(RATE, scaled(0.9, place), DOWN, after)],
            )
            for after in moments(place)
        ],
        down_time,
        waits_for_reno,
        lacks=WITHOUT_PHASE,
    ),
    DraftCase(
        10,
        "Entering and Exiting PROBE_RTT",
        "after 5 s without a new minimum; cwnd_gain 0.5; 200 ms and a round trip; back",
        lambda place: [CaseRun(long_enough(place) + 6.0)],
        probe_rtt,
    ),
    DraftCase(
        11,
        "Skipping PROBE_RTT Due to Application-Limited Sending",
        "idle_restart after a pause of 11 s; no PROBE_RTT",
        lambda place: [
            CaseRun(
                settled(place) + PAUSE + 6.0,
                flow=offered(1.02 * place.rate, place),
                changes=[
                    CaseChange(OFFERED, "0 bit/s", after=settled(place)),
                    CaseChange(OFFERED, scaled(1.02, place), after=settled(place) + PAUSE),
                ],
            )
        ],
        idle,
        below_budget,
    ),
    DraftCase(
        12,
        "Achieving Expected STARTUP Bandwidth on a Link With Aggregation",
        "extra_acked right; cwnd > 2 BDP; full bandwidth found",
        lambda place: [behind_bursts_of_acks(place, settled(place))],
        aggregated_startup,
        too_small(4, "no burst of ACKs"),
    ),
    DraftCase(
        13,
        "Achieving Expected Cruise Bandwidth on a Link With Aggregation",
        "cwnd has extra_acked on top; no stall",
        lambda place: [behind_bursts_of_acks(place, long_enough(place))],
        aggregated_cruise,
        lambda place: (
            too_small(4, "no burst of ACKs")(place)
            or ("eight round trips are more than the 3 s that bw_probe_wait leaves" if 8 * place.rtt > 3 else "")
        ),
    ),
    DraftCase(
        14,
        "Correctly Managing Sub-Packet BDPs",
        "cwnd 4 at least; pace of the link; no stall",
        lambda place: [CaseRun(max(60.0, 100 * place.rtt))],
        sub_packet,
        lambda place: "" if place.bdp < 1 else f"the path holds {place.bdp:.3g} segments, not less than one",
        own=CasePath(64e3, 0.04),
    ),
    DraftCase(
        15,
        "Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached",
        "the step of inflight_longterm doubles; O(log BDP) round trips",
        lambda place: [
            CaseRun(
                long_enough(place, 6),
                link={"rate": bits(0.1 * place.rate), "buffer": '"0.5 bdp"'},
                changes=[CaseChange(RATE, scaled(1, place), after=settled(place))],
            )
        ],
        faster,
        too_small(20, "a tenth of it is less than two"),
        lacks=WITHOUT_BOUND,
    ),
    DraftCase(
        16,
        "Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down",
        "bw_shortterm falls with losses; max_bw after 2 cycles",
        lambda place: [
            CaseRun(
                long_enough(place, 4) + 100 * place.rtt,
                link={"buffer": '"1 bdp"'},
                changes=[CaseChange(RATE, scaled(0.1, place), after=settled(place))],
            )
        ],
        slower,
        too_small(20, "a tenth of it is less than two"),
        lacks=WITHOUT_BOUND,
    ),
    DraftCase(
        17,
        "Handling Token Bucket Policers",
        "settles at the token rate, without continuous loss (2 %)",
        lambda place: [CaseRun(long_enough(place, 6), link={"policer": policer(place)})],
        policed,
        lambda place: below_budget(CasePath(place.rate / 2, place.rtt)),
        lacks=WITHOUT_BOUND,
    ),
    DraftCase(
        18,
        "Handling Spurious Fast Recovery",
        "state and bounds are restored",
        lambda place: [
            CaseRun(
                long_enough(place, 4) + 3,
                link={"buffer": '"4 bdp"', "delay": seconds(place.rtt / 8)},
                changes=[CaseChange(f"flows.{FLOW}.rtt", text(0.3 * place.rtt), UP, late(place), 1.5 * place.rtt)],
            )
        ],
        undone,
        overtakes,
        lacks=WITHOUT_BOUND,
    ),
    DraftCase(
        19,
        "Handling Spurious RTO Recovery",
        "state and bounds are restored",
        lambda place: [
            CaseRun(
                long_enough(place, 4) + 3 + 5,
                link={"buffer": buffer(4, place)},
                changes=[
                    CaseChange(DELAY, text(place.rtt / 4 + 0.6 + 3 * place.rtt), UP, late(place), 1.5 * place.rtt),
                    CaseChange(DELAY, text(place.rtt / 4), UP, late(place), 2 * place.rtt),
                ],
            )
        ],
        undone,
        too_small(12, "no three segments that overtake another"),
        lacks=WITHOUT_BOUND,
    ),
    DraftCase(
        20,
        "Entering and Exiting PROBE_RTT During STARTUP",
        "back to STARTUP, which finds the bandwidth",
        lambda place: [
            CaseRun(
                settled(place) + 13 + 40 * place.rtt,
                flow=offered(0.3 * place.rate, place),
                link={"buffer": buffer(4, place)},
                changes=[CaseChange(OFFERED, scaled(3, place), after=12.0)],
            )
        ],
        startup_probe_rtt,
        below_budget,
    ),
    DraftCase(
        21,
        "Handling Loss During PROBE_UP After inflight_longterm is Set",
        "scaled by Beta; PROBE_DOWN at once",
        lambda place: [
            CaseRun(
                long_enough(place, 4),
                link={"buffer": '"0.25 bdp"'},
                changes=[CaseChange(LOSS, "20%", UP, settled(place)), CaseChange(LOSS, "0%", DOWN, settled(place))],
            )
        ],
        up_loss_bound,
        too_small(12, "a lost segment is more than 2 % of it"),
        lacks=WITHOUT_BOUND,
    ),
    DraftCase(
        22,
        "Handling Application-Limited Sending During PROBE_REFILL",
        "low samples leave max_bw alone; then PROBE_UP",
        lambda place: [
            CaseRun(
                long_enough(place, 4),
                flow=offered(1.02 * place.rate, place),
                link={"buffer": buffer(4, place)},
                changes=[
                    CaseChange(OFFERED, "0 bit/s", REFILL, settled(place)),
                    CaseChange(OFFERED, scaled(1.02, place), REFILL, settled(place), place.rtt),
                ],
            )
        ],
        refill_limited,
        below_budget,
        lacks=WITHOUT_PHASE,
    ),
]
"""All of them, in the draft's order."""

BASE = CasePath(50e6, 0.04)
"""Where a case runs unless it says otherwise, or the user does."""


GRID = [CasePath(rate, rtt) for rate in (64e3, 10e6, 1e9, 10e9) for rtt in (0.0005, 0.04, 1.0)]
"""Paths over the range that the draft names, the corners among them, on which `make nightly` judges every case."""

MOST_PACKETS = 1e7
"""Packets that a case of the grid may have in all its runs: some seconds. What has more is skipped, and said to be."""


def compare_grid(law: str = "bbr3", jobs: int | None = None) -> list[JudgedCase]:
    """Judge every case on every path of `GRID`; the records, which are large, are not kept."""
    wanted = [(case, place) for place in GRID for case in CASES]
    return judge_all(wanted, law, jobs, most=MOST_PACKETS, keep=False)


def chosen(only: str | None) -> list[DraftCase]:
    """Return the cases of a list of numbers ("1,9,14"), all if None; InputError for what is none."""
    if only is None:
        return list(CASES)
    known = {str(case.number): case for case in CASES}
    asked = [part.strip() for part in only.split(",")]
    for part in asked:
        if part not in known:
            raise InputError(
                "only", f"{part}: no case of {NAME}; expected numbers from 1 to {len(CASES)}, as in 1,9,14"
            )
    return [known[part] for part in asked]


def compare_draft(
    law: str = "bbr3",
    *,
    rate: str | None = None,
    rtt: str | None = None,
    only: str | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[JudgedCase]:
    """Run the cases (`only`: "1,9,14") and judge each.

    `rate` ("10 Gbit/s") and `rtt` ("1 ms") are those of the path, by default 50 Mbit/s and 40 ms but for a case that is
    about another. `law` must show the variables that the cases ask for, as `bbr3` does, with its parameters if any
    ("bbr3:ecn_max_rtt=1ms"), or `bbr`, which has some of the cases. Raises InputError for bad input, before anything
    runs.
    """
    if bare(law) not in LAWS:
        raise InputError("law", f"{law}: shows no variables of {NAME}; expected {', '.join(LAWS)}")
    cases = chosen(only)
    given = CasePath(
        BASE.rate if rate is None else read_rate(rate),
        BASE.rtt if rtt is None else read_rtt(rtt),
    )
    is_base = rate is None and rtt is None
    return judge_all([(case, (case.own if is_base else None) or given) for case in cases], law, jobs, progress)


def read_rate(text: str) -> float:
    """Return a rate (bit/s) that the draft's cases can be had at."""
    found = read("rate", text, "bit/s")
    if not 1e3 <= found <= 1e11:
        raise InputError("rate", f"{text}: out of range; 1 kbit/s to 100 Gbit/s")
    return found


def read_rtt(text: str) -> float:
    """Return a round trip (s) that the draft's cases can be had at."""
    found = read("rtt", text, "s")
    if not 1e-5 <= found <= 10:
        raise InputError("rtt", f"{text}: out of range; 10 us to 10 s")
    return found


def document(judged: Sequence[JudgedCase]) -> dict[str, Any]:
    """Return the judged cases as they stand in JSON."""
    return {"study": NAME, "title": TITLE, "source": SOURCE, "cases": [each.entry() for each in judged]}
