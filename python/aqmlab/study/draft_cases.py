"""The example test cases of draft-ietf-ccwg-bbr (editor's copy of 2026-08-03, commit 4ce5e87), in its order.

Requirements are paraphrased; the numbers are the draft's. If the draft's steps do not produce the required condition,
the case takes other steps and explains them. `draft_checks.py` contains the checks, `draft_phases.py` finds phases.
"""

from collections.abc import Callable, Sequence
from typing import Any

from aqmlab.problems import InputError
from aqmlab.quantities import read
from aqmlab.runs.executor import Progress
from aqmlab.study.draft import (
    FLOW,
    LINK,
    PACKET,
    CaseChange,
    CasePath,
    CaseRun,
    DraftCase,
    JudgedCase,
    bare,
    bits,
    buffer,
    judge_all,
    seconds,
)
from aqmlab.study.draft_checks import (
    PAUSE,
    aggregated_cruise,
    aggregated_startup,
    down_inflight,
    down_time,
    drain_inflight,
    drain_time,
    faster,
    idle,
    plateau,
    policed,
    probe_rtt,
    refill_limited,
    slower,
    startup_loss,
    startup_probe_rtt,
    stays,
    sub_packet,
    undone,
    up_loss,
    up_loss_bound,
    up_plateau,
)
from aqmlab.study.draft_phases import DOWN, DRAIN, LAWS, REFILL, UP, aggregation, late, moments, settled
from aqmlab.study.paper import DRAFTS

(NAME,) = DRAFTS
"""The name of the study on the command line."""

TITLE = "BBR: the example test cases of its draft"

SOURCE = "draft-ietf-ccwg-bbr, BBR Example Test Cases, editor's copy of 2026-08-03 (4ce5e87)"

WITHOUT_PHASE = {"bbr": "BBR's probe_bw is one phase: no probe_bw_down, refill or up"}
WITHOUT_BOUND = {"bbr": "BBR has neither inflight_longterm nor bw_shortterm"}

RATE, LOSS, OFFERED = f"links.{LINK}.rate", f"links.{LINK}.loss", f"flows.{FLOW}.rate"
DELAY = f"links.{LINK}.delay"


def cycle(place: CasePath) -> float:
    """Return the maximum time (s) between two bandwidth probes: 3 s, and the round trips of refill, up and down."""
    return 3.0 + 16 * place.rtt


def offered(rate: float, place: CasePath) -> dict[str, str]:
    """Return the keys of a flow whose application offers data at a rate, at most 1000 times per round trip."""
    chunk = max(1, round(rate * place.rtt / 8 / 1448 / 1000))
    return {"kind": "app-limited", "rate": bits(rate), "chunk": f"{chunk} packets"}


def held(rate: float, place: CasePath) -> list[CaseChange]:
    """Return changes that discard the application's backlog, every round trip until a flow has settled.

    Its window starts small. Without these changes the backlog would make the flow network-limited.
    """
    end = settled(place)
    count = min(100, round(end / place.rtt))
    return [CaseChange(OFFERED, bits(rate), after=end * i / count) for i in range(1, count)]


def scaled(share: float, place: CasePath) -> str:
    """Return a share of the path's rate as the value of a change."""
    return bits(share * place.rate)


def behind_bursts_of_acks(place: CasePath, duration: float) -> CaseRun:
    """Return a run whose ACKs arrive in bursts, as on a link that aggregates."""
    every = seconds(aggregation(place))
    return CaseRun(duration, back={"aggregation": {"every": every}}, link={"buffer": buffer(4, place)})


def long_enough(place: CasePath, cycles: float = 2) -> float:
    """Return a duration (s) with a number of bandwidth probes after startup."""
    return round(settled(place) + cycles * cycle(place) + 1.0, 3)


def too_small(least: float, why: str) -> Callable[[CasePath], str]:
    """Return the limit of a case that needs a number of segments in flight."""
    return lambda place: f"the path holds {place.bdp:.2g} segments: {why}" if place.bdp < least else ""


def below_budget(place: CasePath) -> str:
    """Return the reason if the data in flight cannot fall to the BDP."""
    least = place.least_inflight
    return f"the path holds {place.bdp:.2g} segments: QuantizationBudget is {least:.3g}" if place.bdp < least else ""


def waits_for_reno(place: CasePath) -> str:
    """Return the reason if case 9 is impossible: IsRenoCoexistenceProbeTime before the 2 to 3 s of bw_probe_wait."""
    count = min(63.0, place.bdp)
    return (
        f"{count:.3g} round trips, after which Reno would lose a packet, come first" if count * place.rtt < 2.2 else ""
    )


