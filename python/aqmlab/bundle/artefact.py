"""The content of a bundle: its runs with their measurements, and the scenarios and schemes that they need."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard

from aqmlab import untrusted
from aqmlab.bundle.archive import Files
from aqmlab.csv_text import csv_text
from aqmlab.problems import InputError
from aqmlab.runs.columns import flat
from aqmlab.runs.statistics import summarise
from aqmlab.runs.table import Pairs

SCHEMA = 1
ABOUT, RUNS, SUMMARY, RESULTS = "bundle.json", "results/runs.jsonl", "results/summary.csv", "results/results.json"

MOST_RUNS = 1_000_000
LARGEST = 1e100
"""No measure is larger, and a mean over larger ones could not be taken."""

Key = tuple[str, Pairs, str]
"""The seeds repeat this: the name of a scenario, what is set of it, and a scheme."""


@dataclass(frozen=True)
class BundledRun:
    """One run: `result` is its document without what it cost, None if it failed, and then `error` says why."""

    scenario: str
    set: Pairs
    aqm: str
    seed: int
    result: Mapping[str, Any] | None
    error: str | None = None

    @property
    def key(self) -> Key:
        """The case and scheme that its seed repeats."""
        return self.scenario, self.set, self.aqm

    @cached_property
    def values(self) -> dict[str, Any]:
        """Every value by its full name, such as "links.bottleneck.queue_mean"; the error where there is none."""
        if self.result is None:
            return {"error": self.error}
        return {name: value for part, inner in self.result.items() for name, value in flat(part, inner).items()}

    def line(self) -> str:
        """Return the run as one row of the file of runs."""
        return json.dumps({**vars_of(self), "set": [*map(list, self.set)]}, ensure_ascii=False)

    @classmethod
    def of(cls, key: Key, seed: int, document: str | None, error: str | None = None) -> "BundledRun":
        """Return the run whose JSON is `document`."""
        if document is None:
            return cls(*key, seed, None, error)
        found = json.loads(document)
        parts = {name: found[name] for name in ("links", "flows", "total")}
        return cls(*key, seed, {**parts, "events": found["engine"]["events"]})


def vars_of(run: BundledRun) -> dict[str, Any]:
    """Return the fields of a run."""
    return {name: getattr(run, name) for name in BundledRun.__dataclass_fields__}


@dataclass(frozen=True)
class Artefact:
    """A bundle as it is read. `about` is bundle.json; `scenarios` are texts by name.

    `schemes` are the user's own, each as the runs call it, with the file in the bundle that has it:
    {"my-aqm:gain=2": "schemes/my_aqm.py:MyAqm:gain=2"}.
    """

    about: Mapping[str, Any]
    scenarios: Mapping[str, str]
    schemes: Mapping[str, str]
    runs: tuple[BundledRun, ...]
    files: Files

    @property
    def title(self) -> str:
        """Its title."""
        return str(self.about["title"])

    @property
    def code(self) -> list[str]:
        """The files of the user's own schemes, which are code."""
        return sorted({given.partition(":")[0] for given in self.schemes.values()})


def about(title: str, made_by: Mapping[str, Any], **more: Any) -> bytes:
    """Return the text of bundle.json."""
    document = {"schema": SCHEMA, "title": title, "made_by": made_by, **more}
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def lines(runs: Iterable[BundledRun]) -> bytes:
    """Return the file of runs: one JSON object per run, numbers with all their digits."""
    return "".join(f"{run.line()}\n" for run in runs).encode()


def summary(runs: Iterable[BundledRun]) -> bytes:
    """Return the mean and the 95 % interval of every number over the seeds, as CSV."""
    grouped: dict[Key, list[BundledRun]] = {}
    for run in runs:
        grouped.setdefault(run.key, []).append(run)
    rows: list[list[object]] = [["scenario", "set", "aqm", "measure", "seeds", "mean", "low", "high"]]
    for (scenario, pairs, aqm), several in grouped.items():
        names = dict.fromkeys(name for run in several for name in run.values)
        for name in names:
            found = [value for run in several if is_number(value := run.values.get(name))]
            if found:
                mean = summarise(found)
                ends = mean.interval or ("", "")
                shown = [f"{each:.9g}" if each != "" else "" for each in (mean.mean, *ends)]
                rows.append([scenario, ", ".join(map("=".join, pairs)), aqm, name, mean.n, *shown])
    return csv_text(rows).encode()


