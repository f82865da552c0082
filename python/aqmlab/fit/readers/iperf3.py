"""Reader of iperf3's JSON (`-J`), of either end, also with the server's output in the client's file."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aqmlab.fit.measurement import FlowRecord, Intervals, LinkDirection, Measurement, Series
from aqmlab.fit.readers import document
from aqmlab.problems import InputError

_EXPECTED = "iperf3 -J with at least two intervals of a TCP or UDP test"
_MOST_STREAMS = 128
"""The maximum number of parallel streams of iperf3."""
_UNUSED = ("CPU utilization", "rttvar", "receiver's window")
"""Contents of a file that no estimate reads."""


def sniff(head: bytes) -> bool:
    """Return whether this is the start of a document of iperf3."""
    return head.lstrip()[:1] == b"{" and b'"start"' in head and b'"connected"' in head


def read(path: Path, content: bytes, digest: str) -> Measurement:
    """Return the flows of a test; omitted intervals (`-O`) are left out."""
    return document.documents(path, _EXPECTED, lambda: _measurement(document.parsed(content), path, digest))


def _measurement(data: Any, path: Path, digest: str) -> Measurement:
    if message := data.get("error"):
        raise InputError("file", f"{path}: the test failed ({document.text(message)}); expected {_EXPECTED}")
    start = data["start"]
    flows = list(_flows(data))
    other = data.get("server_output_json")
    if isinstance(other, Mapping) and other.get("intervals"):
        flows += _flows(other)
    if not flows:
        raise InputError("file", f"{path}: has no intervals; expected {_EXPECTED}")
    is_server = "accepted_connection" in start
    cookie = str(start.get("cookie", ""))[:64]
    return Measurement(
        str(path),
        digest,
        "iperf3",
        epoch=float(start["timestamp"]["timesecs"]),
        clock="server" if is_server else "host",
        flows=tuple(flows),
        facts={"version": str(start.get("version", ""))[:64], **({"cookie": cookie} if cookie else {})},
        unused=_UNUSED,
    )


def _flows(data: Mapping[str, Any]) -> Iterator[FlowRecord]:
    """Yield the streams that one end counted."""
    start, test = data["start"], data["start"]["test_start"]
    is_server = "accepted_connection" in start
    is_tcp = str(test["protocol"]).upper() == "TCP"
    rows: dict[tuple[int, bool], list[Mapping[str, Any]]] = {}
    for interval in data["intervals"]:
        for stream in interval["streams"]:
            if not stream.get("omitted"):
                rows.setdefault((int(stream["socket"]), bool(stream.get("sender", True))), []).append(stream)
    if len(rows) > 2 * _MOST_STREAMS:
        raise ValueError(f"{len(rows):,} streams")
    controller = data.get("end", {}).get("sender_tcp_congestion")
    offered = float(test.get("target_bitrate") or 0)
    for number, ((_, is_sender), found) in enumerate(sorted(rows.items()), 1):
        if len(found) < 2:
            continue
        yield FlowRecord(
            f"stream {number}",
            LinkDirection.up if is_sender != is_server else LinkDirection.down,
            "tcp" if is_tcp else "udp",
            _intervals(found, "bits_per_second"),
            at="sender" if is_sender else "receiver",
            controller=str(controller)[:32] if is_tcp and controller else None,
            retransmits=_intervals(found, "retransmits") if is_tcp and is_sender else None,
            lost=_intervals(found, "lost_packets") if not is_tcp and not is_sender else None,
            srtt=_series(found, "rtt", 1e-6) if is_tcp and is_sender else None,
            cwnd=_series(found, "snd_cwnd", 1) if is_tcp and is_sender else None,
            offered=offered or None,
            segment=int(start.get("tcp_mss_default") or 0) or None if is_tcp else int(test.get("blksize") or 0) or None,
        )


def _intervals(rows: list[Mapping[str, Any]], key: str) -> Intervals:
    import numpy as np

    found = np.asarray([[row["start"], row["end"], row.get(key, np.nan)] for row in rows], dtype=float)
    ahead = found[:, 1] > found[:, 0]
    if not np.isfinite(found[:, :2]).all() or (np.diff(found[:, 0]) < 0).any() or found[:, 2].min() < 0:
        raise ValueError("its intervals are not in order, or a count is negative")
    return Intervals(*found[ahead].T)


def _series(rows: list[Mapping[str, Any]], key: str, unit: float) -> Series:
    import numpy as np

    found = np.asarray([[row["end"], row.get(key) or np.nan] for row in rows], dtype=float)
    return Series(found[:, 0], found[:, 1] * unit)
