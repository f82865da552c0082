"""Compare FuzzyRTT's estimates of round trips with the announced ones; writes a table of docs/boudi-evidence.md.

An estimate is a sample of the series `rtt` at which `announced` contains a value. It is right within a tenth or 5 ms.
"""

from pathlib import Path
from statistics import fmean, median

import numpy as np

import aqmlab
from aqmlab.runs.results import RunResult

PAGE = Path(__file__).parent.parent / "docs" / "boudi-evidence.md"
SCENARIOS = [f"{level}-{rate}" for level in ("light", "medium", "high") for rate in (10, 50, 100)] + [
    "lognormal-medium-50"
]
READINGS = {"announced": {}, "passive": {}, "neither": {"flows.*.rtt_notification": False}}
"""The values set in a scenario, by FuzzyRTT's source of round trips."""
SEEDS = range(1, 6)
FROM = 100.0
"""Seconds; what is announced before is of slow start."""


def errors(run: RunResult) -> tuple[float, float, float, float]:
    """Return the share of right estimates, and the median and the ends of nine tenths of their relative errors."""
    series = run.series["bottleneck"]
    time, ours, told = (np.array(series[name], dtype=float) for name in ("time", "rtt", "announced"))
    known = (time >= FROM) & np.isfinite(ours) & (told > 0) & (ours > 0)
    wrong = ours[known] / told[known] - 1
    right = np.abs(ours[known] - told[known]) <= np.maximum(0.1 * told[known], 0.005)
    low, middle, high = np.percentile(wrong, (5, 50, 95))
    return float(right.mean()), float(middle), float(low), float(high)


def run_of(name: str, reading: str, seed: int) -> RunResult:
    """Return a run; with series where they are looked at."""
    is_passive = reading == "passive"
    aqm = f"fuzzy-rtt:rtt={'passive' if is_passive else 'announced'}"
    return aqmlab.run(f"boudi/{name}", aqm, seed, set=READINGS[reading], series=is_passive)


def row(name: str) -> str:
    """Return a scenario as a row of the table."""
    runs = {reading: [run_of(name, reading, seed) for seed in SEEDS] for reading in READINGS}
    right, middle, low, high = (median(values) for values in zip(*map(errors, runs["passive"]), strict=True))
    jain = [fmean(run.total.jain or 0.0 for run in runs[reading]) for reading in READINGS]
    *words, rate = name.split("-")
    shares = " | ".join(f"{value:.2f}" for value in jain)
    return (
        f"| {', '.join(words)}, {rate} Mbit/s | {right:.0%} | {middle:+.0%} | {low:+.0%} to {high:+.0%} | {shares} |"
    ).replace("%", " %")


def main() -> None:
    """Write the table."""
    before, start, rest = PAGE.read_text(encoding="utf-8").partition("<!-- passive -->\n")
    end, after = rest.partition("<!-- end -->")[1:]
    heads = "| | within 10 % or 5 ms | error, median | error, 5 to 95 % | Jain, announced | passive | neither |"
    lines = [heads, "|---|---|---|---|---|---|---|", *map(row, SCENARIOS)]
    PAGE.write_text(before + start + "\n".join(lines) + "\n" + end + after, encoding="utf-8")


if __name__ == "__main__":
    main()
