"""Hold schemes against Linux 7.3 in virtual time: the same scenario on both engines, each scheme as Linux has it.

`kernel.jsonl` stores what the kernel measured in each case, under five seeds.

    .venv/bin/python validation/kernel.py measure [PATTERN ...]   # on the kernel that was built last
    .venv/bin/python validation/kernel.py [PATTERN ...]           # ours beside the stored rows
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from statistics import fmean, stdev

from aqmlab import _core, tc
from aqmlab.runs.executor import run_many
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import LINUX, SIM, Task

ROWS = Path(__file__).parent / "kernel.jsonl"
SEEDS = range(1, 6)
MEASURES = ("queue_mean", "queue_std", "drop_ratio", "utilisation")
PACKET = 1514
LOADS = (("cubic", 4, 20, 40), ("cubic", 8, 10, 30), ("cubic", 16, 20, 40), ("bbr", 4, 20, 40))
"""Law, flows, Mbit/s, ms."""
SCHEMES: Mapping[str, tuple[str, int]] = {
    "pfifo": ("droptail", 66),
    "codel": ("codel", 1000),
    "pie": ("pie", 1000),
    "red": ("red:flavour=linux,min_th=15 packets,max_th=45 packets,burst=20 packets,q_weight=auto,max_p=0.1", 200),
    "fq_codel": ("fq-codel", 1000),
    "fq_pie": ("fq-pie", 1000),
    "cake": ("cake:isolation=flows", 1000),
    "dualpi2": ("dualpi2", 1000),
    "sfb": ("sfb", 200),
    "choke": ("choke:min_th=15 packets,max_th=45 packets,burst=20 packets,q_weight=auto,max_p=0.1", 200),
}
"""Scheme of ours and buffer, packets."""

Row = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Case:
    """A queueing discipline under some flows."""

    qdisc: str
    law: str
    flows: int
    mbit: int
    rtt_ms: int

    @property
    def name(self) -> str:
        """Its name in the table."""
        return f"{self.qdisc}-{self.flows}-{self.law}-{self.mbit}-{self.rtt_ms}"

    @property
    def scheme(self) -> str:
        """The scheme as Linux has it: as its line of tc is read."""
        scheme, buffer = SCHEMES[self.qdisc]
        link = tc.Link(rate=self.mbit * 1e6, buffer=f"{buffer} packets", packet=PACKET)
        return tc.read("\n".join(tc.write(tc.Setting(scheme, link)).commands), PACKET).setting.scheme

    @property
    def toml(self) -> str:
        """The scenario."""
        return f"""
schema = 1
duration = "40 s"
warmup = "10 s"

[[links]]
name = "bottleneck"
rate = "{self.mbit} Mbit/s"
delay = "0 ms"
buffer = "{SCHEMES[self.qdisc][1]} packets"

[[flows]]
name = "tcp"
count = {self.flows}
rtt = "{self.rtt_ms} ms"
start = {{ uniform = ["0 s", "0.1 s"] }}
tcp = {{ profile = "linux", congestion_control = "{self.law}" }}
"""

    def run(self, engine: str) -> Row:
        """Return each measure under each seed."""
        scheme = SCHEMES[self.qdisc][0] if engine == LINUX else self.scheme
        scenario = _core.Scenario.parse(self.toml, self.name)
        tasks = [Task(scenario, scheme, seed, engine=engine) for seed in SEEDS]
        links = [_link(outcome) for outcome in run_many(tasks)]
        return {name: [link[name] for link in links] for name in MEASURES}


def _link(outcome: object) -> Mapping[str, float]:
    assert isinstance(outcome, RunResult), outcome
    link: Mapping[str, float] = json.loads(outcome.text)["links"]["bottleneck"]
    return link


def cases(patterns: Sequence[str]) -> Iterator[Case]:
    """Yield the cases whose name matches, or all."""
    for qdisc in SCHEMES:
        for load in LOADS:
            case = Case(qdisc, *load)
            if not patterns or any(fnmatch(case.name, pattern) for pattern in patterns):
                yield case


def stored() -> dict[str, Row]:
    """Return the rows of the kernel by case."""
    lines = ROWS.read_text(encoding="utf-8").splitlines() if ROWS.exists() else []
    return {row.pop("case"): row for row in map(json.loads, lines)}


def measure(wanted: Sequence[Case]) -> None:
    """Measure cases on the kernel, in place of their stored rows."""
    rows = stored()
    for case in wanted:
        rows[case.name] = case.run(LINUX)
        lines = [json.dumps({"case": name} | dict(row)) for name, row in sorted(rows.items())]
        ROWS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def show(wanted: Sequence[Case]) -> None:
    """Print the kernel's means beside ours, with the standard deviation over the seeds in brackets."""
    rows = stored()
    print(f"{'case':26}" + "".join(f"{name:>32}" for name in MEASURES))
    for case in wanted:
        if case.name in rows:
            ours = case.run(SIM)
            print(f"{case.name:26}" + "".join(_cell(name, rows[case.name][name], ours[name]) for name in MEASURES))


def _cell(name: str, theirs: Sequence[float], ours: Sequence[float]) -> str:
    factor = 1 if name.startswith("queue") else 100
    one, other = (f"{factor * fmean(values):.2f}({factor * stdev(values):.2f})" for values in (theirs, ours))
    return f"{one:>13} {other:>12} {fmean(ours) / fmean(theirs) - 1:+5.0%}"


if __name__ == "__main__":
    command, *rest = sys.argv[1:] or ["show"]
    if command == "measure":
        measure(list(cases(rest)))
    else:
        show(list(cases(sys.argv[1:])))
