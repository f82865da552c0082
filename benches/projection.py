"""What more threads than this machine has would gain in one run: a projection, from a trace of real runs.

    python benches/projection.py               # writes projection.json, which `make bench` reads; ten minutes
    python benches/projection.py isp-10k       # one of the runs

A run is divided as for N threads and done by one, and what each part takes in each round is written down, as is the
exchange after it. The model gives parts to N threads in their order, each to the one that becomes free first, and waits
for the last. What it cannot know is what N processors share: caches, memory and clock. So it is held against a real
run on two. Times are those of the processor, so that other work on the machine counts less; the measured ones are wall
time, and of those the best.
"""

import heapq
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from threads import CHANGES, built, ftp, link

STORED = Path(__file__).with_name("projection.json")

TRACED = {
    **CHANGES,
    "round.min(LONGEST)": """round.min(std::env::var("LONGEST").map_or(LONGEST, |ms| {
                Span::from_millis(ms.parse().expect("a number"))
            }))""",
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
"""Of the engine that is measured: its rounds are done by as many threads as it is told, whatever they are divided for.
It says what all rounds took and, of each, what each part and the exchange did, ns."""

FLOWS = 40_000
THREADS = (2, 4, 8, 16)
REPEATS = 3


def main() -> None:
    """Trace, project, measure what can be, and store it."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        engine = built(Path(folder), TRACED)
        for links in (1, 8):
            file = Path(folder) / "scenario.toml"
            file.write_text(scenario(links), encoding="utf-8")
            one = min(trace(engine, file, 1, helpers=0)[0] for _ in range(REPEATS))
            for threads in THREADS:
                wall, rounds, parts = min(trace(engine, file, threads, helpers=0) for _ in range(REPEATS))
                row = {"links": links, "threads": threads, "one": one}
                row["projected"] = wall - rounds + projected(parts, threads)
                if threads == 2:
                    row["measured"] = min(trace(engine, file, threads, helpers=1)[0] for _ in range(REPEATS))
                print(row, file=sys.stderr)
                rows.append(row)
    STORED.write_text(json.dumps({"flows": FLOWS, "rows": rows}, indent=1) + "\n", encoding="utf-8")


def scenario(links: int) -> str:
    """Return so many bottlenecks, each with its share of the flows."""
    each = FLOWS // links
    head = 'schema = 1\nduration = "5 s"\nwarmup = "1 s"\n'
    return head + "".join(link(f"link-{i}", each, delay=5) + ftp([f"link-{i}"], each) for i in range(links))


def trace(engine: Path, file: Path, threads: int, helpers: int) -> tuple[float, float, list[list[float]]]:
    """Return what a run took, what all its rounds did, and in each of them each part and the exchange, s."""
    command = [str(engine), str(file), "bench", "pi", "1", str(threads)]
    environment = os.environ | {"HELPERS": str(helpers)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    rounds, lines = (done.stderr or "0 []").split(" ", 1)
    wall = json.loads(done.stdout)["engine"]["wall"]
    return wall, int(rounds) * 1e-9, [[took * 1e-9 for took in line] for line in json.loads(lines)]


def projected(rounds: list[list[float]], threads: int) -> float:
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
