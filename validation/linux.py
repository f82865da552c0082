"""Compare schemes and TCP with Linux 6.1 in real time, with its own stack and queueing disciplines.

`linux/cases.jsonl` lists settings, `linux/rows.jsonl` the kernel's results (`linux/guest.py` measures them),
`linux/again.jsonl` further runs of some settings, and `exceptions.toml` the cells that do not agree. The kernel is
Debian's `user-mode-linux`, an ordinary process without root. The simulator runs each case as a scenario with five
seeds. A cell agrees if the mean of these runs is within the tolerances below.

Run as a program, it writes docs/validation-linux.md; `measure` measures the cases that have no row yet, a minute each,
on a quiet machine; `measure again CASE ...` measures a further run of the cases named:

    apt-get install --no-install-recommends user-mode-linux iperf3 iproute2 ethtool iputils-ping kmod
    .venv/bin/python validation/linux.py measure && make validate
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

import exceptions
import pages
from linux_cases import Case, Row

from aqmlab import _core, catalogue
from aqmlab.runs.executor import run_many
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import Failure, Task

HERE = Path(__file__).parent
GUEST = HERE / "linux"
CASES = GUEST / "cases.jsonl"
ROWS = GUEST / "rows.jsonl"
AGAIN = GUEST / "again.jsonl"
PAGE = HERE.parent / "docs" / "validation-linux.md"
KERNEL = "linux.uml"
SEEDS = 5

LINK_MEASURES = ("utilisation", "queue_mean", "queue_std", "drop_ratio")
TOLERANCES: Mapping[str, tuple[float, float]] = {
    "utilisation": (0.02, 0.0),
    "queue_mean": (2.0, 0.10),
    "queue_std": (3.0, 0.25),
    "drop_ratio": (0.0005, 0.20),
    "rate": (0.0, 0.25),
    "fct_mean": (0.010, 0.15),
    "fct_p95": (0.010, 0.25),
}
"""The allowed difference of a cell: a value, or a share of the kernel's value, whichever is more."""


@dataclass(frozen=True)
class Cell:
    """A measure of the kernel and of the simulator."""

    name: str
    theirs: float
    runs: tuple[float, ...]
    again: tuple[float, ...]
    """Further runs of the kernel; they do not count."""

    @property
    def measure(self) -> str:
        """The measure, without the group of flows."""
        return self.name.split(" of ")[0]

    @property
    def ours(self) -> float:
        """Mean over the seeds."""
        return fmean(self.runs)

    @property
    def agrees(self) -> bool:
        """Within the tolerance."""
        least, share = TOLERANCES[self.measure]
        return abs(self.ours - self.theirs) <= max(least, share * self.theirs)


@dataclass(frozen=True)
class Checked:
    """A case of the kernel, and the simulator's runs."""

    case: Case
    cells: tuple[Cell, ...]
    tried: tuple[Cell, ...]
    """The same with a change of the scenario (`exceptions.toml`); they do not count."""

    @property
    def agrees(self) -> bool:
        """Every cell does."""
        return all(cell.agrees for cell in self.cells)


