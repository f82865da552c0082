"""One run to do, and how it may fail; both can travel to another process."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from aqmlab import _core, control, own
from aqmlab._core import Interrupted, Scenario, SchemeError, Watch
from aqmlab.problems import InputError
from aqmlab.runs import quic
from aqmlab.runs.results import RunResult

SIM, LINUX = "sim", "linux"
ENGINES = (SIM, LINUX)
"""The simulator, and a real Linux in virtual time (`aqmlab kernel build`).

"linux" runs on the newest kernel, "linux:KERNEL" on another one (`kernel.images.chosen`).
"""


def is_linux(engine: str) -> bool:
    """Return whether an engine is a Linux, on any kernel."""
    return engine.partition(":")[0] == LINUX


def kernel_of(engine: str) -> str | None:
    """Return the kernel that an engine names: "linux:7.3.4" names 7.3.4, "linux" none."""
    return engine.partition(":")[2] or None


class RunError(RuntimeError):
    """A run that started and failed; the input was good."""


class Sender(Protocol):
    """A program that sends over a scenario's link, instead of its flows (`runs.program`)."""

    def run(self, scenario: Scenario, aqm: str | None, seed: int, watch: Watch | None = None, /) -> RunResult:
        """Run it, and return what was measured."""


@dataclass(frozen=True)
class Task:
    """One run to do. `aqm` is written as `own.spec` reads it, which a worker does for itself."""

    scenario: Scenario
    aqm: str | None
    seed: int
    series: bool = False
    trace: str | None = None
    """Name of the link whose packets are traced."""
    threads: int = 1
    """How many may simulate it at once; the result does not depend on them."""
    engine: str = SIM
    """Name of the engine, one of `ENGINES`, or "linux:KERNEL"."""
    most_events: int | None = None
    """Events after which the simulator gives it up; None for no bound."""
    program: Sender | None = None


@dataclass(frozen=True)
class Failure:
    """A run that failed, and why: InputError, SchemeError, or RunError for any other reason."""

    task: Task
    error: Exception

    @classmethod
    def of(cls, task: Task, error: BaseException) -> "Failure":
        """Return the failure of a task; a panic of the engine is called by its name."""
        if isinstance(error, InputError | SchemeError):
            return cls(task, error)
        kind, text = type(error).__name__, str(error)
        why = text if text and isinstance(error, Exception) else f"{kind}: {text}".removesuffix(": ")
        return cls(task, RunError(why))

    @property
    def reason(self) -> str:
        """The error, in words."""
        return str(self.error)

    def __str__(self) -> str:
        return f"{self.task.scenario.name}, {self.task.aqm}, seed {self.task.seed}: {self.reason}"


def do(tasks: Sequence[Task], watch: Watch | None = None) -> list[RunResult | Failure]:
    """Do a batch of runs and return what each yielded; a run that fails says why and affects no other."""
    return [_do(task, watch) for task in tasks]


def _do(task: Task, watch: Watch | None) -> RunResult | Failure:
    try:
        scheme = None if task.aqm is None else own.spec(task.aqm)
        if task.program:
            return task.program.run(task.scenario, scheme, task.seed, watch)
        if is_linux(task.engine):
            from aqmlab.runs import linux

            kernel = kernel_of(task.engine)
            return linux.run(
                task.scenario, scheme, task.seed, kernel=kernel, series=task.series, trace=task.trace, watch=watch
            )
        if quic.groups(task.scenario):
            return quic.run(task.scenario, scheme, task.seed, series=task.series, trace=task.trace, watch=watch)
        if task.scenario.controllers:
            run = control.run(task.scenario, scheme, task.seed, series=task.series, trace=task.trace, watch=watch)
            return RunResult.of(run)
        run = _core.run(
            task.scenario, scheme, task.seed, task.series, watch, task.trace, task.threads, task.most_events
        )
        return RunResult.of(run)
    except (Interrupted, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the engine is no Exception
        return Failure.of(task, error)
