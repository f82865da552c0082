"""The origin of failures: each failing sentence judged again with what its paper leaves open varied.

`ledgers/sensitivity/<name>.json` holds what was found; `docs/ledgers.py --sensitivity` writes it.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.resources import files
from math import inf
from typing import Any

from aqmlab import catalogue
from aqmlab._core import Scenario, read_toml
from aqmlab.notebook import Result, Sheet
from aqmlab.runs.executor import Progress
from aqmlab.scenario import load
from aqmlab.study.claims import Checked, check
from aqmlab.study.ledger import Claim
from aqmlab.study.measured import StudyRuns, measure
from aqmlab.study.paper import Study, load_study
from aqmlab.study.readings import BANDS

WHOSE = {
    "ours": "it moves with what the paper leaves open: bands, numbers for vague words, readings, unstated runs",
    "the paper's": "the verdict stays under all variations, or the paper's own tables contradict the sentence",
    "unknown": "not varied, or moved only by what the paper states, or a scheme is fitted or reconstructed",
}
"""The origins that a failure can have, and what that means."""


@dataclass(frozen=True)
class Variation:
    """A sentence judged otherwise: another check (None where it does not apply), or another scenario, or both.

    `of` is what is varied: "band", "reading", or one of `aqmlab.study.paper.UNSTATED`, whose scenarios are run again.
    """

    name: str
    of: str
    check: Callable[[Claim], Claim | None]
    scenario: Callable[[Scenario], Scenario] | None = None


@dataclass(frozen=True)
class Tried:
    """The verdict on a sentence under a variation."""

    variation: str
    of: str
    verdict: str


@dataclass(frozen=True)
class Varied:
    """A failing sentence with the variations that were tried until one that the paper leaves open moved the verdict."""

    section: str
    text: str
    check: str
    whose: str
    tried: Sequence[Tried] = ()

    @property
    def told(self) -> str:
        """Say whose failure it is, and what was varied."""
        moved = [each.variation for each in self.tried if each.verdict == "holds"]
        stays = [each.variation for each in self.tried if each.verdict != "holds"]
        parts = [f"holds with {', '.join(moved)}"] if moved else []
        parts += [f"fails with {', '.join(stays)}"] if stays else []
        return f"{self.whose} ({'; '.join(parts)})" if parts else self.whose


@dataclass(frozen=True, repr=False)
class Sensitivity(Result):
    """The failing sentences of a study, and whose failure each is."""

    study: Study
    seeds: int
    varied: Sequence[Varied]

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of failures that are ours, the paper's and of unknown origin."""
        found = [each.whose for each in self.varied]
        return {whose: found.count(whose) for whose in WHOSE}

    @property
    def headline(self) -> str:
        """The study, and whose the failures are."""
        return f"{self.study.title}, {len(self.varied)} sentences fail: " + ", ".join(
            f"{whose} {count}" for whose, count in self.counts.items()
        )

    def sheets(self) -> Iterator[Sheet]:
        """Return a table with a row a sentence."""
        rows = [[each.section, each.text, each.told] for each in self.varied]
        yield Sheet("Sentences that fail", ["Section", "Sentence", "Whose"], rows)

    def entry(self) -> dict[str, Any]:
        """Return it as it stands in JSON."""
        sentences = [
            {
                "section": each.section,
                "claim": each.text,
                "check": each.check,
                "whose": each.whose,
                "tried": [vars(tried) for tried in each.tried],
            }
            for each in self.varied
        ]
        return {"study": self.study.name, "seeds": self.seeds, "counts": self.counts, "sentences": sentences}

    def json(self) -> str:
        """Return it as one JSON document."""
        return json.dumps({"schema": 1, **self.entry()}, indent=1, ensure_ascii=False)


def sensitivity(
    study: str, seeds: int = 3, *, jobs: int | None = None, progress: Progress | None = None
) -> Sensitivity:
    """Judge each sentence of a study that fails again with other bands, readings, lengths of runs and numbers of flows.

    Raises InputError for an unknown study, before anything runs.
    """
    paper = load_study(study)
    claims = [claim for claim in paper.claims if claim.value]
    runs = _measure(paper, claims, seeds, jobs, progress)
    failing = [found for claim in claims if (found := check(paper, claim, runs)).verdict == "fails"]
    tried: list[list[Tried]] = [[] for _ in failing]
    for variation in VARIATIONS:
        again = {
            at: other
            for at, found in enumerate(failing)
            if found.printed is not False and _whose(paper, found, tried[at]) != "ours"
            if (other := variation.check(found.claim)) is not None
        }
        if variation.scenario and again:
            runs_again = _measure(paper, again.values(), seeds, jobs, progress, variation.scenario)
        else:
            runs_again = runs
        for at, other in again.items():
            tried[at].append(Tried(variation.name, variation.of, check(paper, other, runs_again).verdict))
    return Sensitivity(paper, seeds, [_varied(paper, *each) for each in zip(failing, tried, strict=True)])


def all_json(several: Sequence[Sensitivity]) -> str:
    """Return several studies as one JSON document."""
    return json.dumps({"schema": 1, "studies": [each.entry() for each in several]}, indent=1, ensure_ascii=False)


def stored(study: str) -> Mapping[str, Varied]:
    """Return what was found of a study's failing sentences, by the digest of their checks; none if nothing was."""
    file = files("aqmlab.study") / "ledgers" / "sensitivity" / f"{study}.json"
    if not file.is_file():
        return {}
    return {
        entry["check"]: Varied(
            entry["section"], entry["claim"], entry["check"], entry["whose"], [Tried(**each) for each in entry["tried"]]
        )
        for entry in json.loads(file.read_text(encoding="utf-8"))["sentences"]
    }


