"""Measure the first table of docs/advise-evidence.md: six links, and the same candidates under 30 other seeds.

`python docs/advise.py [WORD...]` measures the links whose names contain one of the words, or all, and keeps the other
rows. Half an hour for all on two cores; the cable takes eight minutes.
"""

import re
import sys
from pathlib import Path

from aqmlab.advise import Advice, LineSpec, advise, conditions
from aqmlab.catalogue import title

PAGE = Path(__file__).parent / "advise-evidence.md"
SEEDS, OTHERS = 5, 30
LINES = {
    "DSL, 1 and 0.5 Mbit/s, 40 ms": LineSpec(down=1e6, up=0.5e6, rtt=0.040),
    "50 and 10 Mbit/s, 30 ms": LineSpec(down=50e6, up=10e6, rtt=0.030),
    "cable, 1 Gbit/s and 50 Mbit/s, 20 ms": LineSpec(down=1e9, up=50e6, rtt=0.020),
    "like LTE, up to 30 and 10 Mbit/s, 50 ms": LineSpec(down=30e6, up=10e6, rtt=0.050, varying=True),
    "peering, 10 Gbit/s, 20 ms": LineSpec(rate=10e9, rtt=0.020),
    "data centre, 10 Gbit/s, 100 us, DCTCP": LineSpec(rate=10e9, rtt=100e-6, law="dctcp"),
}


def row(name: str, line: LineSpec) -> list[str]:
    """Return the row of a link: the advice, its rivals, and the first one's regret under the other seeds."""
    every = advise(conditions(line), seeds=SEEDS + OTHERS)
    asked, others = every.among(range(1, SEEDS + 1)), every.among(range(SEEDS + 1, SEEDS + OTHERS + 1))
    print(name, asked.schemes, others.schemes, flush=True)
    return [name, title(asked.first), _rivals(asked), title(others.first), _regret(asked.first, others)]


def _rivals(found: Advice) -> str:
    return ", ".join(f"{title(each)} {found.score(each).ratio:.3f}" for each in found.schemes[1:4])


def _regret(first: str, found: Advice) -> str:
    score = found.score(first)
    if first == found.first or score.interval is None:
        return "none"
    low, high = score.interval
    return f"{100 * (1 - score.ratio):.1f} % ({100 * (1 - high):.1f} to {100 * (1 - low):.1f})"


def fill(measured: list[str]) -> None:
    """Put the row of a link in its place in the page's table."""
    line = "| " + " | ".join(measured) + " |"
    text = PAGE.read_text(encoding="utf-8")
    filled, count = re.subn(rf"^\| {re.escape(measured[0])} \|.*$", lambda _: line, text, flags=re.MULTILINE)
    if count != 1:
        raise RuntimeError(f"{PAGE}: {count} rows of {measured[0]}, expected one")
    PAGE.write_text(filled, encoding="utf-8")


if __name__ == "__main__":
    words = sys.argv[1:]
    for name, spec in LINES.items():
        if not words or any(word in name for word in words):
            fill(row(name, spec))
