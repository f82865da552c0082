"""Record in which order the kernel that this runs in sends segments, under losses that a script names.

`sequences.py SCRIPTS ROWS` reads the scripts of `scripts.json` and appends, for Reno and CUBIC, a row of each: the
numbers of the segments in the order in which they were sent (0 is the SYN), with times in ms. Sender and receiver are
namespaces on two veths; between them this program forwards frames: 10 Mbit/s, 20 ms there and 20 ms back. Segment n of
copy c is dropped if the script has [n, c]; a late one waits for so many ms more; `drop_acks` loses the ACKs of the
segments from the first number to the second; `pause` has the application write so many segments, and the rest so many
ms later; the link sends nothing from the first ms to the second of a `stall`.
"""

import heapq
import json
import select
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any

from guest import sh

MSS = 1448
RATE = 10e6 / 8
REPEATS = 7
DELAY = 0.020
PORT = 5001
SO_RCVBUFFORCE = 33
"""From Linux's headers; Python has no name for it."""
FROM_SENDER, FROM_RECEIVER = 0, 1


class Wire:
    """What is between sender and receiver."""

    def __init__(self, script: dict[str, Any]) -> None:
        """Open the two ends."""
        self.script = script
        self.ends = [self.open_end(device) for device in ("ra", "rb")]
        self.free = 0.0
        self.waiting: list[tuple[float, int, int, bytes]] = []
        self.copies: dict[int, int] = {}
        self.sent: list[tuple[int, float]] = []
        self.late = 0.0
        self.first = 0
        self.started = 0.0
        self.frames = 0
        self.over = False

    @staticmethod
    def open_end(device: str) -> socket.socket:
        """Open a raw socket on a device; what it sends itself is not heard."""
        end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        end.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
        end.bind((device, 0))
        return end

    def run(self) -> None:
        """Forward frames until the transfer is over."""
        while not self.over:
            wait = max(0.0, self.waiting[0][0] - time.monotonic()) if self.waiting else 0.2
            for end in select.select(self.ends, [], [], wait)[0]:
                frame, address = end.recvfrom(65536)
                if address[2] != socket.PACKET_OUTGOING:
                    self.take(frame, self.ends.index(end))
            while self.waiting and self.waiting[0][0] <= time.monotonic():
                due, _, side, frame = heapq.heappop(self.waiting)
                self.late = max(self.late, round(1e3 * (time.monotonic() - due), 2))
                self.ends[1 - side].send(frame)
        for end in self.ends:
            end.close()

    def take(self, frame: bytes, side: int) -> None:
        """Queue a frame, unless the script drops it."""
        now = time.monotonic()
        late = 0.0
        if frame[12:14] == b"\x08\x00" and frame[23] == 6:
            verdict = self.segment(frame, now) if side == FROM_SENDER else self.ack(frame)
            if verdict is None:
                return
            late = verdict
        at = now
        if side == FROM_SENDER:
            first, last = (self.started + ms / 1e3 for ms in self.script.get("stall", [0, 0]))
            begin = max(now, self.free)
            self.free = at = (last if first <= begin < last else begin) + len(frame) / RATE
        self.frames += 1
        heapq.heappush(self.waiting, (at + DELAY + late, self.frames, side, frame))

    def segment(self, frame: bytes, now: float) -> float | None:
        """Note a segment; its extra delay (s), or None if it is dropped."""
        head = 14 + 4 * (frame[14] & 15)
        seq, flags = struct.unpack_from("!I", frame, head + 4)[0], frame[head + 13]
        size = struct.unpack_from("!H", frame, 16)[0] - 4 * (frame[14] & 15) - 4 * (frame[head + 12] >> 4)
        if flags & 2:
            self.first, self.started = seq, now
        elif size == 0:
            return 0.0
        number = 0 if flags & 2 else (seq - self.first - 1) % (1 << 32) // MSS + 1
        copy = self.copies[number] = self.copies.get(number, 0) + 1
        self.sent.append((number, round(1e3 * (now - self.started), 2)))
        if [number, copy] in self.script.get("drop", []):
            self.free = max(now, self.free) + len(frame) / RATE  # it is lost at the end of the link
            return None
        late = dict(self.script.get("late", [])).get(number, 0.0) if copy == 1 else 0.0
        return late / 1e3

    def ack(self, frame: bytes) -> float | None:
        """Return 0, or None if an ACK is dropped."""
        head = 14 + 4 * (frame[14] & 15)
        number = (struct.unpack_from("!I", frame, head + 8)[0] - self.first - 1) % (1 << 32) // MSS
        first, last = self.script.get("drop_acks", [0, -1])
        return None if first <= number <= last else 0.0


def set_up() -> None:
    """Make sender (a), receiver (b) and the wire between them, this program's own namespace."""
    for space, device, mine, ip in (("a", "ar", "ra", "10.0.1.1"), ("b", "br", "rb", "10.0.1.2")):
        sh(f"ip netns add {space}; ip link add name {mine} type veth peer name {device} netns {space}")
        sh(f"ip link set dev {mine} up; ip -n {space} link set dev lo up")
        sh(f"ip -n {space} addr add {ip}/24 dev {device}; ip -n {space} link set dev {device} up")
        for command in (f"ethtool -K {mine}", f"ip netns exec {space} ethtool -K {device}"):
            sh(f"{command} tso off gso off gro off tx off rx off", check=False)
        sh(f"ip netns exec {space} sysctl -qw net.ipv4.tcp_no_metrics_save=1")


RECEIVER = f"""
import socket
server = socket.create_server(("10.0.1.2", {PORT}))
connection, _ = server.accept()
while connection.recv(1 << 20):
    pass
"""

SENDER = f"""
import socket, sys, time
connection = socket.socket()
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[1].encode())
connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
connection.connect(("10.0.1.2", {PORT}))
first, pause, rest = map(int, sys.argv[2:])
connection.sendall(bytes({MSS} * first))
time.sleep(pause / 1e3)
connection.sendall(bytes({MSS} * rest))
connection.shutdown(socket.SHUT_WR)
connection.recv(1)
"""


def record(script: dict[str, Any], law: str) -> dict[str, Any]:
    """Run a script under a law."""
    wire = Wire(script)
    thread = threading.Thread(target=wire.run)
    thread.start()
    receiver = threading.Thread(target=sh, args=(f"ip netns exec b /usr/bin/python3 -c '{RECEIVER}'",))
    receiver.start()
    time.sleep(0.5)
    first, pause = script.get("pause", [script["segments"], 0])
    sh(f"ip netns exec a /usr/bin/python3 -c '{SENDER}' {law} {first} {pause} {script['segments'] - first}")
    receiver.join()
    wire.over = True
    thread.join()
    numbers, times = zip(*(each for each in wire.sent if each[0] <= script["segments"]), strict=True)
    return {"name": script["name"], "law": law, "sent": numbers, "ms": times, "late_ms": wire.late}


def main() -> None:
    """Record every script, several times; the recording counts in which no frame was much late."""
    set_up()
    for script in json.loads(Path(sys.argv[1]).read_text()):
        for law in ("reno", "cubic"):
            row = min((record(script, law) for _ in range(REPEATS)), key=lambda row: row["late_ms"])
            with Path(sys.argv[2]).open("a") as rows:
                rows.write(json.dumps(row) + "\n")
            print(row["name"], law, len(row["sent"]), row["late_ms"], flush=True)


if __name__ == "__main__":
    main()
