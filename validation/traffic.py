"""Hold other traffic and topologies against ns-2.35: SACK, delayed ACKs, ECN, changing rates, two-way traffic, web.

`traffic.json` holds results of ns-2.35 as Debian ships it, the mean of one to three seeds: what was measured at a
link (drop and mark ratio, mean and standard deviation of the queue), and the same setting in our terms: a scenario
(a file in `traffic/` or a built-in one), the values set in it, the scheme. A row agrees by the tolerances of `ns2.py`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

NOTES = {
    "SACK": '`variant = "sack"` follows RFC 6675 in both profiles; ns-2\'s Sack1 does not. Which difference matters '
    "is not traced.",
    "WebTraf, 400 sessions, 15 Mbit/s": "in ns-2 a request is a connection of its own whose ACKs wait in this queue, "
    "and each page draws another server with another round trip. Here a request is a delay, and a session keeps its "
    "round trip, so that the nearer ones ask more often. The link is full in both; a shorter cycle leaves a longer "
    "queue.",
    "45 Mbit/s for 50 s, then 15: after": "REM counts in packets a second of the link. ns-2 computes this number once, "
    "at the start, and keeps that of the first rate; here REM follows the present rate, like every scheme.",
    "45 Mbit/s for 50 s, then 115: after": "as above.",
}
"""What is known of settings whose rows may not agree."""


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
    def agrees(self) -> bool:
        """0.5 points of each ratio, 4 % or 5 packets of mean queue, 15 % or 5 packets of its deviation."""
        limits = (0.5, 0.5, max(5.0, 0.04 * self.theirs[2]), max(5.0, 0.15 * self.theirs[3]))
        pairs = zip(self.ours, self.theirs, limits, strict=True)
        return all(abs(ours - theirs) <= limit for ours, theirs, limit in pairs)


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
    differing = dict.fromkeys(row.row["setting"] for row in checked if not row.agrees)
    lines += [f"- {setting}: {NOTES[setting]}" for setting in differing if setting in NOTES]
    return [*lines, ""]


def shown(metrics: Metrics) -> str:
    """Drop / mark / mean / std."""
    return " / ".join(f"{value:.{digits}f}" for value, digits in zip(metrics, (2, 2, 1, 1), strict=True))
