"""Hold schemes that ns-2.35 does not have, and RED, against ns-3.37 itself: twenty TCP flows through one bottleneck.

`ns3.json` holds what ns-3 as Debian ships it measured, a row a setting, seed by seed; `ns3/dumbbell.cc` is the program
that ran there, `ns3/dumbbell.toml` the same setting in our terms. A row agrees if the means over the seeds of queue and
of signals (drops and marks, over arrivals) lie within 10 % of those of ns-3.

Run as a program, it measures again (ten minutes on two idle cores):

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

SCHEMES = ("red", "codel", "pie", "cobalt", "fq-codel")
BUFFERS = {"droptail": 240}
"""Packets, where it is not 1000, which no scheme fills: DropTail has one bandwidth-delay product."""

NOTES = (
    "DropTail locks out (RFC 7567, section 2): the more one flow holds, the more is lost, and the seed decides how "
    "much that is. In ns-3 0.70 % where the greatest flow has 4.0 Mbit/s and 0.83 % where it has 6.8; over 40 seeds "
    "here from 0.63 % (4.0) to 0.80 % (7.2).",
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
"""What is known to differ."""

OTHER_LAWS = (
    "CUBIC has no Reno-friendly region (issue 1001, mended in ns-3.41), which is where the twenty flows above would "
    "be, and forgets W_max at a timeout (issue 1085, ns-3.42).",
    "DCTCP answers a loss as it answers a mark, not at all where nothing is marked (issue 1012, mended in July 2026), "
    "against RFC 8257, section 3.5.",
    "BBR takes the smoothed round-trip time for its samples of the least one (issue 1043, ns-3.43), accepts samples "
    "that are invalid (issue 735, ns-3.42), and loses track of when the application limits it (issue 1013, ns-3.45).",
)
"""What is wrong in ns-3.37."""


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
    def agrees(self) -> bool:
        """Both within 10 %."""
        return all(abs(difference) <= TOLERANCE for difference in self.differences)

    @property
    def same_tcp(self) -> bool:
        """TCP in ns-3 halves the data in flight, as here, and not the pipe, as ns-3's own NewReno does."""
        return not self.row["stock"]


def settings() -> list[dict[str, Any]]:
    """What is measured: every scheme dropping and marking, and under ns-3's own NewReno."""
    rows = [{"aqm": aqm, "ecn": False, "stock": False, "seeds": 5} for aqm in ("droptail", *SCHEMES)]
    rows += [{"aqm": aqm, "ecn": True, "stock": False, "seeds": 3} for aqm in SCHEMES]
    return rows + [{"aqm": aqm, "ecn": False, "stock": True, "seeds": 3} for aqm in ("droptail", *SCHEMES)]


def measure(row: Row, seed: int) -> Any:
    """One run of ns-3 (ten seconds)."""
    command = [str(PROGRAM), f"--disc={row['aqm']}", f"--buffer={buffer(row)}", f"--seed={seed}"]
    command += ["--ecn"] if row["ecn"] else []
    command += ["--law=stock"] if row["stock"] else []
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def buffer(row: Row) -> int:
    """Packets that the queue holds."""
    return BUFFERS.get(row["aqm"], 1000)


def check_ns3() -> list[Ns3Row]:
    """Run every stored setting here, with as many seeds."""
    rows: list[Row] = json.loads(STORED.read_text(encoding="utf-8"))
    scenarios = [load(SCENARIO, values_of(row)) for row in rows]
    tasks = [
        Task(scenario, row["aqm"], seed) for row, scenario in zip(rows, scenarios, strict=True) for seed in seeds(row)
    ]
    outcomes = iter(run_many(tasks))
    return [Ns3Row(row, tuple(measured(next(outcomes)) for _ in seeds(row))) for row in rows]


def seeds(row: Row) -> range:
    """Seeds of both sides; they do not name the same draws."""
    return range(1, row["seeds"] + 1)


def values_of(row: Row) -> dict[str, str]:
    """What the row changes in the scenario."""
    values = {"links.bottleneck.buffer": f"{buffer(row)} packets", "flows.bulk.ecn": str(row["ecn"]).lower()}
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


def section(checked: list[Ns3Row]) -> list[str]:
    """The lines of the validation page about these rows."""
    held = [row for row in checked if row.same_tcp]
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
        *(f"- {note}" for note in NOTES),
        "",
        "ns-3's own NewReno takes the pipe of RFC 6675 for the data in flight of RFC 5681, eq. (4). At a loss the pipe",
        "is shorter, by what was SACKed or lost, so its windows are smaller and its losses fewer whatever the queue.",
        "In the rows above its senders halve what RFC 5681 says, as ours do. With its own NewReno:",
        "",
        *table([row for row in checked if not row.same_tcp]),
        "",
        "No rows are stored of ns-3.37's other laws. `dumbbell` runs them (`--law=cubic`, `dctcp` or `bbr`, `--flows`,",
        "`--rate`), but each lacks something that ns-3 mended later, as its history and issues say:",
        "",
        *(f"- {note}" for note in OTHER_LAWS),
        "",
    ]


def table(checked: list[Ns3Row]) -> list[str]:
    """The rows side by side."""
    lines = ["| scheme | ns-3 signals | ours | | ns-3 queue | ours | | agrees |", "|---|---|---|---|---|---|---|---|"]
    for row in checked:
        name = title(row.row["aqm"]) + (", ECN" if row.row["ecn"] else "")
        cells = [
            f"{shown(theirs, digits)} | {shown(ours, digits)} | {difference:+.0%}"
            for theirs, ours, difference, digits in zip(row.theirs, row.ours, row.differences, (3, 1), strict=True)
        ]
        lines.append(f"| {name} | {' | '.join(cells)} | {'yes' if row.agrees else 'no'} |")
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
