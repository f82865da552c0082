"""Hold schemes that ns-2.35 does not have, RED, CUBIC and DCTCP against ns-3.37 itself, over one bottleneck.

`ns3.json` holds what ns-3 as Debian ships it measured, a row a setting, seed by seed; `ns3/dumbbell.cc` is the program
that ran there, `ns3/dumbbell.toml` the same setting in our terms. A row agrees if the means over the seeds of queue and
of signals (drops and marks, over arrivals) lie within 10 % of those of ns-3; what differs is in `exceptions.toml`.

Run as a program, it measures again (twenty minutes on two idle cores):

    apt-get install --no-install-recommends ns3 libns3-dev g++ make
    make -C validation/ns3
    .venv/bin/python validation/ns3.py && make validate
"""

import json
import os
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import exceptions

from aqmlab.catalogue import title
from aqmlab.runs.executor import run_many
from aqmlab.runs.statistics import Summary, summarise
from aqmlab.runs.task import Failure, Task
from aqmlab.scenario import load

HERE = Path(__file__).parent
STORED = HERE / "ns3.json"
PROGRAM = HERE / "ns3" / "dumbbell"
SCENARIO = HERE / "ns3" / "dumbbell.toml"
TOLERANCE = 0.1

Row = Mapping[str, Any]
Measures = tuple[float, float]
"""Signals over arrivals (%), mean queue (packets)."""
MEASURES = ("signals", "queue_mean")

SCHEMES = ("red", "codel", "pie", "cobalt", "fq-codel")
OTHERS = {"cubic": (2, 40), "dctcp": (20, 20), "bbr": (5, 20)}
"""Flows and Mbit/s of laws other than NewReno, whose rows have 20 flows on 20 Mbit/s."""

TITLES = {"cubic": "CUBIC, ", "dctcp": "DCTCP, ", "bbr": "BBR, "}
"""How rows of other laws begin."""

NOTES = (
    "TCP: ns-3 computes the timeout again at each ACK of new data; ours stays backed off until a segment sent once is "
    "acknowledged (RFC 6298, section 5). A flow that lost hundreds of segments in its first slow start may go back "
    "over them for the whole run. That accounts for half of PIE's difference: with `window` at 300 packets, which "
    "prevents it, its signals here are 0.74 %.",
    "CoDel: after a mark ns-3 counts the next signal from the present, RFC 8289 from the one foreseen.",
    "PIE: ns-3 clears the sum of p (RFC 8033, 5.4) at a drop but not at a mark, and marks every packet once the "
    "sum is 8.5. With ECN both sides run without derandomisation.",
    "COBALT: ns-3 has no condition on the MTU (`mtu` is 0 B here), may drop the last packet, and also raises p above a "
    "sojourn time of 400 ms, which no packet has here.",
    "FQ-CoDel: ns-3 runs with sets of eight queues, ours with 65536 queues, so that no two flows share one.",
)
"""What is known to differ, though the rows agree."""

SACK = {"flows.bulk.tcp.limited_transmit": "true", "flows.bulk.tcp.halve": "flight"}
RACK = {"flows.bulk.tcp.variant": "rack"}
OF_LAW = {"cubic": SACK | {"flows.bulk.tcp.halve": "window"}, "dctcp": RACK, "bbr": RACK}
"""What else a law sets in the scenario: `SACK` where it is not here."""

OTHER_LAWS = (
    "CUBIC has no Reno-friendly region (`TcpCubic::Update`; issue 1001, mended in ns-3.41) and forgets W_max at a "
    "timeout (`TcpCubic::CongestionStateSet`; issue 1085, ns-3.42). Two flows on 40 Mbit/s have windows beyond that "
    "region and time out in slow start at most.",
    "DCTCP: ns-3's window does not grow in the window of data that follows a mark (`TcpSocketBase::EnterCwr`), as in "
    "Linux. So it is with variant `rack`, which runs here. A loss is answered as a mark is, not at all where nothing "
    "is marked (`TcpDctcp::GetSsThresh`; issue 1012, mended in July 2026), against RFC 8257, section 3.5: there are no "
    "rows without ECN.",
    "BBR takes the smoothed round-trip time for its samples of the least one (`TcpBbr::UpdateRTprop`; issue 1043, "
    "ns-3.43), accepts samples that are invalid (issue 735, ns-3.42), and loses track of when the application limits "
    "it (issue 1013, ns-3.45). In {stalled} of {runs} runs five flows use less than a tenth of the link. No row is "
    "right; they are shown, and not counted:",
)
"""What is wrong in ns-3.37, or different."""


