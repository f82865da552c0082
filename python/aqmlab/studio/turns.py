"""The machine among sessions and requests: none waits for the thread of another, what is large is done in turn."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import inf
from os import cpu_count
from typing import TypeVar

from aqmlab.studio.gate import REQUESTS, SOCKETS

T = TypeVar("T")

SWITCH = 5e-4
"""Seconds after which a thread lets another have the interpreter, if one waits; the usual 5 ms add up over sessions."""
THREADS = ThreadPoolExecutor(REQUESTS + SOCKETS, thread_name_prefix="studio")
"""One for each request, and one for the export of each session."""
LARGE_TEXTS = ThreadPoolExecutor(1, thread_name_prefix="reader")
"""Reads one large text after the other, which leaves the other cores to the others."""

LARGE_TEXT = 1 << 16
"""Characters of a text that is read at once; larger ones are read one after the other."""
MOST_RUNS = 2
RUNS = threading.BoundedSemaphore(MOST_RUNS)
"""Held by each export that runs a scenario again."""


class Turns:
    """Turns of workers that rest after their work: on average as many work at once as there are cores."""

    def __init__(self, cores: int) -> None:
        self._cores = cores
        self._until: dict[object, float] = {}

    def begin(self, worker: object) -> None:
        """Begin to work."""
        self._until[worker] = inf

    def rest(self, worker: object, worked: float) -> float:
        """Return how long to rest after work (s), for which the worker counts as one who would work."""
        now = time.monotonic()
        count = sum(until > now for until in list(self._until.values()))
        span = worked * max(0.0, count / self._cores - 1)
        self._until[worker] = now + span
        return span

    def leave(self, worker: object) -> None:
        """Count no longer."""
        self._until.pop(worker, None)


TURNS = Turns(cpu_count() or 1)
"""The turns of the players of this process."""


async def apart(act: Callable[[], T]) -> T:
    """Do something in a separate thread."""
    return await asyncio.get_running_loop().run_in_executor(THREADS, act)


def in_turn(text: str, act: Callable[[], T]) -> T:
    """Do something with a text; return what comes of it."""
    return LARGE_TEXTS.submit(act).result() if len(text) > LARGE_TEXT else act()
