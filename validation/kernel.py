"""Compare schemes and TCP with Linux 7.3 in virtual time (docs/kernel.md); both engines run the same scenario.

`kernel/cases.jsonl` lists the settings, `kernel/rows.jsonl` the kernel's results under seeds 1 to 10, and
`exceptions.toml` the cells that do not agree. Both engines draw the same starts, sizes and pauses under one seed. A
cell is a measure of a case: the mean over the seeds.

Run as a program, it measures the cases that have no row yet, about ten seconds each, if a kernel is built, and writes
docs/validation-kernel.md; `--measure CASE ...` measures these again. Results stay if this is stopped.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

import exceptions
import pages
from kernel_cases import CASES, Case, Row, cases, lines
from linux import TOLERANCES

from aqmlab.kernel.images import images
from aqmlab.runs.executor import run_many
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import LINUX, Failure, Task

ROWS = CASES.with_name("rows.jsonl")
PAGE = Path(__file__).parent.parent / "docs" / "validation-kernel.md"
SEEDS = range(1, 11)
DEVIATIONS = 3.0
"""Standard deviations of the kernel's runs that a cell may differ by."""
LEAST = 0.5
"""Share of the widest tolerance that is always allowed."""
WIDEST = {
    **TOLERANCES,
    "mark_ratio": TOLERANCES["drop_ratio"],
    "segment_delay_mean": (0.002, 0.05),
    "queue_delay_p99": (0.002, 0.10),
}
"""The maximum difference of a cell, as for Linux 6.1: a value, or a share of the kernel's value."""
SLOW = 0.1
"""Rates below this value, Mbit/s, are shown in kbit/s."""
FEWEST = 0.9
"""Share of the cells of a group that should agree."""


@dataclass(frozen=True)
class Cell:
    """A measure of a case: values of the kernel and of the simulator, by seed."""

    name: str
    theirs: tuple[float, ...]
    ours: tuple[float, ...]

    @property
    def measure(self) -> str:
        """The measure, without the group of flows."""
        return self.name.split(" of ")[0]

    @property
    def tolerance(self) -> float:
        """The allowed difference of the means."""
        floor, share = WIDEST[self.measure]
        most = max(floor, share * fmean(self.theirs))
        return min(most, max(LEAST * most, DEVIATIONS * stdev(self.theirs)))

    @property
    def agrees(self) -> bool:
        """The means differ by no more than the tolerance."""
        return abs(fmean(self.ours) - fmean(self.theirs)) <= self.tolerance

    def __str__(self) -> str:
        """Both means in the unit of the page."""
        ratio, time = (100, 1), (1e3, 0)
        scales = {
            "utilisation": ratio,
            "drop_ratio": (100, 3),
            "mark_ratio": (100, 2),
            "fct_mean": time,
            "fct_p95": time,
            "segment_delay_mean": (1e3, 1),
            "queue_delay_p99": (1e3, 1),
        }
        scale, digits = scales.get(self.measure, (1, 1))
        unit = ""
        if self.measure == "rate" and fmean(self.theirs) < SLOW:
            scale, unit = 1e3, " kbit/s"
        return " / ".join(f"{scale * fmean(values):.{digits}f}" for values in (self.theirs, self.ours)) + unit


@dataclass(frozen=True)
class Checked:
    """A case of the kernel and of the simulator."""

    case: Case
    cells: tuple[Cell, ...]

    @property
    def differing(self) -> list[Cell]:
        """The cells that do not agree."""
        return [cell for cell in self.cells if not cell.agrees]


def measured(case: Case, run: RunResult | Failure) -> dict[str, float]:
    """Return the cells of one run; rates in Mbit/s, times in s."""
    assert isinstance(run, RunResult), str(run)
    link = run.links["bottleneck"]
    names = ["utilisation", "queue_mean", "queue_std", "drop_ratio"]
    if any(group.get("ecn") for group in case.groups):
        names.append("mark_ratio")
    if any("bursts" in group for group in case.groups):
        names.append("queue_delay_p99")
    found = {name: float(getattr(link, name)) for name in names}
    for i, group in enumerate(case.groups, 1):
        flows = run.flows[f"g{i}"]
        if len(case.groups) > 1:
            found[f"rate of {i}"] = flows.goodput / 1e6
        if case.takes_turns:
            found |= {f"{name} of {i}": float(getattr(flows, name)) for name in ("drop_ratio", "segment_delay_mean")}
        if "bytes" in group:
            found |= {f"{name} of {i}": float(getattr(flows, name)) for name in ("fct_mean", "fct_p95")}
    return found


