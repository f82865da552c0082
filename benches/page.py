"""Measure the studio's page: time to a moving queue, size, and speed of its engine compared with the native one.

Run `make page` first. A slow processor is simulated by stopping every process of the browser for three quarters of the
time, because the browser's own throttling excludes workers, which run the engine. A loop of JavaScript measures it.
"""

import gzip
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import aqmlab
from aqmlab.scenario import read

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser import Browser, served  # type: ignore[import-not-found]  # noqa: E402
from test_wasm import chromium  # type: ignore[import-not-found]  # noqa: E402

PAGE = ROOT / "target" / "studio"
FIRST = ["index.html", "studio.css", "studio.js", "worker.js", "aqmlab_engine.wasm", "data/catalogue.json"]
"""Files that are loaded before the queue moves, without the scenario."""
MOVING = """
const done = arguments[0];
(function look() {
  const clock = parseFloat(document.querySelector('.clock')?.textContent);
  const moves = clock > 0 && document.querySelector('.panel canvas');
  requestAnimationFrame(moves ? () => done(performance.now() / 1000) : look);
})();
"""
"""Waits until the clock moves and curves are drawn, and for one picture more; the time from the start of loading, s."""
LOOP = "const t = performance.now(); let x = 0; for (let i = 0; i < 2e8; i++) x = (x * 31 + i) | 0;"
LOOP += "return (performance.now() - t + 0 * x) / 1000"
TABLE_1 = "li2014/table-1"
TURN = 0.04
"""Seconds in which a slowed process runs once."""


def descendants(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that they have."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it may end meanwhile
            for child in map(int, task.read_text().split()):
                found += [child, *descendants(child)]
    return found


def send(pids: list[int], number: int) -> None:
    """Send a signal to processes that may have ended."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


@contextmanager
def slowed(browser: Browser, times: float) -> Iterator[None]:
    """Let the browser run for one part in `times` of the time."""
    over = threading.Event()

    def halt() -> None:
        while not over.is_set():
            runs_until = time.monotonic() + TURN / times
            now = descendants(browser.service.process.pid)
            time.sleep(max(0, runs_until - time.monotonic()))
            send(now, signal.SIGSTOP)
            time.sleep(TURN * (1 - 1 / times))
            send(now, signal.SIGCONT)

    thread = threading.Thread(target=halt)
    if times > 1:
        thread.start()
    try:
        yield
    finally:
        over.set()
        if times > 1:
            thread.join()


def first_queue(times: float) -> tuple[float, float]:
    """Return the seconds from the start of loading to a moving queue, in a fresh browser, and of a loop."""
    with served(PAGE.parent) as address, Browser() as browser:
        browser.open("about:blank", 1280)
        browser.set_script_timeout(60)
        with slowed(browser, times):
            browser.open(f"{address}/studio/", 1280)
            moving = float(browser.execute_async_script(MOVING))
            return round(moving, 2), round(float(browser.run(LOOP)), 2)


def speeds(turns: int) -> list[tuple[float, float]]:
    """Return the seconds that Table 1 takes natively and in Chromium, in turns, after one run of each."""
    text = read(TABLE_1)[1]
    found = []
    with chromium() as ask:
        for _ in range(turns + 1):
            began = time.perf_counter()
            aqmlab.run(TABLE_1, "pi")
            middle = time.perf_counter()
            ask({"scenario": text, "name": TABLE_1, "aqm": "pi"})
            found.append((middle - began, time.perf_counter() - middle))
    return found[1:]


if __name__ == "__main__":
    sizes = {name: len(gzip.compress((PAGE / name).read_bytes(), 9)) for name in FIRST}
    engine_size = sizes["aqmlab_engine.wasm"]
    print(f"compressed: {sum(sizes.values()) / 1e6:.2f} MB, of which the engine {engine_size / 1e6:.2f} MB")
    for times in (1, 4):
        found = [first_queue(times) for _ in range(5)]
        print(f"slowed {times} times: first moving queue, and the loop, s: {found}")
    pairs = speeds(5)
    print("Table 1, native and Chromium, s:", [(round(a, 3), round(b, 3)) for a, b in pairs])
    print(f"of native speed: {sorted(a / b for a, b in pairs)[len(pairs) // 2]:.2f}")
