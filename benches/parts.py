"""Count the instructions and cache misses of a packet by part of the engine, and store them in benches/parts.json.

    python benches/parts.py

It needs valgrind and takes ten minutes. `make bench` writes the stored results onto its page.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flows import RTTS, SCENARIO

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
STORED = HERE / "parts.json"

DURATIONS = {500: 20, 50_000: 1}
"""Seconds; the flows start within the first 30 %."""
CACHES = ["--D1=32768,8,64", "--I1=32768,8,64", "--LL=1048576,16,64"]
"""Of one core: callgrind's last level is the core's second."""

LOOPS = ("aqmlab_sim::engine::network::NetworkState::advance",)
"""Only what happens within them is counted: neither set-up nor results."""

PARTS = {
    "event queue": ("calendar/",),
    "loop, events, packets": ("engine/",),
    "link and meters": ("net/link", "net/deliveries", "measure/"),
    "routes, access, ends of flows": ("net/",),
    "scheme and its queue": ("aqm/",),
    "sender and receiver": ("tcp/",),
    "random numbers": ("core/src/random", "rand"),
}
"""By the beginning of a source file's path below crates/ and src/; the first that fits."""
OTHER = "standard library, inlined everywhere"


def main() -> None:
    """Build the engine with the lines of its sources, run it under callgrind, and store the sums."""
    with tempfile.TemporaryDirectory() as folder:
        engine = built()
        rows = [profiled(engine, flows, rtt, Path(folder)) for flows in DURATIONS for rtt in RTTS]
    STORED.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def built() -> Path:
    """Return the engine's example, as a release without profile-guided optimization."""
    command = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "aqmlab-sim", "--example", "run"]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"CARGO_PROFILE_RELEASE_DEBUG": "1"}, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "examples" / "run"


def profiled(engine: Path, flows: int, rtt: str, folder: Path) -> dict[str, Any]:
    """Return what a packet costs in one scenario, by part: instructions, and misses of the first and second cache."""
    file, counts = folder / "scenario.toml", folder / "callgrind.out"
    values = {"rate": 90 * flows, "buffer": max(10, flows // 5), "target": max(5, flows // 10)}
    text = SCENARIO.format(**values, flows=flows, rtt=RTTS[rtt], duration=DURATIONS[flows], warmup=0)
    file.write_text(text.replace('"3 s"', f'"{0.3 * DURATIONS[flows]} s"'), encoding="utf-8")
    print(f"{flows} flows, {rtt} round trips ...", file=sys.stderr)
    command = ["valgrind", "--quiet", "--tool=callgrind", "--cache-sim=yes", *CACHES]
    command += [
        *(f"--toggle-collect={loop}" for loop in LOOPS),
        f"--callgrind-out-file={counts}",
        str(engine),
        str(file),
        "bench",
        "pi",
        "1",
    ]
    result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    packets = result["links"]["bottleneck"]["departed"]
    sums: dict[str, Counter[str]] = {part: Counter() for part in (*PARTS, OTHER)}
    for path, costs in of_files(counts.read_text(encoding="utf-8", errors="replace")):
        sums[part_of(path)].update(costs)
    parts = {
        part: {
            "instructions": costs["Ir"] / packets,
            "first": (costs["D1mr"] + costs["D1mw"]) / packets,
            "second": (costs["DLmr"] + costs["DLmw"]) / packets,
        }
        for part, costs in sums.items()
    }
    return {"flows": flows, "rtt": rtt, "packets": packets, "parts": parts}


def part_of(path: str) -> str:
    """Return the part of the engine that a source file belongs to."""
    below = path.partition("/crates/")[2].replace("sim/src/", "") or path.rpartition("/registry/")[2]
    return next((part for part, starts in PARTS.items() if below.startswith(starts)), OTHER)


def of_files(profile: str) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Yield the costs of each line of a callgrind profile with its source file, without called functions."""
    names: dict[str, str] = {}
    events: list[str] = []
    file, is_call = "", False
    for line in profile.splitlines():
        if line.startswith("events:"):
            events = line.split()[1:]
        elif name := re.match(r"(c?f[lie])=\((\d+)\)(?: (.*))?", line):
            kind, number, text = name.groups()
            names.setdefault(number, text)
            file = file if kind.startswith("c") else names[number]
        elif line.startswith("calls="):
            is_call = True
        elif line[:1].isdigit() or line[:1] in ("+", "-", "*"):
            if not is_call:
                yield file, dict(zip(events, map(int, line.split()[1:]), strict=False))
            is_call = False


if __name__ == "__main__":
    main()