@dataclass(frozen=True)
class Ns3Row:
    """One setting of ns-3 beside our runs."""

    row: Row
    runs: tuple[Measures, ...]
    """Ours, one a seed."""

    @cached_property
    def theirs(self) -> tuple[Summary, Summary]:
        """Signals and mean queue in ns-3."""
        runs = self.row["runs"]
        signals = [100 * (run["drop_ratio"] + run["mark_ratio"]) for run in runs]
        return summarise(signals), summarise([run["queue_mean"] for run in runs])

    @cached_property
    def ours(self) -> tuple[Summary, Summary]:
        """The same here."""
        signals, queues = zip(*self.runs, strict=True)
        return summarise(signals), summarise(queues)

    @property
    def differences(self) -> Measures:
        """How far our means lie from those of ns-3, relative to them."""
        signals, queue = (ours.mean / theirs.mean - 1 for ours, theirs in zip(self.ours, self.theirs, strict=True))
        return signals, queue

    @property
    def differing(self) -> list[str]:
        """What is off by more than 10 %."""
        found = zip(MEASURES, self.differences, strict=True)
        return [measure for measure, difference in found if abs(difference) > TOLERANCE]

    @property
    def agrees(self) -> bool:
        """Both measures do."""
        return not self.differing

    @property
    def title(self) -> str:
        """The row in the tables."""
        return TITLES.get(self.law, "") + title(ours(self.row["aqm"])) + (", ECN" if self.row["ecn"] else "")

    @property
    def name(self) -> str:
        """The row in `exceptions.toml`."""
        return f"ns-3's own NewReno, {self.title}" if self.law == "stock" else self.title

    @property
    def law(self) -> str:
        """Congestion control: "newreno" halves the data in flight, as here, "stock" (ns-3's own NewReno) the pipe."""
        return str(self.row["law"])


def settings() -> list[dict[str, Any]]:
    """What is measured: every scheme dropping and marking, under ns-3's own NewReno, and under other laws."""
    common = {"law": "newreno", "flows": 20, "rate": 20}
    rows = [{"aqm": aqm, "ecn": False, **common, "seeds": 5} for aqm in ("droptail", *SCHEMES)]
    rows += [{"aqm": aqm, "ecn": True, **common, "seeds": 3} for aqm in SCHEMES]
    rows += [{"aqm": aqm, "ecn": False, **common, "law": "stock", "seeds": 3} for aqm in ("droptail", *SCHEMES)]
    for law, (flows, rate) in OTHERS.items():
        marks = law == "dctcp"
        aqms = ("step" if marks else "droptail", "red", "codel", "pie", "fq-codel")
        rows += [{"aqm": aqm, "ecn": marks, "law": law, "flows": flows, "rate": rate, "seeds": 3} for aqm in aqms]
    return rows


def measure(row: Row, seed: int) -> Any:
    """One run of ns-3 (ten to thirty seconds)."""
    command = [str(PROGRAM), f"--disc={row['aqm']}", f"--buffer={buffer(row)}", f"--seed={seed}", f"--law={row['law']}"]
    command += [f"--flows={row['flows']}", f"--rate={row['rate']}Mbps"]
    command += ["--ecn"] if row["ecn"] else []
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def buffer(row: Row) -> int:
    """Packets that the queue holds: 1000, which no scheme fills; DropTail has one bandwidth-delay product of 100 ms."""
    return 12 * int(row["rate"]) if row["aqm"] == "droptail" else 1000


def check_ns3() -> list[Ns3Row]:
    """Run every stored setting here, with as many seeds."""
    rows: list[Row] = json.loads(STORED.read_text(encoding="utf-8"))
    scenarios = [load(SCENARIO, values_of(row)) for row in rows]
    tasks = [
        Task(scenario, ours(row["aqm"]), seed)
        for row, scenario in zip(rows, scenarios, strict=True)
        for seed in seeds(row)
    ]
    outcomes = iter(run_many(tasks))
    return [Ns3Row(row, tuple(measured(next(outcomes)) for _ in seeds(row))) for row in rows]


def ours(aqm: str) -> str:
    """Return our name of a disc of dumbbell.cc."""
    return "dctcp-step:k=65 packets" if aqm == "step" else aqm


def seeds(row: Row) -> range:
    """Seeds of both sides; they do not name the same draws."""
    return range(1, row["seeds"] + 1)


def values_of(row: Row) -> dict[str, str]:
    """What the row changes in the scenario."""
    values = {"links.bottleneck.buffer": f"{buffer(row)} packets", "flows.bulk.ecn": str(row["ecn"]).lower()}
    values |= OF_LAW.get(row["law"], SACK)
    if row["law"] in OTHERS:
        trips = ", ".join(f'"{62 + 76 * flow // (row["flows"] - 1)} ms"' for flow in range(row["flows"]))
        values |= {
            "links.bottleneck.rate": f"{row['rate']} Mbit/s",
            "flows.bulk.count": str(row["flows"]),
            "flows.bulk.rtt": f"{{ values = [{trips}] }}",
            "flows.bulk.tcp.congestion_control": row["law"],
        }
    if row["aqm"] == "fq-codel":
        values["schemes.fq-codel.behind"] = "queue"  # ns-3 has a CoDel discipline for each flow
    if row["ecn"]:
        values["schemes.pie.derandomize"] = "false"  # see dumbbell.cc
    return values


