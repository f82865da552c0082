"""Measure the environments: simulated seconds a second beside the plain engine, and the memory of many.

One core; time is that of the processor. `--json FILE` keeps the result, from which `docs/gym_page.py` fills the page.
"""

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import aqmlab
from aqmlab._core import Scenario
from aqmlab.gym.vector import AqmVectorEnv

ROUNDS = 5
EVERY = 0.01
TWENTY = {
    "links.bottleneck.rate": "10 Mbit/s",
    "links.bottleneck.buffer": "100 packets",
    "links.bottleneck.target": "30 packets",
    "flows.ftp.count": "20",
}
CASES = {
    "Table 1 of Li et al. 2014: 500 flows, 45 Mbit/s": ({}, 8, 0.15),
    "20 flows, 10 Mbit/s": (TWENTY, 64, 0.04),
}
"""What is set, environments side by side, and p."""


def engine(scenario: Scenario, p: float) -> float:
    """Simulated seconds a second of a plain run."""
    start = time.process_time()
    aqmlab.run(scenario, f"fixed-p:p={p}")
    return scenario.duration / (time.process_time() - start)


def vector(scenario: Scenario, count: int, p: float) -> float:
    """The same of the vector environment, on one thread."""
    env = AqmVectorEnv(count, scenario, every=EVERY, ranges={"p": (0.0, p)}, threads=1, autoreset_mode="Disabled")
    env.reset(seed=1)
    actions = np.ones((count, 1), dtype=np.float32)
    steps = round(scenario.duration / EVERY)
    start = time.process_time()
    for _ in range(steps):
        env.step(actions)
    return count * steps * EVERY / (time.process_time() - start)


def minimal(scenario: Scenario, p: float) -> float:
    """The same of the shortest loop in Python: step, probe, set, for one simulation."""
    simulation = aqmlab.Simulation(scenario, "fixed-p")
    steps = round(scenario.duration / EVERY)
    start = time.process_time()
    for k in range(1, steps + 1):
        simulation.set("links.bottleneck.aqm.p", str(p))
        simulation.step_until(k * EVERY)
        simulation.probe().links["bottleneck"]["queue"]
    return steps * EVERY / (time.process_time() - start)


def memory(count: int = 256) -> float:
    """Bytes that so many environments with Table 1 add, after two seconds."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    env = AqmVectorEnv(count, "li2014/table-1", every=EVERY, threads=1)
    env.reset(seed=1)
    for _ in range(200):
        env.step(np.zeros((count, 1), dtype=np.float32))
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024.0


def measure() -> dict[str, dict[str, float]]:
    """Measure each case in turns, so that what else the machine does falls on all alike."""
    found = {}
    for name, (values, count, p) in CASES.items():
        scenario = aqmlab.load("li2014/table-1", {**values, "duration": "20 s"})
        acts: dict[str, Callable[[], float]] = {
            "engine": lambda s=scenario, p=p: engine(s, p),  # type: ignore[misc]
            "vector": lambda s=scenario, n=count, p=p: vector(s, n, p),  # type: ignore[misc]
            "minimal": lambda s=scenario, p=p: minimal(s, p),  # type: ignore[misc]
        }
        rounds = [{side: act() for side, act in acts.items()} for _ in range(ROUNDS)]
        found[name] = {side: statistics.median(each[side] for each in rounds) for side in acts} | {
            "ratio": statistics.median(each["vector"] / each["engine"] for each in rounds),
            "count": count,
        }
    return found | {"memory": {"count": 256, "bytes": memory()}}


if __name__ == "__main__":
    text = json.dumps(measure(), indent=1)
    print(text)
    if sys.argv[1:2] == ["--json"]:
        Path(sys.argv[2]).write_text(text + "\n", encoding="utf-8")
