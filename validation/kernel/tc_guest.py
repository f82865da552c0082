"""Give a kernel lines of tc, and what the engine sends by netlink; keep what it holds then. Runs in the guest.

`tc_guest.py CASES ROWS`: a case has `commands`, `tc` (the program), `kind` and `options` (hexadecimal, or none). Its
row also has what tc refused, what it shows afterwards, and the options that the kernel gives back: after the lines
(`of_tc`) and after what was sent (`of_netlink`).
"""

import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NEW_QDISC, GET_QDISC, ERROR, DONE = 36, 38, 2, 3
REQUEST, ACK, REPLACE, CREATE, DUMP = 1, 4, 0x100, 0x400, 0x300
KIND, OPTIONS, NESTED = 1, 2, 1 << 15
AT_ROOT = 0xFFFFFFFF


def sh(command: str) -> "subprocess.CompletedProcess[str]":
    """Run a command."""
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False)


def ask(kind: int, flags: int, body: bytes) -> Iterator[tuple[int, bytes]]:
    """Send a message of netlink, and yield the answers. OSError if the kernel refuses."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as link:
        link.send(struct.pack("=IHHII", 16 + len(body), kind, REQUEST | flags, 1, 0) + body)
        while True:
            data = link.recv(1 << 16)
            while data:
                length, what = struct.unpack("=IH", data[:6])
                if what == ERROR and (error := -struct.unpack("=i", data[16:20])[0]):
                    raise OSError(error, os.strerror(error))
                if what in (ERROR, DONE):
                    return
                yield what, data[16:length]
                data = data[(length + 3) & ~3 :]


def attribute(number: int, content: bytes) -> bytes:
    """Return an attribute."""
    return struct.pack("=HH", 4 + len(content), number) + content + b"\0" * (-len(content) % 4)


def attributes(data: bytes) -> dict[int, bytes]:
    """Return attributes by their numbers."""
    found = {}
    while len(data) >= 4:
        length, number = struct.unpack("=HH", data[:4])
        found[number & 0x3FFF] = data[4:length]
        data = data[(length + 3) & ~3 :]
    return found


def place(parent: int) -> bytes:
    """Return `struct tcmsg` of the device."""
    return struct.pack("=BxxxiIII", 0, socket.if_nametoindex("eth0"), 0, parent, 0)


def held(kind: str) -> str | None:
    """Return the options of the first discipline of a kind, in hexadecimal."""
    for _, body in ask(GET_QDISC, DUMP, place(0)):
        found = attributes(body[20:])
        if found[KIND].rstrip(b"\0").decode() == kind and body[4:8] == place(0)[4:8]:
            return found.get(OPTIONS, b"").hex()
    return None


def main() -> None:
    """Do each case on a device of its own."""
    rows = []
    for case in json.loads(Path(sys.argv[1]).read_text()):
        program = case.pop("tc")
        sh("ip link add eth0 numtxqueues 4 type dummy; ip link set eth0 up")
        done = [sh(command.replace("tc ", f"{program} ", 1)) for command in case["commands"]]
        failed = [f"{each.args}: {each.stderr.strip()}" for each in done if each.returncode]
        shown = sh(f"{program} -d qdisc show dev eth0").stdout + sh(f"{program} class show dev eth0").stdout
        row = case | {"failed": failed, "shown": shown, "of_tc": held(case["kind"])}
        if case["options"] is not None:
            sh(f"{program} qdisc del dev eth0 root")
            body = place(AT_ROOT) + attribute(KIND, case["kind"].encode() + b"\0")
            list(
                ask(
                    NEW_QDISC,
                    ACK | CREATE | REPLACE,
                    body + attribute(OPTIONS | NESTED, bytes.fromhex(case["options"])),
                )
            )
            row["of_netlink"] = held(case["kind"])
        rows.append(row)
        sh("ip link del eth0")
        print(case["aqm"], failed or "accepted", flush=True)
    Path(sys.argv[2]).write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
