"""The session of one browser tab: a WebSocket, the thread that answers, and what is sent."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from aqmlab._core import Interrupted, SchemeError, StudioExport, StudioSession
from aqmlab.extras import MissingExtraError, required
from aqmlab.problems import InputError
from aqmlab.runs import memory
from aqmlab.runs.task import RunError
from aqmlab.studio import check, export
from aqmlab.studio.budget import POOL
from aqmlab.studio.player import Output, Player, fault
from aqmlab.studio.turns import MOST_RUNS, apart

with required():
    from starlette.websockets import WebSocket, WebSocketDisconnect

EXPECTED: tuple[type[Exception], ...] = (InputError, SchemeError, RunError, MissingExtraError)
"""Errors of a client, or of its scheme."""
GONE: tuple[type[Exception], ...] = (WebSocketDisconnect, RuntimeError)
"""Errors of sending when the client has gone."""


class Session:
    """One WebSocket; `scenario` returns the text of a scenario by its name."""

    def __init__(self, socket: WebSocket, scenario: Callable[[str], str]) -> None:
        self._socket, self._loop = socket, asyncio.get_running_loop()
        self._share, self._watch = POOL.share(), memory.watch(MOST_RUNS)
        self._player = Player(StudioSession(scenario, self._share.hold, self._share.watch), self._soon)
        self._waiting: deque[Output] = deque()
        self._wake, self._sent = asyncio.Event(), asyncio.Event()
        self._exporting: asyncio.Future[None] | None = None

    async def run(self) -> None:
        """Serve it until it is closed."""
        self._player.start()
        tasks = [asyncio.ensure_future(work) for work in (self._answer_all(), self._send_all())]
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                with suppress(*GONE):
                    task.result()  # a session needs both
        finally:  # it was closed, or said something that is no text
            self._watch.cancel()
            self._player.close(self._share.close)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with suppress(*GONE):
                await self._socket.close(1003)

    async def _answer_all(self) -> None:
        """Answer one request after the other, each when the answer before is sent, until the client is gone."""
        while (text := (await self._socket.receive()).get("text")) is not None:
            await asyncio.wrap_future(self._player.answer(text))
            while self._waiting:
                self._sent.clear()
                await self._sent.wait()

    def _soon(self, outputs: list[Output]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody is there any longer
            self._loop.call_soon_threadsafe(self._put, outputs)

    def _put(self, outputs: list[Output]) -> None:
        """Have outputs sent when the client takes them; a newer table replaces one that still waits."""
        for output in outputs:
            if output[0] == "export":
                self._export(output[1])
                continue
            if output[0] == "table":
                self._waiting = deque(each for each in self._waiting if each[0] != "table")
            self._waiting.append(output)
        self._wake.set()

    async def _send_all(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                kind, content = self._waiting.popleft()
                await (self._socket.send_bytes(content) if kind == "frame" else self._socket.send_text(content))
            self._sent.set()

    def _export(self, asked: StudioExport) -> None:
        if self._exporting is not None and not self._exporting.done():
            error = InputError("export", "another is under way; wait for it")
            self._put([("message", check.message(error, asked.id))])
        else:
            self._exporting = asyncio.ensure_future(self._make(asked))

    async def _make(self, asked: StudioExport) -> None:
        """Make a file, unless nobody waits for it any longer."""
        try:
            text = asked.answer(await apart(lambda: export.KINDS[asked.what](asked, self._watch)))
        except Interrupted:
            return
        except Exception as error:
            expected = isinstance(error, EXPECTED)
            text = check.message(error, asked.id) if expected else fault(error, type="export", id=asked.id)
        self._put([("message", text)])
