"""Measure the networks that are named benchmarks, and project the gain of more threads; stores networks.json.

    python benches/networks.py            # all, half an hour; `make bench` writes what is stored onto its page
    python benches/networks.py isp-10k    # one of them

Time is that of a whole process: the scenario is read, the network set up, and results are written. The projection is
that of projection.py: a run of 10 s is divided as for the threads and done by one, and its rounds are dealt out by a
model.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from projection import TRACED, projected, trace
from threads import built

HERE = Path(__file__).resolve().parent
STORED = HERE / "networks.json"
SCENARIOS = HERE.parent / "python" / "aqmlab" / "scenarios" / "networks"

THREADS = {"isp-10k": (1, 2), "parking-lot-32": (1,), "leo-day": (1,)}
PROJECTED = {"isp-10k": (2, 4, 8, 16, 64)}
LENGTH = 'duration = "10 s"\nwarmup = "5 s"'
"""Of a run that is traced."""


def main() -> None:
    """Measure what was named, or all, and store it beside what has been measured before."""
    names = sys.argv[1:] or list(THREADS)
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        engine = built(Path(folder), {})
        for name in names:
            file = SCENARIOS / f"{name}.toml"
            runs = {str(threads): spent(engine, file, threads) for threads in THREADS[name]}
            found[name] = {**found.get(name, {}), "runs": runs}
            print(name, runs, file=sys.stderr)
        for name in names:
            if name in PROJECTED:
                traced = built(Path(folder), TRACED)
                found[name]["projection"] = projection(traced, name, Path(folder))
    STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def spent(engine: Path, file: Path, threads: int) -> dict[str, float]:
    """Return what a run took: wall and processor time in s, peak memory in MB, and its events."""
    with tempfile.TemporaryFile() as output:
        begun = time.perf_counter()
        command = [str(engine), str(file), "bench", "", "1", str(threads)]
        process = subprocess.Popen([part for part in command if part], stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        if status:
            sys.exit(f"{file.name} has failed")
        output.seek(0)
        events = json.load(output)["engine"]["events"]
    return {
        "wall": wall,
        "processor": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss / 1024,
        "events": events,
    }


def projection(engine: Path, name: str, folder: Path) -> dict[str, Any]:
    """Return what a run takes in one thread and would in several, s, of which set-up, and the largest part's share."""
    text = (SCENARIOS / f"{name}.toml").read_text(encoding="utf-8")
    file = folder / "traced.toml"
    file.write_text(text.replace('duration = "60 s"\nwarmup = "10 s"', LENGTH), encoding="utf-8")
    wall, rounds, parts = trace(engine, file, 1, helpers=0)
    each = [sum(took) for took in zip(*parts, strict=True)][:-1]
    rows = {str(threads): wall - rounds + projected(parts, threads) for threads in PROJECTED[name]}
    measured, *_ = trace(engine, file, 2, helpers=1)
    return {"one": wall, "rows": rows, "measured": measured, "set_up": wall - rounds, "largest": max(each) / sum(each)}


if __name__ == "__main__":
    main()
