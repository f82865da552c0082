"""Send a stream beside datagrams that fill another transmit queue under cake_mq; keep what each is given. In the guest.

`cake_mq_guest.py CASES ROWS`: a case has its name, the options of cake_mq as netlink takes them, the rates offered in
Mbit/s and the times in s.
"""

import json
import re
import socket
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

PACKET = 1000
"""Bytes with all headers, 42 of them."""
DEVICE = "card"
SO_SNDBUFFORCE = 32


def sh(command: str) -> str:
    """Run a command that has to succeed."""
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout


def attribute(number: int, content: bytes) -> bytes:
    """Return an attribute of netlink."""
    return struct.pack("=HH", 4 + len(content), number) + content + b"\0" * (-len(content) % 4)


def install(options: bytes) -> None:
    """Make cake_mq the root of the device; the program tc of this machine may not know it."""
    body = struct.pack("=BxHiIII", 0, 0, socket.if_nametoindex(DEVICE), 1 << 16, 0xFFFFFFFF, 0)
    body += attribute(1, b"cake_mq\0") + attribute(2, options)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        link.send(struct.pack("=IHHII", 16 + len(body), 36, 0x505, 1, 0) + body)
        code = struct.unpack_from("=i", link.recv(4096), 16)[0]
        if code:
            raise OSError(-code, "cake_mq is refused")


def sent() -> list[int]:
    """Return the bytes that each instance has sent."""
    shown = sh(f"tc -s qdisc show dev {DEVICE}")
    return [int(n) for _, n in sorted(re.findall(r"qdisc cake \w+: parent 1:(\d+) .*\n Sent (\d+) bytes", shown))]


def opened() -> list[socket.socket]:
    """Return a socket for each instance: which one a socket's datagrams are in is a hash."""
    found: dict[int, socket.socket] = {}
    while len(found) < len(sent()):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 26)
        made.connect(("10.9.0.2", 9000))
        made.setblocking(False)
        before = sent()
        made.send(bytes(PACKET - 42))
        time.sleep(0.1)
        grown = [new - old for old, new in zip(before, sent(), strict=True)]
        if grown.count(PACKET) == 1:
            found.setdefault(grown.index(PACKET), made)
    return [found[at] for at in sorted(found)]


def given(case: dict[str, Any]) -> list[float]:
    """Do a case, and return the rate of each instance in Mbit/s."""
    sh(f"ip link add {DEVICE} numtxqueues 2 type dummy")
    sh(f"ip addr add 10.9.0.1/24 dev {DEVICE} && ip link set {DEVICE} up")
    install(bytes.fromhex(case["options"]))
    sockets, payload = opened(), bytes(PACKET - 42)
    gaps = [8 * PACKET / (rate * 1e6) for rate in case["offered"]]
    start = time.monotonic()
    due, before, began = [start, start + gaps[1] / 3], [0, 0], 0.0
    while (now := time.monotonic()) < start + case["end"]:
        if not began and now >= start + case["begin"]:
            before, began = sent(), time.monotonic()
        for i, each in enumerate(sockets):
            while due[i] <= now:
                due[i] += gaps[i]
                with suppress(OSError):  # the queue may be full
                    each.send(payload)
        time.sleep(max(0.0, min(due) - time.monotonic()))
    after, took = sent(), time.monotonic() - began
    sh(f"ip link del {DEVICE}")
    return [(new - old) * 8 / took / 1e6 for old, new in zip(before, after, strict=True)]


def main() -> None:
    """Do all cases."""
    sh("ip link set lo up")
    Path("/proc/self/timerslack_ns").write_text("1")
    with Path(sys.argv[2]).open("w") as rows:
        for case in json.loads(Path(sys.argv[1]).read_text()):
            rows.write(json.dumps({"name": case["name"], "given": given(case)}) + "\n")
            rows.flush()


if __name__ == "__main__":
    main()
