"""Sessions of the studio beside greedy ones: what one may take, and that none waits for another."""

import asyncio
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from websockets.exceptions import ConnectionClosed

from aqmlab import InputError
from aqmlab._core import Watch
from aqmlab.studio import export, field, turns
from aqmlab.studio.budget import MemoryPool
from aqmlab.studio.gate import SOCKETS
from aqmlab.studio.player import AT_ONCE, Player
from aqmlab.studio.serve import READ
from aqmlab.studio.session import Session
from conftest import SMALL
from studio_client import Alone, Server, serving, tab
from test_memory import FLOOD

TEXT = SMALL.read_text()
LONG = TEXT.replace('duration = "2 s"', 'duration = "100000 s"')
LARGE = TEXT + "#" * turns.LARGE_TEXT
CROWD = "".join(f'\n[[flows]]\nname = "f{i}"\nrtt = "20 ms"\n' for i in range(300))


@pytest.fixture(scope="module")
def studio() -> Iterator[Server]:
    with serving() as server:
        server.enter()
        yield server


def changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Have the servers of a test begin with some lines of Python."""
    (tmp_path / "sitecustomize.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)


def test_each_session_has_memory_whatever_the_others_take() -> None:
    budget = MemoryPool(whole=SOCKETS * 20e6 + 100e6, own=20e6)
    greedy, second, modest = budget.share(), budget.share(), budget.share()
    greedy.hold(115e6, 0)
    second.hold(0, 25e6)
    with pytest.raises(InputError, match=r"^memory: about 0\.026 GB .*; at most 0\.025 GB with"):
        second.hold(25e6, 1e6)
    second.hold(0, 25e6)
    modest.hold(0, 20e6)
    second.hold(0, 0)
    modest.hold(0, 0)
    greedy.close()
    second.hold(0, 120e6)


def test_what_a_lane_holds_does_not_grow_with_what_was_read_of_it() -> None:
    lanes = Alone()
    lanes.ask("open", text=LONG, aqms=[None], sample=0.001)
    lanes.play(20)
    before = lanes.held
    for i in range(20):
        lanes.play(21 + i)  # 1,000 rows of 13 columns
    assert lanes.held - before < 20 * 1000 * 13 * 4 / 4


def test_a_simulation_that_outgrows_all_estimates_ends_in_its_step() -> None:
    lanes = Alone(watch=Watch(50e6, 0.5))
    lanes.ask("open", text=FLOOD, aqms=[None], sample=1)
    [problem] = lanes.play(60)["problems"]
    assert "more than the 0.05 GB that runs may have together" in problem["message"]
    assert "nothing is open" in lanes.ask("pause")["problems"][0]["message"]


def test_a_session_that_grows_is_stopped_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed(tmp_path, monkeypatch, "from aqmlab.studio.budget import POOL\nPOOL.own, POOL.common = 20e6, 80e6")
    with serving() as server:
        server.enter()
        with tab(server) as greedy, tab(server) as other:
            other.open(LONG, ["pi"])
            other.ask("play")
            greedy.open(FLOOD, ["droptail"])
            greedy.ask("play")
            assert greedy.wait_for("problem")["problems"][0]["field"] == "memory"
            assert greedy.ask("mark", name="m")["problems"][0]["field"] == "memory"
            assert other.ask("mark", name="m")["type"] == "marks"
            assert other.ask("pause")["now"] > 0


def test_memory_of_a_run_that_broke_down_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = "from aqmlab.studio.player import Player\ndef step(*_): raise RuntimeError('too large')"
    changed(tmp_path, monkeypatch, f"{broken}\nPlayer._step = step")
    with serving() as server:
        server.enter()
        with tab(server) as page:
            page.open(TEXT, ["pi"])
            page.say("play")
            assert "too large" in page.wait_for("problem")["problems"][0]["message"]
            assert "nothing is open" in page.ask("play")["problems"][0]["message"]
            page.open(TEXT, ["pi"])


def test_a_session_that_can_send_nothing_more_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = "from starlette.websockets import WebSocket\nasync def send(*_): raise ValueError('no frame')"
    changed(tmp_path, monkeypatch, f"{broken}\nWebSocket.send_bytes = send")
    with serving() as server:
        server.enter()
        with tab(server) as page:
            page.say("open", text=TEXT, aqms=["pi"])
            with pytest.raises(ConnectionClosed):
                page.wait_for("never")


def test_each_of_many_works_for_a_share_of_the_time() -> None:
    shared = turns.Turns(cores=2)
    for worker in range(2):
        shared.begin(worker)
        assert shared.rest(worker, 0.03) == 0
    for worker in range(8):
        shared.begin(worker)
    assert shared.rest(0, 100) == pytest.approx(300)  # 100 of 400 s: two of eight at once
    assert shared.rest(1, 0) == 0  # done, and no longer counted
    shared.leave(2)
    shared.begin(1)
    assert shared.rest(1, 10) == pytest.approx(25)
    assert shared.rest(3, 10) == pytest.approx(25)


def test_a_step_that_somebody_waits_for_begins_before_play_may_go_on() -> None:
    lanes = Alone()
    player = Player(lanes.session, lambda _: None)

    def pause(kind: str) -> float | None:
        player._work(lambda: lanes.ask(kind))
        return player._pause()

    lanes.ask("open", text=TEXT, aqms=["pi"], sample=0.1)
    player._next_step = time.monotonic() + AT_ONCE - 1
    assert pause("play") == pytest.approx(AT_ONCE - 1, abs=0.5)
    assert pause("step") == 0
    player._next_step += 11  # what many steps have come to owe
    assert pause("step") == pytest.approx(10, abs=0.5)


def test_a_client_that_leaves_before_its_answer_does_not_end_the_thread() -> None:
    player = Player(Alone().session, lambda _: None)
    gone = player.do(lambda: pytest.fail("nobody wants the answer"))
    assert gone.cancel()
    wanted = player.do(lambda: "answered")
    worker = threading.Thread(target=player.run)
    worker.start()
    assert wanted.result(timeout=30) == "answered"
    player.close(lambda: None)
    worker.join(timeout=30)
    assert not worker.is_alive()


def test_nobody_waits_for_the_large_text_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed(
        tmp_path, monkeypatch, "import time\nfrom aqmlab.studio import turns\nturns.LARGE_TEXTS.submit(time.sleep, 1e6)"
    )
    with serving() as server:
        server.enter()
        with tab(server) as reader, tab(server) as other:
            reader.say("open", text=LARGE, aqms=["pi"])
            other.open(TEXT, ["pi"])
            assert server.json("/api/check", {"text": TEXT})["problems"] == []


def test_what_cannot_be_shown_is_refused(studio: Server) -> None:
    with tab(studio) as page:
        crowd = {"text": TEXT + CROWD, "aqms": ["pi", "red"]}
        answer = page.ask("open", **crowd)
        why = "1 links and 301 groups of flows; in 2 lanes the studio shows 300 together, and 10,000 pairs"
        assert answer["problems"][0]["message"] == why
        assert studio.json("/api/check", crowd)["problems"] == answer["problems"]
        page.open(TEXT + CROWD, ["pi"])
        answer = page.ask("open", scenario="networks/leaf-spine-1k", aqms=["pi", "codel"])
        assert "columns of samples; at most 20,000" in answer["problems"][0]["message"]


def test_changes_by_hand_are_bounded() -> None:
    lanes = Alone()
    lanes.ask("open", text=TEXT, aqms=[None, "pi"])
    for i in range(1000):
        changed = lanes.ask("set", path="links.bottleneck.rate", value=f"{10 + i} Mbit/s", lane=1)
    assert [len(lane["changes"]) for lane in changed["lanes"]] == [0, 1000]
    for answer in (
        lanes.ask("set", path="links.bottleneck.rate", value="1 Mbit/s"),
        lanes.ask("halve", group="ftp"),
    ):
        assert "1000 changes by hand; open the scenario again" in answer["problems"][0]["message"]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [' + ", ".join(["[]"] * 3000) + "]}",
        '{"a": [' + ", ".join(["9" * 400] * 20) + "]}",
        '{"a": [' + ", ".join(['""'] * 1200) + "]}",
        '{"a": "' + 10_000 * '\\"' + '", "b": ' + 6000 * " " + "1}",
    ],
    ids=["lists", "integers", "texts", "spaces"],
)
def test_a_message_with_much_outside_of_its_texts_is_refused_unread(text: str) -> None:
    json.loads(text)
    with pytest.raises(InputError, match="more than 5000 characters outside of texts, or 1000 texts"):
        field.read(text)


def test_a_message_with_long_texts_is_read() -> None:
    long = {"type": "open", "text": 'a "b" \\ \n' * 50_000, "aqms": ["pi"] * 8}
    assert field.read(json.dumps(long)) == long
    for text in ('{"type": "open', '{"a": "\\x"}', '"', '{"a": "\n"}'):
        with pytest.raises(InputError, match="message: is not JSON"):
            field.read(text)


class Flood:
    """A WebSocket on which messages have come faster than they are answered."""

    def __init__(self, count: int) -> None:
        self.left, self.answered = count, 0

    async def receive(self) -> dict[str, str]:
        self.left -= 1
        return {"text": "0"} if self.left >= 0 else {}

    async def send_text(self, _: str) -> None:
        self.answered += 1

    async def close(self, _: int) -> None:
        pass


def test_a_flood_of_messages_lets_others_have_their_turn(studio: Server) -> None:
    turns_of_others = 0

    async def go_on() -> None:
        nonlocal turns_of_others
        while True:
            await asyncio.sleep(0)
            turns_of_others += 1

    async def both() -> int:
        others, flood = asyncio.ensure_future(go_on()), Flood(100)
        await Session(cast(Any, flood), lambda name: name).run()
        others.cancel()
        return flood.answered

    assert asyncio.run(both()) == 100
    assert turns_of_others >= 100
    with tab(studio) as flooding, tab(studio) as other:
        count = 2 * READ
        flooding.socket.socket.sendall(b"\x81\x81\x00\x00\x00\x000" * count)
        assert "nothing is open" in other.ask("pause")["problems"][0]["message"]
        for _ in range(count):
            assert flooding.wait_for("problem")["problems"][0]["message"] == "expected a JSON object"


def test_who_leaves_without_a_word_leaves_no_error() -> None:
    with serving() as server:
        server.enter()
        for unread in (0, 200):
            with tab(server) as page:
                page.open(LONG, ["pi", "red"])
                page.ask("speed", speed=1)
                page.ask("play")
                page.say("export", what="report")
                for _ in range(unread):
                    page.say("play")
                page.socket.socket.shutdown(socket.SHUT_RDWR)
        with tab(server) as page:
            page.open(TEXT, ["pi"])
        server.process.terminate()
        assert server.process.stderr is not None
        assert "Error" not in server.process.stderr.read()


def test_an_export_that_runs_beside_too_many_others_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lanes = Alone()
    lanes.ask("open", text=TEXT, name="small", aqms=["pi"])
    for what in ("json", "csv", "report", "toml"):
        lanes.ask("export", what=what)
    *running, toml = lanes.exports
    for asked in running:
        assert export.KINDS[asked.what](asked, Watch())[2]
    monkeypatch.setattr(export, "RUNS", turns.threading.BoundedSemaphore(1))
    export.RUNS.acquire()
    for asked in running:
        with pytest.raises(InputError, match="export: other sessions have runs for their exports under way"):
            export.KINDS[asked.what](asked, Watch())
    assert export.KINDS["toml"](toml, Watch())[2]


def test_a_session_that_ends_gives_its_memory_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed(tmp_path, monkeypatch, "from aqmlab.studio.budget import POOL\nPOOL.own, POOL.common = 0, 2.2e6")
    with serving() as server:
        server.enter()
        with tab(server) as first, tab(server) as second:
            first.open(TEXT.replace("count = 10", "count = 1000"), ["pi"])
            many = {"text": TEXT.replace("count = 10", "count = 1000"), "aqms": ["pi"]}
            assert second.ask("open", **many)["problems"][0]["field"] == "memory"
            first.socket.close()
            for _ in range(200):  # until the server has heard of it
                if second.ask("open", **many)["type"] == "opened":
                    return
                time.sleep(0.05)
            pytest.fail("it is held for ever")
