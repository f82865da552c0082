"""Measure live runs: speed, accuracy, and the simulation of the same beside. Writes docs/live-benchmarks.md.

Needs iperf3 and a machine without other work: `python benches/live.py [speed] [accuracy] [beside] [--write]`.
"""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "live-benchmarks.md"
AQMLAB = [sys.executable, "-m", "aqmlab"]
SERVER = ["--serve", "iperf3 -s"]

SCHEMES = ["droptail", "codel", "pie", "fq-codel", "pi", "an-aqm"]
LAWS = ["reno", "cubic"]
FLOWS = [1, 4, 16]

Document = Mapping[str, Any]


def live(options: Sequence[str], client: str) -> Document:
    """Run iperf3 behind a line and return what was measured."""
    command = [*AQMLAB, "live", *options, *SERVER, "--json", "--", *f"iperf3 -c server {client}".split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    found: Document = json.loads(done.stdout)
    return found


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def validity(document: Document) -> str:
    """Whether the machine kept up."""
    return "yes" if document["live"]["valid"] else "; ".join(document["live"]["why"])


def speed() -> str:
    """What crosses a line of 2 Gbit/s, and one that is faster than the machine."""
    line = ["--rtt", "1ms", "--buffer", "10ms", "--duration", "6s", "--set", "warmup='1 s'"]
    cases = {
        f"TCP, {aqm}, line of {rate}": (aqm, rate, "-t 60")
        for rate in ("2Gbit/s", "40Gbit/s")
        for aqm in ("fq-codel", "pi", "droptail")
    }
    cases["UDP, 1000-byte datagrams, droptail"] = ("droptail", "40Gbit/s", "-u -b 0 -l 1000 -t 60")
    rows = []
    for name, (aqm, rate, client) in cases.items():
        found = live([*line, "--rate", rate, "--aqm", aqm], client)
        up, group = found["live"]["up"], found["flows"]["up"]
        busy = up["processor"] / found["live"]["duration"]
        goodput, packets = group["goodput"] / 1e9, group["received"] / found["live"]["duration"]
        late = 1e3 * (up["lateness_p99"] or 0)
        row = [f"{goodput:.2f}", f"{packets / 1e3:.0f}", f"{100 * busy:.0f}", f"{late:.3f}", validity(found)]
        rows.append([name, *row])
    head = ["traffic", "goodput (Gbit/s)", "packets (1000/s)", "thread busy (%)", "late p99 (ms)", "valid"]
    return table(head, rows)


def accuracy() -> str:
    """Rate and delay of lines that the machine can keep up with."""
    rows = []
    for rate in ("10Mbit/s", "100Mbit/s", "1Gbit/s"):
        line = ["--up", rate, "--rtt", "20ms", "--buffer", "100ms", "--duration", "10s", "--set", "warmup='3 s'"]
        found = live([*line, "--tcp", "reno"], "-t 60 -P 4")
        number = float(rate.partition("M")[0]) * 1e6 if "M" in rate else 1e9
        # Of 1500 bytes 1448 are payload: IPv4 and TCP with time stamps take 52.
        error = found["flows"]["up"]["goodput"] / (number * 1448 / 1500) - 1
        up = found["live"]["up"]
        delays = [f"{1e3 * up[key]:.3f}" for key in ("lateness_p50", "lateness_p99", "lateness_max")]
        rows.append([rate, f"{100 * error:+.2f}", *delays, validity(found)])
    head = ["rate", "error of the rate (%)", "late p50 (ms)", "late p99 (ms)", "latest (ms)", "valid"]
    return table(head, rows)


def beside() -> str:
    """20 Mbit/s, 40 ms: every scheme under every law with each number of flows, live and simulated."""
    rows = [row for aqm in SCHEMES for law in LAWS for flows in FLOWS for row in _cell(aqm, law, flows)]
    agree = sum(row[-1].startswith("yes") for row in rows)
    head = ["scheme", "law", "flows", "goodput (Mbit/s)", "Jain", "queueing delay (ms)", "drops (%)", "agree"]
    return f"{table(head, rows)}\n\n{agree} of {len(rows)} cells agree."


def _cell(aqm: str, law: str, flows: int) -> Iterator[list[str]]:
    """One cell: live / simulated."""
    line = ["--up", "20Mbit/s", "--rtt", "40ms", "--buffer", "100 packets", "--set", "links.up.target='20 packets'"]
    more = ["--duration", "25s", "--set", "warmup='5 s'", "--aqm", aqm, "--tcp", law, "--beside"]
    found = live([*line, *more], f"-t 60 -P {flows}")
    pairs = {}
    for key, document in (("live", found), ("simulated", found["simulated"])):
        link, group = document["links"]["up"], document["flows"]["up"]
        pairs[key] = (group["goodput"], group["jain"], link["queue_delay_mean"], link["drop_ratio"])
    shown = [
        [f"{goodput / 1e6:.2f}", "–" if jain is None else f"{jain:.3f}", f"{1e3 * delay:.1f}", f"{100 * drops:.2f}"]
        for goodput, jain, delay, drops in pairs.values()
    ]
    differences = _differences(*pairs.values())
    verdict = ", ".join(differences) or "yes"
    if not found["live"]["valid"]:
        verdict += " (the machine was late)"
    row = [aqm, law, str(flows), *(" / ".join(pair) for pair in zip(*shown, strict=True)), verdict]
    print(f"| {' | '.join(row)} |", file=sys.stderr, flush=True)
    yield row


Measured = tuple[float, float | None, float, float]


def _differences(real: Measured, simulated: Measured) -> list[str]:
    """What differs by more than 3 % of the goodput, 0.05 of Jain's index, 10 % or 1 ms of delay, 20 % of the drops."""
    bounds = {
        "goodput": abs(real[0] - simulated[0]) > 0.03 * real[0],
        "Jain": real[1] is not None and simulated[1] is not None and abs(real[1] - simulated[1]) > 0.05,
        "delay": abs(real[2] - simulated[2]) > max(0.1 * real[2], 1e-3),
        "drops": abs(real[3] - simulated[3]) > 0.2 * real[3],
    }
    return [name for name, is_exceeded in bounds.items() if is_exceeded]


PARTS = {"speed": speed, "accuracy": accuracy, "beside": beside}
TITLES = {
    "speed": "Speed",
    "accuracy": "Accuracy of lines within its reach",
    "beside": "Live / simulated: 20 Mbit/s, 40 ms, 100 packets, target 20 packets, 20 s after 5 s",
}


def main() -> None:
    """Measure the parts that are named, all by default."""
    wanted = [part for part in PARTS if part in sys.argv[1:]] or list(PARTS)
    day = datetime.now(tz=timezone.utc).date()
    text = f"Measured on {day} with `benches/live.py`, Linux {platform.release()}, {os.cpu_count()} cores.\n"
    for part in wanted:
        text += f"\n## {TITLES[part]}\n\n{PARTS[part]()}\n"
    print(text)
    if "--write" in sys.argv:
        PAGE.write_text(f"# Live runs, measured\n\n{text}", encoding="utf-8")


if __name__ == "__main__":
    main()
