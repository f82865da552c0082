"""The engine as WebAssembly: the bytes of every built-in scenario are those of the native engine."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
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


@pytest.fixture(scope="module")
def engines() -> Iterator[list[Engine]]:
    """The native engine, that in Node, and that in Chromium where it is installed."""
    with ExitStack() as opened:
        found = [native, opened.enter_context(node())]
        if shutil.which("chromium") and shutil.which("chromedriver"):
            found.append(opened.enter_context(chromium()))
        yield found


def native(request: dict[str, Any]) -> dict[str, Any]:
    """Answer as the module does."""
    try:
        result = aqmlab.run(request["name"], request.get("aqm"), seed=request["seed"])
    except aqmlab.InputError as error:
        return {"problems": str(error)}
    return {"result": dict(result.measured)}


def held(answer: dict[str, Any]) -> dict[str, Any] | None:
    """Return a result but for the time that it took, or nothing where it was refused."""
    if "problems" in answer:
        return None
    engine = {name: value for name, value in answer["result"]["engine"].items() if name != "wall"}
    return answer["result"] | {"engine": engine}


def faults(engines: list[Engine], requests: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Ask every engine at the same time; yield what was answered otherwise than natively."""
    with ThreadPoolExecutor() as pool:
        for request in requests:
            results = [held(answer) for answer in pool.map(lambda ask, what=request: ask(what), engines)]
            if any(result != results[0] for result in results[1:]):
                yield f"{request['name']} {request.get('aqm', '')}"


@pytest.mark.nightly
def test_results_are_the_native_ones(engines: list[Engine]) -> None:
    names = [name for name in aqmlab.scenarios() if not name.startswith(LARGE)]
    assert len(names) > 180
    assert list(faults(engines, ({"scenario": read(name)[1], "name": name, "seed": 1} for name in names))) == []


@pytest.mark.nightly
def test_every_scheme_has_its_native_results(engines: list[Engine]) -> None:
    name, text = read("li2014/table-15")
    asked = {"scenario": text, "name": name, "seed": 2}
    assert list(faults(engines, (asked | {"aqm": scheme.name} for scheme in aqmlab.schemes()))) == []
