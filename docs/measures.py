"""The measures of a run, as the engine declares them: Python's classes, and the tables of docs/metrics.md."""

import re
import textwrap
from typing import Any

from aqmlab import _core

HEAD = '''"""The results of a run as typed classes, in SI units (s, bit/s) or packets.

Written by `make docs` from the declarations in crates/sim/src; do not edit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aqmlab.runs.metric import Measured
'''
PLACES: dict[str, tuple[str, ...]] = {
    "LinkResult": ("drops",),
    "FlowResult": (),
    "CallResult": (),
    "VideoResult": (),
    "MediaResult": (),
    "RtpResult": (),
    "SlowdownResult": (),
    "StationResult": (),
}
"""The results that have a table, and those whose fields follow in it, with a name of the place before theirs."""

PARTS = ("CallResult", "VideoResult", "MediaResult", "SlowdownResult")
"""Results within that of a group of flows, which only some groups have."""

TYPES = {
    "f64": "float",
    "u32": "int",
    "u64": "int",
    "Vec<(f64, Option<f64>)>": "Sequence[tuple[float, float | None]]",
    "Vec<(String, String)>": "Sequence[tuple[str, str]]",
    "BTreeMap<&'static str, u64>": "Mapping[str, int]",
    "RateTable": "Sequence[Sequence[float]]",
    "PhaseTable": "Sequence[Sequence[tuple[float, str]]]",
}
"""Types of Rust in Python."""


def classes() -> str:
    """Return the module with a class for each result."""
    declared = _core.measures()
    order = (*PARTS, "FlowResult", "LinkResult", "StationResult")
    return HEAD + "".join(f"\n\n{_class(name, declared[name])}" for name in order)


def _class(name: str, result: dict[str, Any]) -> str:
    lines = ["@dataclass(frozen=True)", f"class {name}(Measured):", f'    """{_first(result["doc"])}"""', ""]
    for field in result["fields"]:
        default = " = None" if _type(field["kind"]).startswith((*PARTS, "Sequence[Sequence")) else ""
        lines.append(f"    {field['name']}: {_type(field['kind'])}{default}")
        lines += _docstring(_first(field["doc"]), field["measure"])
    return "\n".join(lines) + "\n"


def _docstring(text: str, measure: dict[str, Any] | None) -> list[str]:
    unit = f" Unit: {measure['unit']}." if measure and measure["unit"] not in ("1", "ratio") else ""
    return textwrap.wrap(f'"""{text}{unit}"""', 116, initial_indent="    ", subsequent_indent="    ")


def _type(rust: str) -> str:
    rust = " ".join(rust.split())
    if inner := re.fullmatch(r"Option<(\w+)>", rust):
        return f"{TYPES.get(inner[1], inner[1])} | None"
    return TYPES[rust]


def _first(doc: str) -> str:
    return " ".join(doc.partition("\n\n")[0].split())


def page(text: str) -> str:
    """Return docs/metrics.md with the tables between its marks written again."""
    declared = _core.measures()
    for name, others in PLACES.items():
        rows = [_row(field) for field in declared[name]["fields"]]
        rows += [_row(field, f"{other}.") for other in others for field in declared[other]["fields"]]
        table = "\n".join(["| name | unit | meaning |", "|---|---|---|", *rows])
        begin, end = f"<!-- {name}: written by `make docs` -->\n\n", f"\n\n<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}{table}{end}{after}"
    return text


def _row(field: dict[str, Any], before: str = "") -> str:
    unit = field["measure"]["unit"] if field["measure"] else ""
    return f"| `{before}{field['name']}` | {unit.replace('^2', '²')} | {' '.join(field['doc'].split())} |"
