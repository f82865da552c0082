"""The test cases of an Internet-Draft on congestion control: what a sender goes through, held against what is written.

A case (`draft_cases.py`) is a scenario with the moments at which something changes, and a check of what was recorded:
the phases of the sender (docs/phases.md), the variables of its law by the draft's names, and the link. Everything
scales with a place, the rate and the round trip of the path.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from math import inf
from os import cpu_count
from typing import Any

from aqmlab import _core
from aqmlab._core import Scenario

PACKET = 1500
"""Bytes of a segment on the wire."""

FLOW, LINK, BACK = "flow", "line", "back"
"""The one flow of a case, its bottleneck, and the link of its ACKs where they have one."""

STEPS = 16
"""Samples in a round trip, at least; more where the phases change."""

MOST_SAMPLES = 40_000
"""Of one run; where a run has more round trips, they have fewer samples each."""

INSTANT = 1e-9
"""Seconds before a phase is entered: what led to it."""

FEWEST = 50
"""Packets that a queue holds at least, but where a case asks for a short one: more than an initial window."""


@dataclass(frozen=True)
class CasePath:
    """A path: `rate` in bit/s, `rtt` in s."""

    rate: float
    rtt: float

    @property
    def bdp(self) -> float:
        """Its bandwidth-delay product in segments."""
        return self.rate * self.rtt / 8 / PACKET

    @property
    def segments(self) -> float:
        """Segments that the path carries in a second."""
        return self.rate / 8 / PACKET

    @property
    def bundle(self) -> float:
        """Segments that BBR sends at once, and one: what it may have sent with the ACK that began a phase."""
        return max(2.0, min(44.0, 1.25 * self.segments / 1024)) + 1

    @property
    def least_inflight(self) -> float:
        """Segments in flight to which BBR budgets at least: three that are sent at once, QuantizationBudget."""
        return 3 * (self.bundle - 1) + 2

    def __str__(self) -> str:
        return f"{_prefixed(self.rate)}bit/s, {self.rtt * 1e3:g} ms"


def _prefixed(value: float) -> str:
    scale, prefix = next((each for each in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if value >= each[0]), (1.0, ""))
    return f"{value / scale:g} {prefix}"


@dataclass(frozen=True)
class CaseChange:
    """A change of `path` to `value`, `later` seconds after the flow enters `phase` for the first time from `after` on.

    Without a phase the time is `after` itself.
    """

    path: str
    value: str
    phase: str = ""
    after: float = 0.0
    later: float = 0.0


@dataclass(frozen=True)
class CaseRun:
    """One run of a case: keys of the link and the flow beyond the plain ones, changes, how long (s).

    `back` are keys of a link for ACKs, if they have one.
    """

    duration: float
    link: Mapping[str, Any] = field(default_factory=dict)
    flow: Mapping[str, Any] = field(default_factory=dict)
    changes: Sequence[CaseChange] = ()
    back: Mapping[str, Any] | None = None

    @property
    def passes(self) -> int:
        """The number of times that it runs: until all its changes have their times, and once more to look at it."""
        return 2 + sum(bool(change.later) for change in self.changes)

    def values(self, place: CasePath, law: str, phases: Sequence[tuple[float, str]] = ()) -> dict[str, Any]:
        """Return the scenario; a change that waits for some time after a phase is there once the phases are known."""
        line = {"rate": bits(place.rate), "delay": seconds(place.rtt / 4), "buffer": buffer(2, place), **self.link}
        tcp = {"profile": "linux", "congestion_control": law}
        flow = {"name": FLOW, "phases": True, "rtt": seconds(place.rtt), "tcp": tcp, **self.flow}
        links: list[dict[str, Any]] = [{"name": LINK, **line}]
        if self.back is not None:
            flow |= {"path": [LINK], "ack_path": [BACK]}
            links.append(
                {"name": BACK, "rate": bits(place.rate), "buffer": "100000 packets", "fixed": True, **self.back}
            )
        changes = [{"path": each.path, "value": each.value, **_moment(each, phases)} for each in self.changes]
        return {"schema": 1, "duration": f"{self.duration!r} s", "links": links, "flows": [flow], "changes": changes}


def _moment(change: CaseChange, phases: Sequence[tuple[float, str]]) -> dict[str, Any]:
    if not change.phase:
        return {"at": seconds(change.after)}
    entered = next((time for time, name in phases if name == change.phase and time >= change.after), None)
    if change.later and entered is not None:
        return {"at": seconds(entered + change.later)}
    # What waits for longer than the run lasts is not made; nor is it before the phases are known.
    after = 1e6 if change.later else change.after
    return {"when": {"flow": FLOW, "enters": change.phase, "after": seconds(after)}}


def buffer(products: float, place: CasePath) -> str:
    """Return so many times what the path holds as the value of a buffer, `FEWEST` and what BBR budgets at the least."""
    return f"{max(FEWEST, round(products * max(place.bdp, place.least_inflight)))} packets"


def bits(rate: float) -> str:
    """Return a rate (bit/s) as a scenario writes it."""
    return f"{rate:.12g} bit/s"


def seconds(time: float) -> str:
    """Return a time (s) as a scenario writes it."""
    return f"{time:.12f} s"


@dataclass(frozen=True)
class Spell:
    """A phase from `start` to `end` (s), and the one after it; "" at the end of the run."""

    name: str
    start: float
    end: float
    then: str

    @property
    def lasted(self) -> float:
        """Seconds."""
        return self.end - self.start


@dataclass(frozen=True)
class Sample:
    """The sender and its link at a time (s): segments, segments a second, and what the law shows.

    `bits` are those that the link has sent since the sample before, `lost` the packets that its queue or its wire lost.
    """

    time: float
    phase: str
    in_flight: int
    cwnd: float
    pacing_rate: float
    retransmits: int
    queue: int
    bits: float
    lost: int
    law: Mapping[str, float]

    def __getitem__(self, name: str) -> float:
        """Return a variable of the law."""
        return self.law[name]


@dataclass(frozen=True)
class Record:
    """The phases and samples of a run of a case under a law, in order of time."""

    place: CasePath
    law: str
    spells: Sequence[Spell]
    samples: Sequence[Sample]
    scenario: str

    def of(self, name: str, after: float = 0.0) -> list[Spell]:
        """Return the phases of a name that begin at or after a time."""
        return [spell for spell in self.spells if spell.name == name and spell.start >= after]

    def at(self, time: float) -> Sample:
        """Return the last sample until a time."""
        return next(sample for sample in reversed(self.samples) if sample.time <= time + INSTANT / 10)

    def before(self, time: float) -> Sample:
        """Return the sample right before a phase that was entered at this time."""
        return self.at(time - INSTANT)

    def between(self, start: float, end: float) -> list[Sample]:
        """Return the samples from a time on, before another."""
        return [sample for sample in self.samples if start <= sample.time < end]

    def utilisation(self, start: float, end: float) -> float:
        """Return the share of the path's rate that was sent from `start` to `end`."""
        found = self.between(start, end)
        return sum(sample.bits for sample in found[1:]) / (found[-1].time - found[0].time) / self.place.rate


