"""The folder of a sweep or a tune: the plan, the machines, and a row per run in Parquet.

experiment.toml    the experiment, all grids expanded (scenarios/ and schemes/ hold the user's files)
environment.json   version, machine and time of each session

warmup.json        warm-ups found by pilot runs, on request
plan.parquet       the requested runs, in order
tune.json          instead of all these: the request of a tune; break.json of a search for the worst case

parts/*.parquet    finished runs: a file per batch, one file once all are done
series/, delays/   time series and distributions of the sojourn time on request, KEY.parquet per run
runs.parquet       one row per run, once all are done: the same bytes in any order of execution
timing.parquet     seconds of each run
"""

import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from aqmlab import _core, files, lock, untrusted
from aqmlab.extras import required
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.runs.columns import StoreError, by_link, decode, encode, joined, measured, measures, table, typed
from aqmlab.runs.metrics import PLACES
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import Failure

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Labels = Mapping[str, Any]
"""The properties of a planned run, by column."""

ENVIRONMENT, PLAN, RUNS, TIMING = "environment.json", "plan.parquet", "runs.parquet", "timing.parquet"
TUNE = "tune.json"
BREAK = "break.json"
SCHEMA = 2
"""Of the folder. Schema 1 had no numbers for the texts of varied values; it is read and continued as it is."""

OTHERS = {
    TUNE: "a tune",
    BREAK: "a search for the worst case",
    "live.json": "a live run",
    "result.json": "a single run",
    "results.json": "a comparison or a reproduction",
}
"""The contents of a folder other than a sweep, by a file in it."""

WARMUP, SERIES, DELAYS = "warmup.json", "series", "delays"
RECORDED = {SERIES: ("time", "queue", "utilisation"), DELAYS: ("queue_delay", "share")}
"""The folders of optional recordings, and the columns of their files in addition to key and link."""


class StoredRun(NamedTuple):
    """A run in a store: `state` is "done" or "failed", `error` says why, `result` is its JSON."""

    key: str
    state: str
    error: str | None
    result: str | None

    @classmethod
    def of(cls, key: str, outcome: RunResult | Failure) -> "StoredRun":
        """Return the row of a run."""
        if isinstance(outcome, Failure):
            return cls(key, "failed", outcome.reason, None)
        return cls(key, "done", None, outcome.json())

    def read(self) -> dict[str, Any]:
        """Return what the run yielded, by column."""
        found: dict[str, Any] = {"state": self.state, "error": self.error}
        if self.result:
            run = self.document()
            numbers = {name: value for name, value in measures(run).items() if _is_measure(name, value)}
            found |= {"events": run["engine"]["events"], **numbers}
        return found

    def document(self) -> dict[str, Any]:
        """Return its JSON; InputError if a part of a run's result is missing."""
        try:
            found = untrusted.parse_json(self.result or "")
        except ValueError as error:
            raise InputError("run", f"{self.key}: its result cannot be read ({error})") from error
        if not _is_run(found):
            raise InputError("run", f"{self.key}: its result is not the result of a run")
        return found  # type: ignore[no-any-return]


STORED = StoredRun._fields
"""The columns of a part."""

PLANNED = {"key": "string", "scenario": "string", "link": "string", "aqm": "string", "seed": "int64"}
"""Columns that every plan has, with their types."""

LARGEST_PART = 256 * untrusted.MIB
"""Characters of the results in one part; a part of more than `untrusted.LARGEST_PARQUET` could not be read again."""

LARGEST_FILE = 64 * untrusted.MIB
"""Bytes of a file of a sweep's folder that is not a table: a scenario with its traces, a scheme, the sessions."""


class Rows(Sequence[Mapping[str, Any]]):
    """Runs by column, each with its labels; their JSON is read when the first row is asked for."""

    def __init__(self, labels: "pa.Table", rows: Sequence[StoredRun]) -> None:
        self._labels, self._rows = labels, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, i: Any) -> Any:
        return self._read[i]

    @cached_property
    def _read(self) -> list[dict[str, Any]]:
        labels = self._labels.to_pylist()
        return [{**known, **row.read()} for known, row in zip(labels, self._rows, strict=True)]


