"""The public interface, name by name: what `docs/stability.md` promises is what `tests/snapshots/api.txt` lists.

`python tests/test_api.py` writes the lists again. A change of them belongs in CHANGELOG.md.
"""

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import aqmlab

SNAPSHOT = Path(__file__).parent / "snapshots" / "api.txt"

ROOT = Path(__file__).parent.parent
RUST = SNAPSHOT.with_name("rust.txt")
RUST_SOURCES = (
    *("core/src/*.rs", "aqm/src/lib.rs", "aqm/src/contract.rs", "aqm/src/linear.rs", "tcp/src/cc/mod.rs"),
    "tcp/src/cc/window.rs",
    "line/src/*.rs",
)
"""What a scheme, a law or a test of a transport stack outside of the tree is written against."""

PUBLIC = {
    "aqmlab": aqmlab.__all__,
    "aqmlab.advise": ["Advice", "LineSpec", "Score", "advise", "conditions"],
    "aqmlab.bundle.build": ["Bundle", "bundle"],
    "aqmlab.bundle.cite": ["references"],
    "aqmlab.bundle.verify": ["Number", "Verified", "verify"],
    "aqmlab.gym.env": ["AqmEnv"],
    "aqmlab.gym.policy": ["export"],
    "aqmlab.gym.vector": ["AqmVectorEnv"],
    "aqmlab.line": ["Delivery", "Dropped", "LineCounters"],
    "aqmlab.runs.comparison": ["Comparison"],
    "aqmlab.runs.engines": ["Difference", "EngineComparison"],
    "aqmlab.runs.live": ["EmulatedLine", "LiveRun", "beside", "live", "replay"],
    "aqmlab.runs.metrics": [
        *("CallResult", "FlowResult", "LinkResult", "MediaResult", "SlowdownResult", "StationResult", "VideoResult"),
    ],
    "aqmlab.runs.results": ["EngineResult", "RunResult"],
    "aqmlab.runs.shards": ["Shard", "shard"],
    "aqmlab.runs.sweep": ["Precision", "Sweep", "precision"],
    "aqmlab.study.reproduction": ["Reproduction"],
    "aqmlab.tc": ["Layer", "Lines", "Link", "Reading", "Setting", "Tree", "read", "read_tree", "write", "write_tree"],
    "aqmlab.traces": ["table", "write_parquet", "write_pcap"],
    "aqmlab.tune.plan": ["plan"],
    "aqmlab.tune.result": ["Tuned", "tune"],
    "aqmlab.worst.plan": ["plan"],
    "aqmlab.worst.result": ["Worst", "WorstFinding", "find_worst"],
}
"""The modules whose names stay, and which; everything else may change without notice."""


def listing() -> str:
    """Return a line for each public function, class, attribute and method."""
    lines = [line for module, names in PUBLIC.items() for name in names for line in _lines(module, name)]
    return "\n".join(lines) + "\n"


def _lines(module: str, name: str) -> Iterator[str]:
    value, path = getattr(importlib.import_module(module), name), f"{module}.{name}"
    if inspect.isclass(value):
        yield f"class {path}{_signature(value)}{_bases(value)}"
        yield from (f"  {line}" for line in sorted(_members(value)))
    elif callable(value):
        yield f"def {path}{_signature(value)}"
    else:
        yield f"{path}: {type(value).__name__}"


def _bases(of: type) -> str:
    return f" is {', '.join(base.__name__ for base in of.__bases__)}" if issubclass(of, BaseException) else ""


def _members(of: type) -> Iterator[str]:
    fields = list(of.__dataclass_fields__) if is_dataclass(of) else []
    yield from fields
    ours = [base for base in of.__mro__ if base.__module__.startswith("aqmlab")]
    names = {name for base in ours for name in vars(base) if not name.startswith("_")} - {*fields}
    for name in names:
        value = inspect.getattr_static(of, name)
        method = isinstance(value, classmethod | staticmethod) or inspect.isroutine(value)
        yield f"{name}{_signature(getattr(of, name))}" if method and not issubclass(of, Enum) else name


def _signature(of: Any) -> str:
    """The parameters with their defaults; annotations are for type checkers, and are written differently by version."""
    try:
        found = inspect.signature(of)
    except (ValueError, TypeError):
        return "(...)" if not inspect.isclass(of) else ""
    blank = inspect.Parameter.empty
    plain = [each.replace(annotation=blank, default=_default(each.default)) for each in found.parameters.values()]
    return str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def _default(value: Any) -> Any:
    """A default as it is, if its text says the same everywhere."""
    if value is inspect.Parameter.empty or isinstance(value, bool | int | float | str | tuple | None):
        return value
    return _Shown()


class _Shown:
    def __repr__(self) -> str:
        return "..."


def test_the_public_interface_is_the_one_that_is_listed() -> None:
    listed = SNAPSHOT.read_text(encoding="utf-8").splitlines()
    found = listing().splitlines()
    gone, new = sorted({*listed} - {*found}), sorted({*found} - {*listed})
    told = "write it anew with `python tests/test_api.py`, and tell it in CHANGELOG.md"
    assert (gone, new) == ([], []), told
    assert listed == found, told


def rust_listing() -> str:
    """Return every `pub` item of the sources, tests left out: the first line, or up to the end of a signature."""
    lines = []
    for path in sorted(path for pattern in RUST_SOURCES for path in (ROOT / "crates").glob(pattern)):
        source = path.read_text(encoding="utf-8").partition("\n#[cfg(test)]\nmod tests")[0]
        found = re.findall(
            r"^ *(pub (?:const |unsafe )*(?:fn|struct|enum|trait|type|mod|use|const|static)\b[^{;=]*)", source, re.M
        )
        traits = re.findall(r"^pub trait (\w+)[^{]*\{(.*?)^\}", source, re.M | re.S)
        found += [f"{name}: {each}" for name, body in traits for each in re.findall(r"^    (fn [^{;]*)", body, re.M)]
        lines += [f"{path.relative_to(ROOT)}: {' '.join(each.split())}" for each in found]
    return "\n".join(lines) + "\n"


def test_the_rust_interface_is_the_one_that_is_listed() -> None:
    listed, found = RUST.read_text(encoding="utf-8").splitlines(), rust_listing().splitlines()
    assert (sorted({*listed} - {*found}), sorted({*found} - {*listed})) == ([], [])


def test_the_list_has_what_the_package_names() -> None:
    text = SNAPSHOT.read_text(encoding="utf-8")
    assert all(f"aqmlab.{name}" in text for name in aqmlab.__all__)
    for package in ("advise", "tc"):
        assert set(importlib.import_module(f"aqmlab.{package}").__all__) == set(PUBLIC[f"aqmlab.{package}"])


if __name__ == "__main__":
    SNAPSHOT.parent.mkdir(exist_ok=True)
    SNAPSHOT.write_text(listing(), encoding="utf-8")
    RUST.write_text(rust_listing(), encoding="utf-8")
    print(f"{len(listing().splitlines())} lines", file=sys.stderr)
