"""The stored runs of a tune: a continued tune repeats everything except these runs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab import untrusted
from aqmlab.problems import InputError
from aqmlab.runs.columns import measures
from aqmlab.runs.executor import Outcome
from aqmlab.runs.request import requested
from aqmlab.runs.store import TUNE, Store, StoredRun

JOURNAL = "optuna.journal"


@dataclass(frozen=True)
class FinishedRun:
    """The measures of one run, or why it failed, and the seconds of the engine."""

    values: Mapping[str, Any]
    failed: str | None = None
    wall: float = 0.0

    @classmethod
    def of(cls, row: StoredRun) -> "FinishedRun":
        """Return the stored result of a run."""
        run = row.document() if row.result else None
        return cls(measures(run), None, run["engine"].get("wall", 0.0)) if run else cls({}, row.error)


Key = tuple[str, str, int]
"""A run: scenario as it was asked for, scheme with parameters, seed."""


class Memory:
    """The runs that are done: in memory and, with a `store`, in the folder of the tune."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store
        rows = store.results() if store else {}
        self.runs: dict[Key, FinishedRun] = {_key(key): FinishedRun.of(row) for key, row in rows.items()}
        self.before = sum(done.wall for done in self.runs.values())
        """Seconds of the engine in earlier sessions."""
        self.asked: set[Key] = set()
        """The runs that this process has asked for."""

    @property
    def ahead(self) -> set[Key]:
        """The stored runs that this process has not asked for yet."""
        return self.runs.keys() - self.asked

    def add(self, found: Sequence[tuple[Key, Outcome]]) -> None:
        """Remember runs, in the store too."""
        rows = [StoredRun.of(json.dumps(key), outcome) for key, outcome in found]
        if self.store:
            self.store.add(rows)
        self.runs.update((key, FinishedRun.of(row)) for (key, _), row in zip(found, rows, strict=True))


@contextmanager
def remembered(folder: Path | None, plan: Mapping[str, Any], *, resume: bool) -> Iterator[Memory]:
    """Give the runs of a tune, from its folder if there is one, which is locked meanwhile.

    InputError if another one is at work there, or if the folder holds a tune and `resume` is false or `plan` another.
    """
    with requested(folder, TUNE, plan, resume=resume, what="tune", free="budget, jobs and held-out runs") as store:
        if store:
            for name in (JOURNAL, f"{JOURNAL}.lock"):  # it is written again from the runs
                (store.folder / name).unlink(missing_ok=True)
        yield Memory(store)


def _key(text: str) -> Key:
    """Return the run that a row of a tune's store is of."""
    try:
        scenario, scheme, seed = untrusted.parse_json(text)
    except (ValueError, TypeError) as error:
        raise InputError("run", f'"{text[:60]}": is not a run of a tune') from error
    return str(scenario), str(scheme), seed
