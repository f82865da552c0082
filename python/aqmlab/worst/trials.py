"""Trials: scenarios that all contenders run under the same seeds."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

from aqmlab._core import Scenario
from aqmlab.problems import InputError
from aqmlab.runs.columns import measures
from aqmlab.runs.executor import Outcome, do_all
from aqmlab.runs.metrics import at
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import LINUX, Task
from aqmlab.runs.workers import Workers
from aqmlab.worst.document import Document, written
from aqmlab.worst.memory import KnownRun, RunMemory, Values
from aqmlab.worst.plan import MOST_EVENTS, Contender, WorstPlan
from aqmlab.worst.score import FAILED, Criterion, Regret, regrets


@dataclass(frozen=True)
class CommonCase:
    """A scenario that every contender can run."""

    document: Document
    scenarios: tuple[Scenario, ...]
    """For each contender."""

    @cached_property
    def text(self) -> str:
        """Its TOML."""
        return written(self.document)

    def key(self, contender: Contender, seed: int) -> str:
        """Return the key of a run."""
        content = (self.text, contender.spec, contender.engine, seed + contender.shift)
        return sha256(repr(content).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class CaseTrial:
    """A case with its regrets by criterion, over the seeds that were run; nothing of a criterion without a value."""

    case: CommonCase
    regrets: tuple[Regret, ...]

    def of(self, name: str) -> Regret | None:
        """Return the regret of a criterion."""
        return next((each for each in self.regrets if each.criterion.name == name), None)

    def regret(self, name: str) -> Regret:
        """Return the regret of a criterion; ValueError if there is none."""
        found = self.of(name)
        if found is None:
            raise ValueError(f"{name}: has no value")
        return found

    @property
    def worst(self) -> Regret | None:
        """The largest regret."""
        return max(self.regrets, key=lambda each: each.mean, default=None)


def case_of(plan: WorstPlan, document: Document) -> CommonCase:
    """Return the case of a document; InputError if one of the contenders cannot run it."""
    refused = plan.space.refuse(document)
    if refused:
        raise InputError("flows", refused)
    scenarios = []
    for contender in plan.contenders:
        scenario = contender.scenario(document)
        if contender.aqm:
            scenario.check_scheme(contender.aqm)
        if contender.engine == LINUX:
            from aqmlab.runs import linux

            linux.order_of(scenario, contender.aqm, 1, series=False)
        scenarios.append(scenario)
    return CommonCase(document, tuple(scenarios))


@dataclass
class Bench:
    """The place where trials are run, with the runs that are known."""

    plan: WorstPlan
    memory: RunMemory
    workers: Workers
    used: int = 0
    """Runs that were asked for, known ones included."""
    failures: dict[str, str] = field(default_factory=dict)
    """Why a contender failed, the first reason of each."""

    def trials(self, cases: Sequence[CommonCase], seeds: Sequence[int]) -> list[CaseTrial]:
        """Run cases under seeds, and return their trials."""
        asked = [(case, i, seed) for case in cases for i in range(len(self.plan.contenders)) for seed in seeds]
        keys = [case.key(self.plan.contenders[i], seed) for case, i, seed in asked]
        self.used += len(keys)
        self.memory.asked.update(keys)
        missing = {key: each for key, each in zip(keys, asked, strict=True) if key not in self.memory.runs}
        names = list(missing)

        def take(found: Sequence[tuple[int, Outcome]]) -> None:
            rows = []
            for position, outcome in found:
                case, i, _ = missing[names[position]]
                rows.append((names[position], outcome, self._values(outcome, case.scenarios[i])))
            self.memory.add(rows)

        if missing:
            do_all([self._task(*each) for each in missing.values()], self.workers, take)
        runs = iter(self.memory.runs[key] for key in keys)
        return [self._trial(case, [[next(runs) for _ in seeds] for _ in self.plan.contenders]) for case in cases]

    def _task(self, case: CommonCase, i: int, seed: int) -> Task:
        contender = self.plan.contenders[i]
        most = MOST_EVENTS if contender.engine != LINUX else None
        return Task(case.scenarios[i], contender.aqm, seed + contender.shift, engine=contender.engine, most_events=most)

    def _values(self, outcome: Outcome, scenario: Scenario) -> Values:
        if not isinstance(outcome, RunResult):
            return {}
        found = measures(json.loads(outcome.text))
        link = scenario.links[0]
        return {
            each.name: _number(found.get(at(each.measure, link))) for each in self.plan.criteria if each.name != FAILED
        }

    def _trial(self, case: CommonCase, runs: Sequence[Sequence[KnownRun]]) -> CaseTrial:
        for contender, done in zip(self.plan.contenders, runs, strict=True):
            for run in done:
                if run.failed:
                    self.failures.setdefault(contender.name, run.failed)
        found = (self._regret(each, case, runs) for each in self.plan.criteria)
        return CaseTrial(case, tuple(each for each in found if each))

    def _regret(self, criterion: Criterion, case: CommonCase, runs: Sequence[Sequence[KnownRun]]) -> Regret | None:
        scenario = case.scenarios[0]
        if not criterion.applies(scenario):
            return None
        values = [[_value(criterion, run) for run in done] for done in runs]
        peers = {peer.name: values[i] for i, peer in enumerate(self.plan.peers, 1)}
        floor = criterion.floor_in(scenario)
        return regrets(criterion, values[0], peers, floor, either_way=self.plan.either_way)


def _value(criterion: Criterion, run: KnownRun) -> float | None:
    if criterion.name == FAILED:
        return float(run.failed is not None)
    return None if run.failed else criterion.value(run.values)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
