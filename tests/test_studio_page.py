"""The studio as a page without a server: what it may load, what is drawn, and that it works offline."""

import json
import re
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import aqmlab
from aqmlab import scenario
from aqmlab._core import Scenario, studio_check
from browser import PAGE, Browser, Quiet, on_the_page, served
from conftest import SMALL

AXE = PAGE.parents[1] / "studio" / "node_modules" / "axe-core" / "axe.min.js"
FAULTS = """
const done = arguments[0];
axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
  done(violations.map(({ id, nodes }) => id + ": " + nodes[0].html)));
"""
CLOCK = "parseFloat(document.querySelector('.clock')?.textContent)"
PLAY = """
const [text, done] = arguments, worker = new Worker("worker.js", { type: "module" });
let last = 0;
const heard = new Map(), said = [];
worker.onmessage = ({ data: { message } }) => {
  if (!message) return;
  said.push(message);
  heard.get(message.id)?.(message);
};
const ask = (type, more = {}) => new Promise((resolve) => {
  heard.set(++last, resolve);
  worker.postMessage({ message: { type, ...more, id: last } });
});
const until = async (time) => {
  await ask("play", { until: time });
  while (!said.some((each) => each.type === "state" && !each.playing && each.now >= time)) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};
(async () => {
  await ask("open", { text, name: "mine", aqms: ["pi", "red"], seed: 3, blast: "bottleneck" });
  await ask("speed", { speed: null });
  await until(0.5);
  await ask("set", { path: "links.bottleneck.rate", value: "6 Mbit/s" });
  const { marks } = await ask("mark", { name: "here" });
  await until(1);
  await ask("set", { path: "links.bottleneck.aqm", value: "codel" });
  await ask("rewind", { mark: marks[0].mark });
  said.length = 0;
  await until(0.75);
  await ask("set", { path: "flows.blast.count", value: "8" });
  await ask("set", { path: "links.bottleneck.aqm.w", value: "340 Hz", lane: 0 });
  await ask("halve", { group: "ftp" });
  await until(2);
  const tomls = [await ask("export", { what: "toml", lane: 0 }), await ask("export", { what: "toml", lane: 1 })];
  const results = said.find((each) => each.type === "done").lanes.map((lane) => lane.result);
  done(JSON.stringify({ tomls: tomls.map((each) => each.text), results }));
})();
"""
"""Plays a scenario of 2 s with changes by hand, and from a mark another way than at first."""
CHECK = """
const [text, done] = arguments, worker = window.checker ??= new Worker("worker.js", { type: "module" });
worker.onmessage = ({ data }) => done(JSON.stringify(data.answer));
worker.postMessage({ asked: 1, route: "check", body: { name: "mine", text, aqms: [] } });
"""

pytestmark = on_the_page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        yield opened


def wait(browser: Browser, condition: str, turns: int = 300) -> None:
    for _ in range(turns):
        if browser.run(f"return Boolean({condition})"):
            return
        browser.execute_async_script("setTimeout(arguments[0], 100)")
    pytest.fail(f"still not: {condition}")


def test_the_policy_allows_the_engine_and_nothing_from_elsewhere() -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', (PAGE / "index.html").read_text())
    assert policy
    assert "default-src 'none'; script-src 'self' 'wasm-unsafe-eval';" in policy[1]
    assert not re.search(r"'unsafe-(?:eval|inline)'|https?:|\*", policy[1])
    assert not re.search(r"https?://", (PAGE / "worker.js").read_text())  # a worker has no policy of its page


def test_a_script_that_was_put_in_does_not_run(browser: Browser) -> None:
    with served(PAGE.parent) as address:
        browser.open(f"{address}/studio/", 1280)
        browser.run("const it = document.createElement('script'); it.text = 'window.ran = 1'; document.body.append(it)")
        assert browser.run("return window.ran") is None
        assert "Content Security Policy" in browser.console()[0]


def test_page_and_engine_are_small() -> None:
    packed = shutil.make_archive(str(PAGE.with_name("studio-packed")), "gztar", PAGE)
    assert Path(packed).stat().st_size < 1.5e6


