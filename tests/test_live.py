"""Real traffic behind an emulated line: what the command gets, what is measured, and that nothing is left.

The tests need user namespaces and /dev/net/tun; where the machine refuses, they are skipped and say what it said.
"""

import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from aqmlab._core import InputError
from aqmlab.runs import live
from conftest import COMMAND, Aqmlab, live_fault

SINK = """
import socket, threading
def drain(peer):
    while peer.recv(1 << 16): pass
server = socket.create_server(("", 5000))
while True: threading.Thread(target=drain, args=server.accept()[:1], daemon=True).start()
"""
"""Takes all that it is sent over TCP."""

SEND = """
import socket, sys, time
peer, end = socket.create_connection(("server", 5000)), time.monotonic() + float(sys.argv[1])
while time.monotonic() < end: peer.sendall(bytes(1 << 16))
"""
"""Sends for so many seconds over TCP."""

FLOOD = """
import socket, sys, time
peer, end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    for _ in range(20): peer.sendto(bytes(972), ("server", 5000))
    time.sleep(0.005)
"""
"""Sends 1000-byte datagrams, 32 Mbit/s at most, for so many seconds."""

HOLE = """
import socket
hole = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
hole.bind(("", 5000))
while True: hole.recv(2000)
"""
"""Takes datagrams."""


