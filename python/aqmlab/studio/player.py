"""Plays lanes in a thread of their own: at the requested speed, with immediate changes, and output as frames."""

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from aqmlab._core import SchemeError
from aqmlab.problems import InputError
from aqmlab.studio import export
from aqmlab.studio.frames import Frames
from aqmlab.studio.lanes import Lanes
from aqmlab.studio.turns import TURNS

T = TypeVar("T")
Message = dict[str, Any]

SLICE = 0.03
"""About how many seconds the lanes step before the player listens again."""
CONTENT_EVERY = 1 / 30
"""Seconds between looks at what waits in the queues."""
TABLE_EVERY = 0.5
"""Seconds between tables of measures, at least."""
SPEED_OVER = 0.3
"""Seconds over which the speed is measured."""
LONGEST_WAIT = 60.0
"""Maximum seconds between steps, because a slow speed may ask a clock to wait too long."""
AT_ONCE = 3.0
"""Seconds of rest that answers and steps may owe: a page opens, plays, changes and steps without a pause between."""
SHARE_OF_TABLES = 0.02
"""Share of the time that tables may take."""


class Player(threading.Thread):
    """The clock of a session. Whatever touches the lanes happens in this thread: `do` hands it over.

    `tell` gets the messages that nobody asked for: `state`, `table`, `done`, `problem`.
    """

    def __init__(self, tell: Callable[[Message], None]) -> None:
        super().__init__(name="player", daemon=True)
        self.frames = Frames()
        self.lanes: Lanes | None = None
        self.epoch = 0
        self.speed: float | None = None
        """Simulated seconds a second; None for as fast as it goes."""
        self._tell = tell
        self._acts: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._playing = False
        self._until = 0.0
        self._answer: object = None
        self._anchor = self._mark = (0.0, 0.0)
        self._columns = 0
        self._slice = 1e-3
        self._measured = 0.0
        self._next_content = self._next_table = 0.0
        self._next_act = self._next_step = 0.0
        self._closed = threading.Event()

    def do(self, act: Callable[[], T]) -> "Future[T]":
        """Have something done between two steps."""
        found: Future[T] = Future()

        def run() -> None:
            if not found.set_running_or_notify_cancel():
                return  # the client has gone
            try:
                answer = act()
            except BaseException as error:  # the caller gets it, also a panic, which is not an Exception
                found.set_exception(error if isinstance(error, Exception) else RuntimeError(str(error)))
            else:
                found.set_result(answer)

        self._acts.put(run)
        return found

    def close(self, then: Callable[[], object]) -> None:
        """End the thread after the step it is in, let go of the lanes, and do one thing more."""

        def end() -> None:
            self._playing, self.lanes = False, None
            then()

        self._closed.set()
        self._acts.put(end)
        self._acts.put(None)

    def run(self) -> None:
        """Step while something is played, and do what is handed over."""
        while True:
            self._closed.wait(max(0.0, self._next_act - AT_ONCE - time.monotonic()))
            try:
                act = self._acts.get(timeout=self._pause())
            except queue.Empty:
                rest = self._work(self._try_step)
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
        return TURNS.rest(self, time.monotonic() - began)

    def open(self, lanes: Lanes) -> None:
        """Take these lanes, paused."""
        self.lanes, self._playing, self._answer = lanes, False, None
        lanes.note()
        self._slice = 1e-3
        self._renew(goes_on=False)

    def play(self, until: float | None = None, answer: object = None) -> None:
        """Play on, up to `until`; the state at its end answers the message with the id `answer`."""
        lanes = self._open()
        self._until = lanes.end if until is None else min(until, lanes.end)
        self._answer = answer
        self._playing = lanes.now < self._until
        self.anchor()
        if not self._playing:
            self._arrive()

    def pause(self) -> None:
        """Stop here."""
        self._playing = False
        self._show()

    def anchor(self) -> None:
        """Let real time count from here."""
        self._anchor = self._mark = (time.monotonic(), self._open().now)

    def changed(self) -> None:
        """The lanes were changed by hand: columns may change, samples continue."""
        if self._columns != len(self._open().columns()):
            self._renew(goes_on=True)
        else:
            self._show()

    def state(self) -> Message:
        """Return where it is."""
        lanes = self._open()
        return {
            "type": "state",
            "playing": self._playing,
            "speed": self.speed,
            "now": lanes.now,
            "ended": lanes.now >= lanes.end,
        }

    def _open(self) -> Lanes:
        if self.lanes is None:
            raise InputError("open", "nothing is open; send open first")
        return self.lanes

    def _renew(self, *, goes_on: bool) -> None:
        """Begin another epoch: of another run, or of the same one with other columns."""
        self.epoch += 1
        self._columns = len(self._open().columns())
        self.frames.restart(self.epoch, self._open().now, goes_on=goes_on)
        self._show()

    def _pause(self) -> float | None:
        """Return how long nothing is to be stepped, s; None for as long as nobody asks."""
        if not self._playing:
            return None
        began, at = self._anchor
        due = began + (self._next_sample() - at) / self.speed if self.speed else began
        owed = self._next_step - (0.0 if self._answer is None else AT_ONCE)  # somebody waits for the end of a step
        return min(max(0.0, max(due, owed) - time.monotonic()), LONGEST_WAIT)

    def _next_sample(self) -> float:
        """The simulated time of the next sample."""
        lanes = self._open()
        return min(lanes.now + lanes.sample, self._until)

    def _goal(self, now: float) -> float:
        """Return how far to step at once: about a slice of real time, and no further than the clock is."""
        goal = min(now + self._slice, self._until)
        if self.speed is not None:
            began, at = self._anchor
            goal = min(goal, max(at + self.speed * (time.monotonic() - began), now))
        return goal

    def _try_step(self) -> None:
        try:
            self._step()
        except BaseException as error:  # a scheme may break down in any way; the session goes on
            self._playing = False
            if not isinstance(error, InputError | SchemeError) and self.lanes is not None:
                self.lanes.share.lanes, self.lanes = 0, None  # ended in a step: of no further use
            self._tell({"type": "problem", "error": error})

    def _step(self) -> None:
        lanes = self._open()
        before, began = lanes.now, time.monotonic()
        goal = self._goal(before)
        with lanes.share.room():
            rows = lanes.advance(goal)
        lanes.note()
        if goal > before:
            took = max(time.monotonic() - began, 1e-6)
            self._slice = min(max(SLICE * (goal - before) / took, 1e-6), 4 * self._slice)
        self.frames.add(rows, lanes.now, self._speed_now(lanes.now))
        self._look(lanes)
        if goal >= self._until:  # `now` is a whole number of picoseconds, which may be less
            self._arrive()

    def _speed_now(self, now: float) -> float:
        """Return the recent speed, in simulated seconds per second."""
        began, at = self._mark
        passed = time.monotonic() - began
        if passed >= SPEED_OVER:
            self._measured, self._mark = (now - at) / passed, (time.monotonic(), now)
        return self._measured

    def _arrive(self) -> None:
        """Be where one wanted to be: at the end of the scenario, or paused before."""
        lanes = self._open()
        self._playing = False
        self._show()
        self._tell(self.state() | ({} if self._answer is None else {"id": self._answer}))
        self._answer = None
        if lanes.now >= lanes.end:
            lanes.finish()
            self._tell({"type": "done", "now": lanes.now, "lanes": export.outcome(lanes)})

    def _look(self, lanes: Lanes) -> None:
        """Show what waits and what was measured, as often as is worthwhile."""
        now = time.monotonic()
        if now >= self._next_content:
            self._next_content = now + CONTENT_EVERY
            self.frames.show(lanes.content())
        if now >= self._next_table:
            self._show_table(lanes, now)

    def _show(self) -> None:
        """Show both now."""
        lanes = self._open()
        self.frames.show(lanes.content())
        self._show_table(lanes, time.monotonic())

    def _show_table(self, lanes: Lanes, began: float) -> None:
        results = lanes.so_far()
        self._tell({"type": "table", "now": lanes.now, "results": results})
        now = time.monotonic()
        self._next_table = now + max(TABLE_EVERY, (now - began) / SHARE_OF_TABLES)
