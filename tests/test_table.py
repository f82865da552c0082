"""The one table of runs: its long form, the names of measures, and what it says over seeds."""

import pickle
from dataclasses import fields
from pathlib import Path

import pytest

import aqmlab
from aqmlab import _core
from aqmlab.runs import metrics
from aqmlab.runs.results import RunResult
from aqmlab.runs.table import Table

RUNS = {
    ("home", "pi:w=85Hz"): {1: {"links.up.queue_mean": 10.0}, 2: {"links.up.queue_mean": 14.0}},
    ("home", "red"): {
        1: {"links.up.queue_mean": 20.0, "total.jain": 0.5, "links.up.drops.early": 3.0},
        2: {"links.up.queue_mean": 30.0, "total.jain": None},
        3: {"links.up.queue_mean": 5.0},
    },
}


@pytest.fixture
def table() -> Table[str]:
    return Table(RUNS, {"home": "up"})


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest) -> RunResult:
    return aqmlab.run(request.path.parent / "small.toml", "red")


def test_the_long_form_has_a_row_for_each_value(table: Table[str]) -> None:
    rows = list(table.rows())
    assert len(rows) == 2 + 3 + 2 + 1
    assert rows[0] == ("home", "pi", "w=85Hz", 1, "links.up", "queue_mean", 10.0, "packets")
    assert ("home", "red", "", 2, "total", "jain", None, "1") in rows
    assert ("home", "red", "", 1, "links.up", "drops.early", 3.0, "packets") in rows
    assert list(table.frame().columns) == [
        "scenario",
        "scheme",
        "parameters",
        "seed",
        "place",
        "measure",
        "value",
        "unit",
    ]


def test_a_measure_of_the_first_link_may_leave_its_name_out(table: Table[str]) -> None:
    assert table.values("home", "red", "link.queue_mean") == {1: 20.0, 2: 30.0, 3: 5.0}
    assert table.values("home", "red", "total.jain") == {1: 0.5}
    assert table.values("home", "nobody", "total.jain") == {}


def test_a_reason_that_never_came_up_dropped_nothing(table: Table[str]) -> None:
    assert table.values("home", "red", "link.drops.early") == {1: 3.0, 2: 0.0, 3: 0.0}


def test_a_difference_is_over_the_seeds_that_both_have(table: Table[str]) -> None:
    found = table.difference("home", "red", "pi:w=85Hz", "link.queue_mean")
    assert found is not None
    assert (found.difference.mean, found.difference.n) == (((20 - 10) + (30 - 14)) / 2, 2)
    assert table.difference("home", "red", "nobody", "link.queue_mean") is None


def test_two_states_are_named_by_their_seeds() -> None:
    queues = {seed: 632.0 + seed if seed % 5 == 0 else 348.0 + seed % 5 for seed in range(1, 16)}
    runs = {("s", "ared"): {seed: {"links.a.queue_mean": q, "total.jain": q / 1000} for seed, q in queues.items()}}
    table = Table(runs, {"s": "a"})
    states = table.states("s", "ared")
    assert states is not None
    low, high = states
    assert (low.n, low.mean, high.seeds, high.mean) == (12, 350.5, (5, 10, 15), 642.0)
    summary = table.summary("s", "ared", "total.jain", high)
    assert summary is not None
    assert (summary.mean, summary.n) == (pytest.approx(0.642), 3)


def test_every_value_of_a_run_is_declared(run: RunResult) -> None:
    for name in run.values:
        assert metrics.find(name).unit in {"ratio", "packets", "s", "bit/s", "bit/s^2", "1", "1/s"}
        place, metric = metrics.split(name)
        assert f"{place}.{metric}" == name


def test_the_values_of_a_run_are_those_of_its_json(run: RunResult) -> None:
    assert run.values["links.bottleneck.queue_mean"] == run.links["bottleneck"].queue_mean
    assert run.values["flows.ftp.goodput"] == run.flows["ftp"].goodput
    assert run.values["total.jain"] == run.total.jain
    assert run.values["links.bottleneck.drops.overflow"] == run.links["bottleneck"].drops["overflow"]


def test_a_comparison_is_a_view_of_the_table(run: RunResult) -> None:
    compared = aqmlab.compare(Path(__file__).parent / "small.toml", "red,pi", seeds=1)
    frame = compared.measured.frame()
    assert set(frame["scheme"]) == {"red", "pi"}
    red = frame[(frame.scheme == "red") & (frame.place == "links.bottleneck") & (frame.measure == "queue_mean")]
    assert red["value"].tolist() == [run.links["bottleneck"].queue_mean]


def test_an_unknown_measure_is_refused_with_the_nearest() -> None:
    with pytest.raises(aqmlab.InputError, match=r'did you mean "total\.jain"'):
        metrics.find("total.jane")
    with pytest.raises(aqmlab.InputError, match="no measure"):
        metrics.find("queue_mean")


@pytest.mark.parametrize(
    "result",
    [
        metrics.LinkResult,
        metrics.FlowResult,
        metrics.CallResult,
        metrics.VideoResult,
        metrics.MediaResult,
        metrics.SlowdownResult,
        metrics.StationResult,
    ],
)
def test_the_classes_have_the_fields_that_the_engine_declares(result: type) -> None:
    declared = _core.measures()[result.__name__]["fields"]
    assert [field.name for field in fields(result)] == [field["name"] for field in declared]


def test_a_scenario_travels_and_has_numbers(small: str) -> None:
    loaded = aqmlab.load(small, {"links.bottleneck.buffer": "90000 B"})
    again = pickle.loads(pickle.dumps(loaded))
    assert again.resolved() == loaded.resolved()
    link, flows = again.link("bottleneck"), again.group("ftp")
    assert (link.rate, link.rates, link.rate_changes) == (10e6, [10e6], False)
    assert link.buffer == pytest.approx(90_000 / (flows.payload + flows.header))
    with pytest.raises(aqmlab.InputError, match='did you mean "bottleneck"'):
        again.link("botleneck")
    with pytest.raises(aqmlab.InputError, match='did you mean "ftp"'):
        again.group("fpt")
