"""Measure speed and memory, with ns-2 for comparison if it is installed, and write docs/benchmarks.md."""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from loops import CASES as ANALYSES
from loops import analysis_times
from stored import (
    cores_section,
    flows_section,
    instructions_section,
    laws_section,
    limits_section,
    line_section,
    networks_section,
    ns3_section,
    overhead_section,
    profile_section,
    table,
    threshold_section,
)

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PAGE = ROOT / "docs" / "benchmarks.md"
AQMLAB = str(Path(sys.executable).with_name("aqmlab"))
NS2 = ["ns", str(HERE / "ns2" / "dumbbell.tcl"), "queue=PI"]

CONTESTANTS = {
    "aqmlab": [AQMLAB, "run", "li2014/table-1", "--aqm", "pi", "--json"],
    "ns-2, shared": [*NS2, "topology=shared"],
    "ns-2, pairs": [*NS2, "topology=pairs"],
}
ROUND = ["aqmlab", "ns-2, shared", "aqmlab", "ns-2, pairs", "aqmlab", "ns-2, shared"]
ROUNDS = 3
TABLES = ["1", "2", "3", "4", "5", "6", "7", "8", "13"]
BATCH = [AQMLAB, "reproduce", "li2014", "--json", *(part for table in TABLES for part in ("--table", table))]
BATCH_RUNS = 8 * len(TABLES)
BATCHES = 2

SWEEP = """schema = 1
scenarios = ["li2014/*"]
aqms = ["ared", "rem", "pi", "iapi", "neuron-pid", "an-aqm", "fapidnn", "nrl"]
seeds = 10
"""
SWEEP_MOST = 240

OWN = {
    "pi, built in": "pi:w=1000Hz,a=3.1e-6,b=3.09e-6",
    "in Python, on ticks": f"{HERE / 'own_schemes.py'}:TickPi",
    "in Python, per packet": f"{HERE / 'own_schemes.py'}:PacketPi",
}
OWN_ROUNDS = 5
OWN_MOST = {"in Python, on ticks": 3, "in Python, per packet": 10}


@dataclass(frozen=True)
class Process:
    """A finished process: wall time in s, peak memory in MB, and the JSON it printed."""

    wall: float
    memory: float
    printed: Mapping[str, Any]


@dataclass(frozen=True)
class Speed:
    """One case of the engine: packets that leave the bottleneck in a run, and seconds a run, by sample."""

    departed: int
    seconds: Sequence[float]


def main() -> None:
    """Measure everything, then write the page."""
    load = os.getloadavg()[0]
    engine = engine_speeds()
    contest = hold_contest()
    batches = [spend(BATCH, f"{BATCH_RUNS} runs, {i + 1} of {BATCHES}") for i in range(BATCHES)]
    sweep = swept()
    own = own_times()
    analysis = analysis_times()
    subprocess.run([sys.executable, str(HERE / "limits.py")], check=True)
    sections = [
        head(load),
        targets(engine, contest, batches, sweep, own, analysis),
        schemes_section(engine["schemes"]),
        laws_section(),
        line_section(),
        instructions_section(),
        sizes_section(engine["sizes"], engine["sizes, round trips that differ"]),
        flows_section(),
        threads_section(engine),
        threshold_section(),
        cores_section(),
        networks_section(),
        profile_section(),
        events_section(engine["event queue"]),
        contest_section(contest),
        ns3_section(),
        batch_section(batches),
        sweep_section(sweep),
        overhead_section(),
        own_section(own),
        analysis_section(analysis),
        limits_section(),
    ]
    PAGE.write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    print(f"Written: {PAGE.relative_to(ROOT)}", file=sys.stderr)


# ---- measuring