@dataclass(frozen=True)
class Fact:
    """One thing that a case asks for: in words, whether it was so, and what was measured."""

    asks: str
    holds: bool
    measured: str


@dataclass(frozen=True)
class DraftCase:
    """A test case: its number and heading in the draft, what it asks for in our words, its runs and their check.

    `check` gets the records of the runs, in order. `limits` answers why the case cannot be had in a place, or nothing;
    `lacks` says so of laws, by their names.
    `own` is the place of its base run, if that of all the others is not what it is about.
    `whose` is whose fault a failure is known to be ("draft"), and `why` says so by the draft's text, or says what of
    the steps had to be different.
    """

    number: int
    title: str
    asks: str
    runs: Callable[[CasePath], Sequence[CaseRun]]
    check: Callable[..., Iterable[Fact]]
    limits: Callable[[CasePath], str] = lambda _: ""
    whose: str = ""
    why: str = ""
    own: CasePath | None = None
    lacks: Mapping[str, str] = field(default_factory=dict)


class UnreachedError(Exception):
    """The phase that a case is about was not reached; says which."""


class CutShortError(Exception):
    """Something else has ended the phase that a case is about, PROBE_RTT mostly, which is due each 5 s; says what."""


@dataclass(frozen=True)
class JudgedCase:
    """A case in a place under a law: "holds", "fails", "not applicable" or "skipped", with findings and records."""

    case: DraftCase
    place: CasePath
    law: str
    verdict: str
    findings: Sequence[Fact] = ()
    reason: str = ""
    records: Sequence[Record] = ()

    @property
    def whose(self) -> str:
        """The one to blame, if it fails: the draft's where its text shows it, else the law's."""
        return (self.case.whose or self.law) if self.verdict == "fails" else ""

    @property
    def told(self) -> str:
        """The measured values, and the reason."""
        failed = [f"not so: {finding.asks} ({finding.measured})" for finding in self.findings if not finding.holds]
        measured = [finding.measured for finding in self.findings if finding.holds]
        return ". ".join(part for part in [*failed, "; ".join(measured), self.reason] if part)

    def entry(self) -> dict[str, Any]:
        """Return the case as it stands in JSON."""
        return {
            "case": self.case.number,
            "title": self.case.title,
            "asks": self.case.asks,
            "law": self.law,
            "rate": self.place.rate,
            "rtt": self.place.rtt,
            "verdict": self.verdict,
            "whose": self.whose or None,
            "reason": self.reason or None,
            "findings": [{"asks": each.asks, "holds": each.holds, "measured": each.measured} for each in self.findings],
            "scenarios": [record.scenario for record in self.records],
            "phases": [[[spell.start, spell.name] for spell in record.spells] for record in self.records],
        }


