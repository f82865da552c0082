"""The thread of a session: it steps while something plays, and does what is handed over between two steps."""

import json
import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from aqmlab._core import StudioSession
from aqmlab.runs.task import RunError
from aqmlab.studio import check
from aqmlab.studio.turns import TURNS, in_turn

T = TypeVar("T")
Output = tuple[str, Any]
"""A kind ("frame", "message", "table" or "export"), and bytes, a text or a `StudioExport`."""

LOG = logging.getLogger(__name__)
LONGEST_WAIT = 60.0
"""Maximum seconds between steps, because a slow speed may ask a clock to wait too long."""
AT_ONCE = 3.0
"""Seconds of rest that answers and steps may owe: a page opens, plays, changes and steps without a pause between."""


class Player(threading.Thread):
    """The thread of a session. `tell` gets the outputs, in order."""

    def __init__(self, session: StudioSession, tell: Callable[[list[Output]], None]) -> None:
        super().__init__(name="player", daemon=True)
        self._session, self._tell = session, tell
        self._acts: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._next_act = self._next_step = 0.0
        self._due: tuple[float | None, bool] = None, False
        self._closed = threading.Event()

    def do(self, act: Callable[[], T]) -> "Future[T]":
        """Have something done between two steps."""
        found: Future[T] = Future()

        def run() -> None:
            if found.set_running_or_notify_cancel():  # the client is there
                found.set_result(act())

        self._acts.put(run)
        return found

    def answer(self, text: str) -> "Future[None]":
        """Have a request answered."""
        return self.do(lambda: self._try(lambda: in_turn(text, lambda: self._handle(text)), text))

    def close(self, then: Callable[[], object]) -> None:
        """End the thread after the step it is in, let go of the lanes, and do one thing more."""
        self._closed.set()
        self._acts.put(self._session.close)
        self._acts.put(then)
        self._acts.put(None)

    def run(self) -> None:
        """Step while something is played, and do what is handed over."""
        while True:
            self._closed.wait(max(0.0, self._next_act - AT_ONCE - time.monotonic()))
            try:
                act = self._acts.get(timeout=self._pause())
            except queue.Empty:
                rest = self._work(lambda: self._try(self._step))
                self._next_step = max(self._next_step, time.monotonic()) + rest
                continue
            if act is None:
                TURNS.leave(self)
                return
            rest = self._work(act)
            self._next_act = max(self._next_act, time.monotonic()) + rest

    def _work(self, act: Callable[[], object]) -> float:
        """Do something; return how long to rest before the like is done again, s."""
        began = time.monotonic()
        TURNS.begin(self)
        act()
        self._due = self._session.due(time.monotonic())
        return TURNS.rest(self, time.monotonic() - began)

    def _pause(self) -> float | None:
        """Return how long nothing is to be stepped, s; None for as long as nobody asks."""
        due, is_awaited = self._due
        if due is None:
            return None
        owed = self._next_step - AT_ONCE * is_awaited  # somebody waits for the end of a step
        return min(max(0.0, max(due, owed) - time.monotonic()), LONGEST_WAIT)

    def _handle(self, text: str) -> list[Output]:
        return self._session.handle(text, time.monotonic())

    def _step(self) -> list[Output]:
        return self._session.step(time.monotonic())

    def _try(self, act: Callable[[], list[Output]], text: str = '{"type": "play"}') -> None:
        """Pass on the outputs of a step or an answer; after a fault the session continues without its lanes."""
        try:
            outputs = act()
        except BaseException as error:  # also a panic, which is not an Exception
            self._session.close()
            outputs = [("message", fault(error, **json.loads(text)))]
        self._tell(outputs)


def fault(error: BaseException, /, *, type: str, id: object = None, **_: object) -> str:
    """Return the message on an error that nobody expects, in answer to a request."""
    LOG.error("%s", type, exc_info=error)
    why = f"a bug in aqmlab: {error.__class__.__name__}: {error}; please report it"
    return check.message(RunError(f"{type}: {why}"), id)
