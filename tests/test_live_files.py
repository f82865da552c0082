"""What live runs leave: logs that are replayed, captures, and what a full disk does."""

import json
import struct
from pathlib import Path

import pytest

from aqmlab.runs import live
from conftest import Aqmlab
from live_runs import LINE, SEND, SINK, document, python

pytestmark = pytest.mark.usefixtures("live_machine")


def sent(seconds: float, folder: Path, aqm: str, seed: int) -> live.LiveRun:
    """A run that sends over TCP for a while, loses packets, and writes all of them down."""
    line = live.EmulatedLine("10 Mbit/s", "10 Mbit/s", "20 ms", "100 ms", {"links.up.loss": "1%"})
    sysctls = [("net.ipv4.tcp_ecn", "1")]
    return live.live(line.scenario(), python(SEND, seconds), aqm, seed, serve=[SINK], sysctls=sysctls, folder=folder)


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
def test_a_replay_decides_the_same(aqm: str, tmp_path: Path) -> None:
    sent(1, tmp_path, aqm, seed=7)
    for direction in live.replay(tmp_path).values():
        assert direction.same == direction.decisions > 100
        assert direction.is_identical


def test_another_seed_decides_otherwise(aqmlab: Aqmlab, tmp_path: Path) -> None:
    sent(1, tmp_path / "out", "pie", seed=1)
    assert document(aqmlab("live", "--replay", "out", "--json"))["up"]["first_difference"] is None
    setup = json.loads((tmp_path / "out" / "live.json").read_text())
    (tmp_path / "out" / "live.json").write_text(json.dumps({**setup, "seed": 2}))
    replayed = aqmlab("live", "--replay", "out")
    assert replayed.returncode == 1
    assert "first difference" in replayed.stdout


def test_a_capture_has_every_packet_that_was_written(tmp_path: Path) -> None:
    found = sent(0.5, tmp_path, "droptail", seed=1).document
    for direction in ("up", "down"):
        capture, place, sizes = (tmp_path / f"{direction}.pcapng").read_bytes(), 0, []
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


def test_a_full_disk_is_told(aqmlab: Aqmlab, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "up.log").symlink_to("/dev/full")
    finished = aqmlab("live", *LINE, "--serve", SINK, "--out", "out", "--", *python(SEND, 0.5))
    assert finished.returncode == 0
    assert "not complete: No space left" in finished.stderr
