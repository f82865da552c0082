"""Runs for profile-guided optimization (PGO): papers, deployed schemes, homes, controllers, a Wi-Fi cell, a line.

    python packaging/pgo.py LIBRARY

does them with an engine that counts what it executes. A profile changes the speed of an engine and no result.
"""

import importlib.util
import sys
from itertools import product
from pathlib import Path
from typing import Any

SCENARIOS = Path(__file__).resolve().parent.parent / "python" / "aqmlab" / "scenarios"
PAPERS = ("li2014/table-1", "li2014/table-3", "li2014/table-11", "sun2007/fig-2a")
DEPLOYED = ("deployed/bulk", "deployed/rtt-fairness", "home/rrul", "home/web", "l4s/pair")
SCHEMES = ("droptail", "red", "pi", "pie", "codel", "fq-codel", "fq-pie", "cake", "dualpi2")
OTHERS = (
    ("rfc7928/5.4-ledbat", "pie"),
    ("rfc7928/9.1-mix", "codel"),
    ("home/meeting", "cake"),
    ("home/video", "fq-codel"),
    ("wifi/thirty", "fq-codel"),
)
CONTROLLERS = ("reno", "bbr", "bbr3", "dctcp", "prague")
LINE = "rate = '1 Gbit/s'\nbuffer = '1000 packets'\ndelay = '100 us'\naqm = 'fq-codel'"


def engine(library: str) -> Any:
    """Return the engine of a shared library."""
    spec = importlib.util.spec_from_file_location("aqmlab._core", library)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{library} is not a Python extension")
    core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    return core


def run(core: Any, name: str, scheme: str, duration: str, **values: str) -> None:
    """Run a built-in scenario for so long."""
    text = (SCENARIOS / f"{name}.toml").read_text(encoding="utf-8")
    settings = [("duration", duration), ("warmup", "1 s"), *values.items()]
    core.run(core.Scenario(text, name, settings), scheme)


def through(line: Any) -> None:
    """Send packets through a line, one each 8 us."""
    for number in range(1, 20_000):
        now = 8000 * number
        line.push(now, 1000, number, "ect0", number % 16, 0, 0)
        while (due := line.next_event()) is not None and due <= now:
            line.pop(due)


def main() -> None:
    """Do all runs."""
    core = engine(sys.argv[1])
    for name, scheme in product(PAPERS, SCHEMES):
        run(core, name, scheme, "60 s")
    for name, scheme in product(DEPLOYED, SCHEMES):
        run(core, name, scheme, "20 s")
    for name, scheme in OTHERS:
        run(core, name, scheme, "20 s")
    for controller in CONTROLLERS:
        run(core, "deployed/bulk", "fq-codel", "20 s", **{"flows.ftp.tcp.congestion_control": controller})
    through(core.Line(LINE, 1))


if __name__ == "__main__":
    main()
