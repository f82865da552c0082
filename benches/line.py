"""Measure packets per second through a link of the crate aqmlab, and store them in benches/line.json.

    python benches/line.py

`make bench` writes the stored results onto its page. `others` was measured once, with sources of other projects.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
STORED = HERE / "line.json"


def main() -> None:
    """Run the Rust benchmark; keep the best time of each case."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["cargo", "bench", "--locked", "--package", "aqmlab-bench", "--bench", "line"]
        subprocess.run(command, cwd=HERE.parent, env=os.environ | {"CRITERION_HOME": folder}, check=True)
        rates = {}
        for path in sorted(Path(folder).glob("*/*/new/benchmark.json"), key=lambda path: path.stat().st_mtime):
            case = json.loads(path.read_text(encoding="utf-8"))
            sample = json.loads(path.with_name("sample.json").read_text(encoding="utf-8"))
            best = min(1e-9 * t / n for t, n in zip(sample["times"], sample["iters"], strict=True))
            rates[case["function_id"]] = case["throughput"]["Elements"] / best
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {"others": []}
    STORED.write_text(json.dumps({**stored, "rates": rates}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
