"""Captures: each field by packets made by hand, both formats, all kinds of links, two captures of one link."""

import gzip
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import aqmlab as lab
from aqmlab.fit import captures, readers
from aqmlab.fit.measurement import LinkDirection, Measurement, PacketLog
from aqmlab.fit.observe import observed
from aqmlab.fit.readers import frames, trace
from captured import ACK, CLIENT, FIN, SERVER, SYN, Packet, pcap, pcapng

START = 1_700_000_000.0
BACK = (5201, 40000)


def down(time: float, sequence: int, ack: int, flags: int = ACK) -> Packet:
    """Return a packet from the server to the client."""
    return Packet(time, SERVER, CLIENT, BACK, sequence, ack, flags)


def handshake(rtt: float) -> list[Packet]:
    """Return an opening of a connection as the client sees it; the first byte of data is number 101."""
    opening = Packet(START, sequence=100, flags=SYN)
    answer = down(START + rtt, sequence=900, ack=101, flags=SYN | ACK)
    return [opening, answer, Packet(START + rtt + 1e-4, sequence=101, ack=901)]


def upload() -> list[Packet]:
    """Return an upload of four segments, the third lost once; each ACK comes 30 ms after its segment."""
    data = [Packet(START + 0.1 + i * 0.01, sequence=101 + 1000 * i, ack=901, payload=1000, ecn=2) for i in range(4)]
    again = replace(data[2], time=START + 0.2)
    acks = [down(START + 0.13 + 0.01 * i, sequence=901, ack=1101 + 1000 * i) for i in range(2)]
    acks += [down(START + 0.16, sequence=901, ack=2101), down(START + 0.23, sequence=901, ack=4101)]
    return [*handshake(0.03), *data, again, *acks, Packet(START + 0.3, sequence=4101, ack=901, flags=FIN | ACK)]


def read(folder: Path, content: bytes, name: str = "a.pcap") -> Measurement:
    """Return the measurement in a file of this content."""
    (folder / name).write_bytes(content)
    return readers.read(folder / name)


def logs(found: Measurement) -> tuple[PacketLog, PacketLog]:
    """Return the logs up and down."""
    one, other = found.packets
    assert (one.direction, other.direction) == (LinkDirection.up, LinkDirection.down)
    return one, other


def test_an_upload_captured_at_its_sender(tmp_path: Path) -> None:
    found = read(tmp_path, pcap(sorted(upload(), key=lambda p: p.time)))
    up, back = logs(found)
    assert found.tool == "pcap"
    assert found.epoch == START
    assert found.facts == {"captured near": CLIENT, "side": "subscriber"}
    np.testing.assert_allclose(up.sent, [0, 0.0301, 0.1, 0.11, 0.12, 0.13, 0.2, 0.3], atol=1e-6)
    assert np.isnan(up.arrived).all()
    assert up.sequence.tolist() == [0, 1, 1, 1001, 2001, 3001, 2001, 4001]  # SYN, ACK of the answer, data, FIN
    assert up.payload.tolist() == [0, 0, 1000, 1000, 1000, 1000, 1000, 0]
    assert up.size.tolist() == [40, 40, 1040, 1040, 1040, 1040, 1040, 40]
    assert up.ecn.tolist() == [0, 0, 2, 2, 2, 2, 2, 0]
    assert up.is_ack.tolist() == [False, True, *[False] * 6]
    np.testing.assert_allclose(back.arrived, [0.03, 0.13, 0.14, 0.16, 0.23], atol=1e-6)
    assert back.sequence.tolist() == [0, 1001, 2001, 2001, 4001]
    assert set(up.flow) == set(back.flow) == {0}
    assert up.flows == (f"tcp {CLIENT}:40000 > {SERVER}:5201",)


