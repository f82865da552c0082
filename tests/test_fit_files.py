"""Files of flent, irtt, tc and aqmlab itself, with values calculated by hand."""

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aqmlab as lab
from aqmlab import traces
from aqmlab.fit import readers
from aqmlab.fit.measurement import Direction, Measurement
from conftest import SMALL

BASE = 1_700_000_000

FLENT: dict[str, Any] = {
    "metadata": {
        "BATCH_NAME": None,
        "NAME": "rrul_be",
        "TITLE": "at home",
        "LENGTH": 60,
        "STEP_SIZE": 0.2,
        "T0": "2026-05-07T12:46:41.600000Z",
        "TEST_PARAMETERS": {},
        "SERIES_META": {"TCP upload BE": {"TCP_MSS": 1400, "CONG_CONTROL": "cubic", "UNITS": "Mbits/s"}},
    },
    "raw_values": {
        "Ping (ms) ICMP": [{"seq": seq, "t": BASE + 0.02 + 0.2 * seq, "val": 20 + seq} for seq in (1.0, 2.0, 4.0)],
        "Ping (ms) UDP EF": [
            {"t": BASE + 0.4 + 0.2 * i, "dur": 0.2, "val": val} for i, val in enumerate((50, 40, 0.1))
        ],
        "Ping (ms) UDP BE1": [
            {"seq": i, "t": BASE + 1.03 + i, "val": 30.0, "owd_up": 21.0 + i, "owd_down": 9.0 - i} for i in range(2)
        ],
        "TCP download BE": [{"t": BASE + 0.5 + 0.5 * i, "dur": 0.5, "val": 8.0} for i in range(4)],
        "TCP upload BE": [
            {"t": BASE + 1.25, "dur": 0.25, "val": 2.5},
            {"t": BASE + 1.1, "tcp_cwnd": 10, "tcp_rtt": 45.5, "tcp_rtt_var": 1},
            {"t": BASE + 1.0, "dur": 0.25, "val": 2.0},
        ],
        "TCP upload sum": [],
        "VoIP": [{"t": BASE + 0.2, "val": 1.0, "seq": 0}, {"t": BASE + 0.1, "val": 1.0, "seq": 1}],
        "qdisc_stats_router": [
            {
                "t": BASE + 0.5,
                "sent_bytes": 3000.0,
                "sent_pkts": 2.0,
                "dropped": 1.0,
                "backlog_bytes": 1500.0,
                "backlog_pkts": 1.0,
            }
        ],
    },
    "results": {},
    "version": 4,
    "x_values": [],
}
"""A data file of flent 2 as far as it is read; times are from BASE."""

IRTT: dict[str, Any] = {
    "version": {"irtt": "0.9.1", "protocol": 1, "json_format": 1},
    "config": {
        "params": {"interval": 1_000_000_000, "length": 60, "dscp": 185},
        "ip_version": "IPv4",
    },
    "round_trips": [
        {
            "seqno": i,
            "lost": lost,
            "timestamps": {"client": {"send": {"wall": 10**18 + i * 10**9 + 5, "monotonic": i}, "receive": {}}},
            "delay": {"rtt": 20_000_000 + i, "send": 5_015_000_000, "receive": -4_995_000_000}
            if lost == "false"
            else {},
        }
        for i, lost in enumerate(["false", "true_up", "false", "true"])
    ],
}

TC = [
    {"kind": "noqueue", "handle": "0:", "dev": "lo", "root": True, "options": {}, "bytes": 0, "packets": 0, "drops": 0},
    {
        "kind": "fq_codel", "handle": "8001:", "dev": "eth0", "root": True, "options": {"limit": 10240, "target": 4999},
        "bytes": 4_000_000, "packets": 3000, "drops": 12, "overlimits": 0, "requeues": 1, "backlog": 3028, "qlen": 2,
        "maxpacket": 1514, "ecn_mark": 7,
    },
    {
        "kind": "cake", "handle": "8002:", "dev": "wan", "options": {"bandwidth": 2500000}, "bytes": 5, "packets": 1,
        "drops": 0, "backlog": 0, "qlen": 0, "tins": [{"ecn_mark": 2}, {"ecn_mark": 3}],
    },
]  # fmt: skip


def read(folder: Path, content: str | bytes, name: str = "a") -> Measurement:
    """Return the measurement in a file of this content."""
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return readers.read(folder / name)


