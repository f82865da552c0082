"""The package as a script or a notebook uses it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import aqmlab
from aqmlab import _core
from aqmlab._core import Interrupted, Run, Scenario, Watch
from aqmlab.runs.executor import run_many
from aqmlab.runs.task import Failure, Task


def test_the_names_are_there() -> None:
    for name in aqmlab.__all__:
        assert getattr(aqmlab, name)
    with pytest.raises(AttributeError, match="rnu"):
        aqmlab.rnu  # noqa: B018
    assert set(aqmlab.__all__) == set(dir(aqmlab))


def test_run_mirrors_its_json(small: str) -> None:
    result = aqmlab.run(small, "pi", seed=3)
    link = json.loads(result.json())["links"]["bottleneck"]
    assert result.links["bottleneck"].queue_mean == link["queue_mean"]
    assert result.links["bottleneck"].drops == link["drops"]
    assert (result.scenario, result.aqm, result.seed) == ("small", "pi", 3)
    assert result.series == {}


def test_series_agree_with_the_metrics(small: str) -> None:
    result = aqmlab.run(small, "pi", series=True)
    series = result.series["bottleneck"]
    assert {"time", "queue", "p"} <= set(series)
    assert len({len(column) for column in series.values()}) == 1
    assert series["time"][-1] == pytest.approx(2.0, abs=0.02)
    assert series["queue"].min() >= 0
    assert series["queue"].max() <= 100
    assert series["queue"].mean() == pytest.approx(result.links["bottleneck"].queue_mean, rel=0.1)
    assert ((series["p"] >= 0) & (series["p"] <= 1)).all()


def test_a_path_a_scenario_and_values(small: str) -> None:
    loaded = aqmlab.load(Path(small))
    assert isinstance(loaded, Scenario)
    assert (loaded.name, loaded.duration, loaded.links) == ("small", 2.0, ["bottleneck"])
    shorter = aqmlab.load(small, {"duration": "1 s"})
    assert shorter.duration == 1.0
    assert aqmlab.run(loaded, "pi").links == aqmlab.run(small, "pi").links
    assert aqmlab.run(small, "pi", set={"duration": "1 s"}).links == aqmlab.run(shorter, "pi").links
    with pytest.raises(aqmlab.InputError, match="set"):
        aqmlab.load(loaded, {"duration": "1 s"})


def test_every_built_in_scenario_can_be_read() -> None:
    assert len(aqmlab.scenarios()) >= 9
    for name in aqmlab.scenarios():
        assert aqmlab.load(name).name == name


def test_comparison_table(small: str) -> None:
    compared = aqmlab.compare(small, ["pi", "droptail"], seeds=3)
    table = compared.table()
    assert list(table.index) == ["pi", "droptail"]
    values = [compared.runs["pi", seed].links["bottleneck"].queue_mean for seed in (1, 2, 3)]
    assert table.loc["pi", ("queue_mean", "mean")] == pytest.approx(sum(values) / 3)
    assert compared.runs["pi", 1].series
    assert not compared.runs["pi", 2].series
    assert aqmlab.compare(small, "pi").table()[("queue_mean", "ci95")].isna().all()


def test_a_scheme_given_twice_runs_once(small: str) -> None:
    assert aqmlab.compare(small, "pi,rem,pi").schemes == ("pi", "rem")


def test_progress_grows_to_the_number_of_runs(small: str) -> None:
    seen: list[tuple[float, int]] = []
    long = aqmlab.load(small, {"duration": "500 s"})
    aqmlab.compare(long, "pi,rem", seeds=2, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (4, 4)


def test_a_run_that_fails_loses_no_other(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = aqmlab.load(small)
    real = _core.run

    def broken(scenario: Scenario, aqm: str, seed: int, *rest: Any) -> Run:
        if seed == 2:
            raise RuntimeError("the queue is on fire")
        return real(scenario, aqm, seed, *rest)

    monkeypatch.setattr(_core, "run", broken)
    compared = aqmlab.compare(loaded, "pi,rem", seeds=3)
    assert sorted(compared.runs) == [("pi", 1), ("pi", 3), ("rem", 1), ("rem", 3)]
    assert [str(failure) for failure in compared.failures] == [
        "small, pi, seed 2: the queue is on fire",
        "small, rem, seed 2: the queue is on fire",
    ]
    assert compared.table().notna().loc["pi", ("queue_mean", "ci95")]
    with pytest.raises(aqmlab.RunError, match="on fire"):
        aqmlab.run(loaded, "pi", seed=2)


def test_outcomes_keep_the_order_of_the_tasks(small: str) -> None:
    long, short = aqmlab.load(small), aqmlab.load(small, {"duration": "0.1 s"})
    tasks = [Task(long if i % 2 else short, "pi", i) for i in range(8)]
    outcomes = run_many(tasks, jobs=4)
    assert all(not isinstance(outcome, Failure) for outcome in outcomes)
    assert [outcome.seed for outcome in outcomes] == list(range(8))  # type: ignore[union-attr]


def test_an_exception_while_waiting_stops_the_runs(small: str) -> None:
    loaded = aqmlab.load(small, {"duration": "100000 s"})
    quick = aqmlab.load(small)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_many([Task(quick, "pi", 1), Task(loaded, "pi", 1), Task(loaded, "pi", 2)], 2, interrupt)


def test_a_cancelled_run_says_so(small: str) -> None:
    watch = Watch()
    watch.cancel()
    assert watch.is_cancelled()
    with pytest.raises(Interrupted):
        _core.run(aqmlab.load(small, {"duration": "1000 s"}), "pi", 1, False, watch)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda small: aqmlab.compare(small, 3), "aqms: 3: expected one scheme at least"),
        (lambda small: aqmlab.compare(small, []), "aqms: []: expected one scheme at least"),
        (lambda small: aqmlab.compare(small, "pi", seeds="3"), "seeds: '3': expected the number of seeds"),
        (lambda small: aqmlab.run(small, "pi", seed="1"), "seed: '1': expected a whole number"),
        (lambda _: aqmlab.sweep({"aqms": "pi"}, "x"), "experiment: {'aqms': 'pi'}: expected the path"),
    ],
)
def test_a_value_of_a_wrong_type_is_named(small: str, call: Any, words: str) -> None:
    with pytest.raises(aqmlab.InputError, match=re.escape(words)):
        call(small)


def test_a_table_may_be_named_by_a_number() -> None:
    [table] = aqmlab.reproduce("sun2007", tables=[1], seeds=1).tables
    assert table.number == "1"


WRITTEN = """schema = 1
duration = "1 s"  # short
[[links]]
rate = "10 Mbit/s"
buffer = "50 packets"
[[flows]]
count = 2
rtt = "20 ms"
ecn = true
tcp = { profile = "linux" }
"""
VALUES = {
    "schema": 1,
    "duration": "1 s",
    "links": [{"rate": "10 Mbit/s", "buffer": "50 packets"}],
    "flows": [{"count": 2, "rtt": "20 ms", "ecn": True, "tcp": {"profile": "linux"}}],
}


def test_a_scenario_of_values_is_that_of_the_text() -> None:
    described = Scenario.of(VALUES, "both", [("flows.0.count", "3")])
    written = Scenario.parse(WRITTEN, "both", [("flows.0.count", "3")])
    assert described.resolved() == written.resolved()
    assert Scenario.parse(described.text, "both", described.overrides).resolved() == written.resolved()


def test_a_mistake_in_values_has_a_path_and_no_line() -> None:
    with pytest.raises(aqmlab.InputError) as caught:
        Scenario.of({**VALUES, "links": [{"rate": "10"}]}, "mine")
    assert [(each.path, each.location) for each in caught.value.problems if "rate" in each.path] == [
        ("links.bottleneck.rate", None)
    ]


def test_flows_are_added_to_a_scenario_and_its_text_stays() -> None:
    written = Scenario.parse(WRITTEN, "mine", [("flows.0.count", "3")])
    more = written.with_flows({"name": "b", "count": 1, "rtt": "5 ms"})
    assert more.text.startswith(WRITTEN)
    assert [(name, more.group(name).count) for name in more.flows] == [("flows", 3), ("b", 1)]
    with pytest.raises(aqmlab.InputError, match=r"flows\.b: this name is used twice"):
        more.with_flows({"name": "b", "rtt": "5 ms"})
