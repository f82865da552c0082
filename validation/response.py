"""Hold congestion-control laws against their response functions: the mean window of a flow at a given share of losses.

Losses are those of the link key `loss`, marks those of a scheme that marks every packet with the same probability; both
are independent, and the link is so fast that no queue builds up. `response.json` holds what was measured; `make test`
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

import aqmlab
from aqmlab import _core
from aqmlab.runs.executor import run_many
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import Task

STORED = Path(__file__).parent / "response.json"
PAGE = Path(__file__).parent.parent / "docs" / "validation-response.md"
TOLERANCE = 0.1
SEGMENT = 1000
"""Bytes of data in a segment."""
LONG = 40_000_000
"""Segments of a row, at most."""
SHORT = 500_000
"""Segments of a row that the tests measure again, at most."""


class EvenMarks(aqmlab.Aqm):
    """Marks each packet with the same probability."""

    share = aqmlab.Param("1 %", ("0", "1"), doc="Probability.")

    def reset(self, _queue: Any) -> None:
        """Keep the probability."""
        self.p = self.share


@dataclass(frozen=True)
class Setting:
    """A law at a share of losses, or of marks."""

    law: str
    p: float
    rtt: float
    """Seconds."""

    @property
    def is_marked(self) -> bool:
        """Whether the law answers marks."""
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
        """What that takes."""
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
        """What stands on the link."""
        return f"even-marks:share={self.p}" if self.is_marked else "droptail"


def reno(p: float, _: float) -> float:
    """Independent losses, an ACK for each segment (Ott, Kemperman & Mathis 1996); equal distances give sqrt(1.5/p)."""
    return 1.3098 / sqrt(p)


def scalable(p: float, _: float) -> float:
    """A reduction of p/2 every W + 1/p segments, and (1 - p)/W for each segment in between; see docs/tcp/dctcp.md."""
    return ((1 - p) + sqrt((1 - p) ** 2 + 2 * (1 - p))) / p


def cubic(p: float, rtt: float) -> float:
    """RFC 9438, eq. 5, or Reno's where that is more (4.3): for equal distances between losses."""
    return max(1.0538 * float((rtt / p) ** 0.75), sqrt(1.5 / p))


def counted(setting: Setting) -> float:
    """What arrives in a round trip by the law, round by round, without a network, losses or marks being independent."""
    return under_marks(setting) if setting.is_marked else under_losses(setting)


def under_losses(setting: Setting, losses: int = 4_000) -> float:
    """Reno and CUBIC (RFC 9438, 4.2, 4.3, 4.6 and 4.7), with whole windows; recovery takes a round trip."""
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
    """DCTCP (RFC 8257, 3.3 and 3.4) with whole windows, and Prague, whose pace makes up for fractions.

    A round is a window of data, sent before the first of its ACKs. A mark adds nothing to the window (RFC 3168, 6.1.2)
    and reduces it, but not again before what had been sent by then is acknowledged.
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
    "reno": reno,
    "cubic": cubic,
    "dctcp": scalable,
    "prague": scalable,
}


def settings() -> list[Setting]:
    """All settings."""
    losses = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
    marks = (1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.2, 0.3)
    rows = [Setting(law, p, rtt) for law, rtt in (("reno", 0.1), ("cubic", 0.1), ("cubic", 0.02)) for p in losses]
    return rows + [Setting(law, p, 0.04) for law in ("dctcp", "prague") for p in marks]


def measure(wanted: Sequence[Setting]) -> list[float]:
    """Mean windows: what arrives in a round trip, segments."""
    tasks = [Task(_core.Scenario.parse(each.toml(), each.law), each.scheme, 1) for each in wanted]
    windows = []
    for each, outcome in zip(wanted, run_many(tasks), strict=True):
        assert isinstance(outcome, RunResult), str(outcome)
        windows.append(outcome.flows["one"].goodput / 8 / SEGMENT * each.rtt)
    return windows


HEAD = """\
# Validation against response functions and models

<!-- Written by `make validate`; do not edit. -->

The mean window of one flow, in segments, on a link without a queue that loses (Reno, CUBIC) or marks (DCTCP, Prague)
each packet with probability p, every segment acknowledged, loss recovery by SACK (Prague: RACK). The window is what
arrives in a round trip. `validation/response.json` holds what was measured; to measure again:

```sh
.venv/bin/python validation/response.py measure && make validate
```

- Reno: 1.3098/sqrt(p), for independent losses (Ott, Kemperman & Mathis 1996); sqrt(1.5/p) is that for equal distances.
- CUBIC: 1.054 (RTT/p)^0.75 (RFC 9438, eq. 5), sqrt(1.5/p) where that is more (4.3); both for equal distances.
- DCTCP and Prague: x/p with x^2/2 = (1 - p) (x + 1), for independent marks (docs/tcp/dctcp.md).

The formulas leave out that windows are whole, that recovery takes a round trip, and, of CUBIC, that losses are
independent. The column "rounds" counts them: `counted` in `validation/response.py` is the law round by round, from the
text of its RFC or draft, without a network. A row agrees if it lies within **10 %** of that.
"""


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the validation page."""
    lines = [
        "| law | RTT (ms) | p | measured | formula | rounds | difference | agrees |",
        "|---|---|---|---|---|---|---|---|",
    ]
    agreed = 0
    for row in rows:
        setting = Setting(row["law"], row["p"], row["rtt"])
        held = counted(setting)
        difference = row["window"] / held - 1
        agreed += abs(difference) <= TOLERANCE
        lines.append(
            f"| {row['law']} | {1000 * row['rtt']:.0f} | {row['p']:g} | {row['window']:.1f} | {setting.predicted:.1f} "
            f"| {held:.1f} | {difference:+.1%} | {'yes' if abs(difference) <= TOLERANCE else 'no'} |"
        )
    return "\n".join([HEAD, f"**{agreed} of {len(rows)} rows agree.**", "", *lines, "", *models.section()])


def rows() -> list[Mapping[str, Any]]:
    """Return what is stored."""
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
