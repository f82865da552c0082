"""Send datagrams into the leaves of trees of HTB, and keep what each is given. Runs in the guest.

`htb_guest.py CASES ROWS`: a case has the lines of tc, and of each leaf name, minor number and offered rate in Mbit/s.
"""

import json
import re
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

TICK = 0.001
"""Time between looks at what is due, s: a guest in virtual time has to sleep."""
SO_SNDBUFFORCE = 32


def sh(command: str) -> str:
    """Run a command that has to succeed."""
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout


def sent() -> dict[int, int]:
    """Return the bytes that each class has sent, by minor number."""
    shown = sh("tc -s class show dev dummy0")
    return {int(minor, 16): int(n) for minor, n in re.findall(r"class htb 1:(\w+) .*\n Sent (\d+) bytes", shown)}


def opened(minor: int) -> socket.socket:
    """Return a socket whose datagrams go to a class."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 26)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 1 << 16 | minor)
    made.connect(("10.9.0.2", 9000 + minor))
    made.setblocking(False)
    return made


def given(case: dict[str, Any]) -> dict[str, float]:
    """Do a case, and return the rate of each leaf in Mbit/s."""
    sh("ip link add dummy0 type dummy; ip addr add 10.9.0.1/24 dev dummy0; ip link set dummy0 up")
    for command in case["commands"]:
        sh(command)
    leaves = [(opened(minor), offered * 1e6 / 8 / case["packet"]) for _, minor, offered in case["leaves"]]
    payload = bytes(case["packet"] - 42)
    counts, start, began = [0] * len(leaves), time.monotonic(), 0.0
    before: dict[int, int] = {}
    while (now := time.monotonic() - start) < case["end"]:
        if now >= case["begin"] and not before:
            before, began = sent(), now
        for i, (each, rate) in enumerate(leaves):
            while counts[i] < rate * now:
                counts[i] += 1
                with suppress(OSError):  # the queue may be full
                    each.send(payload)
        time.sleep(TICK)
    after, took = sent(), now - began
    sh("ip link del dummy0")
    return {name: (after[minor] - before[minor]) * 8 / took / 1e6 for name, minor, _ in case["leaves"]}


def main() -> None:
    """Do all cases."""
    sh("ip link set lo up")
    with Path(sys.argv[2]).open("w") as rows:
        for case in json.loads(Path(sys.argv[1]).read_text()):
            rows.write(json.dumps({"name": case["name"], "given": given(case)}) + "\n")
            rows.flush()


if __name__ == "__main__":
    main()