def engine_speeds() -> dict[str, dict[str, Speed]]:
    """Run the Rust benchmark and return its samples by group and case."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["cargo", "bench", "--locked", "--package", "aqmlab-bench", "--bench", "engine"]
        environment = os.environ | {"CRITERION_HOME": folder}
        subprocess.run(command, cwd=ROOT, env=environment, stdout=sys.stderr, check=True)
        speeds: dict[str, dict[str, Speed]] = {}
        for path in sorted(Path(folder).glob("*/*/new/benchmark.json"), key=lambda path: path.stat().st_mtime):
            case = json.loads(path.read_text(encoding="utf-8"))
            sample = json.loads(path.with_name("sample.json").read_text(encoding="utf-8"))
            seconds = [1e-9 * t / n for t, n in zip(sample["times"], sample["iters"], strict=True)]
            speed = Speed(case["throughput"]["Elements"], seconds)
            speeds.setdefault(case["group_id"], {})[case["function_id"]] = speed
        return speeds


def hold_contest() -> dict[str, list[Process]]:
    """Run the contestants in turn, so that noise affects all; ns-2 only if it is installed."""
    order = [name for name in ROUND * ROUNDS if shutil.which(CONTESTANTS[name][0])]
    runs: dict[str, list[Process]] = {}
    for name in order:
        mine = runs.setdefault(name, [])
        run = spend(CONTESTANTS[name], f"{name}, {len(mine) + 1} of {order.count(name)}")
        mine.append(replace(run, printed=as_ns2(run.printed)) if name == "aqmlab" else run)
    return runs


def swept() -> Process:
    """Run a sweep of a whole paper over ten seeds into a new folder."""
    with tempfile.TemporaryDirectory() as folder:
        experiment = Path(folder) / "experiment.toml"
        experiment.write_text(SWEEP, encoding="utf-8")
        command = [AQMLAB, "sweep", str(experiment), "--out", str(Path(folder) / "results"), "--json"]
        return spend(command, "sweep of li2014")


def own_times() -> dict[str, list[float]]:
    """Run PI built in and in Python in turn; return the seconds of their runs."""
    times: dict[str, list[float]] = {name: [] for name in OWN}
    for i in range(OWN_ROUNDS):
        for name, aqm in OWN.items():
            run = spend([AQMLAB, "run", "li2014/table-1", "--aqm", aqm, "--json"], f"{name}, {i + 1} of {OWN_ROUNDS}")
            times[name].append(run.printed["engine"]["wall"])
    return times


def as_ns2(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a result of aqmlab in the form of dumbbell.tcl; its wall time includes the set-up."""
    return {**result["links"]["bottleneck"], "setup_wall": 0.0, "wall": result["engine"]["wall"]}


LAUNCHER = """import json, resource, subprocess, sys, time
start = time.perf_counter()
code = subprocess.call(sys.argv[2:])
wall = time.perf_counter() - start
with open(sys.argv[1], "w") as spent:
    json.dump([wall, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss], spent)
sys.exit(code)
"""
"""A small process that starts another, because a process inherits the peak memory of its parent."""


def spend(command: Sequence[str], what: str) -> Process:
    """Run a command to its end and return its cost; exit if it fails."""
    print(f"{what} ...", file=sys.stderr)
    with tempfile.NamedTemporaryFile("r") as spent:
        done = subprocess.run(
            [sys.executable, "-S", "-c", LAUNCHER, spent.name, *command], check=False, stdout=subprocess.PIPE
        )
        if done.returncode != 0:
            sys.exit(f"{what}: {command[0]} failed with exit code {done.returncode}")
        wall, peak = json.load(spent)
    kilobyte = 1 if sys.platform == "darwin" else 1024
    return Process(wall, peak * kilobyte / 1e6, json.loads(done.stdout))


# ---- writing