@pytest.mark.parametrize("make", [
    lambda p: pcap(p, order=">"),
    lambda p: pcap(p, nano=True),
    lambda p: pcap(p, link=1, before=bytes(12) + b"\x08\x00"),
    lambda p: pcap(p, link=1, before=bytes(12) + b"\x81\x00\x00\x05\x08\x00"),
    lambda p: pcap(p, link=1, before=bytes(12) + b"\x88\x64\x11\x00\x00\x07\x04\x12\x00\x21"),
    lambda p: pcap(p, link=0, before=b"\x02\0\0\0"),
    lambda p: pcap(p, link=12),
    pcapng,
    lambda p: pcapng(p, order=">", resolution=6),
    lambda p: gzip.compress(pcap(p)),
], ids=["big", "ns", "Ethernet", "VLAN", "PPPoE", "loopback", "raw", "pcapng", "pcapng big", "gzip"])  # fmt: skip
def test_every_form_of_a_capture_says_the_same(make: Callable[[list[Packet]], bytes], tmp_path: Path) -> None:
    packets = sorted(upload(), key=lambda p: p.time)
    expected, found = logs(read(tmp_path, pcap(packets))), logs(read(tmp_path, make(packets), "b"))
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(other.sent, one.sent, atol=1e-6)
        for name in ("size", "flow", "sequence", "payload", "ecn", "is_ack"):
            assert getattr(other, name).tolist() == getattr(one, name).tolist(), name


def test_ipv6(tmp_path: Path) -> None:
    client, server = "2001:db8::2", "2001:db8:9::1"
    packets = [Packet(START + i, client, server, sequence=i * 500, payload=500, ecn=1, ack=1) for i in range(3)]
    (log,) = read(tmp_path, pcap(packets)).packets
    assert log.size.tolist() == [560] * 3
    assert log.ecn.tolist() == [1] * 3
    assert log.flows == (f"tcp [{client}]:40000 > [{server}]:5201",)


def cooked(packet: Packet) -> bytes:
    """Return the cooked header (SLL) of a packet that the client's host sent or received."""
    return bytes([0, 4 if packet.source == CLIENT else 0]) + bytes(12) + b"\x08\x00"


def test_a_cooked_header_states_who_sent(tmp_path: Path) -> None:
    packets = [Packet(START, SERVER, CLIENT, BACK, payload=9, ack=1), Packet(START + 1, sequence=5, ack=10)]
    whole = pcap([], link=113) + b"".join(pcap([each], link=113, before=cooked(each))[24:] for each in packets)
    found = read(tmp_path, whole)
    assert found.facts["captured near"] == CLIENT
    assert [log.direction for log in found.packets] == [LinkDirection.up, LinkDirection.down]


def test_the_server_side_is_told_by_its_answers(tmp_path: Path) -> None:
    at_server = [replace(p, time=p.time + (0.03 if p.source == CLIENT else 0)) for p in handshake(0.0301)]
    at_server[1] = replace(at_server[1], time=at_server[0].time + 1e-5)
    data = [Packet(START + 1 + i / 100, sequence=101 + i * 1000, ack=901, payload=1000) for i in range(3)]
    data += [down(p.time + 2e-5, sequence=901, ack=p.sequence + 1000) for p in data]
    found = read(tmp_path, pcap(sorted([*at_server, *data], key=lambda p: p.time)))
    assert found.facts == {"captured near": SERVER, "side": "server"}
    up, back = logs(found)
    assert np.isnan(up.sent).all()
    assert np.isnan(back.arrived).all()


def test_rates_round_trips_and_retransmissions_of_a_long_upload(tmp_path: Path) -> None:
    packets, sequence = handshake(0.03), 101
    for i in range(1000):  # 1,000 segments of 1,250 bytes, 10 ms apart: 1 Mbit/s for 10 s
        at = START + 0.1 + i * 0.01
        packets.append(Packet(at, sequence=sequence, ack=901, payload=1250))
        sequence += 1250
        packets.append(down(at + 0.03, sequence=901, ack=sequence))
        if i % 100 == 50:
            packets.append(Packet(at + 0.005, sequence=sequence - 1250, ack=901, payload=1250))
    found = read(tmp_path, pcap(sorted(packets, key=lambda p: p.time)))
    (flow,) = found.flows
    assert (flow.direction, flow.at, flow.protocol, flow.segment) == (LinkDirection.up, "sender", "tcp", 1250)
    middle = flow.goodput.value[5:-5]
    assert middle.mean() == pytest.approx(1e6, rel=1e-3)
    assert flow.retransmits is not None
    assert flow.retransmits.value.sum() == 10
    assert flow.srtt is not None
    np.testing.assert_allclose(flow.srtt.value, 0.03, atol=2e-6)
    assert len(flow.srtt.value) == 990, "data that was sent twice has no round trip"


