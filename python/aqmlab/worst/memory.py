"""The stored runs of a search: a continued search repeats everything except these runs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab import untrusted
from aqmlab.problems import InputError
from aqmlab.runs.executor import Outcome
from aqmlab.runs.request import requested
from aqmlab.runs.store import BREAK, Store, StoredRun
from aqmlab.runs.task import Failure

Values = Mapping[str, float | None]
"""The values of a run by criterion."""


@dataclass(frozen=True)
class KnownRun:
    """The values of one run and the seconds that it took, or why it failed."""

    values: Values
    wall: float = 0.0
    failed: str | None = None

    def text(self) -> str:
        """Return it as JSON."""
        return json.dumps({"values": dict(self.values), "wall": self.wall})


class RunMemory:
    """The runs that are done, by key: in memory and, with a `store`, in the folder of the search."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store
        rows = store.results() if store else {}
        self.runs: dict[str, KnownRun] = {key: _read(row) for key, row in rows.items()}
        self.before = sum(run.wall for run in self.runs.values())
        """Seconds of the engine in earlier sessions."""
        self.asked: set[str] = set()

    @property
    def is_ahead(self) -> bool:
        """There are stored runs that this process has not asked for yet."""
        return len(self.asked) < len(self.runs) and not self.runs.keys() <= self.asked

    def add(self, found: Sequence[tuple[str, Outcome, Values]]) -> None:
        """Remember runs, in the store too."""
        known = {key: _known(outcome, values) for key, outcome, values in found}
        if self.store:
            rows = [
                StoredRun(key, "failed" if run.failed else "done", run.failed, None if run.failed else run.text())
                for key, run in known.items()
            ]
            self.store.add(rows)
        self.runs |= known


def _known(outcome: Outcome, values: Values) -> KnownRun:
    if isinstance(outcome, Failure):
        return KnownRun({}, failed=outcome.reason)
    return KnownRun(values, outcome.engine.wall)


def _read(row: StoredRun) -> KnownRun:
    if row.result is None:
        return KnownRun({}, failed=row.error or "failed")
    try:
        found = untrusted.parse_json(row.result)
        return KnownRun({str(name): value for name, value in found["values"].items()}, float(found["wall"]))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise InputError("run", f'"{row.key[:60]}": its result is not of a search') from error


@contextmanager
def remembered(folder: Path | None, plan: Mapping[str, Any], *, resume: bool) -> Iterator[RunMemory]:
    """Give the runs of a search, from its folder if there is one, which is locked meanwhile.

    InputError if another one is at work there, or if the folder holds a search and `resume` is false or `plan` another.
    """
    with requested(folder, BREAK, plan, resume=resume, what="search", free="its budget") as store:
        yield RunMemory(store)
