"""Whatever a stranger's file says: an answer or an InputError, never another exception.

Cases a test: AQMLAB_FUZZ (`make nightly` says how many), else 300, from a fixed seed. The readers in Rust (scenarios,
traces, packets, logs) have theirs: `crates/scenario/tests/scenario/any_text.rs`, `crates/live/src/fuzz.rs`, `packet.rs`
and `replay.rs`, `crates/quic/src/log.rs`; so has the studio's page: `studio/test/share.test.ts`.
"""

import asyncio
import io
import json
import os
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.websockets import WebSocket

import aqmlab as lab
from aqmlab import _core, scenario, tc
from aqmlab.bundle import archive, artefact
from aqmlab.fit import captures, readers
from aqmlab.gym import policy
from aqmlab.studio.session import Session
from captured import pcap, pcapng
from conftest import SMALL
from studio_client import Alone
from test_fit_captures import both_ends, upload
from test_fit_files import FLENT, IRTT, TC
from test_gym_policy import document

CASES = int(os.environ.get("AQMLAB_FUZZ", "300"))

ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    1e308,
    float("nan"),
    float("inf"),
    10**30,
    "",
    "x",
    "../x",
    "x.py",
    "\x1b[2J",
    "\0",
    "<b>",
]
ODD += [[], [[]], {}, {"a": 1}, [None] * 3, "1e5", "schemes/a.py", "red:min=x", "é" * 300]


def mutated(draw: random.Random, data: bytes) -> bytes:
    """Bytes with a few changed, left out, doubled or cut off."""
    changed = bytearray(data)
    for _ in range(draw.randrange(1, 6)):
        if not changed:
            break
        at = draw.randrange(len(changed))
        match draw.randrange(6):
            case 0:
                changed[at] ^= 1 << draw.randrange(8)
            case 1:
                changed[at : at + 4] = draw.choice([b"\xff\xff\xff\xff", b"\0\0\0\0", b"\1\0\0\0", b"PK\1\2"])
            case 2:
                del changed[at : at + draw.randrange(1, 40)]
            case 3:
                changed[at:at] = changed[max(0, at - 40) : at]
            case 4:
                changed[at] = draw.randrange(256)
            case _:
                if draw.random() < 0.2:
                    del changed[at:]
    return bytes(changed)