def test_sequence_numbers_wrap(tmp_path: Path) -> None:
    packets = [Packet(START + i, sequence=2**32 - 1000 + i * 1000, ack=1, payload=1000) for i in range(3)]
    (log,) = read(tmp_path, pcap(packets)).packets
    assert log.sequence.tolist() == [0, 1000, 2000]


def test_a_call_over_rtp(tmp_path: Path) -> None:
    stream = [
        Packet(START + i * 0.02, SERVER, CLIENT, (5004, 6000), sequence=65530 + i, payload=172, kind="rtp")
        for i in range(400)
        if i not in (100, 101)
    ]
    odd = [Packet(START + i, SERVER, CLIENT, (53, 53), payload=40, kind="udp") for i in range(3)]
    found = read(tmp_path, pcap(sorted([*stream, *odd], key=lambda p: p.time)))
    log = next(log for log in found.packets if log.direction is LinkDirection.down)
    is_rtp = log.flow == log.flows.index(f"rtp {SERVER}:5004 > {CLIENT}:6000 ssrc 0x7")
    assert log.sequence[is_rtp].tolist() == [i for i in range(400) if i not in (100, 101)]
    assert log.sequence[~is_rtp].tolist() == [0, 1, 2]
    (flow,) = found.flows
    assert flow.protocol == "udp"
    assert flow.lost is not None
    assert flow.lost.value.sum() == 2
    assert flow.goodput.value[1:40].mean() == pytest.approx(172 * 8 / 0.02, rel=0.03)
    assert found.unused == ("rates of 1 flows, each under 50,000 bytes, short, or not among the largest",)


def test_pings_in_a_capture(tmp_path: Path) -> None:
    ids = (77, 77)
    asked = [Packet(START + i, ports=ids, sequence=65534 + i, flags=1, payload=56, kind="icmp") for i in range(4)]
    answers = [
        Packet(p.time + 0.02 + i / 1e3, SERVER, CLIENT, ids, p.sequence, flags=0, payload=56, kind="icmp")
        for i, p in enumerate(asked)
        if i != 2
    ]
    (record,) = read(tmp_path, pcap(sorted([*asked, *answers], key=lambda p: p.time))).delays
    np.testing.assert_allclose(record.sent, [0, 1, 2, 3], atol=1e-6)
    np.testing.assert_allclose(record.delay, [0.02, 0.021, np.nan, 0.023], atol=1e-6)
    assert record.size == 84


def both_ends(offset: float, drift: float) -> tuple[list[Packet], list[Packet], dict[int, float]]:
    """Return captures of an upload at both ends, and when each of its segments arrived on the near clock."""
    draw, queue, sequence, arrivals = random.Random(1), 0.0, 101, dict[int, float]()

    def at_far(packet: Packet, time: float) -> Packet:
        return replace(packet, time=time + offset + drift * (time - START))

    near = handshake(0.04)
    far = [at_far(p, p.time + (0.02 if p.source == CLIENT else -0.02)) for p in near]
    at = START + 0.1
    for _ in range(3000):
        at += draw.expovariate(200)
        queue = max(0.0, queue + draw.gauss(0, 0.002))
        sent = Packet(at, sequence=sequence, ack=901, payload=1448)
        sequence += 1448
        near.append(sent)
        if draw.random() < 0.01:  # lost, and sent again
            sent = replace(sent, time=at + 0.05)
            near.append(sent)
        arrivals[sent.sequence] = sent.time + 0.02 + queue
        far.append(at_far(sent, arrivals[sent.sequence]))
        ack = down(arrivals[sent.sequence] + 1e-4, sequence=901, ack=sequence)
        far.append(at_far(ack, ack.time))
        near.append(replace(ack, time=ack.time + 0.02))
    return sorted(near, key=lambda p: p.time), sorted(far, key=lambda p: p.time), arrivals