def test_once_loaded_it_works_without_a_network(browser: Browser) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(PAGE.parent)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/studio/"
    browser.open(address, 1280)
    browser.execute_async_script("navigator.serviceWorker.ready.then(() => arguments[0]())")
    server.shutdown()
    server.server_close()
    browser.open("about:blank", 1280)
    browser.open(f"{address}?scenario=li2014/table-2", 1280)
    wait(browser, f"{CLOCK} > 0.5 && document.querySelector('#setup select').value === 'li2014/table-2'")
    browser.run("location.hash = 'lesson=01-bufferbloat'")
    wait(browser, "document.querySelectorAll('#lesson .go').length === 3")
    assert browser.console() == []


def test_it_can_be_installed(browser: Browser) -> None:
    with served(PAGE.parent) as address:
        browser.open(f"{address}/studio/", 1280)
        browser.execute_async_script("navigator.serviceWorker.ready.then(() => arguments[0]())")
        assert browser.execute_cdp_cmd("Page.getInstallabilityErrors", {})["installabilityErrors"] == []


def test_every_scenario_is_drawn_as_by_the_server(browser: Browser) -> None:
    with served(PAGE.parent) as address:
        browser.open(f"{address}/studio/", 1280)
        for name in scenario.scenarios():
            text = scenario.load(name).text
            found: dict[str, Any] = json.loads(browser.execute_async_script(CHECK, text))
            assert found == json.loads(studio_check(json.dumps({"name": "mine", "text": text}))), name


def test_a_queue_stands_in_any_page(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "studio").symlink_to(PAGE)
    (tmp_path / "post.html").write_text(
        '<!doctype html><html lang="en"><title>A post</title><link rel="icon" href="data:,">'
        '<script type="module" src="studio/aqmlab-queue.js"></script>'
        '<aqmlab-queue scenario="li2014/table-2" aqm="pi codel:target=8ms" seed="3" speed="100"></aqmlab-queue></html>'
    )
    with served(tmp_path) as address:
        for width in (1280, 360):
            browser.open(f"{address}/post.html", width)
            browser.switch_to.frame(browser.run("return document.querySelector('aqmlab-queue').shadowRoot.firstChild"))
            wait(browser, f"{CLOCK} > 1")
            assert browser.run("return document.querySelector('#setup [type=number]').value") == "3"
            names = "[...document.querySelectorAll('.panel')].map((each) => each.parentElement.textContent)"
            assert "8ms" in browser.run(f"return {names}.join()")
            shown = "[...document.querySelectorAll('nav, #setup, #measures')].filter((each) => each.checkVisibility())"
            assert browser.run(f"return {shown}.length") == 0
            assert browser.run("return document.scrollingElement.scrollWidth <= innerWidth")
            browser.run(AXE.read_text(encoding="utf-8") + "; window.axe = axe")
            assert browser.execute_async_script(FAULTS) == []
            browser.switch_to.default_content()
        browser.run("document.querySelector('aqmlab-queue').setAttribute('aqm', 'red')")
        browser.switch_to.frame(browser.run("return document.querySelector('aqmlab-queue').shadowRoot.firstChild"))
        wait(browser, f"{CLOCK} > 1 && document.querySelectorAll('.scheme').length === 1")
        browser.switch_to.default_content()
        assert browser.console() == []


def test_what_was_done_by_hand_repeats_natively_to_the_bit(browser: Browser) -> None:
    with served(PAGE.parent) as address:
        browser.open(f"{address}/studio/", 1280)
        found = json.loads(browser.execute_async_script(PLAY, SMALL.read_text()))
    assert found["tomls"][0].count("[[changes]]") == 4
    assert "codel" not in found["tomls"][1]
    assert [result["scenario"] for result in found["results"]] == ["mine-1", "mine-2"]
    for aqm, toml, result in zip(["pi", "red"], found["tomls"], found["results"], strict=True):
        native = dict(aqmlab.run(Scenario.parse(toml, result["scenario"]), aqm, seed=3).measured)
        assert result | {"engine": None} == native | {"engine": None}
