"""The result of a search for the worst case: the finding in a sentence, as a table and as JSON."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab import _core, extras
from aqmlab.notebook import Result, Sheet
from aqmlab.runs import workers as places
from aqmlab.runs.executor import Progress
from aqmlab.worst.document import Document, written
from aqmlab.worst.memory import remembered
from aqmlab.worst.plan import WorstPlan
from aqmlab.worst.region import Extent, likelihood, region
from aqmlab.worst.score import Regret
from aqmlab.worst.search import News, Suspect, WorstSearch
from aqmlab.worst.shrink import shrunk
from aqmlab.worst.trials import Bench, CaseTrial, case_of
from aqmlab.worst.words import likely, sentence

if TYPE_CHECKING:
    from concurrent.futures import Executor

FINAL_SEEDS = range(201, 211)
"""Ten seeds that only the smallest scenario is run with."""


@dataclass(frozen=True)
class WorstFinding:
    """A scenario in which the target is bad, confirmed under ten fresh seeds, and its region."""

    trial: CaseTrial
    criterion: str
    extents: tuple[Extent, ...]
    likelihood: float | None
    """The estimated share of the space; None if the budget was spent before the extents were known."""
    found: str
    """The scenario before it was shrunk."""

    def __repr__(self) -> str:
        return f"WorstFinding({self.criterion}, {self.regret.mean:.3g} times as bad)"

    @property
    def regret(self) -> Regret:
        """The regret under fresh seeds."""
        return self.trial.regret(self.criterion)

    @property
    def document(self) -> Document:
        """The scenario."""
        return self.trial.case.document

    @property
    def scenario(self) -> str:
        """The scenario as TOML."""
        return written(self.document)


@dataclass(frozen=True, repr=False)
class Worst(Result):
    """A search that is over; `finding` is None if the target is nowhere worse beyond chance. Times in s."""

    plan: WorstPlan
    finding: WorstFinding | None
    others: tuple[Suspect, ...]
    """Further confirmed candidates, not shrunk."""
    used: int
    engine: float
    wall: float
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """The finding in one sentence."""
        if self.finding is None:
            peers = ", ".join(each.name for each in self.plan.peers)
            return f"{self.plan.target.name} is nowhere worse than {peers} beyond chance in {self.used:,} runs."
        return sentence(self.plan, self.finding.document, self.finding.regret)

    @property
    def headline(self) -> str:
        """The sentence."""
        return self.sentence

    def sheets(self) -> Iterator[Sheet]:
        """Return the region of the finding, and how likely such a case is."""
        if self.finding and self.finding.extents:
            rows = [each.texts() for each in self.finding.extents]
            chance = self.finding.likelihood
            about = "" if chance is None else f"The space contains such a case in {likely(chance)}."
            yield Sheet("Region of the finding", ["Value", "From", "To", "Share of the range"], rows, 3, about)

    def document(self) -> dict[str, Any]:
        """Return everything for JSON; only `engine` differs between repeats."""
        found = self.finding
        regret = found.regret if found else None
        return {
            "schema": 1,
            "target": self.plan.target.spec,
            "kind": self.plan.target.kind,
            "against": [each.name for each in self.plan.peers],
            "space": self.plan.about,
            "seed": self.plan.seed,
            "budget": str(self.plan.budget),
            "sentence": self.sentence,
            "scenario": found.scenario if found else None,
            "by": regret.criterion.name if regret else None,
            "measure": regret.criterion.measure if regret else None,
            "target_value": regret.target if regret else None,
            "best_peer": {"name": regret.best, "value": regret.peers[regret.best]} if regret else None,
            "ratio": regret.mean if regret else None,
            "interval": regret.interval if regret else None,
            "region": {each.name: {"from": each.low, "to": each.high, "share": each.share} for each in found.extents}
            if found
            else {},
            "likelihood": found.likelihood if found else None,
            "found_as": found.found if found else None,
            "others": [_other(each) for each in self.others],
            "failures": self.failures,
            "runs": self.used,
            "engine": {"busy": self.engine, "wall": self.wall},
        }

    def json(self) -> str:
        """Return the document as text."""
        return json.dumps(self.document(), indent=1, ensure_ascii=False)


def _other(candidate: Suspect) -> dict[str, Any]:
    regret = candidate.regret
    return {
        "measure": regret.criterion.measure,
        "target_value": regret.target,
        "best_peer": {"name": regret.best, "value": regret.peers[regret.best]},
        "ratio": regret.mean,
        "interval": regret.interval,
        "scenario": candidate.trial.case.text,
    }


def find_worst(
    plan: WorstPlan,
    out: Path | None = None,
    *,
    resume: bool = False,
    jobs: int | None = None,
    executor: "str | Executor | None" = None,
    progress: Progress | None = None,
    news: News | None = None,
) -> Worst:
    """Search for the scenario in which the target is worst, confirm it under fresh seeds, shrink it, find its region.

    If `out` is given, each run is stored there as soon as it is done, and `resume` continues from the stored runs.
    """
    extras.check("cmaes", "numpy", "scipy")
    if plan.codes:
        places.check_here(executor, "target", "your own code")
    started = time.perf_counter()
    about = {**plan.document(), "version": _core.source()}
    with places.workers(executor, jobs) as pool, remembered(out, about, resume=resume) as memory:
        bench = Bench(plan, memory, pool)
        search = WorstSearch(plan, bench, progress, news)
        confirmed = search.confirm(search.evolve(search.hollows(search.designs())))
        finding = _finding(search, confirmed)
        busy = sum(run.wall for run in memory.runs.values())
    others = tuple(confirmed[1:])
    return Worst(plan, finding, others, bench.used, busy, time.perf_counter() - started, bench.failures)


def _finding(search: WorstSearch, confirmed: Sequence[Suspect]) -> WorstFinding | None:
    """Return the worst candidate, shrunk and confirmed again; as it was found if the smaller one does not hold."""
    if not confirmed:
        return None
    worst = confirmed[0]
    criterion = worst.regret.criterion
    document = shrunk(search, worst.trial, criterion)
    [trial] = search.trials([case_of(search.plan, document)], FINAL_SEEDS)
    regret = trial.of(criterion.name)
    if regret is None or not regret.holds():
        trial, document = worst.trial, worst.trial.case.document
    extents = region(search, document, criterion)
    chance = likelihood(search.plan.space, document, extents) if extents else None
    return WorstFinding(trial, criterion.name, tuple(extents), chance, worst.trial.case.text)