def measured(outcome: Any) -> Measures:
    """The measures of one of our runs."""
    assert not isinstance(outcome, Failure), str(outcome)
    link = outcome.links["bottleneck"]
    return 100 * (link.drop_ratio + link.mark_ratio), link.queue_mean


def differing(checked: list[Ns3Row]) -> exceptions.Cells:
    """Return the cells that do not agree, of all laws but BBR, whose rows are not right in ns-3."""
    return {row.name: row.differing for row in checked if row.law != "bbr" and row.differing}


def notes(checked: list[Ns3Row]) -> list[str]:
    """Return why rows do not agree."""
    return exceptions.notes("ns3", differing(checked))


def section(checked: list[Ns3Row]) -> list[str]:
    """The lines of the validation page about these rows."""
    held = [row for row in checked if row.law == "newreno"]
    stock = [row for row in checked if row.law == "stock"]
    others = [row for row in checked if row.law in ("cubic", "dctcp")]
    bbr = [row for row in checked if row.law == "bbr"]
    stalled = sum(run["goodput"] < 2e6 for row in bbr for run in row.row["runs"])
    known = [note.format(stalled=stalled, runs=sum(row.row["seeds"] for row in bbr)) for note in OTHER_LAWS]
    return [
        "## Against ns-3.37",
        "",
        "Twenty TCP flows with round trips of 62 to 138 ms share 20 Mbit/s for 100 s; they start within 5 s, and 20 s",
        "pass before anything counts. Buffers hold 1000 packets, which no scheme fills; that of DropTail holds 240,",
        "one bandwidth-delay product. TCP is NewReno with SACK, every segment of 1000 B acknowledged, a least timeout",
        "of 1 s, no timestamps. `validation/ns3/dumbbell.cc` is the program that ran in ns-3 as Debian ships it,",
        "`validation/ns3/dumbbell.toml` the same in our terms; both name every constant. `validation/ns3.json` holds",
        "what was measured, seed by seed; as many seeds run here. To measure again:",
        "",
        "```sh",
        "apt-get install --no-install-recommends ns3 libns3-dev g++ make",
        "make -C validation/ns3",
        ".venv/bin/python validation/ns3.py && make validate",
        "```",
        "",
        "A row agrees if the means of signals (drops and marks, over arrivals) and of the queue lie within **10 %**.",
        "",
        f"**{sum(row.agrees for row in held)} of {len(held)} rows agree.**",
        "",
        "Signals (%) and mean queue (packets), with 95 % intervals over the seeds:",
        "",
        *table(held),
        "",
        *notes(held),
        *(f"- {note}" for note in NOTES),
        "",
        "In the rows above the senders of ns-3 halve the data in flight (RFC 5681, eq. 4), as ours do. With ns-3's own",
        "NewReno, which halves the pipe of RFC 6675:",
        "",
        *table(stock),
        "",
        *notes(stock),
        "",
        "### Other laws",
        "",
        "Two CUBIC flows on 40 Mbit/s (62 and 138 ms), twenty of DCTCP and five of BBR on 20 Mbit/s (62 to 138 ms).",
        "DCTCP has ECN, the others have not. All else is as above.",
        "",
        f"**{sum(row.agrees for row in others)} of {len(others)} rows of CUBIC and DCTCP agree.**",
        "",
        *table(others),
        "",
        *notes(others),
        "",
        "What differs in ns-3.37, as its source, history and issues say:",
        "",
        *(f"- {note}" for note in known),
        "",
        *table(bbr),
        "",
    ]


def table(checked: list[Ns3Row]) -> list[str]:
    """The rows side by side."""
    lines = ["| scheme | ns-3 signals | ours | | ns-3 queue | ours | | agrees |", "|---|---|---|---|---|---|---|---|"]
    for row in checked:
        cells = [
            f"{shown(theirs, digits)} | {shown(ours, digits)} | {difference:+.0%}"
            for theirs, ours, difference, digits in zip(row.theirs, row.ours, row.differences, (3, 1), strict=True)
        ]
        lines.append(f"| {row.title} | {' | '.join(cells)} | {'yes' if row.agrees else 'no'} |")
    return lines


def shown(summary: Summary, digits: int) -> str:
    """Mean ± half-width."""
    return f"{summary.mean:.{digits}f} ± {summary.half_width or 0:.{digits}f}"


def main() -> None:
    """Run ns-3 and store what it says."""
    rows = settings()
    tasks = [(row, seed) for row in rows for seed in seeds(row)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = pool.map(lambda task: measure(*task), tasks)
        for row in rows:
            row["runs"] = [next(runs) for _ in seeds(row)]
    STORED.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
