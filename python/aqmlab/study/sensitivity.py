"""The origin of failures: each failing sentence is judged again under variations of the details that its paper omits.

`ledgers/sensitivity/<name>.json` stores the results; `docs/ledgers.py --sensitivity` writes it.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from aqmlab import __version__, catalogue
from aqmlab._core import Scenario
from aqmlab.files import write
from aqmlab.notebook import Result, Sheet
from aqmlab.runs.executor import Progress
from aqmlab.study.claims import Checked, check
from aqmlab.study.evidence import holds_in_print
from aqmlab.study.ledger import Claim
from aqmlab.study.measured import measure, scenario_of
from aqmlab.study.paper import Study, load_study
from aqmlab.study.variations import VARIATIONS, constants

WHOSE = {
    "ours": "the verdict changes with a detail that the paper leaves open: a band, a vague word, a reading, the runs",
    "the paper's": "no variation changes the verdict, or the paper's own tables contradict the sentence",
    "unknown": "not varied, changed only by what the paper states, or a scheme is fitted or reconstructed",
}
"""The origins of a failure, and their meaning."""


@dataclass(frozen=True)
class Tried:
    """The verdict on a sentence under a variation."""

    variation: str
    of: str
    verdict: str


@dataclass(frozen=True)
class Varied:
    """A failing sentence with its variations, tried until one that the paper leaves open changed the verdict."""

    section: str
    text: str
    check: str
    whose: str
    tried: Sequence[Tried] = ()

    @property
    def told(self) -> str:
        """The origin of the failure, and the variations: `"ours (holds: twice the band; fails: half the band)"`."""
        moved = [each.variation for each in self.tried if each.verdict == "holds"]
        stays = [each.variation for each in self.tried if each.verdict != "holds"]
        parts = [f"holds: {', '.join(moved)}"] if moved else []
        parts += [f"fails: {', '.join(stays)}"] if stays else []
        return f"{self.whose} ({'; '.join(parts)})" if parts else self.whose


@dataclass(frozen=True, repr=False)
class Sensitivity(Result):
    """The failing sentences of a study, and the origin of each failure."""

    study: Study
    seeds: int
    varied: Sequence[Varied]

    @property
    def counts(self) -> dict[str, int]:
        """The number of failures by origin."""
        found = [each.whose for each in self.varied]
        return {whose: found.count(whose) for whose in WHOSE}

    @property
    def headline(self) -> str:
        """The study, and its failures by origin."""
        return f"{self.study.title}, {len(self.varied)} sentences fail: " + ", ".join(
            f"{whose} {count}" for whose, count in self.counts.items()
        )

    def sheets(self) -> Iterator[Sheet]:
        """Return a table with one row per sentence."""
        rows = [[each.section, each.text, each.told] for each in self.varied]
        yield Sheet("Sentences that fail", ["Section", "Sentence", "Whose"], rows)

    def entry(self) -> dict[str, Any]:
        """Return the content of the JSON document."""
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


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of a study by check and variation, stored in a file if one is given."""

    file: Path | None
    head: Mapping[str, Any]
    found: dict[str, dict[str, str]]

    @classmethod
    def of(cls, study: str, seeds: int, file: Path | None) -> "Verdicts":
        """Return the stored verdicts of this study, with as many seeds, by this version."""
        head = {"study": study, "seeds": seeds, "version": __version__}
        data: dict[str, Any] = {}
        if file is not None:
            with suppress(FileNotFoundError):
                data = json.loads(file.read_text(encoding="utf-8"))
        return cls(file, head, data["verdicts"] if data.get("head") == head else {})

    def put(self, variation: str, verdicts: Mapping[str, str]) -> None:
        """Store verdicts under a variation by check."""
        self.found.setdefault(variation, {}).update(verdicts)
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            write(self.file, json.dumps({"head": self.head, "verdicts": self.found}, indent=1).encode())


def _same(scenario: Scenario) -> Scenario:
    return scenario


