"""The search: random designs, then evolution in several hollows; the worse half of them is given up again and again.

A hollow is a structure of scenarios (what is there, and which choices) and a measure; CMA-ES varies its numbers.
Batches have the same size for any number of workers, so a search with a budget in runs gives the same result with any
number of jobs. So does an interrupted search that is repeated with its stored runs.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING

from aqmlab.problems import InputError
from aqmlab.worst.plan import WorstPlan
from aqmlab.worst.score import RATIO, Regret
from aqmlab.worst.spaces import Point, Range
from aqmlab.worst.trials import Bench, CaseTrial, CommonCase, case_of

if TYPE_CHECKING:
    from cmaes import CMA

DESIGNS, EVOLUTION, SHRINKING = 0.3, 0.5, 0.85
"""Shares of the budget at which the random designs, the evolution and the shrinking end; the region takes the rest."""

BATCH = 12
"""Scenarios of a batch of designs."""
POPULATION = 6
"""Scenarios of a generation in a hollow."""
SPREAD = 0.15
"""Standard deviation of the first generation, of ranges from 0 to 1."""
PER_MEASURE = 3
"""Hollows of each measure at the start."""
KEPT = 2
"""Hollows that are never given up."""
TRIES = 200
"""Draws that may be refused in a row until the space is said to contradict itself."""
CONFIRMED_AT_ONCE, CONFIRMED_AT_MOST = 4, 12
"""Candidates that are tried under fresh seeds: all of the first, more only until one holds."""

DESIGN_SEEDS, EVOLUTION_SEEDS, CONFIRMING_SEEDS = (1,), (2, 3), range(101, 111)
"""Seeds of the three phases, within the thousand of the search's own seed."""
PER_SEED = 1000

News = Callable[[Regret], None]
"""Called with the worst regret so far, each time that it grows."""


@dataclass(frozen=True)
class Suspect:
    """A point of the space with its trial, and the criterion in which it is bad."""

    point: Point
    trial: CaseTrial
    criterion: str

    @property
    def regret(self) -> Regret:
        """The regret in its criterion."""
        return self.trial.regret(self.criterion)


@dataclass
class Hollow:
    """A structure of scenarios in which numbers vary, and its worst candidate so far."""

    best: Suspect
    ranges: Sequence[Range]
    sampler: "CMA"

    @classmethod
    def around(cls, candidate: Suspect, ranges: Sequence[Range], seed: int) -> "Hollow":
        """Return a hollow around a candidate."""
        import numpy as np
        from cmaes import CMA

        mean = np.array([float(candidate.point[each.path]) for each in ranges] + [0.5] * max(0, 2 - len(ranges)))
        bounds = np.array([[0.0, 1.0]] * len(mean))
        return cls(candidate, ranges, CMA(mean, SPREAD, bounds=bounds, seed=seed, population_size=POPULATION))

    def asked(self) -> list[tuple[list[float], Point]]:
        """Return the points of a generation, with their positions."""
        found: list[tuple[list[float], Point]] = []
        for _ in range(POPULATION):
            positions = [float(each) for each in self.sampler.ask()]
            point = dict(self.best.point) | {each.path: at for each, at in zip(self.ranges, positions, strict=False)}
            found.append((positions, point))
        return found

    def tell(self, found: Sequence[tuple[list[float], Point, CaseTrial | None]]) -> None:
        """Take in a generation; a scenario that was refused, or has no value, ranks last."""
        import numpy as np

        judged = []
        for positions, point, trial in found:
            regret = trial.of(self.best.criterion) if trial else None
            judged.append((np.array(positions), -regret.log if regret else 10.0))
            if trial and regret and regret.mean > self.best.regret.mean:
                self.best = Suspect(point, trial, self.best.criterion)
        self.sampler.tell(judged)


