"""A line in the caller's time: the same decisions as a run and as the replay of a live run, and every misuse."""

import gc
import struct
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import aqmlab
from aqmlab import _core

ROOT = Path(__file__).parent.parent
MS = 1_000_000
PLAIN = "rate = '8 Mbit/s'\ndelay = '10 ms'\nbuffer = '3 packets'\n"

# 12.8 Mbit/s for 8, in packets whose arrivals and transmissions take whole nanoseconds. The first lets transmissions
# end 7 ns after a whole microsecond, and the others come 1 to 3 ns after one: no two things happen at the same instant.
SCENARIO = """
schema = 1
duration = "3 s"
[[links]]
name = "up"
rate = "8 Mbit/s"
buffer = "60 packets"
"""
GROUP = """
[[flows]]
name = "flow{number}"
kind = "udp-cbr"
rate = "{rate} Mbit/s"
packet = "{packet} B"
header = "0 B"
rtt = "10 ms"
start = "{start}"
"""
FIRST = (1000, 0.001, "7 ns")
ALONE = [FIRST, (1000, 12.8, "100.001 us")]
FLOWS = [FIRST, (1000, 4.0, "100.001 us"), (500, 3.2, "130.002 us"), (700, 5.6, "270.003 us")]
SCHEMES = [scheme.name for scheme in aqmlab.schemes()]

Packet = tuple[int, int, int]
"""Arrival (ns), flow and bytes."""


def scenario(aqm: str) -> str:
    """The scenario of a scheme: with one flow where flows are told apart by a hash, as that of a line is another."""
    flows = ALONE if aqm.startswith(("fq-", "cake")) else FLOWS
    groups = (
        GROUP.format(number=number, packet=packet, rate=rate, start=start)
        for number, (packet, rate, start) in enumerate(flows)
    )
    return SCENARIO + "".join(groups)


def traced(aqm: str) -> tuple[list[Packet], list[tuple[int, int, str]]]:
    """Packets that came to the link of a run, and those dropped there (ns, flow, reason), each in order."""
    trace = _core.run(aqmlab.Scenario(scenario(aqm), "line", []), aqm, 1, trace="up").trace()
    assert trace is not None
    columns, labels = trace.columns()
    events = np.array(labels["event"])[columns["event"].astype(int)]
    times = np.round(columns["time"].astype(float) * 1e9).astype(int)
    reasons = [*labels["reason"], ""]
    refused = (events == "drop") & np.isnan(columns["sojourn"].astype(float))
    rows = list(zip(times, columns["flow"], columns["size"], columns["reason"], strict=True))
    came = [
        (int(at), int(flow), int(size))
        for (at, flow, size, _), new in zip(rows, (events == "enqueue") | refused, strict=True)
        if new
    ]
    gone = [
        (int(at), int(flow), reasons[int(why)])
        for (at, flow, _, why), drop in zip(rows, events == "drop", strict=True)
        if drop
    ]
    return came, gone


def decided(aqm: str, arrivals: list[Packet]) -> tuple[list[tuple[int, int, str]], list[bytes]]:
    """What a line does with them: drops (number, ns, reason), and all decisions as the log of a live run."""
    line: aqmlab.Line[int] = aqmlab.Path[int](scenario(aqm), aqm).up
    dropped, decisions = [], []

    def send(until: int) -> None:
        while (due := line.next_event()) is not None and due < until:
            if out := line.pop(due):
                decisions.append((out.at - 5 * MS, 1, record(1000 * (out.at - 5 * MS), out.payload, 1)))

    def record(time: int, number: int, kind: int) -> bytes:
        _, flow, size = arrivals[number]
        return struct.pack("<QIIIIHBBI", time, number, flow, flow, flow, size, 0, kind, 0)

    for number, (now, flow, size) in enumerate(arrivals):
        send(now)
        line.push(now, size, number, flow=flow)
        while gone := line.pop_dropped():
            dropped.append((gone.payload, gone.at, gone.reason))
            # At one instant come what an arrival drops, what leaves, and what is dropped as the next one is taken.
            decisions.append((gone.at, 0 if gone.at == now else 2, record(1000 * gone.at, gone.payload, 2)))
    last = arrivals[-1][0]
    send(last + 5 * MS)  # what left the link by then
    came = [record(now, number, 0) for number, (now, *_) in enumerate(arrivals)]
    in_order = sorted((each for each in decisions if each[0] <= last), key=lambda each: each[:2])
    return dropped, came + [entry for *_, entry in in_order]


