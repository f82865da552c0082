"""Compare congestion controllers with their response functions: the mean window of a flow at a given loss ratio.

The link key `loss` makes the losses, and a scheme that marks every packet with the same probability the marks. Both are
independent, and the link is so fast that no queue builds up. `response.json` contains the measured windows; `make test`
measures the short rows again.

Run as a program, it writes docs/validation-response.md; `measure` measures all rows first (some minutes).
"""

import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import cbrt, log, sqrt
from pathlib import Path
from typing import Any

import models
import pages

import aqmlab
from aqmlab import _core
from aqmlab.runs.executor import run_many
from aqmlab.runs.results import RunResult
from aqmlab.runs.statistics import Summary, summarise
from aqmlab.runs.task import Task
from aqmlab.study import equations
from aqmlab.study.response import LOSSES, MARKS, EvenMarks
from aqmlab.study.response_result import RTT, SEGMENT

STORED = Path(__file__).parent / "response.json"
PAGE = Path(__file__).parent.parent / "docs" / "validation-response.md"
TOLERANCE = 0.1
LONG = 40_000_000
"""Segments of a row, at most."""
SHORT = 500_000
"""Segments of a row that the tests measure again, at most."""
SEEDS = 20
"""Seeds of a row that is compared with `aqmlab response`."""
T_95 = 2.093
"""Quantile of Student's distribution for the 95 % interval of that many seeds."""
CLOSE = 0.05
"""The deviation of `aqmlab response` from a mean over these seeds, at most."""


@dataclass(frozen=True)
class Setting:
    """A controller at a ratio of losses or marks."""

    law: str
    p: float
    rtt: float
    """Seconds."""

    @property
    def is_marked(self) -> bool:
        """Whether the controller responds to marks."""
        return self.law in ("dctcp", "prague")

    @property
    def predicted(self) -> float:
        """Mean window, segments."""
        return LAWS[self.law](self.p, self.rtt)

    @property
    def segments(self) -> float:
        """Segments to send: hundreds of losses, or several times the 6/p^2 that alpha takes to settle."""
        return min(20 / self.p**2 + 2000 / self.p if self.is_marked else 400 / self.p, LONG)

    @property
    def seconds(self) -> float:
        """The duration for these segments."""
        return self.segments / self.predicted * self.rtt

    def toml(self) -> str:
        """Return the setting as a scenario."""
        lines = "" if self.is_marked else f"loss = {self.p}\n"
        return f"""
schema = 1
duration = "{self.seconds:.3f} s"
warmup = "{self.seconds * (0.6 if self.is_marked else 0.2):.3f} s"

[[links]]
name = "path"
rate = "10 Gbit/s"
buffer = "1000000 packets"
{lines}
[[flows]]
name = "one"
rtt = "{self.rtt} s"
packet = "{SEGMENT} B"
ecn = {json.dumps(self.is_marked)}
tcp = {{ congestion_control = "{self.law}", variant = "sack", profile = "rfc" }}
"""

    @property
    def scheme(self) -> str:
        """The scheme of the link."""
        return f"{EvenMarks.name}:share={self.p}" if self.is_marked else "droptail"


def counted(setting: Setting) -> float:
    """Segments per round trip by the controller's rules, round by round, without a network; losses are independent."""
    return under_marks(setting) if setting.is_marked else under_losses(setting)


def under_losses(setting: Setting, losses: int = 4_000) -> float:
    """Reno and CUBIC (RFC 9438, section 4) with whole windows; recovery takes a round trip."""
    p, rtt, draw = setting.p, setting.rtt, random.Random(1)
    beta, gain = (0.5, 1.0) if setting.law == "reno" else (0.7, 3 * 0.3 / 1.7)
    window = w_max = setting.predicted
    rounds, until = 0, draw.expovariate(p)
    for _ in range(losses):
        before, k, est, time = window, 0.0, beta * window, 0.0
        w_max = window if window >= w_max else window * (1 + beta) / 2
        window = est = max(2.0, beta * window)
        if setting.law == "cubic":
            k = cbrt(max(0.0, w_max - window) / 0.4)
        until, rounds = max(until, 0.0) + draw.expovariate(p) - int(window), rounds + 1  # recovery
        while until > 0:
            rounds, time, until = rounds + 1, time + rtt, until - int(window)
            est += gain if est < before else 1
            target = 0.4 * (time + rtt - k) ** 3 + w_max if setting.law == "cubic" else 0.0
            window = max(window, est, min(target, 1.5 * window))
    return float(losses / p / rounds)


