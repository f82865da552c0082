"""Where the runs of a sweep are done: in threads of this process, on a cluster that exists, or on an executor given."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from os import cpu_count
from typing import Any

from aqmlab import _core, own
from aqmlab._core import InputError, Interrupted, Scenario, Watch
from aqmlab.runs.store import Record, Row

CONNECT = 10
"""Seconds that a scheduler and its first worker may take to answer."""


@dataclass(frozen=True)
class Job:
    """One run as it is sent to a worker: plain texts, so that it can travel."""

    key: str
    name: str
    text: str
    overrides: tuple[tuple[str, str], ...]
    aqm: str
    seed: int
    series: bool = False
    """Whether time series are wanted."""


@dataclass(frozen=True)
class Done:
    """What a run yielded: its row, and its series if they were wanted and it has not failed."""

    row: Row
    record: Record | None = None


@dataclass(frozen=True)
class Workers:
    """An executor: `submit` starts a batch, `slots` batches keep it busy, `stop` gives up what is under way."""

    submit: "Callable[[Sequence[Job]], Future[list[Done]]]"
    slots: int
    stop: Callable[[], None]
    where: str


@contextmanager
def executor(where: str | Executor | None = None, jobs: int | None = None) -> Iterator[Workers]:
    """Yield workers: `jobs` threads of this process (default: one a core), those at "dask://host:port", or an Executor.

    An Executor given gets `jobs` batches at a time (default: two a core), and is left open. InputError for any other
    URL and where no scheduler answers.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs: {jobs}: at least one run at a time")
    if isinstance(where, Executor):
        slots = jobs or 2 * (cpu_count() or 1)
        yield Workers(lambda batch: where.submit(do, batch), slots, lambda: None, type(where).__name__)
    elif where is None or where == "threads":
        with _threads(jobs or cpu_count() or 1) as workers:
            yield workers
    elif where.startswith("dask://"):
        with _dask(where, jobs) as workers:
            yield workers
    else:
        raise InputError(f'executor: {where}: unknown; expected "threads" or "dask://host:port"')


@contextmanager
def _threads(jobs: int) -> Iterator[Workers]:
    watch = Watch()
    with ThreadPoolExecutor(jobs) as pool:

        def stop() -> None:
            watch.cancel()
            pool.shutdown(cancel_futures=True)

        yield Workers(partial(pool.submit, partial(do, watch=watch)), jobs, stop, f"{jobs} threads")


@contextmanager
def _dask(url: str, jobs: int | None) -> Iterator[Workers]:
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(f"executor: {url}: needs the extra: pip install 'aqmlab[dask]'") from error
    try:
        client: Any = Client(f"tcp://{url.removeprefix('dask://')}", timeout=CONNECT, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(f"executor: {url}: no Dask scheduler answers there ({error})") from error
    with client:
        threads = _check_versions(client, url)
        pool: Executor = client.get_executor()
        yield Workers(
            lambda batch: pool.submit(do, batch),
            jobs or 2 * threads,  # one more each, so that no worker waits for the next
            partial(pool.shutdown, wait=False),
            f"{url}, {threads} threads",
        )


def _check_versions(client: Any, url: str) -> int:
    """Return the number of the workers' threads; InputError unless each worker has this version."""
    import asyncio

    try:
        client.wait_for_workers(1, timeout=CONNECT)
    except asyncio.TimeoutError as error:  # another than TimeoutError in Python 3.10
        raise InputError(f"executor: {url}: the scheduler has no worker") from error
    for worker, version in client.run(_version).items():
        if version != _version():
            raise InputError(
                f"executor: {url}: worker {worker} has aqmlab {version}, this is {_version()}; use one version"
            )
    return int(sum(client.nthreads().values()))


def _version() -> str:
    return f"{_core.version()} (sources {_core.source()})"


def do(jobs: Sequence[Job], watch: Watch | None = None) -> list[Done]:
    """Do a batch of runs and return what each yielded; one that fails says why and loses no other."""
    return [_do(job, watch) for job in jobs]


def _do(job: Job, watch: Watch | None) -> Done:
    try:
        scheme = own.spec(job.aqm)
        world = _world(job.text, job.name, job.overrides)
        run = _core.run(world, scheme, job.seed, job.series, watch)
    except (Interrupted, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the engine is no Exception
        return failed(job.key, error)
    return Done(Row(job.key, "done", None, run.json()), Record(run.series(), run.delays()) if job.series else None)


def failed(key: str, error: BaseException) -> Done:
    """Return what a run that failed yielded; a panic of the engine is called by its name."""
    kind, text = type(error).__name__, str(error)
    why = text if text and isinstance(error, Exception) else f"{kind}: {text}".removesuffix(": ")
    return Done(Row(key, "failed", why, None))


@lru_cache(maxsize=16)
def _world(text: str, name: str, overrides: tuple[tuple[str, str], ...]) -> Scenario:
    return Scenario.parse(text, name, list(overrides))
