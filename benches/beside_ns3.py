"""Measure ns-3 and the engine in the same scenario, in turn, and store both in benches/ns3.json.

    make -C validation/ns3 && python benches/beside_ns3.py

Needs Debian's packages ns3 and libns3-dev. `make bench` writes what is stored onto its page.
"""

import json
import resource
import subprocess
from pathlib import Path
from time import process_time

import aqmlab

HERE = Path(__file__).resolve().parent
STORED = HERE / "ns3.json"
FOLDER = HERE.parent / "validation" / "ns3"
SCHEMES = ["droptail", "red", "pie", "codel", "fq-codel"]
ROUNDS = 5


def main() -> None:
    """Run every scheme in both; keep the best times."""
    rows = []
    for scheme in SCHEMES:
        runs = [(ns3(scheme), ours(scheme)) for _ in range(ROUNDS)]
        packets = runs[0][1][1]
        theirs, own = min(seconds for seconds, _ in runs), min(found[0] for _, found in runs)
        rows.append({"scheme": scheme, "packets": packets, "ns3": theirs, "aqmlab": own})
        print(*rows[-1].values(), flush=True)
    STORED.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def ns3(scheme: str) -> float:
    """Return the processor's seconds of ns-3's whole process, start and routes included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([FOLDER / "dumbbell", f"--disc={scheme}"], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def ours(scheme: str) -> tuple[float, int]:
    """Return the processor's seconds of a run, set-up included, and the packets that left the bottleneck."""
    start = process_time()
    result = aqmlab.run(FOLDER / "dumbbell.toml", scheme, seed=1)
    return process_time() - start, result.links["bottleneck"].departed


if __name__ == "__main__":
    main()
