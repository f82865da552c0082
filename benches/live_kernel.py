"""The kernel's queueing disciplines compared with the same links, live and simulated."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from live_lines import punctual, table

FOLDER = Path(__file__).resolve().parent.parent / "validation" / "linux"
LINE = "20-40-"
SCHEMES = {"pfifo limit 66": "droptail", "codel": "codel", "pie": "pie", "fq_codel": "fq-codel"}
BOUNDS = {"goodput": (0.0, 0.03), "Jain": (0.05, 0.0), "delay": (1e-3, 0.1), "drops": (5e-4, 0.2)}
"""The allowed difference of two runs: a value, or a share, whichever is more."""

Measures = Mapping[str, float | None]


def differences(one: Measures, other: Measures) -> list[str]:
    """The measures that differ by more than their bounds."""

    def differs(name: str) -> bool:
        a, b = one[name], other[name]
        least, share = BOUNDS[name]
        return a is not None and b is not None and abs(a - b) > max(least, share * a)

    return [name for name in BOUNDS if differs(name)]


def measured(document: Mapping[str, Any]) -> Measures:
    """The measures of a document, live or simulated."""
    link, group = document["links"]["up"], document["flows"]["up"]
    return {
        "goodput": group["goodput"],
        "Jain": group["jain"],
        "delay": link["queue_delay_mean"],
        "drops": link["drop_ratio"],
    }


def shown(*runs: Measures) -> list[str]:
    """Cells of a table with the values of all runs."""

    def text(name: str, scale: float, digits: int) -> str:
        values = [run[name] for run in runs]
        return " / ".join("–" if value is None else f"{scale * value:.{digits}f}" for value in values)

    return [text("goodput", 1e-6, 2), text("Jain", 1, 3), text("delay", 1e3, 1), text("drops", 100, 2)]


def kernel() -> str:
    """Every case of 20 Mbit/s and 40 ms with a single controller, as validation/linux.py measured it."""
    rows, lines = (_read("rows"), _read("cases"))
    cells = []
    for name, case in lines.items():
        if name.startswith(LINE) and name in rows and case["qdisc"] in SCHEMES and len(case["groups"]) == 1:
            [group] = case["groups"]
            if group["law"] in ("reno", "cubic") and not group["ecn"]:
                cells.append(_cell(case, group, rows[name]))
    agree = [sum(cell[place] == "yes" for cell in cells) for place in (-2, -1)]
    head = ["qdisc", "controller", "flows", "goodput (Mbit/s)", "Jain", "queueing delay (ms)", "drops (%)"]
    body = table([*head, "live as kernel", "live as simulated"], cells)
    return f"{body}\n\nLive agrees with the kernel in {agree[0]} of {len(cells)}, with the simulation in {agree[1]}."


def _read(name: str) -> dict[str, dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


def _cell(case: dict[str, Any], group: dict[str, Any], row: dict[str, Any]) -> list[str]:
    """One case: kernel / live / simulated."""
    scheme = SCHEMES[case["qdisc"]]
    buffer = {"droptail": "66 packets", "fq-codel": "10240 packets"}.get(scheme, "1000 packets")
    line = ["--up", "20Mbit/s", "--rtt", "40ms", "--buffer", buffer, "--set", "links.up.overhead='14 B'"]
    run = [
        "--duration",
        f"{case['omit'] + case['seconds'] + 1}s",
        "--set",
        f"warmup='{case['omit'] + 1} s'",
        "--beside",
    ]
    found = punctual([*line, *run, "--aqm", scheme, "--tcp", group["law"]], f"-t 90 -P {group['count']}")
    rates = [1e6 * rate for rate in row["groups"][0]["mbit"]]
    theirs: Measures = {
        "goodput": sum(rates),
        "Jain": sum(rates) ** 2 / len(rates) / sum(rate**2 for rate in rates),
        "delay": row["queue_mean"] * 1514 * 8 / 20e6,
        "drops": row["drop_ratio"],
    }
    ours, simulated = measured(found), measured(found["simulated"])
    verdicts = [", ".join(differences(other, ours)) or "yes" for other in (theirs, simulated)]
    return [case["qdisc"], group["law"], str(group["count"]), *shown(theirs, ours, simulated), *verdicts]
