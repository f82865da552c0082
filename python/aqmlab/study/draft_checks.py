"""Checks of the cases of draft-ietf-ccwg-bbr: requirements on the record of the runs (`draft_cases.py`)."""

import itertools
from collections.abc import Iterator
from math import inf, log2

from aqmlab.study.draft import INSTANT, PACKET, CasePath, CutShortError, Fact, Record, Spell, UnreachedError
from aqmlab.study.draft_phases import (
    CRUISE,
    DOWN,
    DRAIN,
    LEAST_WINDOW,
    PROBE_RTT,
    REFILL,
    STARTUP,
    UP,
    aggregation,
    bandwidth,
    bandwidth_tolerance,
    changed,
    first,
    gain,
    goes,
    late,
    missing,
    moments,
    nearest,
    passes,
    rounds,
    settled,
    traits,
)

LOSS_THRESH, BETA = 0.02, 0.7
PROBE_RTT_DURATION = 0.2

PAUSE = 11.0
"""Pause of an application in seconds, longer than any interval of PROBE_RTT."""


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
    text = f"in {passed:g} round trips before the loss no sample counts for a plateau"
    yield Fact("samples are application-limited", len(counts) == 1 and startup.end > loss, text)
    yield Fact("it is the loss", then.retransmits > 0, f"{then.retransmits} segments retransmitted")
    flags = then["full_bw_now"] == then["full_bw_reached"] == 1 and then["full_bw_count"] < 3
    yield Fact("loss sets full_bw_now and full_bw_reached", flags, f"full_bw_count {then['full_bw_count']:g}")


def drain_inflight(record: Record) -> Iterator[Fact]:
    """Case 3."""
    yield from drained(record, first(record, DRAIN))


def drained(record: Record, drain: Spell) -> Iterator[Fact]:
    """Check how a drain ends."""
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
    """Case 4: the first run uses the draft's 10 %."""
    drain = changed(record, DRAIN, 0.0)
    yield goes(drain, DOWN, CRUISE)
    then = record.at(drain.end)
    above = all(each.in_flight > each["inflight_bdp"] for each in record.between(drain.start, drain.end))
    yield Fact("more than the BDP is in flight", above, f"{then.in_flight} > {then['inflight_bdp']:.1f} at its end")
    lasted = then["round_count"] - record.at(drain.start)["round_count"]
    yield Fact("it ends after 3 round trips", lasted == 4, f"round_count has grown by {lasted:g}, more than 3")
    other = first(written, DRAIN)
    yield Fact("", True, f"with 10 % less it ends by the data in flight after {rounds(written, other):g} round trips")


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
    """Case 7: after PROBE_RTT the application sends its backlog without a limit."""
    spells = startup.spells[:3]
    names = [spell.name for spell in spells]
    text = f"{' '.join(names)} in {spells[-1].start:.2f} s"
    yield Fact("it leaves startup for probe_rtt only, and comes back", names == [STARTUP, PROBE_RTT, STARTUP], text)
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
    """Case 9: the first attempt that PROBE_RTT does not cut short."""
    tries = [
        (record, nearest(record, DOWN, after)) for record, after in zip(records, moments(records[0].place), strict=True)
    ]
    whole = [(record, down) for record, down in tries if down.then != PROBE_RTT]
    if not whole:
        raise CutShortError(f"PROBE_RTT, due every 5 s, cuts all of {len(tries)} attempts short")
    record, down = whole[0]
    yield goes(down, REFILL)
    yield Fact("", True, f"PROBE_RTT cuts {len(tries) - len(whole)} of {len(tries)} attempts short")
    wait = record.at(down.start)["bw_probe_wait"]
    yield Fact("after bw_probe_wait", down.lasted >= wait, f"{down.lasted:.3f} s of {wait:.3f} s")


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
    is_set = sent is not None and sent["idle_restart"] == 1
    yield Fact("idle_restart is set", is_set, "idle_restart " + ("1" if is_set else "0"))
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


