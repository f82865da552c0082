"""The one way to do a list of runs: ordered, interruptible, with progress, and no failure affects another run."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass, field
from math import ceil
from time import perf_counter

from aqmlab._core import Watch
from aqmlab.problems import InputError
from aqmlab.runs import memory
from aqmlab.runs import workers as places
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import Failure, RunError, Task
from aqmlab.runs.workers import Workers

Outcome = RunResult | Failure

Progress = Callable[[float, int], None]
"""Called now and then with the number of runs done, parts of runs included, and of all runs."""

Take = Callable[[Sequence[tuple[int, Outcome]]], None]
"""Receives the runs of a batch as soon as they are done: the position of each task, and its outcome."""

LOOK_EVERY = 0.2
"""Seconds between checks of how far the runs have come."""

BATCH = 0.5
"""About how many seconds of simulation are in a batch: little to lose in a crash, much compared with writing a file."""
LONGEST_BATCH = 500

LOST = "executor: no longer answers; the stored runs are intact, continue with --resume"


def run_many(tasks: Sequence[Task], jobs: int | None = None, on_progress: Progress | None = None) -> list[Outcome]:
    """Do all tasks in threads of this process, `jobs` at a time, and return their outcomes in the order of the tasks.

    Interrupted (Ctrl-C), it stops the running simulations, waits for them and raises KeyboardInterrupt. InputError if
    a task cannot be used.
    """
    found: dict[int, Outcome] = {}
    with places.workers(None, jobs) as pool:
        do_all(tasks, pool, found.update, on_progress)
    for outcome in found.values():
        if isinstance(outcome, Failure) and isinstance(outcome.error, InputError):
            raise outcome.error
    return [found[i] for i in range(len(tasks))]


@dataclass(frozen=True)
class _Batch:
    """Tasks under way together, the first at position `at`."""

    at: int
    tasks: Sequence[Task]
    watch: Watch
    started: float = field(default_factory=perf_counter)

    @property
    def part(self) -> float:
        """The share of a run alone in its batch that has been simulated; 0 in larger batches, where it is unknown."""
        return self.watch.now / self.tasks[0].scenario.duration if len(self.tasks) == 1 else 0.0


def do_all(tasks: Sequence[Task], workers: Workers, take: Take, progress: Progress | None = None) -> None:
    """Do the tasks in batches, and give each to `take` as soon as it is done.

    RunError if the workers are lost, InputError if a run takes more memory than there is for all (`runs.memory`).
    """
    waiting, done, size = deque(range(len(tasks))), 0, 1
    slots = memory.slots(tasks, workers.slots) if workers.are_here else workers.slots
    threads = slots * max((task.threads for task in tasks), default=1)
    pending: dict[Future[list[Outcome]], _Batch] = {}
    under_way: dict[int, _Batch] = {}  # noted before it is submitted, for an interrupt may come in between
    ended: list[tuple[int, Outcome]] = []
    try:
        while waiting or pending or ended:
            while waiting and len(pending) < slots:
                at = waiting[0]
                watch = memory.watch(threads) if workers.are_here else Watch()
                batch = _Batch(at, [tasks[waiting.popleft()] for _ in range(min(size, len(waiting)))], watch)
                under_way[at] = batch
                pending[_submit(workers, batch)] = batch
            if ended:
                take(ended)  # once the workers are busy again
                ended = []
            for future in wait(pending, timeout=LOOK_EVERY, return_when=FIRST_COMPLETED).done:
                batch = pending.pop(future)
                del under_way[batch.at]
                outcomes = _outcomes(future, batch.tasks)
                ended += enumerate(outcomes, batch.at)
                done += len(outcomes)
                seconds = (perf_counter() - batch.started) / len(outcomes)
                fair = ceil(len(waiting) / slots)  # the last batches end together
                size = max(1, min(LONGEST_BATCH, fair, round(BATCH / seconds)))
            if progress:
                progress(done + sum(batch.part for batch in pending.values()), len(tasks))
    except BaseException:
        for batch in under_way.values():
            batch.watch.cancel()
        for future in pending:
            future.cancel()
        workers.stop()
        raise


def _submit(workers: Workers, batch: _Batch) -> "Future[list[Outcome]]":
    try:
        return workers.submit(batch.tasks, batch.watch)
    except BrokenExecutor as error:
        raise RunError(LOST) from error


def _outcomes(future: "Future[list[Outcome]]", batch: Sequence[Task]) -> list[Outcome]:
    """The outcomes of a batch; each of its runs has failed if its worker is lost for good. RunError if all are lost."""
    if future.cancelled():
        raise RunError(LOST)
    error = future.exception()
    if error is None:
        return list(future.result())
    if isinstance(error, BrokenExecutor):
        raise RunError(LOST) from error
    if not isinstance(error, Exception):
        raise error
    return [Failure.of(task, error) for task in batch]
