"""Measure on Linux what `make demo` compares first, and write docs/call-on-linux.txt; needs a built kernel."""

import os
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).parent / "call-on-linux.txt"
COMMAND = ["compare", "home/call", "--aqms", "droptail,codel,fq-codel", "--engine", "linux"]
WIDTH = 100
"""Columns."""


def main() -> None:
    """Run the command, and keep its tables from the uplink on, with the version of Linux."""
    aqmlab = Path(sys.executable).with_name("aqmlab")
    environment = os.environ | {"COLUMNS": str(WIDTH)}
    done = subprocess.run([aqmlab, *COMMAND], env=environment, capture_output=True, text=True, check=True)
    head, uplink, tables = done.stdout.partition("Link up\n")
    linux = next(line.removeprefix("on ") for line in head.splitlines() if line.startswith("on Linux"))
    tables = (uplink + tables).partition("\n--explain")[0].rstrip()
    about = f"The same call on {linux} in virtual time (stored; after `aqmlab kernel build`, add --engine linux):"
    FILE.write_text(f"{about}\n\n{tables}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
