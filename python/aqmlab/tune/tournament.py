"""A tournament: schemes tuned with the same budget in the same scenarios, and compared in others.

Papers compare their own tuned scheme with others as published. Here all schemes get the same budget.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from aqmlab import catalogue
from aqmlab.runs.executor import Progress
from aqmlab.runs.statistics import Ranking, Summary, rank, summarise
from aqmlab.tune.goal import Objective
from aqmlab.tune.plan import Place, plan
from aqmlab.tune.result import PUBLISHED, TUNED, Rival, Tuned, tune

if TYPE_CHECKING:
    from concurrent.futures import Executor

SCHEMES = ("ared", "pi", "rem", "iapi", "neuron-pid", "an-aqm", "fapidnn", "nrl", "codel", "pie", "pi2")
"""Schemes of Li et al. (2014), and single-queue schemes that are deployed or standardised."""

OBJECTIVE = "min link.queue_error"

TRAINING = (
    "li2014/table-1:duration=50 s",
    "li2014/table-1:duration=50 s,flows.ftp.count=100",
    "li2014/table-7:duration=50 s",
)
"""Scenarios with 500 and 100 flows at 80 ms, and with 800 flows and mixed round trips."""

HELD_OUT = (
    "li2014/table-1:duration=50 s,flows.ftp.count=250",
    "li2014/table-2:duration=50 s",
    "li2014/table-5:duration=50 s",
    "li2014/table-6:duration=50 s",
    "li2014/table-8:duration=50 s",
    "li2014/table-9",
    "li2014/table-10",
    "li2014/table-11",
    "li2014/table-13:duration=50 s",
    "li2014/table-14:duration=50 s",
)

RANGES = {"rem": {"phi": "1.0001..1.03"}}
"""Ranges of parameters for which a factor is meaningless: REM's phi is 1.001, and its excess over 1 matters."""

SEARCHED, SEEDS, HELD_OUT_SEEDS = "300 runs", 2, 3


class RankedScheme(NamedTuple):
    """A scheme in the table of a tournament."""

    name: str
    texts: Sequence[str]


@dataclass(frozen=True)
class Compared:
    """The tunes of all schemes, by name, in the order of the tournament."""

    found: Mapping[str, Tuned]

    @property
    def schemes(self) -> list[str]:
        """All schemes."""
        return list(self.found)

    @property
    def tuned(self) -> dict[str, str]:
        """The tuned parameters by scheme."""
        return {name: found.best.spec for name, found in self.found.items() if found.best}

    @property
    def places(self) -> Sequence[Place]:
        """The held-out scenarios."""
        return next(iter(self.found.values())).plan.held_out

    @property
    def goal(self) -> Objective:
        """The goal of every tune."""
        return next(iter(self.found.values())).plan.objectives[0]

    @property
    def failures(self) -> list[str]:
        """The runs under fresh seeds that failed."""
        return [failure for found in self.found.values() for failure in found.failures]

    @property
    def wall(self) -> float:
        """Seconds of all tunes, with the runs that compare."""
        return sum(found.wall for found in self.found.values())

    def rival(self, name: str, role: str) -> Rival:
        """Return a scheme with its published or its tuned parameters."""
        return next(rival for rival in self.found[name].rivals if rival.role == role)

    def means(self, name: str, role: str) -> list[float]:
        """Return the mean of each held-out scenario."""
        found = [self.rival(name, role).summary(place, self.goal) for place in self.places]
        return [each.mean if each else float("inf") for each in found]

    def ranking(self, role: str) -> Ranking | None:
        """Rank the schemes over the held-out scenarios."""
        return rank({name: self.means(name, role) for name in self.schemes}, higher_is_better=False)

    def ratio(self, name: str, other: str, role: str) -> Summary:
        """Return the logarithm of the ratio of two schemes' queue errors, over the held-out scenarios."""
        pairs = zip(self.means(name, role), self.means(other, role), strict=True)
        return summarise([log(ours / theirs) for ours, theirs in pairs])

    @cached_property
    def neurons(self) -> list[str]:
        """The neurons, the one that ranks best once tuned first."""
        ranking = self.ranking(TUNED)
        found = [name for name in self.schemes if catalogue.find(name).family == "neuron"]
        return sorted(found, key=lambda name: ranking.ranks[name] if ranking else 0.0)

    def rows(self) -> list[RankedScheme]:
        """Return the schemes from the best to the worst once tuned."""
        rankings = [self.ranking(role) for role in (PUBLISHED, TUNED)]
        ranks = [ranking.ranks if ranking else dict.fromkeys(self.schemes, 0.0) for ranking in rankings]
        rows = []
        for name in sorted(self.schemes, key=ranks[1].__getitem__):
            errors = [exp(fmean(map(log, self.means(name, role)))) for role in (PUBLISHED, TUNED)]
            texts = [*(f"{each[name]:.1f}" for each in ranks), *(f"{100 * each:.1f} %" for each in errors)]
            rows.append(RankedScheme(name, [*texts, str(self.found[name].used)]))
        return rows

    def document(self) -> dict[str, Any]:
        """Return everything for JSON; only the times differ between repeats."""
        rankings = {role: self.ranking(role) for role in (PUBLISHED, TUNED)}
        return {
            "schema": 1,
            "study": "tuned",
            "objective": str(self.goal),
            "held_out": [place.name for place in self.places],
            "answer": sentences(self),
            "ranks": {role: vars(found) for role, found in rankings.items() if found},
            "tunes": {name: found.document() for name, found in self.found.items()},
        }

    def json(self) -> str:
        """Return the document as text."""
        return json.dumps(self.document(), indent=1, ensure_ascii=False)


