"""Measure what a run on Linux costs, and that the load of the machine does not show in it; writes tables of a page.

Needs a kernel (`aqmlab kernel build`). Costs are processor time of a whole run, start and end included. Under load four
processes that never sleep run at the same time. Tables are cost, and load under each scheme: all, or those named.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from statistics import fmean, stdev

import aqmlab
from aqmlab.runs.results import RunResult

PAGE = Path(__file__).parent.parent / "docs" / "kernel-evidence.md"
FLOWS = """
schema = 1
duration = "{duration} s"
warmup = "{warmup} s"

[[links]]
name = "link"
rate = "{rate} Mbit/s"
buffer = "{buffer} packets"

[[flows]]
name = "bulk"
count = {count}
rtt = "{rtt} ms"
start = {{ uniform = ["0 s", "0.1 s"] }}
"""
FOUR = FLOWS.format(duration=40, warmup=10, rate=20, buffer=1000, count=4, rtt=40)
GIGABIT = FLOWS.format(duration=5, warmup=2, rate=1000, buffer=1000, count=1, rtt=5)
COSTS = (
    ("40 s of 4 CUBIC flows, 20 Mbit/s, FQ-CoDel", FOUR, "fq-codel", 40),
    ("5 s of one CUBIC flow, 1 Gbit/s", GIGABIT, "droptail", 5),
)
LOADED = ("fq-codel", "codel")
RUNS = 20
BUSY = 4
MEASURES = (
    ("mean queue (packets)", "links.link.queue_mean"),
    ("drops (%)", "links.link.drop_ratio"),
    ("goodput (Mbit/s)", "flows.bulk.goodput"),
)
SCALES = {"links.link.drop_ratio": 100, "flows.bulk.goodput": 1e-6}


def main() -> None:
    """Measure, and write the tables."""
    tables = {"cost": costs(), **{scheme: load(scheme) for scheme in LOADED}}
    text = PAGE.read_text(encoding="utf-8")
    for name in sys.argv[1:] or tables:
        before, start, rest = text.partition(f"<!-- {name} -->\n")
        end, after = rest.partition("<!-- end -->")[1:]
        text = before + start + "\n".join(tables[name]) + "\n" + end + after
    PAGE.write_text(text, encoding="utf-8")


def costs() -> Iterator[str]:
    """Yield the table of costs."""
    yield from ("| run | processor time | of real time |", "|---|---|---|")
    for what, text, scheme, seconds in COSTS:
        used = fmean(cost(text, scheme) for _ in range(3))
        yield f"| {what} | {used:.1f} s | {used / seconds:.2g} |"


def cost(text: str, scheme: str) -> float:
    """Return the processor time of a run in a separate process, s, its kernel included."""
    code = f"import aqmlab; aqmlab.run(aqmlab._core.Scenario.parse({text!r}, 'bench'), {scheme!r}, engine='linux')"
    before = os.times()
    subprocess.run([sys.executable, "-c", code], check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def load(scheme: str) -> Iterator[str]:
    """Yield the table of runs with one seed, on an idle and on a busy machine."""
    alone = repeated(scheme)
    with busy():
        beside = repeated(scheme)
    yield from (f"| {scheme} | idle machine | four busy processes |", "|---|---|---|")
    for heading, measure in MEASURES:
        yield f"| {heading} | {spread(alone, measure)} | {spread(beside, measure)} |"
    yield f"| different results in {RUNS} | {different(alone)} | {different(beside)} |"


def repeated(scheme: str) -> list[RunResult]:
    """Return twenty runs with one seed."""
    scenario = aqmlab._core.Scenario.parse(FOUR, "bench")
    return [aqmlab.run(scenario, scheme, engine="linux") for _ in range(RUNS)]


@contextmanager
def busy() -> Iterator[None]:
    """Keep the processors busy."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def spread(runs: Sequence[RunResult], measure: str) -> str:
    """Return mean, standard deviation, minimum and maximum of a measure."""
    values = [SCALES.get(measure, 1) * (run.values[measure] or 0.0) for run in runs]
    return f"{fmean(values):.4f}, {stdev(values):.4f}, {min(values):.4f}, {max(values):.4f}"


def different(runs: Sequence[RunResult]) -> int:
    """Return how many runs differ in their measures."""
    return len({sha256(json.dumps(dict(run.values)).encode()).digest() for run in runs})


if __name__ == "__main__":
    main()