@dataclass(frozen=True)
class Judge:
    """Runs the scenarios of sentences and judges them."""

    paper: Study
    seeds: int
    jobs: int | None
    progress: Progress | None
    known: Verdicts

    def verdicts(
        self,
        claims: Sequence[Claim],
        variation: str = "",
        change: Callable[[Scenario], Scenario] = _same,
    ) -> list[str]:
        """Return the verdict on each claim in its changed scenarios."""
        known = self.known.found.get(variation, {})
        fresh = [claim for claim in claims if _key(claim) not in known]
        if fresh:
            needed = self.paper.needed((), (), fresh)
            runs = measure(
                needed, list(needed), self.seeds, self.jobs, self.progress, find=lambda name: change(scenario_of(name))
            )
            self.known.put(variation, {_key(claim): check(self.paper, claim, runs).verdict for claim in fresh})
        return [self.known.found[variation][_key(claim)] for claim in claims] if claims else []


def sensitivity(
    study: str,
    seeds: int = 3,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    file: Path | None = None,
) -> Sensitivity:
    """Judge each failing sentence of a study again, by its alternatives and under variations of the omitted details.

    Verdicts are stored in `file` one by one; those that it already contains are not measured again.
    Raises InputError for an unknown study, before anything runs.
    """
    paper = load_study(study)
    judge = Judge(paper, seeds, jobs, progress, Verdicts.of(study, seeds, file))
    claims = [claim for claim in paper.claims if claim.value]
    failing = [claim for claim, verdict in zip(claims, judge.verdicts(claims), strict=True) if verdict == "fails"]
    tried = _alternatives(judge, failing)
    for variation in sorted((*VARIATIONS, *constants(paper)), key=lambda each: each.scenario is not None):
        again = {
            at: other
            for at, claim in enumerate(failing)
            if holds_in_print(paper, claim) is not False and _whose(paper, claim, tried[at]) != "ours"
            if (other := variation.check(claim)) is not None
        }
        verdicts = judge.verdicts(
            [*again.values()], variation.name if variation.scenario else "", variation.scenario or _same
        )
        for at, verdict in zip(again, verdicts, strict=True):
            tried[at].append(Tried(variation.name, variation.of, verdict))
    return Sensitivity(paper, seeds, [_varied(paper, *each) for each in zip(failing, tried, strict=True)])


def _alternatives(judge: Judge, claims: Sequence[Claim]) -> list[list[Tried]]:
    """Judge every alternative of each claim."""
    verdicts = iter(judge.verdicts([other.claim for claim in claims for other in claim.alternatives]))
    return [[Tried(other.name, "reading", next(verdicts)) for other in claim.alternatives] for claim in claims]


def all_json(several: Sequence[Sensitivity]) -> str:
    """Return several studies as one JSON document."""
    return json.dumps({"schema": 1, "studies": [each.entry() for each in several]}, indent=1, ensure_ascii=False)


def stored(study: str) -> Mapping[str, Varied]:
    """Return the stored results of a study's failing sentences, by the digest of their checks; empty by default."""
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
    """Return the origin of a failure and its variations; "unknown" unless this check was varied."""
    varied = known.get(digest(found.claim))
    if found.printed is False and (varied is None or varied.whose != "ours"):
        return "the paper's (its own tables contradict the sentence)"
    return varied.told if varied else "unknown"


def digest(claim: Claim) -> str:
    """Return an identifier of the check alone, without the words of its sentence and its reason."""
    same = replace(claim, section="", text="", why=None, control=())
    return _key(same)[:12]


def _key(claim: Claim) -> str:
    return sha256(repr(claim).encode()).hexdigest()


def _varied(paper: Study, claim: Claim, tried: Sequence[Tried]) -> Varied:
    return Varied(claim.section, claim.text, digest(claim), _whose(paper, claim, tried), tried)


def _whose(paper: Study, claim: Claim, tried: Sequence[Tried]) -> str:
    moved = {each.of for each in tried if each.verdict == "holds"}
    if moved & {"band", "reading", "constant", *paper.unstated}:
        return "ours"
    if holds_in_print(paper, claim) is False:
        return "the paper's"
    return "unknown" if moved or not tried or not _published(paper, claim) else "the paper's"


def _published(paper: Study, claim: Claim) -> bool:
    """Say whether all schemes that a claim compares are as published."""
    return all(
        catalogue.find(spec.partition(":")[0]).standing.kind == "published"
        for spec in paper.compared(replace(claim, control=()))
    )
