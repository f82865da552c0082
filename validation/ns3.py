"""Compare RED, CUBIC, DCTCP and schemes that ns-2.35 lacks with ns-3.37, over one bottleneck.

`ns3.json` contains the results of ns-3 as Debian ships it, one row per setting, by seed. `ns3/dumbbell.cc` is the ns-3
program, `ns3/dumbbell.toml` the same setting for the simulator. A row agrees if the means over the seeds of queue and
signals (drops and marks, over arrivals) are within 10 %. `exceptions.toml` lists the rows that differ, and `ns2.py`
writes the page.

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
import pages

from aqmlab.catalogue import title
from aqmlab.runs.executor import run_many
from aqmlab.runs.statistics import Summary, summarise
from aqmlab.runs.task import Failure, Task
from aqmlab.scenario import load

HERE = Path(__file__).parent
STORED = HERE / "ns3.json"
PROGRAM = HERE / "ns3" / "dumbbell"
SCENARIO = HERE / "ns3" / "dumbbell.toml"
PAGE = HERE.parent / "docs" / "validation-ns3.md"
TOLERANCE = 0.1

Row = Mapping[str, Any]
Measures = tuple[float, float]
"""Signals over arrivals (%), mean queue (packets)."""
MEASURES = ("signals", "queue_mean")

SCHEMES = ("red", "codel", "pie", "cobalt", "fq-codel")
OTHERS = {"cubic": (2, 40), "dctcp": (20, 20), "bbr": (5, 20)}
"""Flows and Mbit/s of controllers other than NewReno, whose rows use 20 flows on 20 Mbit/s."""

TITLES = {"cubic": "CUBIC, ", "dctcp": "DCTCP, ", "bbr": "BBR, "}
"""Prefixes of the titles of rows with other controllers."""

NOTES = (
    "TCP: ns-3 computes the timeout again at every ACK of new data. The simulator stays backed off until a segment "
    "that was sent once is acknowledged (RFC 6298, section 5). A flow that lost hundreds of segments in its first slow "
    "start may retransmit them for the whole run. This accounts for half of PIE's difference: if `window` is 300 "
    "packets, which prevents it, the simulator's signals are 0.74 %.",
    "CoDel: after a mark ns-3 computes the next signal from the current time, RFC 8289 from the scheduled time.",
    "PIE: ns-3 clears the sum of p (RFC 8033, 5.4) at a drop but not at a mark, and marks every packet once the "
    "sum is 8.5. Derandomisation is off in both simulators if ECN is on.",
    "COBALT: ns-3 does not test the MTU (`mtu` is 0 B in the scenario) and may drop the last packet. It also raises p "
    "above a sojourn time of 400 ms, which no packet reaches.",
    "FQ-CoDel: ns-3 uses sets of eight queues. The simulator uses 65,536 queues, so no two flows share a queue.",
)
"""Known differences between the implementations, although the rows agree."""

SACK = {"flows.bulk.tcp.limited_transmit": "true", "flows.bulk.tcp.halve": "flight"}
RACK = {"flows.bulk.tcp.variant": "rack"}
OF_LAW = {"cubic": SACK | {"flows.bulk.tcp.halve": "window"}, "dctcp": RACK, "bbr": RACK}
"""Further values that a controller sets in the scenario: `SACK` if it is not listed."""

KNOWN = {
    "cubic": (
        "CUBIC has no Reno-friendly region (`TcpCubic::Update`; issue 1001, fixed in ns-3.41). It forgets W_max at a "
        "timeout (`TcpCubic::CongestionStateSet`; issue 1085, ns-3.42). The windows of two flows on 40 Mbit/s are "
        "above this region, and the flows time out only in slow start.",
    ),
    "dctcp": (
        "DCTCP's window does not grow in the window of data after a mark (`TcpSocketBase::EnterCwr`), as in Linux. "
        "The simulator's variant `rack`, which is used here, does the same.",
        "DCTCP responds to a loss as to a mark, and not at all if nothing is marked (`TcpDctcp::GetSsThresh`; issue "
        "1012, fixed in July 2026). RFC 8257, section 3.5, requires a response, so there are no rows without ECN.",
    ),
    "bbr": (
        "BBR uses the smoothed round-trip time as its sample of the minimum (`TcpBbr::UpdateRTprop`; issue 1043, fixed "
        "in ns-3.43).",
        "BBR accepts invalid samples (issue 735, ns-3.42).",
        "BBR loses track of application-limited phases (issue 1013, ns-3.45).",
    ),
}
"""Bugs of ns-3.37 and differences from it, by controller, from its source, history and issues."""


@dataclass(frozen=True)
class Ns3Row:
    """One setting of ns-3, and the simulator's runs."""

    row: Row
    runs: tuple[Measures, ...]
    """Of the simulator, one per seed."""

    @cached_property
    def theirs(self) -> tuple[Summary, Summary]:
        """Signals and mean queue in ns-3."""
        runs = self.row["runs"]
        signals = [100 * (run["drop_ratio"] + run["mark_ratio"]) for run in runs]
        return summarise(signals), summarise([run["queue_mean"] for run in runs])

    @cached_property
    def ours(self) -> tuple[Summary, Summary]:
        """Signals and mean queue in the simulator."""
        signals, queues = zip(*self.runs, strict=True)
        return summarise(signals), summarise(queues)

    @property
    def differences(self) -> Measures:
        """The differences of the simulator's means from ns-3's, relative to ns-3."""
        signals, queue = (ours.mean / theirs.mean - 1 for ours, theirs in zip(self.ours, self.theirs, strict=True))
        return signals, queue

    @property
    def differing(self) -> list[str]:
        """The measures that differ by more than 10 %."""
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
        """The controller: "newreno" halves the data in flight, as the simulator, "stock" (ns-3's NewReno) the pipe."""
        return str(self.row["law"])


