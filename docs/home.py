"""Measure the table of docs/home.md: the home scenarios under a few schemes, seeds 1 to 5 (a minute)."""

import re
from pathlib import Path

from aqmlab.present import labels
from aqmlab.runs.metrics import find
from aqmlab.runs.simulate import compare_all
from aqmlab.scenario import chosen

PAGE = Path(__file__).parent / "home.md"
SCHEMES = ("droptail", "codel", "pie", "fq-codel", "cake", "dualpi2")
SEEDS = 5
LINE = {
    "links.down.rate": "50 Mbit/s",
    "links.up.rate": "10 Mbit/s",
    "flows.*.rtt": "30 ms",
    "links.*.buffer": "1000 ms",
}
COLUMNS = {
    "MOS of a call up": ("home/call", "flows.call-up.call.mos"),
    "game up, p99 (ms)": ("home/game", "flows.game-up.packet_delay_p99"),
    "ping, p99 (ms)": ("home/rrul", "flows.ping.packet_delay_p99"),
    "page object, p95 (ms)": ("home/web", "flows.web.fct_p95"),
    "films (Mbit/s)": ("home/video", "flows.film.video.bitrate_mean"),
    "downloads beside the game (Mbit/s)": ("home/game", "flows.download.goodput"),
    "uploads beside the call (Mbit/s)": ("home/call", "flows.upload.goodput"),
}
"""By head: scenario and measure."""


def table() -> str:
    """Return the table as measured, mean ± half-width of the 95 % interval."""
    found = {each.scenario.name: each for each in compare_all(chosen("home"), SCHEMES, SEEDS, set=LINE)}
    lines = [["", *COLUMNS], ["---"] * (1 + len(COLUMNS))]
    for scheme in SCHEMES:
        cells = []
        for scenario, measure in COLUMNS.values():
            summary = found[scenario].summary(scheme, measure)
            cells.append(find(measure).show(summary.mean, summary.half_width) if summary else "–")
        lines.append([labels.marked(f"`{scheme}`", scheme), *cells])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    filled = re.sub(r"(<!-- home -->\n).*?(<!-- end -->)", lambda m: f"{m[1]}{table()}\n{m[2]}", text, flags=re.DOTALL)
    PAGE.write_text(filled, encoding="utf-8")
