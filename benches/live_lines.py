"""Shared parts of the measurements of live runs: a command over a link, and tables."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

AQMLAB = [sys.executable, "-m", "aqmlab"]
IPERF = "iperf3 -s"

Document = Mapping[str, Any]


def live(options: Sequence[str], command: str | Sequence[str], serve: str = IPERF) -> Document:
    """Run a command over a link (a text is arguments of iperf3), and return the measured document."""
    client = f"iperf3 -c server {command}".split() if isinstance(command, str) else list(command)
    line = [*AQMLAB, "live", *options, "--serve", serve, "--json", "--", *client]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(line)}: {done.stderr}")
    found: Document = json.loads(done.stdout)
    return found


TRIES = 4
"""The maximum number of runs if the machine is late."""


def punctual(options: Sequence[str], command: str | Sequence[str], serve: str = IPERF) -> Document:
    """Run a command over a link, repeat it if the machine was late, and return the measured document."""
    for _ in range(TRIES):
        found = live(options, command, serve)
        if found["live"]["valid"]:
            break
    return found


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def validity(document: Document) -> str:
    """Whether the machine kept up."""
    return "yes" if document["live"]["valid"] else "; ".join(document["live"]["why"])
