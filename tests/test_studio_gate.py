"""The studio's gate: only the studio's own page comes in, on every route, over HTTP and WebSocket alike."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, cast

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from aqmlab.studio.gate import LARGEST_BODY, SOCKETS
from conftest import SMALL, Aqmlab
from studio_client import Server, serving, tab

ROUTES = [
    "/",
    "/static/app.js",
    "/api/catalogue",
    "/api/scenario/li2014/table-1",
    "/api/check",
    "/api/lessons/01-bufferbloat",
    "/api/exercise/01-bufferbloat",
    "/api/results",
    "/api/results/0",
    "/api/results/0/figure/0-measure.svg",
    "/api/published/li2014",
    "/session",
    "/no-such-route",
]


@pytest.fixture(scope="module")
def studio() -> Iterator[Server]:
    with serving() as server:
        server.enter()
        yield server


def status(server: Server, path: str, headers: dict[str, str]) -> int:
    """Ask as whoever has these headers would; /session over WebSocket, /api/check by POST."""
    if path != "/session":
        body = b'{"text": ""}' if path == "/api/check" else None
        return server.ask(path, headers, body)[0]
    origin, more = headers.get("Origin"), {name: value for name, value in headers.items() if name != "Origin"}
    try:
        with connect(f"ws://{server.host}{path}", origin=cast(Any, origin), additional_headers=more):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code
    except ValueError:  # two Hosts, which the client does not send
        return 403


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize(
    "wrong",
    [
        {"Cookie": ""},
        {"Cookie": "aqmlab-studio=guessed"},
        {"Cookie": "{cookie}x"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://{host}"},
        {"Origin": "http://{host}.evil.example"},
        {"Origin": "http://localhost:1"},
    ],
    ids=str,
)
def test_strangers_are_refused_on_every_route(studio: Server, path: str, wrong: dict[str, str]) -> None:
    filled = {name: text.format(host=studio.host, cookie=studio.cookie) for name, text in wrong.items()}
    assert status(studio, path, studio.headers() | filled) == 403


def raw(server: Server, request: str) -> bytes:
    """Send bytes as they are; return the line of the answer."""
    address, port = server.host.split(":")
    with socket.create_connection((address, int(port)), timeout=30) as line:
        line.sendall(request.encode())
        return line.makefile("rb").readline()


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "{host}.evil.example", "LOCALHOST:80", ""]
)
def test_another_host_is_refused_on_every_route(studio: Server, path: str, host: str) -> None:
    named = host.format(host=studio.host)
    upgrade = (
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        if path == "/session"
        else "Connection: close\r\n"
    )
    # The page of a stranger whose name has been pointed at this machine: Host and Origin agree.
    line = raw(
        studio,
        f"GET {path} HTTP/1.1\r\nHost: {named}\r\nOrigin: http://{named}\r\nCookie: {studio.cookie}\r\n{upgrade}\r\n",
    )
    assert line.split()[1] in (b"403", b"400")


def test_a_missing_origin_may_only_read(studio: Server) -> None:
    only_cookie = {"Cookie": studio.cookie}
    assert status(studio, "/api/results", only_cookie) == 200
    assert status(studio, "/api/check", only_cookie) == 403
    assert status(studio, "/session", only_cookie) == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"])
def test_other_methods_are_refused(studio: Server, method: str) -> None:
    for path in ROUTES:
        assert studio.ask(path, method=method)[0] == 405


def test_a_token_serves_once() -> None:
    with serving() as server:
        path = "/?" + server.address.partition("/?")[2]
        assert server.ask("/?token=guessed", {})[0] == 403
        assert server.ask("/?token=", {})[0] == 403
        assert server.ask(path.replace("/?", "/api/catalogue?"), {})[0] == 403
        assert server.ask(path, {"Origin": "http://evil.example"})[0] == 403
        cookie = server.enter()
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert server.ask(path, {})[0] == 403
        assert server.json("/api/results") == {"folders": []}


def test_a_token_of_a_classroom_serves_all() -> None:
    with serving("--token", "correct-horse-battery") as server:
        assert server.enter().startswith("aqmlab-studio-")
        assert server.enter().startswith("aqmlab-studio-")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", "192.0.2.1"], ["host", "--token"]),
        (["--host", "0.0.0.0", "--token", "correct-horse-battery"], ["0.0.0.0", "every address"]),
        (["--token", "short"], ["token", "guessed"]),
        (["--results", "nowhere"], ["nowhere", "no such folder"]),
        (["--aqm", "nowhere.py"], ["nowhere.py", "no such file"]),
        (["li2014/table-99"], ["table-99", "did you mean"]),
    ],
    ids=str,
)
def test_bad_options_are_refused(aqmlab: Aqmlab, options: list[str], words: list[str]) -> None:
    answer = aqmlab("studio", "--no-browser", *options)
    assert answer.returncode == 2
    assert all(word in answer.stderr for word in words), answer.stderr


def test_every_answer_has_the_policy(studio: Server) -> None:
    for path in ROUTES:
        for headers in (studio.headers(), {}):
            _, _, found = studio.ask(path, headers)
            named = {name.lower(): value for name, value in found.items()}
            assert named["content-security-policy"].startswith("default-src 'self';")
            assert "unsafe" not in named["content-security-policy"]
            assert named["x-content-type-options"] == "nosniff"
            assert "server" not in named


def test_a_large_body_is_refused(studio: Server) -> None:
    fits = json.dumps({"text": "#" * (LARGEST_BODY - 100)}).encode()
    assert studio.ask("/api/check", data=fits)[0] == 200
    head = (
        f"POST /api/check HTTP/1.1\r\nHost: {studio.host}\r\nOrigin: http://{studio.host}\r\n"
        f"Cookie: {studio.cookie}\r\n"
    )
    assert raw(studio, f"{head}Content-Length: {LARGEST_BODY + 1}\r\n\r\n").split()[1] == b"413"
    half = LARGEST_BODY // 2 + 1
    chunk = f"{half:x}\r\n{'x' * half}\r\n"
    told_late = raw(studio, f"{head}Transfer-Encoding: chunked\r\n\r\n{chunk * 2}")
    assert told_late.split()[1] == b"413"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../gate.py",
        "/static/%2e%2e/gate.py",
        "/static/..%2fgate.py",
        "/static//etc/passwd",
        "/api/scenario/../../etc/passwd",
        "/api/scenario//etc/passwd",
        "/api/scenario/%2e%2e/small.toml",
        "/api/lessons/..%2f__init__",
        "/api/published/..%2fpapers",
        "/api/results/-1",
        "/api/results/0/figure/..%2fruns.svg",
    ],
)
def test_no_path_leads_out(studio: Server, path: str) -> None:
    found, body, _ = studio.ask(path)
    assert found in (400, 404)
    assert b"import" not in body
    assert b"root:" not in body


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"3", b"\xff\xfe", b'{"text": 3}', b'{"text": "", "aqms": "pi"}', b"[" * 9000]
)
def test_malformed_bodies_are_refused(studio: Server, body: bytes) -> None:
    found, answer, _ = studio.ask("/api/check", data=body, method="POST")
    assert found == 400
    assert "error" in json.loads(answer)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "{",
        "null",
        "[" * 5000,
        "{}",
        '{"type": 3}',
        '{"type": "shell"}',
        '{"type": "play"}',
        '{"type": "rewind", "mark": 1}',
        '{"type": "set", "path": "links.bottleneck.rate", "value": "1 Mbit/s"}',
        '{"type": "open"}',
        '{"type": "open", "scenario": "../small", "aqms": ["pi"]}',
        '{"type": "open", "scenario": "li2014/table-1", "aqms": []}',
        '{"type": "open", "scenario": "li2014/table-1", "aqms": [1, 2, 3, 4, 5, 6, 7, 8, 9]}',
        '{"type": "open", "scenario": "li2014/table-1", "aqms": [{}]}',
        '{"type": "open", "scenario": "li2014/table-1", "aqms": ["pi"], "seed": -1}',
        '{"type": "open", "scenario": "li2014/table-1", "aqms": ["pi"], "seed": 1e99}',
        '{"type": "open", "scenario": "li2014/table-1", "aqms": ["pi"], "sample": 1e-9}',
        '{"type": "open", "scenario": "li2014/table-1", "aqms": ["pi"], "sample": NaN}',
        '{"type": "open", "scenario": "li2014/table-1", "aqms": ["pi"], "flows": [["ftp", 500]]}',
        '{"type": "open", "scenario": "li2014/table-1", "aqms": ["pi"], "flows": [["ftp", -1]]}',
        '{"type": "open", "scenario": "li2014/table-1", "aqms": ["pi"], "blast": "nowhere"}',
        '{"type": "view", "span": -1, "pixels": 10}',
        '{"type": "speed", "speed": 0}',
        '{"type": "export", "what": "__class__"}',
    ],
)
def test_malformed_messages_are_answered_and_nothing_else(studio: Server, message: str) -> None:
    with tab(studio) as page:
        page.socket.send(message)
        assert page.wait_for("problem")["problems"]
        assert page.open("home/call", ["codel"])["now"] == 0


def test_a_message_that_is_too_large_closes_the_socket(studio: Server) -> None:
    with tab(studio) as page, suppress(ConnectionClosed):
        page.socket.send("x" * (LARGEST_BODY + 1))
        page.socket.recv(timeout=30)
    assert page.socket.close_code in (1009, 1006)  # 1006 where the end came while the rest was still being sent
    with tab(studio) as page:
        page.socket.send(b"\0\1")
        with pytest.raises(ConnectionClosed):
            page.socket.recv(timeout=30)
    assert page.socket.close_code == 1003


def test_python_from_the_browser_is_not_run(studio: Server, tmp_path: Path) -> None:
    trap = tmp_path / "trap.py"
    trap.write_text(
        f"import aqmlab, pathlib\npathlib.Path({str(tmp_path / 'sprung')!r}).touch()\n"
        "class Trap(aqmlab.Aqm):\n    'A trap.'\n"
    )
    with tab(studio) as page:
        for aqm in (str(trap), f"{trap}:Trap", f"{trap}@bottleneck", f"pi@bottleneck+{trap}@other"):
            for scenario in ("li2014/table-1", "boudi/light-10"):
                answer = page.ask("open", scenario=scenario, aqms=[aqm])
                assert answer["type"] == "problem"
            checked = studio.json("/api/check", {"text": SMALL.read_text(), "aqms": [aqm]})
            assert checked["problems"]
        page.open("li2014/table-1", ["pi"])
        assert page.ask("set", path="links.bottleneck.aqm", value=str(trap))["type"] == "problem"
        text = SMALL.read_text().replace('"droptail"', json.dumps(str(trap)))
        assert page.ask("open", text=text, aqms=[None])["type"] == "problem"
        text = SMALL.read_text().replace('"10 Mbit/s"', '{ trace = "/etc/passwd" }')
        answer = page.ask("open", text=text, aqms=["pi"])
        assert answer["type"] == "problem"
        assert "root:" not in json.dumps(answer)
    assert not (tmp_path / "sprung").exists()


def test_a_scenario_that_takes_too_much_memory_is_refused(studio: Server) -> None:
    text = SMALL.read_text().replace("count = 10", "count = 999999")
    with tab(studio) as page:
        answer = page.ask("open", text=text, aqms=["pi", "codel", "red"])
        assert answer["problems"][0]["field"] == "memory"


def test_a_thousand_connections_lock_nobody_out() -> None:
    with serving() as server, ExitStack() as stack:
        server.enter()
        address, port = server.host.split(":")
        idle = 0
        for _ in range(800):
            with suppress(OSError):
                stack.enter_context(socket.create_connection((address, int(port)), timeout=10))
                idle += 1
        assert idle > 500  # as many as this process may have open
        assert server.json("/api/results") == {"folders": []}
        pages = [stack.enter_context(tab(server)) for _ in range(SOCKETS)]
        for _ in range(200 - SOCKETS):
            with pytest.raises(InvalidStatus) as refused, tab(server):
                pass
            assert refused.value.response.status_code in (403, 503)
        assert pages[0].open("home/call", ["codel"])["now"] == 0
        pages.pop().socket.close()
        with tab(server) as page:
            assert page.open("home/call", ["codel"])["now"] == 0


def children(pid: int) -> list[str]:
    """The processes that a process has started."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_nothing_is_left_after_kill(tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    with serving() as server:
        server.enter()
        with tab(server) as page:
            page.open("li2014/table-1", ["pi", "codel"])
            page.ask("play")
            assert children(server.process.pid) == []
            os.kill(server.process.pid, signal.SIGKILL)
            server.process.wait()
        assert set(tmp_path.iterdir()) == before
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(tuple(server.host.split(":")), timeout=5)