@pytest.mark.parametrize(("offset", "drift"), [(3.7, 40e-6), (-86_400.0, -100e-6), (0.0, 0.0)])
def test_two_clocks_are_fitted(offset: float, drift: float, tmp_path: Path) -> None:
    near, far, arrivals = both_ends(offset, drift)
    one, other = read(tmp_path, pcap(near), "near"), read(tmp_path, pcapng(far), "far")
    found = captures.joined(one, other)
    up, back = logs(found)
    assert found.epoch == one.epoch
    data = np.flatnonzero(up.payload > 0)
    expected = np.array([arrivals[100 + n] - START for n in up.sequence[data]])
    arrived = up.arrived[data]
    assert np.isnan(arrived).sum() == len(data) - len(arrivals), "the first transmissions of those sent twice"
    np.testing.assert_allclose(arrived[~np.isnan(arrived)], expected[~np.isnan(arrived)], atol=2e-4)
    np.testing.assert_allclose(back.arrived - back.sent, 0.02, atol=2e-4)
    assert captures.joined(other, one).facts["clock offset"] == found.facts["clock offset"]
    sender, receiver = found.flows
    assert (sender.at, receiver.at, receiver.direction) == ("sender", "receiver", LinkDirection.up)
    assert receiver.goodput.start[0] == pytest.approx(0.02, abs=2e-4), "the arrival of the SYN"


def test_a_segment_that_the_device_split_is_the_packets_that_arrived(tmp_path: Path) -> None:
    near, far = (
        handshake(0.04),
        [replace(p, time=p.time + (0.02 if p.source == CLIENT else -0.02)) for p in handshake(0.04)],
    )
    for i in range(20):
        near.append(Packet(START + 1 + i / 10, sequence=101 + i * 4344, ack=901, payload=4344))
        parts = [
            replace(near[-1], time=START + 1.02 + i / 10 + k / 1e3, sequence=101 + i * 4344 + k * 1448, payload=1448)
            for k in range(3)
        ]
        far += parts[:2] if i == 4 else parts
    up = captures.joined(
        read(tmp_path, pcap(near), "near"), read(tmp_path, pcap(sorted(far, key=lambda p: p.time)), "far")
    ).packets[0]
    data = up.payload > 0
    assert up.payload[data].tolist() == [1448] * 59
    np.testing.assert_allclose((up.arrived - up.sent)[data][:3], [0.02, 0.021, 0.022], atol=2e-4)
    assert up.sequence[data][:3].tolist() == [1, 1449, 2897]


def test_a_router_between_the_ends_translates_addresses(tmp_path: Path) -> None:
    near, far, _ = both_ends(0.5, 0.0)
    public = {CLIENT: "198.51.100.7", SERVER: SERVER}
    ports = {(40000, 5201): (6000, 5201), BACK: (5201, 6000)}
    far = [replace(p, source=public[p.source], destination=public[p.destination], ports=ports[p.ports]) for p in far]
    found = captures.joined(read(tmp_path, pcap(near), "near"), read(tmp_path, pcap(far), "far"))
    np.testing.assert_allclose(found.packets[1].arrived - found.packets[1].sent, 0.02, atol=2e-4)
    assert found.packets[0].flows == (f"tcp {CLIENT}:40000 > {SERVER}:5201",)


def test_two_captures_of_a_call(tmp_path: Path) -> None:
    near = [Packet(START + i / 50, ports=(5004, 6000), sequence=i, payload=172, kind="rtp") for i in range(200)]
    far = [replace(p, time=p.time + 2.03 + i % 5 / 1e3) for i, p in enumerate(near) if i != 50]
    (log,) = captures.joined(read(tmp_path, pcap(near), "near"), read(tmp_path, pcap(far), "far")).packets
    delay = log.arrived - log.sent
    assert np.flatnonzero(np.isnan(delay)).tolist() == [50]
    np.testing.assert_allclose(delay[:5], [0, 0.001, 0.002, 0.003, 0.004], atol=1e-5)