def settings() -> list[dict[str, Any]]:
    """The settings: every scheme with drops and with marks, under ns-3's own NewReno, and under other controllers."""
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
    """Run every stored setting in the simulator, with the same number of seeds."""
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
    """Return aqmlab's name of a queue disc of dumbbell.cc."""
    return "dctcp-step:k=65 packets" if aqm == "step" else aqm


def seeds(row: Row) -> range:
    """Seeds of both simulators; equal seeds do not mean equal draws."""
    return range(1, row["seeds"] + 1)


def values_of(row: Row) -> dict[str, str]:
    """The changes of the row in the scenario."""
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
    """The measures of a run of the simulator."""
    assert not isinstance(outcome, Failure), str(outcome)
    link = outcome.links["bottleneck"]
    return 100 * (link.drop_ratio + link.mark_ratio), link.queue_mean


def differing(checked: list[Ns3Row]) -> exceptions.Cells:
    """Return the cells that do not agree, without BBR, whose rows are wrong in ns-3."""
    return {row.name: row.differing for row in checked if row.law != "bbr" and row.differing}


def causes(checked: list[Ns3Row]) -> list[str]:
    """Return a table of the rows that do not agree."""
    return exceptions.causes("ns3", differing(checked))


HEAD = f"""\
{pages.FRONT}# Validation against ns-3.37

<!-- Written by `make validate`; do not edit. -->

ns-3.37, as Debian ships it, and the simulator run the same scenario: twenty TCP flows with round trips of 62 to 138 ms
share 20 Mbit/s for 100 s. The flows start within 5 s, and the first 20 s are not measured. Buffers hold 1,000 packets,
which no scheme fills. DropTail's buffer holds 240 packets, one bandwidth-delay product. TCP is NewReno with SACK, an
ACK per 1000-byte segment, a minimum timeout of 1 s and no timestamps.

`validation/ns3/dumbbell.cc` is the ns-3 program and `validation/ns3/dumbbell.toml` the scenario; both name every
constant. `validation/ns3.json` contains ns-3's results by seed, and the simulator runs the same number of seeds. To
measure again:

```sh
apt-get install --no-install-recommends ns3 libns3-dev g++ make
make -C validation/ns3
.venv/bin/python validation/ns3.py && make validate
```

A row agrees if the means of signals (drops and marks, as a share of arrivals) and of the queue are within **10 %**.
Tables show signals (%) and mean queue (packets), with 95 % intervals over the seeds.
"""


