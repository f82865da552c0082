"""Run a bundle again, and say of every number whether it is the same to the bit, within the interval, or neither."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aqmlab import untrusted
from aqmlab._core import Scenario
from aqmlab.bundle import archive, artefact
from aqmlab.bundle.artefact import RESULTS, RUNS, SUMMARY, Artefact, BundledRun, Key, is_number
from aqmlab.bundle.build import machine
from aqmlab.notebook import Result, Sheet
from aqmlab.problems import InputError
from aqmlab.runs.columns import flat
from aqmlab.runs.executor import Progress, run_many
from aqmlab.runs.results import RunResult
from aqmlab.runs.statistics import summarise
from aqmlab.runs.task import Failure, Task
from aqmlab.scenario import with_warnings

SAME, WITHIN, NEITHER = "same", "within", "neither"
"""Results of a comparison: bit-identical under every seed; its mean within the stored interval; or neither."""

MOST = 20
"""Numbers of a state that people still read; a document has all."""


@dataclass(frozen=True)
class Number:
    """A number that is not the same to the bit: the bundle's value, and the new measurement."""

    name: str
    state: str
    stored: Any
    again: Any


@dataclass(frozen=True, repr=False)
class Verified(Result):
    """A verified bundle: its numbers by state, and those that are not the same to the bit."""

    title: str
    made_by: Mapping[str, Any]
    here: Mapping[str, Any]
    files: int
    runs: int
    same: int
    others: Sequence[Number]

    @property
    def within(self) -> list[Number]:
        """The numbers whose mean is within the interval."""
        return [number for number in self.others if number.state == WITHIN]

    @property
    def neither(self) -> list[Number]:
        """The numbers that were not found again."""
        return [number for number in self.others if number.state == NEITHER]

    @property
    def headline(self) -> str:
        """The title, and how many numbers are how."""
        counts = f"{self.same:,} numbers bit-identical, {len(self.within):,} within the interval"
        return f"{self.title}: {counts}, {len(self.neither):,} neither"

    def sheets(self) -> Iterator[Sheet]:
        """Return the numbers that are not the same to the bit, if there are any."""
        if self.others:
            rows = [[number.name, number.state, str(number.stored), str(number.again)] for number in self.others[:MOST]]
            yield Sheet("", ["Number", "State", "Stored", "Again"], rows)

    def document(self) -> dict[str, Any]:
        """Return the whole for JSON."""
        return {
            "schema": 1,
            "title": self.title,
            "made_by": self.made_by,
            "here": self.here,
            "files": self.files,
            "runs": self.runs,
            "same": self.same,
            "within": [asdict(number) for number in self.within],
            "neither": [asdict(number) for number in self.neither],
        }


def read(path: str | os.PathLike[str]) -> Artefact:
    """Return a bundle's contents, after checking its files against the manifest and its summary against its runs."""
    found = artefact.read(archive.unpack(Path(path)))
    if found.files.get(SUMMARY) != artefact.summary(found.runs):
        raise InputError("bundle", f"{SUMMARY}: does not follow from {RUNS}")
    return found