def is_number(value: object) -> TypeGuard[float]:
    """Say whether a value is a number that a mean can be taken of."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def read(files: Files) -> Artefact:
    """Return what the files of a bundle say; InputError, with the file, where they do not say it."""
    manifest = _json(files, ABOUT)
    _check(
        isinstance(manifest, dict) and manifest.get("schema") == SCHEMA, ABOUT, f"this version reads schema {SCHEMA}"
    )
    for name, kind in (("title", str), ("made_by", dict), ("scenarios", dict), ("schemes", dict)):
        _check(isinstance(manifest.get(name), kind), ABOUT, f"{name} is missing or of another kind")
    texts = [*manifest["scenarios"].items(), *manifest["schemes"].items()]
    _check(all(isinstance(text, str) for pair in texts for text in pair), ABOUT, "a name that is not text")
    scenarios = {name: _text(files, path) for name, path in manifest["scenarios"].items()}
    found = Artefact(manifest, scenarios, manifest["schemes"], tuple(_runs(files)), files)
    for given in manifest["schemes"].values():
        file = given.partition(":")[0]
        fits = file in files and file.startswith("schemes/") and file.endswith(".py") and "@" not in given
        _check(fits, ABOUT, "a scheme is not a Python file of the bundle")
    _check_runs(found)
    return found


def _check_runs(found: Artefact) -> None:
    """Refuse runs whose scenario or scheme is not of the bundle or the catalogue: a file's name is code to run."""
    seen = set()
    for number, run in enumerate(found.runs, 1):
        where = f"{RUNS}: line {number}"
        _check(run.scenario in found.scenarios, where, "its scenario is not in the bundle")
        _check(
            run.aqm in found.schemes or ".py" not in run.aqm, where, "its scheme is a file that is not in the bundle"
        )
        _check((run.key, run.seed) not in seen, where, "this run occurs twice")
        seen.add((run.key, run.seed))


def _runs(files: Files) -> Iterable[BundledRun]:
    rows = _text(files, RUNS).split("\n")[:-1]
    _check(len(rows) <= MOST_RUNS, RUNS, f"{len(rows):,} runs; at most {MOST_RUNS:,}")
    for number, line in enumerate(rows, 1):
        try:
            entry = untrusted.parse_json(line, _refuse)
            pairs = tuple((path, value) for path, value in entry["set"])
            run = BundledRun(entry["scenario"], pairs, entry["aqm"], entry["seed"], entry["result"], entry["error"])
            fits = not any(is_number(value) and abs(value) > LARGEST for value in run.values.values())
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError("bundle", f"{RUNS}: line {number}: is not a run ({type(error).__name__})") from error
        texts = [run.scenario, run.aqm, *(text for pair in pairs for text in pair)]
        fits = fits and all(isinstance(text, str) for text in texts) and type(run.seed) is int
        fits = fits and isinstance(run.result, dict | None) and isinstance(run.error, str | None)
        _check(fits and 0 <= run.seed < 2**63, f"{RUNS}: line {number}", "is not a run")
        yield run


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")


def _json(files: Files, name: str) -> Any:
    text = _text(files, name)
    try:
        return untrusted.parse_json(text)
    except ValueError as error:
        raise InputError("bundle", f"{name}: is not JSON ({error})") from error


def _text(files: Files, name: str) -> str:
    if name not in files:
        raise InputError("bundle", f"{name}: is missing")
    try:
        return files[name].decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("bundle", f"{name}: is not UTF-8 text") from error


def _check(good: bool, where: str, why: str) -> None:
    if not good:
        raise InputError("bundle", f"{where}: {why}")
