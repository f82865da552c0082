"""Project the gain of more threads than this machine has in one run, from a trace of real runs.

    python benches/projection.py            # writes projection.json, which `make bench` reads; ten minutes
    python benches/projection.py isp-10k    # one of the runs

A run is divided for N threads, and a single thread runs it and records the time of each part and of the exchange in
each round. The model assigns the parts to N threads in their order, each to the first free thread, and waits for the
last. It ignores resources that N processors share: caches, memory and clock. It is therefore compared with a real run
on two threads. Projected times are processor time, so other work on the machine counts less. Measured times are the
best wall time.
"""

import heapq
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from networks import SCENARIOS
from threads import CHANGES, built, ftp, link

STORED = Path(__file__).with_name("projection.json")

TRACED = {
    **CHANGES,
    "struct Gate<'a> {": """static TOOK: [AtomicU64; 512] = [const { AtomicU64::new(0) }; 512];

/// Processor time of this thread, ns.
#[allow(unsafe_code)]
fn spent() -> u64 {
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
    }
    let mut time = [0; 2];
    unsafe { clock_gettime(3, &mut time) };
    (time[0] * 1_000_000_000 + time[1]) as u64
}

struct Gate<'a> {""",
    "        (1..plan.threads).for_each(": """        let helpers = std::env::var("HELPERS").expect("it is set");
        let helpers = helpers.parse().expect("a number");
        (0..helpers).for_each(""",
    "            self.lock(part).go_on(until, until + self.length);": """
            let begun = spent();
            self.lock(part).go_on(until, until + self.length);
            TOOK[part].store(spent() - begun, Ordering::Relaxed);""",
    "    let mut now = Time::ZERO;": """
    let (begun, mut lines) = (spent(), Vec::new());
    let mut now = Time::ZERO;""",
    "        exchange(&mut parts);": """
        let exchanging = spent();
        exchange(&mut parts);
        let mut line: Vec<u64> = TOOK[..parts.len()].iter().map(|took| took.load(Ordering::Relaxed)).collect();
        line.push(spent() - exchanging);
        lines.push(line);""",
    "    (0..gate.parts.len()).for_each(|part| gate.lock(part).take_in());": """
    eprintln!("{} {lines:?}", spent() - begun);
    (0..gate.parts.len()).for_each(|part| gate.lock(part).take_in());""",
}
"""Changes of the engine's source for the measurement: any number of threads may run its rounds, whatever the division.
It prints the time of all rounds and, for each round, the time of each part and of the exchange, ns."""

FLOWS = 40_000
NETWORK = "isp-10k"
SECONDS, WARMUP = 5, 1
"""Of the network that are simulated: its sites are the parts, whatever the threads."""
THREADS = (2, 4, 8, 16)
MANY = (*THREADS, 64)
"""For the network; flows of a bottleneck are too few for so many."""
REPEATS = 3


def main() -> None:
    """Trace, project, measure what can be, and store it."""
    runs = {"one bottleneck": bottlenecks(1), "8 bottlenecks": bottlenecks(8), NETWORK: network()}
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        engine = built(Path(folder), TRACED)
        for name in sys.argv[1:] or runs:
            file = Path(folder) / "scenario.toml"
            file.write_text(runs[name], encoding="utf-8")
            found[name] = of_network(engine, file) if name == NETWORK else of_bottlenecks(engine, file)
            print(name, found[name], file=sys.stderr)
            STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def of_bottlenecks(engine: Path, file: Path) -> dict[str, Any]:
    """Return what flows take that are divided for each number of threads."""
    one = min(trace(engine, file, 1).processor for _ in range(REPEATS))
    traces = {n: min(trace(engine, file, n) for _ in range(REPEATS)) for n in THREADS}
    measured = min(trace(engine, file, 2, helpers=1).wall for _ in range(REPEATS))
    return {"one": one, "projected": {str(n): traces[n].projected(n) for n in THREADS}, "measured": measured}


def of_network(engine: Path, file: Path) -> dict[str, Any]:
    """Return what a tree takes, which has the same parts for any number of threads; also by its rounds alone."""
    traced = trace(engine, file, 1, "cake")
    measured = min(trace(engine, file, 2, "cake", helpers=1).wall for _ in range(2))
    return {
        "one": traced.processor,
        "projected": {str(n): traced.projected(n) for n in MANY},
        "measured": measured,
        "outside": traced.processor - traced.inside,
        "rounds": {str(n): projected(traced.rounds, n) for n in (1, *MANY)},
        "simulated": SECONDS,
    }


def bottlenecks(links: int) -> str:
    """Return so many bottlenecks, each with its share of the flows."""
    each = FLOWS // links
    head = 'schema = 1\nduration = "5 s"\nwarmup = "1 s"\n'
    return head + "".join(link(f"link-{i}", each, delay=5) + ftp([f"link-{i}"], each) for i in range(links))


def network() -> str:
    """Return the begin of the network."""
    text = (SCENARIOS / f"{NETWORK}.toml").read_text(encoding="utf-8")
    text = re.sub(r'^duration = ".*"', f'duration = "{SECONDS} s"', text, count=1, flags=re.MULTILINE)
    return re.sub(r'^warmup = ".*"', f'warmup = "{WARMUP} s"', text, count=1, flags=re.MULTILINE)


@dataclass(frozen=True, order=True)
class Trace:
    """The times of a run, s: the whole process, and in each round the parts and then the exchange."""

    processor: float
    wall: float
    inside: float
    rounds: Sequence[Sequence[float]]

    def projected(self, threads: int) -> float:
        """Return what so many threads would take, s: set-up and results are done by one."""
        return self.processor - self.inside + projected(self.rounds, threads)


def trace(engine: Path, file: Path, threads: int, aqm: str = "pi", helpers: int = 0) -> Trace:
    """Return what a run took that is divided for so many threads, and done by one and so many helpers."""
    command = [str(engine), str(file), "bench", aqm, "1", str(threads)]
    with tempfile.TemporaryFile("w+") as told:
        begun = time.perf_counter()
        environment = os.environ | {"HELPERS": str(helpers)}
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=told, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        if status:
            sys.exit(f"{file.name} has failed")
        told.seek(0)
        inside, lines = (told.read() or "0 []").split(" ", 1)
    rounds = [[took * 1e-9 for took in line] for line in json.loads(lines)]
    return Trace(usage.ru_utime + usage.ru_stime, wall, int(inside) * 1e-9, rounds)


def projected(rounds: Sequence[Sequence[float]], threads: int) -> float:
    """Return what the rounds would take, s."""
    total = 0.0
    for *parts, exchange in rounds:
        free = [0.0] * threads
        for took in parts:
            heapq.heappush(free, heapq.heappop(free) + took)
        total += max(free) + exchange
    return total


if __name__ == "__main__":
    main()
