"""The engine as WebAssembly: the bytes of every built-in scenario are those of the native engine."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import aqmlab
from aqmlab.scenario import read
from browser import Browser, served

ROOT = Path(__file__).resolve().parents[1]
HOST = ROOT / "crates" / "wasm" / "answer.mjs"
MODULE = ROOT / "target" / "wasm32-unknown-unknown" / "page" / "aqmlab_engine.wasm"
LARGE = "networks/"
"""Scenarios that take minutes."""


Engine = Callable[[dict[str, Any]], dict[str, Any]]
"""Answers a request with the results of a run."""


@contextmanager
def node() -> Iterator[Engine]:
    """Node with the module, which `make engine-wasm` builds before."""
    with subprocess.Popen(["node", HOST, MODULE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        requests, answers = process.stdin, process.stdout

        def ask(request: dict[str, Any]) -> dict[str, Any]:
            print(json.dumps(request), file=requests, flush=True)
            return json.loads(answers.readline())  # type: ignore[no-any-return]

        yield ask
        requests.close()


@contextmanager
def chromium() -> Iterator[Engine]:
    """A page of Chromium with the module."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("chromium and chromedriver are not installed")
    with served(ROOT) as address, Browser() as browser:
        place = HOST.with_name("engine.mjs").relative_to(ROOT)
        browser.open(f"{address}/{place}", 1000)
        browser.execute_async_script(
            f"const done = arguments[0], module = fetch('/{MODULE.relative_to(ROOT)}').then(it => it.arrayBuffer());"
            f"import('/{place}').then(async ({{ load }}) => {{ window.engine = await load(await module); done(); }});"
        )
        yield lambda request: json.loads(
            browser.execute_script("return JSON.stringify(engine.run(arguments[0]))", request)
        )


@pytest.fixture(scope="module", params=[node, chromium])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """The engine in Node, and in a browser."""
    with request.param() as found:
        yield found


def without_wall(result: dict[str, Any]) -> dict[str, Any]:
    engine = {name: value for name, value in result["engine"].items() if name != "wall"}
    return result | {"engine": engine}


@pytest.mark.nightly
def test_results_are_the_native_ones(engine: Engine) -> None:
    names = [name for name in aqmlab.scenarios() if not name.startswith(LARGE)]
    assert len(names) > 180
    for name in names:
        answer = engine({"scenario": read(name)[1], "name": name})
        assert without_wall(answer["result"]) == without_wall(dict(aqmlab.run(name, seed=1).measured)), name


@pytest.mark.nightly
def test_every_scheme_has_its_native_results(engine: Engine) -> None:
    name, text = read("li2014/table-15")
    for scheme in aqmlab.schemes():
        answer = engine({"scenario": text, "name": name, "aqm": scheme.name, "seed": 2})
        native = native_of(name, scheme.name)
        assert ("problems" in answer) == (native is None), scheme.name
        assert native is None or without_wall(answer["result"]) == without_wall(native), scheme.name


def native_of(name: str, aqm: str) -> dict[str, Any] | None:
    """Return the native result, or nothing where the scheme is refused."""
    try:
        return dict(aqmlab.run(name, aqm, seed=2).measured)
    except aqmlab.InputError:
        return None
