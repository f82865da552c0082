"""Measure from which size on two threads are faster than one, and store it in benches/threads.json.

    python benches/threads.py

Takes ten minutes, on two cores that are otherwise idle. `make bench` writes what is stored onto its page.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
STORED = HERE / "threads.json"

CHANGES = {"const WORTHWHILE: f64 = 200.0;": "const WORTHWHILE: f64 = 0.0;"}
"""Of the engine that is measured: it takes several threads whatever the size."""

FLOWS = {
    "one": (1_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000),
    "eight": (1_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000),
    "two": (1_000, 5_000, 10_000, 20_000, 50_000, 150_000),
    "ack": (1_000, 5_000, 10_000, 20_000, 50_000, 150_000),
}
MANY = 50_000
"""So many flows run for 3 s, twice; fewer for 5 s, four times, of which the best counts."""
ROUND = 0.010
"""Seconds: a quarter of the minimum round trip."""
RATE, SIZE = 90e3, 1500
"""Of a flow, bit/s; of a packet, bytes."""

LINK = """[[links]]
name = "{name}"
rate = "{rate} kbit/s"
delay = "{delay} ms"
buffer = "{buffer} packets"
target = "{target} packets"
aqm = "{aqm}"
"""
FTP = """[[flows]]
name = "to-{link}"
count = {flows}
rtt = {{ uniform = ["40 ms", "200 ms"] }}
start = {{ uniform = ["0 s", "1 s"] }}
tcp = "rfc"
path = {path}
{back}
"""


def main() -> None:
    """Build the engine, let it run, and store what was measured."""
    with tempfile.TemporaryDirectory() as folder:
        engine = built(Path(folder))
        rows = [measured(engine, kind, flows, Path(folder)) for kind, sizes in FLOWS.items() for flows in sizes]
    STORED.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def built(folder: Path, changes: Mapping[str, str] = CHANGES) -> Path:
    """Return the example of an engine with changes of its rounds."""
    tree = folder / "tree"
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), "HEAD"], cwd=ROOT, check=True)
    source = tree / "crates" / "sim" / "src" / "engine" / "network" / "rounds.rs"
    text = source.read_text(encoding="utf-8")
    for before, after in changes.items():
        if text.count(before) != 1:
            sys.exit(f"{source}: {before!r} is not there once")
        text = text.replace(before, after)
    source.write_text(text, encoding="utf-8")
    command = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "aqmlab-sim", "--example", "run"]
    subprocess.run(command, cwd=tree, env=os.environ | {"CARGO_TARGET_DIR": str(folder / "target")}, check=True)
    subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)
    return folder / "target" / "release" / "examples" / "run"


def scenario(kind: str, flows: int) -> str:
    """Return a dumbbell, eight of them, one with a second bottleneck hardly wider, or one whose ACKs queue too."""
    duration = 3 if flows >= MANY else 5
    head = f'schema = 1\nduration = "{duration} s"\nwarmup = "1 s"\n'
    if kind == "eight":
        return head + "".join(link(f"link-{i}", flows // 8) + ftp([f"link-{i}"], flows // 8) for i in range(8))
    text = head + link("bottleneck", flows)
    if kind == "two":
        return text + link("second", flows, rate=95) + ftp(["bottleneck", "second"], flows)
    if kind == "ack":
        return text + link("back", flows, buffer=flows, aqm="droptail") + ftp(["bottleneck"], flows, back="back")
    return text + ftp(["bottleneck"], flows)


def link(name: str, flows: int, rate: int = 90, delay: int = 0, buffer: int = 0, aqm: str = "pi") -> str:
    """Return a link for so many flows, with `rate` kbit/s for each."""
    small = {"buffer": buffer or max(10, flows // 5), "target": max(5, flows // 10)}
    return LINK.format(name=name, rate=rate * flows, delay=delay, aqm=aqm, **small)


def ftp(path: list[str], flows: int, back: str = "") -> str:
    """Return so many flows over these links, with their ACKs on a link back."""
    return FTP.format(link=path[0], flows=flows, path=json.dumps(path), back=f'ack_path = ["{back}"]' if back else "")


def measured(engine: Path, kind: str, flows: int, folder: Path) -> dict[str, float | str]:
    """Return the best wall time of one and of two threads, s, run in turn."""
    file = folder / "scenario.toml"
    file.write_text(scenario(kind, flows), encoding="utf-8")
    best = {1: float("inf"), 2: float("inf")}
    for _ in range(2 if flows >= MANY else 4):
        for threads in (1, 2):
            command = [str(engine), str(file), "bench", "pi", "1", str(threads)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            best[threads] = min(best[threads], json.loads(done.stdout)["engine"]["wall"])
    packets = RATE * flows / 8 / SIZE * ROUND
    print(f"{kind}, {flows:,} flows: {best[1] / best[2]:.2f} times as fast", file=sys.stderr)
    return {"kind": kind, "flows": flows, "packets": packets, "one": best[1], "two": best[2]}


if __name__ == "__main__":
    main()
