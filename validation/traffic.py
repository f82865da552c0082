"""Hold other traffic and topologies against ns-2.35: SACK, delayed ACKs, ECN, changing rates, two-way traffic, web.

`traffic.json` holds results of ns-2.35 as Debian ships it, the mean of one to three seeds: what was measured at a
link (drop and mark ratio, mean and standard deviation of the queue), and the same setting in our terms: a scenario
(a file in `traffic/` or a built-in one), the values set in it, the scheme. A row agrees by the tolerances of `ns2.py`;
what differs is in `exceptions.toml`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import exceptions

from aqmlab._core import Scenario
from aqmlab.catalogue import title
from aqmlab.runs.executor import run_many
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import Failure, Task
from aqmlab.scenario import load

HERE = Path(__file__).parent

Row = Mapping[str, Any]
Metrics = tuple[float, float, float, float]
"""Drop and mark ratio (percentage points), mean and standard deviation of the queue (packets)."""

MEASURES = ("drop_ratio", "mark_ratio", "queue_mean", "queue_std")


@dataclass(frozen=True)
class TrafficRow:
    """One row of ns-2 beside the mean of our runs."""

    row: Row
    ours: Metrics

    @property
    def theirs(self) -> Metrics:
        """What ns-2 gave."""
        found = self.row
        return 100 * found["drop_ratio"], 100 * found["mark_ratio"], found["mean_queue"], found["std_queue"]

    @property
    def name(self) -> str:
        """The row in `exceptions.toml`."""
        return f"{self.row['setting']}, {title(self.row['aqm'])}, {self.row['link']}"

    @property
    def differing(self) -> list[str]:
        """What is off by more than 0.5 points (ratios), 4 % or 5 packets (mean), 15 % or 5 packets (deviation)."""
        limits = (0.5, 0.5, max(5.0, 0.04 * self.theirs[2]), max(5.0, 0.15 * self.theirs[3]))
        found = zip(MEASURES, self.ours, self.theirs, limits, strict=True)
        return [measure for measure, ours, theirs, limit in found if abs(ours - theirs) > limit]

    @property
    def agrees(self) -> bool:
        """Every measure does."""
        return not self.differing


def check_traffic(seeds: int) -> list[TrafficRow]:
    """Run every setting with the seeds 1 to `seeds` and hold the rows against the means."""
    rows: list[Row] = json.loads((HERE / "traffic.json").read_text(encoding="utf-8"))
    settings = {key(row): scenario_of(row) for row in rows}
    tasks = [Task(scenario, aqm, seed) for (_, _, aqm), scenario in settings.items() for seed in range(1, seeds + 1)]
    outcomes = iter(run_many(tasks))
    runs = {setting: [next(outcomes) for _ in range(seeds)] for setting in settings}
    return [TrafficRow(row, measured(runs[key(row)], row["link"])) for row in rows]


def key(row: Row) -> tuple[str, str, str]:
    """What tells one setting from another: scenario, values set, scheme."""
    return row["scenario"], json.dumps(row["set"]), row["aqm"]


def scenario_of(row: Row) -> Scenario:
    """The row's scenario with its values set."""
    stored = HERE / "traffic" / f"{row['scenario']}.toml"
    return load(stored if stored.exists() else row["scenario"], row["set"])


def measured(runs: list[RunResult | Failure], link: str) -> Metrics:
    """Mean of the four metrics at a link."""
    found = []
    for run in runs:
        assert isinstance(run, RunResult), str(run)
        at = run.links[link]
        found.append((100 * at.drop_ratio, 100 * at.mark_ratio, at.queue_mean, at.queue_std))
    drop, mark, mean, std = (sum(values) / len(values) for values in zip(*found, strict=True))
    return drop, mark, mean, std


def differing(checked: list[TrafficRow]) -> exceptions.Cells:
    """Return the cells that do not agree."""
    return {row.name: row.differing for row in checked if row.differing}


def section(checked: list[TrafficRow]) -> list[str]:
    """The lines of the validation page about these rows."""
    agreeing = sum(row.agrees for row in checked)
    lines = [
        "## Other traffic and topologies",
        "",
        "`validation/traffic.json` holds further results of ns-2.35, each the mean of one to three seeds; the",
        "scenarios are in `validation/traffic/`, those of the two bottlenecks are built in. Tolerances as above, 0.5",
        "points for the mark ratio too.",
        "",
        f"**{agreeing} of {len(checked)} rows agree.**",
        "",
        "Drop ratio (%) / mark ratio (%) / mean queue / std (packets):",
        "",
        "| setting | scheme | link | ns-2.35 | ours | agrees |",
        "|---|---|---|---|---|---|",
    ]
    for row in checked:
        at, mark = row.row, "yes" if row.agrees else "no"
        numbers = f"{shown(row.theirs)} | {shown(row.ours)}"
        lines.append(f"| {at['setting']} | {title(at['aqm'])} | {at['link']} | {numbers} | {mark} |")
    lines.append("")
    return [*lines, *exceptions.notes("traffic", differing(checked)), ""]


def shown(metrics: Metrics) -> str:
    """Drop / mark / mean / std."""
    return " / ".join(f"{value:.{digits}f}" for value, digits in zip(metrics, (2, 2, 1, 1), strict=True))
