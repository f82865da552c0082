"""The origin of failures: each failing sentence is judged again under variations of the details that its paper omits.

`ledgers/sensitivity/<name>.json` stores the results; `docs/ledgers.py --sensitivity` writes it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from aqmlab import catalogue
from aqmlab.notebook import Result, Sheet
from aqmlab.runs.executor import Progress
from aqmlab.study.claims import VERDICTS, Checked
from aqmlab.study.evidence import holds_in_print
from aqmlab.study.judge import Judge, VariedCheck
from aqmlab.study.ledger import Claim
from aqmlab.study.paper import UNSTATED, Study, load_study
from aqmlab.study.run_cache import RunCache
from aqmlab.study.variations import PLAIN, VARIATIONS, constants

WHOSE = {
    "ours": "the verdict changes with a detail that the paper leaves open: a band, a vague word, a reading, the runs",
    "the paper's": "no variation changes the verdict, or the paper's own tables contradict the sentence",
    "unknown": "not varied, changed only by what the paper states, or a scheme is fitted or reconstructed",
}
"""The origins of a failure, and their meaning."""


NAMED = 3
"""The number of variations under which a sentence still fails that are named."""


@dataclass(frozen=True)
class Tried:
    """The verdict on a sentence under a variation."""

    variation: str
    of: str
    verdict: str


@dataclass(frozen=True)
class Varied:
    """A failing sentence with its variations, and the verdict under each."""

    section: str
    text: str
    check: str
    whose: str
    tried: Sequence[Tried] = ()

    @property
    def parts(self) -> list[str]:
        """The variations by the verdict under them: `"holds: twice the band"`, `"fails: 19 variations"`."""
        found = {kind: [each.variation for each in self.tried if each.verdict == kind] for kind in VERDICTS}
        return [f"{kind}: {_some(names, kind)}" for kind, names in found.items() if names]

    @property
    def explanation(self) -> str:
        """The origin of the failure, and the variations: `"ours (holds: twice the band; fails: half the band)"`."""
        return _told(self.whose, self.parts)


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
        rows = [[each.section, each.text, each.explanation] for each in self.varied]
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


STEPS = (("reading", "band"), ("constant",), UNSTATED)
"""The kinds of variations, those first that need the fewest runs."""


@dataclass(frozen=True)
class Attempt:
    """A failing sentence judged otherwise: by another check, in scenarios that are changed, or both."""

    name: str
    of: str
    case: VariedCheck


def sensitivity(
    study: str,
    seeds: int = 3,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    file: Path | None = None,
    whole: bool = False,
) -> Sensitivity:
    """Judge each failing sentence of a study again, by its alternatives and under variations of the omitted details.

    Checks that need no other runs come first, then constants, then other runs. Unless `whole`, runs that cannot change
    the origin of a failure are left out. Runs are stored in `file` one by one; those that it already contains are not
    done again.
    Raises InputError for an unknown study, before anything runs.
    """
    paper = load_study(study)
    judge = Judge(paper, seeds, jobs, progress, RunCache.of(file))
    claims = [claim for claim in paper.claims if claim.value]
    verdicts = judge.verdicts([VariedCheck(replace(claim, control=())) for claim in claims])
    failing = [claim for claim, verdict in zip(claims, verdicts, strict=True) if verdict == "fails"]
    tried: list[list[tuple[Attempt, str]]] = [[] for _ in failing]
    for kinds in STEPS:
        attempts = [
            (at, attempt)
            for at, claim in enumerate(failing)
            for attempt in _attempts(judge, claim)
            if attempt.of in kinds and (whole or _decides(paper, claim, tried[at], attempt))
        ]
        verdicts = judge.verdicts([attempt.case for _, attempt in attempts])
        for (at, attempt), verdict in zip(attempts, verdicts, strict=True):
            tried[at].append((attempt, verdict))
    return Sensitivity(
        paper, seeds, [_varied(paper, claim, found) for claim, found in zip(failing, tried, strict=True)]
    )


def _attempts(judge: Judge, claim: Claim) -> Iterator[Attempt]:
    """Yield all that is tried of a sentence that fails: other readings first, then other runs."""
    for other in claim.alternatives:
        yield Attempt(other.name, "reading", VariedCheck(other.claim))
    narrow = judge.witnesses(claim)
    for variation in (*PLAIN, *constants(judge.paper), *(each for each in VARIATIONS if each.scenario)):
        changed = variation.check(claim)
        if changed is None or (variation.scenario and judge.same(claim, variation.scenario)):
            continue
        again = [] if variation in PLAIN else [variation.check(each) or each for each in narrow]
        yield Attempt(variation.name, variation.of, VariedCheck(changed, variation.scenario, again))


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
    other = found.claim.contradicted
    if (other or found.printed is False) and (varied is None or varied.whose != "ours"):
        against = f"{other} contradicts" if other else "its own tables contradict"
        return _told("the paper's", [f"{against} the sentence", *(varied.parts if varied else [])])
    return varied.explanation if varied else "unknown"


def digest(claim: Claim) -> str:
    """Return an identifier of the check alone, without the words of its sentence and its reason."""
    same = replace(claim, section="", text="", why=None, control=())
    return sha256(repr(same).encode()).hexdigest()[:12]


def _some(names: Sequence[str], kind: str) -> str:
    """Return the names of variations; the number of those that leave a sentence failing, if they are many."""
    return f"{len(names)} variations" if kind == "fails" and len(names) > NAMED else ", ".join(names)


def _told(whose: str, parts: Sequence[str]) -> str:
    return f"{whose} ({'; '.join(parts)})" if parts else whose


def _varied(paper: Study, claim: Claim, found: Sequence[tuple[Attempt, str]]) -> Varied:
    moved = {attempt.of for attempt, verdict in found if verdict == "holds" and _is_allowed(paper, claim, attempt)}
    tried = [Tried(attempt.name, attempt.of, verdict) for attempt, verdict in found]
    return Varied(claim.section, claim.text, digest(claim), _whose(paper, claim, moved, is_tried=bool(tried)), tried)


def _decides(paper: Study, claim: Claim, found: Sequence[tuple[Attempt, str]], attempt: Attempt) -> bool:
    """Say whether an attempt needs no other runs, is the first, or can change the origin of the failure."""
    origins = {_varied(paper, claim, [*found, (attempt, verdict)]).whose for verdict in ("holds", "fails")}
    return attempt.of in STEPS[0] or not found or len(origins) > 1


def _is_allowed(paper: Study, claim: Claim, attempt: Attempt) -> bool:
    """Say whether the text allows an attempt: what contradicts a sentence in print must not contradict it read so."""
    if claim.contradicted:
        return attempt.name in {other.name for other in claim.alternatives}
    if holds_in_print(paper, claim) is not False:
        return True
    return attempt.of in ("band", "reading") and holds_in_print(paper, attempt.case.claim) is not False


def _whose(paper: Study, claim: Claim, moved: set[str], *, is_tried: bool) -> str:
    if moved & {"band", "reading", "constant", *paper.unstated}:
        return "ours"
    if claim.contradicted or holds_in_print(paper, claim) is False:
        return "the paper's"
    return "unknown" if moved or not is_tried or not _published(paper, claim) else "the paper's"


def _published(paper: Study, claim: Claim) -> bool:
    """Say whether all schemes that a claim compares are as published, or varied in all that the paper leaves open."""
    varied = {paper.spec(name).partition(":")[0] for name in paper.exhausted}
    compared = {spec.partition(":")[0] for spec in paper.compared(replace(claim, control=()))}
    return all(catalogue.find(name).standing.kind == "published" for name in compared - varied)
