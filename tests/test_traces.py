"""Traces of packets: the capture read by a small reader of our own and by tshark, the table by pandas."""

import json
import resource
import shutil
import struct
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import aqmlab
from aqmlab import traces
from aqmlab.runs.results import RunResult
from conftest import COMMAND, Aqmlab

SLOW = """
schema = 1
duration = "40 s"

[[links]]
name = "slow"
rate = "2 Mbit/s"
delay = "5 ms"
buffer = "40 packets"
aqm = "red"

[[flows]]
name = "bulk"
count = 8
rtt = { uniform = ["40 ms", "120 ms"] }
stop = "25 s"
ecn = true
tcp = "rfc"
"""
"""The queue is empty at the end."""

MIXED = """
schema = 1
duration = "6 s"

[[links]]
name = "down"
rate = "8 Mbit/s"
buffer = "50 packets"
aqm = "codel"

[[links]]
name = "up"
rate = "1 Mbit/s"
buffer = "50 packets"

[[flows]]
name = "bulk"
count = 4
path = ["down"]
ack_path = ["up"]
rtt = "60 ms"
ecn = "ect1"
class = 3
tcp = { congestion_control = "dctcp", profile = "rfc", delayed_ack = true, header = "52 B", ack = "52 B" }

[[flows]]
name = "pages"
kind = "http"
count = 6
path = ["down"]
ack_path = ["down"]
rtt = "50 ms"
think_time = { exponential = "100 ms" }
size = { pareto = { mean = "12 packets", shape = 1.2 } }
tcp = "rfc"

[[flows]]
name = "voice"
kind = "udp-onoff"
count = 5
path = ["down", "up"]
rtt = "60 ms"
rate_on = "64 kbit/s"
on = { exponential = "500 ms" }
off = { exponential = "500 ms" }
packet = "201 B"

[[flows]]
name = "bare"
kind = "udp-cbr"
path = ["down"]
rtt = "60 ms"
rate = "64 kbit/s"
packet = "10 B"
header = "0 B"
"""

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


@dataclass(frozen=True)
class Frame:
    """A packet as it was captured: time in ns, length on the wire, the bytes kept."""

    time: int
    length: int
    kept: bytes

    @property
    def header(self) -> bytes:
        """The transport's header."""
        words = self.kept[46] >> 4 if self.kept[23] == 6 else 2
        return self.kept[34 : 34 + 4 * words]


def read_capture(path: Path) -> Iterator[Frame]:
    """The packets of a pcapng file of one interface with times in ns."""
    data, at, kinds = path.read_bytes(), 0, []
    while at < len(data):
        kind, total = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + total - 4) == (total,)
        if kind == 6:
            _, high, low, kept, length = struct.unpack_from("<IIIII", data, at + 8)
            yield Frame(high << 32 | low, length, data[at + 28 : at + 28 + kept])
        kinds.append(kind)
        at += total
    assert kinds[:2] == [0x0A0D0D0A, 1]
    assert set(kinds[2:]) == {6}