@pytest.mark.parametrize("aqm", SCHEMES)
def test_a_line_decides_as_a_run_and_as_the_replay_of_a_live_run(aqm: str) -> None:
    arrivals, of_run = traced(aqm)
    assert len(arrivals) > 4000
    assert of_run
    of_line, log = decided(aqm, arrivals)
    last = arrivals[-1][0]
    full = {"overflow": "full", "evicted": "full"}
    expected = [(at, flow, full.get(why, why)) for at, flow, why in of_run if at <= last]
    assert [(at, arrivals[number][1], full.get(why, why)) for number, at, why in of_line] == expected
    came, decisions, same, first = _core.replay(aqmlab.Scenario(scenario(aqm), "line", []), aqm, 1, "up", b"".join(log))
    assert (came, same, first) == (len(arrivals), decisions, None)


def test_packets_come_out_at_the_rate_and_the_delay() -> None:
    line: aqmlab.Line[str] = aqmlab.Line(PLAIN)
    # 1 ms each: one is sent, three wait, the fifth finds no room.
    assert [line.push(0, 1000, name) for name in "abcde"] == ["joined"] * 4 + ["full"]
    out = []
    while (due := line.next_event()) is not None:
        delivery = line.pop(due)
        assert delivery
        out.append((delivery.payload, delivery.at, delivery.waited))
    assert out == [("a", 11 * MS, 0), ("b", 12 * MS, MS), ("c", 13 * MS, 2 * MS), ("d", 14 * MS, 3 * MS)]
    dropped = line.pop_dropped()
    assert dropped
    assert (dropped.payload, dropped.reason, dropped.at, line.pop_dropped()) == ("e", "full", 0, None)
    counters = line.counters
    assert (counters.pushed, counters.delivered, counters.full, counters.held) == (5, 4, 1, 0)


def test_a_copy_goes_its_own_way_and_shares_payloads() -> None:
    line: aqmlab.Line[list[int]] = aqmlab.Line(PLAIN + "aqm = 'codel'")
    payload = [1]
    line.push(0, 1000, payload)
    copy = line.copy()
    assert line.pop(11 * MS)
    assert copy.counters.held == 1
    copied = copy.pop(11 * MS)
    assert copied
    assert copied.payload is payload
    assert set(line.observables) >= {"count"}
    assert repr(line) == "<Line: codel, 0 packets within at 11000000 ns>"


def test_a_path_has_both_directions() -> None:
    text = (
        SCENARIO + SCENARIO.partition("[[links]]")[1] + '\nname = "down"\nrate = "80 Mbit/s"\nbuffer = "60 packets"\n'
    )
    path: aqmlab.Path[str] = aqmlab.Path(text + "[[flows]]\nrtt = '20 ms'\n", "pie@up+fq-codel@down")
    assert (path.up.aqm, path.down.aqm) == ("pie", "fq-codel")
    path.up.push(0, 1000, "there")
    path.down.push(0, 1000, "back")
    assert path.next_event() == 10_100_000
    assert [(found[0], found[1].payload) for found in (path.pop(11 * MS), path.copy().pop(11 * MS)) if found] == [
        ("down", "back"),
        ("up", "there"),
    ]


def test_others_may_use_a_path_too() -> None:
    links = SCENARIO + "[[flows]]\nname = 'others'\ncount = 2\nrtt = '20 ms'\ntcp = 'cubic'\n"
    path: aqmlab.SharedPath[str] = aqmlab.SharedPath(links, "droptail")
    assert path.push("up", 5_000 * MS, 1000, "there", ecn="ect0") in ("joined", "full")
    path.push("down", 5_000 * MS, 1000, "back")
    fork = path.copy()
    found = [path.pop(5_500 * MS) for _ in range(2)]
    assert found == [fork.pop(5_500 * MS) for _ in range(2)]
    assert {each[1].payload for each in found if each} | ({"there"} if path.pop_dropped() else set()) == {
        "there",
        "back",
    }
    assert (path.counters("down").delivered, path.counters("up").held) == (1, 0)
    assert path.next_event() is None
    for act, why in [
        (lambda: path.push("left", 5_600 * MS, 1000, "x"), "up"),  # type: ignore[arg-type]
        (lambda: path.pop(5_000 * MS), "is before"),
    ]:
        with pytest.raises(aqmlab.InputError, match=why):
            act()


