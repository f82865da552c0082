"""Measure the overhead of Python, results and files in many short runs, and store it in benches/overhead.json.

    python benches/overhead.py

`make bench` writes the stored results onto its page.
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pandas  # noqa: F401 - loading it is not measured

import aqmlab
from aqmlab import _core, own
from aqmlab.runs import plan, sweep
from aqmlab.runs.comparison import Comparison

STORED = Path(__file__).resolve().parent / "overhead.json"
SCENARIO = """schema = 1
duration = "10 s"
[[links]]
name = "bottleneck"
rate = "4500 kbit/s"
delay = "20 ms"
buffer = "90 packets"
target = "30 packets"
aqm = "droptail"
[[flows]]
name = "ftp"
count = 50
rtt = "80 ms"
packet = "1000 B"
tcp = "rfc"
"""
AQMS, SEEDS = ["droptail", "red", "pi", "codel"], 500
ROUNDS = 7
"""Of all in turn; each takes its best."""


def main() -> None:
    """Do the same runs by the engine alone, by `compare` and by `sweep`, in turn, on one core."""
    with tempfile.TemporaryDirectory() as folder:
        scenario, experiment = Path(folder) / "small.toml", Path(folder) / "experiment.toml"
        scenario.write_text(SCENARIO, encoding="utf-8")
        text = f'schema = 1\nscenarios = ["small.toml"]\naqms = {json.dumps(AQMS)}\nseeds = {SEEDS}\n'
        experiment.write_text(text, encoding="utf-8")
        tasks = [run.task(series=False) for run in plan.read(experiment).runs()]

        def alone(_: int) -> None:
            for task in tasks:
                _core.run(task.scenario, own.spec(task.aqm or ""), task.seed, False, None, None, 1)

        def compared(_: int) -> Comparison:
            return aqmlab.compare(scenario, AQMS, SEEDS, jobs=1)

        def swept(i: int) -> sweep.Sweep:
            return sweep.sweep(experiment, Path(folder) / f"results-{i}", jobs=1)

        doors: dict[str, Callable[[int], object]] = {
            "the engine alone": alone,
            "`compare`": compared,
            "`compare`, its table": lambda i: compared(i).table(),
            "`sweep`, stored": swept,
            "`sweep`, stored, its summary": lambda i: swept(i).document(),
        }
        rounds = [[spent(do, len(doors) * i + at) for at, do in enumerate(doors.values())] for i in range(ROUNDS)]
        times = dict(zip(doors, map(min, zip(*rounds, strict=True)), strict=True))
    STORED.write_text(json.dumps({"runs": len(tasks), "times": times}, indent=1) + "\n", encoding="utf-8")


def spent(do: Callable[[int], object], i: int) -> float:
    """Return the processor's seconds."""
    start = process_time()
    do(i)
    return process_time() - start


if __name__ == "__main__":
    main()
