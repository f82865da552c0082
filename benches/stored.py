"""Sections of the benchmark page with stored measurements: many flows, threads, time by part.

    python benches/stored.py

writes these sections again. All others stay as `make bench` wrote them.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from aqmlab.present.plots.data import LineChart, LinePanel
from aqmlab.present.plots.files import draw, encode
from aqmlab.runs.statistics import Summary, summarise

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
KINDS = {"one": "80 ms", "different": "40 to 200 ms"}
PROJECTED = (4, 8, 16, 64)
"""Numbers of cores for which speed is projected."""
LINKS = {
    "one": "one bottleneck",
    "eight": "eight bottlenecks in parallel",
    "two": "two bottlenecks in series",
    "ack": "ACKs queue too (`ack_path`)",
}


def stored(name: str) -> Any:
    """Return the content of benches/NAME.json."""
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def per_second(run: Mapping[str, Any]) -> str:
    """Return the packets per second of a run, in millions."""
    return f"{run['packets'] / run['wall'] / 1e6:.2f} million"


def picture(name: str, alt: str, drawn: LineChart) -> str:
    """Draw a picture of the page, and return the Markdown that shows it."""
    (DOCS / f"{name}.png").write_bytes(encode(draw(drawn), "png"))
    return f"![{alt}]({name}.png)"


def value(number: float) -> Summary:
    """Return a single value as lines take it."""
    return summarise([number])


def flows_section() -> str:
    """Write the speed with up to a million flows, compared with an earlier engine."""
    found = stored("flows")
    rows = []
    for row in found["rows"]:
        before, now = row["before"], row["now"]
        times = f"{before['wall'] / now['wall']:.2f} ×"
        memory = f"{before['memory']:.0f} → {now['memory']:.0f} MB"
        rows.append((KINDS[row["rtt"]], f"{row['flows']:,}", per_second(before), per_second(now), times, memory))
    first = found["million"][0]
    million = [
        (run["threads"], per_second(run), f"{first['wall'] / run['wall']:.2f} ×", f"{run['memory']:.0f} MB")
        for run in found["million"]
    ]
    shown = picture("benchmarks-flows", "Time of a packet and memory against flows", against_flows(found["rows"]))
    return f"""## From 50 to a million flows

One thread under PI, with 90 kbit/s per flow. The engine of commit {found["commit"]} was run in turn with it. It
counted all pushes, and synchronized rounds on one thread if round trips differed. To measure again:
`python benches/flows.py COMMIT`.

{table(("round trips", "flows", "packets/s before", "now", "", "peak memory"), rows)}

{shown}

A flow takes 384 bytes, and 80 more with CUBIC. An ACK touches five cache lines of a flow. Up to 500 flows everything is
in the caches, and the number of instructions determines the time of a packet: about 1,400, a fifth of them in the event
queue. Beyond 500 flows each packet touches two times five cache lines in memory. The flows of the next events are
prefetched, which hides most of the 80 ns of a miss.

A million CUBIC flows with round trips of 40 to 200 ms on 100 Gbit/s under PI, for 10 s:

{table(("threads", "packets/s", "compared with one", "peak memory"), million)}

Two threads synchronize in rounds. Packets between the parts of the network wait in lists, which need 64 bytes per
packet and keep the memory of the largest round."""


def instructions_section() -> str:
    """Write the instructions of fixed runs, of release builds of earlier commits and, if it is counted, of this one."""
    found = {name: of for name, of in stored("instructions").items() if name not in {"compiler", "build"}}
    first, *_, last = found.values()
    rows = [
        (run, *(f"{of[run] / 1e6:,.0f}" if run in of else "" for of in found.values()), ratio(last, first, run))
        for run in last
    ]
    header = ("run", *("now" if name == "release" else f"commit {name}" for name in found), "last / first")
    return f"""## Instructions of fixed runs

Instructions of the event loop in millions, which callgrind counts in release builds (`python benches/instructions.py
--release`, or `--commit`). "Now" is built with profile-guided optimization (`packaging/pgo.py`), the others without.
The counts do not depend on the load of the machine. Table 1 is from Li et al. 2014 with 500 flows, bulk is
`deployed/bulk` with ten flows of profile `linux`.