def sub_packet(record: Record) -> Iterator[Fact]:
    """Case 14."""
    of = traits(record)
    spell = nearest(record, of.cruise, 0.0)
    found = [each for each in record.between(spell.start, record.samples[-1].time) if each.phase in of.probe_bw]
    least = min(each.cwnd for each in record.between(spell.start, record.samples[-1].time))
    yield Fact("cwnd is 4 at least", least >= LEAST_WINDOW, f"cwnd at least {least:g}, including PROBE_RTT")
    cruising = [
        each.pacing_rate / each["pacing_gain"] / record.place.segments for each in found if each.phase == of.cruise
    ]
    mean = sum(cruising) / len(cruising)
    allowed = bandwidth_tolerance(record.place)
    asks = f"the pace is within {100 * allowed:.0f} % of the link"
    yield Fact(asks, abs(mean - 1) <= allowed, f"{mean:.1%} of the link in cruise")
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
                f"PROBE_RTT, due every 5 s, ends each of {len(probes)} probes: too short for the new rate"
            )
        raise UnreachedError(
            f"max_bw {record.samples[-1]['max_bw'] / record.place.segments:.0%} of the new rate at the end"
        )
    up = next(each for each in reversed(record.of(UP)) if each.start <= reached.time)
    steps = up_steps(record, up)
    bound = [(step, grown) for step, grown in growth(steps).items() if 0.75 * step <= grown <= 1.6 * step]
    doubles = len(bound) >= 2 and max(step for step, _ in steps) >= 16
    text = ", ".join(f"{grown:.0f} of {step:.0f}" for step, grown in bound)
    yield Fact("the step doubles", doubles, f"steps that the bound limits throughout grow it by {text}")
    most = max(grown / step for step, grown in steps)
    yield Fact("it grows by no more", most <= 1.6, f"by {most:.2f} steps at most")
    begun = next(each for each in record.of(UP) if each.end > rise)
    took = reached["round_count"] - record.at(max(begun.start, rise))["round_count"]
    most = 8 * log2(max(2.0, record.place.bdp))
    yield Fact(
        "O(log BDP) round trips", took <= most, f"{took:g} round trips of probing and between, {most:.0f} allowed"
    )


def up_steps(record: Record, up: Spell) -> list[tuple[float, float]]:
    """Return the step of each round trip of a probe, and the growth of inflight_longterm in it."""
    found = [each for each in record.between(up.start, up.end) if each["inflight_longterm"] < 1e9]
    rounds_ = sorted({each["round_count"] for each in found})
    of = {count: [each for each in found if each["round_count"] == count] for count in rounds_}
    pairs = [(of[a][-1], of[b][-1]) for a, b in itertools.pairwise(rounds_)]
    return [(2.0 ** (b["bw_probe_up_rounds"] - 1), b["inflight_longterm"] - a["inflight_longterm"]) for a, b in pairs]


def growth(steps: list[tuple[float, float]]) -> dict[float, float]:
    """Return the growth of inflight_longterm by step; a step stays over round trips that do not use it up."""
    grown: dict[float, float] = {}
    for step, by in steps:
        grown[step] = grown.get(step, 0.0) + by
    return grown


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
                f"PROBE_RTT, due every 5 s, ends each of {len(probes)} probes: only feedback of complete probes "
                "removes the old max_bw"
            )
        raise UnreachedError(f"max_bw {record.samples[-1]['max_bw'] / place.segments:.0%} of the old rate at the end")
    cycles = len([each for each in record.of(UP, fall) if each.start < low.time])
    yield Fact("max_bw follows after 2 cycles", cycles <= 2, f"after {low.time - fall:.2f} s, {cycles} probes")


def policed(record: Record) -> Iterator[Fact]:
    """Case 17."""
    reaction = [each for each in record.samples if each["bw_shortterm"] < 1e9 and each["inflight_shortterm"] < 1e9]
    text = f"first at {reaction[0].time:.2f} s" if reaction else "never"
    yield Fact("it adapts bw_shortterm and inflight_shortterm", bool(reaction), text)
    end = record.samples[-1].time
    late = record.between(end / 2, end)
    sent = sum(each.bits for each in late) / 8 / PACKET
    lost = sum(each.lost for each in late) / sent
    share = sent * (1 - lost) / (end / 2) / (record.place.segments / 2)
    yield Fact("it conforms to the token rate", 0.8 <= share <= 1.02, f"{share:.1%} of the token rate")
    allowed = LOSS_THRESH + probe_losses(CasePath(record.place.rate / 2, record.place.rtt))
    text = f"{lost:.2%} lost in the second half, {allowed:.2%} allowed"
    yield Fact("it loses at most LossThresh, and what its probes must lose", lost <= allowed, text)


def probe_losses(place: CasePath) -> float:
    """Return the share of packets that a sender loses to a policer through its probes.

    A probe sends at 1.25 times the rate for two round trips; the second one ends when the sender learns of the losses.
    The next probe comes after as many round trips as the path holds segments, at most 63, or after 2.5 s. The three
    round trips of refill, up and down are added.
    """
    between = min(min(63.0, place.bdp) * place.rtt, 2.5) + 3 * place.rtt
    return 0.25 * 2 * place.rtt / between


def undone(record: Record) -> Iterator[Fact]:
    """Cases 18 and 19."""
    start = late(record.place)
    up = changed(record, UP, start)
    if record.at(up.end)["full_bw_now"]:
        raise CutShortError(f"its plateau ends the {UP} of {up.start:.2f} s before a loss is found")
    before, already = record.before(up.end), record.at(up.start).retransmits
    sent = next((each for each in record.samples if each.time > up.start and each.retransmits > already), None)
    if sent is None:
        raise UnreachedError("nothing is retransmitted")
    yield Fact("segments are retransmitted", True, f"at {sent.time:.3f} s")
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
    text = f"inflight_longterm {before['inflight_longterm']:g}, then {reduced:g}"
    yield Fact("the loss has lowered a bound", reduced < before["inflight_longterm"], text)
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
        "it continues to search for the bandwidth",
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
        "it is scaled down, at most to Beta of the target",
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
