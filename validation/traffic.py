"""Compare other traffic and topologies with ns-2.35: SACK, delayed ACKs, ECN, changing rates, two-way traffic, web.

`traffic.json` contains results of ns-2.35 as Debian ships it, each the mean of one to three seeds. A row contains the
measures of a link (drop and mark ratio, mean and standard deviation of the queue) and the setting for the simulator: a
scenario (a file in `traffic/` or a built-in one), the values set in it, and the scheme. A row agrees by the tolerances
of `ns2.py`; `exceptions.toml` lists the rows that differ.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import exceptions
import pages

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
    """One row of ns-2, and the mean of the simulator's runs."""

    row: Row
    ours: Metrics

    @property
    def theirs(self) -> Metrics:
        """The metrics of ns-2."""
        found = self.row
        return 100 * found["drop_ratio"], 100 * found["mark_ratio"], found["mean_queue"], found["std_queue"]

    @property
    def name(self) -> str:
        """The row in `exceptions.toml`."""
        return f"{self.row['setting']}, {title(self.row['aqm'])}, {self.row['link']}"

    @property
    def differing(self) -> list[str]:
        """The measures that exceed the tolerances of `ns2.py`, with 0.5 points for the mark ratio."""
        limits = (0.5, 0.5, max(5.0, 0.04 * self.theirs[2]), max(5.0, 0.15 * self.theirs[3]))
        found = zip(MEASURES, self.ours, self.theirs, limits, strict=True)
        return [measure for measure, ours, theirs, limit in found if abs(ours - theirs) > limit]

    @property
    def agrees(self) -> bool:
        """Every measure does."""
        return not self.differing


def check_traffic(seeds: int) -> list[TrafficRow]:
    """Run every setting with the seeds 1 to `seeds` and compare the rows with the means."""
    rows: list[Row] = json.loads((HERE / "traffic.json").read_text(encoding="utf-8"))
    settings = {key(row): scenario_of(row) for row in rows}
    tasks = [Task(scenario, aqm, seed) for (_, _, aqm), scenario in settings.items() for seed in range(1, seeds + 1)]
    outcomes = iter(run_many(tasks))
    runs = {setting: [next(outcomes) for _ in range(seeds)] for setting in settings}
    return [TrafficRow(row, measured(runs[key(row)], row["link"])) for row in rows]


def key(row: Row) -> tuple[str, str, str]:
    """The key of a setting: scenario, values set, scheme."""
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
    """The lines of the page about ns-2 about these rows."""
    agreeing = sum(row.agrees for row in checked)
    rows = [
        (
            row.row["setting"],
            title(row.row["aqm"]),
            row.row["link"],
            shown(row.theirs),
            shown(row.ours),
            "yes" if row.agrees else "no",
        )
        for row in checked
    ]
    return [
        "## Other traffic and topologies",
        "",
        "`validation/traffic.json` contains further results of ns-2.35, each the mean of one to three seeds. The",
        "scenarios with two bottlenecks are built in, the others are in `validation/traffic/`. The tolerances are the",
        "same.",
        "",
        f"**{agreeing} of {len(checked)} rows agree.**",
        "",
        *exceptions.causes("traffic", differing(checked)),
        "",
        "Drop ratio (%) / mark ratio (%) / mean queue / std (packets):",
        "",
        *pages.table(["setting", "scheme", "link", "ns-2.35", "simulator", "agrees"], rows),
        "",
    ]


def shown(metrics: Metrics) -> str:
    """Drop / mark / mean / std."""
    return " / ".join(f"{value:.{digits}f}" for value, digits in zip(metrics, (2, 2, 1, 1), strict=True))