class Store:
    """The results of a sweep, or of a tune, in `folder`, by its file `plan`. Each is written whole or not at all."""

    def __init__(self, folder: str | os.PathLike[str], plan: str = PLAN) -> None:
        self.folder = Path(folder)
        self._plan = plan

    @contextmanager
    def held(self, *, resume: bool) -> Iterator[None]:
        """Create the folder if there is none, and keep every other sweep and tune out of it.

        InputError if another one is at work there, or if the folder holds one and `resume` is false or it is of the
        other kind.
        """
        files.check_folder(self.folder)
        with ExitStack() as stack:
            with self._writing(self.folder / lock.LOCK):
                self.folder.mkdir(parents=True, exist_ok=True)
                stack.enter_context(lock.held(self.folder, "out", "another sweep or tune"))
            self._check_schema()
            for name, what in ((PLAN, "a sweep"), (TUNE, OTHERS[TUNE]), (BREAK, OTHERS[BREAK])):
                if (self.folder / name).exists() and not (resume and name == self._plan):
                    way = "continue with --resume, or " if name == self._plan else ""
                    raise InputError("out", f"{self.folder}: holds {what} already; {way}choose another folder")
            yield

    def begin(self, contents: Mapping[str, str], where: str, about: Mapping[str, Any]) -> None:
        """Write the experiment, and add this session to those before; `about` is what the plan says of it."""
        sessions = [*self.sessions(), {**_session(where), **about}]
        for name, content in contents.items():
            self._write(name, content.encode())
        self.write(ENVIRONMENT, sessions)

    def plan(self, rows: Sequence[Labels]) -> None:
        """Write down the runs that are asked for, in order."""
        self._write(PLAN, encode(table(rows)))

    def add(self, rows: Sequence[StoredRun]) -> str:
        """Store what a batch of runs yielded, and return the name of its file."""
        name = hashlib.sha256("".join(row.key for row in rows).encode()).hexdigest()[:24]
        self._write(f"parts/{name}.parquet", encode(_part_of(rows)))
        return f"{name}.parquet"

    def _add_all(self, results: Mapping[str, StoredRun]) -> set[str]:
        """Store results in one file, in more only where that would be too large to be read; return their names."""
        batches: list[list[StoredRun]] = [[]]
        size = 0
        for row in results.values():
            size += len(row.result or "")
            if size > LARGEST_PART:
                batches.append([])
                size = 0
            batches[-1].append(row)
        return {self.add(batch) for batch in batches}

    def record(self, key: str, run: RunResult) -> None:
        """Store the series of a run, which are there once both files are."""
        self._write(f"{DELAYS}/{key}.parquet", encode(by_link(key, run.delays)))
        self._write(f"{SERIES}/{key}.parquet", encode(by_link(key, run.series)))

    def recorded(self) -> set[str]:
        """Return the keys of the runs whose series and delays are stored."""
        series, delays = ({path.stem for path in (self.folder / kind).glob("[!.]*.parquet")} for kind in RECORDED)
        return series & delays

    def read(self, name: str) -> Any:
        """Return the document in a file of JSON; None if it is not there or damaged."""
        with suppress(FileNotFoundError):
            data = self._bytes(self.folder / name)
            with suppress(ValueError):
                return untrusted.parse_json(data)
        return None

    def sessions(self) -> list[dict[str, Any]]:
        """Return the sessions in which the runs were done: time, machine, version."""
        found = self.read(ENVIRONMENT)
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []

    def write(self, name: str, document: object) -> None:
        """Write a document as JSON."""
        self._write(name, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())

    def results(self) -> dict[str, StoredRun]:
        """Return what is stored, by key; a run that failed and then succeeded has succeeded."""
        with suppress(FileNotFoundError):
            return self._parts()
        return self._parts()  # a sweep that ended meanwhile has made one file of many

    def rows(self, results: Mapping[str, StoredRun]) -> Rows:
        """Return the finished runs in the order of the plan."""
        return Rows(*self._finished(results))

    def table(self, results: Mapping[str, StoredRun]) -> "pa.Table":
        """Return the finished runs in the order of the plan, as a table."""
        return _table(*self._finished(results))[0]

    def finish(self, results: Mapping[str, StoredRun]) -> Rows:
        """Write the final tables of the stored runs, combine their parts, and return the rows."""
        labels, rows = self._finished(results)
        found, wall = _table(labels, rows)
        self._write(TIMING, encode(typed({"key": labels["key"], "wall": wall})))
        self._write(RUNS, encode(found))
        self.pack(results)
        return Rows(labels, rows)

    def gather(
        self, shards: Sequence["Store"], results: Mapping[str, StoredRun], copied: Callable[[int], None]
    ) -> None:
        """Take over what the stores of all shards of a plan hold, all `results` of it included, and finish.

        The plan comes last: a folder with a plan lacks nothing else but the final tables. `copied` hears after how many
        shards it is.
        """
        self._add_all(results)
        for i, shard in enumerate(shards):
            copied(i)
            for kind in RECORDED:
                for path in (shard.folder / kind).glob("[!.]*.parquet"):
                    data = untrusted.read(path, untrusted.LARGEST_PARQUET, within=shard.folder)
                    self._write(f"{kind}/{path.name}", data)
        copied(len(shards))
        first = shards[0].folder
        for pattern in ("experiment.toml", WARMUP, "scenarios/*.toml", "schemes/*.py", PLAN):
            for path in first.glob(pattern):
                most = untrusted.LARGEST_PARQUET if pattern == PLAN else LARGEST_FILE
                self._write(str(path.relative_to(first)), untrusted.read(path, most, within=first))
        self.write(ENVIRONMENT, [session for shard in shards for session in shard.sessions()])
        self.finish(results)

    def _bytes(self, path: Path) -> bytes:
        """Return the content of a file other than a table."""
        return untrusted.read(path, LARGEST_FILE, within=self.folder)

    def _decode(self, name: str, wanted: Sequence[str] = ("key",)) -> "pa.Table":
        return decode(self.folder, self.folder / name, wanted)

    def damaged(self) -> list[str]:
        """Return which of the files that a sweep writes again are there and cannot be read."""
        return [name for name in (PLAN, RUNS, TIMING, ENVIRONMENT) if not self._sound(name)]

    def check(self) -> None:
        """Raise StoreError if the final table is damaged, as the others may be then; InputError for a newer schema."""
        self._check_schema()
        if not self._sound(RUNS):
            raise StoreError(f"{self.folder / RUNS}: is damaged; continue with --resume, which writes it again")

    def _check_schema(self) -> None:
        found = [session.get("schema") for session in self.sessions()]
        if newer := [schema for schema in found if isinstance(schema, int) and schema > SCHEMA]:
            raise InputError(
                str(self.folder),
                f"was made by a newer version (store schema {max(newer)}); this one reads schemas 1 to "
                f"{SCHEMA}: update aqmlab",
            )

    def _sound(self, name: str) -> bool:
        with suppress(FileNotFoundError):
            if name.endswith(".json"):
                return _is_json(self._bytes(self.folder / name))
            try:
                self._decode(name)
            except StoreError:
                return False
        return True

    def unfinish(self) -> None:
        """Remove the final tables, which are out of date once more runs are asked for."""
        for name in (RUNS, TIMING):
            with self._writing(self.folder / name):
                (self.folder / name).unlink(missing_ok=True)

    def planned(self) -> list[dict[str, Any]]:
        """Return the runs asked for, by column."""
        return self._labels().to_pylist()  # type: ignore[no-any-return]

    def _labels(self) -> "pa.Table":
        found = self._decode(PLAN)
        for name, kind in PLANNED.items():
            if name not in found.column_names or str(found[name].type) != kind or found[name].null_count:
                raise StoreError(f"{self.folder / PLAN}: is not a file of a sweep (column {name}); move it elsewhere")
        return found

    def _finished(self, results: Mapping[str, StoredRun]) -> "tuple[pa.Table, list[StoredRun]]":
        """Return the finished runs in the order of the plan: their labels, and their results."""
        labels = self._labels()
        keys = labels["key"].to_pylist()
        if any(key not in results for key in keys):
            labels = labels.filter([key in results for key in keys])
        return labels, [results[key] for key in keys if key in results]

    def _parts(self) -> dict[str, StoredRun]:
        found: dict[str, StoredRun] = {}
        for path in self._paths():
            for row in self._part(path):
                if row.key not in found or row.state == "done":
                    found[row.key] = row
        return found

    def _part(self, path: Path) -> Iterator[StoredRun]:
        found = self._decode(f"parts/{path.name}", STORED)
        if any(str(found[name].type) != "string" for name in STORED):
            raise StoreError(f"{path}: is not a file of a sweep (a column is not text); move it elsewhere")
        return map(StoredRun, *(found[name].to_pylist() for name in STORED))

    def _paths(self) -> list[Path]:
        return sorted((self.folder / "parts").glob("[!.]*.parquet"))

    def pack(self, results: Mapping[str, StoredRun]) -> None:
        """Merge the parts into few, which are on the disk before the others are removed: no result is ever missing."""
        before = self._paths()
        if len(before) < 2:
            return
        kept = self._add_all(results)
        with self._writing(self.folder / "parts"):
            files.sync(self.folder / "parts")
            for path in before:
                if path.name not in kept:
                    path.unlink()

    def _write(self, name: str, data: bytes) -> None:
        path = self.folder / name
        if not files.is_within(self.folder, path.parent):
            raise InputError("out", f"{path.parent}: is a link that leads out of {self.folder}; expected a folder")
        with self._writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            files.write(path, data)

    @contextmanager
    def _writing(self, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            hint = "; the stored runs are intact, continue with --resume" if (self.folder / self._plan).exists() else ""
            raise StoreError(f"out: {path}: cannot be written ({error.strerror}){hint}") from error


def load_experiment(folder: str | os.PathLike[str]) -> "pd.DataFrame":
    """Return the finished runs of a sweep as a data frame, one row per run; also while it is running.

    Columns: key, scenario, link (the scenario's first), set.PATH, aqm, SCHEME.PARAMETER, engine ("sim" or "linux"),
    seed, state ("done" or "failed"), error and events. Values and parameters are texts as given, each followed by its
    number in base units, such as "pi.w (Hz)". Every metric is a column: links.NAME.METRIC, flows.NAME.METRIC,
    total.METRIC. Raises InputError for a folder without a sweep, StoreError for a file that is damaged.
    """
    store = existing(folder)
    with required():
        return store.table(store.results()).to_pandas()  # type: ignore[no-any-return]


def load_series(folder: str | os.PathLike[str], link: str | None = None) -> "pd.DataFrame":
    """Return the time series that a sweep has recorded (`series="first"` or `"all"`), of all links or one.

    Columns: key (as in `load_experiment`), link, time (s), queue (packets waiting), utilisation since the last point,
    and the schemes' observables (NaN if missing). Runs are in their order; runs without series have no row. Raises
    InputError for a folder without a sweep and an unknown link, StoreError for a file that is damaged.
    """
    return _load(folder, SERIES, link)


def load_delays(folder: str | os.PathLike[str], link: str | None = None) -> "pd.DataFrame":
    """Return the distributions of the sojourn time that a sweep has recorded, of all links or one.

    Columns: key, link, queue_delay (s, ascending), share (of the packets sent after the warm-up: that waited at most
    that long); straight lines join the points. Runs and errors as in `load_series`.
    """
    return _load(folder, DELAYS, link)


def _load(folder: str | os.PathLike[str], kind: str, link: str | None) -> "pd.DataFrame":
    import pyarrow as pa
    import pyarrow.compute as pc

    store = existing(folder)
    names = ["key", "link", *RECORDED[kind]]
    keys = [labels["key"] for labels in store.planned()]
    paths = [path for key in keys if (path := store.folder / kind / f"{key}.parquet").exists()]
    if any(not files.is_within(store.folder, path) for path in paths):  # a key may be a stranger's
        raise StoreError(f"{store.folder / PLAN}: names files outside of the folder")
    tables = [decode(store.folder, path, names, "--resume --series", untrusted.MOST_ROWS) for path in paths]
    if link is not None and tables:
        known = {name for each in tables for name in each["link"].unique().to_pylist()}
        if link not in known:
            raise unknown("link", "no link", link, known)
        tables = [each.filter(pc.equal(each["link"], link)) for each in tables]
    texts = pa.schema([(name, pa.string() if name in ("key", "link") else pa.float64()) for name in names])
    try:
        found = joined([texts.empty_table(), *tables])
    except pa.ArrowException as error:
        why = str(error).splitlines()[0]
        raise StoreError(f"{store.folder / kind}: has files that are not of a sweep ({why})") from error
    with required():
        return found.to_pandas()  # type: ignore[no-any-return]


def other(folder: Path) -> str | None:
    """Return what a folder holds that is no sweep; None if nothing is known."""
    return next((what for name, what in OTHERS.items() if os.path.exists(folder / name)), None)


def held(folder: Path) -> str:
    """Return what a folder without a sweep holds, for a message."""
    found = other(folder)
    return f"holds {found}, no sweep" if found else "holds no sweep"


def existing(folder: str | os.PathLike[str], field: str = "experiment") -> Store:
    """Return the store of a sweep. InputError about `field` for a folder without one, StoreError for a damaged file."""
    store = Store(folder)
    if not os.path.exists(store.folder / PLAN):
        raise InputError(field, f"{folder}: {held(store.folder)}; expected a results folder of aqmlab sweep")
    store.check()
    return store


def _is_run(document: Any) -> bool:
    """Return whether a document has the parts that every result of a run has."""
    found = document if isinstance(document, dict) else {}
    parts = (found.get(name) for name in ("engine", "links", "flows", "total"))
    return all(isinstance(part, dict) for part in parts) and "events" in found["engine"]


def _is_measure(name: str, value: Any) -> bool:
    """Return whether a value is a number or missing, as all measures are but a link's schemes and settling times."""
    return value is None or isinstance(value, int | float) or name.endswith((".schemes", ".settling"))


def _is_json(data: bytes) -> bool:
    try:
        untrusted.parse_json(data)
    except ValueError:
        return False
    return True


def _part_of(rows: Sequence[StoredRun]) -> "pa.Table":
    import pyarrow as pa

    return pa.table([pa.array(column, pa.string()) for column in zip(*rows, strict=True)], STORED)


def _table(labels: "pa.Table", rows: Sequence[StoredRun]) -> "tuple[pa.Table, pa.Array]":
    """Return the table of runs, and the seconds that each took, which are no result; 0 if it failed."""
    import pyarrow as pa

    try:
        found = measured([row.result for row in rows])
    except ValueError as error:
        raise InputError("run", f"a stored result is not the result of a run ({error})") from error
    wall = found.get("engine.wall", pa.nulls(len(rows), pa.float64())).fill_null(0.0)
    of_rows = {"state": pa.array([row.state for row in rows]), "error": pa.array([row.error for row in rows])}
    if "engine.events" in found:
        of_rows["events"] = found["engine.events"]
    measures = {path: column for path, column in found.items() if path.startswith(PLACES)}
    return typed({**dict(zip(labels.column_names, labels.columns, strict=True)), **of_rows, **measures}), wall


def _session(where: str) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "started": lock.time_now(),
        "aqmlab": _core.version(),
        "commit": _core.commit(),
        "source": _core.source(),
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
