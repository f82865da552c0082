"""The session of one browser tab: the messages of /session and their answers."""

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aqmlab._core import SchemeError
from aqmlab.extras import MissingExtraError, required
from aqmlab.problems import InputError
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import RunError
from aqmlab.studio import check, export, field
from aqmlab.studio.budget import POOL
from aqmlab.studio.lanes import LaneError, Lanes
from aqmlab.studio.layout import layout
from aqmlab.studio.opening import BLAST, Opening
from aqmlab.studio.player import Message, Player
from aqmlab.studio.turns import apart

with required():
    from starlette.websockets import WebSocket, WebSocketDisconnect

LOG = logging.getLogger(__name__)
TOLD: tuple[type[Exception], ...] = (InputError, SchemeError, RunError, MissingExtraError)
"""Errors of a client, or of its scheme."""
GONE: tuple[type[Exception], ...] = (WebSocketDisconnect, RuntimeError)
"""Errors of sending when the client has gone."""
FRAME_EVERY = 1 / 30
"""Seconds between frames, at least."""
UNDER_WAY = 3
"""Frames that a client may have left unanswered."""
AFTER_FRAMES = ("state", "changed", "done")
"""Messages before which the client receives all samples up to then, unless it is slow."""
BEFORE_FRAMES = ("opened", "changed")
"""Messages that say what the frames after them have."""
USUAL_PIXELS = 1200
"""Of a page that has not said how wide it is."""
SLOWEST = 1e-6
"""Simulated seconds per second; a slower speed is a pause."""
MARKS = 16


@dataclass(frozen=True)
class Bookmark:
    """A point to go back to."""

    name: str
    lanes: Lanes


class UnwantedError(Exception):
    """Nobody waits for a run any longer."""