def test_two_captures_of_a_link_are_one_measurement(tmp_path: Path) -> None:
    near, far, _ = both_ends(3.7, 40e-6)
    one, other = read(tmp_path, pcap(near), "near"), read(tmp_path, pcap(far), "far")
    elsewhere = read(tmp_path, pcap([replace(p, ports=(1, 2), sequence=p.sequence + 7) for p in near]), "elsewhere")
    both, alone = captures.together([one, elsewhere, other])
    assert alone == elsewhere
    assert both.facts["other end"] == other.source
    assert both.facts["other digest"] == other.digest
    [seen] = observed([both]).loads
    assert seen.load.streams == 1, "the receiver counts"
    assert seen.goodput.value[20:-20].mean() == pytest.approx(200 * 1448 * 8, rel=0.05)
    assert seen.retransmits is not None, "the sender counts"
    assert seen.retransmits.value.sum() == len(near) - 3 - 2 * 3000


def test_captures_of_other_links_are_not_joined(tmp_path: Path) -> None:
    one = read(tmp_path, pcap(handshake(0.03)), "one")
    other = read(tmp_path, pcap([replace(p, ports=(1, 2), sequence=p.sequence + 7) for p in handshake(0.03)]), "two")
    with pytest.raises(lab.InputError, match="has no packets in common with"):
        captures.joined(one, other)


def test_one_direction_has_no_base_delay() -> None:
    time = np.arange(10.0)
    clocks = captures.fitted((time, 5.02 + 1e-4 * time), None)
    assert clocks.base_rtt is None
    assert clocks.offset == pytest.approx(5.02)
    assert clocks.drift == pytest.approx(1e-4)


WHOLE = pcap(sorted(upload(), key=lambda p: p.time))
BAD = {
    "empty": (b"", "is empty; expected iperf3 -J, ping"),
    "text": (b"hello", "unknown format; expected iperf3 -J, ping"),
    "header cut off": (WHOLE[:20], r"is damaged \(it is truncated\); expected a pcap file"),
    "no packets": (WHOLE[:24], "has no packets of TCP, UDP or ICMP"),
    "long frame": (WHOLE[:32] + b"\xff\xff\xff\x7f" + WHOLE[36:], r"a frame of 2,147,483,647 bytes; at most 262,144"),
    "long block": (pcapng(upload())[:28] + b"\1\0\0\0\xf8\xff\xff\xff" + bytes(9), r"a block of 4,294,967,288 bytes"),
    "gzip cut off": (gzip.compress(WHOLE)[:-9], r"is damaged \(it is truncated\); expected a complete gzip file"),
    "gzip damaged": (gzip.compress(WHOLE)[:-8] + bytes(8), "incorrect data check"),
    "two gzip files": (gzip.compress(WHOLE) * 2, "data after its end"),
    "another link": (pcap(upload(), link=105), "has no packets of TCP, UDP or ICMP"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_capture_is_refused_by_name(name: str, tmp_path: Path) -> None:
    content, message = BAD[name]
    with pytest.raises(lab.InputError, match=message) as refused:
        read(tmp_path, content, "bad.pcap")
    assert "bad.pcap" in str(refused.value)


def test_an_interrupted_capture_is_read_up_to_its_end(tmp_path: Path) -> None:
    found = read(tmp_path, WHOLE[:-10])
    assert sum(len(log.size) for log in found.packets) == len(upload()) - 1
    assert "46 bytes at the end, of a packet that was cut off" in found.unused


def test_batches_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    near, _, _ = both_ends(0.0, 0.0)
    for content in (pcap(near[:500]), pcapng(near[:500])):
        expected = logs(read(tmp_path, content))
        monkeypatch.setattr(frames, "CHUNK", 1000)
        found = logs(read(tmp_path, content))
        monkeypatch.undo()
        for one, other in zip(expected, found, strict=True):
            assert one.sequence.tolist() == other.sequence.tolist()
            assert one.flows == other.flows


def test_too_many_packets_bytes_and_flows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "MOST_PACKETS", 5)
    with pytest.raises(lab.InputError, match="more than 5 packets; capture for a shorter time"):
        read(tmp_path, WHOLE)
    monkeypatch.setattr(trace, "MOST_BYTES", 100)
    with pytest.raises(lab.InputError, match="more than 100 bytes of packets"):
        read(tmp_path, gzip.compress(WHOLE))
    monkeypatch.undo()
    monkeypatch.setattr(trace, "MOST_FLOWS", 2)
    found = read(tmp_path, pcap([Packet(START + i, ports=(i, 9), payload=5, kind="udp") for i in range(5)]))
    assert found.unused[0] == "3 packets of flows after the first 2"
