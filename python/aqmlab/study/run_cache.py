"""Runs by their condition, with the values that sentences need: none is done twice, and a file keeps them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from aqmlab import _core
from aqmlab._core import Scenario
from aqmlab.files import write
from aqmlab.problems import InputError
from aqmlab.runs import metrics, workers
from aqmlab.runs.executor import Outcome, Progress, do_all
from aqmlab.runs.results import RunResult
from aqmlab.runs.table import Table
from aqmlab.runs.task import Task
from aqmlab.study.ledger import Claim
from aqmlab.study.readings import SeriesReading


class Key(NamedTuple):
    """A run: the digest of its scenario's values, its scheme and its seed."""

    condition: str
    spec: str
    seed: int


@dataclass(frozen=True)
class WantedValues:
    """The values that sentences ask of a run: measures by their full names, and readings of the series of links."""

    measures: frozenset[str] = frozenset()
    readings: frozenset[tuple[str, SeriesReading]] = frozenset()

    @classmethod
    def of(cls, claims: Iterable[Claim]) -> "WantedValues":
        """Return the values that these claims need."""
        measures, readings = set(), set()
        for claim in claims:
            for reading in claim.readings:
                if reading:
                    readings.add((claim.link, reading))
                else:
                    measures |= {metrics.at(path, claim.link) for path in (claim.value, claim.per) if path}
        return cls(frozenset(measures), frozenset(readings))

    def __or__(self, other: "WantedValues") -> "WantedValues":
        """Return the values that either needs."""
        return WantedValues(self.measures | other.measures, self.readings | other.readings)

    @property
    def names(self) -> set[str]:
        """The names of the values in `CachedRun.values`."""
        return {*self.measures, *(_name(*each) for each in self.readings)}

    def answered(self, task: Task, run: RunResult) -> dict[str, float | None]:
        """Return the values of a run; a measure that the run does not know is left out."""
        table = Table({("", ""): {task.seed: run.values}}, {"": task.scenario.links[0]})
        found = {name: table.measured("", "", name) for name in self.measures}
        read = {_name(link, reading): _read(link, reading, run, task.scenario) for link, reading in self.readings}
        return {name: values[task.seed] for name, values in found.items() if values} | read


@dataclass(frozen=True)
class CachedRun:
    """The needed values of a run by their names, and the events it took."""

    values: Mapping[str, float | None]
    events: int


class WantedRun(NamedTuple):
    """A scenario, with the digest of its condition, to run under a scheme, and the values that are needed."""

    scenario: Scenario
    condition: str
    spec: str
    values: WantedValues


@dataclass(frozen=True)
class RunCache:
    """Runs by key; a file keeps them, line by line as they end."""

    file: Path | None = None
    found: dict[Key, CachedRun] = field(default_factory=dict)

    @classmethod
    def of(cls, file: Path | None) -> "RunCache":
        """Return the runs of a file; none if another engine did them."""
        runs = cls(file)
        if file is not None:
            with suppress(FileNotFoundError):
                head, *lines = file.read_text(encoding="utf-8").splitlines() or [""]
                if head == _head():
                    runs._read(lines)
            file.parent.mkdir(parents=True, exist_ok=True)
            write(file, "".join(f"{line}\n" for line in [_head(), *map(_line, runs.found.items())]).encode())
        return runs

    def _read(self, lines: Iterable[str]) -> None:
        """Take the runs of lines; a session that was killed may have left a part of one."""
        for line in lines:
            with suppress(ValueError):
                condition, spec, seed, values, events = json.loads(line)
                self.found[Key(condition, spec, seed)] = CachedRun(values, events)

    def do(self, runs: Iterable[WantedRun], seeds: int, jobs: int | None, progress: Progress | None) -> None:
        """Do the missing runs, and repeat those with too few values. InputError for a rejected run."""
        tasks: dict[Key, tuple[Task, WantedValues]] = {}
        for each in runs:
            for seed in range(1, seeds + 1):
                key = Key(each.condition, each.spec, seed)
                if key not in self.found or not each.values.names <= self.found[key].values.keys():
                    values = each.values | tasks[key][1] if key in tasks else each.values
                    tasks[key] = Task(each.scenario, each.spec, seed, series=bool(values.readings)), values
        keys, asked = [*tasks], [*tasks.values()]

        def take(ended: Sequence[tuple[int, Outcome]]) -> None:
            for i, outcome in ended:
                if isinstance(outcome, RunResult):
                    self._keep(keys[i], *asked[i], outcome)
                elif isinstance(outcome.error, InputError):
                    raise outcome.error

        if tasks:
            with workers.workers(None, jobs) as pool:
                do_all([task for task, _ in asked], pool, take, progress)

    def _keep(self, key: Key, task: Task, wanted: WantedValues, run: RunResult) -> None:
        before = self.found[key].values if key in self.found else {}
        self.found[key] = kept = CachedRun({**before, **wanted.answered(task, run)}, run.engine.events or 0)
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(_line((key, kept)) + "\n")


@dataclass(frozen=True)
class CachedSource:
    """The source of a claim's values: the runs of the seeds 1 to `seeds` under the conditions of its places."""

    runs: RunCache
    conditions: Mapping[str, str]
    seeds: int

    def values(self, places: Iterable[str], spec: str, link: str, path: str) -> dict[int, list[float | None]]:
        """Return by seed what each place has, for the seeds that all have."""
        found = [self._of(place, spec, metrics.at(path, link)) for place in places]
        seeds = sorted(set[int].intersection(*map(set, found)))
        return {seed: [values[seed] for values in found] for seed in seeds}

    def read(self, place: str, spec: str, link: str, reading: SeriesReading) -> dict[int, float | None]:
        """Return by seed what was read off the time series."""
        return self._of(place, spec, _name(link, reading))

    def events(self, place: str, spec: str) -> int:
        """Return the number of events of the run with the first seed; 0 if it is not there."""
        kept = self.runs.found.get(Key(self.conditions[place], spec, 1))
        return kept.events if kept else 0

    def _of(self, place: str, spec: str, name: str) -> dict[int, float | None]:
        keys = {seed: Key(self.conditions[place], spec, seed) for seed in range(1, self.seeds + 1)}
        kept = {seed: self.runs.found[key].values for seed, key in keys.items() if key in self.runs.found}
        return {seed: values[name] for seed, values in kept.items() if name in values}


def condition(scenario: Scenario) -> str:
    """Return the digest of the condition of a run: all values of its scenario, without names for people."""
    values = {key: value for key, value in scenario.resolved().items() if key not in ("name", "title")}
    return sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def _head() -> str:
    return json.dumps({"schema": 1, "version": _core.version(), "source": _core.source()})


def _line(run: tuple[Key, CachedRun]) -> str:
    key, kept = run
    return json.dumps([*key, kept.values, kept.events])


def _read(link: str, reading: SeriesReading, run: RunResult, scenario: Scenario) -> float | None:
    """Return what is read off a series; None of a drop probability that the scheme does not have."""
    with suppress(KeyError):
        return reading.of(run, scenario, link)
    return None


def _name(link: str, reading: SeriesReading) -> str:
    """Return the name of a reading; those that are equal have one name, be their numbers whole or not."""
    between = reading.between and tuple(map(float, reading.between))
    band = None if reading.band is None else float(reading.band)
    return f"{link}: {reading.value} from {float(reading.start)} to {float(reading.end)}, {band}, {between}"
