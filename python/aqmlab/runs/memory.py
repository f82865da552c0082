"""The memory that the runs of this process may take together: estimated before, and watched while they run."""

import os
import warnings
from collections.abc import Sequence
from pathlib import Path

from aqmlab._core import Watch, quantity
from aqmlab.problems import InputError
from aqmlab.runs.task import SIM, Task

WARNING = 4e9
"""Bytes from which runs are announced by their memory."""
CGROUP = Path("/sys/fs/cgroup/memory.max")
"""The bound of a container."""


class MemoryNotice(UserWarning):
    """Runs take much memory."""


class _Set:
    limit: float | None = None


def limit() -> float:
    """Return the bytes that all runs may take: the set limit, or half of the machine's or container's memory."""
    return _Set.limit or _whole() / 2


def set_limit(text: str | None) -> None:
    """Set that limit for this process, such as "8 GB"; None is the usual one. InputError for anything but a size."""
    read = None if text is None else quantity(text)
    if text is not None and (read is None or read[1] != "B" or not read[0] >= 1):
        raise InputError("memory", f'"{text}": expected a size such as "8 GB"')
    _Set.limit = read and read[0]


def needed(tasks: Sequence[Task]) -> float:
    """Return the bytes that the largest of some runs takes at its start, as estimated."""
    sims = {(id(task.scenario), task.aqm, task.series): task for task in tasks if task.engine == SIM}
    return max(map(_at_start, sims.values()), default=0.0)


def _at_start(task: Task) -> float:
    try:
        return task.scenario.memory(task.aqm, task.series)
    except InputError:  # a scheme in a file, which who does the run reads
        return task.scenario.memory(None, task.series)


def slots(tasks: Sequence[Task], jobs: int) -> int:
    """Return how many of some runs may run at once, at most `jobs`. InputError if one is too large by itself."""
    most, need = limit(), needed(tasks)
    if need > most:
        raise InputError(
            "memory",
            f"a run would take about {need / 1e9:.2g} GB at its start, more than the {most / 1e9:.2g} GB that runs "
            "may take; make the scenario smaller, or give --memory",
        )
    fitting = max(1, min(jobs, len(tasks), int(most / need))) if need else jobs
    if need * fitting > WARNING:
        runs = "a run takes" if fitting == 1 else f"{fitting} runs at once take"
        warnings.warn(f"{runs} about {need * fitting / 1e9:.2g} GB at the start", MemoryNotice, stacklevel=2)
    return fitting


def watch(threads: int) -> Watch:
    """Return the watch of a run, which ends it when the runs of so many threads hold more than the limit together."""
    return Watch(limit(), 0.5 / threads)


def _whole() -> float:
    try:
        whole = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # not on Windows
        return 16e9
    try:
        return min(whole, float(CGROUP.read_text(encoding="ascii")))
    except (OSError, ValueError):  # no container, or "max"
        return whole