def under_marks(setting: Setting, rounds: int = 20_000) -> float:
    """DCTCP (RFC 8257, 3.3 and 3.4) with whole windows, and Prague, whose pacing accounts for fractions.

    A round is a window of data, sent before the first of its ACKs. A mark adds nothing to the window (RFC 3168, 6.1.2)
    and reduces it, but not again before the segments sent by then are acknowledged.
    """
    draw, whole = random.Random(1), int if setting.law == "dctcp" else float
    window, alpha = setting.predicted, setting.p
    acked = reduced = segments = 0.0
    sent, until = window, 0.0
    for _ in range(rounds):
        first, end, marks = acked, sent, 0
        while acked < end:
            unmarked = min(until, end - acked)
            window = sqrt(window**2 + unmarked * (2 + 1 / window**2))  # 1/window for each
            acked, until = acked + unmarked, until - unmarked
            sent = max(sent, acked + whole(window))
            if acked < end:
                acked, marks, until = acked + 1, marks + 1, log(1 - draw.random()) // log(1 - setting.p)
                if acked > reduced:
                    window, reduced = max(2.0, window * (1 - alpha / 2)), sent
                sent = max(sent, acked + whole(window))
        alpha += (marks / (acked - first) - alpha) / 16
        segments += acked - first
    return segments / rounds


LAWS: Mapping[str, Callable[[float, float], float]] = {
    "reno": lambda p, _rtt: equations.reno(p),
    "cubic": equations.cubic,
    "dctcp": lambda p, _rtt: equations.scalable(p),
    "prague": lambda p, _rtt: equations.scalable(p),
}


def settings() -> list[Setting]:
    """All settings."""
    losses = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
    marks = (1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.2, 0.3)
    rows = [Setting(law, p, rtt) for law, rtt in (("reno", 0.1), ("cubic", 0.1), ("cubic", 0.02)) for p in losses]
    return rows + [Setting(law, p, 0.04) for law in ("dctcp", "prague") for p in marks]


def measure(wanted: Sequence[Setting]) -> list[float]:
    """Mean windows of seed 1: segments that arrive per round trip."""
    return [windows[0] for windows in measure_seeds(wanted, 1)]


