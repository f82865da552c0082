"""Makes captures (pcap, pcapng) of packets that a test states."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address

CLIENT, SERVER = "10.1.0.2", "203.0.113.9"
FIN, SYN, RST, ACK = 1, 2, 4, 16


@dataclass(frozen=True)
class Packet:
    """A packet of TCP, RTP, UDP or ICMP; `time` in s since 1970, `payload` in bytes."""

    time: float
    source: str = CLIENT
    destination: str = SERVER
    ports: tuple[int, int] = (40000, 5201)
    sequence: int = 0
    ack: int = 0
    flags: int = ACK
    payload: int = 0
    ecn: int = 0
    kind: str = "tcp"
    ssrc: int = 7

    def ip(self) -> bytes:
        """Return the IP packet, of whose payload only the first bytes are there."""
        protocol, body, size = self._transport()
        source, destination = ip_address(self.source), ip_address(self.destination)
        ends = source.packed + destination.packed
        if source.version == 6:
            return (
                struct.pack(">BBHHBB", 0x60, self.ecn << 4, 0, size, {1: 58}.get(protocol, protocol), 64) + ends + body
            )
        return struct.pack(">BBHHHBBH", 0x45, self.ecn, 20 + size, 0, 0x4000, 64, protocol, 0) + ends + body

    @property
    def size(self) -> int:
        """Return the bytes of the whole IP packet."""
        return (40 if ":" in self.source else 20) + self._transport()[2]

    def _transport(self) -> tuple[int, bytes, int]:
        if self.kind == "tcp":
            numbers = (self.sequence % 2**32, self.ack % 2**32)
            return 6, struct.pack(">HHIIBBHHH", *self.ports, *numbers, 0x50, self.flags, 65535, 0, 0), 20 + self.payload
        if self.kind == "icmp":
            is_v6, is_request = ":" in self.source, self.flags == 1
            kind = {(False, True): 8, (False, False): 0, (True, True): 128, (True, False): 129}[is_v6, is_request]
            return 1, struct.pack(">BBHHH", kind, 0, 0, self.ports[0], self.sequence % 2**16), 8 + self.payload
        body = struct.pack(">HHHH", *self.ports, 8 + self.payload, 0)
        if self.kind == "rtp":
            body += struct.pack(">BBHII", 0x80, 96, self.sequence % 2**16, 0, self.ssrc)
        return 17, body, 8 + self.payload


def pcap(
    packets: Iterable[Packet], *, link: int = 101, order: str = "<", nano: bool = False, before: bytes = b""
) -> bytes:
    """Return a capture whose frames have `before` in front of the IP packets; link 101 is raw IP, 1 Ethernet."""
    scale = 10**9 if nano else 10**6
    parts = [struct.pack(order + "IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, 96, link)]
    for packet in packets:
        frame, ticks = before + packet.ip(), round(packet.time * scale)
        length = len(before) + packet.size
        parts += [struct.pack(order + "IIII", ticks // scale, ticks % scale, len(frame), length), frame]
    return b"".join(parts)


def pcapng(packets: Iterable[Packet], *, link: int = 101, order: str = "<", resolution: int = 9) -> bytes:
    """Return the same as pcapng, with times in 10^-resolution s and a block that no reader knows."""
    section = struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)
    interface = struct.pack(order + "HHI", link, 0, 96) + struct.pack(order + "HHB3xI", 9, 1, resolution, 0)
    parts = [_block(order, 0x0A0D0D0A, section), _block(order, 1, interface), _block(order, 0xBAD, b"odd ")]
    for packet in packets:
        frame, ticks = packet.ip(), round(packet.time * 10**resolution)
        head = struct.pack(order + "IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), packet.size)
        parts.append(_block(order, 6, head + frame + bytes(-len(frame) % 4)))
    return b"".join(parts)


def _block(order: str, kind: int, body: bytes) -> bytes:
    size = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + size + body + size
