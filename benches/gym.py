"""Measure the environments: simulated seconds per second compared with the plain engine, and the memory of many.

One core, the best of many rounds, in processor time. `--json FILE` keeps the result; `docs/gym_page.py` fills the page
from it.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import aqmlab
from aqmlab._core import Scenario
from aqmlab.gym.vector import AqmVectorEnv

ROUNDS = 60
EVERY = 0.01
TWENTY = {
    "links.bottleneck.rate": "10 Mbit/s",
    "links.bottleneck.buffer": "100 packets",
    "links.bottleneck.target": "30 packets",
    "flows.ftp.count": "20",
}
CASES = {
    "Table 1 of Li et al. 2014: 500 flows, 45 Mbit/s": ({}, 8, 0.15),
    "20 flows, 10 Mbit/s": (TWENTY, 32, 0.04),
}
"""The values set, the number of parallel environments, and p."""


def best(act: Callable[[], float]) -> float:
    """The maximum speed of `act`, in simulated seconds per second: other programs only slow it down."""
    found = 0.0
    for _ in range(ROUNDS):
        start = time.process_time()
        simulated = act()
        found = max(found, simulated / (time.process_time() - start))
    return found


def engine(scenario: Scenario, p: float) -> float:
    """A plain run."""

    def run() -> float:
        aqmlab.run(scenario, f"fixed-p:p={p}")
        return scenario.duration

    return best(run)


def vector(scenario: Scenario, count: int, p: float) -> float:
    """The vector environment, on one thread, after ten seconds."""
    env = AqmVectorEnv(count, scenario, every=EVERY, ranges={"p": (0.0, p)}, threads=1)
    env.reset(seed=1)
    actions = np.ones((count, 1), dtype=np.float32)

    def steps(number: int = 100) -> float:
        for _ in range(number):
            env.step(actions)
        return count * number * EVERY

    steps(1000)
    return best(steps)


def minimal(scenario: Scenario, p: float) -> float:
    """The shortest loop in Python over one simulation: set, step, probe."""
    simulation = aqmlab.Simulation(scenario, "fixed-p")

    def steps(number: int = 100) -> float:
        for _ in range(number):
            simulation.set("links.bottleneck.aqm.p", str(p))
            simulation.step_until(simulation.now + EVERY)
            simulation.probe().links["bottleneck"]["queue"]
        return number * EVERY

    steps(1000)
    return best(steps)


def memory(count: int = 256) -> float:
    """Bytes that so many environments with Table 1 add, after two seconds."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    env = AqmVectorEnv(count, "li2014/table-1", every=EVERY, threads=1)
    env.reset(seed=1)
    for _ in range(200):
        env.step(np.zeros((count, 1), dtype=np.float32))
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024.0


def measure() -> dict[str, dict[str, float]]:
    """Measure each case."""
    found: dict[str, dict[str, float]] = {"memory": {"count": 256, "bytes": memory()}}  # before others leave room
    for name, (values, count, p) in CASES.items():
        scenario = aqmlab.load("li2014/table-1", {**values, "duration": "100 s"})
        plain, many = engine(scenario, p), vector(scenario, count, p)
        found[name] = {
            "engine": plain,
            "vector": many,
            "minimal": minimal(scenario, p),
            "ratio": many / plain,
            "count": count,
        }
    return found


if __name__ == "__main__":
    text = json.dumps(measure(), indent=1)
    print(text)
    if sys.argv[1:2] == ["--json"]:
        Path(sys.argv[2]).write_text(text + "\n", encoding="utf-8")