{table(header, rows)}"""


def ratio(counts: Mapping[str, int], others: Mapping[str, int], run: str) -> str:
    """Return the ratio of two counts of a run, or nothing if one is missing."""
    return f"{counts[run] / others[run]:.3f}" if run in counts and run in others else ""


def against_flows(rows: Sequence[Mapping[str, Any]]) -> LineChart:
    """The time of a packet and the memory of a run against the number of flows."""

    def lines(measure: str) -> dict[str, dict[float, Summary]]:
        return {
            f"{KINDS[rtt]}{', before' if engine == 'before' else ''}": {
                row["flows"]: value(of(row[engine])[measure]) for row in rows if row["rtt"] == rtt
            }
            for rtt in KINDS
            for engine in ("now", "before")
        }

    def of(run: Mapping[str, Any]) -> dict[str, float]:
        return {"time": 1e9 * run["wall"] / run["packets"], "memory": run["memory"]}

    panels = [
        LinePanel("Time of a packet", "Wall time (ns)", lines("time"), logarithmic=True),
        LinePanel("Memory of a run", "Peak memory (MB)", lines("memory"), logarithmic=True),
    ]
    return LineChart("Flows", panels, logarithmic=True)


def threshold_section() -> str:
    """Write the size from which two threads are faster than one."""
    rows = [
        (LINKS[row["kind"]], f"{row['flows']:,}", f"{row['packets']:,.0f}", f"{row['one'] / row['two']:.2f} ×")
        for row in stored("threads")
    ]
    lines: dict[str, dict[float, Summary]] = {}
    for row in stored("threads"):
        name = LINKS[row["kind"]].replace(" (`ack_path`)", "")
        lines.setdefault(name, {})[row["packets"]] = value(row["one"] / row["two"])
    panel = LinePanel("", "Speed compared with one thread", lines)
    shown = picture(
        "benchmarks-threads", "Gain of two threads", LineChart("Packets per round", [panel], 1, logarithmic=True)
    )
    return f"""## Minimum size for two threads

PI with 90 kbit/s per flow and round trips of 40 to 200 ms, for 5 s. From 50,000 flows on a run simulates 3 s. One
thread and two threads run in turn, set-up included, and the engine uses two threads at any size
(`python benches/threads.py`).

A round is the minimum delay between queues and flows: a quarter of the minimum round trip. Two things limit the gain of
two threads: the part of the queues, which sorts arrivals, and the set-up, which a single thread does. By default a run
uses several threads from 200 packets per round on.

{table(("", "flows", "packets per round", "compared with one thread"), rows)}

{shown}"""


def cores_section() -> str:
    """Write the projected speed on more cores than were measured."""
    runs = stored("projection")
    times = stored("overhead")["times"]
    alone, swept = times["the engine alone"], times["`sweep`, stored"]
    python = (swept - alone) / alone  # in runs of 1 ms
    speeds = {
        **{f"one run, {name}": gains(of) for name, of in runs.items()},
        "sweep of 1 ms runs": amdahl(python / (1 + python)),
        "sweep of 100 ms runs": amdahl(python / (100 + python)),
    }
    apart = [of["measured"] / of["projected"]["2"] - 1 for of in runs.values()]
    tree = runs["isp-10k"]
    cores = (2, *PROJECTED)
    rows = [
        (name, *(f"{gain:.1f} ×" if (gain := of(n)) else "" for n in cores))
        for name, of in {**speeds, "one run, isp-10k, rounds only": rounds(tree)}.items()
    ]
    lines = {name: {float(n): value(gain) for n in cores if (gain := of(n))} for name, of in speeds.items()}
    drawn = LineChart("Cores", [LinePanel("", "Speed compared with one core", lines)], 1)
    shown = picture("benchmarks-cores", "Projected speed against cores", drawn)
    heads = ("speed compared with one core", *(f"{n} cores" for n in cores))
    return f"""## Projection to more cores

**Projected, not measured.** Only one run on two cores was measured; no result here is from more cores.

*One run on n threads*: 40,000 flows, or `networks/isp-10k` for {tree["simulated"]} s. The network is divided for n
threads, and a single thread runs it and records the time of each part in each round. A model assigns the parts to n
threads, each part to the first free thread. It adds the exchange after each round, set-up and results
(`python benches/projection.py`). It ignores the caches, memory and clock that n processors share. On two
threads the measured times differ from the projection by {min(apart):+.0%} to {max(apart):+.0%}.

`isp-10k` is divided into sixteen parts, its sites, which share nothing and synchronize once a second. Two things
limit its gain. A single thread does set-up and results, which take {tree["outside"]:.1f} s of {tree["one"]:.0f} s
here, and a smaller share of a longer run. Every second all threads wait for the busiest site, which contains seven of
a hundred access points. The row "rounds only" ignores set-up and results; a long run comes close to it. More than
sixteen threads do not increase the gain. A division into access points would exchange events after every millisecond.
A thread that visits them in turn takes three times as long, because of cache misses, so more than sixteen threads
would help only if each keeps its parts.

