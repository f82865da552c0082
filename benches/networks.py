"""Measure the networks that are named benchmarks; stores networks.json.

    python benches/networks.py            # all, fifteen minutes; `make bench` writes the stored results onto its page
    python benches/networks.py isp-10k    # one of them

Time is measured for a whole process: it reads the scenario, sets up the network and writes results.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from threads import built

HERE = Path(__file__).resolve().parent
STORED = HERE / "networks.json"
SCENARIOS = HERE.parent / "python" / "aqmlab" / "scenarios" / "networks"

THREADS = {"isp-10k": (1, 2), "parking-lot-32": (1,), "leaf-spine-1k": (1,), "leo-day": (1,)}

SCHEMES = {"isp-10k": "cake", "leaf-spine-1k": "dctcp-step:k=65 packets,unmarkable=pass@host-down"}
"""Of the links that name none for good; the others have `fq-codel`."""


def main() -> None:
    """Measure the named networks, or all, and add them to the stored ones."""
    with tempfile.TemporaryDirectory() as folder:
        engine = built(Path(folder), {})
        for name in sys.argv[1:] or THREADS:
            measure(engine, name)


def measure(engine: Path, name: str) -> None:
    """Measure one network on as many threads as it is measured on, and store it."""
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    found[name] = {str(threads): spent(engine, SCENARIOS / f"{name}.toml", threads) for threads in THREADS[name]}
    print(name, found[name], file=sys.stderr)
    STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def spent(engine: Path, file: Path, threads: int) -> dict[str, float]:
    """Return what a run took: wall and processor time in s, peak memory in MB, and its events."""
    aqm = SCHEMES.get(file.stem, "fq-codel")
    with tempfile.TemporaryFile() as output:
        begun = time.perf_counter()
        process = subprocess.Popen([engine, file, "bench", aqm, "1", str(threads)], stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        if status:
            sys.exit(f"{file.name} has failed")
        output.seek(0)
        events = json.load(output)["engine"]["events"]
    processor, memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    return {"wall": wall, "processor": processor, "memory": memory, "events": events}


if __name__ == "__main__":
    main()