def checksum(data: bytes) -> int:
    """RFC 1071; 0 over data that hold their own checksum."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def check(frame: Frame) -> None:
    """Lengths and checksums are right, the payload being zero."""
    ip = frame.kept[14:34]
    length, protocol = struct.unpack_from(">H", ip, 2)[0], ip[9]
    assert length == frame.length - 14
    assert checksum(ip) == 0
    pseudo = ip[12:20] + struct.pack(">BBH", 0, protocol, length - 20)
    assert checksum(pseudo + frame.header) == 0
    assert frame.kept[34 + len(frame.header) :].strip(b"\0") == b""
    if protocol == 17:
        assert struct.unpack_from(">H", frame.header, 4) == (length - 20,)


def write(folder: Path, text: str, aqm: str, link: str) -> tuple[RunResult, Path, pd.DataFrame]:
    """Run a scenario; its result, its capture and its table."""
    (folder / "traced.toml").write_text(text)
    result = aqmlab.run(folder / "traced.toml", aqm, seed=1, trace=link)
    assert result.trace
    traces.write_pcap(result.trace, folder / "run.pcapng")
    traces.write_parquet(result.trace, folder / "run.parquet")
    return result, folder / "run.pcapng", pd.read_parquet(folder / "run.parquet")


def resent(data: pd.DataFrame) -> int:
    """Segments whose number is not above all those of their transfer before."""
    highest: dict[tuple[int, int], int] = {}
    count = 0
    for flow, transfer, seq in zip(data.flow, data.transfer, data.seq, strict=True):
        before = highest.get((flow, transfer), -1)
        count += seq <= before
        highest[flow, transfer] = max(before, seq)
    return count


def tshark(capture: Path, wanted: str) -> int:
    """How many packets tshark finds."""
    command = ["tshark", "-r", str(capture), "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    command += ["-o", "udp.check_checksum:TRUE", "-Y", wanted, "-T", "fields", "-e", "frame.number"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return len(done.stdout.splitlines())


@pytest.mark.parametrize(("aqm", "link"), [("codel", "down"), ("red", "up"), ("cake", "down"), ("fq-pie", "down")])
def test_every_frame_is_whole(tmp_path: Path, aqm: str, link: str) -> None:
    result, capture, table = write(tmp_path, MIXED, aqm, link)
    frames = list(read_capture(capture))
    left = table[table.event == "dequeue"]
    assert len(frames) == result.links[link].departed == len(left) > 1000
    for frame in frames:
        check(frame)
    assert all(abs(frame.time - time * 1e9) <= 1 for frame, time in zip(frames, left.time, strict=True))
    short = left[left["size"] >= 52]
    assert [frame.length - 14 for frame in frames if frame.length >= 66] == list(short["size"])


def test_the_first_frames_of_a_flow_by_hand(tmp_path: Path) -> None:
    text = SLOW.replace("count = 8", "").replace('rtt = { uniform = ["40 ms", "120 ms"] }', 'rtt = "50 ms"')
    _, capture, _ = write(tmp_path, text, "droptail", "slow")
    first = list(read_capture(capture))[:4]
    # A SYN that asks for ECN; one round trip later ten segments go out, each 1040 B or 4.16 ms on the link.
    assert [frame.length for frame in first] == [54, 1054, 1054, 1054]
    assert [frame.kept[26:34] for frame in first] == [bytes([10, 0, 0, 1, 10, 128, 0, 1])] * 4
    assert [frame.kept[15] for frame in first] == [0, 2, 2, 2]
    assert [struct.unpack_from(">II", frame.header, 4) for frame in first] == [(0, 0), (1, 1), (1001, 1), (2001, 1)]
    assert [frame.header[13] for frame in first] == [0xC2, 0x10, 0x10, 0x10]
    gaps = [after.time - before.time for before, after in pairwise(first[1:])]
    assert gaps == [4_160_000, 4_160_000]


def test_the_table_agrees_with_the_metrics(tmp_path: Path) -> None:
    for aqm in ("red", "codel", "dualpi2", "fq-codel", "choke"):
        result, _, table = write(tmp_path, MIXED, aqm, "down")
        link = result.links["down"]
        of = {event: table[table.event == event] for event in ("enqueue", "dequeue", "drop", "mark")}
        refused = of["drop"][of["drop"].sojourn.isna()]
        assert (len(of["enqueue"]) + len(refused), len(of["dequeue"])) == (link.arrived, link.departed)
        assert dict(of["drop"].reason.value_counts()[lambda n: n > 0]) == link.drops
        assert len(of["mark"]) == link.marked
        assert of["mark"].ecn.eq("ce").all()
        assert of["dequeue"].sojourn.mean() == pytest.approx(link.queue_delay_mean)
        evicted = len(of["drop"]) - len(refused)
        assert table["queue"].iloc[-1] == len(of["enqueue"]) - len(of["dequeue"]) - evicted
        assert table.reason.notna().equals(table.event.isin(["drop", "mark"]))
        assert table.time.is_monotonic_increasing


def test_arrivals_that_come_again_are_the_retransmissions_of_the_senders(tmp_path: Path) -> None:
    result, _, table = write(tmp_path, SLOW, "red", "slow")
    arrivals = table[(table.event == "enqueue") | ((table.event == "drop") & table.sojourn.isna())]
    assert resent(arrivals) == result.total.retransmits > 50


@needs_tshark
@pytest.mark.parametrize("aqm", ["red", "codel", "pi", "fq-codel", "droptail"])
def test_tshark_counts_what_we_count(tmp_path: Path, aqm: str) -> None:
    result, capture, table = write(tmp_path, SLOW, aqm, "slow")
    left = table[table.event == "dequeue"]
    assert tshark(capture, "tcp") == result.links["slow"].departed
    assert tshark(capture, "ip.dsfield.ecn == 3") == result.links["slow"].marked
    assert tshark(capture, "tcp.analysis.retransmission || tcp.analysis.out_of_order") == resent(left) > 10


@needs_tshark
@pytest.mark.parametrize("aqm", ["red", "droptail"])
def test_tshark_takes_none_for_out_of_order_on_a_slow_link_without_syns(tmp_path: Path, aqm: str) -> None:
    # Without a SYN tshark takes 3 ms for the round-trip time; a packet takes 4.2 ms.
    result, capture, table = write(
        tmp_path, SLOW.replace('tcp = "rfc"', 'tcp = { profile = "rfc", syn = false }'), aqm, "slow"
    )
    assert tshark(capture, "tcp.analysis.out_of_order") == 0
    assert tshark(capture, "tcp.analysis.retransmission") == resent(table[table.event == "dequeue"]) > 10
    assert tshark(capture, "ip.dsfield.ecn == 3") == result.links["slow"].marked


@needs_tshark
@pytest.mark.parametrize(("aqm", "link"), [("codel", "down"), ("droptail", "up"), ("cake", "down")])
def test_tshark_finds_nothing_wrong(tmp_path: Path, aqm: str, link: str) -> None:
    result, capture, _ = write(tmp_path, MIXED, aqm, link)
    assert tshark(capture, "tcp || udp") == result.links[link].departed
    assert tshark(capture, "udp") > 100
    assert tshark(capture, "_ws.malformed || _ws.expert.severity == error") == 0
    bad = [f"{layer}.checksum.status == Bad" for layer in ("ip", "tcp", "udp")]
    assert tshark(capture, " || ".join(bad)) == 0
    assert tshark(capture, "ip.checksum.status == Good") == result.links[link].departed


def test_the_command_leaves_both_files_and_the_same_numbers(aqmlab: Aqmlab, small: str, tmp_path: Path) -> None:
    done = aqmlab("run", small, "--pcap", "new/a.pcapng", "--trace", "a.parquet", "--json")
    assert done.returncode == 0
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == ["a.parquet", "a.pcapng"]
    assert without_wall(done.stdout) == without_wall(aqmlab("run", small, "--json").stdout)
    departed = without_wall(done.stdout)["links"]["bottleneck"]["departed"]
    assert len(list(read_capture(tmp_path / "new" / "a.pcapng"))) == departed


def without_wall(text: str) -> Mapping[str, Any]:
    result: dict[str, Any] = json.loads(text)
    del result["engine"]["wall"]
    return result


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--pcap", "."], ["pcap: .", "directory"]),
        (["--trace", "/dev/null"], ["trace: /dev/null", "regular file"]),
        (["--pcap", "file/below.pcapng"], ["pcap: file/below.pcapng", "cannot be written"]),
        (["--pcap", "a", "--trace", "./a"], ["trace: a", "--pcap"]),
        (["--pcap", "a", "--link", "bottlenek"], ["link", "bottlenek", "bottleneck"]),
        (["--link", "bottleneck"], ["link: bottleneck", "--pcap"]),
    ],
)
def test_files_and_links_that_cannot_be_used(
    aqmlab: Aqmlab, small: str, tmp_path: Path, args: list[str], words: list[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    done = aqmlab("run", small, *args)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
    assert all(word in done.stderr for word in words), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("option", ["--pcap", "--trace"])
def test_a_disk_that_is_full_leaves_nothing(small: str, tmp_path: Path, option: str) -> None:
    line = f"ulimit -f 8; exec {COMMAND} run {small} {option} file"  # at most 8 blocks of 512 B or 1 KiB
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Error: " in done.stderr
    assert "file" in done.stderr.lower()
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_is_not_there(small: str) -> None:
    with pytest.raises(aqmlab.InputError, match='did you mean "bottleneck"'):
        aqmlab.run(small, trace="bottlenek")


@pytest.mark.parametrize("option", ["--pcap", "--trace"])
def test_a_file_that_cannot_be_finished_is_named_and_not_left(tmp_path: Path, option: str) -> None:
    (tmp_path / "slow.toml").write_text(SLOW)
    done = subprocess.run(
        [str(COMMAND), "run", "slow.toml", option, "mine"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )
    assert done.returncode == 1
    assert done.stderr.endswith("Error: mine: File too large\n")
    assert [path.name for path in tmp_path.iterdir()] == ["slow.toml"]
