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

from aqmlab import _core
from aqmlab.runs.executor import run_many
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import Task
from aqmlab.study import equations
from aqmlab.study.response import EvenMarks
from aqmlab.study.response_result import SEGMENT

STORED = Path(__file__).parent / "response.json"
PAGE = Path(__file__).parent.parent / "docs" / "validation-response.md"
TOLERANCE = 0.1
LONG = 40_000_000
"""Segments of a row, at most."""
SHORT = 500_000
"""Segments of a row that the tests measure again, at most."""


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
    """Mean windows: segments that arrive per round trip."""
    tasks = [Task(_core.Scenario.parse(each.toml(), each.law), each.scheme, 1) for each in wanted]
    windows = []
    for each, outcome in zip(wanted, run_many(tasks), strict=True):
        assert isinstance(outcome, RunResult), str(outcome)
        windows.append(outcome.flows["one"].goodput / 8 / SEGMENT * each.rtt)
    return windows


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
    return "\n".join([HEAD, summary, "", *pages.table(heads, lines), "", *models.section()])


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
        windows = zip(settings(), measure(settings()), strict=True)
        found = [{"law": each.law, "p": each.p, "rtt": each.rtt, "window": round(w, 3)} for each, w in windows]
        STORED.write_text("[\n" + ",\n".join(map(json.dumps, found)) + "\n]\n", encoding="utf-8")
    PAGE.write_text(page(rows()), encoding="utf-8")
    print(f"see docs/{PAGE.name}")


if __name__ == "__main__":
    main()