def stored(path: Path) -> list[Row]:
    """Return the lines of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def cases() -> list[Case]:
    """Return every case."""
    return [Case(**{**row, "groups": tuple(row["groups"])}) for row in stored(CASES)]


def check(wanted: Sequence[Case], seeds: int = SEEDS) -> list[Checked]:
    """Run the cases and compare them with their rows; run those with a trial a second time with its change."""
    rows: dict[str, list[Row]] = {}
    for row in [*stored(ROWS), *stored(AGAIN)]:
        rows.setdefault(row["id"], []).append(row)
    tried = [(case, trial) for case in wanted if (trial := exceptions.of_row("linux", case.id).trial)]
    texts = [(case, case.toml()) for case in wanted]
    texts += [(case, changed(case.toml(), trial)) for case, trial in tried]
    tasks = [
        Task(_core.Scenario.parse(text, case.id), case.scheme[0], seed)
        for case, text in texts
        for seed in range(1, seeds + 1)
    ]
    outcomes = iter(run_many(tasks))
    cells = [cells_of(case, rows[case.id], [next(outcomes) for _ in range(seeds)]) for case, _ in texts]
    of_trial = {case.id: mine for (case, _), mine in zip(tried, cells[len(wanted) :], strict=True)}
    return [Checked(case, mine, of_trial.get(case.id, ())) for case, mine in zip(wanted, cells, strict=False)]


def changed(text: str, trial: Mapping[str, str]) -> str:
    """Return a scenario with the change of a trial."""
    assert trial["from"] in text, trial
    return text.replace(trial["from"], trial["to"], 1)


def cells_of(case: Case, rows: Sequence[Row], outcomes: Sequence[RunResult | Failure]) -> tuple[Cell, ...]:
    """Return the cells of a case; the first of the kernel's rows counts."""
    theirs, *again = (of_kernel(row) for row in rows)
    runs = [of_ours(case, outcome) for outcome in outcomes]
    return tuple(
        Cell(name, value, tuple(run[name] for run in runs), tuple(row[name] for row in again))
        for name, value in theirs.items()
    )


def of_kernel(row: Row) -> dict[str, float]:
    """Return the measures of a row; rates in Mbit/s, times in s."""
    found = {name: row[name] for name in LINK_MEASURES}
    for i, group in enumerate(row["groups"], 1):
        if len(row["groups"]) > 1:
            found[f"rate of {i}"] = sum(group["mbit"])
        found |= {f"{name} of {i}": group[name] for name in ("fct_mean", "fct_p95") if name in group}
    return found


def of_ours(case: Case, outcome: RunResult | Failure) -> dict[str, float]:
    """Return the same of a run of the simulator."""
    assert isinstance(outcome, RunResult), str(outcome)
    link = outcome.links["bottleneck"]
    found = {name: getattr(link, name) for name in LINK_MEASURES}
    found["utilisation"] *= case.link_mbit / case.rate_mbit
    for i in range(len(case.groups)):
        flows = outcome.flows[f"g{i}"]
        found[f"rate of {i + 1}"] = flows.goodput / 1e6
        found |= {f"{name} of {i + 1}": getattr(flows, name) for name in ("fct_mean", "fct_p95")}
    return found


def checked_cases() -> tuple[list[Checked], Counter[str]]:
    """Compare every case that can be run with its row; also count the others by the missing feature."""
    measured = {row["id"] for row in stored(ROWS)}
    laws = {"udp", *(law.name for law in catalogue.laws())}
    wanted, left_out = [], Counter[str]()
    for case in cases():
        if missing := [group["law"] for group in case.groups if group["law"] not in laws]:
            left_out[f"{missing[0]}: not a controller of this version"] += 1
        elif case.id not in measured:
            left_out["not measured yet"] += 1
        else:
            wanted.append(case)
    return check(wanted), left_out


def measure(wanted: Sequence[Row], rows: Path) -> None:
    """Let the kernel measure the cases, one after the other; results stay if this is stopped."""
    if not shutil.which(KERNEL):
        sys.exit(f"{KERNEL} is not installed; see the head of this file")
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps(case) + "\n" for case in wanted)
        file.flush()
        command = f"{KERNEL} mem=1500M rootfstype=hostfs rootflags=/ rw con=null con0=fd:0,fd:1 quiet"
        guest = [f"init={GUEST / 'init.sh'}", f"HERE={GUEST}", f"CASES={file.name}", f"ROWS={rows}"]
        subprocess.run([*command.split(), *guest], stdin=subprocess.DEVNULL, check=True)


