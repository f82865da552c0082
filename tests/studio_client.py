"""What the tests of the studio share: a server in a process of its own, and a browser tab without a browser."""

import json
import re
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from websockets.sync.client import ClientConnection, connect

from aqmlab._core import StudioExport, StudioSession, Watch

HEAD = struct.Struct("<4s5I2d")
"""As the protocol says: magic, epoch, sequence, rows, columns, content, now, speed."""


@dataclass
class Server:
    """A studio that runs."""

    process: "subprocess.Popen[str]"
    address: str
    cookie: str = ""

    @property
    def host(self) -> str:
        """Host and port."""
        return self.address.removeprefix("http://").partition("/")[0]

    def headers(self) -> dict[str, str]:
        """Those of the studio's own page."""
        return {"Origin": f"http://{self.host}", "Cookie": self.cookie}

    def ask(
        self, path: str, headers: dict[str, str] | None = None, data: bytes | None = None, method: str | None = None
    ) -> tuple[int, bytes, dict[str, str]]:
        """Return status, body and headers of an answer."""
        given = self.headers() if headers is None else headers
        request = urllib.request.Request(f"http://{self.host}{path}", data, given, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read(), dict(answer.headers)
        except urllib.error.HTTPError as error:
            return error.code, error.read(), dict(error.headers)

    def json(self, path: str, body: object = None) -> Any:
        """Return the JSON of an answer that must be there."""
        status, found, _ = self.ask(path, data=None if body is None else json.dumps(body).encode())
        assert status == 200, (status, found)
        return json.loads(found)

    def enter(self) -> str:
        """Use the token; return the cookie."""
        status, _, headers = self.ask("/" + self.address.partition("/?")[2].join(["?", ""]), {})
        assert status in (200, 503), status  # 503: without the built page
        found = {name.lower(): value for name, value in headers.items()}
        self.cookie = found["set-cookie"].partition(";")[0]
        return found["set-cookie"]


@contextmanager
def serving(*options: str) -> Iterator[Server]:
    """Start a studio; it ends with the block."""
    command = [sys.executable, "-m", "aqmlab", "studio", "--no-browser", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            line = process.stderr.readline()
            found = re.search(r"http://\S+", line)
            assert found, line + process.stderr.read()
            yield Server(process, found[0])
        finally:
            process.kill()


@dataclass
class Frame:
    """A binary frame, read as the protocol says."""

    epoch: int
    sequence: int
    now: float
    speed: float
    rows: "np.ndarray[Any, np.dtype[np.float32]]"
    content: "np.ndarray[Any, np.dtype[np.float32]]"

    @classmethod
    def of(cls, data: bytes) -> "Frame":
        """Read one."""
        magic, epoch, sequence, rows, columns, content, now, speed = HEAD.unpack_from(data)
        assert magic == b"AQM1"
        assert len(data) == HEAD.size + 4 * (rows * columns + content)
        numbers = np.frombuffer(data, "<f4", offset=HEAD.size)
        table = numbers[: rows * columns].reshape(columns, rows).T
        return cls(epoch, sequence, now, speed, table, numbers[rows * columns :])


@dataclass
class Tab:
    """A browser tab: what it was told, and its frames, each answered."""

    socket: ClientConnection
    told: list[dict[str, Any]] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    answers_frames: bool = True

    def say(self, kind: str, **fields: object) -> None:
        """Send a message."""
        self.socket.send(json.dumps({"type": kind, **fields}))

    def ask(self, kind: str, **fields: object) -> dict[str, Any]:
        """Send a message; return its answer."""
        self.say(kind, id="asked", **fields)
        return self.wait(lambda message: message.get("id") == "asked")

    def wait_for(self, kind: str) -> dict[str, Any]:
        """Return the next message of a kind."""
        return self.wait(lambda message: message["type"] == kind)

    def wait(self, wanted: Any, seconds: float = 120) -> dict[str, Any]:
        """Return the next message that is wanted."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            message = self.receive(end - time.monotonic())
            if message is not None and wanted(message):
                return message
        raise AssertionError(f"not told in {seconds} s; told: {[each['type'] for each in self.told]}")

    def receive(self, seconds: float = 60) -> dict[str, Any] | None:
        """Return the next message, None for a frame."""
        data = self.socket.recv(timeout=seconds)
        if isinstance(data, bytes):
            frame = Frame.of(data)
            self.frames.append(frame)
            if self.answers_frames:
                self.say("seen", sequence=frame.sequence)
            return None
        message = cast(dict[str, Any], json.loads(data))
        self.told.append(message)
        return message

    def open(self, scenario: str, aqms: Sequence[str | None], **more: object) -> dict[str, Any]:
        """Open a scenario: a built-in name, or a text."""
        what = {"text": scenario} if "\n" in scenario else {"scenario": scenario}
        answer = self.ask("open", **what, aqms=aqms, **more)
        assert answer["type"] == "opened", answer
        return answer

    def play_to(self, until: float, seconds: float = 120) -> dict[str, Any]:
        """Play up to a time; return the state there."""
        self.say("play", until=until)
        return self.wait(lambda m: m["type"] == "state" and not m["playing"] and m["now"] >= until, seconds)


@contextmanager
def tab(server: Server) -> Iterator[Tab]:
    """Open a tab of the studio's own page."""
    headers = {"Cookie": server.cookie}
    with connect(
        f"ws://{server.host}/session",
        origin=cast(Any, f"http://{server.host}"),
        additional_headers=headers,
        max_size=None,
        compression=None,
    ) as socket:
        yield Tab(socket)


@dataclass
class Alone:
    """A session without a server and without a clock."""

    hold: Any = lambda *_: None
    scenario: Any = lambda name: name
    watch: Watch = field(default_factory=Watch)
    exports: list[StudioExport] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    held: float = 0

    def __post_init__(self) -> None:
        self.session = StudioSession(self.scenario, self._hold, self.watch)

    def _hold(self, held: float, more: float) -> None:
        self.held = held
        self.hold(held, more)

    def ask(self, kind: str, **fields: object) -> dict[str, Any]:
        """Send a request; return its answer, or nothing where the answer comes later."""
        self._take(self.session.handle(json.dumps({"type": kind, "id": 1, **fields}), 0))
        return next((message for message in reversed(self.told) if message.get("id") == 1), {})

    def play(self, until: float) -> dict[str, Any]:
        """Play up to a time; return the last message."""
        self.ask("play", until=until)
        while self.session.due(0)[0] is not None:
            self._take(self.session.step(0))
        return self.told[-1]

    def _take(self, outputs: list[tuple[str, Any]]) -> None:
        self.exports += [content for kind, content in outputs if kind == "export"]
        self.told += [json.loads(content) for kind, content in outputs if kind in ("message", "table")]
