"""The emulated line of live runs: rate, delay, loss, marks, and schemes of one's own."""

import shlex
import shutil
import struct
from pathlib import Path

import pytest

from aqmlab.runs import live
from conftest import Aqmlab
from live_runs import FLOOD, HOLE, LINE, SEND, SINK, document, python

pytestmark = pytest.mark.usefixtures("live_machine")


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


def test_a_line_follows_its_table(aqmlab: Aqmlab, tmp_path: Path) -> None:
    if not shutil.which("ping"):
        pytest.skip("ping is not installed")
    (tmp_path / "line.csv").write_text("time (s),rate (Mbit/s),delay (ms)\n0,10,5\n0.8,10,25\n")
    finished = aqmlab("live", "--up", "line.csv", "--rtt", "20ms", "--", "ping", "-c", 20, "-i", 0.05, "server")
    assert finished.returncode == 0, finished.stderr
    times = [float(line.partition("time=")[2].split()[0]) for line in finished.stdout.splitlines() if "time=" in line]
    assert min(times) >= 20
    assert min(times[-3:]) >= 40, "20 ms more on the way up"


@pytest.mark.parametrize("aqm", ["droptail", "codel", "fq-codel"])
def test_the_rate_is_that_of_the_line(aqm: str, aqmlab: Aqmlab) -> None:
    line = ("--rate", "10Mbit/s", "--buffer", "2s", "--set", "warmup='0.7 s'")  # so long that it never runs empty
    arguments = ("--serve", HOLE, "--aqm", aqm, "--json")
    found = document(aqmlab("live", *line, *arguments, "--", *python(FLOOD, 1.7)))
    link, devices = found["links"]["up"], found["live"]["up"]
    assert link["utilisation"] == pytest.approx(1, abs=0.005)
    assert found["flows"]["up"]["goodput"] == pytest.approx(10e6 * 972 / 1000, rel=0.005)
    assert devices["read"] == devices["kernel_sent"]
    assert devices["written"] == devices["kernel_received"]
    assert devices["stored"] == devices["waiting"] + devices["flying"] + 1, "one is in transmission"


def test_marks_reach_the_kernel(aqmlab: Aqmlab) -> None:
    arguments = ("--serve", SINK, "--aqm", "codel", "--ecn", "--tcp", "reno", "--buffer", "5s", "--json")
    found = document(aqmlab("live", *LINE, *arguments, "--", *python(SEND, 3)))
    link = found["links"]["up"]
    assert link["marked"] > 0
    assert link["dropped"] == 0
    assert found["flows"]["up"]["retransmits"] == 0, "the sender has slowed down for marks alone"
    assert link["queue_delay_mean"] < 0.03


ECHO = """
import socket, threading
def serve(port, answer):
    server = socket.create_server(("", port))
    while True: threading.Thread(target=answer, args=server.accept()[:1], daemon=True).start()
def drain(peer):
    while peer.recv(1 << 16): pass
def echo(peer):
    while word := peer.recv(100): peer.sendall(word)
threading.Thread(target=serve, args=(5000, drain), daemon=True).start()
serve(5001, echo)
"""
"""Takes what it is sent at one port, and sends it back at the next."""

RESPONSIVENESS = """
import json, socket, threading, time
end = time.monotonic() + 5
def load():
    peer = socket.create_connection(("server", 5000))
    while time.monotonic() < end: peer.sendall(bytes(1 << 14))
for _ in range(2): threading.Thread(target=load, daemon=True).start()
def timed(act):
    start = time.monotonic()
    result = act()
    return time.monotonic() - start, result
def ask(peer):
    peer.sendall(b"?")
    peer.recv(1)
lasting, times = socket.create_connection(("server", 5001)), []
time.sleep(1)
while time.monotonic() < end:
    connect, peer = timed(lambda: socket.create_connection(("server", 5001)))
    times.append([connect, *(timed(lambda: ask(one))[0] for one in (peer, peer, lasting))])
def trimmed(values):
    kept = sorted(values)[:max(1, round(0.95 * len(values)))]
    return sum(kept) / len(kept)
tcp, tls, http, loaded = map(trimmed, zip(*times))
print("rpm", 60 / ((tcp + tls + http) / 6 + loaded / 2))
"""
"""A client that loads the path for 5 s and prints round trips a minute (draft-ietf-ippm-responsiveness-03, 4.3.1)."""


@pytest.mark.nightly
def test_round_trips_a_minute_are_those_of_a_client(aqmlab: Aqmlab) -> None:
    # Each of the client's times is one round trip through the queue that it fills.
    arguments = ("--serve", f"exec {shlex.join(python(ECHO))}", "--set", "warmup='1 s'", "--aqm", "droptail", "--json")
    finished = aqmlab("live", *LINE, *arguments, "--", *python(RESPONSIVENESS))
    found = document(finished)
    [told] = [line.split()[1] for line in finished.stderr.splitlines() if line.startswith("rpm")]
    assert found["total"]["rpm"] == pytest.approx(float(told), rel=0.15)
    assert found["total"]["rpm"] < found["flows"]["down"]["rpm"]
    assert 0 <= found["total"]["qoo_gaming"] <= found["flows"]["down"]["qoo_gaming"] <= 100


DROPPED = 2
"""In a log, a packet that was lost or dropped."""


def test_losses_are_those_of_the_seed(tmp_path: Path) -> None:
    line = live.EmulatedLine("100 Mbit/s", None, values={"links.up.loss": "5%"}).scenario()

    def lost(seed: int) -> list[int]:
        run = live.live(line, python(FLOOD, 0.5), seed=seed, serve=[HOLE], folder=tmp_path)
        link = run.document["links"]["up"]
        # 99.9 % of a binomial count are within 3.29 standard deviations.
        expected = 0.05 * link["departed"]
        assert abs(link["lost"] - expected) < 3.29 * (0.95 * expected) ** 0.5
        log = (tmp_path / "up.log").read_bytes()
        return [number for _, number, kind in struct.iter_unpack("<QI15xB4x", log) if kind == DROPPED]

    first, again, other = lost(1), lost(1), lost(2)
    common = min(len(first), len(again))
    assert common > 20
    assert first[:common] == again[:common]
    assert first[:20] != other[:20]


def test_a_scheme_in_python_decides_on_real_packets(aqmlab: Aqmlab, tmp_path: Path) -> None:
    scheme = "import aqmlab\nclass Third(aqmlab.Aqm):\n    def on_enqueue(self, packet, queue):\n"
    (tmp_path / "third.py").write_text(scheme + "        return queue.arrived_packets % 3 == 0\n")
    arguments = ("--serve", HOLE, "--aqm", "third.py", "--json")
    link = document(aqmlab("live", *LINE, *arguments, "--", *python(FLOOD, 0.5)))["links"]["up"]
    assert link["arrived"] // 3 <= link["dropped"]
