"""The workers that do runs: threads of this process, a cluster that exists, or an executor given."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from ctypes import c_ulong, py_object, pythonapi
from dataclasses import dataclass
from functools import partial
from os import cpu_count
from threading import Lock, get_ident
from time import monotonic, sleep
from typing import Any

from aqmlab import _core
from aqmlab._core import Interrupted, Watch
from aqmlab.extras import required
from aqmlab.problems import InputError
from aqmlab.quantities import whole
from aqmlab.runs import MOST_AT_ONCE
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import Failure, Task, do

CONNECT = 10
"""Seconds that a scheduler and its first worker may take to answer."""


GRACE = 0.5
"""Seconds in which a run ends by itself once its watch is cancelled."""


@dataclass(frozen=True)
class Workers:
    """The executor of the runs: `submit` starts a batch, `slots` batches keep them busy, `stop` gives up what waits.

    A watch reaches the runs of this process only.
    """

    submit: "Callable[[Sequence[Task], Watch], Future[list[RunResult | Failure]]]"
    slots: int
    stop: Callable[[], None]
    where: str
    are_here: bool = False
    """They are threads of this process, and share its memory."""


@contextmanager
def workers(where: str | Executor | None = None, jobs: int | None = None) -> Iterator[Workers]:
    """Yield workers: `jobs` threads of this process (default: one a core), those at "dask://host:port", or an Executor.

    An Executor given gets `jobs` batches at a time (default: two a core), and is left open. InputError for any other
    URL and where no scheduler answers.
    """
    if jobs is not None:
        whole("jobs", jobs, 1, MOST_AT_ONCE)
    if isinstance(where, Executor):
        slots = jobs or 2 * (cpu_count() or 1)
        yield Workers(lambda batch, _: where.submit(do, batch), slots, lambda: None, type(where).__name__)
    elif where is None or where == "threads":
        running = Running()
        with ThreadPoolExecutor(jobs := jobs or cpu_count() or 1) as pool:
            stop = partial(_stop, pool, running)
            yield Workers(
                lambda batch, watch: pool.submit(running.do, batch, watch), jobs, stop, f"{jobs} threads", are_here=True
            )
    elif where.startswith("dask://"):
        with _dask(where, jobs) as found:
            yield found
    else:
        raise InputError("executor", f'{where}: unknown; expected "threads" or "dask://host:port"')


def check_here(where: str | Executor | None, field: str, value: str) -> None:
    """Raise InputError about a field if runs go elsewhere but need code that only this process has loaded."""
    if not (where in (None, "threads") or isinstance(where, ThreadPoolExecutor)):
        raise InputError(field, f"{value}: your own code runs on the threads of this process; leave out the executor")


class Running:
    """The threads that are at a batch, which alone may be interrupted."""

    def __init__(self) -> None:
        self._threads: dict[int, bool] = {}  # whether each has been interrupted
        self._lock = Lock()

    def __bool__(self) -> bool:
        return bool(self._threads)

    def do(self, batch: Sequence[Task], watch: Watch | None) -> list[RunResult | Failure]:
        """Do a batch in this thread."""
        thread = get_ident()
        with self._lock:
            self._threads[thread] = False
        try:
            return do(batch, watch)
        finally:
            with self._lock:
                if self._threads.pop(thread):
                    _await_exception(thread)

    def interrupt(self) -> None:
        """Raise an exception in each of them, between two of its steps."""
        with self._lock:
            for thread in self._threads:
                self._threads[thread] = True
                _raise_in(thread)


def _raise_in(thread: int) -> None:
    pythonapi.PyThreadState_SetAsyncExc(c_ulong(thread), py_object(Interrupted))


def _await_exception(thread: int) -> None:
    """Leave no exception pending in this thread, the present one.

    One that is only cleared leaves the interpreter looking for it at every turn of a loop.
    """
    with suppress(Interrupted):
        _raise_in(thread)
        while True:
            sleep(1e-4)


def _stop(pool: ThreadPoolExecutor, running: Running) -> None:
    """Give up what waits, and end the runs whose watch was cancelled.

    The engine looks at the watch, but not while a user's scheme is at work: there an exception is raised, again and
    again should the scheme catch it.
    """
    pool.shutdown(wait=False, cancel_futures=True)
    until = monotonic() + GRACE
    while running:
        sleep(0.01)
        if monotonic() > until:
            running.interrupt()
            until += GRACE


@contextmanager
def _dask(url: str, jobs: int | None) -> Iterator[Workers]:
    with required():
        from distributed import Client
    try:
        client: Any = Client(f"tcp://{url.removeprefix('dask://')}", timeout=CONNECT, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError("executor", f"{url}: no Dask scheduler answers there ({error})") from error
    with client:
        threads = _check_versions(client, url)
        pool: Executor = client.get_executor()
        yield Workers(
            lambda batch, _: pool.submit(do, batch),
            jobs or 2 * threads,  # one more each, so that no worker waits for the next
            partial(pool.shutdown, wait=False),
            f"{url}, {threads} threads",
        )


def _check_versions(client: Any, url: str) -> int:
    """Return the number of the workers' threads; InputError unless each worker has this version."""
    try:
        client.wait_for_workers(1, timeout=CONNECT)
    except TimeoutError as error:
        raise InputError("executor", f"{url}: the scheduler has no worker") from error
    for worker, version in client.run(_version).items():
        if version != _version():
            raise InputError(
                "executor", f"{url}: worker {worker} has aqmlab {version}, this is {_version()}; use one version"
            )
    return int(sum(client.nthreads().values()))


def _version() -> str:
    return f"{_core.version()} (sources {_core.source()})"
