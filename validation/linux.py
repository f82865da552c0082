"""Hold schemes and TCP against a real kernel: Linux 6.1 with its own stack and queueing disciplines.

`linux/cases.jsonl` lists settings, `linux/rows.jsonl` what the kernel measured in each (`linux/guest.py` says how). The
kernel is Debian's `user-mode-linux`, an ordinary process without root. Each case is run here as a scenario with five
seeds. A cell agrees if the mean of our runs lies within the tolerances below.

Run as a program, it measures the cases that have no row yet, a minute each, on a quiet machine:

    apt-get install --no-install-recommends user-mode-linux iperf3 iproute2 ethtool iputils-ping kmod
    .venv/bin/python validation/linux.py && make validate
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from aqmlab import _core, catalogue
from aqmlab.runs.executor import run_many
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import Failure, Task

HERE = Path(__file__).parent
CASES = HERE / "linux" / "cases.jsonl"
ROWS = HERE / "linux" / "rows.jsonl"
PAGE = HERE.parent / "docs" / "validation-linux.md"
SEEDS = 5
UNLIMITED = "bandwidth=10 Tbit/s"
"""CAKE without a shaper: in Linux its tins then have no rate."""
PACKET = 1514
"""Bytes of a full segment on the link: 1448 of data, timestamps, Ethernet's header."""
LINK = 1000
"""Rate of the link behind CAKE's own shaper, Mbit/s."""

CLOCK = "10 ms"
"""A jiffy of user-mode Linux."""

TOLERANCES: Mapping[str, tuple[float, float]] = {
    "utilisation": (0.02, 0.0),
    "queue_mean": (2.0, 0.10),
    "queue_std": (3.0, 0.25),
    "drop_ratio": (0.0005, 0.20),
}
"""What a cell may differ by: so much, or this share of what the kernel has, whichever is more."""

RATES = 0.25
"""Share by which the rate of a group of flows may differ where groups share the link."""

Row = Mapping[str, Any]

CAUSES: Mapping[str, str] = {
    "20-40-codelce1ms-dctcp-4": "The kernel's link lets two packets pass at once (the burst of htb). Here the third of "
    "three that come together, which a growing window sends, waits for more than 1 ms and is marked at any load.",
}
"""What is known of the cases whose cells do not all agree."""


@dataclass(frozen=True)
class Case:
    """A setting: flows of `groups` through `qdisc` (as tc has it) at `rate_mbit`."""

    id: str
    qdisc: str
    rate_mbit: float
    rtt_ms: float
    seconds: int
    omit: int
    burst: int
    groups: tuple[Row, ...]

    @property
    def has_shaper(self) -> bool:
        """The discipline keeps the rate itself."""
        return self.qdisc.startswith("cake") and "bandwidth" in self.qdisc

    @property
    def link_mbit(self) -> float:
        """Rate of the link."""
        return LINK if self.has_shaper else self.rate_mbit

    @cached_property
    def scheme(self) -> tuple[str, float]:
        """The scheme with its parameters, and the buffer in packets."""
        name, *words = self.qdisc.split()
        options = dict(zip(words, [*words[1:], ""], strict=False))  # each word with what follows it
        return SCHEMES[name](options)

    def toml(self) -> str:
        """Return the case as a scenario."""
        groups = [
            *self.groups,
            {"law": "udp", "count": 1, "ecn": False, "source": 0, "dscp": 0, "rate_mbit": 98 * 80e-6},
        ]
        hosts = len({group["source"] for group in self.groups}) > 1
        return f"""
schema = 1
duration = "{self.omit + self.seconds} s"
warmup = "{self.omit} s"

[[links]]
name = "bottleneck"
rate = "{self.link_mbit} Mbit/s"
delay = "0 ms"
buffer = "{self.scheme[1]:.0f} packets"
""" + "".join(flows(f"g{i}", group, self.rtt_ms, hosts) for i, group in enumerate(groups))


def flows(name: str, group: Row, rtt_ms: float, hosts: bool) -> str:
    """Return a group of flows in TOML."""
    lines = [
        f'name = "{name}"',
        f"count = {group['count']}",
        f'rtt = "{rtt_ms} ms"',
        'start = { uniform = ["0 s", "0.1 s"] }',
        f"ecn = {json.dumps(group['ecn'])}",
        f"class = {group['dscp'] >> 3}",
    ]
    if hosts:
        lines.append("hosts = 1")
    if group["law"] == "udp":
        size = 1400 if group["source"] else 56
        lines += [
            'kind = "udp-cbr"',
            f'rate = "{group["rate_mbit"]} Mbit/s"',
            f'packet = "{size} B"',
            'header = "42 B"',
        ]
    else:
        tcp = f'{{ profile = "linux", congestion_control = "{group["law"]}", clock = "{CLOCK}" }}'
        lines += ['packet = "1448 B"', 'access_rate = "1 Gbit/s"', f"tcp = {tcp}"]
    return "\n[[flows]]\n" + "\n".join(lines) + "\n"


def packets(size: str) -> float:
    """Bytes of tc as packets."""
    return int(size) / PACKET


