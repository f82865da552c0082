"""Measure the studio's response time for honest sessions while hostile sessions send the worst known messages.

The server, the honest sessions and the hostile sessions are three processes of this machine. The honest sessions are
measured alone first, for a tenth of the time. `--seconds` is the time with both.
"""

import argparse
import json
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect

from aqmlab.studio.gate import LARGEST_BODY

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from studio_client import Server, Tab, serving, tab  # type: ignore[import-not-found]

GOAL_MS, GOAL_BYTES = 100.0, 2.5e9
TOKEN = "measured-by-a-bench"
THINKS = (0.2, 1.5)
"""Seconds between two messages of an honest session, drawn between these."""
LESSONS = [
    ("home/call", ["droptail", "codel", "fq-codel"]),
    ("li2014/table-1", ["pi", "red"]),
    ("home/rrul", ["pie", "cake"]),
    ("link/mix", ["codel", "pi2", "fq-codel", "droptail"]),
]
"""Scenarios that honest sessions open; the page opens the first by default."""
PATIENCE = 30.0
"""Seconds after which an honest session without an answer is given up."""
PLAYED = 3.0
"""Seconds for which a hostile session plays its scenario."""


# ---- Honest sessions.


@dataclass
class Honest:
    """The measurements of the honest sessions."""

    answers: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Seconds until an answer, by kind of message."""
    problems: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)

    def all(self) -> list[float]:
        """Return the times of all answers."""
        return [each for times in self.answers.values() for each in times]


def honest(server: Server, seen: Honest, until: float, number: int) -> None:
    """Use the studio as somebody at a desk does, again in a new tab where one was ended."""
    draw = random.Random(number)
    while time.monotonic() < until:
        try:
            with tab(server) as page:
                while time.monotonic() < until:
                    _lesson(Desk(server, page, seen, draw, until), number)
                    number += 1
        except (ConnectionClosed, InvalidHandshake, OSError, AssertionError) as error:
            seen.ended[f"{type(error).__name__}: {error}"[:150]] += 1


@dataclass(frozen=True)
class Desk:
    """One who looks, thinks and asks."""

    server: Server
    page: Tab
    seen: Honest
    draw: random.Random
    until: float

    def ask(self, kind: str, thinks: float = 1, **message: object) -> dict[str, Any]:
        """Ask, measure the answer, think about it while frames come, and return it."""
        if time.monotonic() >= self.until:
            return {}
        began = time.monotonic()
        self.page.say(kind, id="asked", **message)
        try:
            answer: dict[str, Any] = self.page.wait(lambda told: told.get("id") == "asked", PATIENCE)
        except TimeoutError as error:
            raise TimeoutError(f"no answer to {kind} {message} in {PATIENCE:g} s") from error
        self._note(kind, began, answer.get("problems"), thinks)
        return answer

    def check(self, text: str) -> None:
        """Have a text checked, as the editor does."""
        began = time.monotonic()
        self._note("check", began, self.server.json("/api/check", {"text": text, "aqms": ["pie"]})["problems"])

    def _note(self, kind: str, began: float, problems: Any, thinks: float = 1) -> None:
        self.seen.answers[kind].append(time.monotonic() - began)
        if problems:
            self.seen.problems[f"{kind}: {problems[0]['message']}"[:150]] += 1
        end = min(time.monotonic() + thinks * self.draw.uniform(*THINKS), self.until)
        while (left := end - time.monotonic()) > 0:
            with suppress(TimeoutError):
                self.page.receive(left)
        self.page.frames.clear()
        self.page.told.clear()


def _lesson(desk: Desk, number: int) -> None:
    """Open, play, change, mark, go back, and look at the text."""
    scenario, aqms = LESSONS[number % len(LESSONS)]
    text = desk.server.json(f"/api/scenario/{scenario}")["text"]
    link, group = (re.search(rf"\[\[{what}\]\]\s*name = \"(.*?)\"", text) for what in ("links", "flows"))
    assert link is not None
    assert group is not None
    desk.page.say("view", span=20, pixels=1200)
    desk.ask("open", 0, scenario=scenario, aqms=aqms, blast=link[1])
    desk.ask("speed", 0, speed=2)
    desk.ask("play")
    desk.ask("set", path=f"links.{link[1]}.rate", value="20 Mbit/s")
    marks = desk.ask("mark", name="before").get("marks") or [{}]
    desk.ask("set", path="flows.blast.count", value="4")
    desk.ask("halve", group=group[1])
    desk.check(text)
    desk.ask("pause")
    desk.ask("step")
    desk.ask("export", what="toml")
    desk.ask("rewind", mark=marks[-1].get("mark"))
    desk.ask("speed", speed=None)
    desk.ask("play")
    desk.ask("set", path=f"links.{link[1]}.aqm", value="codel", lane=1)
    desk.ask("pause")


# ---- Hostile sessions.

LINK = 'schema = 1\nduration = "1000 s"\n[[links]]\nname = "l"\nrate = "{rate}"\nbuffer = "{buffer}"\n'
GROUP = '[[flows]]\nname = "{name}"\ncount = {count}\nrtt = "20 ms"\n{more}'
SHORT = 'kind = "short"\narrivals = "1000 kHz"\nsize = "10 packets"\n'
FLOOD = 'kind = "udp-cbr"\nrate = "2 Gbit/s"\n'
EIGHT = ["droptail", "red", "pi", "codel", "pie", "fq-codel", "pi2", "cake"]


def scenario(groups: int = 1, count: int = 1, more: str = "", rate: str = "10 Mbit/s", buffer: int = 100) -> str:
    """Return a text with so many groups of flows."""
    flows = (GROUP.format(name=f"w{i or ''}", count=count, more=more) for i in range(groups))
    return LINK.format(rate=rate, buffer=f"{buffer} packets") + "".join(flows)


def opening(text: str, aqms: Sequence[str]) -> str:
    """Return the message that opens a text."""
    return json.dumps({"type": "open", "id": "h", "text": text, "aqms": aqms})


def message(kind: str, **fields: object) -> str:
    """Return a message that is answered."""
    return json.dumps({"type": kind, "id": "h", **fields})


def whole(text: Callable[[int], str], most: int = LARGEST_BODY - 1000) -> str:
    """Return the longest of some texts that is no longer than a message may be."""
    low, high = 1, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(text(middle)) <= most else (low, middle - 1)
    return text(low)


@dataclass
class Hostile:
    """One hostile session, and what became of its messages."""

    host: str
    cookie: str
    until: float
    counts: Counter[str] = field(default_factory=Counter)

    def connected(self) -> ClientConnection:
        """Return a session."""
        return connect(
            f"ws://{self.host}/session",
            additional_headers={"Cookie": self.cookie, "Origin": f"http://{self.host}"},
            compression=None,
            max_size=None,
        )

    def going_on(self) -> Iterator[ClientConnection]:
        """Yield the session as often as time allows, a new one after each end."""
        while time.monotonic() < self.until:
            try:
                with self.connected() as session:
                    while time.monotonic() < self.until:
                        yield session
            except (ConnectionClosed, InvalidHandshake, OSError):
                self.counts["ended"] += 1
                time.sleep(0.05)

    def ask(self, session: ClientConnection, text: str, seconds: float = 600) -> str:
        """Send a message and wait for its answer; return the type of that, "" where there is none in time."""
        session.send(text)
        self.counts["sent"] += 1
        end = time.monotonic() + seconds
        with suppress(TimeoutError):
            while (left := min(end, self.until) - time.monotonic()) > 0:
                data = session.recv(timeout=left)
                if isinstance(data, str) and ('"id": "h"' in data[-30:] or data.startswith('{"type": "problem"')):
                    found = data[10 : data.index('"', 10)]
                    self.counts["refused" if found == "problem" else "answered"] += 1
                    return found
        return ""

    def repeat(self, *messages: str) -> None:
        """Send messages in turn, each as soon as the one before is answered."""
        sessions = self.going_on()
        for i, session in enumerate(sessions):
            self.ask(session, messages[i % len(messages)])

    def play(self, opened: str, *after: str) -> None:
        """Open and play at full speed, and send messages meanwhile."""
        for session in self.going_on():
            if self.ask(session, opened) != "opened":
                continue
            self.ask(session, message("play"))
            began = time.monotonic()
            for each in after:
                self.ask(session, each)
            while (left := began + PLAYED - time.monotonic()) > 0:
                with suppress(TimeoutError):
                    data = session.recv(timeout=left)
                    if isinstance(data, bytes):
                        session.send(json.dumps({"type": "seen", "sequence": int.from_bytes(data[8:12], "little")}))

    def flood(self, *messages: str) -> None:
        """Send tiny messages without waiting for an answer."""

        def read(session: ClientConnection) -> None:
            with suppress(ConnectionClosed, OSError):
                for data in session:
                    refused = isinstance(data, str) and data.startswith('{"type": "problem"')
                    self.counts["refused" if refused else "answered"] += isinstance(data, str)

        readers = set()
        for session in self.going_on():
            if session not in readers:
                readers.add(session)
                threading.Thread(target=read, args=(session,), daemon=True).start()
            for each in messages:
                session.send(each)
                self.counts["sent"] += 1

    def leave(self) -> None:
        """Connect, play and leave without a word; leave half a message, and half a request."""
        while time.monotonic() < self.until:
            try:
                with self.connected() as session:
                    self.ask(session, opening(scenario(), EIGHT))
                    session.send(message("play"))
                    session.socket.shutdown(socket.SHUT_RDWR)
                with self.connected() as session:  # the head of a frame says 1 MB
                    session.socket.sendall(b"\x81\xff\x00\x00\x00\x00\x00\x0f\xff\xff1234" + 1000 * b"[")
                    session.socket.shutdown(socket.SHUT_RDWR)
                host, _, port = self.host.partition(":")
                with socket.create_connection((host, int(port)), timeout=60) as line:
                    line.sendall(b"POST /api/check HTTP/1.1\r\nHost: " + self.host.encode() + b"\r\nContent-Le")
                self.counts["left"] += 3
            except (ConnectionClosed, InvalidHandshake, OSError):
                self.counts["ended"] += 1
                time.sleep(0.05)


def _lists(text: str) -> Callable[[int], str]:
    return lambda n: f'{{"type": "pause", "id": "h", "more": [{", ".join([text] * n)}]}}'


def worst() -> dict[str, Callable[[Hostile], None]]:
    """Return the worst messages that are known, each of one hostile session."""
    large, lines = whole(lambda n: opening(scenario(n), ["pi"])), opening(scenario(2500), EIGHT[:4])
    long, deep, wide = whole(_lists(400 * "9")), whole(_lists(96 * "[" + 96 * "]")), whole(_lists("[]"))
    short = opening(scenario(more=SHORT, rate="10 Gbit/s"), EIGHT)
    slow = opening(scenario(more=FLOOD, rate="1 bit/s", buffer=10_000_000), EIGHT[:1] * 8)
    million = message("set", path="flows.w.count", value="1000000")
    change, mark = message("set", path="links.l.rate", value="11 Mbit/s"), message("mark", name="m")
    return {
        "text of 1 MB": lambda it: it.repeat(large),
        "10,000 lines, four lanes": lambda it: it.repeat(lines),
        "a million flows": lambda it: it.play(opening(scenario(), ["pi"]), million, mark),
        "speed 1e-300, endless changes": lambda it: it.play(
            opening(scenario(), EIGHT), message("speed", speed=1e-300), *2000 * [change]
        ),
        "integers of 400 digits": lambda it: it.repeat(long, message("speed", speed=10**400)),
        "JSON of 100 levels": lambda it: it.repeat(deep, wide),
        "short flows at 1 MHz": lambda it: it.play(short),
        "10 million packets at 1 bit/s": lambda it: it.play(slow, *16 * [mark]),
        "tiny messages": lambda it: it.flood("0", '{"type":"pause"}', "{}"),
        "connections left": Hostile.leave,
    }


def attack(host: str, cookie: str, seconds: float, number: int, only: str | None) -> None:
    """Run hostile sessions in this process; print the fate of their messages."""
    known = {name: act for name, act in worst().items() if only in (None, name)}
    until = time.monotonic() + seconds
    names = [list(known)[i % len(known)] for i in range(number)]
    sessions = [(name, Hostile(host, cookie, until)) for name in names]
    threads = [threading.Thread(target=known[name], args=(session,), daemon=True) for name, session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0, until + 5 - time.monotonic()))
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for name, session in sessions:
        found[name] += session.counts
    print(json.dumps(found))


# ---- Both together.


def use(server: Server, seconds: float, sessions: int) -> Honest:
    """Run honest sessions."""
    seen, until = Honest(), time.monotonic() + seconds
    threads = [threading.Thread(target=honest, args=(server, seen, until, i), daemon=True) for i in range(sessions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0, until + PATIENCE - time.monotonic()))
    return seen


def peak(server: Server) -> float:
    """Return the most bytes that the server has held in memory."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return next(1024.0 * int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def show(title: str, seen: Honest, memory: float) -> None:
    """Print how soon the honest were answered."""
    print(f"\n{title}: largest {memory / 1e6:.0f} MB, {sum(seen.ended.values())} honest sessions ended")
    print(f"{'message':12}{'answers':>9}{'p50, ms':>10}{'p99, ms':>10}{'most, ms':>10}")
    for kind, times in [*sorted(seen.answers.items()), *([("all", seen.all())] if seen.answers else [])]:
        print(f"{kind:12}{len(times):9}{_part(times, 50):10.1f}{_part(times, 99):10.1f}{1e3 * max(times):10.1f}")
    for what, number in [*seen.problems.most_common(5), *seen.ended.most_common(5)]:
        print(f"  {number} x {what}")