class Session:
    """One WebSocket: its lanes, its marks, what is sent to it. `known` finds scenarios by name."""

    def __init__(self, socket: WebSocket, known: Callable[[str], tuple[str, str]]) -> None:
        self._socket, self._known = socket, known
        self._loop = asyncio.get_running_loop()
        self._share = POOL.share()
        self._player = Player(lambda message: self._soon(self._unasked, message))
        self._marks: dict[int, Bookmark] = {}
        self._marked = 0
        self._waiting: dict[str, Message] = {}
        self._wake = asyncio.Event()
        self._sending = asyncio.Lock()
        self._sent = self._seen = 0
        self._name = ""
        self._is_viewed = False
        self._closed = threading.Event()
        self._exporting: asyncio.Future[None] | None = None

    async def run(self) -> None:
        """Serve it until it is closed."""
        self._player.start()
        work = (self._answer_all(), self._send_frames(), self._send_unasked())
        tasks = [asyncio.ensure_future(each) for each in work]
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                with suppress(*GONE):
                    task.result()  # no session goes on without one of the three
        finally:  # it was closed, or said something that is no text
            self._closed.set()
            self._marks.clear()
            self._player.close(self._share.close)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with suppress(*GONE):
                await self._socket.close(1003)

    async def _answer_all(self) -> None:
        """Answer one message after the other, until the client is gone."""
        while (text := (await self._socket.receive()).get("text")) is not None:
            await self._receive(text)
            await asyncio.sleep(0)  # the others have their turn, also where many messages have come at once

    async def _receive(self, text: str) -> None:
        """Understand and answer one message."""
        try:
            message = field.read(text)
        except InputError as error:
            await self._send({"type": "problem", "problems": self._problems(error)})
        else:
            await self._reply(self._answer(message), message)

    async def _answer(self, message: Message) -> Message | None:
        answer: Message | None = await ANSWERS[field.one_of(message, "type", ANSWERS)](self, message)
        return answer

    async def _reply(self, answering: Awaitable[Message | None], asked: Message) -> None:
        """Send an answer, or the problem instead of it; the session continues after both."""
        try:
            answer = await answering
        except UnwantedError:
            return
        except Exception as error:
            if not isinstance(error, TOLD):
                LOG.exception("%s", asked["type"])
                why = f"a bug in aqmlab: {type(error).__name__}: {error}; please report it"
                error = RunError(f"{asked['type']}: {why}")
            answer = {"type": "problem", "problems": self._problems(error)}
        if answer is not None:
            await self._send(answer if asked.get("id") is None else answer | {"id": asked["id"]})

    async def _do(self, act: Callable[[], Any]) -> Any:
        return await asyncio.wrap_future(self._player.do(act))

    def _lanes(self) -> Lanes:
        if self._player.lanes is None:
            raise InputError("open", "nothing is open; send open first")
        return self._player.lanes

    # What a client may say.

    async def _open(self, message: Message) -> Message:
        def act() -> Message:
            opening = Opening.of(message, self._known)
            with self._share.room(opening.memory):
                lanes = opening.lanes(self._share)
                self._name = opening.name
                self._keep({})
                self._player.open(lanes)
            if not self._is_viewed:
                self._player.frames.width = self._lanes().end / USUAL_PIXELS
            return self._opened()

        opened: Message = await self._do(act)
        return opened

    async def _play(self, message: Message) -> Message:
        until = field.number(message, "until")
        return await self._state(lambda: self._player.play(until))

    async def _pause(self, _: Message) -> Message:
        return await self._state(self._player.pause)

    async def _step(self, message: Message) -> None:
        span = field.number(message, "span")
        step = self._lanes().sample if span is None else span

        def act() -> None:
            self._player.play(self._lanes().now + step, message.get("id"))

        await self._do(act)

    async def _speed(self, message: Message) -> Message:
        speed = field.number(message, "speed", SLOWEST)

        def act() -> None:
            self._player.speed = speed
            self._player.anchor()

        return await self._state(act)

    async def _state(self, act: Callable[[], None]) -> Message:
        def both() -> Message:
            self._lanes()
            act()
            return self._player.state()

        state: Message = await self._do(both)
        return state

    async def _view(self, message: Message) -> None:
        span, pixels = field.number(message, "span"), field.number(message, "pixels", 1)
        if span and pixels:
            self._player.frames.width, self._is_viewed = max(span / pixels, 1e-6), True

    async def _set(self, message: Message) -> Message:
        path, value = field.text(message, "path"), field.text(message, "value")
        lane = field.index(message, "lane", len(self._lanes().lanes))
        return await self._change(lambda: self._lanes().set(path, value, lane))

    async def _halve(self, message: Message) -> Message:
        groups = [group for group in self._lanes().scenario.flows if group != BLAST]
        if message.get("group") is not None:
            groups = [field.one_of(message, "group", self._lanes().scenario.flows)]
        return await self._change(lambda: self._lanes().halve(groups))

    async def _change(self, act: Callable[[], None]) -> Message:
        def both() -> Message:
            act()
            self._player.changed()
            lanes = self._lanes()
            told = {"columns": lanes.columns(), "lanes": lanes.document()}
            return {"type": "changed", "now": lanes.now, "epoch": self._player.epoch, **told}

        changed: Message = await self._do(both)
        return changed

    async def _mark(self, message: Message) -> Message:
        name = field.text(message, "name")
        if len(self._marks) >= MARKS:
            raise InputError("mark", f"{MARKS} marks are kept; remove one first")

        def act() -> Message:
            lanes = self._lanes()
            with self._share.room(lanes.memory):
                self._marked += 1
                self._keep(self._marks | {self._marked: Bookmark(name, lanes.fork())})
            return self._all_marks()

        marks: Message = await self._do(act)
        return marks

    async def _unmark(self, message: Message) -> Message:
        removed = field.one_of(message, "mark", self._marks)
        self._keep({number: mark for number, mark in self._marks.items() if number != removed})
        return self._all_marks()

    def _keep(self, marks: dict[int, Bookmark]) -> None:
        """Have these marks."""
        self._marks = marks
        self._share.marks = sum(mark.lanes.memory for mark in marks.values())

    async def _rewind(self, message: Message) -> Message:
        mark = self._marks[field.one_of(message, "mark", self._marks)]

        def act() -> Message:
            with self._share.room(mark.lanes.memory):
                self._player.open(mark.lanes.fork())
            return self._opened()

        opened: Message = await self._do(act)
        return opened

    async def _export(self, message: Message) -> None:
        what = field.one_of(message, "what", export.KINDS)
        lane = field.index(message, "lane", len(self._lanes().lanes)) or 0
        if self._exporting is not None and not self._exporting.done():
            raise InputError("export", "another is under way; wait for it")
        done = await self._do(lambda: export.Recording.of(self._lanes()))

        async def run() -> Message:
            file = await apart(lambda: export.KINDS[what](done, lane, self._still_wanted))
            return {"type": "export", "what": what, **vars(file)}

        async def reply() -> None:
            with suppress(*GONE):
                await self._reply(run(), message)

        self._exporting = asyncio.ensure_future(reply())

    def _still_wanted(self, _done: float, _of: int) -> None:
        """Interrupt a run that nobody waits for any longer."""
        if self._closed.is_set():
            raise UnwantedError

    async def _seen_frame(self, message: Message) -> None:
        self._seen = max(self._seen, min(int(field.number(message, "sequence") or 0), self._sent))

    # What it is told.

    def _opened(self) -> Message:
        lanes = self._lanes()
        scenario = lanes.scenario
        return {
            "type": "opened",
            "epoch": self._player.epoch,
            "name": self._name,
            "file": scenario.name,
            "title": scenario.title,
            "text": scenario.text,
            "seed": lanes.seed,
            "now": lanes.now,
            "end": lanes.end,
            "warmup": scenario.warmup,
            "sample": lanes.sample,
            **layout(scenario),
            "lanes": lanes.document(),
            "columns": lanes.columns(),
            "content": {"links": scenario.links, "groups": scenario.flows},
            "marks": self._all_marks()["marks"],
        }

    def _all_marks(self) -> Message:
        marks = [{"mark": number, "name": mark.name, "at": mark.lanes.now} for number, mark in self._marks.items()]
        return {"type": "marks", "marks": marks}

    def _problems(self, error: Exception) -> list[dict[str, Any]]:
        return check.problems(error, error.lane if isinstance(error, LaneError) else None)

    def _soon(self, act: Callable[[Message], None], message: Message) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody is there any longer
            self._loop.call_soon_threadsafe(act, message)

    def _unasked(self, message: Message) -> None:
        """Have something sent when the client takes it; what is newer replaces what still waits."""
        self._waiting[message["type"]] = message
        self._wake.set()

    async def _send_unasked(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            waiting, self._waiting = self._waiting, {}
            for message in sorted(waiting.values(), key=lambda each: each["type"] == "done"):
                await self._reply(self._told(message), {"type": message["type"]})

    async def _told(self, message: Message) -> Message:
        """Return a message of the player as the client gets it."""
        match message:
            case {"type": "table", "results": results}:
                return {"type": "table", "now": message["now"], "lanes": [dict(_values(each)) for each in results]}
            case {"type": "problem", "error": error}:
                return {"type": "problem", "problems": self._problems(error)}
        return message

    async def _send(self, message: Message) -> None:
        text = json.dumps(message, ensure_ascii=False, allow_nan=False)
        async with self._sending:
            if message["type"] in AFTER_FRAMES:
                await self._send_frame()
            await self._socket.send_text(text)
            if message["type"] in BEFORE_FRAMES:
                self._player.frames.release()

    async def _send_frames(self) -> None:
        """Send new data, at most every 33 ms."""
        while True:
            await asyncio.sleep(FRAME_EVERY)
            async with self._sending:
                await self._send_frame()

    async def _send_frame(self) -> None:
        """Send new data, unless the client is slow."""
        while self._sent - self._seen < UNDER_WAY or self._player.frames.has_before:
            frame = self._player.frames.take(self._sent + 1)
            if frame is None:
                return
            self._sent += 1
            await self._socket.send_bytes(frame)


def _values(result: RunResult | None) -> Iterable[tuple[str, float | None]]:
    return result.values.items() if result else ()


ANSWERS: Mapping[str, Callable[[Session, Message], Any]] = {
    "open": Session._open,
    "play": Session._play,
    "pause": Session._pause,
    "step": Session._step,
    "speed": Session._speed,
    "view": Session._view,
    "set": Session._set,
    "halve": Session._halve,
    "mark": Session._mark,
    "unmark": Session._unmark,
    "rewind": Session._rewind,
    "export": Session._export,
    "seen": Session._seen_frame,
}
"""By the type of a message."""
