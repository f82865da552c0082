"""What the tests of live runs share: a line, programs that send over it, and programs that take what is sent.

They need user namespaces and /dev/net/tun; where the machine refuses, they are skipped and say what it said.
"""

import json
import shlex
import subprocess
import sys
from typing import Any

LINE = ("--rate", "10Mbit/s", "--rtt", "20ms", "--buffer", "100ms")


def python(script: str, *arguments: object) -> list[str]:
    """A command that runs a script."""
    return [sys.executable, "-c", script, *map(str, arguments)]


SINK = "exec " + shlex.join(
    python("""
import socket, threading
def drain(peer):
    while peer.recv(1 << 16): pass
server = socket.create_server(("", 5000))
while True: threading.Thread(target=drain, args=server.accept()[:1], daemon=True).start()
""")
)
"""Takes all that it is sent over TCP; for `--serve`."""

HOLE = "exec " + shlex.join(
    python("""
import socket
hole = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
hole.bind(("", 5000))
while True: hole.recv(2000)
""")
)
"""Takes datagrams; for `--serve`."""

SEND = """
import socket, sys, time
peer, end = socket.create_connection(("server", 5000)), time.monotonic() + float(sys.argv[1])
while time.monotonic() < end: peer.sendall(bytes(1 << 16))
"""
"""Sends for so many seconds over TCP."""

FLOOD = """
import socket, sys, time
peer, end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    for _ in range(20): peer.sendto(bytes(972), ("server", 5000))
    time.sleep(0.005)
"""
"""Sends 1000-byte datagrams, 32 Mbit/s at most, for so many seconds."""


def document(finished: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    """What a run that went well has printed with --json."""
    assert finished.returncode == 0, finished.stderr
    found: dict[str, Any] = json.loads(finished.stdout)
    return found
