"""A scheme written in Python: as good a citizen as a built-in one, and its mistakes are told, not suffered."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.runs import simulate


class OwnPi(lab.Aqm):
    """PI with the defaults of the built-in one."""

    a = lab.Param("1.822e-5", ("0", "1"), unit="1/packet", doc="Gain on the present error.")
    b = lab.Param(1.816e-5, (0, 1), unit="1/packet", doc="Gain on the error before.")
    w = lab.Param("170 Hz", ("0.01 Hz", "1000 kHz"), doc="Sampling frequency.")

    def reset(self, queue: lab.Queue) -> None:
        self.tick = 1 / self.w
        self.e_old = -queue.target

    def on_tick(self, queue: lab.Queue) -> None:
        e = queue.packets - queue.target
        self.p = min(max(self.p + self.a * e - self.b * self.e_old, 0.0), 1.0)
        self.e_old = e


class DrawingPi(OwnPi):
    """The same, drawing for each packet itself."""

    observables = {"p": "ratio", "e_old": "packets"}

    def on_enqueue(self, packet: lab.Packet, queue: lab.Queue) -> bool:
        return self.random() < self.p


class Hooked(lab.Aqm):
    """Drops nothing, uses every hook."""

    tick = "10 ms"
    observables = {"calls": "1"}

    def reset(self, queue: lab.Queue) -> None:
        self.calls = 0

    def on_enqueue(self, packet: lab.Packet, queue: lab.Queue) -> None:
        self.calls += 1

    def on_dequeue(self, packet: lab.Packet, queue: lab.Queue) -> lab.own.Answer:
        assert packet.enqueued_at <= self.now
        return lab.PASS

    def on_tick(self, queue: lab.Queue) -> None:
        self.calls += 1

    def on_empty(self) -> None:
        self.calls += 1

    def on_overflow(self, queue: lab.Queue) -> None:
        assert queue.packets == queue.limit


def measured(result: Any) -> Any:
    """All of a result but its name, its number of events and its wall time."""
    found = {key: value for key, value in json.loads(result.json()).items() if key not in ("aqm", "engine")}
    for link in found["links"].values():
        del link["schemes"]
    return found


@pytest.mark.parametrize("own", [OwnPi, DrawingPi])
def test_pi_in_python_is_pi(own: type[lab.Aqm], small: str) -> None:
    built_in = measured(lab.run(small, "pi:w=100Hz,a=1e-4"))
    assert measured(lab.run(small, own(w="100 Hz", a=1e-4))) == built_in
    assert measured(lab.run(small, f"{own.name}:w=100Hz,a=1e-4")) == built_in
    assert measured(lab.run(small, own)) == measured(lab.run(small, "pi"))


def test_a_scheme_that_passes_everything_is_droptail(small: str) -> None:
    class Passing(lab.Aqm):
        def on_enqueue(self, packet: lab.Packet, queue: lab.Queue) -> lab.own.Answer:
            assert (packet.ecn, packet.can_mark, packet.rtt) == ("not-ect", False, None)
            assert (packet.dscp, packet.class_selector) == (0, 0)
            assert (queue.rate, queue.target, queue.limit) == (10e6, 30, 100)
            assert packet.size in (40, 1040)  # the SYNs of ten flows, then data
            assert 1040 * (queue.packets - 10) <= queue.bytes <= 1040 * queue.packets
            assert queue.arrived_bytes == 1040 * queue.arrived_packets - 1000 * min(queue.arrived_packets, 10)
            return lab.PASS

    assert measured(lab.run(small, Passing)) == measured(lab.run(small, "droptail"))


def test_every_hook_is_called(small: str) -> None:
    run = lab.run(small, Hooked, series=True)
    link = run.links["bottleneck"]
    assert link.drops.keys() == {"overflow"}
    # Each packet that is not refused, 201 ticks (0 s to 2 s), and each time the link falls idle, at least at first.
    assert run.series["bottleneck"]["calls"][-1] >= link.arrived - link.dropped + 201 - 2


def test_drop_mark_and_signal_do_what_they_say(small: str) -> None:
    def every_tenth(answer: object, ecn: str) -> Any:
        class Answering(lab.Aqm):
            def on_enqueue(self, packet: lab.Packet, queue: lab.Queue) -> Any:
                n = queue.arrived_packets  # 20, 30 and so on up to 1000: 99 packets
                return answer if 10 < n <= 1000 and n % 10 == 0 else None

        loaded = lab.load(small, {"flows.ftp.ecn": ecn, "duration": "60 s"})
        link = lab.run(loaded, Answering).links["bottleneck"]
        return link.marked, link.drops.get("early", 0)

    assert every_tenth(lab.PASS, "true") == every_tenth(None, "true") == every_tenth(False, "true") == (0, 0)
    assert every_tenth(lab.DROP, "true") == (0, 99)
    for answer in (lab.SIGNAL, True):
        marked, dropped = every_tenth(answer, "true")
        assert marked > 0
        assert marked + dropped == 99  # retransmissions cannot carry a mark
        assert every_tenth(answer, "false") == (0, 99)
    marked, dropped = every_tenth(lab.MARK, "true")
    assert marked > 0
    assert dropped == 0
    assert every_tenth(lab.MARK, "false") == (0, 0)


def test_runs_repeat_whatever_ran_before_and_beside(small: str) -> None:
    class Random(lab.Aqm):
        def reset(self, queue: lab.Queue) -> None:
            self.seen = 0

        def on_enqueue(self, packet: lab.Packet, queue: lab.Queue) -> bool:
            self.seen += 1
            return self.random() < 0.02 + 0.01 * (self.seen % 3)

    alone = [measured(lab.run(small, Random, seed)) for seed in (1, 2, 3)]
    for jobs in (1, 4):
        compared = lab.compare(small, [Random, "pi", OwnPi], seeds=3, jobs=jobs)
        assert [measured(compared.runs["random", seed]) for seed in (1, 2, 3)] == alone
    assert alone[0]["links"] != alone[1]["links"]


def test_it_stands_in_tables_and_reports_as_others_do(small: str, tmp_path: Path) -> None:
    from aqmlab.present.reports import comparison
    from aqmlab.present.run_files import pictures

    compared = lab.compare(small, ["pi", OwnPi, OwnPi(w="100 Hz")])
    assert list(compared.table().index) == ["pi", "own-pi", "own-pi:w=100 Hz"]
    assert json.loads(compared.json())["aqms"][2] == "own-pi:w=100 Hz"
    page = comparison.files([compared], "command")["report.html"]
    assert "OwnPi (w=100 Hz)" in str(page)
    assert re.search(r"OwnPi \(w=100 Hz\): w</th>\s*<td><strong>100 Hz</strong></td>\s*<td>170 Hz</td>", str(page))
    run = lab.run(small, DrawingPi, series=True)
    assert {"p.svg", "queue.svg"} <= pictures(run, lab.load(small)).keys()
    assert run.series["bottleneck"]["e_old"].any()
    assert lab.load(small).parameters("own-pi:w=100Hz")["w"] == "100 Hz"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"w": "170"}, ['own-pi.w: "170" has no unit; write e.g. "170 Hz"']),
        ({"a": 2}, ['own-pi.a: "2" is out of range: must lie in 0 ..= 1']),
        ({"W": "1 Hz"}, ['unknown parameter "W"; did you mean "w"?']),
        ({"a": "x", "w": "y"}, ["own-pi.a", "own-pi.w"]),
    ],
)
def test_parameters_are_refused_as_those_of_built_ins(given: dict[str, Any], words: list[str], small: str) -> None:
    text = "own-pi:" + ",".join(f"{name}={value}" for name, value in given.items())
    for attempt in (lambda: OwnPi(**given), lambda: lab.run(small, text), lambda: lab.compare(small, text)):
        with pytest.raises(lab.InputError) as refused:
            attempt()
        for word in words:
            assert word in str(refused.value)


def test_parameters_have_their_kind() -> None:
    class Kinds(lab.Aqm):
        time = lab.Param("10 ms")
        share = lab.Param("5 %")
        fast = lab.Param(default=True)
        mode = lab.Param("low", choices=("low", "high"))

    scheme = Kinds(mode="high", fast=False)
    assert (scheme.time, scheme.share, scheme.fast, scheme.mode) == (0.01, 0.05, False, "high")
    assert str(scheme) == "kinds:mode=high,fast=false"


def test_a_declaration_that_cannot_be_is_refused() -> None:
    def declare(**attributes: object) -> str:
        with pytest.raises(lab.InputError) as refused:
            type("Declared", (lab.Aqm,), attributes)
        return str(refused.value)

    assert declare(name="pi").startswith('pi.name: "pi" is taken')
    assert "is not a name" in declare(name="My Aqm")
    assert declare(gain=lab.Param("2", ("0", "1"))).startswith('declared.gain.default: "2" is out of range')
    assert "declared.gain.default" in declare(gain=lab.Param("ten"))
    assert declare(p=0.5).startswith("declared.p: ")
    assert declare(__init__=lambda _: None).startswith("declared.__init__: ")
    assert declare(random=lab.Param("1")).startswith("declared.random: ")
    assert "declared.time" in declare(observables={"time": "s"})


def test_what_reset_finds_wrong_is_bad_input(small: str) -> None:
    class Choosy(lab.Aqm):
        least = lab.Param("10 packets")

        def reset(self, queue: lab.Queue) -> None:
            if self.least > queue.limit:
                raise ValueError("least lies above the buffer")

    class Late(lab.Aqm):
        def on_tick(self, queue: lab.Queue) -> None: ...

    class Unshown(lab.Aqm):
        observables = {"average": "packets"}

    class Impatient(lab.Aqm):
        def reset(self, queue: lab.Queue) -> None:
            self.random()

    lab.run(small, Choosy)
    for scheme, word in [
        (Choosy(least="101 packets"), "choosy: least lies above the buffer"),
        (Late, "late: tick: None is not a period"),
        (Unshown, "unshown: average raised AttributeError"),
        (Impatient, "impatient: reset raised RuntimeError: random numbers"),
    ]:
        with pytest.raises(lab.InputError, match=word):
            lab.run(small, scheme)


def test_a_name_stands_for_the_last_class_that_took_it(small: str) -> None:
    def define(limit: int) -> type[lab.Aqm]:
        class Redefined(lab.Aqm):
            def on_enqueue(self, packet: lab.Packet, queue: lab.Queue) -> bool:
                return queue.packets >= limit

        return Redefined

    first = define(5)
    mean = lab.run(small, first).links["bottleneck"].queue_mean
    second = define(50)
    assert lab.run(small, second).links["bottleneck"].queue_mean > mean
    with pytest.raises(lab.InputError, match="a later class uses the name 'redefined'"):
        lab.run(small, first)
    with pytest.raises(lab.InputError, match="is not a scheme"):
        lab.run(small, int)  # type: ignore[arg-type]


class Fails(lab.Aqm):
    """Breaks down at 0.5 s in one of several ways."""

    way = lab.Param("raise", choices=("raise", "p", "nan", "tick", "answer", "number", "exit"))
    tick = "100 ms"

    def on_tick(self, queue: lab.Queue) -> None:
        if self.now < 0.5:
            return
        if self.way == "raise":
            raise ZeroDivisionError("two\nlines")
        if self.way == "exit":
            sys.exit(3)
        self.p = {"p": 1.5, "nan": float("nan")}.get(self.way, 0)
        self.tick = "50 ms" if self.way == "tick" else self.tick

    def on_dequeue(self, packet: lab.Packet, queue: lab.Queue) -> Any:
        return {"answer": "drop", "number": 1}.get(self.way) if self.now >= 0.5 else None


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("raise", ["fails at 0.5 s: on_tick raised ZeroDivisionError: two (line "]),
        ("p", ["fails at 0.5 s: on_tick raised ValueError: p = 1.5 is not a probability: must lie in 0 ..= 1"]),
        ("nan", ["fails at 0.5 s", "p = NaN is not a probability"]),
        ("tick", ["fails at 0.5 s: tick changed from '100 ms' to '50 ms' during the run"]),
        ("answer", ["fails at 0.5", " s: on_dequeue returned 'drop', which is not a verdict"]),
        ("number", ["on_dequeue returned 1, which is not a verdict"]),
        ("exit", ["fails at 0.5 s: on_tick raised SystemExit: 3"]),
    ],
)
def test_a_breakdown_names_scheme_time_and_cause(way: str, words: list[str], small: str) -> None:
    with pytest.raises(lab.SchemeError) as broken:
        lab.run(small, Fails(way=way))
    for word in words:
        assert word in str(broken.value)


def test_a_breakdown_ends_no_other_run(small: str) -> None:
    compared = lab.compare(small, ["pi", Fails, OwnPi], seeds=2)
    assert [str(failure).partition(": ")[0] for failure in compared.failures] == [
        "small, fails, seed 1",
        "small, fails, seed 2",
    ]
    assert all("fails at 0.5 s: on_tick raised" in failure.reason for failure in compared.failures)
    assert {spec for spec, _ in compared.runs} == {"pi", "own-pi"}
    assert measured(compared.runs["own-pi", 2]) == measured(lab.run(small, "pi", 2))


def test_good_schemes_keep_the_contract() -> None:
    for scheme in (OwnPi, "own-pi:w=100Hz", "droptail"):
        found = lab.check_aqm(scheme, strict=True)
        assert found.kept, found
        assert len(found) == 5


def test_broken_schemes_are_told_which_clause_they_break() -> None:
    class Restless(lab.Aqm):
        count = 0

        def on_enqueue(self, packet: lab.Packet, queue: lab.Queue) -> bool:
            Restless.count += 1
            return Restless.count % 7 == 0 and queue.packets > 20

    class Unbounded(lab.Aqm):
        observables = {"share": "ratio"}
        share = 0.0

        def on_enqueue(self, packet: lab.Packet, queue: lab.Queue) -> None:
            self.share = queue.packets / 50

    class Eager(lab.Aqm):
        def on_enqueue(self, packet: lab.Packet, queue: lab.Queue) -> bool:
            return queue.packets > 2

    def broken(scheme: type[lab.Aqm]) -> str:
        return "\n".join(f"{clause.text}: {clause.broken}" for clause in lab.check_aqm(scheme) if clause.broken)

    assert "end differently" in broken(Restless)
    assert "share = 1.02 is not in 0 ..= 1" in broken(Unbounded)
    # Of each burst of 7 packets, 3 may wait: 4 of 7 are signalled.
    assert broken(Eager) == (
        "a light load is never signalled: 200 of 350 packets were signalled at half the link's rate"
    )
    assert "on_tick raised ZeroDivisionError" in broken(Fails)
    with pytest.raises(lab.SchemeError, match="eager breaks its contract"):
        lab.check_aqm(Eager, strict=True)


def test_the_tables_of_experiments_take_a_class_alone(small: str) -> None:
    assert simulate.compare(small, OwnPi).schemes == ("own-pi",)


def test_a_misspelt_hook_is_refused() -> None:
    with pytest.raises(lab.InputError, match=r'late.on_tik: no hook is called "on_tik"; did you mean "on_tick"?'):

        class Late(lab.Aqm):
            def on_tik(self, queue: lab.Queue) -> None:
                self.p = 0.5


def test_verdicts_of_numpy_are_verdicts(small: str) -> None:
    import numpy as np

    def above_twenty(kind: type) -> Any:
        class Above(lab.Aqm):
            def on_enqueue(self, packet: lab.Packet, queue: lab.Queue) -> Any:
                return kind(queue.packets > 20)

        return measured(lab.run(small, Above))

    assert above_twenty(np.bool_) == above_twenty(bool)
