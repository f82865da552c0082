"""Measure from which size on two threads are faster than one, and store it in benches/threads.json.

    python benches/threads.py

Takes five minutes, on two cores that are otherwise idle. `make bench` writes what is stored onto its page.
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

CHANGES = {
    "const WORTHWHILE: f64 = 200.0;": "const WORTHWHILE: f64 = 0.0;",
    "struct Gate<'a> {": "static LONGEST: AtomicU64 = AtomicU64::new(0);\n\nstruct Gate<'a> {",
    "            self.lock(part).go_on(Time(self.until.load(Ordering::Relaxed)));": """
            let begun = std::time::Instant::now();
            self.lock(part).go_on(Time(self.until.load(Ordering::Relaxed)));
            LONGEST.fetch_max(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);""",
    "    let mut now = Time::ZERO;": """
    let (begun, mut longest) = (std::time::Instant::now(), 0);
    let mut now = Time::ZERO;""",
    "        gate.wait();": """
        gate.wait();
        longest += LONGEST.swap(0, Ordering::Relaxed);""",
    "    (0..gate.parts.len()).for_each(|part| gate.lock(part).take_in());": """
    (0..gate.parts.len()).for_each(|part| gate.lock(part).take_in());
    eprintln!("{} {}", begun.elapsed().as_secs_f64(), longest as f64 * 1e-9);""",
}
"""Of the engine that is measured: it takes several threads whatever the size, and says what its rounds took, s, and the
longest part of each, which is that of the queues."""

FLOWS = {
    "one": (1_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000),
    "two": (1_000, 5_000, 10_000, 20_000, 50_000, 150_000),
    "ack": (1_000, 5_000, 10_000, 20_000, 50_000, 150_000),
}
MANY = 50_000
"""So many flows run for 3 s, twice; fewer for 5 s, four times, of which the best counts."""
ROUND = 0.010
"""Seconds: a quarter of the least round trip."""
RATE, SIZE = 90e3, 1500
"""Of a flow, bit/s; of a packet, bytes."""

LINK = """[[links]]
name = "{name}"
rate = "{rate} kbit/s"
buffer = "{buffer} packets"
target = "{target} packets"
aqm = "{aqm}"
"""
FTP = """[[flows]]
name = "ftp"
count = {flows}
rtt = {{ uniform = ["40 ms", "200 ms"] }}
start = {{ uniform = ["0 s", "1 s"] }}
tcp = "rfc"
{path}
"""
PATHS = {"one": "", "two": 'path = ["bottleneck", "second"]', "ack": 'path = ["bottleneck"]\nack_path = ["back"]'}


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
    """Return a dumbbell, one with a second bottleneck that is hardly wider, or one whose ACKs queue on a link back."""
    small = {"buffer": max(10, flows // 5), "target": max(5, flows // 10), "aqm": "pi"}
    links = [LINK.format(name="bottleneck", rate=90 * flows, **small)]
    if kind == "two":
        links.append(LINK.format(name="second", rate=95 * flows, **small))
    if kind == "ack":
        links.append(LINK.format(name="back", rate=90 * flows, **small | {"buffer": flows, "aqm": "droptail"}))
    many = {"flows": flows, "path": PATHS[kind]}
    duration = 3 if flows >= MANY else 5
    head = f'schema = 1\nduration = "{duration} s"\nwarmup = "1 s"\n'
    return "".join([head, *links, FTP.format(**many)])


def measured(engine: Path, kind: str, flows: int, folder: Path) -> dict[str, float | str]:
    """Return the best wall time of one and of two threads, s, run in turn, and of two that of rounds and queues."""
    file = folder / "scenario.toml"
    file.write_text(scenario(kind, flows), encoding="utf-8")
    print(f"{kind}, {flows:,} flows ...", file=sys.stderr)
    best = {1: (float("inf"), ""), 2: (float("inf"), "")}
    for _ in range(2 if flows >= MANY else 4):
        for threads in (1, 2):
            command = [str(engine), str(file), "bench", "pi", "1", str(threads)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            best[threads] = min(best[threads], (json.loads(done.stdout)["engine"]["wall"], done.stderr))
    (one, _), (two, said) = best[1], best[2]
    rounds, queues = map(float, said.split())
    packets = RATE * flows / 8 / SIZE * ROUND
    times = {"one": one, "two": two, "rounds": rounds, "queues": queues}
    return {"kind": kind, "flows": flows, "packets": packets, **times}


if __name__ == "__main__":
    main()