def by_name(runs: Sequence[Mapping[str, float]]) -> dict[str, tuple[float, ...]]:
    """Return the values of each cell, by seed."""
    return {name: tuple(run[name] for run in runs) for name in runs[0]}


def measure(wanted: Sequence[Case], version: str) -> None:
    """Run the cases on the kernel under every seed, and store the row of each as soon as it is complete."""
    for i, case in enumerate(wanted, 1):
        print(f"{i} of {len(wanted)}: {case.id}", flush=True)
        runs = run_many([Task(case.scenario, case.setting.scheme, seed, engine=LINUX) for seed in SEEDS])
        values = {
            name: [float(f"{value:.6g}") for value in each]
            for name, each in by_name([measured(case, run) for run in runs]).items()
        }
        kept = [row for row in lines(ROWS) if row["id"] != case.id]
        rows = [*kept, {"id": case.id, "kernel": version, "runs": values}]
        ROWS.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def check(wanted: Sequence[Case], seeds: Sequence[int] = SEEDS) -> list[Checked]:
    """Run the cases that have a row in the simulator, and compare them."""
    rows: dict[str, Row] = {row["id"]: row["runs"] for row in lines(ROWS)}
    known = [case for case in wanted if case.id in rows]
    outcomes = iter(run_many([Task(case.scenario, case.setting.scheme, seed) for case in known for seed in seeds]))
    checked = []
    for case in known:
        ours = by_name([measured(case, next(outcomes)) for _ in seeds])
        cells = (Cell(name, tuple(theirs), ours[name]) for name, theirs in rows[case.id].items())
        checked.append(Checked(case, tuple(cells)))
    return checked


HEAD = f"""\
{pages.FRONT}# Validation against Linux 7.3

<!-- Written by `make validate`; do not edit. -->

Both engines run the same scenarios: [Linux 7.3 in virtual time](kernel.md), with its own TCP and queueing disciplines,
and the simulator. Under one seed both draw the same starts, sizes and pauses. Receivers read every segment as it
arrives. Other comparisons with Linux 7.3:

- [random scenarios](validation-random.md)
- [scenarios from public reports](validation-reported.md)
- [segment sequences](validation-sequences.md)
- [tc commands](validation-tc.md)

`validation/kernel/cases.jsonl` lists the settings in the words of `tc`. The first 248 cases were listed before any of
them was run. `validation/kernel/rows.jsonl` contains the kernel's results under seeds 1 to 10. If a kernel is built
(`aqmlab kernel build`), `make validate` measures the missing rows, ten seconds each.

Seven more, named `caketurns`, were added later. They run CAKE with tins and no bandwidth below an HTB class with the
link's rate, and also compare the loss of every tin and the mean end-to-end delay of its segments. Sixteen, named
`gso`, have senders with segmentation offload (`bursts = "gso"`), and also compare the 99th percentile of the queueing
delay. All other cases send single segments.

A cell is one measure of a case, the mean over ten seeds. The tolerance is three standard deviations of the kernel's ten
runs, limited to the range in this table. The maximum is the tolerance for
[Linux 6.1 in real time](validation-linux.md).

| measure | minimum tolerance | maximum tolerance |
| --- | --- | --- |
| utilization | 1 point | 2 points |
| mean queue | 5 % or 1 packet | 10 % or 2 packets |
| standard deviation of the queue | 12.5 % or 1.5 packets | 25 % or 3 packets |
| drop ratio, mark ratio | 10 % or 0.025 points | 20 % or 0.05 points |
| rate of each group, if several groups share the link | 12.5 % | 25 % |
| mean time of short transfers | 7.5 % or 5 ms | 15 % or 10 ms |
| 95th percentile of the time of short transfers | 12.5 % or 5 ms | 25 % or 10 ms |
| mean delay of segments | 2.5 % or 1 ms | 5 % or 2 ms |
| 99th percentile of the queueing delay | 5 % or 1 ms | 10 % or 2 ms |

"""


