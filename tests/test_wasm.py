"""The engine as WebAssembly: the bytes of every built-in scenario are those of the native engine."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import aqmlab
from aqmlab.scenario import read

ROOT = Path(__file__).resolve().parents[1]
HOST = ROOT / "crates" / "wasm" / "answer.mjs"
MODULE = ROOT / "target" / "wasm32-unknown-unknown" / "page" / "aqmlab_engine.wasm"
LARGE = "networks/"
"""Scenarios that take minutes."""


@pytest.fixture(scope="module")
def engine() -> Iterator["subprocess.Popen[str]"]:
    """Node with the module, which `make engine-wasm` builds before."""
    with subprocess.Popen(["node", HOST, MODULE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.stdin.close()  # type: ignore[union-attr]


def asked(engine: "subprocess.Popen[str]", **request: Any) -> dict[str, Any]:
    print(json.dumps(request), file=engine.stdin, flush=True)
    return json.loads(engine.stdout.readline())  # type: ignore[union-attr, no-any-return]


def without_wall(result: dict[str, Any]) -> dict[str, Any]:
    engine = {name: value for name, value in result["engine"].items() if name != "wall"}
    return result | {"engine": engine}


@pytest.mark.nightly
def test_results_are_the_native_ones(engine: "subprocess.Popen[str]") -> None:
    names = [name for name in aqmlab.scenarios() if not name.startswith(LARGE)]
    assert len(names) > 180
    for name in names:
        answer = asked(engine, scenario=read(name)[1], name=name)
        assert without_wall(answer["result"]) == without_wall(dict(aqmlab.run(name, seed=1).measured)), name


@pytest.mark.nightly
def test_every_scheme_has_its_native_results(engine: "subprocess.Popen[str]") -> None:
    name, text = read("li2014/table-15")
    for scheme in aqmlab.schemes():
        answer = asked(engine, scenario=text, name=name, aqm=scheme.name, seed=2)
        native = native_of(name, scheme.name)
        assert ("problems" in answer) == (native is None), scheme.name
        assert native is None or without_wall(answer["result"]) == without_wall(native), scheme.name


def native_of(name: str, aqm: str) -> dict[str, Any] | None:
    """Return the native result, or nothing where the scheme is refused."""
    try:
        return dict(aqmlab.run(name, aqm, seed=2).measured)
    except aqmlab.InputError:
        return None