*A sweep on n threads* has independent runs. It takes T(n) = W (q + (1 - q) / n) (Amdahl). W is the time on one
core. q is the share of Python, results and files ({python:.0%} of the engine's time for runs of 1 ms), because the
interpreter has one lock.

{table(heads, rows)}

{shown}"""


RIVALS = {
    "LibreQoS": "recommends 16 cores and 64 GB for 10,000 circuits, in real time, on real packets",
    "UNISON, an ns-3 on many cores (EuroSys 2024)": "40 times as fast as ns-3 on 24 cores; "
    "ns-3 handles 8 to 36 thousand packets/s on the machine of this page",
}
"""Published requirements and results of other programs, with their hardware."""


def networks_section() -> str:
    """Write time and memory of networks with many queues."""
    found = stored("networks")
    rows = [
        (
            f"`networks/{name}`",
            threads,
            f"{run['wall']:.0f} s",
            f"{run['processor']:.0f} s",
            f"{run['memory']:,.0f} MB",
            f"{run['events'] / 1e6:,.0f} million",
        )
        for name, of in found.items()
        for threads, run in of.items()
    ]
    heads = ("scenario", "threads", "time", "processor time", "peak memory", "events")
    return f"""## Networks with many queues

The whole process, set-up and results included (`python benches/networks.py`).

{table(heads, rows)}

`isp-10k` is divided at its sixteen sites, which share nothing, so more than sixteen threads do not help.

Published requirements and results of others:

{table(("program", "published"), RIVALS.items())}"""


def gains(run: Mapping[str, Any]) -> Callable[[int], float | None]:
    """Return the projected speed of one run by threads, where it was projected."""
    return lambda n: run["one"] / run["projected"][str(n)] if str(n) in run["projected"] else None


def rounds(run: Mapping[str, Any]) -> Callable[[int], float | None]:
    """Return the speed of the rounds of one run by threads, without set-up and results, if it was projected."""
    return lambda n: run["rounds"]["1"] / run["rounds"][str(n)] if str(n) in run["rounds"] else None


def amdahl(q: float) -> Callable[[float], float]:
    """Return the speed by cores if a share `q` is serial."""
    return lambda n: 1 / (q + (1 - q) / n)


def profile_section() -> str:
    """Write the instructions and cache misses of a packet by part."""
    found = stored("parts")
    parts = list(found[0]["parts"])
    columns = [f"{row['flows']:,}, {KINDS[row['rtt']]}" for row in found]

    def cell(costs: Mapping[str, float]) -> str:
        return f"{costs['instructions']:.0f} / {costs['first']:.1f} / {costs['second']:.1f}"

    rows = [(part, *(cell(row["parts"][part]) for row in found)) for part in parts]
    sums = {
        measure: [sum(costs[measure] for costs in row["parts"].values()) for row in found]
        for measure in ("instructions", "first", "second")
    }
    rows.append(("all", *(cell({name: sums[name][i] for name in sums}) for i in range(len(found)))))
    return f"""## Instructions and cache misses of a packet

Instructions / first-level misses / second-level misses per packet that leaves the bottleneck, under PI with 90 kbit/s
per flow, without set-up. callgrind counts them with caches of 32 KB and 1 MB (`python benches/parts.py`). Runs with
500 flows simulate 20 s, those with 50,000 flows 1 s. Inlined code counts in its own source file. callgrind ignores
prefetching, so it counts misses that cost no time. If every second-level miss took 80 ns, 50,000 flows would take
about five times as long.

{table(("part", *columns), rows)}"""


def laws_section() -> str:
    """Write the cost of a packet under each congestion controller, relative to Reno."""
    cases: dict[tuple[int, int], dict[str, Any]] = {}
    for row in stored("laws"):
        cases.setdefault((row["flows"], row["buffer"]), {})[row["law"]] = row
    reno = {case: laws["reno"] for case, laws in cases.items()}

    def ratios(case: tuple[int, int], law: str) -> str:
        row, first = cases[case][law], reno[case]
        per = [row[packets] / row["seconds"] / first[packets] * first["seconds"] for packets in ("arrived", "departed")]
        return " / ".join(f"{ratio:.2f}" for ratio in per)

    head = ["controller", *(f"{flows} flows, {buffer} BDP" for flows, buffer in cases)]
    rows = [(law, *(ratios(case, law) for case in cases)) for law in next(iter(cases.values()))]
    speeds = ", ".join(f"{row['arrived'] / row['seconds'] / 1e6:.1f}" for row in reno.values())
    return f"""## Cost of congestion controllers

Profile `linux` on 100 Mbit/s with 40 ms and droptail (`python benches/laws.py`). The table shows packets that reach the
queue / leave it per second of processor time, relative to Reno. Reno handles {speeds} million packets per second in the
four cases. The two values differ if many packets are lost. Controllers that pace (`prague`, `bbr`, `bbr3`) need an
additional event per segment, and BBR keeps the delivery rate of every segment.

{table(head, rows)}"""


def ns3_section() -> str:
    """Write the speed compared with ns-3."""
    rows = [
        (
            row["scheme"],
            f"{row['packets']:,}",
            f"{row['ns3']:.1f} s",
            f"{1000 * row['aqmlab']:.0f} ms",
            f"{row['ns3'] / row['aqmlab']:.0f} ×",
        )
        for row in stored("ns3")
    ]
    return f"""## ns-3 in the same scenario

ns-3.37 as Debian ships it, with the program and scenario of `validation/ns3`: twenty TCP flows with SACK on 20 Mbit/s
for 100 s, with round trips of 62 to 138 ms. Processor time, set-up included, is the best of five runs in turn
(`python benches/beside_ns3.py`). [Validation](validation-ns3.md) compares the results. ns-3 simulates packets with real
headers, hosts and routes, which takes most of its time.

{table(("scheme", "packets", "ns-3", "aqmlab", "ns-3 / aqmlab"), rows)}"""


def overhead_section() -> str:
    """Write the overhead of short runs."""
    found = stored("overhead")
    alone = next(iter(found["times"].values()))
    rows = [
        (name, f"{seconds:.2f} s", f"{found['runs'] / seconds:,.0f}", f"{seconds / alone - 1:.0%}")
        for name, seconds in found["times"].items()
    ]
    return f"""## Overhead of Python and files

{found["runs"]:,} runs of 50 flows for 10 s, 1 ms each, on one core (`python benches/overhead.py`). Processor time is
the best of seven rounds. A table or summary reads all measures of all runs. Longer runs have the same overhead, so
its share falls with their length.

{table(("", "processor time", "runs/s", "more than the engine"), rows)}"""


def line_section() -> str:
    """Write the packets per second of the link library, compared with queues of other projects."""
    found = stored("line")
    rows = [(name, f"{rate / 1e6:.1f} million") for name, rate in found["rates"].items()]
    rows += [(each["name"], f"{each['rate'] / 1e6:.1f} million") for each in found["others"]]
    return f"""## Link library

The crate `aqmlab`, for [tests of other projects](line.md), on one core (`python benches/line.py`). Every microsecond
of virtual time a packet of 1,000 B with a payload of 8 bytes is pushed, and all due packets are popped. At 8 Gbit/s
the transmission of a packet takes as long as the interval to the next one. At 7.9 Gbit/s a queue builds up, and CoDel
marks. A packet allocates no memory once the queue was at its maximum (`crates/line/tests/allocations.rs`).

{table(("", "packets/s"), rows)}

`VecDeque` is the usual code in a test: a limit, a rate, a delay. The queues of neqo and picoquic are from their
simulators of August 2026, compiled alone. neqo's datagrams have no bytes, and picoquic allocates each packet. These
queues are two to six times as fast as the library. The library also distinguishes flows, hosts and classes, counts
every outcome, returns dropped packets, and computes the measures of a run."""


def limits_section() -> str:
    """Write the time to read the largest input of each kind."""
    rows = [
        (name, f"{row['parts']:,}", f"{row['seconds']:.2f} s", f"{row['memory']:.0f} MB")
        for name, row in stored("limits").items()
    ]
    return f"""## Largest inputs

An input of each kind at the limit in `SECURITY.md`, read in a separate process. `tests/largest.py` makes it with this
number of parts. Processor time and peak memory include the input itself. The targets are 5 s and 1 GB.

{table(("input", "parts", "time", "peak memory"), rows)}"""


SECTIONS = (
    laws_section,
    line_section,
    instructions_section,
    flows_section,
    threshold_section,
    cores_section,
    networks_section,
    profile_section,
    ns3_section,
    overhead_section,
    limits_section,
)


def main() -> None:
    """Write the sections onto the page, each in the place of its title."""
    page = DOCS / "benchmarks.md"
    text = page.read_text(encoding="utf-8")
    for section in SECTIONS:
        new = section()
        title = new.partition("\n")[0]
        before, found, after = text.partition(f"{title}\n")
        if not found:
            raise SystemExit(f"{page}: section {title!r} is missing; run make bench")
        _, following, rest = after.partition("\n## ")
        text = f"{before}{new}\n{following}{rest}"
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
