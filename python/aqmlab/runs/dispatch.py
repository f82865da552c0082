"""Jobs on workers: in batches, each handed on as soon as it is done."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from math import ceil

from aqmlab.runs import executors
from aqmlab.runs.batch import LOOK_EVERY, Progress
from aqmlab.runs.executors import Done, Job, Workers
from aqmlab.runs.experiments import RunError

BATCH = 0.5
"""Seconds of simulation in a batch, about: what a crash may cost each worker, and long beside what a file costs."""
LONGEST_BATCH = 100

LOST = "executor: no longer answers; what is stored is intact, go on with --resume"


def do_all(jobs: Sequence[Job], workers: Workers, take: Callable[[list[Done]], None], progress: Progress) -> None:
    """Do the jobs, and give each batch to `take` as soon as it is done; RunError if the executor is lost."""
    waiting, done, size = deque(jobs), 0, 1
    pending: dict[Future[list[Done]], list[Job]] = {}
    try:
        while waiting or pending:
            while waiting and len(pending) < workers.slots:
                batch = [waiting.popleft() for _ in range(min(size, len(waiting)))]
                pending[_submit(workers, batch)] = batch
            for future in wait(pending, timeout=LOOK_EVERY, return_when=FIRST_COMPLETED).done:
                outcomes = _outcomes(future, pending.pop(future))
                take(outcomes)
                done += len(outcomes)
                seconds = sum(outcome.row.wall for outcome in outcomes) / len(outcomes)
                fair = ceil(len(waiting) / workers.slots)  # the last batches end together
                size = max(1, min(LONGEST_BATCH, fair, round(BATCH / seconds) if seconds else 2 * size))
            progress(done, len(jobs))
    except BaseException:
        for future in pending:
            future.cancel()
        workers.stop()
        raise


def _submit(workers: Workers, batch: Sequence[Job]) -> "Future[list[Done]]":
    try:
        return workers.submit(batch)
    except BrokenExecutor as error:
        raise RunError(LOST) from error


def _outcomes(future: "Future[list[Done]]", batch: Sequence[Job]) -> list[Done]:
    """What a batch yielded; each of its runs has failed if its worker is lost for good. RunError if all are lost."""
    if future.cancelled():
        raise RunError(LOST)
    error = future.exception()
    if error is None:
        return list(future.result())
    if isinstance(error, BrokenExecutor):
        raise RunError(LOST) from error
    if not isinstance(error, Exception):
        raise error
    return [executors.failed(job.key, error) for job in batch]
