"""Parts of a sweep that are done apart, as by the tasks of a job array: the runs of each, and how they are merged."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from aqmlab.problems import InputError
from aqmlab.runs.executor import Progress
from aqmlab.runs.findings import Findings, findings
from aqmlab.runs.store import Store, StoredRun, existing

T = TypeVar("T")
SHARD = re.compile(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*")


@dataclass(frozen=True)
class Shard:
    """The part `number`, from 1, of `of` parts of a plan: every `of`-th run, so that all parts take about as long."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def part(self, runs: Sequence[T]) -> list[T]:
        """Return its part of the runs, which are in the order of the plan."""
        return list(runs[self.number - 1 :: self.of])


def shard(text: str, runs: int) -> Shard:
    """Read "2/7", a part of a plan of so many runs. InputError for anything else."""
    parts = SHARD.fullmatch(text)
    if parts is None:
        raise InputError("shard", f'"{text[:60]}": expected a part and the number of parts, such as 2/7')
    found = Shard(int(parts[1]), int(parts[2]))
    if not 1 <= found.number <= found.of:
        raise InputError("shard", f'"{text}": the parts are 1/{found.of} to {found.of}/{found.of}')
    if found.of > runs:
        raise InputError("shard", f'"{text}": the experiment has {runs:,} runs; at most so many parts')
    return found


def merge(
    folders: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str], *, progress: Progress | None = None
) -> Findings:
    """Merge the folders of all shards of a sweep into `out`, with the tables that one sweep would have left.

    Series that they have recorded, and the sessions of all, are merged too. `progress` hears how many folders have been
    read and copied, of twice as many, and a step for the tables. Raises InputError unless the folders hold
    parts of one experiment, done by one version, that have no run in common and lack none; StoreError for a damaged
    file or one that cannot be written.
    """
    stores = [existing(folder, "folders") for folder in folders]
    if not stores:
        raise InputError("folders", "none is given; expected folders of aqmlab sweep --shard")
    for store in stores[1:]:
        _check_alike(stores[0], store)
    keys = {row["key"]: None for row in stores[0].planned()}
    found: dict[str, StoredRun] = {}
    holders: dict[str, Store] = {}
    steps = 2 * len(stores) + 1

    def advance(done: int) -> None:
        if progress:
            progress(done, steps)

    for i, store in enumerate(stores):
        advance(i)
        results = {key: row for key, row in store.results().items() if key in keys}
        if both := [key for key in results if key in found]:
            other = holders[both[0]]
            n = _runs(sum(holders[key] is other for key in both))
            raise InputError("folders", f"{other.folder} and {store.folder}: both hold {n}; give each shard once")
        found |= results
        holders |= dict.fromkeys(results, store)
    if missing := [i for i, key in enumerate(keys) if key not in found]:
        raise InputError("folders", _told_missing(stores, missing, len(keys)))
    whole = Store(out)
    with whole.held(resume=False):
        whole.gather(stores, {key: found[key] for key in keys}, lambda done: advance(len(stores) + done))
    advance(steps)
    return findings(out)


def _check_alike(one: Store, other: Store) -> None:
    """Raise InputError unless both hold parts of one experiment, done by one version."""
    ours, theirs = _made_by(one), _made_by(other)
    if ours != theirs:
        raise InputError("folders", f"{other.folder}: was made by {theirs}, {one.folder} by {ours}; use one version")
    if one.planned() != other.planned():
        raise InputError("folders", f"{other.folder}: holds another experiment than {one.folder}")


def _made_by(store: Store) -> str:
    """Return the versions that did a folder's runs."""
    versions = (f"aqmlab {each.get('aqmlab')} (sources {each.get('source')})" for each in store.sessions())
    return " and ".join(dict.fromkeys(versions)) or "an unknown version"


def _told_missing(stores: Sequence[Store], missing: Sequence[int], planned: int) -> str:
    """Say which runs of a plan are in no folder: by shard, if all of them are shards of as many."""
    begun = {str(each["shard"]): store.folder for store in stores for each in store.sessions() if "shard" in each}
    shards = [SHARD.fullmatch(text) for text in begun]
    numbers = {part and part[2] for part in shards}
    if len(numbers) != 1 or (of := numbers.pop()) is None or not 1 <= int(of) <= planned:
        return f"{_runs(len(missing))} of {planned:,} are in none of them; give the folders of all shards"
    lacking: dict[str, int] = {}
    for i in missing:
        name = f"{i % int(of) + 1}/{of}"
        lacking[name] = lacking.get(name, 0) + 1
    return "; ".join(_told_shard(name, n, begun.get(name)) for name, n in lacking.items())


def _told_shard(shard: str, lacking: int, folder: Path | None) -> str:
    if folder is None:
        return f"no folder of shard {shard} is among them"
    return f"{folder}: shard {shard} lacks {_runs(lacking)}; continue there with --shard {shard} --resume"


def _runs(n: int) -> str:
    return f"{n:,} run{'' if n == 1 else 's'}"