def test_a_data_file_of_flent(tmp_path: Path) -> None:
    found = read(tmp_path, gzip.compress(json.dumps(FLENT).encode()))
    assert found.tool == "flent"
    assert found.epoch == BASE
    assert found.facts == {"name": "rrul_be", "title": "at home", "length": "60"}
    assert found.unused == ("VoIP",)
    ping, rr, irtt, up, down = found.delays
    np.testing.assert_allclose(ping.sent, [0.199, 0.398, 0.597, 0.796], atol=1e-6)
    np.testing.assert_allclose(ping.delay, [0.021, 0.022, np.nan, 0.024])
    np.testing.assert_allclose(rr.sent, [0.2, 0.4], atol=1e-6)
    np.testing.assert_allclose(rr.delay, [0.02, 0.025], err_msg="means of 0.2 s, the third without a transaction")
    assert (rr.dscp, irtt.dscp) == (46, 0)
    np.testing.assert_allclose(irtt.sent, [1.0, 2.0], atol=1e-6)
    assert (up.direction, down.direction) == (Direction.up, Direction.down)
    np.testing.assert_allclose(up.delay, [0.021, 0.022])
    np.testing.assert_allclose(down.delay, [0.009, 0.008])


def test_the_transfers_in_a_data_file_of_flent(tmp_path: Path) -> None:
    found = read(tmp_path, json.dumps(FLENT))
    download, upload = found.flows
    assert (download.direction, download.at, upload.direction, upload.at) == ("down", "receiver", "up", "sender")
    np.testing.assert_allclose(download.goodput.start, [0, 0.5, 1, 1.5], atol=1e-6)
    np.testing.assert_allclose(download.goodput.value, 8e6)
    np.testing.assert_allclose(upload.goodput.end, [1, 1.25], atol=1e-6)
    np.testing.assert_allclose(upload.goodput.value, [2e6, 2.5e6])
    assert (upload.controller, upload.segment, download.controller) == ("cubic", 1400, None)
    assert upload.srtt is not None
    assert upload.cwnd is not None
    np.testing.assert_allclose(upload.srtt.value, [0.0455])
    np.testing.assert_allclose(upload.cwnd.value, [14_000])
    (counters,) = found.counters
    assert (counters.device, counters.sent_packets, counters.dropped, counters.backlog_bytes) == ("router", 2, 1, 1500)
    assert counters.time == pytest.approx(0.5)


def test_a_data_file_of_flent_without_raw_values(tmp_path: Path) -> None:
    results = {"TCP download": [None, 8.0, 9.0], "Ping (ms) ICMP": [20.0, 21.0, None], "TCP totals": [1.0, 2.0, 3.0]}
    document = {**FLENT, "raw_values": {}, "x_values": [0.0, 0.2, 0.4], "results": results}
    found = read(tmp_path, json.dumps(document))
    assert found.epoch == pytest.approx(1_778_158_001.6 - 0.2)
    assert found.unused == ("TCP totals",)
    np.testing.assert_allclose(found.flows[0].goodput.value, [8e6, 9e6])
    np.testing.assert_allclose(found.delays[0].delay, [0.02, 0.021])


def test_round_trips_of_irtt(tmp_path: Path) -> None:
    found = read(tmp_path, gzip.compress(json.dumps(IRTT).encode()), "a.json.gz")
    assert found.tool == "irtt"
    assert found.epoch == pytest.approx(1e9)
    rtt, up, down = found.delays
    np.testing.assert_allclose(rtt.sent, [0, 1, 2, 3])
    np.testing.assert_allclose(rtt.delay, [0.02, np.nan, 0.020000002, np.nan])
    assert (up.direction, down.direction, rtt.direction) == ("up", "down", None)
    assert up.delay[0] + down.delay[0] == pytest.approx(0.02)
    assert (rtt.size, rtt.dscp, rtt.ecn) == (88, 46, 1)
    assert found.facts == {"version": "0.9.1", "interval": "1 s", "lost": "1", "lost up": "1"}


def test_one_reading_of_tc(tmp_path: Path) -> None:
    found = read(tmp_path, json.dumps(TC))
    assert found.tool == "tc"
    assert found.epoch is None
    none, codel, cake = found.counters
    assert math.isnan(codel.time)
    assert (codel.device, codel.kind, codel.handle) == ("eth0", "fq_codel", "8001:")
    assert (codel.sent_bytes, codel.sent_packets, codel.dropped, codel.marked) == (4_000_000, 3000, 12, 7)
    assert (codel.backlog_bytes, codel.backlog_packets, codel.options["limit"]) == (3028, 2, 10240)
    assert (cake.marked, none.sent_packets) == (5, 0)