def run(
    out: Path | None = None,
    schemes: Sequence[str] = SCHEMES,
    *,
    budget: str = SEARCHED,
    training: Sequence[str] = TRAINING,
    held_out: Sequence[str] = HELD_OUT,
    resume: bool = False,
    jobs: int | None = None,
    executor: "str | Executor | None" = None,
    progress: Progress | None = None,
) -> Compared:
    """Tune every scheme with the same budget; `out` gets a folder for each."""
    found = {}
    for i, name in enumerate(schemes):
        asked = plan(
            name,
            training,
            [OBJECTIVE],
            ranges=RANGES.get(name),
            budget=budget,
            seeds=SEEDS,
            held_out=held_out,
            held_out_seeds=HELD_OUT_SEEDS,
        )

        def advance(done: float, of: int, before: int = i) -> None:
            if progress:
                progress(100 * before + 100 * done / of, 100 * len(schemes))

        found[name] = tune(asked, out and out / name, resume=resume, jobs=jobs, executor=executor, progress=advance)
    return Compared(found)


def sentences(found: Compared) -> list[str]:
    """Return sentences that compare the best neuron with PI, as published and tuned, and the other neurons with PI."""
    if "pi" not in found.schemes or not found.neurons:
        return []
    best, *others = found.neurons
    title, sentences = catalogue.find(best).title, []
    for role, when in ((PUBLISHED, "As published"), (TUNED, "When both are tuned")):
        ratio = found.ratio(best, "pi", role)
        low, high = ratio.interval or (ratio.mean, ratio.mean)
        verdict = "is better than" if high < 0 else "is worse than" if low > 0 else "does not differ significantly from"
        sentences.append(
            f"{when}, {title} {verdict} PI over {ratio.n} held-out scenarios. Its queue error is {_ratio(ratio)} times "
            f"PI's (geometric mean, 95 % interval)."
        )
    rest = [(catalogue.find(name).title, _ratio(found.ratio(name, "pi", TUNED))) for name in others]
    return [*sentences, *(f"Tuned {name}'s queue error is {ratio} times tuned PI's." for name, ratio in rest)]


def _ratio(logarithm: Summary) -> str:
    """Return a ratio with its interval."""
    low, high = logarithm.interval or (logarithm.mean, logarithm.mean)
    return f"{exp(logarithm.mean):.2f} ({exp(low):.2f} to {exp(high):.2f})"
