"""Hold schemes and TCP against Linux 7.3 in virtual time (docs/kernel.md), the same scenario by both engines.

`kernel/cases.jsonl` lists the settings, `kernel/rows.jsonl` what the kernel measured in each under seeds 1 to 10,
`exceptions.toml` which cells do not agree. Both engines draw the same starts, sizes and pauses under one seed. A cell
is a measure of a case: the mean over the seeds.

Run as a program, it measures the cases that have no row yet, some ten seconds each, if a kernel is built, and writes
docs/validation-kernel.md; `--measure CASE ...` measures these again. What is measured stays if this is stopped.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

import exceptions
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
WIDEST = {**TOLERANCES, "mark_ratio": TOLERANCES["drop_ratio"], "segment_delay_mean": (0.002, 0.05)}
"""What a cell may differ by at most, as for Linux 6.1: so much, or this share of what the kernel has."""
FEWEST = 0.9
"""Share of the cells of a group that should agree."""


@dataclass(frozen=True)
class Cell:
    """A measure of a case: values of the kernel's runs and of ours, by seed."""

    name: str
    theirs: tuple[float, ...]
    ours: tuple[float, ...]

    @property
    def measure(self) -> str:
        """The measure, without the group of flows."""
        return self.name.split(" of ")[0]

    @property
    def tolerance(self) -> float:
        """By how much the means may differ."""
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
        }
        scale, digits = scales.get(self.measure, (1, 1))
        return " / ".join(f"{scale * fmean(values):.{digits}f}" for values in (self.theirs, self.ours))


@dataclass(frozen=True)
class Checked:
    """A case of the kernel beside ours."""

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
    """Let the kernel run the cases under every seed, and keep a row of each as soon as it is there."""
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
    """Run the cases that have a row here, and hold them to it."""
    rows: dict[str, Row] = {row["id"]: row["runs"] for row in lines(ROWS)}
    known = [case for case in wanted if case.id in rows]
    outcomes = iter(run_many([Task(case.scenario, case.setting.scheme, seed) for case in known for seed in seeds]))
    checked = []
    for case in known:
        ours = by_name([measured(case, next(outcomes)) for _ in seeds])
        cells = (Cell(name, tuple(theirs), ours[name]) for name, theirs in rows[case.id].items())
        checked.append(Checked(case, tuple(cells)))
    return checked


HEAD = """\
# Validation against Linux in virtual time

<!-- Written by `make validate`; do not edit. -->

The same scenarios by both engines: [Linux 7.3 in virtual time](kernel.md), with its own TCP and its own queueing
disciplines, and the simulator. Under one seed both draw the same starts, sizes and pauses.
`validation/kernel/cases.jsonl` lists the settings, the discipline as `tc` has it; the list was made before the first of
them was run.
`validation/kernel/rows.jsonl` is what the kernel measured under seeds 1 to 10. With a kernel (`aqmlab kernel build`)
`make validate` measures what has no row yet. Receivers read each segment as it comes, as those of the simulator do.
The cases named `caketurns` were added later: CAKE with tins and no bandwidth, below a class of HTB with the link's
rate. They also hold what each tin loses, and the mean delay of its segments from end to end.

A cell is a measure of a case: the mean over ten seeds. It agrees if ours differs from the kernel's by no more than
three standard deviations of the kernel's ten runs. At least this much is allowed: **1 point** of utilisation, **5 % or
1 packet** of mean queue, **12.5 % or 1.5 packets** of its standard deviation, **10 % or 0.025 points** of drop and mark
ratios, **12.5 %** of the rate of each group where groups share the link, and of the times of short transfers **7.5 %**
(mean) and **12.5 %** (95th percentile) or 5 ms, and **2.5 %** or 1 ms of the delay of segments. However far the
kernel's runs lie apart, never more than twice that, which is what [Linux 6.1 in real time](validation-linux.md) is
given.

"""


def page(checked: Sequence[Checked]) -> str:
    """Return the validation page."""
    agree, cells = counts(checked)
    summary = (
        f"**{agree} of {cells} cells agree ({agree / cells:.1%}), in {len(checked)} of the {len(cases())} cases.**"
    )
    rest = "" if len(checked) == len(cases()) else " The others have no row yet."
    parts = [f"{HEAD}{summary}{rest}", ""]
    for title, groups in by_group(checked).items():
        parts += [f"| {title} | cases | cells | agree | |", "|---|---|---|---|---|"]
        parts += [row_of_group(name, group) for name, group in groups.items()]
        parts.append("")
    parts += ["## Cells that do not agree", "", "Linux / ours, then what is known of it.", ""]
    parts += [exception(each) for each in checked if each.differing] or ["None."]
    parts += ["", "## All cases", "", "Linux / ours; what does not agree is bold.", ""]
    parts += [
        "| case | utilisation (%) | mean queue (packets) | std | drops (%) "
        "| marks (%), rates (Mbit/s), times (ms); losses (%), delays (ms) of tins |"
    ]
    parts += ["|---|---|---|---|---|---|", *(row_of(each) for each in checked)]
    return "\n".join(parts) + "\n"


def by_group(checked: Sequence[Checked]) -> dict[str, dict[str, list[Checked]]]:
    """Return the cases by scheme, by law and by rate; a case with two laws is in both."""
    found: dict[str, dict[str, list[Checked]]] = {"scheme": {}, "law": {}, "rate": {}}
    for each in checked:
        case = each.case
        for title, names in (("scheme", [case.scheme]), ("law", case.laws), ("rate", [f"{case.rate_mbit:g} Mbit/s"])):
            for name in names:
                found[title].setdefault(name, []).append(each)
    return found


def counts(checked: Sequence[Checked]) -> tuple[int, int]:
    """Return how many cells agree, and how many there are."""
    cells = [cell for each in checked for cell in each.cells]
    return sum(cell.agrees for cell in cells), len(cells)


def row_of_group(name: str, group: Sequence[Checked]) -> str:
    """Return a group as a row of a table, with its share in bold where it is too small."""
    agree, cells = counts(group)
    share = f"{agree / cells:.0%}"
    return f"| {name} | {len(group)} | {cells} | {agree} | {share if agree >= FEWEST * cells else f'**{share}**'} |"


def exception(checked: Checked) -> str:
    """Return what does not agree in a case, and what is known of it."""
    wrong = ", ".join(f"{cell.name} {cell}" for cell in checked.differing)
    return f"- `{checked.case.id}`: {wrong}. {exceptions.of_row('kernel', checked.case.id).cause}"


def row_of(checked: Checked) -> str:
    """Return a case as a row of the table."""
    texts = [str(cell) if cell.agrees else f"**{cell}**" for cell in checked.cells]
    return f"| `{checked.case.id}` | {' | '.join(texts[:4])} | {', '.join(texts[4:])} |"


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
    """Measure what is missing, write the page and say what it says."""
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
