"""Measure how long the largest input of each kind takes to read, and store it in benches/limits.json.

    python benches/limits.py [NAME ...]

Each is made and read in a separate process, which also measures the peak memory. `make bench` runs this and writes a
table. Inputs that take longer than `TARGET` are printed.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
STORED = ROOT / "benches" / "limits.json"
TARGET = 5
"""Seconds that reading may take."""

sys.path.insert(0, str(ROOT / "tests"))
from largest import INPUTS  # type: ignore[import-not-found]  # noqa: E402


def main(names: list[str]) -> None:
    """Measure the named kinds, or all, and add them to the stored ones."""
    found = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    for name in names or INPUTS:
        found[name] = measured(name)
        slow = "" if found[name]["seconds"] <= TARGET else f", more than {TARGET} s"
        print(f"{name}: {found[name]['seconds']:.2f} s, {found[name]['memory']:.0f} MB{slow}", file=sys.stderr)
    STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def measured(name: str) -> dict[str, Any]:
    """Return parts, seconds and MB of the largest input of a kind."""
    command = [sys.executable, __file__, "--one", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def one(name: str) -> None:
    """Make and read the largest input of a kind, and print what that took."""
    given = INPUTS[name]
    with tempfile.TemporaryDirectory() as folder:
        given.make(Path(folder), given.least)()
        before = memory("VmRSS")
        read = given.make(Path(folder), given.most)
        reset_peak()
        start = time.process_time()
        read()
        seconds, peak = time.process_time() - start, memory("VmHWM") - before
    print(json.dumps({"row": given.row, "parts": given.most, "seconds": seconds, "memory": peak}))


def reset_peak() -> None:
    """Forget the most memory that this process has had."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def memory(field: str) -> float:
    """Return a size of this process, MB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{field}:")) * 1024 / 1e6


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2])
    else:
        main(sys.argv[1:])
