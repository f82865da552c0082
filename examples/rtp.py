"""A call in RTP that does not adapt, and its receiver with feedback of RFC 8888, for `aqmlab live` to measure.

python rtp.py receive
python rtp.py send HOST SECONDS
"""

import socket
import struct
import sys
import time

PORT = 5004
FRAME_RATE = 25
PACKETS = 4
"""Of each frame."""
MEDIA = 1000
"""Bytes of each packet."""
SSRC = 0x0A0B0C0D
EVERY = 10
"""Packets that a feedback tells of."""


def send(host: str, seconds: float) -> None:
    """Send a frame 25 times a second: 800 kbit/s."""
    peer, start = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), time.monotonic()
    for frame in range(int(FRAME_RATE * seconds)):
        time.sleep(max(0.0, start + frame / FRAME_RATE - time.monotonic()))
        for part in range(PACKETS):
            marker = 0x80 if part == PACKETS - 1 else 0
            header = struct.pack(
                "!BBHII", 0x80, 96 | marker, (frame * PACKETS + part) & 0xFFFF, frame * 90000 // FRAME_RATE, SSRC
            )
            peer.sendto(header + bytes(MEDIA), (host, PORT))
    time.sleep(0.2)


def feedback(arrived: dict[int, float], now: float) -> bytes:
    """Return RTCP that tells of the packets from the first to the last that have arrived, as not ECN-capable."""
    first, count = min(arrived), max(arrived) - min(arrived) + 1
    told = [
        0x8000 | min(int(1024 * (now - arrived[seq])), 0x1FFD) if seq in arrived else 0
        for seq in range(first, first + count)
    ]
    told += [0] * (count % 2)
    body = struct.pack(f"!IIHH{len(told)}HI", 1, SSRC, first, count, *told, int(65536 * now) & 0xFFFFFFFF)
    return struct.pack("!BBH", 0x80 | 11, 205, len(body) // 4) + body


def receive() -> None:
    """Answer with feedback on the same port (RFC 5761)."""
    port = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    port.bind(("", PORT))
    arrived: dict[int, float] = {}
    while True:
        datagram, peer = port.recvfrom(2000)
        now = time.monotonic()
        arrived[int.from_bytes(datagram[2:4], "big")] = now
        if len(arrived) == EVERY:
            port.sendto(feedback(arrived, now), peer)
            arrived.clear()


if __name__ == "__main__":
    receive() if sys.argv[1] == "receive" else send(sys.argv[2], float(sys.argv[3]))
