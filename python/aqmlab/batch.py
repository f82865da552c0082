"""A batch of runs on all cores: ordered, interruptible, and no failure loses another run."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from aqmlab import _core
from aqmlab._core import Cancel, InputError, Scenario
from aqmlab.results import RunResult

Progress = Callable[[int, int], None]
"""Called after each run with the number of runs done and of all runs."""


@dataclass(frozen=True)
class Task:
    """One run to do."""

    scenario: Scenario
    aqm: str | None
    seed: int
    series: bool = False


@dataclass(frozen=True)
class Failure:
    """A run that failed, and why."""

    task: Task
    reason: str

    def __str__(self) -> str:
        return f"{self.task.scenario.name}, {self.task.aqm}, seed {self.task.seed}: {self.reason}"


def run_many(
    tasks: Sequence[Task], jobs: int | None = None, on_done: Progress | None = None
) -> list[RunResult | Failure]:
    """Do all tasks, `jobs` at a time, and return their outcomes in the order of the tasks.

    Interrupted (Ctrl-C), it stops the running simulations, waits for them and raises KeyboardInterrupt.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs: {jobs}: at least one run at a time")
    cancel = Cancel()
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        try:
            futures = [pool.submit(_simulate, task, cancel) for task in tasks]
            for done, _ in enumerate(as_completed(futures), start=1):
                if on_done:
                    on_done(done, len(tasks))
        except BaseException:
            cancel.cancel()
            pool.shutdown(cancel_futures=True)
            raise
    return [_outcome(task, future) for task, future in zip(tasks, futures, strict=True)]


def _simulate(task: Task, cancel: Cancel) -> RunResult:
    return RunResult.of(_core.run(task.scenario, task.aqm, task.seed, task.series, cancel))


def _outcome(task: Task, future: "Future[RunResult]") -> RunResult | Failure:
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, InputError):
        raise error
    return Failure(task, str(error) or type(error).__name__)