def measure_seeds(wanted: Sequence[Setting], seeds: int) -> list[list[float]]:
    """Mean windows under each seed from 1 on."""
    loaded = [(each, _core.Scenario.parse(each.toml(), each.law)) for each in wanted]
    tasks = [Task(scenario, each.scheme, 1 + i) for each, scenario in loaded for i in range(seeds)]
    windows = []
    for i, outcome in enumerate(run_many(tasks)):
        assert isinstance(outcome, RunResult), str(outcome)
        windows.append(outcome.flows["one"].goodput / 8 / SEGMENT * wanted[i // seeds].rtt)
    return [windows[i : i + seeds] for i in range(0, len(windows), seeds)]


def shared() -> list[Setting]:
    """The settings that `aqmlab response` measures too; a window under marks does not depend on the round trip."""
    return [each for each in settings() if each.p in (MARKS if each.is_marked else LOSSES) and each.rtt in (RTT, 0.04)]


def measure_all() -> list[dict[str, Any]]:
    """Measure all rows; those of `aqmlab response` also under more seeds, and by that command."""
    found: dict[Setting, dict[str, Any]] = {
        each: {"window": round(window, 3)} for each, window in zip(settings(), measure(settings()), strict=True)
    }
    points = {(law, point.p): point.window for law in LAWS for point in aqmlab.response(law).points}
    for each, windows in zip(shared(), measure_seeds(shared(), SEEDS), strict=True):
        summary = summarise(windows)
        command = points[each.law, each.p]
        assert command is not None
        found[each] |= {"seeds": _entry(summary), "response": _entry(command)}
    return [{"law": each.law, "p": each.p, "rtt": each.rtt, **row} for each, row in found.items()]


def _entry(summary: Summary) -> list[float]:
    return [round(summary.mean, 3), round(summary.half_width or 0.0, 3)]


HEAD = f"""\
{pages.FRONT}# Validation against response functions

<!-- Written by `make validate`; do not edit. -->

The mean window of a single flow, in segments, is compared with published formulas. The link has no queue. It drops
(Reno, CUBIC) or marks (DCTCP, Prague) every packet with probability p. Every segment is acknowledged, and the loss
recovery is SACK (Prague: RACK). The window is the number of segments that arrive per round trip.
`validation/response.json` contains the measured windows. To measure again:

```sh
.venv/bin/python validation/response.py measure && make validate
```

| controller | formula | losses or marks |
| --- | --- | --- |
| Reno | 1.3098/sqrt(p) (Ott, Kemperman & Mathis 1996) | independent; for equal distances it is sqrt(1.5/p) |
| CUBIC | 1.054 (RTT/p)^0.75 (RFC 9438, eq. 5), or sqrt(1.5/p) if that is larger (4.3) | at equal distances |
| DCTCP, Prague | x/p with x^2/2 = (1 - p) (x + 1) ([DCTCP](tcp/dctcp.md)) | independent |

The formulas ignore that windows are whole numbers and that recovery takes a round trip. CUBIC's formula ignores that
losses are independent. The column "rounds" includes these effects: `counted` in `validation/response.py` computes the
controller round by round from its RFC or draft, without a network. A row agrees if it is within **10 %** of this value.
"""


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the validation page."""
    lines = [row_of(row) for row in rows]
    agreed = sum(line[-1] == "yes" for line in lines)
    heads = ["controller", "RTT (ms)", "p", "measured", "formula", "rounds", "difference", "agrees"]
    summary = f"**{agreed} of {len(rows)} rows agree.**"
    tables = [summary, "", *pages.table(heads, lines), "", *response_section(rows), "", *models.section()]
    return "\n".join([HEAD, *tables])


RESPONSE = """\
## The command `response`

`aqmlab response` also measures the windows of {count} rows: over five seeds with at least 500 losses each. A row above
is a single seed, with about 400 losses for Reno and CUBIC. Its standard deviation between seeds is {low:.0f} to
{high:.0f} %. Therefore {far} rows differ from the command by more than {close:.0f} % (bold). Over {seeds} seeds, the
means of all rows are within {close:.0f} % of the command. The table shows means with the half-width of the 95 %
interval.
"""


def response_section(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the comparison with the command `response`."""
    both = [row for row in rows if "response" in row]
    heads = [
        "controller",
        "p",
        "row above",
        f"{SEEDS} seeds",
        "`aqmlab response`",
        "from the row",
        f"from {SEEDS} seeds",
    ]
    lines = [
        [
            row["law"],
            f"{row['p']:g}",
            f"{row['window']:.1f}",
            *(f"{row[key][0]:.1f} ± {row[key][1]:.1f}" for key in ("seeds", "response")),
            *(f"{each:+.1%}" if abs(each) <= CLOSE else f"**{each:+.1%}**" for each in deviations(row)),
        ]
        for row in both
    ]
    spreads = [100 * row["seeds"][1] / row["seeds"][0] * sqrt(SEEDS) / T_95 for row in both]
    far = sum(abs(deviations(row)[0]) > CLOSE for row in both)
    text = RESPONSE.format(
        count=len(both), low=min(spreads), high=max(spreads), far=far, seeds=SEEDS, close=100 * CLOSE
    )
    return [text, *pages.table(heads, lines)]


def deviations(row: Mapping[str, Any]) -> tuple[float, float]:
    """Return the deviation of `aqmlab response` from a stored row, and from its mean over several seeds."""
    command = row["response"][0]
    return command / row["window"] - 1, command / row["seeds"][0] - 1


def row_of(row: Mapping[str, Any]) -> list[str]:
    """Return a stored row as a row of the table."""
    setting = Setting(row["law"], row["p"], row["rtt"])
    rounds = counted(setting)
    difference = row["window"] / rounds - 1
    windows = (f"{window:.1f}" for window in (row["window"], setting.predicted, rounds))
    agrees = "yes" if abs(difference) <= TOLERANCE else "no"
    return [row["law"], f"{1000 * row['rtt']:.0f}", f"{row['p']:g}", *windows, f"{difference:+.1%}", agrees]


def rows() -> list[Mapping[str, Any]]:
    """Return the stored rows."""
    stored: list[Mapping[str, Any]] = json.loads(STORED.read_text(encoding="utf-8"))
    return stored


def main() -> None:
    """Write the page, or measure all rows."""
    if sys.argv[1:] == ["measure"]:
        STORED.write_text("[\n" + ",\n".join(map(json.dumps, measure_all())) + "\n]\n", encoding="utf-8")
    PAGE.write_text(page(rows()), encoding="utf-8")
    print(f"see docs/{PAGE.name}")


if __name__ == "__main__":
    main()
