"""Measure the engine with 50 to 1,000,000 flows, compare it with another commit, and store benches/flows.json.

    python benches/flows.py COMMIT

It takes ten minutes. `make bench` writes the stored results onto its page.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
STORED = HERE / "flows.json"

RTTS = {"one": '"80 ms"', "different": '{ uniform = ["40 ms", "200 ms"] }'}
DURATIONS = {50: 400, 500: 100, 5_000: 20, 50_000: 20, 500_000: 12}
ROUNDS = {50: 7, 500: 7, 5_000: 5, 50_000: 3, 500_000: 2}
"""Each takes the best of so many runs: other work on the machine can only add time."""

SCENARIO = """schema = 1
duration = "{duration} s"
warmup = "{warmup} s"
[[links]]
name = "bottleneck"
rate = "{rate} kbit/s"
buffer = "{buffer} packets"
target = "{target} packets"
aqm = "pi"
[[flows]]
name = "ftp"
count = {flows}
rtt = {rtt}
start = {{ uniform = ["0 s", "3 s"] }}
tcp = "rfc"
"""

MILLION = """schema = 1
duration = "10 s"
warmup = "2 s"
[[links]]
name = "bottleneck"
rate = "100 Gbit/s"
buffer = "200000 packets"
target = "100000 packets"
aqm = "pi"
[[flows]]
name = "ftp"
count = 1000000
rtt = { uniform = ["40 ms", "200 ms"] }
start = { uniform = ["0 s", "2 s"] }
tcp = { congestion_control = "cubic", profile = "rfc" }
"""


def main() -> None:
    """Build both engines, let them run in turn, and store what was measured."""
    [commit] = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        engines = {"before": built(commit, Path(folder)), "now": built("HEAD", Path(folder))}
        rows = [measured(engines, flows, rtt, Path(folder)) for rtt in RTTS for flows in DURATIONS]
        file = Path(folder) / "million.toml"
        file.write_text(MILLION, encoding="utf-8")
        million = [ran(engines["now"], file, threads) for threads in range(1, (os.cpu_count() or 1) + 1)]
    found = {"commit": described(commit), "rows": rows, "million": million}
    STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def built(commit: str, folder: Path) -> Path:
    """Return the engine's example of a commit, built in a folder."""
    tree = folder / commit
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), commit], cwd=ROOT, check=True)
    command = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "aqmlab-sim", "--example", "run"]
    environment = os.environ | {"CARGO_TARGET_DIR": str(folder / f"{commit}-target")}
    subprocess.run(command, cwd=tree, env=environment, check=True)
    subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)
    return folder / f"{commit}-target" / "release" / "examples" / "run"


def measured(engines: Mapping[str, Path], flows: int, rtt: str, folder: Path) -> dict[str, Any]:
    """Return the best run of each engine in one scenario."""
    file = folder / f"{rtt}-{flows}.toml"
    values = {"rate": 90 * flows, "buffer": max(10, flows // 5), "target": max(5, flows // 10)}
    warmup = min(5, DURATIONS[flows] // 4)
    text = SCENARIO.format(**values, flows=flows, rtt=RTTS[rtt], duration=DURATIONS[flows], warmup=warmup)
    file.write_text(text, encoding="utf-8")
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in engines}
    for _ in range(ROUNDS[flows]):
        for name, engine in engines.items():
            runs[name].append(ran(engine, file, 1))
    best = {name: min(of, key=lambda run: run["wall"]) for name, of in runs.items()}
    return {"flows": flows, "rtt": rtt, **best}


def ran(engine: Path, file: Path, threads: int) -> dict[str, Any]:
    """Return packets, wall time (s) and peak memory (MB) of a run."""
    print(f"{file.stem}, {engine.parts[-4]}, {threads} threads ...", file=sys.stderr)
    command = [str(engine), str(file), "bench", "pi", "1", str(threads)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        output = process.stdout.read() if process.stdout else b""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{file}: the engine failed")
    result = json.loads(output)
    packets = result["links"]["bottleneck"]["departed"]
    return {
        "threads": threads,
        "packets": packets,
        "wall": result["engine"]["wall"],
        "memory": usage.ru_maxrss * 1024 / 1e6,
    }


def described(commit: str) -> str:
    """Return a commit's number and day."""
    command = ["git", "show", "--no-patch", "--format=%h of %cs", commit]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
