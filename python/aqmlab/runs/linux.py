"""A run on a real Linux in virtual time: the kernel runs aqmlab's guest, and returns a simulation's result.

The guest (crates/kernel) finds its order in a folder, and writes its result there.
"""

import json
import time
from typing import Any

from aqmlab import _core
from aqmlab._core import Interrupted, Scenario, Watch
from aqmlab.kernel.images import Image, chosen
from aqmlab.kernel.machine import StuckError, running
from aqmlab.names import unknown
from aqmlab.runs.results import RunResult
from aqmlab.tc import netlink
from aqmlab.traces import Capture

MEMORY = "1500M"
"""Of the guest, of which it takes what it uses."""
LONGEST = 300
"""Seconds of silence after which a guest is taken for stuck: it reports each second of its virtual time."""
START, PER_SECOND, PER_BIT = 0.2, 0.012, 1.9e-9
"""Seconds of processor time: to start a kernel, of each second without traffic, and of each bit that a link sends."""
UNKNOWN = ("ecn_reductions",)
"""Measures of flows that Linux does not count."""
UNKNOWN_OF_LINKS = ("loss_synchronisation", "update_rate")
"""Measures of links that Linux does not count."""
CAPTURE = "capture.pcapng"
"""The guest's name of its capture."""


def run(
    scenario: Scenario,
    aqm: str | None,
    seed: int,
    *,
    kernel: str | None = None,
    series: bool = False,
    trace: str | None = None,
    watch: Watch | None = None,
) -> RunResult:
    """Run a scenario on `kernel`, by default the newest, and capture the packets that leave the link `trace`.

    InputError where Linux cannot do it, or there is no such kernel; StuckError if the guest fails.
    """
    image, order = chosen(kernel), order_of(scenario, aqm, seed, series=series, trace=trace)
    schemes = dict(_core.on_linux(scenario, aqm)["schemes"])
    started = time.perf_counter()
    document, capture = _play(image, order, watch)
    wall = time.perf_counter() - started
    return _result(document, schemes, image, wall, capture)


def check(scenario: Scenario, aqm: str | None, kernel: str | None = None) -> None:
    """Refuse what Linux cannot do of a scenario and a scheme. InputError with all of it, or without such a kernel."""
    chosen(kernel)
    order_of(scenario, aqm, 1, series=False)


def estimate(scenario: Scenario) -> float:
    """Return about how many seconds of processor time a run takes: links are taken to be busy all the time.

    Measured on one core of 2026 with packets of 1500 B; scenarios of home take as long, one busy link 20 % less.
    """
    bits = sum(scenario.link(name).rate for name in scenario.links) * scenario.duration
    return START + PER_SECOND * scenario.duration + PER_BIT * bits


def order_of(
    scenario: Scenario, aqm: str | None, seed: int, *, series: bool, trace: str | None = None
) -> dict[str, Any]:
    """Return the order of a run, as the guest reads it. InputError where Linux cannot do it."""
    settings = _core.on_linux(scenario, aqm)
    if trace is not None and trace not in scenario.links:
        raise unknown("trace", "no link", trace, scenario.links)
    queues = [netlink.queue(**link) for link in settings["links"]]
    changed = [netlink.queue(**link, is_change=True) for link in settings["changed"]]
    return {
        "scenario": scenario.text,
        "name": scenario.name,
        "overrides": scenario.overrides,
        "aqm": settings["name"],
        "seed": seed,
        "series": series,
        "hosts": any(queue.hosts for queue in queues),
        "queues": [queue.order() for queue in queues],
        "changed": [queue.order() for queue in changed],
        "capture": None if trace is None else scenario.links.index(trace),
    }


def _play(image: Image, order: dict[str, Any], watch: Watch | None) -> tuple[dict[str, Any], Capture | None]:
    """Play an order on a kernel, and return what the guest has written at its end, and its capture if it made one.

    Both are read before the kernel is left, which removes its folder.
    """

    def look(silent: float) -> None:
        if watch and watch.is_cancelled():
            raise Interrupted("the run was cancelled")
        if silent > LONGEST:
            raise StuckError(f"the guest has not reported for {LONGEST} s: it hangs, or this machine is far too slow")

    with running(image, MEMORY, order["seed"], {"order.json": json.dumps(order)}) as machine:
        for line in machine.lines(look):
            if "result" in line:
                captured = machine.folder / CAPTURE
                return line, Capture(captured.read_bytes()) if captured.exists() else None
            if "error" in line:
                raise StuckError(f"Linux {image.version}: {line['error']}")
            if watch:
                watch.reach(line["now"])
    raise StuckError(f"Linux {image.version} has ended without a result")


def _result(
    document: dict[str, Any],
    schemes: dict[str, list[tuple[str, str]]],
    image: Image,
    wall: float,
    capture: Capture | None,
) -> RunResult:
    result = document["result"]
    for flows in (*result["flows"].values(), result["total"]):
        flows.update(dict.fromkeys(UNKNOWN))
    for name, link in result["links"].items():
        link.update(dict.fromkeys(UNKNOWN_OF_LINKS))
        link["schemes"] = schemes[name]
    result["engine"] = {"name": "linux", "version": image.version, "events": None, "wall": wall}
    return RunResult.read(document, capture)
