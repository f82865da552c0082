"""Hold schemes and TCP against a real kernel: Linux 6.1 with its own stack and queueing disciplines.

`linux/cases.jsonl` lists settings, `linux/rows.jsonl` what the kernel measured in each (`linux/guest.py` says how),
`linux/again.jsonl` what it measured in further runs of some of them, `exceptions.toml` which cells do not agree. The
kernel is Debian's `user-mode-linux`, an ordinary process without root. Each case is run here as a scenario with five
seeds. A cell agrees if the mean of our runs lies within the tolerances below.

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
"""What a cell may differ by: so much, or this share of what the kernel has, whichever is more."""


@dataclass(frozen=True)
class Cell:
    """A measure of the kernel beside ours."""

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
    """A case of the kernel beside our runs."""

    case: Case
    cells: tuple[Cell, ...]
    tried: tuple[Cell, ...]
    """The same with a change of ours (`exceptions.toml`); they do not count."""

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
    """Run the cases and hold them against their rows, those with a trial a second time with its change."""
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
    """Return the same of our run."""
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
    """Hold every case that can be run against its row; also how many cannot, by what they need."""
    measured = {row["id"] for row in stored(ROWS)}
    laws = {"udp", *(law.name for law in catalogue.laws())}
    wanted, left_out = [], Counter[str]()
    for case in cases():
        if missing := [group["law"] for group in case.groups if group["law"] not in laws]:
            left_out[f"{missing[0]}: not a law of this version"] += 1
        elif case.id not in measured:
            left_out["not measured yet"] += 1
        else:
            wanted.append(case)
    return check(wanted), left_out


def measure(wanted: Sequence[Row], rows: Path) -> None:
    """Let the kernel measure the cases, one after the other; what is measured stays if this is stopped."""
    if not shutil.which(KERNEL):
        sys.exit(f"{KERNEL} is not installed; see the head of this file")
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps(case) + "\n" for case in wanted)
        file.flush()
        command = f"{KERNEL} mem=1500M rootfstype=hostfs rootflags=/ rw con=null con0=fd:0,fd:1 quiet"
        guest = [f"init={GUEST / 'init.sh'}", f"HERE={GUEST}", f"CASES={file.name}", f"ROWS={rows}"]
        subprocess.run([*command.split(), *guest], stdin=subprocess.DEVNULL, check=True)


HEAD = """\
# Validation against Linux

<!-- Written by `make validate`; do not edit. -->

What a real kernel does with its own TCP and its own queueing disciplines, beside the same setting here. The
kernel is Debian's user-mode Linux 6.1: an ordinary process, no root. `validation/linux/guest.py` makes a
dumbbell of network namespaces in it (netem for the delay, htb for the rate) and runs iperf3, or sessions of short
transfers; `validation/linux/cases.jsonl` lists the settings as `tc` has them, `validation/linux/rows.jsonl` what was
measured, with the discipline's own statistics and, of newer rows, the senders' counters. Here the flows have
`tcp = "linux"`, and the mean of five seeds counts. htb gives a packet away whole when its turn begins, and user-mode
Linux adds 0.4 ms to a round trip; ours is longer by that and shorter by the time to send a packet. A timer of this
kernel comes in whole jiffies of 10 ms and one late: PIE's 15 ms are 30. To measure what is missing, a minute a case,
on a quiet machine:

```sh
apt-get install --no-install-recommends user-mode-linux iperf3 iproute2 ethtool iputils-ping kmod
.venv/bin/python validation/linux.py measure && make validate
```

A cell agrees if it lies within **2 points** of utilisation, **10 % or 2 packets** of mean queue, **25 % or 3
packets** of its standard deviation, **20 % or 0.05 points** of drop ratio, **25 %** of the rate of each group
where groups share the link, and of the times of short transfers **15 %** (mean) and **25 %** (95th percentile) or
10 ms. A row of Linux is one run. Rows from the 97th on, and the further runs, were measured beside other work on the
machine, the kernel at real-time priority.
"""

SEQUENCES = """\