def overtakes(place: CasePath) -> str:
    """Return the reason if no segment overtakes another on the shorter path of case 18: they leave in bursts."""
    apart, shorter = (place.bundle - 1) / place.segments, 0.35 * place.rtt
    no_overtaking = (
        f"bursts leave every {apart * 1e3:.2g} ms: none overtakes on a path shorter by {shorter * 1e3:.2g} ms"
    )
    return too_small(12, "no three segments that overtake another")(place) or (no_overtaking if apart > shorter else "")


def policer(place: CasePath) -> dict[str, str]:
    """Return a policer of half of the rate; its bucket holds a BDP, at least ten packets."""
    burst = max(10 * PACKET, place.rate / 2 * place.rtt / 8)
    return {"rate": bits(place.rate / 2), "burst": f"{burst:.0f} B"}


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
        why="the check cuts the rate by 60 %: a sender that paces at half of its estimate still drains the queue of a "
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
        "stays there, except for PROBE_RTT",
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
        lambda place: [CaseRun(long_enough(place, 3), link={"buffer": "0.5 bdp"})],
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
            or ("eight round trips exceed the 3 s of bw_probe_wait" if 8 * place.rtt > 3 else "")
        ),
    ),
    DraftCase(
        14,
        "Correctly Managing Sub-Packet BDPs",
        "cwnd at least 4; pacing rate of the link; no stall",
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
                link={"rate": bits(0.1 * place.rate), "buffer": "0.5 bdp"},
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
                link={"buffer": "1 bdp"},
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
                link={"buffer": "4 bdp", "delay": seconds(place.rtt / 8)},
                changes=[CaseChange(f"flows.{FLOW}.rtt", seconds(0.3 * place.rtt), UP, late(place), 1.5 * place.rtt)],
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
                    CaseChange(DELAY, seconds(place.rtt / 4 + 0.6 + 3 * place.rtt), UP, late(place), 1.5 * place.rtt),
                    CaseChange(DELAY, seconds(place.rtt / 4), UP, late(place), 2 * place.rtt),
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
                link={"buffer": "0.25 bdp"},
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
"""All cases, in the draft's order."""

BASE = CasePath(50e6, 0.04)
"""The default path."""

GRID = [CasePath(rate, rtt) for rate in (64e3, 10e6, 1e9, 10e9) for rtt in (0.0005, 0.04, 1.0)]
"""Paths over the range that the draft names, the corners among them, on which `make nightly` judges every case."""

MOST_PACKETS = 1e7
"""Maximum number of packets of a case of the grid, some seconds. Larger cases are skipped and reported."""


def compare_grid(law: str = "bbr3", jobs: int | None = None) -> list[JudgedCase]:
    """Judge every case on every path of `GRID`; the large records are not kept."""
    wanted = [(case, place) for place in GRID for case in CASES]
    return judge_all(wanted, law, jobs, most=MOST_PACKETS, keep=False)


def chosen(only: str | None) -> list[DraftCase]:
    """Return the cases of a list of numbers ("1,9,14"), all if None; InputError for an unknown case."""
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

    `rate` ("10 Gbit/s") and `rtt` ("1 ms") describe the path, by default 50 Mbit/s and 40 ms except for cases that need
    another one. `law` must show the variables of the cases. `bbr3` does, with parameters if any
    ("bbr3:ecn_max_rtt=1ms"); `bbr` supports some of the cases. Raises InputError for bad input, before anything runs.
    """
    if bare(law) not in LAWS:
        raise InputError("law", f"{law}: does not show the variables of {NAME}; expected {', '.join(LAWS)}")
    cases = chosen(only)
    given = CasePath(
        BASE.rate if rate is None else read_rate(rate),
        BASE.rtt if rtt is None else read_rtt(rtt),
    )
    is_base = rate is None and rtt is None
    return judge_all([(case, (case.own if is_base else None) or given) for case in cases], law, jobs, progress)


def read_rate(text: str) -> float:
    """Return a rate (bit/s) in the range of the cases."""
    found = read("rate", text, "bit/s")
    if not 1e3 <= found <= 1e11:
        raise InputError("rate", f"{text}: out of range; 1 kbit/s to 100 Gbit/s")
    return found


def read_rtt(text: str) -> float:
    """Return a round trip (s) in the range of the cases."""
    found = read("rtt", text, "s")
    if not 1e-5 <= found <= 10:
        raise InputError("rtt", f"{text}: out of range; 10 us to 10 s")
    return found


def document(judged: Sequence[JudgedCase]) -> dict[str, Any]:
    """Return the judged cases for JSON."""
    return {"study": NAME, "title": TITLE, "source": SOURCE, "cases": [each.entry() for each in judged]}
