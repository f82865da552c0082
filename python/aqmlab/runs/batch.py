"""A batch of runs on all cores: ordered, interruptible, and no failure loses another run."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from aqmlab import _core
from aqmlab._core import InputError, Scenario, Watch
from aqmlab.runs.results import RunResult

Progress = Callable[[float, int], None]
"""Called now and then with the number of runs done, parts of runs included, and of all runs."""

LOOK_EVERY = 0.2
"""Seconds between looks at how far the runs have come."""


@dataclass(frozen=True)
class Task:
    """One run to do."""

    scenario: Scenario
    aqm: str | None
    seed: int
    series: bool = False
    trace: str | None = None
    """Name of the link whose packets are traced."""


@dataclass(frozen=True)
class Failure:
    """A run that failed, and why."""

    task: Task
    error: BaseException

    @property
    def reason(self) -> str:
        """What went wrong, in words."""
        return str(self.error) or type(self.error).__name__

    def __str__(self) -> str:
        return f"{self.task.scenario.name}, {self.task.aqm}, seed {self.task.seed}: {self.reason}"


def run_many(
    tasks: Sequence[Task], jobs: int | None = None, on_progress: Progress | None = None
) -> list[RunResult | Failure]:
    """Do all tasks, `jobs` at a time, and return their outcomes in the order of the tasks.

    Interrupted (Ctrl-C), it stops the running simulations, waits for them and raises KeyboardInterrupt.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs: {jobs}: at least one run at a time")
    watches = [Watch() for _ in tasks]
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        try:
            futures = [pool.submit(_simulate, task, watch) for task, watch in zip(tasks, watches, strict=True)]
            while wait(futures, timeout=LOOK_EVERY).not_done:
                if on_progress:
                    on_progress(_done(tasks, watches, futures), len(tasks))
            if on_progress:
                on_progress(len(tasks), len(tasks))
        except BaseException:
            for watch in watches:
                watch.cancel()
            pool.shutdown(cancel_futures=True)
            raise
    return [_outcome(task, future) for task, future in zip(tasks, futures, strict=True)]


def _done(tasks: Sequence[Task], watches: Sequence[Watch], futures: "Sequence[Future[RunResult]]") -> float:
    """How many runs are done, counting the simulated part of those under way."""
    return sum(
        1.0 if future.done() else watch.now / task.scenario.duration
        for task, watch, future in zip(tasks, watches, futures, strict=True)
    )


def _simulate(task: Task, watch: Watch) -> RunResult:
    return RunResult.of(_core.run(task.scenario, task.aqm, task.seed, task.series, watch, task.trace))


def _outcome(task: Task, future: "Future[RunResult]") -> RunResult | Failure:
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, InputError):
        raise error
    return Failure(task, error)
