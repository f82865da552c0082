"""Measure the tables of docs/advise-evidence.md: the home scenarios under a few schemes, seeds 1 to 5 (two minutes)."""

from pathlib import Path

import tables

from aqmlab.laws import OF_CALLS, of_call
from aqmlab.present import labels
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.metrics import find
from aqmlab.runs.simulate import compare, compare_engines
from aqmlab.scenario import chosen, load

PAGE = Path(__file__).parent / "advise-evidence.md"
SCHEMES = ("droptail", "codel", "pie", "fq-codel", "cake", "dualpi2")
SEEDS = 5
LINE = {
    "links.down.rate": "50 Mbit/s",
    "links.up.rate": "10 Mbit/s",
    "flows.*.rtt": "30 ms",
    "links.*.buffer": "1000 ms",
}
COLUMNS = {
    "MOS of an uplink call": ("home/call", "flows.call-up.call.mos"),
    "frames of an uplink video call, p95 (ms)": ("home/meeting", "flows.call-up.media.frame_delay_p95"),
    "game uplink, p99 (ms)": ("home/game", "flows.game-up.packet_delay_p99"),
    "ping, p99 (ms)": ("home/rrul", "flows.ping.packet_delay_p99"),
    "page object, p95 (ms)": ("home/web", "flows.web.fct_p95"),
    "films (Mbit/s)": ("home/video", "flows.film.video.bitrate_mean"),
    "downloads with the game (Mbit/s)": ("home/game", "flows.download.goodput"),
    "uploads with the call (Mbit/s)": ("home/call", "flows.upload.goodput"),
}
"""By head: scenario and measure."""
CALL = "home/meeting"
PICTURE = tuple(f"flows.call-up.{name}" for name in ("media.frame_delay_p95", "goodput", "media.freeze_ratio"))
"""Measures of the quality of a video call."""


def delays() -> str:
    """Return the table as measured, mean ± half-width of the 95 % interval."""
    compared = [each.first for each in compare_engines(chosen("home"), SCHEMES, SEEDS, set=LINE)]
    found = {each.scenario.name: each for each in compared}
    rows = []
    for scheme in SCHEMES:
        cells = []
        for scenario, measure in COLUMNS.values():
            summary = found[scenario].summary(scheme, measure)
            cells.append(find(measure).show(summary.mean, summary.half_width) if summary else "–")
        rows.append([labels.marked(f"`{scheme}`", scheme), *cells])
    return tables.table(["", *COLUMNS], rows)


def calls() -> str:
    """Return the table of the quality of a call by its rate control, means."""
    by_law = [
        compare(CALL, SCHEMES, SEEDS, set={**LINE, **of_call(load(CALL), law)}, measures=PICTURE) for law in OF_CALLS
    ]
    rows = [[f"`{scheme}`", *(_picture(found, scheme) for found in by_law)] for scheme in SCHEMES]
    return tables.table(["", *(f"`{law}`" for law in OF_CALLS)], rows)


def _picture(found: Comparison, scheme: str) -> str:
    shown = []
    for measure in PICTURE:
        metric, summary = find(measure), found.summary(scheme, measure)
        shown.append(f"{metric.show(summary.mean if summary else None)} {metric.unit_shown}")
    return ", ".join(shown)


def filled(text: str, name: str, made: str) -> str:
    """Return the page with a table in its place."""
    head, begin, rest = text.partition(f"<!-- {name} -->\n")
    return head + begin + made + "\n" + rest[rest.index("<!-- end -->") :]


if __name__ == "__main__":
    text = filled(PAGE.read_text(encoding="utf-8"), "home", delays())
    PAGE.write_text(filled(text, "calls", calls()), encoding="utf-8")
