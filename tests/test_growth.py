"""Twice the input takes twice the steps and twice the memory, not four times."""

import re
import signal
import sys
import threading
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from aqmlab import InputError, Scenario, _core
from aqmlab.tc.lines import LONGEST_LINE, listing
from aqmlab.tc.tree import read_tree
from conftest import SMALL as SMALL_SCENARIO
from largest import INPUTS

SMALL, MOST = 400, 2.2
"""Parts of the smaller input, and how much more twice as many may take."""


def classes(n: int) -> str:
    """Return as many leaves of HTB."""
    lines = (f"tc class add dev eth0 parent 1: classid 1:{i:x} htb rate 1mbit" for i in range(1, n + 1))
    return "\n".join(["tc qdisc add dev eth0 root handle 1: htb default 1", *lines])


def chain(n: int) -> str:
    """Return classes each below the one before."""
    lines = (f"tc class add dev eth0 parent 1:{i - 1 or '':x} classid 1:{i:x} htb rate 1mbit" for i in range(2, n + 2))
    first = "tc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit"
    return "\n".join(["tc qdisc add dev eth0 root handle 1: htb", first, *lines])


def taken_away(n: int) -> str:
    """Return classes that get a discipline and lose both again, one by one, beside as many that stay."""
    own = "tc qdisc add dev eth0 parent 1:{0:x} handle {0:x}: fq_codel\ntc class del dev eth0 classid 1:{0:x}"
    return "\n".join([classes(n), *(own.format(i) for i in range(2, n // 2))])


def changed(n: int) -> str:
    """Return disciplines of many devices, each said twice."""
    twice = "tc qdisc add dev eth{0} root fq_codel\ntc qdisc replace dev eth{0} root fq_codel limit 100"
    return "\n".join(twice.format(i) for i in range(n))


READERS: dict[str, tuple[Callable[[int], Any], Callable[[Any], object]]] = {
    "classes": (classes, read_tree),
    "classes below classes": (chain, listing),
    "classes that go again": (taken_away, listing),
    "disciplines said twice": (changed, listing),
}


FEW = 1000
"""Calls that the garbage collector's callbacks of other libraries may make at any time."""


def cost(read: Callable[[], object]) -> tuple[int, int]:
    """Return how many calls a reader makes, and its peak of memory."""
    calls = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal calls
        calls += event.endswith("call")

    tracemalloc.start()
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        read()
    finally:
        sys.setprofile(before)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return calls, peak


@pytest.mark.parametrize("name", READERS)
def test_twice_the_input_takes_twice_the_steps(name: str) -> None:
    make, read = READERS[name]
    read(make(10))  # what is loaded at the first use
    few, many = (cost(partial(read, make(n))) for n in (SMALL, 2 * SMALL))
    growth = [after / before for before, after in zip(few, many, strict=True)]
    assert max(growth) <= MOST, f"calls and bytes grow by {growth}"


def doubled(name: str, folder: Path, most: int) -> int:
    """Double an input of a kind up to so many parts, and return the last peak of memory."""
    given = INPUTS[name]
    given.make(folder, 10 if name != "bundle" else 1)()  # what is loaded at the first use
    parts, before = given.least, cost(given.make(folder, given.least))
    while 2 * parts <= most:
        parts *= 2
        after = cost(given.make(folder, parts))
        growth = [large / max(small, FEW) for small, large in zip(before, after, strict=True)]
        assert max(growth) <= MOST, f"{parts} parts: calls and bytes grow by {growth}"
        before = after
    return before[1]


@pytest.mark.parametrize("name", INPUTS)
def test_an_input_twice_as_large_takes_twice_the_work(name: str, tmp_path: Path) -> None:
    doubled(name, tmp_path, INPUTS[name].day)


@pytest.mark.nightly
@pytest.mark.parametrize("name", INPUTS)
def test_an_input_at_its_limit_takes_a_gigabyte_at_most(name: str, tmp_path: Path) -> None:
    assert doubled(name, tmp_path, INPUTS[name].most) <= 1e9


def test_every_row_of_the_limits_names_its_tests() -> None:
    page = (Path(__file__).resolve().parents[1] / "SECURITY.md").read_text(encoding="utf-8")
    lines = page.partition("| input | size")[2].partition("\n\n")[0].splitlines()[2:]
    rows = {given.row for given in INPUTS.values()}
    assert len(lines) >= len(rows)
    for row in rows:
        assert any(line.startswith(f"| {row}") for line in lines), row
    for line in lines:
        files = re.findall(r"`((?:tests|crates)/[\w/.]+)`", line.rsplit("|", 2)[1])
        assert files, line
        assert all((Path(__file__).resolve().parents[1] / file).exists() for file in files), line


def test_a_line_without_end_is_refused() -> None:
    with pytest.raises(InputError, match=f"a line of {LONGEST_LINE + 1} characters; at most {LONGEST_LINE}"):
        listing("a" * (LONGEST_LINE + 1))


LONG = SMALL_SCENARIO.read_text() + "".join(f'[[flows]]\nname = "f{i}"\nrtt = "20 ms"\n' for i in range(10_000))
"""A text that takes a large part of a second to read."""


class AlarmError(Exception):
    """Raised by the handler of a signal."""


TASKS = Path("/proc/self/task")
"""Has an entry for each thread of this process."""


@pytest.mark.skipif(not TASKS.exists(), reason="no /proc, which lists threads")
def test_a_signal_is_heard_while_a_scenario_is_read() -> None:
    def ring(*_: object) -> None:
        raise AlarmError

    threads = {*TASKS.iterdir()}
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.03)
    try:
        with pytest.raises(AlarmError):
            Scenario.parse(LONG, "long")
        assert len({*TASKS.iterdir()} - threads) == 1, "the one that reads is not awaited"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_other_threads_go_on_while_a_scenario_is_read() -> None:
    turns, is_over = 0, threading.Event()

    def turn() -> None:
        nonlocal turns
        while not is_over.wait(1e-4):
            turns += 1

    other = threading.Thread(target=turn)
    other.start()
    before = turns
    Scenario.parse(LONG, "long")
    during = turns - before
    is_over.set()
    other.join()
    assert during > 5


def test_results_with_names_of_their_own_are_bounded() -> None:
    few = [f'{{"links": {{"l{i}": {{"x": 1.5}}}}}}' for i in range(10)]
    assert len(_core.columns(few)) == 10
    with pytest.raises(ValueError, match="10001 runs with more than 9999 measures"):
        _core.columns([f'{{"links": {{"l{i}": {{"x": 1.5}}}}}}' for i in range(10_001)])