What is sent, segment by segment, is held against Linux 7.3 in virtual time: [sequences](validation-sequences.md).
"""


def page(checked: Sequence[Checked], left_out: Mapping[str, int]) -> str:
    """Return the validation page."""
    agree, cells = counts(checked)
    summary = f"**{agree} of {cells} cells agree ({agree / cells:.1%}), in {len(checked)} cases.**"
    parts = [HEAD, spread(checked), summary + "\n", *table(by_kind(checked)), SEQUENCES]
    parts += [
        "## Cells that do not agree",
        "",
        EXCEPTIONS_HEAD,
        *(exception(each) for each in checked if not each.agrees),
    ]
    parts += ["", "## Cases left out", ""]
    parts += [f"- {count} with {why}" for why, count in sorted(left_out.items())] or ["None."]
    parts += ["", "## All cases", "", "Linux / ours. Times of flows and details of `tc` stand in the case's line.", ""]
    parts += [
        "| case | utilisation (%) | mean queue (packets) | std | drops (%) | groups: rates (Mbit/s), times (ms) |"
    ]
    parts += ["|---|---|---|---|---|---|", *(row_of(each) for each in checked)]
    return "\n".join(parts) + "\n"


EXCEPTIONS_HEAD = """\
Linux / ours. In brackets, of Linux: further runs of the same setting (`validation/linux/again.jsonl`); of ours: the
least and the greatest of the five seeds. `validation/exceptions.toml` lists these cells: a test fails when another one
differs, and when one of these no longer does.
"""


def differing(checked: Sequence[Checked]) -> exceptions.Cells:
    """Return the cells that do not agree."""
    return {each.case.id: [cell.name for cell in each.cells if not cell.agrees] for each in checked if not each.agrees}


def counts(checked: Sequence[Checked]) -> tuple[int, int]:
    """Return how many cells agree, and how many there are."""
    cells = [cell for each in checked for cell in each.cells]
    return sum(cell.agrees for cell in cells), len(cells)


def spread(checked: Sequence[Checked]) -> str:
    """Return by how much runs of one setting differ in Linux."""
    again = [cell for each in checked for cell in each.cells if cell.again and cell.theirs]
    queue, drops = (
        median(abs(run / cell.theirs - 1) for cell in again if cell.name == name for run in cell.again)
        for name in ("queue_mean", "drop_ratio")
    )
    count = sum(bool(each.cells[0].again) for each in checked)
    return (
        f"Further runs of {count} cases, most of them with a cell that does not agree, differ from the first by\n"
        f"{queue:.0%} of the mean queue and {drops:.0%} of the drop ratio (medians).\n"
    )


def table(kinds: Mapping[str, Sequence[Checked]]) -> list[str]:
    """Return the agreement of each queueing discipline."""
    lines = ["| scheme | cases | cells | agree |", "|---|---|---|---|"]
    for kind, of_kind in kinds.items():
        agree, cells = counts(of_kind)
        lines.append(f"| {kind} | {len(of_kind)} | {cells} | {agree} |")
    return lines


def by_kind(checked: Sequence[Checked]) -> Mapping[str, list[Checked]]:
    """Return the cases by their queueing discipline."""
    kinds: dict[str, list[Checked]] = {}
    for each in checked:
        kinds.setdefault(each.case.qdisc.split()[0], []).append(each)
    return kinds


def exception(checked: Checked) -> str:
    """Return what does not agree in a case, what is known of it, and what a trial gives."""
    known = exceptions.of_row("linux", checked.case.id)
    wrong = ", ".join(f"{cell.name} {in_full(cell)}" for cell in checked.cells if not cell.agrees)
    text = f"- `{checked.case.id}`: {wrong}. {known.cause}"
    if known.trial is None:
        return text
    pairs = [tried for cell, tried in zip(checked.cells, checked.tried, strict=True) if not cell.agrees]
    ours = ", ".join(f"{cell.name} {number(cell, cell.ours)}" for cell in pairs)
    agree = sum(cell.agrees for cell in pairs)
    return f"{text} Ours with {known.trial['what']}: {ours} ({agree} of {len(pairs)} agree)."


def row_of(checked: Checked) -> str:
    """Return a case as a row of the table; cells that do not agree are bold."""
    texts = [shown(cell) if cell.agrees else f"**{shown(cell)}**" for cell in checked.cells]
    named, groups = texts[: len(LINK_MEASURES)], texts[len(LINK_MEASURES) :]
    return f"| `{checked.case.id}` | {' | '.join(named)} | {', '.join(groups)} |"


def shown(cell: Cell) -> str:
    """Return theirs / ours."""
    return f"{number(cell, cell.theirs)} / {number(cell, cell.ours)}"


def in_full(cell: Cell) -> str:
    """Return theirs / ours with the runs behind them."""
    again = f" ({', '.join(number(cell, run) for run in cell.again)})" if cell.again else ""
    seeds = f"{number(cell, min(cell.runs))} to {number(cell, max(cell.runs))}"
    return f"{number(cell, cell.theirs)}{again} / {number(cell, cell.ours)} ({seeds})"


def number(cell: Cell, value: float) -> str:
    """Return a value in the unit of the page."""
    scale, digits = {"utilisation": (100, 1), "drop_ratio": (100, 3), "fct_mean": (1e3, 0), "fct_p95": (1e3, 0)}.get(
        cell.measure, (1, 1)
    )
    return f"{scale * value:.{digits}f}"


def main() -> None:
    """Write the page and say what it says, or measure."""
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
