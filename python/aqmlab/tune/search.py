"""The search: candidates are sampled in batches, raced against the best so far, and reported in order.

A batch has the same size for any number of workers, each batch has its own seeded sampler, and results are reported to
the sampler in the order of the candidates. So a search with a budget in runs gives the same result with any number of
jobs. An interrupted search that is repeated with its stored runs also gives the same result.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from aqmlab.extras import required
from aqmlab.problems import InputError
from aqmlab.runs.executor import Outcome, do_all
from aqmlab.runs.statistics import paired
from aqmlab.runs.task import RunError, Task
from aqmlab.runs.workers import Workers
from aqmlab.tune.goal import Constraint, Goal
from aqmlab.tune.memory import JOURNAL, FinishedRun, Memory
from aqmlab.tune.plan import Place, TunePlan
from aqmlab.tune.space import with_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.trial import Trial

BATCH = 8
"""Candidates of a batch; a larger batch uses less knowledge, a smaller one keeps fewer cores busy."""

FIRST_RUNG = 3
"""Runs of a candidate before it is first compared with the best; then twice as many, and so on."""

WORSE = 0.02
"""A candidate is given up if the paired t-test (two-sided) says so that it is worse."""

ABSENT = 1.0
"""The violation of a bound of which a run has no value: as much as the bound itself."""

_DIRECTIONS: Mapping[int, Literal["minimize", "maximize"]] = {1: "minimize", -1: "maximize"}

Progress = Callable[[float, int], None]


@dataclass(frozen=True)
class Candidate:
    """One candidate: its values and violations over its runs, or why it failed; `stopped` if the race was lost."""

    number: int
    spec: str
    values: tuple[float, ...] | None
    violations: tuple[float, ...] = ()
    measured: Mapping[str, float | None] = field(default_factory=dict)
    """The value of each goal by its text: an objective's over all scenarios, a bound's in the worst one."""
    runs: int = 0
    stopped: bool = False
    failed: str | None = None

    @property
    def whole(self) -> bool:
        """True if it was judged by all runs."""
        return self.values is not None and not self.stopped and self.failed is None

    @property
    def feasible(self) -> bool:
        """True if it keeps all bounds."""
        return self.whole and all(violation <= 0 for violation in self.violations)


@dataclass
class Search:
    """A search under way, and its results so far."""

    plan: TunePlan
    memory: Memory
    workers: Workers
    progress: Progress | None = None
    trials: list[Candidate] = field(default_factory=list)
    used: int = 0
    """Runs that counted so far, stored ones included; a refused candidate counts as one, so that a search ends."""
    _started: float = 0.0

    @property
    def engine(self) -> float:
        """Seconds of the engine for the runs, earlier sessions included."""
        return sum(done.wall for done in self.memory.runs.values())

    @property
    def best(self) -> Candidate | None:
        """The feasible candidate with the best first objective; the earliest of equals."""
        sign = self.plan.objectives[0].sign
        found = [each for each in self.trials if each.feasible and each.values]
        return min(found, key=lambda each: sign * (each.values or (0.0,))[0], default=None)

    def measured(self, tasks: Sequence[tuple[Place, str, int]]) -> list[FinishedRun]:
        """Return what runs measured, done or remembered."""
        keys = [(place.name, spec, seed) for place, spec, seed in tasks]
        self.memory.asked.update(keys)
        missing = {key: task for key, task in zip(keys, tasks, strict=True) if key not in self.memory.runs}
        names = list(missing)

        def take(found: Sequence[tuple[int, Outcome]]) -> None:
            self.memory.add([(names[i], outcome) for i, outcome in found])

        if missing:
            runs = [Task(place.scenario, spec, seed) for place, spec, seed in missing.values()]
            do_all(runs, self.workers, take)
        return [self.memory.runs[key] for key in keys]

    def judge(self, specs: Mapping[int, str]) -> list[Candidate]:
        """Run a batch of candidates, number by number: rung by rung, without those that have lost."""
        blocks, best = self.plan.blocks, self.best
        known: dict[int, list[FinishedRun]] = {number: [] for number in specs}
        judged: dict[int, Candidate] = {}
        for number, spec in specs.items():
            if refused := _refused(self.plan, spec):
                judged[number] = Candidate(number, spec, None, failed=refused)
        rung = FIRST_RUNG if self._races else len(blocks)
        while len(judged) < len(specs):
            racing = [number for number in specs if number not in judged]
            at = len(known[racing[0]])
            part = blocks[at : min(rung, len(blocks))]
            found = iter(self.measured([(place, specs[number], seed) for number in racing for place, seed in part]))
            for number in racing:
                known[number] += [next(found) for _ in part]
                if (candidate := self._judged(number, specs[number], known[number], best)) is not None:
                    judged[number] = candidate
            rung *= 2
        self.used += sum(max(1, each.runs) for each in judged.values())
        return [judged[number] for number in specs]

    @property
    def _races(self) -> bool:
        """Racing needs one objective that is a mean."""
        return len(self.plan.objectives) == 1 and self.plan.over == "mean"

    def _judged(self, number: int, spec: str, known: Sequence[FinishedRun], best: Candidate | None) -> Candidate | None:
        """Return the candidate if its runs are all done, or enough of them; None if it continues."""
        failed = next((done.failed for done in known if done.failed), None)
        goals, bounds = self.plan.objectives, self.plan.constraints
        columns = [self._column(goal, known) for goal in goals]
        empty = next((goal for goal, column in zip(goals, columns, strict=True) if None in column), None)
        if failed or empty:
            return Candidate(number, spec, None, runs=len(known), failed=failed or f"{empty}: a run has no value of it")
        sample = [[value for value in column if value is not None] for column in columns]
        values = [goal.over(each, self.plan.over) for goal, each in zip(goals, sample, strict=True)]
        whole = len(known) == len(self.plan.blocks)
        if not whole:
            estimate = self._lost(sample[0], best)
            if estimate is None:
                return None
            values[0] = estimate
        kept = [self._worst(goal, self._column(goal, known)) for goal in bounds]
        violations = [
            ABSENT if value is None else goal.violation(value) for goal, value in zip(bounds, kept, strict=True)
        ]
        named = {str(goal): value for goal, value in zip(self.plan.goals, [*values, *kept], strict=True)}
        return Candidate(number, spec, tuple(values), tuple(violations), named, len(known), not whole)

    def _worst(self, goal: Constraint, column: Sequence[float | None]) -> float | None:
        """Return the value of a bound in the scenario that is worst for it; None if a run has no value."""
        by_place: dict[str, list[float]] = {}
        for (place, _), value in zip(self.plan.blocks, column, strict=False):
            if value is None:
                return None
            by_place.setdefault(place.name, []).append(value)
        return max((goal.over(values, self.plan.over) for values in by_place.values()), key=goal.violation)

    def _column(self, goal: Goal, known: Sequence[FinishedRun]) -> list[float | None]:
        pairs = zip(self.plan.blocks, known, strict=False)
        return [goal.value(done.values, place.scenario) for (place, _), done in pairs]

    def _lost(self, ours: Sequence[float], best: Candidate | None) -> float | None:
        """Return what a candidate would come to if it is surely worse than the best under the same seeds."""
        if best is None or best.values is None:
            return None
        goal = self.plan.objectives[0]
        keys = [(place.name, best.spec, seed) for place, seed in self.plan.blocks[: len(ours)]]
        column = self._column(goal, [self.memory.runs[key] for key in keys])
        theirs = [value for value in column if value is not None]
        compared = paired(ours, theirs)
        behind = goal.sign * compared.difference.mean
        if behind <= 0 or (compared.p is not None and compared.p > WORSE):
            return None
        return best.values[0] + compared.difference.mean

    def affordable(self) -> int:
        """Return how many candidates the budget allows in the next batch."""
        budget = self.plan.budget
        if budget.runs is not None:
            return min(BATCH, (budget.runs - self.used) // len(self.plan.blocks))
        stored = any(seed <= self.plan.seeds for _, _, seed in self.memory.ahead)  # by an earlier session, of a search
        return BATCH if not self.trials or stored or self.share() < 1 else 0

    def share(self) -> float:
        """Return the part of the budget that is spent."""
        if self.plan.budget.runs is not None:
            return self.used / self.plan.budget.runs
        spent = time.monotonic() - self._started + self.memory.before / self.workers.slots
        return spent / (self.plan.budget.seconds or 1.0)

    def run(self) -> "Study":
        """Search until the budget is spent; the values in use are the first candidate."""
        with quiet():
            study, distributions = self._study(), _distributions(self.plan)
            if (first := _in_use(self.plan)) is not None:
                study.enqueue_trial(first)
            batch, self._started = 0, time.monotonic()
            while (size := self.affordable()) > 0:
                study.sampler = sampler(self.plan, batch)
                asked = [study.ask(distributions) for _ in range(size)]
                specs = {trial.number: self._spec(trial) for trial in asked}
                for trial, judged in zip(asked, self.judge(specs), strict=True):
                    self._tell(study, trial, judged)
                batch += 1
                if self.progress:
                    self.progress(100 * min(1.0, self.share()), 100)
        if all(trial.failed for trial in self.trials):
            raise RunError(f"every candidate failed, first {self.trials[0].spec}: {self.trials[0].failed}")
        return study

    def _spec(self, trial: "Trial") -> str:
        return with_values(
            self.plan.scheme, {each.name: each.text(trial.params[each.name]) for each in self.plan.space}
        )

    def _tell(self, study: "Study", trial: "Trial", judged: Candidate) -> None:
        """Tell a result. A candidate that failed counts as the worst so far, in its objectives and its bounds."""
        from optuna.trial import TrialState

        values, violations = judged.values, judged.violations
        if judged.failed is not None:
            measured = [each for each in self.trials if each.values is not None]
            signs = [goal.sign for goal in self.plan.objectives]
            worst = [
                max((sign * (each.values or ())[i] for each in measured), default=0.0) for i, sign in enumerate(signs)
            ]
            values = tuple(sign * value for sign, value in zip(signs, worst, strict=True)) if measured else None
            violations = tuple(
                max((each.violations[i] for each in measured), default=0.0) + 1.0
                for i in range(len(self.plan.constraints))
            )
            trial.set_user_attr("failed", judged.failed)
        trial.set_user_attr("aqm", judged.spec)
        for goal, violation in zip(self.plan.constraints, violations, strict=False):
            trial.set_constraint(str(goal), violation)
        self.trials.append(judged)
        if values is None:
            study.tell(trial, state=TrialState.FAIL)
        else:
            study.tell(trial, list(values))

    def _study(self) -> "Study":
        import optuna
        from optuna.storages import InMemoryStorage, JournalStorage

        from aqmlab.tune.journal import Journal

        store = self.memory.store
        storage = JournalStorage(Journal(store.folder / JOURNAL)) if store else InMemoryStorage()
        directions = [_DIRECTIONS[goal.sign] for goal in self.plan.objectives]
        return optuna.create_study(storage=storage, study_name=self.plan.scheme, directions=directions)


def _refused(plan: TunePlan, spec: str) -> str | None:
    """Return why a candidate cannot be used, such as a lower threshold above the upper one; None if it can."""
    try:
        for place in plan.places:
            place.scenario.parameters(spec)
    except InputError as error:
        return str(error)
    return None


def _distributions(plan: TunePlan) -> "dict[str, BaseDistribution]":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    found: dict[str, BaseDistribution] = {}
    for each in plan.space:
        if each.choices:
            found[each.name] = CategoricalDistribution(each.choices)
        elif each.whole:
            found[each.name] = IntDistribution(max(1, round(each.low)), round(each.high), log=each.log)
        else:
            found[each.name] = FloatDistribution(each.low, each.high, log=each.log)
    return found


def _in_use(plan: TunePlan) -> dict[str, Any] | None:
    """Return the values in use of the parameters that are searched; None if one is outside of its range."""
    from aqmlab import quantities

    used = plan.places[0].scenario.parameters(plan.scheme)
    found: dict[str, Any] = {}
    for each in plan.space:
        value = used[each.name] if each.choices else quantities.number(used[each.name])
        inside = value in each.choices if isinstance(value, str) else each.low <= value <= each.high
        if not inside:
            return None
        found[each.name] = round(value) if each.whole and not isinstance(value, str) else value
    return found


def sampler(plan: TunePlan, batch: int) -> "BaseSampler":
    """Return the sampler of a batch; its seed follows from the tune's and the batch's number."""
    from optuna import samplers

    seed = (plan.seed * 1_000_003 + batch) % 2**32

    if plan.sampler == "cma-es":
        return samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)
    if plan.sampler == "nsga-iii":
        return samplers.NSGAIIISampler(seed=seed, population_size=2 * BATCH)
    if plan.sampler == "random":
        return samplers.RandomSampler(seed=seed)
    return samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)


@contextmanager
def quiet() -> "Iterator[None]":
    """Keep Optuna's log lines and its warnings of experimental parts to itself."""
    with required():
        import optuna
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        optuna.logging.set_verbosity(before)