def head(load: float) -> str:
    """Write the title, the definitions and the machine."""
    rows = [
        ("processor", f"{processor()}, {os.cpu_count()} cores"),
        ("system", system()),
        ("aqmlab", printed([AQMLAB, "--version"])),
        ("compiler", printed(["rustc", "--version"])),
        ("Python", platform.python_version()),
        ("ns-2", ns2_version()),
        ("load before the start", f"{load:.1f} processes on average over a minute"),
        ("date", f"{datetime.now(UTC):%Y-%m-%d}"),
    ]
    return f"""---
search:
  boost: 0.3
---

# Benchmarks

<!-- Written by `make bench`; do not edit. -->

`make bench` repeats these measurements in a few minutes and writes this page. [Performance](performance.md)
summarizes it. A *packet* is a packet that leaves the bottleneck. Dropped packets, ACKs and access links take time but
are not counted. Times are wall time. *Best* and *median* are over the repeats. Rates and ratios use the best, because
other work on the machine can only add time.

{table(("", "measured on"), rows)}"""


def targets(
    engine: Mapping[str, Mapping[str, Speed]],
    contest: Mapping[str, list[Process]],
    batches: list[Process],
    sweep: Process,
    own: Mapping[str, list[float]],
    analysis: Mapping[str, list[float]],
) -> str:
    """Write the targets of the project, met or missed."""
    pi = engine["schemes"]["pi"]
    rate = pi.departed / min(pi.seconds) / 1e6
    batch = min(run.wall for run in batches)
    memory = max(run.memory for run in contest["aqmlab"])
    rows = [("PI in Table 1, one core", "4 million packets/s", f"{rate:.1f} million packets/s", rate >= 4)]
    for rival, least in (("ns-2, pairs", 80), ("ns-2, shared", 6)):
        if rival in contest:
            times = ratio(contest, rival, "set-up and simulation")
            rows.append((f"faster than {rival}, set-up included", f"{least} ×", f"{times:.3g} ×", times >= least))
    rows.append((f"{BATCH_RUNS} runs on {os.cpu_count()} cores", "30 s on 2 cores", f"{batch:.1f} s", batch < 30))
    rows.append(("memory of a run, Python included", "50 MB", f"{memory:.0f} MB", memory < 50))
    for name, most in OWN_MOST.items():
        times = own_ratio(own, name)
        rows.append((f"PI {name}, compared with the built-in", f"{most} × its time", f"{times:.3g} ×", times <= most))
    rows.append((f"sweep of {sweep_runs(sweep):,} runs", "4 min", span(sweep.wall), sweep.wall < SWEEP_MOST))
    for name, (_, longest) in ANALYSES.items():
        fastest = min(analysis[name])
        rows.append((name, span(longest), span(fastest), fastest < longest))
    body = [(*row[:3], "met" if row[3] else "**missed**") for row in rows]
    return f"## Targets\n\n{table(('', 'target', 'measured', ''), body)}"


def schemes_section(speeds: Mapping[str, Speed]) -> str:
    """Write the speed of the engine under every scheme."""
    return f"""## Engine speed by scheme

`li2014/table-1`: 500 Reno flows on 45 Mbit/s for 100 s, seed 1, on one core, set-up and metrics included
(`cargo bench -p aqmlab-bench --bench engine`).

{speed_table("scheme", speeds)}

Departures under CoDel, PIE and schemes based on them cannot be predicted, so each departure is an event. A packet then
needs 3.4 to 3.7 events instead of 2.4. Flow queueing adds about 470 instructions per packet for the hash, the lists and
up to three turns of a queue. FQ-PIE updates every queue every 15 ms, which is five updates per packet. CAKE searches
sets of eight queues and accounts for tins. A packet costs nearly the same with 50 flows, so memory is not the limit."""


def sizes_section(alike: Mapping[str, Speed], differing: Mapping[str, Speed]) -> str:
    """Write the speed of the engine under more and more flows."""
    return f"""## Number of flows

The same scenario for 10 s with other numbers of flows. Rate, buffer and target per flow are as in Table 1. The queue is
droptail, because the gains of a scheme suit one size only. All flows have a round trip of 80 ms:

{speed_table("flows", alike)}

Round trips spread evenly from 40 to 200 ms, so few events are pushed in order of time:

{speed_table("flows", differing)}"""