def python(script: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", script, *map(str, arguments)]


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Lines for `--serve` by the name of the script."""
    folder = tmp_path_factory.mktemp("serve")
    found = {}
    for name, script in (("sink", SINK), ("hole", HOLE)):
        (folder / f"{name}.py").write_text(script)
        found[name] = f"exec {sys.executable} {folder / name}.py"
    return found


@pytest.fixture(autouse=True, scope="session")
def machine() -> None:
    """Skip where the machine has no user namespaces or no TUN devices."""
    if fault := live_fault():
        pytest.skip(fault)


def document(finished: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    assert finished.returncode == 0, finished.stderr
    found: dict[str, Any] = json.loads(finished.stdout)
    return found


LINE = ("--rate", "10Mbit/s", "--rtt", "20ms", "--buffer", "100ms")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("exit 0", 0),
        ("exit 3", 3),
        ("kill -9 $$", 137),
        ("kill -TERM $$", 143),
        ("test $(id -u) = " + str(os.getuid()), 0),
    ],
)
def test_the_code_is_that_of_the_command(command: str, code: int, aqmlab: Aqmlab) -> None:
    assert aqmlab("live", *LINE, "--", "sh", "-c", command).returncode == code


def test_what_cannot_be_started_has_the_code_of_a_shell(aqmlab: Aqmlab, tmp_path: Path) -> None:
    missing = aqmlab("live", *LINE, "--", "no-such-program")
    assert (missing.returncode, missing.stdout) == (127, "")
    assert missing.stderr.startswith("Error: no-such-program: No such file")
    (tmp_path / "plain").write_text("no program")
    assert aqmlab("live", *LINE, "--", "./plain").returncode == 126


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--", "true"], "rate: missing"),
        (["--rate", "fast", "--", "true"], 'rate: "fast" is not a rate'),
        (["--rate", "1Mbit/s", "--rtt", "long", "--", "true"], 'rtt: "long"'),
        (["--rate", "1Mbit/s", "--mtu", "10", "--", "true"], "mtu: 10"),
        (["--rate", "1Mbit/s", "--aqm", "codle", "--", "true"], "codel"),
        (["--rate", "1Mbit/s", "ping", "server"], "behind --"),
        (["home/call", "--up", "1Mbit/s", "--", "true"], "up: 1Mbit/s: describes a line"),
        (["rfc7928/mixed", "--", "true"], "scenario"),
    ],
)
def test_bad_input_is_refused(arguments: list[str], why: str, aqmlab: Aqmlab) -> None:
    refused = aqmlab("live", *arguments)
    assert (refused.returncode, refused.stdout) == (2, ""), refused.stderr
    assert why in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_scenario_that_is_no_line_is_refused() -> None:
    text = 'schema = 1\nduration = "1 s"\n'
    text += "".join(f'[[links]]\nname = "{name}"\nrate = "1 Mbit/s"\nbuffer = "9 packets"\n' for name in "ab")
    scenario = live.Scenario.parse(text + '[[flows]]\nrtt = "20 ms"\n', "two", [])
    with pytest.raises(InputError, match="two directions"):
        live.live(scenario, ["true"])


def test_the_command_has_no_privileges(aqmlab: Aqmlab) -> None:
    status = aqmlab("live", *LINE, "--", "grep", "-E", "^(CapEff|CapPrm|CapInh|CapAmb|NoNewPrivs)", "/proc/self/status")
    fields = dict(line.split(":") for line in status.stdout.splitlines() if ":\t" in line)
    assert {name: int(value, 16) for name, value in fields.items()} == {
        "CapInh": 0, "CapPrm": 0, "CapEff": 0, "CapAmb": 0, "NoNewPrivs": 1,
    }  # fmt: skip


def test_no_packet_is_early_and_few_are_late(aqmlab: Aqmlab) -> None:
    if not shutil.which("ping"):
        pytest.skip("ping is not installed")
    finished = aqmlab("live", *LINE, "--json", "--", "ping", "-c", 20, "-i", 0.05, "server")
    found = document(finished)
    times = [float(line.partition("time=")[2].split()[0]) for line in finished.stderr.splitlines() if "time=" in line]
    # 84 bytes take 67.2 us at 10 Mbit/s, each way, beside 20 ms of propagation.
    assert len(times) == 20
    assert min(times) >= 20.13
    if found["live"]["valid"]:
        assert sorted(times)[10] < 20.13 + 1


@pytest.mark.parametrize("aqm", ["droptail", "codel", "fq-codel"])
def test_the_rate_is_that_of_the_line(aqm: str, aqmlab: Aqmlab, serve: dict[str, str]) -> None:
    arguments = ("--serve", serve["hole"], "--aqm", aqm, "--json", "--set", "warmup='1 s'")
    found = document(aqmlab("live", *LINE, *arguments, "--", *python(FLOOD, 3)))
    link, devices = found["links"]["up"], found["live"]["up"]
    assert link["utilisation"] == pytest.approx(1, abs=0.005)
    assert link["drop_ratio"] > 0.5
    assert found["flows"]["up"]["goodput"] == pytest.approx(10e6 * 972 / 1000, rel=0.005)
    assert devices["read"] == devices["kernel_sent"]
    assert devices["written"] == devices["kernel_received"]
    assert devices["stored"] == devices["waiting"] + devices["flying"] + 1, "one is in transmission"


def test_marks_reach_the_kernel(aqmlab: Aqmlab, serve: dict[str, str]) -> None:
    arguments = ("--serve", serve["sink"], "--aqm", "codel", "--ecn", "--tcp", "reno", "--buffer", "5s", "--json")
    found = document(aqmlab("live", *LINE, *arguments, "--", *python(SEND, 3)))
    link = found["links"]["up"]
    assert link["marked"] > 0
    assert link["dropped"] == 0
    assert found["flows"]["up"]["retransmits"] == 0, "the sender has slowed down for marks alone"
    assert link["queue_delay_mean"] < 0.03


@pytest.mark.parametrize(
    "aqm",
    [
        "fq-codel",
        "pi",
        "dualpi2",
        *(
            pytest.param(aqm, marks=pytest.mark.nightly)
            for aqm in ("droptail", "pie", "cake:bandwidth=9Mbit/s", "an-aqm")
        ),
    ],
)
def test_a_replay_decides_the_same(aqm: str, aqmlab: Aqmlab, serve: dict[str, str]) -> None:
    arguments = ("--serve", serve["sink"], "--aqm", aqm, "--ecn", "--seed", 7, "--out", "out")
    lossy = ("--set", "links.up.loss=1%")
    assert aqmlab("live", *LINE, *arguments, *lossy, "--", *python(SEND, 2)).returncode == 0
    replayed = aqmlab("live", "--replay", "out", "--json")
    for direction in document(replayed).values():
        assert direction["same"] == direction["decisions"] > 100
        assert direction["first_difference"] is None


def test_a_capture_has_every_packet_that_was_written(aqmlab: Aqmlab, tmp_path: Path, serve: dict[str, str]) -> None:
    assert aqmlab("live", *LINE, "--serve", serve["sink"], "--out", "out", "--", *python(SEND, 1)).returncode == 0
    found = json.loads((tmp_path / "out" / "result.json").read_text())
    for direction in ("up", "down"):
        capture, place, sizes = (tmp_path / "out" / f"{direction}.pcapng").read_bytes(), 0, []
        while place < len(capture):
            kind, length = struct.unpack_from("=II", capture, place)
            assert capture[place + length - 4 :][:4] == struct.pack("=I", length)
            if kind == 6:
                kept, size = struct.unpack_from("=II", capture, place + 20)
                packet = capture[place + 28 :][:kept]
                assert struct.unpack_from(">H", packet, 2) == (size,)
                assert packet[0] == 0x45
                sizes.append(size)
            place += length
        assert len(sizes) == found["flows"][direction]["received"]


def test_another_seed_decides_otherwise(aqmlab: Aqmlab, serve: dict[str, str], tmp_path: Path) -> None:
    arguments = ("--serve", serve["sink"], "--aqm", "pie", "--out", "out", "--set", "links.up.loss=2%")
    assert aqmlab("live", *LINE, *arguments, "--", *python(SEND, 2)).returncode == 0
    setup = json.loads((tmp_path / "out" / "live.json").read_text())
    (tmp_path / "out" / "live.json").write_text(json.dumps({**setup, "seed": 2}))
    replayed = aqmlab("live", "--replay", "out")
    assert replayed.returncode == 1
    assert "first difference" in replayed.stdout


def test_losses_are_those_of_the_seed(aqmlab: Aqmlab, serve: dict[str, str]) -> None:
    def lost(seed: int) -> dict[str, Any]:
        arguments = ("--serve", serve["hole"], "--seed", seed, "--json", "--set", "links.up.loss=5%")
        link: dict[str, Any] = document(aqmlab("live", *LINE, *arguments, "--", *python(FLOOD, 2)))["links"]["up"]
        return link

    link = lost(1)
    # 99.9 % of a binomial count are within 3.29 standard deviations.
    expected = 0.05 * link["departed"]
    assert abs(link["lost"] - expected) < 3.29 * (0.95 * expected) ** 0.5


def test_a_scheme_in_python_decides_on_real_packets(aqmlab: Aqmlab, tmp_path: Path, serve: dict[str, str]) -> None:
    scheme = "import aqmlab\nclass Third(aqmlab.Aqm):\n    def on_enqueue(self, packet, queue):\n"
    (tmp_path / "third.py").write_text(scheme + "        return queue.arrived_packets % 3 == 0\n")
    arguments = ("--serve", serve["hole"], "--aqm", "third.py", "--json")
    link = document(aqmlab("live", *LINE, *arguments, "--", *python(FLOOD, 0.5)))["links"]["up"]
    assert link["arrived"] // 3 <= link["dropped"]


def test_a_scheme_that_fails_ends_the_run(aqmlab: Aqmlab, tmp_path: Path, serve: dict[str, str]) -> None:
    scheme = "import aqmlab\nclass Bad(aqmlab.Aqm):\n    def on_enqueue(self, packet, queue):\n        1 / 0\n"
    (tmp_path / "bad.py").write_text(scheme)
    failed = aqmlab("live", *LINE, "--serve", serve["hole"], "--aqm", "bad.py", "--", *python(FLOOD, 60))
    assert failed.returncode == 1
    assert "division by zero" in failed.stderr
    assert "Traceback (most" not in failed.stderr


def say(server: socket.socket) -> None:
    """Tell the first who comes."""
    with server.accept()[0] as peer:
        peer.sendall(b"through")


@pytest.mark.skipif(not shutil.which("pasta"), reason="pasta (package passt) is not installed")
def test_the_machine_s_own_network_is_behind_the_line(aqmlab: Aqmlab) -> None:
    gateway = subprocess.run(["ip", "route"], capture_output=True, text=True, check=False).stdout.split("default via ")
    if len(gateway) < 2:
        pytest.skip("the machine has no route to anywhere")
    host = gateway[1].split()[0]  # by which pasta reaches the machine itself
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as others:
        server.settimeout(60)
        said = others.submit(say, server)
        client = f"import socket; print(socket.create_connection(('{host}', {server.getsockname()[1]})).recv(7))"
        finished = aqmlab("live", *LINE, "--outside", "--json", "--", sys.executable, "-c", client)
        said.result()
    found = document(finished)
    assert "b'through'" in finished.stderr
    assert found["flows"]["up"]["received"] >= 2, "a SYN and an ACK"


def test_a_full_disk_is_told(aqmlab: Aqmlab, tmp_path: Path, serve: dict[str, str]) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "up.log").symlink_to("/dev/full")
    finished = aqmlab("live", *LINE, "--serve", serve["sink"], "--out", "out", "--", *python(SEND, 1))
    assert finished.returncode == 0
    assert "not complete: No space left" in finished.stderr


def test_a_scheme_that_wants_more_than_packets_carry_says_so(aqmlab: Aqmlab) -> None:
    assert "unannounced" in aqmlab("live", *LINE, "--aqm", "fuzzy-rtt", "--", "true").stderr


def test_the_command_ends_with_its_time(aqmlab: Aqmlab) -> None:
    assert aqmlab("live", *LINE, "--duration", "300ms", "--", "sleep", "600").returncode == 0
    stubborn = aqmlab("live", *LINE, "--duration", "300ms", "--", "sh", "-c", "trap '' TERM; sleep 600")
    assert stubborn.returncode == 0


LEFT = {"up.log", "down.log", "up.pcapng", "down.pcapng", "serve-1.log", "live.json"}
"""Files in the folder of a run that has been killed."""


def with_marker(marker: str) -> list[str]:
    """Command lines of the processes that have this marker in their environment."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if marker.encode() in environment.read_bytes() and (environment.parent / "cmdline").read_bytes():
                found.append((environment.parent / "cmdline").read_text())
    return found


def await_none(marker: str) -> None:
    """The kernel ends processes soon, not at once."""
    for _ in range(100):
        if not with_marker(marker):
            return
        time.sleep(0.05)
    pytest.fail(f"left behind: {with_marker(marker)}")


def start(marker: str, folder: Path, *before: str) -> "subprocess.Popen[bytes]":
    """A live run with processes at both ends, in a folder."""
    busy = "touch started; sleep 601 & while true; do sleep 0.01; done"
    command = [*before, str(COMMAND), "live", *LINE, "--serve", "sleep 602", "--out", "out", "--", "sh", "-c", busy]
    environment = {**os.environ, "AQMLAB_TEST": marker}
    null = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=null, stderr=null, start_new_session=True)


