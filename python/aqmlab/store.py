"""The folder of a sweep: what was asked for, where it was done, and a row for each run in Parquet.

experiment.toml    the experiment, all grids expanded (scenarios/ and schemes/ hold files of one's own)
environment.json   version, machine and time of each session
plan.parquet       the runs asked for, in order
parts/*.parquet    what is done, a file a batch
runs.parquet       one row a run, once all are done: the same bytes however it came about
timing.parquet     seconds each run took
"""

import hashlib
import io
import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab import _core, files
from aqmlab._core import InputError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Labels = Mapping[str, Any]
"""What is known of a run before it is done, by column."""

ENVIRONMENT, PLAN, RUNS, TIMING = "environment.json", "plan.parquet", "runs.parquet", "timing.parquet"


@dataclass(frozen=True)
class Row:
    """What one run yielded: `state` is "done" or "failed", `error` says why, `result` is its JSON."""

    key: str
    state: str
    error: str | None
    result: str | None

    @property
    def wall(self) -> float:
        """Seconds that the run took; 0 if it failed."""
        return float(json.loads(self.result)["engine"]["wall"]) if self.result else 0.0


class StoreError(OSError):
    """Results that cannot be written or read; those stored before are intact."""


class Store:
    """The results of a sweep in `folder`. Every file is written whole or not at all."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def open(self, contents: Mapping[str, str], *, resume: bool, where: str) -> None:
        """Begin or, with `resume`, go on: write the experiment and add this session to the environment."""
        files.check_folder(self.folder)
        if not resume and (self.folder / PLAN).exists():
            raise InputError(
                f"out: {self.folder}: holds a sweep already; go on with --resume, or choose another folder"
            )
        sessions = self._sessions() if resume else []
        for name, content in {**contents, ENVIRONMENT: _json([*sessions, _session(where)])}.items():
            self._write(name, content.encode())

    def plan(self, rows: Sequence[Labels]) -> None:
        """Write down the runs that are asked for, in order."""
        self._write(PLAN, _parquet(rows))

    def add(self, rows: Sequence[Row]) -> None:
        """Store what a batch of runs yielded."""
        name = hashlib.sha256("".join(row.key for row in rows).encode()).hexdigest()[:24]
        self._write(f"parts/{name}.parquet", _parquet([asdict(row) for row in rows]))

    def results(self) -> dict[str, Row]:
        """Return what is stored, by key; a run that failed and then succeeded has succeeded."""
        found: dict[str, Row] = {}
        for path in sorted((self.folder / "parts").glob("[!.]*.parquet")):
            for row in (Row(**entry) for entry in _rows(path)):
                if row.key not in found or row.state == "done":
                    found[row.key] = row
        return found

    def table(self) -> list[dict[str, Any]]:
        """Return the finished runs in the order of the plan, by column."""
        results = self.results()
        return [
            {**labels, **_columns(results[labels["key"]])}
            for labels in _rows(self.folder / PLAN)
            if labels["key"] in results
        ]

    def finish(self) -> list[dict[str, Any]]:
        """Write the final tables and return the rows."""
        results = self.results()
        rows = self.table()
        times = [{"key": row["key"], "wall": results[row["key"]].wall} for row in rows]
        self._write(TIMING, _parquet(times))
        self._write(RUNS, _parquet(rows))
        return rows

    def unfinish(self) -> None:
        """Remove the final tables, which are out of date once more runs are asked for."""
        for name in (RUNS, TIMING):
            (self.folder / name).unlink(missing_ok=True)

    def _sessions(self) -> list[Any]:
        with suppress(OSError, ValueError):
            return list(json.loads((self.folder / ENVIRONMENT).read_text(encoding="utf-8")))
        return []

    def _write(self, name: str, data: bytes) -> None:
        path = self.folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            files.write(path, data)
        except OSError as error:
            raise StoreError(
                f"out: {path}: cannot be written ({error.strerror}); what is stored is intact, go on with --resume"
            ) from error


def load_experiment(folder: str | os.PathLike[str]) -> "pd.DataFrame":
    """Return the finished runs of a sweep as a data frame, one row a run; also while it goes on.

    Columns: key, scenario, link (the scenario's first), set.PATH, aqm, SCHEME.PARAMETER, seed, state ("done" or
    "failed"), error, events, and every metric as links.NAME.METRIC, flows.NAME.METRIC and total.METRIC. Raises
    InputError for a folder without a sweep, StoreError for a file that is damaged.
    """
    store = Store(folder)
    if not (store.folder / PLAN).exists():
        raise InputError(f"experiment: {folder}: holds no sweep; expected a folder that aqmlab sweep --out left")
    return _table(store.table()).to_pandas()  # type: ignore[no-any-return]


def _columns(row: Row) -> dict[str, Any]:
    """What a run yielded, by column; its time is no result."""
    found = {"state": row.state, "error": row.error}
    if row.result:
        run = json.loads(row.result)
        found["events"] = run["engine"]["events"]
        for part in ("links", "flows", "total"):
            found.update(_flat(part, run[part]))
    return found


def _flat(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(f"{path}.{name}", inner)
    else:
        yield path, value


def _table(rows: Sequence[Mapping[str, Any]]) -> "pa.Table":
    """A table with every column that a row has, in the order of their first appearance."""
    import pyarrow as pa

    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: pa.array([row.get(name) for row in rows]) for name in names}
    blank = {"error": pa.string(), "result": pa.string()}  # a column without any value needs a type too
    return pa.table(
        {
            name: column.cast(blank.get(name, pa.float64())) if pa.types.is_null(column.type) else column
            for name, column in columns.items()
        }
    )


def _parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    from pyarrow import parquet

    buffer = io.BytesIO()
    parquet.write_table(_table(rows), buffer, compression="zstd")
    return buffer.getvalue()


def _rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of ours."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.ParquetFile(path).read()
    except (OSError, pa.ArrowException) as error:
        why = str(error).splitlines()[0]
        raise StoreError(
            f"{path}: cannot be read ({why}); delete it and go on with --resume: only its runs are done again"
        ) from error
    return table.to_pylist()  # type: ignore[no-any-return]


def _session(where: str) -> dict[str, Any]:
    return {
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "aqmlab": _core.version(),
        "build": _core.build_profile(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "executor": where,
    }


def _cpu() -> str:
    with suppress(OSError, IndexError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line for line in lines if line.startswith("model name")).partition(": ")[2]
    return platform.processor()


def _json(document: object) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