def threads_section(engine: Mapping[str, Mapping[str, Speed]]) -> str:
    """Write the gain of more threads in one run."""
    rows = []
    for name, speeds in engine.items():
        if name.startswith("threads"):
            one = min(speeds["1"].seconds)
            for threads, speed in speeds.items():
                fastest = min(speed.seconds)
                rows.append((name.removeprefix("threads, "), threads, span(fastest), f"{one / fastest:.2f} ×"))
    return f"""## Threads in one run

Table 1 for 10 s with more flows and round trips of 40 to 200 ms: `aqmlab run --threads N`. The result has the same
bytes with any number of threads. By default a smaller run uses one thread, and a sweep gives each run one core.

{table(("", "threads", "best", "compared with one"), rows)}"""


def events_section(speeds: Mapping[str, Speed]) -> str:
    """Write the cost of the event queue."""
    rows = [
        (f"{int(case.split()[0]):,}", case.split()[1], f"{1e9 * min(speed.seconds):.0f} ns")
        for case, speed in speeds.items()
    ]
    return f"""## Event queue

The hold model: the first pending event is removed, and a new one is added 20 to 100 ms later. The table compares the
calendar queue with the heap of Rust's standard library, which gives the same order.

{table(("pending", "queue", "time per event"), rows)}"""


def speed_table(case: str, speeds: Mapping[str, Speed]) -> str:
    """Tabulate cases of the engine."""
    rows = []
    for name, speed in speeds.items():
        fastest = min(speed.seconds)
        rate = f"{speed.departed / fastest / 1e6:.2f} million"
        rows.append((name, f"{speed.departed:,}", span(fastest), span(median(speed.seconds)), rate))
    return table((case, "packets", "best", "median", "packets/s"), rows)


MEASURES: Mapping[str, Callable[[Process], float]] = {
    "simulation alone": lambda run: run.printed["wall"],
    "set-up and simulation": lambda run: run.printed["setup_wall"] + run.printed["wall"],
    "whole process": lambda run: run.wall,
}


def contest_section(contest: Mapping[str, list[Process]]) -> str:
    """Write the comparison with ns-2: the times, and the results."""
    title = "## ns-2 in the same scenario\n\n"
    rivals = [name for name in contest if name != "aqmlab"]
    if not rivals:
        return f"{title}`ns` is not installed on this machine, so nothing was compared."
    times = [(name, *contest_cells(runs)) for name, runs in contest.items()]
    ratios = [(measure, *(f"{ratio(contest, rival, measure):.3g} ×" for rival in rivals)) for measure in MEASURES]
    simulated = [(name, *simulated_cells(runs[0])) for name, runs in contest.items()]
    return f"""{title}`li2014/table-1` under PI with seed 1, in turn by the command line and by ns-2 with
`benches/ns2/dumbbell.tcl`. In *pairs* each flow has a separate source and sink node, as papers draw it. In *shared*
all flows share two nodes, which is ns-2's best case. None writes a trace.

{table(("", "repeats", *MEASURES, "packets/s", "peak memory"), times)}

Times are best / median. Packets/s are for set-up and simulation. Time of ns-2, compared with aqmlab:

{table(("", *rivals), ratios)}

- *Simulation alone* starts at ns-2's first event. aqmlab's time includes its set-up.
- *Set-up and simulation* is from the scenario to the result. ns-2 computes its routes, which is most of the time in
  *pairs*.
- *Whole process* includes loading the program. For aqmlab this is Python and its packages: most of its time here, once
  per process, independent of the number and length of runs.

Both simulate the same:

{table(("", "packets arrived", "departed", "drop ratio", "mean queue", "its std"), simulated)}"""


def contest_cells(runs: list[Process]) -> tuple[str, ...]:
    """Return repeats, the three times, rate and memory."""
    times = {name: [measure(run) for run in runs] for name, measure in MEASURES.items()}
    shown = (f"{span(min(values))} / {span(median(values))}" for values in times.values())
    rate = runs[0].printed["departed"] / min(times["set-up and simulation"]) / 1e6
    return str(len(runs)), *shown, f"{rate:.3f} million", f"{max(run.memory for run in runs):.0f} MB"