def whose(found: Checked, known: Mapping[str, Varied]) -> str:
    """Return whose failure it is, and what was varied, where that is known of this very check."""
    if found.printed is False:
        return "the paper's (its own tables contradict the sentence)"
    varied = known.get(digest(found.claim))
    return varied.told if varied else "unknown"


def digest(claim: Claim) -> str:
    """Return what tells a check from others, whatever the sentence and its reason say: a changed one is not known."""
    same = replace(claim, section="", text="", why=None, control=())
    return sha256(repr(same).encode()).hexdigest()[:12]


def _measure(
    paper: Study,
    claims: Iterable[Claim],
    seeds: int,
    jobs: int | None,
    progress: Progress | None,
    change: Callable[[Scenario], Scenario] = lambda scenario: scenario,
) -> StudyRuns:
    needed = paper.needed((), (), claims)
    return measure(needed, list(needed), seeds, jobs, progress, find=lambda name: change(load(name)))


def _varied(paper: Study, found: Checked, tried: Sequence[Tried]) -> Varied:
    claim = found.claim
    return Varied(claim.section, claim.text, digest(claim), _whose(paper, found, tried), tried)


def _whose(paper: Study, found: Checked, tried: Sequence[Tried]) -> str:
    if found.printed is False:
        return "the paper's"
    moved = {each.of for each in tried if each.verdict == "holds"}
    if moved & {"band", "reading", *paper.unstated}:
        return "ours"
    return "unknown" if moved or not tried or not _published(paper, found.claim) else "the paper's"


def _published(paper: Study, claim: Claim) -> bool:
    """Say whether the laws of all that a claim compares are as published."""
    return all(
        catalogue.find(spec.partition(":")[0]).standing.kind == "published"
        for spec in paper.compared(replace(claim, control=()))
    )


def _banded(by: float) -> Callable[[Claim], Claim | None]:
    """Return what multiplies the band of a time to settle, and what stands for a vague word."""

    def change(claim: Claim) -> Claim | None:
        changed: dict[str, Any] = {key: _number(getattr(claim, key), by) for key in claim.worded}
        if claim.value in BANDS:
            changed["band"] = by * _band(claim)
        return replace(claim, **changed) if changed else None

    return change


def _number(number: float | tuple[float, float], by: float) -> float | tuple[float, float]:
    """Return a factor's distance from 1, a range's width, or the end of one that has no other, times `by`."""
    if not isinstance(number, tuple):
        return 1 + (number - 1) * by
    low, high = number
    if low == 0:
        return low, _end(high, by)
    if high in (1, inf):
        return _end(low, by), high
    middle, half = (low + high) / 2, (high - low) / 2
    return middle - half * by, middle + half * by


def _end(end: float, by: float) -> float:
    """Return an end times `by`; of a share near 1 its distance from 1."""
    return 1 - (1 - end) * by if 0.5 < end < 1 else end * by


def _band(claim: Claim) -> float:
    """Return the band of a time to settle, packets; that of the first scenario where the claim gives none."""
    if claim.band is not None:
        return claim.band
    return BANDS[claim.value] * load(claim.scenarios[0]).link(claim.link).target


def _around(value: str, other: str) -> Callable[[Claim], Claim | None]:
    """Return what takes the time to settle around another level, in the same band."""
    return lambda claim: replace(claim, value=other, band=_band(claim)) if claim.value == value else None


def _measured(claim: Claim) -> Claim | None:
    """Return the check of the time to settle that a run has itself."""
    return replace(claim, value="settling_time") if claim.value in BANDS and not claim.during else None


def _late(claim: Claim) -> Claim | None:
    """Return the check of a queue over the second half of the run alone."""
    if claim.during or claim.average or claim.value not in ("queue_mean", "queue_std"):
        return None
    return replace(claim, during=((load(claim.scenarios[0]).duration / 2, inf),))


def _whole(claim: Claim) -> Claim | None:
    """Return the check as it is; None where it looks at a part of the run that a longer one does not change."""
    return None if claim.during else claim


def _longer(scenario: Scenario) -> Scenario:
    return _with(scenario, {"duration": f"{1.5 * scenario.duration!r} s"})


def _flows(by: float) -> Callable[[Scenario], Scenario]:
    """Return what multiplies the number of flows of every group, of which one at least stays."""

    def scaled(value: Any) -> Any:
        if isinstance(value, list):
            return [scaled(each) for each in value]
        if isinstance(value, dict):
            count = {"count": max(1, round(value["count"] * by))} if "count" in value else {}
            return {key: scaled(each) for key, each in value.items()} | count
        return value

    return lambda scenario: _with(scenario, {"flows": scaled(read_toml(scenario.text, scenario.name)["flows"])})


def _with(scenario: Scenario, changed: Mapping[str, Any]) -> Scenario:
    return Scenario.of({**read_toml(scenario.text, scenario.name), **changed}, scenario.name)


VARIATIONS = (
    Variation("half the band", "band", _banded(0.5)),
    Variation("twice the band", "band", _banded(2)),
    Variation("the queue's own level for the target", "reading", _around("transient", "stabilisation")),
    Variation("the target for the queue's own level", "reading", _around("stabilisation", "transient")),
    Variation("means over 1 s in 10 % of the buffer", "reading", _measured),
    Variation("the second half of the run", "reading", _late),
    Variation("runs 1.5 times as long", "length", _whole, _longer),
    Variation("a fifth fewer flows", "flows", lambda claim: claim, _flows(0.8)),
    Variation("a fifth more flows", "flows", lambda claim: claim, _flows(1.2)),
)
"""What is varied, in this order, until a variation that the paper leaves open moves the verdict."""