def odd(draw: random.Random, value: Any) -> Any:
    """A JSON value with one place somewhere in it made odd, left out or named otherwise."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        name = draw.choice(list(value))
        if draw.random() < 0.1:
            return {
                **{each: value[each] for each in value if each != name},
                draw.choice(["x", "", "../x"]): value[name],
            }
        return {**value, name: odd(draw, value[name])}
    if isinstance(value, list) and value and draw.random() < 0.9:
        at = draw.randrange(len(value))
        return [*value[:at], odd(draw, value[at]), *value[at + 1 :]]
    return draw.choice(ODD)


def hold(read: Callable[[], object]) -> bool:
    """Say whether something was read; InputError is an answer, too."""
    try:
        read()
    except lab.InputError:
        return False
    return True


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """A small bundle with a scheme of its own, and two runs made up."""
    result = {
        "links": {"a": {"queue_mean": 1.5, "drops": {"early": 1}}},
        "flows": {},
        "total": {"jain": 1.0},
        "events": 3,
    }
    runs = [artefact.BundledRun("small", (("duration", "1 s"),), aqm, 1, result) for aqm in ("red", "own")]
    made = {"aqmlab": "0.1.0", "commit": "x", "source": "x", "build": "x", "python": "x", "system": "x"}
    about = artefact.about(
        "Made up",
        made,
        command="x",
        scenarios={"small": "scenarios/small.toml"},
        schemes={"own": "schemes/own.py"},
        study=None,
    )
    return {
        artefact.ABOUT: about,
        artefact.RUNS: artefact.lines(runs),
        artefact.SUMMARY: artefact.summary(runs),
        "scenarios/small.toml": SMALL.read_bytes(),
        "schemes/own.py": b"raise SystemExit('was run')\n",
    }


def test_any_bytes_of_a_bundle(files: dict[str, bytes]) -> None:
    draw, packed = random.Random(1), archive.pack(files)
    found = archive._of_zip(io.BytesIO(packed), len(packed), "bundle")
    read = 0
    for _ in range(CASES):
        data = mutated(draw, packed)
        read += hold(lambda data=data: archive._of_zip(io.BytesIO(data), len(data), "bundle"))
    assert read < CASES
    assert {*found} == {*files, archive.MANIFEST}


def test_anything_that_a_bundle_says(files: dict[str, bytes]) -> None:
    draw = random.Random(2)
    about, lines = json.loads(files[artefact.ABOUT]), files[artefact.RUNS].decode().splitlines()
    for _ in range(CASES):
        told = odd(draw, about) if draw.random() < 0.5 else about
        runs = [json.dumps(odd(draw, json.loads(line))) if draw.random() < 0.5 else line for line in lines]
        text = {artefact.ABOUT: json.dumps(told).encode(), artefact.RUNS: "".join(f"{run}\n" for run in runs).encode()}
        if draw.random() < 0.2:
            name = draw.choice(list(text))
            text[name] = mutated(draw, text[name])

        def read(text: dict[str, bytes] = text) -> None:
            found = artefact.read({**files, **text})
            artefact.summary(found.runs)
            for run in found.runs:
                assert run.aqm in found.schemes or ".py" not in run.aqm
                hold(lambda run=run: _core.Scenario.parse(found.scenarios[run.scenario], run.scenario, list(run.set)))

        hold(read)


def test_any_policy(tmp_path: Path) -> None:
    draw, good = random.Random(3), document()
    small = {**good, "samples": good["samples"][:2], "answers": good["answers"][:2]}
    path, written = tmp_path / "model.zip", 0
    for _ in range(max(300, CASES // 20)):  # each is a text to compile
        text = json.dumps(odd(draw, small)).encode()
        with zipfile.ZipFile(path, "w") as file:
            file.writestr(policy.ENTRY, mutated(draw, text) if draw.random() < 0.3 else text)
        if draw.random() < 0.1:
            path.write_bytes(mutated(draw, path.read_bytes()))
        written += hold(lambda: policy.export(path, "Mine"))
    assert written > 0


def test_any_scenario_with_traces(tmp_path: Path) -> None:
    """What Python reads of a scenario before Rust does."""
    (tmp_path / "cell").write_text("1\n2\n")
    draw, text = random.Random(4), SMALL.read_text().replace('"10 Mbit/s"', '{ trace = "cell" }')
    assert hold(lambda: scenario.with_traces(text, tmp_path))
    for _ in range(CASES):
        changed = mutated(draw, text.encode()).decode("utf-8", "replace")

        def read(changed: str = changed) -> None:
            _core.Scenario.parse(scenario.with_traces(changed, tmp_path), "any", [])

        hold(read)


def test_any_line_of_tc() -> None:
    draw = random.Random(5)
    lines = [
        "tc qdisc add dev eth0 root fq_codel limit 1000 target 5ms",
        "tc qdisc add dev eth0 root cake bandwidth 10Mbit",
    ]
    words = [
        *" ".join(lines).split(),
        "-1",
        "1e9",
        "99999999999999999999",
        "red",
        "pie",
        "dualpi2",
        "sfb",
        "\0",
        "\n",
        "%",
        "ms",
    ]
    for _ in range(CASES):
        said = draw.choice(lines).split()
        for _ in range(draw.randrange(1, 5)):
            said[draw.randrange(len(said))] = draw.choice(words)
        hold(lambda said=said: tc.read(" ".join(said)))


OPENING: dict[str, Any] = {
    "scenario": "small",
    "name": "mine",
    "aqms": ["pi", None, "red:max_p=0.2"],
    "seed": 3,
    "sample": 0.1,
    "flows": [["ftp", 0]],
    "blast": "bottleneck",
}
"""What a link of the studio opens a run with."""
CHANGES: list[dict[str, Any]] = [
    {"path": "links.bottleneck.rate", "value": "6 Mbit/s", "lane": None},
    {"path": "flows.ftp.count", "value": "4", "lane": 1},
    {"path": "links.bottleneck.aqm", "value": "codel", "lane": 0},
]


def known(name: str) -> str:
    """Find the one scenario that there is."""
    if name != "small":
        raise lab.InputError("scenario", f"{name}: no scenario of this name")
    return SMALL.read_text()


def test_any_opening_of_a_link() -> None:
    draw, opened = random.Random(6), 0
    lanes = Alone(scenario=known)
    assert lanes.ask("open", **OPENING)["type"] == "opened"
    for _ in range(CASES):
        message = odd(draw, OPENING)
        if draw.random() < 0.3:
            message = {**OPENING, "text": mutated(draw, SMALL.read_bytes()).decode("utf-8", "replace")}
        answer = lanes.ask(**{**message, "kind": "open", "id": 1}) if isinstance(message, dict) else {"type": "problem"}
        assert answer["type"] in ("opened", "problem")
        opened += answer["type"] == "opened"
    assert 0 < opened < CASES


class Tab:
    """A tab without a network: it says these messages, and keeps what it is told."""

    def __init__(self, messages: list[str]) -> None:
        self._messages = iter(messages)
        self.told: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, str]:
        """Return the next message, or none when it is closed."""
        message = next(self._messages, None)
        return {} if message is None else {"text": message}

    async def send_text(self, text: str) -> None:
        """Be told something."""
        self.told.append(json.loads(text))

    async def send_bytes(self, frame: bytes) -> None:
        """Be shown a frame."""

    async def close(self, code: int) -> None:
        """Be closed."""


async def answers(messages: list[str]) -> list[dict[str, Any]]:
    """Return what a session answers."""
    tab = Tab(messages)
    await Session(cast(WebSocket, tab), known).run()
    return tab.told


def test_any_link_is_repeated_or_refused() -> None:
    """What the page asks for when it repeats a link, whatever the link says: an answer or a problem, and no fault."""
    draw, kinds = random.Random(7), set()
    for _ in range(max(60, CASES // 20)):  # each has a thread and three simulations
        asked = [{"type": "set", **change} for change in CHANGES] + [{"type": "play", "until": 0.2}]
        asked = [{"type": "open", **OPENING}, {"type": "speed", "speed": None}, *asked]
        messages = [{**message, "id": i} for i, message in enumerate(asked)]
        for _ in range(draw.randrange(1, 4)):
            at = draw.randrange(len(messages))
            made = odd(draw, messages[at])
            messages[at] = made if isinstance(made, dict) else {**messages[at], draw.choice(["lane", "id"]): made}
        told = asyncio.run(answers([json.dumps(message) for message in messages]))
        kinds |= {message["type"] for message in told}
        problems = [problem["message"] for message in told for problem in message.get("problems", [])]
        assert not any("please report" in problem for problem in problems), (messages, problems)
    assert {"opened", "changed", "state", "problem"} <= kinds


CAPTURES = [pcap(upload()), pcap(upload(), link=1, before=bytes(12) + b"\x08\0"), pcapng(upload())]


def test_any_bytes_of_a_capture(tmp_path: Path) -> None:
    draw, path, read = random.Random(8), tmp_path / "any", 0
    for _ in range(CASES):
        path.write_bytes(mutated(draw, draw.choice(CAPTURES)))
        read += hold(lambda: readers.read(path))
    assert 0 < read < CASES


def test_any_two_captures(tmp_path: Path) -> None:
    near, far, _ = both_ends(1.0, 1e-5)
    draw, whole, joined = random.Random(9), [pcap(near[:60]), pcapng(far[:60])], 0
    (tmp_path / "far").write_bytes(whole[1])
    for _ in range(max(100, CASES // 10)):
        (tmp_path / "near").write_bytes(mutated(draw, whole[0]))
        joined += hold(lambda: captures.joined(*(readers.read(tmp_path / name) for name in ("near", "far"))))
    assert joined > 0


RESULT = {"schema": 1, "scenario": "x", "aqm": "red", "links": {"a": {"capacity": 1e7}}, "flows": {"f": {"goodput": 1}}}


@pytest.mark.parametrize("made", [FLENT, IRTT, TC, RESULT], ids=["flent", "irtt", "tc", "result"])
def test_anything_that_a_measurement_says(made: Any, tmp_path: Path) -> None:
    draw, path, read = random.Random(10), tmp_path / "any", 0
    for _ in range(CASES):
        (tmp_path / "series.csv").write_bytes(mutated(draw, b"time,a.queue,a.sojourn\n0.01,3,0.002\n0.02,4,0.003\n"))
        data = json.dumps(odd(draw, made)).encode()
        path.write_bytes(mutated(draw, data) if draw.random() < 0.3 else data)
        read += hold(lambda: readers.read(path))
    assert 0 < read < CASES