def test_readings_of_tc_over_time(tmp_path: Path) -> None:
    line = json.dumps(TC)
    found = read(tmp_path, f"1700000000.5\n{line}\n1700000001.5\n{line}\n{line}\n")
    assert found.epoch == 1_700_000_000.5
    np.testing.assert_allclose([each.time for each in found.counters[::3]], [0, 1, np.nan])
    assert len(found.counters) == 9


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run with a result, series, a table of packets and a capture."""
    folder = tmp_path_factory.mktemp("run")
    result = lab.run(SMALL, "droptail", trace="bottleneck", series=True)
    assert result.trace
    traces.write_parquet(result.trace, folder / "packets.parquet")
    traces.write_pcap(result.trace, folder / "packets.pcapng")
    (folder / "result.json").write_text(result.json())
    (folder / "series.csv").write_text("time,bottleneck.queue,bottleneck.sojourn\n0.01,3,0.002\n0.02,4,\n")
    return folder


def test_a_table_of_packets(run: Path) -> None:
    (log,) = readers.read(run / "packets.parquet").packets
    assert log.direction is Direction.up
    dropped = np.isnan(log.arrived)
    wait = (log.arrived - log.sent)[~dropped]
    assert dropped.any()
    assert wait.min() >= 0
    (capture,) = readers.read(run / "packets.pcapng").packets
    departed = int((~dropped).sum())
    assert len(capture.size) == departed
    assert np.sort(capture.size).tolist() == np.sort(log.size[~dropped]).tolist()
    time = np.nan_to_num(capture.sent) + np.nan_to_num(capture.arrived)
    np.testing.assert_allclose(time - time[0], log.arrived[~dropped] - log.arrived[~dropped][0], atol=1e-6)


def test_a_result_with_series(run: Path) -> None:
    found = readers.read(run / "result.json")
    (queue,) = found.delays
    assert queue.name == "queue of bottleneck"
    np.testing.assert_allclose(queue.delay, [0.002, np.nan])
    assert found.facts["capacity of bottleneck"] == "1e+07 bit/s"
    assert found.facts["scheme"] == "droptail"


def test_a_result_without_series_is_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(lab.InputError, match=r"has no series.csv beside it; expected result.json beside series.csv"):
        read(tmp_path, (run / "result.json").read_bytes(), "result.json")


def without(document: dict[str, Any], key: str) -> str:
    """Return a document without one of its parts."""
    return json.dumps({name: value for name, value in document.items() if name != key})


ONE_ANSWER = json.dumps({**IRTT, "round_trips": IRTT["round_trips"][:2]})
FAR_APART = {"Ping (ms) ICMP": [{"seq": i * 1e9, "t": i, "val": 1} for i in range(2)]}
BAD: dict[str, tuple[str | bytes, str]] = {
    "flent cut off": (json.dumps(FLENT)[:-20], "is damaged"),
    "flent without metadata": (without(FLENT, "metadata"), "has no 'metadata'; expected a data file of flent"),
    "flent without values": (
        json.dumps({**FLENT, "raw_values": {}}),
        "no series has values; expected|no series has values",
    ),
    "flent with text": (json.dumps({**FLENT, "raw_values": {"TCP upload": [{"t": 1, "val": "x"}] * 2}}), "is damaged"),
    "flent with far numbers": (
        json.dumps({**FLENT, "raw_values": FAR_APART}),
        "sequence numbers over 1,000,000,000 for 2",
    ),
    "irtt cut off": (json.dumps(IRTT)[:-20], "is damaged"),
    "irtt without trips": (without(IRTT, "round_trips"), "has no 'round_trips'; expected irtt's JSON"),
    "irtt with an answer": (ONE_ANSWER, "1 answered round trips"),
    "tc without -s": (json.dumps([{"kind": "fq", "handle": "1:"}]), "no discipline has sent a packet"),
    "tc cut off": (json.dumps(TC)[:-20], "is damaged"),
    "tc with text": ('[{"kind":"fq","handle":"1:","packets":"x"}]', "is damaged"),
    "deep": ('{"FLENT_VERSION":' + "[" * 200 + "]" * 200 + "}", "nested more than 100 levels deep"),
    "another Parquet": (b"PAR1" + bytes(40), "is damaged"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_by_name(name: str, tmp_path: Path) -> None:
    content, message = BAD[name]
    with pytest.raises(lab.InputError, match=message) as refused:
        read(tmp_path, content, "bad.file")
    assert "bad.file" in str(refused.value)
