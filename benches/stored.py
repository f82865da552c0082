"""Sections of the benchmark page on what is measured seldom and stored: many flows, threads, where the time goes.

    python benches/stored.py

writes these sections again; all others stay as `make bench` left them.
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
    "eight": "eight bottlenecks, side by side",
    "two": "two bottlenecks, one after the other",
    "ack": "ACKs queue too (`ack_path`)",
}


def stored(name: str) -> Any:
    """Return what benches/NAME.json holds."""
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def per_second(run: Mapping[str, Any]) -> str:
    """Return the packets per second of a run, in millions."""
    return f"{run['packets'] / run['wall'] / 1e6:.2f} million"


def picture(name: str, alt: str, drawn: LineChart) -> str:
    """Draw a picture of the page, and return the line that shows it."""
    (DOCS / f"{name}.png").write_bytes(encode(draw(drawn), "png"))
    return f"![{alt}]({name}.png)"


def value(number: float) -> Summary:
    """Return a single value as lines take it."""
    return summarise([number])


def flows_section() -> str:
    """Write the engine with up to a million flows beside an earlier one."""
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
    return f"""## How many flows at once?

One thread under PI, 90 kbit/s a flow; beside it, run in turn, the engine of commit {found["commit"]}, which counted
all pushes and, with different round trips, went in rounds on one thread. `python benches/flows.py COMMIT` measures
that again.

{table(("round trips", "flows", "packets/s before", "now", "", "peak memory"), rows)}

{shown}

A flow takes 384 bytes, that of CUBIC 80 more, of which an ACK touches five cache lines. Up to 500 flows everything
lies in the caches, and a packet costs its instructions: queue, scheme, receiver, sender, meters. Beyond, each
packet touches two times five cache lines that have to come from memory; the flows of the next events are fetched
ahead, which hides most of the 80 ns that a miss takes.

The aims were 1.5, 1.4, 1.35, 1.8 and 1.6 times the speed before with one round trip, and 1.9, 1.9, 4.7 and 5 times
from 500 flows on with different ones. Small runs fall short, by up to 30 %: nothing waits for memory there, and the
1400 instructions of a packet, about four to a cycle, lie in sixty functions, of which the event queue has the most, a
fifth. Two other designs, beside the present one with one round trip: rounds, 0.87 times as fast with 50 flows and 0.97
with 500, as the events of one round trip need no sorting; and senders that act at once when a packet leaves its queue,
which saves the event of each ACK but needs to know how each event came about, 0.84 to 0.94 times, with lanes or with
lists. Also tried: the compiler's profile-guided optimization, 1.03 to 1.07; choosing the next lane without branches,
0.97, as a guess that is mostly right costs less than to wait; a lane for the periodic updates of schemes, 0.97; without
gain, bins of other sizes, two copies of the loop, one queue's service in line, fewer copies of a packet, lanes in
pages, branches marked as rare, comparing lanes by time alone, instructions of
newer processors, and other limits of the compiler.

What a processor waits for does not show in the number of instructions. Writing the key of an event in parts and
copying it at once cost up to a twentieth of all time, and so did reading a whole word for one of its bytes: the fields
of keys, ACKs and flows are in an order that avoids both.

For many flows most was won by asking for both cache lines of an event that lies in two, 1.13 times with a million, and
by never reading with one load what several stores have just written, 1.04. Without gain: large pages for what is
pending, fetching only the lines of a flow that the event touches, showing one event ahead at each pop, not a bin, and
fetching the memory of CUBIC beside the flow's.

A million flows of CUBIC with round trips of 40 to 200 ms on 100 Gbit/s under PI, for 10 s:

{table(("threads", "packets/s", "beside one", "peak memory"), million)}

Two threads go in rounds: what crosses from one part to another waits in lists, for 64 bytes a packet. A list keeps the
memory of the largest round that it had."""


def against_flows(rows: Sequence[Mapping[str, Any]]) -> LineChart:
    """What a packet costs, and what memory a run takes, against the number of flows."""

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
    """Write from which size on two threads are faster than one."""
    rows = [
        (LINKS[row["kind"]], f"{row['flows']:,}", f"{row['packets']:,.0f}", f"{row['one'] / row['two']:.2f} ×")
        for row in stored("threads")
    ]
    lines: dict[str, dict[float, Summary]] = {}
    for row in stored("threads"):
        name = LINKS[row["kind"]].replace(" (`ack_path`)", "")
        lines.setdefault(name, {})[row["packets"]] = value(row["one"] / row["two"])
    panel = LinePanel("", "Speed beside one thread", lines)
    shown = picture(
        "benchmarks-threads", "Gain of two threads", LineChart("Packets a round", [panel], 1, logarithmic=True)
    )
    return f"""## From which size on do two threads gain?

PI, 90 kbit/s a flow, round trips of 40 to 200 ms, for 5 s, from 50,000 flows on for 3 s; one thread and two in turn,
set-up included, by an engine that takes two whatever the size (`python benches/threads.py`). A round is the least delay
between queues and flows: a quarter of the least round trip. What bounds two threads here is the queues' part, which
sorts what arrives, and the set-up of the run, which one thread does. By itself a run takes several threads from 200
packets a round on.