def page(checked: list[Ns3Row]) -> str:
    """The page about ns-3."""
    newreno, stock, bbr = ([row for row in checked if row.law == law] for law in ("newreno", "stock", "bbr"))
    others = [row for row in checked if row.law in ("cubic", "dctcp")]
    stalled = sum(run["goodput"] < 2e6 for row in bbr for run in row.row["runs"])
    runs = sum(row.row["seeds"] for row in bbr)
    lines = [
        HEAD,
        "## NewReno",
        "",
        f"**{sum(row.agrees for row in newreno)} of {len(newreno)} rows agree.**",
        "",
        *table(newreno),
        "",
        *causes(newreno),
        "",
        "The implementations differ in these points, although the rows agree:",
        "",
        *(f"- {note}" for note in NOTES),
        "",
        "## ns-3's own NewReno",
        "",
        "In the rows above ns-3's senders halve the data in flight (RFC 5681, eq. 4), as the simulator's do. ns-3's",
        "own NewReno halves the pipe of RFC 6675:",
        "",
        *table(stock),
        "",
        *causes(stock),
        "",
        "## CUBIC and DCTCP",
        "",
        "Two CUBIC flows (62 and 138 ms) share 40 Mbit/s. Twenty DCTCP flows (62 to 138 ms) share 20 Mbit/s and use",
        "ECN. Everything else is as above.",
        "",
        f"**{sum(row.agrees for row in others)} of {len(others)} rows agree.**",
        "",
        *table(others),
        "",
        *causes(others),
        "",
        "ns-3.37 differs in these points, by its source, history and issues:",
        "",
        *(f"- {note}" for law in ("cubic", "dctcp") for note in KNOWN[law]),
        "",
        "## BBR",
        "",
        "Five BBR flows share 20 Mbit/s (62 to 138 ms) without ECN. Three bugs of ns-3.37 make every row wrong, so the",
        f"rows are shown but not counted. In {stalled} of {runs} runs of ns-3 the flows use less than a tenth of the",
        "link.",
        "",
        *(f"- {note}" for note in KNOWN["bbr"]),
        "",
        *table(bbr),
    ]
    return "\n".join(lines) + "\n"


def table(checked: list[Ns3Row]) -> list[str]:
    """The rows of both simulators."""
    heads = ["scheme", "ns-3 signals", "simulator", "", "ns-3 queue", "simulator", "", "agrees"]
    return pages.table(heads, [[row.title, *cells(row), "yes" if row.agrees else "no"] for row in checked])


def cells(row: Ns3Row) -> list[str]:
    """Return both measures of ns-3 and of the simulator, and how they differ."""
    columns = zip(row.theirs, row.ours, row.differences, (3, 1), strict=True)
    return [
        cell
        for theirs, ours, difference, digits in columns
        for cell in (shown(theirs, digits), shown(ours, digits), f"{difference:+.0%}")
    ]


def shown(summary: Summary, digits: int) -> str:
    """Mean ± half-width."""
    return f"{summary.mean:.{digits}f} ± {summary.half_width or 0:.{digits}f}"


def main() -> None:
    """Run ns-3 and store its results."""
    rows = settings()
    tasks = [(row, seed) for row in rows for seed in seeds(row)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = pool.map(lambda task: measure(*task), tasks)
        for row in rows:
            row["runs"] = [next(runs) for _ in seeds(row)]
    STORED.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