def verify(
    bundle: str | os.PathLike[str] | Artefact,
    *,
    run_code: Sequence[str] = (),
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Verified:
    """Do every run of a bundle again and compare.

    `run_code` names the files of the bundle that are code: nothing is run unless each is named. Raises InputError for a
    bundle that is damaged, changed or not made as `aqmlab bundle` does.
    """
    found = bundle if isinstance(bundle, Artefact) else read(bundle)
    _check_code(found, run_code)
    scenarios = {run.key: _scenario(found, run) for run in {run.key: run for run in found.runs}.values()}
    if found.about.get("study"):
        again, document = _study(found, scenarios, jobs, progress)
        are_same = all(_same(run, again) for run in found.runs)
        numbers = [*_numbers(found.runs, again), *_documents(found, document, runs_are_same=are_same)]
    else:
        numbers = list(_numbers(found.runs, _runs(found, scenarios, jobs, progress)))
    others = [number for number in numbers if number.state != SAME]
    return Verified(
        found.title,
        found.about["made_by"],
        machine(),
        len(found.files),
        len(found.runs),
        len(numbers) - len(others),
        others,
    )


def _check_code(found: Artefact, named: Sequence[str]) -> None:
    for name in named:
        if name not in found.code:
            raise InputError(
                "run-code", f"{name}: is not a scheme of the bundle; it has {', '.join(found.code) or 'none'}"
            )
    if silent := [file for file in found.code if file not in named]:
        options = " ".join(f"--run-code {file}" for file in found.code)
        raise InputError(
            "run-code",
            f"the runs need code of the bundle: {', '.join(silent)}; read it, and allow it to run with {options}",
        )


def _scenario(found: Artefact, run: BundledRun) -> Scenario:
    return with_warnings(Scenario.parse(found.scenarios[run.scenario], run.scenario, list(run.set)))


def _runs(
    found: Artefact, scenarios: Mapping[Key, Scenario], jobs: int | None, progress: Progress | None
) -> dict[tuple[Key, int], BundledRun]:
    """Repeat the runs, with the bundle's code in a separate folder."""
    with TemporaryDirectory() as folder:
        for name in found.code:
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(found.files[name])
        given = {aqm: str(Path(folder, given)) for aqm, given in found.schemes.items()}
        tasks = [Task(scenarios[run.key], given.get(run.aqm, run.aqm), run.seed) for run in found.runs]
        outcomes = run_many(tasks, jobs, progress)
    return {(run.key, run.seed): _again(run, outcome) for run, outcome in zip(found.runs, outcomes, strict=True)}


def _again(run: BundledRun, outcome: RunResult | Failure) -> BundledRun:
    if isinstance(outcome, Failure):
        return BundledRun.of(run.key, run.seed, None, outcome.reason)
    return BundledRun.of(run.key, run.seed, outcome.text)


def _study(
    found: Artefact, scenarios: Mapping[Key, Scenario], jobs: int | None, progress: Progress | None
) -> tuple[dict[tuple[Key, int], BundledRun], dict[str, Any]]:
    """Reproduce the study in the bundle's scenarios; return the runs and results.json."""
    from aqmlab.study.measured import measure, place_of
    from aqmlab.study.paper import load_study
    from aqmlab.study.reproduction import Reproduction

    study, texts = found.about["study"], {place_of(scenario): scenario for scenario in scenarios.values()}
    try:
        name, tables, figures, seeds = study["name"], study["tables"], study["figures"], int(study["seeds"])
        paper = load_study(name)
        every = len(tables) == len(paper.tables) and len(figures) == len(paper.figures)
        asked = paper.asked(None, None) if every else paper.asked(tables, figures)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("bundle", "bundle.json: study: is not in the format of aqmlab bundle") from error

    def find(wanted: str) -> Scenario:
        if wanted not in texts:
            raise InputError("bundle", f"{wanted}: the study needs this scenario here, and the bundle does not have it")
        return texts[wanted]

    measured = measure(asked.needed, asked.read, seeds, jobs, progress, find)
    again = Reproduction(paper, seeds, asked, measured)
    runs = {}
    for compared in measured.comparisons.values():
        for (aqm, seed), run in compared.runs.items():
            key = compared.scenario.name, tuple(compared.scenario.overrides), aqm
            runs[key, seed] = BundledRun.of(key, seed, run.text)
    return runs, json.loads(again.json())


def _same(run: BundledRun, again: Mapping[tuple[Key, int], BundledRun]) -> bool:
    other = again.get((run.key, run.seed))
    return other is not None and _text(run.values) == _text(other.values)


def _numbers(runs: Iterable[BundledRun], again: Mapping[tuple[Key, int], BundledRun]) -> Iterator[Number]:
    """Yield each measure of each scheme in each case."""
    grouped: dict[Key, list[BundledRun]] = {}
    for run in runs:
        grouped.setdefault(run.key, []).append(run)
    for (scenario, pairs, aqm), several in grouped.items():
        where = ", ".join([scenario, *map("=".join, pairs), aqm])
        others = [again.get((run.key, run.seed)) for run in several]
        for name in dict.fromkeys(name for run in (*several, *others) if run for name in run.values):
            stored = [run.values.get(name) for run in several]
            found = [other.values.get(name) if other else None for other in others]
            yield Number(f"{where}: {name}", _state(stored, found), _one(stored), _one(found))


def _state(stored: Sequence[Any], again: Sequence[Any]) -> str:
    """Return how values by seed compare with the new measurements."""
    if _text(stored) == _text(again):
        return SAME
    both = [[value for value in values if is_number(value)] for values in (stored, again)]
    if not all(both) or [value for values in (stored, again) for value in values if not _fits(value)]:
        return NEITHER
    before, now = map(summarise, both)
    return WITHIN if before.interval and before.interval[0] <= now.mean <= before.interval[1] else NEITHER


def _fits(value: Any) -> bool:
    return value is None or is_number(value)


def _one(values: Sequence[Any]) -> Any:
    """The mean of numbers; the value of a single seed as it is."""
    numbers = [value for value in values if is_number(value)]
    return summarise(numbers).mean if len(values) > 1 and len(numbers) == len(values) else values[0]


def _documents(found: Artefact, again: Mapping[str, Any], *, runs_are_same: bool) -> Iterator[Number]:
    """Yield the published and the measured numbers; all of results.json if its runs are the same."""
    try:
        stored = untrusted.parse_json(found.files[RESULTS])
        leaves = flat("", _by_index(stored))
        intervals = [cell["interval"] for cell in stored["cells"]]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError("bundle", f"{RESULTS}: is not in the format of aqmlab bundle") from error
    new = flat("", _by_index(again))
    for path in dict.fromkeys([*leaves, *new]):
        here, there = leaves.get(path), new.get(path)
        is_cell = path.startswith(".cells.") and path.endswith(".ours")
        if _text(here) == _text(there):
            state = SAME
        elif is_cell and not runs_are_same:
            ends = intervals[int(path.split(".")[2])] if path in leaves else None
            state = WITHIN if ends and _fits(there) and ends[0] <= there <= ends[1] else NEITHER
        else:
            state = NEITHER
        if is_cell or (runs_are_same and state == NEITHER):
            yield Number(f"{RESULTS}{path}", state, here, there)


def _by_index(value: Any) -> Any:
    """The same with lists as dictionaries."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    return {str(name): _by_index(inner) for name, inner in value.items()} if isinstance(value, dict) else value


def _text(value: Any) -> str:
    """Text that distinguishes two values to the last bit."""
    return json.dumps(value, sort_keys=True)