{table(("", "flows", "packets a round", "beside one thread"), rows)}

{shown}"""


def cores_section() -> str:
    """Write what more cores than were measured would give at most, by a formula."""
    runs = stored("projection")
    times = stored("overhead")["times"]
    alone, swept = times["the engine alone"], times["`sweep`, stored"]
    python = (swept - alone) / alone  # in runs of 1 ms
    speeds = {
        **{f"one run, {name}": gains(of) for name, of in runs.items()},
        "sweep of 1 ms runs": amdahl(python / (1 + python)),
        "sweep of 100 ms runs": amdahl(python / (100 + python)),
    }
    held = ", ".join(f"{of['measured'] / of['projected']['2'] - 1:+.0%} ({name})" for name, of in runs.items())
    tree = runs["isp-10k"]
    parts = ", ".join(f"{tree['rounds']['1'] / tree['rounds'][str(n)]:.1f} on {n}" for n in (2, 4, 8, 16))
    cores = (2, *PROJECTED)
    rows = [(name, *(f"{gain:.1f} ×" if (gain := of(n)) else "" for n in cores)) for name, of in speeds.items()]
    lines = {name: {float(n): value(gain) for n in cores if (gain := of(n))} for name, of in speeds.items()}
    drawn = LineChart("Cores", [LinePanel("", "Speed beside one core", lines)], 1)
    shown = picture("benchmarks-cores", "Projected speed against cores", drawn)
    heads = ("speed beside one core", *(f"{n} cores" for n in cores))
    return f"""## What would more cores give?

**Projected, not measured**, but for one run on two cores: nothing here has run on more.

*One run on n threads*, 40,000 flows or `networks/isp-10k` for {tree["simulated"]} s: it is divided as for n threads and
done by one, which writes down what each part takes in each round. A model gives the parts to n threads, each to the one
that becomes free first, and adds the exchange after each round, set-up and results (`python benches/projection.py`).
What n processors share it cannot know. On two threads the same runs took, beside the projected time: {held}.

`isp-10k` has sixteen parts, its sites, which share nothing and meet once a second. Two things bound it: set-up and
results are done by one thread, {tree["outside"]:.1f} s of {tree["one"]:.0f} s here, and a smaller share of a longer
run; and in each second all wait for the busiest site, which has seven of a hundred access points. By the rounds alone
the gain is {parts}, which a long run comes close to, and no more beyond sixteen. The next
partition would be the access points. They meet at their site's link after a millisecond, and one thread that goes from
one to the next each millisecond takes three times as long, as no cache holds what it comes back to: more than sixteen
cores gain only where each keeps its parts.