def simulated_cells(run: Process) -> tuple[str, ...]:
    """Return the results at the bottleneck."""
    link = run.printed
    counts = (f"{link[name]:,}" for name in ("arrived", "departed"))
    return *counts, f"{link['drop_ratio']:.2%}", f"{link['queue_mean']:.0f}", f"{link['queue_std']:.0f}"


def batch_section(batches: list[Process]) -> str:
    """Write the time that many runs take together."""
    walls = [run.wall for run in batches]
    row = (BATCH_RUNS, len(walls), span(min(walls)), span(median(walls)), f"{batches[0].memory:.0f} MB")
    return f"""## Tables of a paper

Tables 1 to 8 and 13 of Li et al. (2014) for its eight schemes, as one process on all cores:
`aqmlab reproduce li2014 --table 1 --table 2 ...`. The memory includes one run per core, and pandas.

{table(("runs", "repeats", "best", "median", "peak memory"), [row])}"""


def sweep_section(sweep: Process) -> str:
    """Write the time of a sweep."""
    runs = sweep_runs(sweep)
    row = (f"{runs:,}", span(sweep.wall), f"{runs / sweep.wall:.1f}", f"{sweep.memory:.0f} MB")
    return f"""## Sweep

All scenarios of Li et al. (2014), its eight schemes, ten seeds: `aqmlab sweep`, on all cores. Runs are stored as they
end.

{table(("runs", "wall time", "runs/s", "peak memory"), [row])}"""


def sweep_runs(sweep: Process) -> int:
    """Return how many runs a sweep did."""
    return int(sweep.printed["runs"])


def analysis_section(analysis: Mapping[str, list[float]]) -> str:
    """Write the cost of the fluid model and the linear analysis."""
    rows = [
        (name, ANALYSES[name][0], len(times), span(min(times)), span(median(times))) for name, times in analysis.items()
    ]
    return f"""## Fluid model and analysis

In a running process, on one core.

{table(("", "case", "repeats", "best", "median"), rows)}"""


def own_section(own: Mapping[str, list[float]]) -> str:
    """Write the cost of a scheme in Python."""
    rows = [
        (name, len(times), span(min(times)), span(median(times)), f"{own_ratio(own, name):.3g} ×")
        for name, times in own.items()
    ]
    return f"""## AQM scheme in Python

`li2014/table-1` with seed 1 under PI with a period of 1 ms, in turn: the built-in scheme and the two of
`benches/own_schemes.py`. *On ticks* sets the drop probability only. *Per packet* also draws for each of the 635,000
packets that arrive. All three drop the same packets.

{table(("PI", "repeats", "best", "median", "compared with the built-in"), rows)}"""


# ---- small things


def own_ratio(own: Mapping[str, list[float]], name: str) -> float:
    """Return the time of a scheme in Python, divided by the built-in scheme's, best against best."""
    return min(own[name]) / min(own["pi, built in"])


def ratio(contest: Mapping[str, list[Process]], rival: str, measure: str) -> float:
    """Return the rival's time divided by aqmlab's, best against best."""
    of = MEASURES[measure]
    return min(map(of, contest[rival])) / min(map(of, contest["aqmlab"]))


def span(seconds: float) -> str:
    """Return a time with three digits."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def printed(command: Sequence[str], typed: str = "") -> str:
    """Return the output of a command."""
    done = subprocess.run(command, input=typed, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def ns2_version() -> str:
    """Return the version of ns-2, or that it is not installed."""
    return printed(["ns"], "puts [ns-version]\nexit\n") if shutil.which("ns") else "not installed"


def processor() -> str:
    """Return the name of the processor."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def system() -> str:
    """Return the operating system: its distribution and kernel."""
    try:
        distribution = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.platform()
    return f"{distribution}, {platform.system()} {platform.release()}"


if __name__ == "__main__":
    main()