class Broken(aqmlab.Aqm):
    """Raises at the third packet."""

    def on_enqueue(self, packet: aqmlab.Packet, queue: aqmlab.Queue) -> None:
        if queue.arrived_packets == 3:
            raise ValueError("third")


def test_what_is_wrong_is_named() -> None:
    line: aqmlab.Line[int] = aqmlab.Line(PLAIN)
    line.push(5, 1000, 1)
    wrong = [
        (lambda: aqmlab.Line("rate = '8 Mbit/s'\nbuffer = '3 packets'\naqm = 'codle'"), 'did you mean "codel"'),
        (lambda: aqmlab.Line("rate = '8 Mbit/s'\nbuffer = '3 packets'\naqm = 'codel:tagret=3ms'"), r"codel\.tagret"),
        (lambda: aqmlab.Line("rate = "), "line"),
        (lambda: aqmlab.Path("schema = 1"), "links"),
        (lambda: line.push(4, 1000, 2), "4 ns is before 5 ns"),
        (lambda: line.push(6, 0, 2), "length"),
        (lambda: line.push(6, 1000, 2, ecn="ect2"), "ect0"),  # type: ignore[arg-type]
        (lambda: line.push(6, 1000, 2, dscp=64), "dscp"),
        (lambda: line.pop(7), "the next event is at"),
    ]
    for act, why in wrong:
        with pytest.raises(aqmlab.InputError, match=why):
            act()
    own: aqmlab.Line[int] = aqmlab.Line(PLAIN + "aqm = 'broken'")
    assert [own.push(number, 1000, number) for number in range(2)] == ["joined", "joined"]
    with pytest.raises(aqmlab.SchemeError, match=r"broken .*on_enqueue raised ValueError: third"):
        own.push(3, 1000, 3)


def test_a_published_gigabit_transfer_takes_as_long(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "line.md").read_text(encoding="utf-8")
    (tmp_path / "gigabit.toml").write_text(
        page.partition("```toml\n# gigabit.toml")[2].partition("```")[0], encoding="utf-8"
    )
    run = aqmlab.run(tmp_path / "gigabit.toml")
    seconds = run.flows["transfer"].fct_mean
    assert seconds is not None
    # neqo's simulator: 861 Mbit/s.
    assert abs(8 * 2**30 / seconds / 861e6 - 1) < 0.03


class Carried:
    """A payload that may hold the line that holds it."""


def line_with(payload: object) -> "aqmlab.Line[object]":
    """A line with one packet on it."""
    line = aqmlab.Line[object](PLAIN)
    line.push(0, 1000, payload)
    return line


def path_with(payload: object) -> "aqmlab.SharedPath[object]":
    """A path with one packet of the caller's on it."""
    path = aqmlab.SharedPath[object](scenario("droptail"))
    path.push("up", 0, 1000, payload)
    return path


@pytest.mark.parametrize(
    "hold",
    [
        line_with,
        lambda payload: line_with(payload).copy(),
        path_with,
        lambda payload: path_with(payload).copy(),
    ],
    ids=["line", "copy of a line", "path", "copy of a path"],
)
def test_a_line_that_its_payload_holds_is_collected(hold: Callable[[object], object]) -> None:
    payload = Carried()
    payload.line = hold(payload)  # type: ignore[attr-defined]
    gone = weakref.ref(payload)
    del payload
    gc.collect()
    assert gone() is None


def test_a_payload_that_only_a_line_holds_stays() -> None:
    line = line_with(Carried())
    copy = line.copy()
    gc.collect()
    for each in (line, copy):
        due = each.next_event()
        assert due is not None
        delivery = each.pop(due)
        assert delivery is not None
        assert isinstance(delivery.payload, Carried)