def record(setup: CaseRun, place: CasePath, law: str) -> Record:
    """Run a case twice: once to know when its phases are, once to look at it then."""
    phases: Sequence[tuple[float, str]] = ()
    for _ in range(setup.passes - 1):
        scenario = Scenario.of(setup.values(place, law, phases), "case")
        phases = json.loads(_core.run(scenario).json())["flows"][FLOW]["phases"][0]
    spells, samples = _spells(phases, setup.duration), _samples(scenario, phases, place, setup.duration)
    return Record(place, bare(law), spells, samples, scenario.text)


def _spells(phases: Sequence[tuple[float, str]], end: float) -> list[Spell]:
    following = [*phases[1:], (end, "")]
    return [Spell(name, time, until, then) for (time, name), (until, then) in zip(phases, following, strict=True)]


def _samples(scenario: Scenario, phases: Sequence[tuple[float, str]], place: CasePath, end: float) -> list[Sample]:
    count = min(MOST_SAMPLES, max(1, round(STEPS * end / place.rtt)))
    edges = [time + shift for time, _ in phases for shift in (-INSTANT, 0.0) if time + shift > 0]
    times = sorted({end * i / count for i in range(1, count + 1)} | set(edges))
    simulation = _core.Simulation(scenario)
    found = []
    for time in times:
        simulation.step_until(time)
        flow, link = simulation.flow(FLOW), simulation.probe().links[LINK]
        found.append(
            Sample(
                time,
                flow["phase"],
                flow["in_flight"],
                flow["cwnd"],
                flow["pacing_rate"] or 0.0,
                flow["retransmits"],
                link["queue"],
                8.0 * link["bytes"],
                link["dropped"] + link["lost"],
                flow["variables"],
            )
        )
    return found


def bare(law: str) -> str:
    """Return the name of a law that may have parameters."""
    return law.partition(":")[0]


def packets(case: DraftCase, place: CasePath) -> float:
    """Return how many packets the runs of a case may have, each pass counted."""
    return sum(place.segments * run.duration * run.passes for run in case.runs(place))


def judge(case: DraftCase, place: CasePath, law: str, most: float = inf) -> JudgedCase:
    """Run a case in a place and judge it; one that may have more than `most` packets is skipped."""
    if limit := case.lacks.get(bare(law)) or case.limits(place):
        return JudgedCase(case, place, law, "not applicable", reason=limit)
    if (count := packets(case, place)) > most:
        return JudgedCase(case, place, law, "skipped", reason=f"{count:.2g} packets, more than {most:.2g}")
    records = [record(setup, place, law) for setup in case.runs(place)]
    try:
        findings = list(case.check(*records))
    except CutShortError as error:
        return JudgedCase(case, place, law, "not applicable", reason=str(error), records=records)
    except UnreachedError as error:
        findings = [Fact("the phase is reached", False, str(error))]
    verdict = "holds" if all(finding.holds for finding in findings) else "fails"
    return JudgedCase(case, place, law, verdict, findings, case.why, records)


def judge_all(
    wanted: Sequence[tuple[DraftCase, CasePath]],
    law: str = "bbr3",
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    most: float = inf,
    *,
    keep: bool = True,
) -> list[JudgedCase]:
    """Judge cases, each in its place, `jobs` at a time (default: one a core); `progress` hears how many are done.

    `most` packets may a case have; without `keep` the records, tens of megabytes each, are gone once it is judged.
    """

    def judged_one(pair: tuple[DraftCase, CasePath]) -> JudgedCase:
        found = judge(*pair, law, most)
        return found if keep else replace(found, records=())

    done = []
    with ThreadPoolExecutor(jobs or cpu_count() or 1) as pool:
        for i, judged in enumerate(pool.map(judged_one, wanted), 1):
            done.append(judged)
            if progress:
                progress(i, len(wanted))
    return done