HEAD = f"""\
{pages.FRONT}# Validation against Linux 6.1

<!-- Written by `make validate`; do not edit. -->

The simulator is compared with the TCP and the queueing disciplines of a real kernel under the same settings. The kernel
is Debian's user-mode Linux 6.1, an ordinary process without root, in real time. The tolerances for
[Linux 7.3 in virtual time](validation-kernel.md) are narrower, because timers and other programs do not disturb it.

- `validation/linux/guest.py` runs in the kernel. It builds a dumbbell of network namespaces, with netem for the delay
  and htb for the rate, and starts iperf3 or sessions of short transfers.
- `validation/linux/cases.jsonl` lists the settings in the words of `tc`.
- `validation/linux/rows.jsonl` contains the kernel's results, the statistics of the qdisc and, in newer rows, the
  senders' counters. A row is one run. Rows from the 97th on and the further runs were measured while the machine did
  other work, with the kernel at real-time priority.
- The simulator uses `tcp = "linux"` and five seeds, of which the mean counts.

The scenarios account for three properties of user-mode Linux. htb delivers a packet at once when its turn comes, so the
simulator's round trip is shorter by the transmission time of a packet. User-mode Linux adds 0.4 ms to a round trip. Its
timers expire in whole jiffies of 10 ms and one jiffy late, so PIE's 15 ms become 30 ms.

To measure missing rows, a minute per case, on an idle machine:

```sh
apt-get install --no-install-recommends user-mode-linux iperf3 iproute2 ethtool iputils-ping kmod
.venv/bin/python validation/linux.py measure && make validate
```

A cell agrees if it is within these tolerances:

| measure | tolerance |
| --- | --- |
| utilization | 2 points |
| mean queue | 10 % or 2 packets |
| standard deviation of the queue | 25 % or 3 packets |
| drop ratio | 20 % or 0.05 points |
| rate of each group, if several groups share the link | 25 % |
| mean time of short transfers | 15 % or 10 ms |
| 95th percentile of the time of short transfers | 25 % or 10 ms |
"""

SEQUENCES = """\

[Segment sequences](validation-sequences.md) compares every segment that is sent with Linux 7.3.
"""


def page(checked: Sequence[Checked], left_out: Mapping[str, int]) -> str:
    """Return the validation page."""
    agree, cells = counts(checked)
    summary = f"**{agree} of {cells} cells agree ({agree / cells:.1%}), in {len(checked)} cases.**"
    parts = [HEAD, spread(checked), summary + "\n", *table(by_kind(checked)), SEQUENCES]
    parts += ["## Cells that do not agree", "", EXCEPTIONS_HEAD]
    rows = [row for each in checked if not each.agrees for row in exception(each)]
    parts += pages.table(["case", "measure", "Linux", "simulator", "cause"], rows)
    if left_out:
        parts += ["", "## Excluded cases", ""]
        parts += [f"- {count} with {why}" for why, count in sorted(left_out.items())]
    parts += ["", "## All cases", "", CASES_HEAD]
    heads = ["case", "utilization (%)", "mean queue (packets)", "std", "drops (%)"]
    parts += pages.table(
        [*heads, "groups: rates (Mbit/s), times (ms)"],
        [row_of(each) for each in checked],
    )
    return "\n".join(parts) + "\n"


EXCEPTIONS_HEAD = """\
Brackets contain further runs of Linux (`validation/linux/again.jsonl`), and the range over the simulator's five seeds.
`validation/exceptions.toml` lists these cells. A test fails if any other cell differs, or if a listed cell agrees
again.
"""

CASES_HEAD = """\
Linux / simulator; cells that do not agree are bold. The name of a case is rate (Mbit/s), round trip (ms), qdisc,
controller and number of flows.
"""


def differing(checked: Sequence[Checked]) -> exceptions.Cells:
    """Return the cells that do not agree."""
    return {each.case.id: [cell.name for cell in each.cells if not cell.agrees] for each in checked if not each.agrees}


def counts(checked: Sequence[Checked]) -> tuple[int, int]:
    """Return how many cells agree, and how many there are."""
    cells = [cell for each in checked for cell in each.cells]
    return sum(cell.agrees for cell in cells), len(cells)


def spread(checked: Sequence[Checked]) -> str:
    """Return how much runs of one setting differ in Linux."""
    again = [cell for each in checked for cell in each.cells if cell.again and cell.theirs]
    queue, drops = (
        median(abs(run / cell.theirs - 1) for cell in again if cell.name == name for run in cell.again)
        for name in ("queue_mean", "drop_ratio")
    )
    count = sum(bool(each.cells[0].again) for each in checked)
    return (
        f"Linux was measured again in {count} cases, most of which have a cell that does not agree. These runs differ\n"
        f"from the first by {queue:.0%} of the mean queue and {drops:.0%} of the drop ratio (medians).\n"
    )