def _part(times: Sequence[float], percent: int) -> float:
    """Return a percentile, ms."""
    return 1e3 * (quantiles(times, n=100, method="inclusive")[percent - 1] if len(times) > 1 else times[0])


def show_hostile(found: Mapping[str, Mapping[str, int]]) -> None:
    """Print what became of the messages of the hostile."""
    columns = ("sent", "answered", "refused", "left", "ended")
    print(f"\n{'hostile':32}" + "".join(f"{column:>10}" for column in columns))
    for name, counts in found.items():
        print(f"{name:32}" + "".join(f"{counts.get(column, 0):10}" for column in columns))


def main() -> None:
    """Measure the honest sessions alone, then with the hostile ones; print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--honest", type=int, default=10, help="sessions")
    parser.add_argument("--hostile", type=int, default=10, help="sessions")
    parser.add_argument("--only", metavar="NAME", help="one kind of hostile session")
    parser.add_argument("--attack", nargs=2, metavar=("HOST", "COOKIE"), help="hostile sessions alone, in this process")
    options = parser.parse_args()
    if options.attack:
        host, cookie = options.attack
        attack(host, cookie, options.seconds, options.hostile, options.only)
        return
    with serving("--token", TOKEN) as server:
        server.enter()
        server.json("/api/catalogue")  # as the page does; it is made once
        complaints: list[str] = []
        threading.Thread(target=complaints.extend, args=(server.process.stderr,), daemon=True).start()
        show("alone", use(server, max(options.seconds / 10, 15), options.honest), peak(server))
        rest = ["--seconds", str(options.seconds), "--hostile", str(options.hostile)]
        rest += ["--only", options.only] if options.only else []
        # Hostile clients have machines of their own: here they leave the processor to the server.
        command = ["nice", "-n", "10", sys.executable, __file__, "--attack", server.host, server.cookie, *rest]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as attackers:
            seen = use(server, options.seconds, options.honest)
            printed, _ = attackers.communicate()
        memory = peak(server)
        show("beside hostile sessions", seen, memory)
        show_hostile(json.loads(printed))
        print(f"\nlines of errors from the server: {len(complaints)}", *complaints[-5:])
    is_met = seen.answers and _part(seen.all(), 99) < GOAL_MS and memory < GOAL_BYTES and not seen.ended
    print(
        f"\np99 below {GOAL_MS:g} ms, memory below {GOAL_BYTES / 1e9:g} GB, no session ended:",
        "met" if is_met else "missed",
    )


if __name__ == "__main__":
    main()