def page(checked: Sequence[Checked]) -> str:
    """Return the validation page."""
    agree, cells = counts(checked)
    missing = len(cases()) - len(checked)
    rest = f" {missing} further cases have no row yet." if missing else ""
    parts = [f"{HEAD}**{agree:,} of {cells:,} cells agree ({agree / cells:.1%}), in {len(checked)} cases.**{rest}", ""]
    for title, groups in by_group(checked).items():
        rows = [row_of_group(name, group) for name, group in groups.items()]
        parts += [*pages.table([title, "cases", "cells", "agree", ""], rows), ""]
    parts += ["## Cells that do not agree", ""]
    parts += pages.table(
        ["case", "Linux / simulator", "cause"], [exception(each) for each in checked if each.differing]
    )
    parts += ["", "## All cases", "", CASES_HEAD, ""]
    heads = ["case", "utilization (%)", "mean queue (packets)", "std", "drops (%)"]
    others = "marks (%), rates (Mbit/s), times (ms); losses (%), delays (ms) of tins; p99 of the delay (ms)"
    parts += pages.table([*heads, others], [row_of(each) for each in checked])
    return "\n".join(parts) + "\n"


CASES_HEAD = """\
Linux / simulator; cells that do not agree are bold. The name of a case is rate (Mbit/s), round trip (ms), qdisc,
controllers and numbers of flows."""


def by_group(checked: Sequence[Checked]) -> dict[str, dict[str, list[Checked]]]:
    """Return the cases by scheme, controller and rate; a case with two controllers is in both groups."""
    found: dict[str, dict[str, list[Checked]]] = {"scheme": {}, "controller": {}, "rate": {}}
    for each in checked:
        case = each.case
        for title, names in (
            ("scheme", [case.scheme]),
            ("controller", case.laws),
            ("rate", [f"{case.rate_mbit:g} Mbit/s"]),
        ):
            for name in names:
                found[title].setdefault(name, []).append(each)
    return found


def counts(checked: Sequence[Checked]) -> tuple[int, int]:
    """Return how many cells agree, and how many there are."""
    cells = [cell for each in checked for cell in each.cells]
    return sum(cell.agrees for cell in cells), len(cells)


def row_of_group(name: str, group: Sequence[Checked]) -> list[str]:
    """Return a group as a row of a table, with its share in bold if it is too small."""
    agree, cells = counts(group)
    share = f"{agree / cells:.1%}"
    return [name, f"{len(group)}", f"{cells}", f"{agree}", share if agree >= FEWEST * cells else f"**{share}**"]


def exception(checked: Checked) -> list[str]:
    """Return a case that does not agree as a row of a table: its cells, and the cause."""
    wrong = ", ".join(f"{cell.name} {cell}" for cell in checked.differing)
    return [f"`{checked.case.id}`", wrong, exceptions.of_row("kernel", checked.case.id).cause]


def row_of(checked: Checked) -> list[str]:
    """Return a case as a row of the table."""
    texts = [str(cell) if cell.agrees else f"**{cell}**" for cell in checked.cells]
    return [f"`{checked.case.id}`", *texts[:4], ", ".join(texts[4:])]


def differing(checked: Sequence[Checked]) -> exceptions.Cells:
    """Return the cells that do not agree, by case."""
    return {each.case.id: [cell.name for cell in each.differing] for each in checked if each.differing}


def without_row(again: Sequence[str]) -> Iterator[Case]:
    """Yield the cases that have no row yet, and those named."""
    done = {row["id"] for row in lines(ROWS)}
    for case in cases():
        if case.id not in done or case.id in again:
            yield case


def main() -> None:
    """Measure the missing cases, write the page and print its result."""
    again = sys.argv[2:] if sys.argv[1:2] == ["--measure"] else []
    if wanted := list(without_row(again)):
        if built := images():
            measure(wanted, built[0].version)
        else:
            print(f"no kernel is built (aqmlab kernel build): {len(wanted)} cases without a row are left out")
    checked = check(cases())
    PAGE.write_text(page(checked), encoding="utf-8")
    agree, cells = counts(checked)
    print(f"{agree} of {cells} cells agree with Linux in virtual time; see docs/{PAGE.name}")
    sys.exit("\n".join(exceptions.faults("kernel", differing(checked))) or 0)


if __name__ == "__main__":
    main()
