"""The test cases of an Internet-Draft on congestion control: the behaviour of a sender, compared with the draft's text.

A case (`draft_cases.py`) is a scenario with the times of its changes, and a check of the record: the phases of the
sender (docs/phases.md), the variables of its controller under the draft's names, and the link. Everything scales with a
place, the rate and the round trip of the path.
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
"""Minimum number of samples per round trip; there are more at changes of phase."""

MOST_SAMPLES = 40_000
"""Maximum number of samples of a run; a run with more round trips takes fewer samples in each."""

INSTANT = 1e-9
"""Seconds before the start of a phase, for a look at its cause."""

FEWEST = 50
"""Minimum capacity of a queue in packets, more than an initial window, unless a case requires a short queue."""


@dataclass(frozen=True)
class CasePath:
    """A path: `rate` in bit/s, `rtt` in s."""

    rate: float
    rtt: float

    @property
    def bdp(self) -> float:
        """The bandwidth-delay product in segments."""
        return self.rate * self.rtt / 8 / PACKET

    @property
    def segments(self) -> float:
        """Segments per second on the path."""
        return self.rate / 8 / PACKET

    @property
    def bundle(self) -> float:
        """Segments that BBR sends at once, plus one: the most it may send on the ACK that began a phase."""
        return max(2.0, min(44.0, 1.25 * self.segments / 1024)) + 1

    @property
    def least_inflight(self) -> float:
        """Minimum budget of BBR in segments in flight, QuantizationBudget: three times those sent at once."""
        return 3 * (self.bundle - 1) + 2

    def __str__(self) -> str:
        return f"{_prefixed(self.rate)}bit/s, {self.rtt * 1e3:g} ms"


def _prefixed(value: float) -> str:
    scale, prefix = next((each for each in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if value >= each[0]), (1.0, ""))
    return f"{value / scale:g} {prefix}"


@dataclass(frozen=True)
class CaseChange:
    """A change of `path` to `value`, `later` seconds after the flow first enters `phase` at or after `after`.

    Without a phase the time is `after`.
    """

    path: str
    value: str
    phase: str = ""
    after: float = 0.0
    later: float = 0.0


@dataclass(frozen=True)
class CaseRun:
    """One run of a case: additional keys of the link and the flow, changes, duration (s).

    `back` are keys of a link for ACKs, if there is one.
    """

    duration: float
    link: Mapping[str, Any] = field(default_factory=dict)
    flow: Mapping[str, Any] = field(default_factory=dict)
    changes: Sequence[CaseChange] = ()
    back: Mapping[str, Any] | None = None

    @property
    def passes(self) -> int:
        """The number of passes: until the times of all changes are known, and one more to record."""
        return 2 + sum(bool(change.later) for change in self.changes)

    def values(self, place: CasePath, law: str, phases: Sequence[tuple[float, str]] = ()) -> dict[str, Any]:
        """Return the scenario; a change at some time after a phase is included once the phases are known."""
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
    # A change after the end of the run never happens; neither does one whose phases are not known yet.
    after = 1e6 if change.later else change.after
    return {"when": {"flow": FLOW, "enters": change.phase, "after": seconds(after)}}


def buffer(products: float, place: CasePath) -> str:
    """Return `products` times the BDP, or BBR's budget if larger, as the value of a buffer; at least `FEWEST`."""
    return f"{max(FEWEST, round(products * max(place.bdp, place.least_inflight)))} packets"


def bits(rate: float) -> str:
    """Return a rate (bit/s) in the notation of scenarios."""
    return f"{rate:.12g} bit/s"


def seconds(time: float) -> str:
    """Return a time (s) in the notation of scenarios."""
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
    """The sender and its link at a time (s): segments, segments per second, and the variables of the controller.

    `bits` counts bits that the link sent since the previous sample, `lost` packets that its queue or the link lost.
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
        """Return a variable of the controller."""
        return self.law[name]


@dataclass(frozen=True)
class Record:
    """The phases and samples of a run of a case with a controller, in order of time."""

    place: CasePath
    law: str
    spells: Sequence[Spell]
    samples: Sequence[Sample]
    scenario: str

    def of(self, name: str, after: float = 0.0) -> list[Spell]:
        """Return the phases of a name that begin at or after a time."""
        return [spell for spell in self.spells if spell.name == name and spell.start >= after]

    def at(self, time: float) -> Sample:
        """Return the last sample up to a time."""
        return next(sample for sample in reversed(self.samples) if sample.time <= time + INSTANT / 10)

    def before(self, time: float) -> Sample:
        """Return the sample right before a phase that begins at this time."""
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
    """One requirement of a case: its words, whether it holds, and the measured value."""

    asks: str
    holds: bool
    measured: str


@dataclass(frozen=True)
class DraftCase:
    """A test case: its number and heading in the draft, a paraphrase of its requirement, its runs and their check.

    `check` gets the records of the runs, in order. `limits` returns the reason why a place does not permit the case, or
    an empty text; `lacks` gives reasons by controller. `own` is the place of the base run, if it differs from the usual
    one. `whose` names the known cause of a failure ("draft"). `why` supports it by the draft's text, or explains steps
    that differ from the draft.
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
    """The phase under test was not reached; the message names it."""


class CutShortError(Exception):
    """Something else ended the phase under test, mostly PROBE_RTT, which is due every 5 s; the message names it."""


@dataclass(frozen=True)
class JudgedCase:
    """A case in a place with a controller: "holds", "fails", "not applicable" or "skipped", findings and records."""

    case: DraftCase
    place: CasePath
    law: str
    verdict: str
    findings: Sequence[Fact] = ()
    reason: str = ""
    records: Sequence[Record] = ()

    @property
    def whose(self) -> str:
        """The cause of a failure: the draft if its text shows it, else the controller."""
        return (self.case.whose or self.law) if self.verdict == "fails" else ""

    @property
    def explanation(self) -> str:
        """The measured values, and the reason."""
        failed = [f"not met: {finding.asks} ({finding.measured})" for finding in self.findings if not finding.holds]
        measured = [finding.measured for finding in self.findings if finding.holds]
        return ". ".join(part for part in [*failed, "; ".join(measured), self.reason] if part)

    def entry(self) -> dict[str, Any]:
        """Return the case for JSON."""
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
    """Run a case twice: once to learn the times of its phases, once to record the sender then."""
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
    """Return the name of a controller without its parameters."""
    return law.partition(":")[0]


def packets(case: DraftCase, place: CasePath) -> float:
    """Return the maximum number of packets of the runs of a case, over all passes."""
    return sum(place.segments * run.duration * run.passes for run in case.runs(place))


def judge(case: DraftCase, place: CasePath, law: str, most: float = inf) -> JudgedCase:
    """Run a case in a place and judge it; skip it if it may have more than `most` packets."""
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
    """Judge cases, each in its place, `jobs` at a time (default: one per core); `progress` gets the number done.

    `most` is the maximum number of packets of a case. `keep` retains the records, tens of megabytes each.
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