@pytest.mark.parametrize("moments", [20, pytest.param(200, marks=pytest.mark.nightly)])
def test_nothing_is_left_after_kill_9(moments: int, tmp_path: Path) -> None:
    mounts, draw = Path("/proc/self/mountinfo").read_text(), random.Random(1)
    devices = Path("/proc/net/dev").read_text().count("\n")
    for moment in range(moments):
        marker = f"kill-{os.getpid()}-{moment}"
        process = start(marker, tmp_path)
        time.sleep(draw.uniform(0, 1.5))
        process.kill()
        process.wait()
        await_none(marker)
    assert {path.name for path in tmp_path.iterdir()} <= {"out", "started"}
    assert {path.name for path in (tmp_path / "out").iterdir()} <= LEFT
    assert Path("/proc/self/mountinfo").read_text() == mounts
    assert Path("/proc/net/dev").read_text().count("\n") == devices


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_command_and_all(number: signal.Signals, tmp_path: Path) -> None:
    marker = f"signal-{os.getpid()}-{number}"
    process = start(marker, tmp_path)
    for _ in range(600):
        if (tmp_path / "started").exists():
            break
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(timeout=30) == 128 + number
    await_none(marker)


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="needs root, to become somebody else")
@pytest.mark.parametrize(
    "who",
    [
        ["--reuid=65534", "--regid=65534", "--clear-groups"],
        ["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"],
    ],
    ids=["an ordinary user", "root of a container without capabilities"],
)
def test_no_privilege_is_needed(who: list[str], tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    command = ["setpriv", *who, str(COMMAND), "live", *LINE, "--", "sh", "-c", "grep -c : /proc/net/dev; exit 5"]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stdout.splitlines()[0]) == (5, "2"), finished.stderr
