"""Calls in live runs: streams of RTP are recognised and measured in the words of a simulation."""

import struct
import sys
from pathlib import Path

import pytest

from aqmlab import _core
from conftest import Aqmlab
from live_runs import document

EXAMPLE = Path(__file__).parents[1] / "examples" / "rtp.py"

pytestmark = pytest.mark.usefixtures("live_machine")


def test_a_call_is_measured_and_its_headers_are_in_the_capture(aqmlab: Aqmlab, tmp_path: Path) -> None:
    """A frame: 4 packets of 1040 bytes at 2 Mbit/s, 4 * 4.16 ms, and 20 ms of propagation; a feedback each 100 ms."""
    receiver = f"exec {sys.executable} {EXAMPLE} receive"
    line = ("--rate", "2Mbit/s", "--rtt", "40ms", "--serve", receiver, "--out", "out", "--json")
    found = document(aqmlab("live", *line, "--", sys.executable, EXAMPLE, "send", "server", "2"))
    (stream,) = found["live"]["streams"]
    assert (stream["direction"], stream["ssrc"], stream["payload_type"]) == ("up", 0x0A0B0C0D, 96)
    media, rtp = stream["media"], stream["rtp"]
    assert found["flows"]["up"]["media"] == media
    assert "media" not in found["flows"]["down"]
    declared = _core.measures()
    assert set(media) == {field["name"] for field in declared["MediaResult"]["fields"]}
    assert set(rtp) == {field["name"] for field in declared["RtpResult"]["fields"]}
    assert (media["frames"], media["freezes"], media["late_ratio"], media["target"]) == (50, 0, 0, None)
    assert (rtp["sent"], rtp["loss_ratio"], rtp["mark_ratio"]) == (200, 0, 0)
    assert media["frame_delay_mean"] == pytest.approx(0.0366, abs=0.003)
    assert sum(media["rates"][0]) == 8 * 200 * 1000
    assert (rtp["feedbacks"], rtp["reported_loss_ratio"], rtp["reported_mark_ratio"]) == (20, 0, 0)
    assert rtp["feedback_interval"] == pytest.approx(0.1, abs=0.01)
    assert _first_of_rtp(tmp_path / "out" / "up.pcapng") == struct.pack("!BBHII", 0x80, 96, 0, 0, 0x0A0B0C0D)


def _first_of_rtp(capture: Path) -> bytes:
    """The first datagram's first 12 bytes, behind the blocks of section and interface, of IPv4 and UDP."""
    read, place = capture.read_bytes(), 0
    while struct.unpack_from("=I", read, place)[0] != 6:
        place += struct.unpack_from("=I", read, place + 4)[0]
    return read[place + 28 + 28 :][:12]
