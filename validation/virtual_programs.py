"""Run real programs in virtual time again and again, and compare the results to the last digit.

    python validation/virtual_programs.py [--runs N] [--busy] [PROGRAM...]

It needs a kernel (`aqmlab kernel build`) and the programs: iperf3, curl, chromium, ffmpeg, git, node, and aioquic in
the interpreter named by QUIC_PYTHON. A program that is missing is skipped by name. --busy runs four busy processes
at the same time. Rows are added to validation/virtual.json.
"""

import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from struct import pack
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parent.parent
ROWS = Path(__file__).with_name("virtual.json")
LINE = ("--up", "2Mbit/s", "--down", "10Mbit/s", "--rtt", "40ms", "--aqm", "fq-codel")
WEB = "exec python3 -m http.server --directory www 8000"
OWN_NUMBER = re.compile(r"LOAD=([0-9.]+)")


@dataclass(frozen=True)
class Program:
    """A program, and what runs at the far end."""

    name: str
    needs: str
    """The executable without which it is skipped."""
    command: Sequence[str]
    serve: str
    number: re.Pattern[str] | None = None
    """The program's own number in what it prints."""


CHROMIUM = (
    *("chromium", "--headless", "--no-sandbox", "--single-process", "--no-zygote", "--disable-gpu"),
    *("--disable-crash-reporter", "--user-data-dir=/tmp/profile", "--dump-dom", "http://server:8000/"),
)
NODE = """
require("http").get("http://server:8000/big", answer => {
  let size = 0
  answer.on("data", data => size += data.length).on("end", () => console.log(size))
})
"""
QUIC = os.environ.get("QUIC_PYTHON", "no-aioquic")

PROGRAMS = [
    Program("iperf3, four flows", "iperf3", ("iperf3", "-c", "server", "-P", "4", "-t", "10"), "exec iperf3 -s"),
    Program("curl", "curl", ("curl", "-s", "-o", "/dev/null", "-w", "%{time_total}\n", "http://server:8000/big"), WEB),
    Program("Chromium, 30 images", "chromium", CHROMIUM, WEB, OWN_NUMBER),
    Program("aioquic", QUIC, (QUIC, "quic.py", "fetch", "server", "2"), f"exec {QUIC} quic.py serve"),
    Program(
        "ffmpeg, RTP",
        "ffmpeg",
        (
            "ffmpeg",
            *("-re", "-f", "lavfi", "-i", "testsrc=size=320x180:rate=25", "-t", "5"),
            *("-c:v", "mpeg4", "-b:v", "400k", "-f", "rtp"),
            "rtp://server:5004",
        ),
        "exec python3 sink.py",
    ),
    Program("git clone", "git", ("git", "clone", "-q", "http://server:8000/repository.git", "/tmp/clone"), WEB),
    Program("Node's http client", "node", ("node", "-e", NODE), WEB),
]

SINK = """
import socket
sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sink.bind(("", 5004))
while True: sink.recv(2000)
"""

PAGE = """<html><body>{images}<script>addEventListener("load", () => setTimeout(() => {{
const entry = performance.getEntriesByType("navigation")[0]
document.body.innerHTML = "LOAD=" + entry.loadEventStart / 1000 }}, 0))</script></body></html>
"""


def lay_out(folder: Path) -> None:
    """Write what servers offer: a page of 30 images, a file of 1 MB, a repository; the same bytes every time."""
    folder = folder.resolve()
    www, random = folder / "www", Random(1)
    www.mkdir()
    for i in range(30):
        (www / f"{i}.png").write_bytes(picture(random))
    (www / "index.html").write_text(PAGE.format(images="".join(f'<img src="{i}.png">' for i in range(30))))
    (www / "big").write_bytes(random.randbytes(1_000_000))
    (folder / "sink.py").write_text(SINK)
    shutil.copy(ROOT / "examples" / "quic.py", folder)
    who = {
        f"GIT_{role}_{key}": value
        for role in ("AUTHOR", "COMMITTER")
        for key, value in (("NAME", "a"), ("EMAIL", "a@b.invalid"), ("DATE", "1000000000 +0000"))
    }
    work = folder / "work"
    (work / "source").mkdir(parents=True)
    for i in range(20):
        (work / "source" / f"{i}.bin").write_bytes(random.randbytes(10_000))
    for words in ("init -q", "add .", "commit -q -m one", f"clone -q --bare . {www / 'repository.git'}"):
        subprocess.run(["git", *words.split()], cwd=work, check=True, env={**os.environ, **who})
    subprocess.run(["git", "update-server-info"], cwd=www / "repository.git", check=True)


def picture(random: Random) -> bytes:
    """Return a PNG of noise, about 18 kB."""
    rows = b"".join(b"\0" + random.randbytes(300) for _ in range(60))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", pack(">IIBBBBB", 100, 60, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep this machine busy."""
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in spinning:
            each.kill()
            each.wait()


def run(program: Program, folder: Path) -> dict[str, Any]:
    """Run a program once; return the digest of its result, its own number and what it took."""
    command = ["aqmlab", "live", "--virtual", *LINE, "--serve", program.serve, "--json", "--", *program.command]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not done.stdout:
        raise SystemExit(f"{program.name}: {done.stderr}")
    document = json.loads(done.stdout)
    found = program.number.search(done.stderr) if program.number else None
    return {
        "program": program.name,
        "digest": hashlib.sha256(done.stdout.encode()).hexdigest()[:12],
        "printed": hashlib.sha256(done.stderr.encode()).hexdigest()[:12],
        "code": done.returncode,
        "number": float(found[1]) if found else document["live"]["duration"],
        "packets": sum(document["live"][name]["written"] for name in ("up", "down")),
        "virtual": document["live"]["duration"],
        "processor": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2),
    }


def main() -> None:
    """Run what is asked for."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--runs", type=int, default=10)
    asked.add_argument("--busy", action="store_true")
    asked.add_argument("programs", nargs="*")
    options = asked.parse_args()
    rows = json.loads(ROWS.read_text()) if ROWS.exists() else []
    with TemporaryDirectory(dir="/var/tmp") as name, busy(4 if options.busy else 0):
        lay_out(Path(name))
        for program in PROGRAMS:
            if options.programs and program.name.split(",")[0] not in options.programs:
                continue
            if not shutil.which(program.needs):
                print(f"{program.name}: skipped: {program.needs} is not installed")
                continue
            for _ in range(options.runs):
                row = {**run(program, Path(name)), "busy": options.busy}
                rows.append(row)
                print(*row.values(), flush=True)
                ROWS.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


if __name__ == "__main__":
    main()