def red(options: Mapping[str, str]) -> tuple[str, float]:
    """RED; its lengths are bytes."""
    low, high = (packets(options[name]) for name in ("min", "max"))
    if options["probability"] == "1":  # a step: as DCTCP asks for
        return f"dctcp-step:k={low:.0f} packets", packets(options["limit"])
    return (
        f"red:flavour=linux,min_th={low:.0f} packets,max_th={high:.0f} packets,burst={options['burst']} packets,"
        f"max_p={options['probability']},q_weight=auto",
        packets(options["limit"]),
    )


def choke(options: Mapping[str, str]) -> tuple[str, float]:
    """CHOKe; its lengths are packets."""
    given = f"min_th={options['min']} packets,max_th={options['max']} packets,burst={options['burst']} packets"
    return f"choke:{given},max_p={options['probability']},q_weight=auto", float(options["limit"])


def sfb(options: Mapping[str, str]) -> tuple[str, float]:
    """SFB."""
    return f"sfb:bin_size={options['target']} packets,max={options['max']} packets", float(options["limit"])


def codel(options: Mapping[str, str]) -> tuple[str, float]:
    """CoDel."""
    given = [f"{name}={options[name]}" for name in ("target", "ce_threshold") if name in options]
    return "codel:" + ",".join(["mtu=1514 B", *given]), 1000


def cake(options: Mapping[str, str]) -> tuple[str, float]:
    """CAKE."""
    given = [
        "diffserv=diffserv4" if "diffserv4" in options else "diffserv=besteffort",
        "isolation=hosts" if "dual-srchost" in options else "isolation=flows",
    ]
    given.append(
        f"bandwidth={options['bandwidth'].removesuffix('mbit')} Mbit/s" if "bandwidth" in options else UNLIMITED
    )
    return "cake:" + ",".join(given), 2700


SCHEMES = {
    "pfifo": lambda options: ("droptail", float(options["limit"])),
    "pie": lambda options: ("pie:mean_packet=1514 B,t_update=20 ms", 1000),
    "fq_codel": lambda options: ("fq-codel:mtu=1514 B,ways=1", 10240),
    "red": red,
    "choke": choke,
    "sfb": sfb,
    "codel": codel,
    "cake": cake,
}


@dataclass(frozen=True)
class Cell:
    """A measure of the kernel beside ours."""

    name: str
    theirs: float
    runs: tuple[float, ...]

    @property
    def ours(self) -> float:
        """Mean over the seeds."""
        return fmean(self.runs)

    @property
    def agrees(self) -> bool:
        """Within the tolerance."""
        if self.name.startswith("rate"):
            return abs(self.ours - self.theirs) <= RATES * self.theirs
        least, share = TOLERANCES[self.name]
        return abs(self.ours - self.theirs) <= max(least, share * self.theirs)


@dataclass(frozen=True)
class Checked:
    """A case of the kernel beside our runs."""

    case: Case
    cells: tuple[Cell, ...]


def stored(path: Path) -> list[Row]:
    """Return the lines of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def cases() -> list[Case]:
    """Return every case."""
    return [Case(**{**row, "groups": tuple(row["groups"])}) for row in stored(CASES)]


def check(wanted: Sequence[Case], rows: Mapping[str, Row], seeds: int = SEEDS) -> list[Checked]:
    """Run the cases and hold them against their rows."""
    tasks = [
        Task(_core.Scenario.parse(case.toml(), case.id), case.scheme[0], seed)
        for case in wanted
        for seed in range(1, seeds + 1)
    ]
    outcomes = iter(run_many(tasks))
    return [held_against(case, rows[case.id], [next(outcomes) for _ in range(seeds)]) for case in wanted]


def held_against(case: Case, row: Row, outcomes: Sequence[RunResult | Failure]) -> Checked:
    """Return the cells of a case."""
    runs = [measured(case, outcome) for outcome in outcomes]
    theirs = {name: row[name] for name in TOLERANCES}
    if len(case.groups) > 1:
        theirs |= {f"rate of {i + 1}": sum(group["mbit"]) for i, group in enumerate(row["groups"])}
    cells = [Cell(name, value, tuple(run[name] for run in runs)) for name, value in theirs.items()]
    return Checked(case, tuple(cells))


def measured(case: Case, outcome: RunResult | Failure) -> dict[str, float]:
    """Return our measures of a run; rates in Mbit/s."""
    assert isinstance(outcome, RunResult), str(outcome)
    link = outcome.links["bottleneck"]
    found = {name: getattr(link, name) for name in TOLERANCES}
    found["utilisation"] *= case.link_mbit / case.rate_mbit
    for i in range(len(case.groups)):
        found[f"rate of {i + 1}"] = outcome.flows[f"g{i}"].goodput / 1e6
    return found


def main() -> None:
    """Measure what has no row yet, then print what agrees."""
    rows = {row["id"]: row for row in stored(ROWS)}
    laws = {entry.name for entry in catalogue.laws()}
    wanted = [case for case in cases() if case.id in rows and all(g["law"] in {"udp", *laws} for g in case.groups)]
    checked = check(wanted, rows)
    cells = [cell for each in checked for cell in each.cells]
    for each in checked:
        shown = "; ".join(f"{c.name} {c.ours:.4g}{'' if c.agrees else ' !!'} ({c.theirs:.4g})" for c in each.cells)
        print(f"{each.case.id:32} {shown}")
    print(f"{sum(cell.agrees for cell in cells)} of {len(cells)} cells agree")


if __name__ == "__main__":
    main()