@dataclass
class WorstSearch:
    """A search under way."""

    plan: WorstPlan
    bench: Bench
    progress: Callable[[float, int], None] | None = None
    news: News | None = None
    worst: float = RATIO
    started: float = field(default_factory=time.monotonic)

    def share(self) -> float:
        """Return the part of the budget that is spent."""
        if self.plan.budget.runs is not None:
            return self.bench.used / self.plan.budget.runs
        before = self.bench.memory.before / self.bench.workers.slots
        return (time.monotonic() - self.started + before) / (self.plan.budget.seconds or 1.0)

    def has_time(self, share: float) -> bool:
        """Return whether less than this share of the budget is spent; stored runs are always used up first."""
        if self.progress:
            self.progress(100 * min(1.0, self.share()), 100)
        return self.share() < share or (self.plan.budget.runs is None and self.bench.memory.is_ahead)

    def seeds(self, numbers: Sequence[int]) -> list[int]:
        """Return seeds of the search's own thousand."""
        return [self.plan.seed * PER_SEED + number for number in numbers]

    def trials(self, cases: Sequence[CommonCase], seeds: Sequence[int]) -> list[CaseTrial]:
        """Run cases, and report the worst."""
        found = self.bench.trials(cases, self.seeds(seeds))
        for trial in found:
            if trial.worst and trial.worst.mean > self.worst:
                self.worst = trial.worst.mean
                if self.news:
                    self.news(trial.worst)
        return found

    def case(self, point: Point) -> CommonCase | None:
        """Return the case of a point; None if a contender cannot run it."""
        try:
            return case_of(self.plan, self.plan.space.scenario(point))
        except InputError:
            return None

    def drawn(self) -> Iterator[tuple[Point, CommonCase]]:
        """Yield random points without end. InputError if all are refused, with the reason of the last."""
        number, refused = 0, 0
        while True:
            point = self.plan.space.draw(random.Random(f"{self.plan.seed}-{number}"))
            number += 1
            try:
                case = case_of(self.plan, self.plan.space.scenario(point))
            except InputError as error:
                refused += 1
                if refused == TRIES:
                    first = error.problems[0]
                    raise InputError(
                        "space", f"{self.plan.about}: none of {TRIES} scenarios can run; {first.path}: {first.reason}"
                    ) from None
                continue
            refused = 0
            yield point, case

    def designs(self) -> list[tuple[Point, CaseTrial]]:
        """Run random designs for their share of the budget, one batch at least."""
        drawn, found = self.drawn(), list[tuple[Point, CaseTrial]]()
        while not found or self.has_time(DESIGNS):
            batch = [next(drawn) for _ in range(BATCH)]
            trials = self.trials([case for _, case in batch], DESIGN_SEEDS)
            found += [(point, trial) for (point, _), trial in zip(batch, trials, strict=True)]
        return found

    def hollows(self, designs: Sequence[tuple[Point, CaseTrial]]) -> list[Hollow]:
        """Return the hollows in which evolution begins: for each measure the worst designs of different structures."""
        found = []
        for i, criterion in enumerate(self.plan.criteria):
            rated = [(trial.of(criterion.name), point, trial) for point, trial in designs]
            known = [(regret.mean, at, point, trial) for at, (regret, point, trial) in enumerate(rated) if regret]
            structures: set[tuple[str | bool, ...]] = set()
            for mean, _, point, trial in sorted(known, key=lambda each: (-each[0], each[1])):
                structure = self.plan.space.structure(point)
                if mean < RATIO or len(structures) == PER_MEASURE:
                    break
                if structure in structures:
                    continue
                structures.add(structure)
                seed = self.plan.seed * 100 + 10 * i + len(structures)
                ranges = self.plan.space.present(point)
                found.append(Hollow.around(Suspect(point, trial, criterion.name), ranges, seed))
        return found

    def evolve(self, hollows: Sequence[Hollow]) -> list[Suspect]:
        """Evolve hollows for their share of the budget; return the worst candidate of each, the worst first."""
        again = self.trials([each.best.trial.case for each in hollows], EVOLUTION_SEEDS) if hollows else []
        for hollow, trial in zip(hollows, again, strict=True):
            if trial.of(hollow.best.criterion):
                hollow.best = Suspect(hollow.best.point, trial, hollow.best.criterion)
        active, generation = list(hollows), 0
        while active and self.has_time(EVOLUTION):
            self._generation(active)
            generation += 1
            if generation % 2 == 0 and len(active) > KEPT:
                active.sort(key=lambda each: -each.best.regret.mean)
                del active[max(KEPT, (len(active) + 1) // 2) :]
        return sorted((each.best for each in hollows), key=lambda each: -each.regret.mean)

    def _generation(self, active: Sequence[Hollow]) -> None:
        asked = [(hollow, positions, point) for hollow in active for positions, point in hollow.asked()]
        cases = [self.case(point) for _, _, point in asked]
        trials = iter(self.trials([case for case in cases if case], EVOLUTION_SEEDS))
        found = [next(trials) if case else None for case in cases]
        for hollow in active:
            rows = zip(asked, found, strict=True)
            hollow.tell([(positions, point, trial) for (of, positions, point), trial in rows if of is hollow])

    def confirm(self, candidates: Sequence[Suspect]) -> list[Suspect]:
        """Return the candidates that hold under ten fresh seeds, the worst first."""
        likely = [each for each in candidates if each.regret.log > log(RATIO)][:CONFIRMED_AT_MOST]
        held: list[Suspect] = []
        for at in range(0, len(likely), CONFIRMED_AT_ONCE):
            batch = likely[at : at + CONFIRMED_AT_ONCE]
            trials = self.trials([each.trial.case for each in batch], CONFIRMING_SEEDS)
            for each, trial in zip(batch, trials, strict=True):
                regret = trial.of(each.criterion)
                if regret and regret.holds():
                    held.append(Suspect(each.point, trial, each.criterion))
            if held:
                break
        return sorted(held, key=lambda each: -each.regret.mean)