*A sweep on n threads* has runs that share nothing. By Amdahl's law it takes T(n) = W (q + (1 - q) / n) where W is the
time on one core, and q what Python, results and files add ({python:.0%} of the engine's time at 1 ms a run), for which
the interpreter has one lock.

{table(heads, rows)}

{shown}"""


RIVALS = {
    "LibreQoS recommends for 10,000 circuits": "16 cores and 64 GB, in real time, on real packets",
    "UNISON, an ns-3 on many cores (EuroSys 2024)": "40 times ns-3 (8 to 36 thousand packets/s here) on 24 cores",
}
"""What others say of themselves, with their hardware."""


def networks_section() -> str:
    """Write what networks of many queues take."""
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
    others = "\n".join(f"- {name}: {what}." for name, what in RIVALS.items())
    return f"""## What do networks of many queues take?

The whole process, set-up and results included (`python benches/networks.py`).

{table(heads, rows)}

`isp-10k` is cut at its sixteen sites, which share nothing: with more threads than sites the access points, which meet
at their site's link, would have to be parts.

What others say of themselves:

{others}"""


def gains(run: Mapping[str, Any]) -> Callable[[int], float | None]:
    """Return the projected speed of one run by threads, where it was projected."""
    return lambda n: run["one"] / run["projected"][str(n)] if str(n) in run["projected"] else None


def amdahl(q: float) -> Callable[[float], float]:
    """Return the speed by cores if a share `q` is serial."""
    return lambda n: 1 / (q + (1 - q) / n)


def profile_section() -> str:
    """Write where the instructions and cache misses of a packet go."""
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
    return f"""## Where do a packet's nanoseconds go?

Instructions / misses of the first cache / of the second cache for each packet that leaves the bottleneck, under PI,
90 kbit/s a flow, without set-up, counted by callgrind with caches of 32 KB and 1 MB (`python benches/parts.py`);
500 flows for 20 s, 50,000 for 1 s. What is inlined counts where its source is. Callgrind knows of no prefetch: a line
that the loop fetches ahead is counted though nothing waits for it. Were each miss of the second cache waited for,
80 ns long, 50,000 flows would cost about five times what they do (see the picture above).

{table(("part", *columns), rows)}"""


def laws_section() -> str:
    """Write what a packet costs under each congestion-control law beside Reno's."""
    cases: dict[tuple[int, int], dict[str, Any]] = {}
    for row in stored("laws"):
        cases.setdefault((row["flows"], row["buffer"]), {})[row["law"]] = row
    reno = {case: laws["reno"] for case, laws in cases.items()}

    def ratios(case: tuple[int, int], law: str) -> str:
        row, first = cases[case][law], reno[case]
        per = [row[packets] / row["seconds"] / first[packets] * first["seconds"] for packets in ("arrived", "departed")]
        return " / ".join(f"{ratio:.2f}" for ratio in per)

    head = ["law", *(f"{flows} flows, {buffer} BDP" for flows, buffer in cases)]
    rows = [(law, *(ratios(case, law) for case in cases)) for law in next(iter(cases.values()))]
    speeds = ", ".join(f"{row['arrived'] / row['seconds'] / 1e6:.1f}" for row in reno.values())
    return f"""## What does a congestion-control law cost?

Profile `linux` on 100 Mbit/s with 40 ms, droptail: packets that reach the queue / that leave it in a second of
processor time, beside Reno's in the same run, which handles {speeds} million (`python benches/laws.py`). They
differ where much is lost. A law with a pace (`prague`, `bbr`, `bbr3`) has an event for each segment that it sends
beside the one for each ACK, and BBR's keep the delivery rate of every segment.

{table(head, rows)}"""


def ns3_section() -> str:
    """Write ns-3 beside the engine."""
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
    return f"""## How fast is ns-3 in the same scenario?

ns-3.37 as Debian ships it, with the program and the scenario of `validation/ns3`: twenty TCP flows with SACK on
20 Mbit/s for 100 s, round trips of 62 to 138 ms. Processor time, set-up included, the best of five runs in turn
(`python benches/beside_ns3.py`). [Validation](validation.md) has what both measured.
ns-3 simulates packets with real headers, hosts and routes; that is what it is for, and what its time goes to.

{table(("scheme", "packets", "ns-3", "aqmlab", "ns-3 takes"), rows)}"""


def overhead_section() -> str:
    """Write what short runs cost beside the engine's own time."""
    found = stored("overhead")
    alone = next(iter(found["times"].values()))
    rows = [
        (name, f"{seconds:.2f} s", f"{found['runs'] / seconds:,.0f}", f"{seconds / alone - 1:.0%}")
        for name, seconds in found["times"].items()
    ]
    return f"""## What do Python and files cost beside the engine?

{found["runs"]:,} runs of 50 flows and 10 s, 1 ms each, on one core (`python benches/overhead.py`): processor time,
the best of seven rounds. A table or summary is made from all measures of all runs, which are read for it.
Longer runs cost no more of it, so that its share falls with their length.

{table(("", "processor time", "runs/s", "beside the engine"), rows)}"""


def line_section() -> str:
    """Write the packets a second through a line of crate aqmlab, beside the queues that others have written."""
    found = stored("line")
    rows = [(name, f"{rate / 1e6:.1f} million") for name, rate in found["rates"].items()]
    rows += [(each["name"], f"{each['rate'] / 1e6:.1f} million") for each in found["others"]]
    return f"""## How many packets cross a line in a test?

Crate `aqmlab`, for [tests of others](line.md): each microsecond of virtual time a packet of 1000 B with a payload of
8 bytes is pushed, and what is due is popped, on one core (`python benches/line.py`). At 8 Gbit/s a packet takes as long
as the next one takes to come; at 7.9 Gbit/s the queue stands, and CoDel marks. Once a line has been as full as it gets,
a packet allocates nothing (`crates/line/tests/allocations.rs`).

{table(("", "packets/s"), rows)}

`VecDeque` is what a test writes by hand: a limit, a rate, a delay. The queues of neqo and picoquic are those of their
simulators of August 2026, compiled alone, with datagrams without bytes for neqo; picoquic allocates each packet. They
are two to six times as fast as a line, which besides knows flows, hosts and classes, counts every outcome, hands back
what is dropped, and measures what a run measures."""


def limits_section() -> str:
    """Write how long the largest input of each kind takes to read."""
    rows = [
        (name, f"{row['parts']:,}", f"{row['seconds']:.2f} s", f"{row['memory']:.0f} MB")
        for name, row in stored("limits").items()
    ]
    return f"""## How long does the largest input take?

An input of each kind at the limit that `SECURITY.md` lists, read in a process of its own. `tests/largest.py` makes it
of so many parts. Processor time and peak memory include the input itself. The targets are 5 s and 1 GB.

{table(("input", "parts", "time", "peak memory"), rows)}"""


SECTIONS = (
    laws_section,
    line_section,
    flows_section,
    threshold_section,
    cores_section,
    profile_section,
    ns3_section,
    overhead_section,
    limits_section,
)


def main() -> None:
    """Write the sections onto the page, each in the place of that with its title."""
    page = DOCS / "benchmarks.md"
    text = page.read_text(encoding="utf-8")
    for section in SECTIONS:
        new = section()
        title = new.partition("\n")[0]
        before, found, after = text.partition(f"{title}\n")
        if not found:
            raise SystemExit(f"{page}: has no section {title!r}; run make bench")
        _, following, rest = after.partition("\n## ")
        text = f"{before}{new}\n{following}{rest}"
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