def table(kinds: Mapping[str, Sequence[Checked]]) -> list[str]:
    """Return the agreement by queueing discipline."""
    rows = [(kind, str(len(of_kind)), *map(str, counts(of_kind)[::-1])) for kind, of_kind in kinds.items()]
    return pages.table(["scheme", "cases", "cells", "agree"], rows)


def by_kind(checked: Sequence[Checked]) -> Mapping[str, list[Checked]]:
    """Return the cases by their queueing discipline."""
    kinds: dict[str, list[Checked]] = {}
    for each in checked:
        kinds.setdefault(each.case.qdisc.split()[0], []).append(each)
    return kinds


def exception(checked: Checked) -> list[list[str]]:
    """Return a row for each cell of a case that does not agree; the first contains the cause."""
    cause = cause_of(checked)
    wrong = [cell for cell in checked.cells if not cell.agrees]
    return [[f"`{checked.case.id}`", cell.name, *in_full(cell), "" if i else cause] for i, cell in enumerate(wrong)]


def cause_of(checked: Checked) -> str:
    """Return why a case does not agree, and the result of a trial."""
    known = exceptions.of_row("linux", checked.case.id)
    if known.trial is None:
        return known.cause
    pairs = [tried for cell, tried in zip(checked.cells, checked.tried, strict=True) if not cell.agrees]
    ours = ", ".join(f"{cell.name} {number(cell, cell.ours)}" for cell in pairs)
    agree = sum(cell.agrees for cell in pairs)
    return f"{known.cause} Simulator with {known.trial['what']}: {ours} ({agree} of {len(pairs)} agree)."


def row_of(checked: Checked) -> list[str]:
    """Return a case as a row of the table; cells that do not agree are bold."""
    texts = [shown(cell) if cell.agrees else f"**{shown(cell)}**" for cell in checked.cells]
    named, groups = texts[: len(LINK_MEASURES)], texts[len(LINK_MEASURES) :]
    return [f"`{checked.case.id}`", *named, ", ".join(groups)]


def shown(cell: Cell) -> str:
    """Return Linux / simulator."""
    return f"{number(cell, cell.theirs)} / {number(cell, cell.ours)}"


def in_full(cell: Cell) -> tuple[str, str]:
    """Return Linux with its further runs, and the simulator with the range of its seeds."""
    again = f" ({', '.join(number(cell, run) for run in cell.again)})" if cell.again else ""
    seeds = f"{number(cell, min(cell.runs))} to {number(cell, max(cell.runs))}"
    return f"{number(cell, cell.theirs)}{again}", f"{number(cell, cell.ours)} ({seeds})"


def number(cell: Cell, value: float) -> str:
    """Return a value in the unit of the page."""
    scale, digits = {"utilisation": (100, 1), "drop_ratio": (100, 3), "fct_mean": (1e3, 0), "fct_p95": (1e3, 0)}.get(
        cell.measure, (1, 1)
    )
    return f"{scale * value:.{digits}f}"


def main() -> None:
    """Write the page and print its result, or measure."""
    match sys.argv[1:]:
        case ["measure"]:
            done = {row["id"] for row in stored(ROWS)}
            return measure([case for case in stored(CASES) if case["id"] not in done], ROWS)
        case ["measure", "again", *names]:
            return measure([case for case in stored(CASES) if case["id"] in names], AGAIN)
    if not shutil.which(KERNEL):
        print(f"{KERNEL} is not installed: nothing was measured, the stored rows are used")
    checked, left_out = checked_cases()
    PAGE.write_text(page(checked, left_out), encoding="utf-8")
    agree, cells = counts(checked)
    print(f"{agree} of {cells} cells agree with Linux; see docs/{PAGE.name}")
    sys.exit("\n".join(exceptions.faults("linux", differing(checked))) or 0)


if __name__ == "__main__":
    main()
