"""A run on a real Linux in virtual time: the kernel runs aqmlab's guest, and returns a simulation's result.

The guest (crates/kernel) finds its order in a folder, and writes its result there.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from aqmlab import _core
from aqmlab._core import Interrupted, Scenario, Watch
from aqmlab.kernel import guest
from aqmlab.kernel.images import Image, newest
from aqmlab.names import unknown
from aqmlab.runs.results import RunResult
from aqmlab.tc import netlink
from aqmlab.traces import Capture

MEMORY = "1500M"
"""Of the guest, of which it takes what it uses."""
WATCHED = """
ulimit -c 0
exec 3<&0
(read _ <&3; rm -rf "$FOLDER"; kill -KILL 0) &
exec "$0" "$@" 3<&- < /dev/null
"""
"""Starts the kernel with a watcher, which ends both and removes their folder when this process has ended."""
STARTED = count()
"""Kernels of this process so far."""
LOOK = 0.02
"""Seconds between two looks at what the guest has written."""
LONGEST = 300
"""Seconds of silence after which a guest is taken for stuck: it reports each second of its virtual time."""
EPOCH = 10**18
"""The kernel's wall clock as it starts, ns since 1970: initial sequence numbers depend on it."""
START, PER_SECOND, PER_BIT = 0.2, 0.012, 1.9e-9
"""Seconds of processor time: to start a kernel, of each second without traffic, and of each bit that a link sends."""
UNKNOWN = ("ecn_reductions",)
"""Measures of flows that Linux does not count."""
UNKNOWN_OF_LINKS = ("loss_synchronisation", "update_rate")
"""Measures of links that Linux does not count."""
CAPTURE = "capture.pcapng"
"""The guest's name of its capture."""


class StuckError(RuntimeError):
    """A guest that says nothing any longer, or has ended without a result."""


def run(
    scenario: Scenario,
    aqm: str | None,
    seed: int,
    *,
    series: bool = False,
    trace: str | None = None,
    watch: Watch | None = None,
) -> RunResult:
    """Run a scenario on the kernel that was built last, and capture the packets that leave the link `trace`.

    InputError where Linux cannot do it, or no kernel is built; StuckError if the guest fails.
    """
    image, order = newest(), order_of(scenario, aqm, seed, series=series, trace=trace)
    schemes = dict(_core.on_linux(scenario, aqm)["schemes"])
    started = time.perf_counter()
    with TemporaryDirectory(prefix="aqmlab-kernel-", ignore_cleanup_errors=True) as folder:
        document, capture = _play(image, Path(folder), order, watch)
    wall = time.perf_counter() - started
    return _result(document, schemes, image, wall, capture)


def check(scenario: Scenario, aqm: str | None) -> None:
    """Refuse what Linux cannot do of a scenario and a scheme. InputError with all of it, or if no kernel is built."""
    newest()
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
    told = _core.on_linux(scenario, aqm)
    if trace is not None and trace not in scenario.links:
        raise unknown("trace", "no link", trace, scenario.links)
    queues = [netlink.queue(**link) for link in told["links"]]
    changed = [netlink.queue(**link, is_change=True) for link in told["changed"]]
    return {
        "scenario": scenario.text,
        "name": scenario.name,
        "overrides": scenario.overrides,
        "aqm": told["name"],
        "seed": seed,
        "series": series,
        "hosts": any(queue.hosts for queue in queues),
        "queues": [queue.order() for queue in queues],
        "changed": [queue.order() for queue in changed],
        "capture": None if trace is None else scenario.links.index(trace),
    }


def _play(
    image: Image, folder: Path, order: dict[str, Any], watch: Watch | None
) -> tuple[dict[str, Any], Capture | None]:
    """Start the kernel in a folder, and return what the guest has written at its end, and its capture if it made one.

    Both are read here: the watcher removes the folder once the kernel is left alone.
    """
    for name in ("proc", "dev"):
        (folder / name).mkdir()
    shutil.copy(guest.path(), folder / "guest")
    (folder / "order.json").write_text(json.dumps(order), encoding="utf-8")
    result = folder / "result.jsonl"
    result.touch()
    clock = ("time-travel=inf-cpu", f"time-travel-start={EPOCH}")
    options = ("seccomp=auto", f"mem={MEMORY}", "quiet", f"uml_dir={folder}/", f"aqmlab.seed={order['seed']}")
    root = ("rootfstype=hostfs", f"hostfs={folder}", "rw", "init=/guest", "con=null", "con0=null,fd:1")
    with (
        result.open(encoding="utf-8") as told,
        subprocess.Popen(
            ["sh", "-c", WATCHED, image.path, *clock, *options, *root],
            env={"FOLDER": str(folder), "PATH": os.environ.get("PATH", os.defpath)},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a group of its own, which can be ended as a whole
        ) as kernel,
    ):
        with suppress(ProcessLookupError):  # it may have ended already: what follows says so
            os.sched_setaffinity(kernel.pid, {_processor()})
        for line in _lines(told, kernel, watch):
            if "result" in line:
                captured = folder / CAPTURE
                return line, Capture(captured.read_bytes()) if captured.exists() else None
            if "error" in line:
                raise StuckError(f"Linux {image.version}: {line['error']}")
            if watch:
                watch.reach(line["now"])
    raise StuckError(f"Linux {image.version} has ended without a result")


def _processor() -> int:
    """Return the processor for the next kernel: its processes wait for each other, which costs half as much on one.

    Kernels that run at the same time have others, as far as there are any.
    """
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[(os.getpid() + next(STARTED)) % len(allowed)]


def _lines(told: IO[str], kernel: "subprocess.Popen[bytes]", watch: Watch | None) -> Iterator[dict[str, Any]]:
    """Yield what the guest writes, line by line, until the kernel has ended."""
    text, heard = "", time.monotonic()
    while True:
        has_ended = kernel.poll() is not None
        text += told.read()
        *whole, text = text.split("\n")
        for line in whole:
            heard = time.monotonic()
            yield json.loads(line)
        if has_ended:
            return
        if watch and watch.is_cancelled():
            raise Interrupted("the run was cancelled")
        if time.monotonic() - heard > LONGEST:
            raise StuckError(f"the guest has not reported for {LONGEST} s: it hangs, or this machine is far too slow")
        time.sleep(LOOK)


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
