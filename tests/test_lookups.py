"""Python's errors for slips: they name the field, what was given, what was expected, and the nearest name."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import aqmlab
from aqmlab.names import Named
from conftest import SMALL

FILE = str(SMALL)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"duration": 5}, ["duration", '"5" has no unit', "80 ms"]),
        ({"duration": 2.5}, ["duration", '"2.5" has no unit']),
        ({"duration": None}, ["set: duration: None", "5 s"]),
        ({"duration": ["5 s"]}, ["set: duration: ['5 s']", "expected a text"]),
        ("duration=5 s", ["set: 'duration=5 s'", "by path"]),
    ],
)
@pytest.mark.parametrize("call", [aqmlab.run, aqmlab.compare, aqmlab.Simulation, aqmlab.load])
def test_a_value_that_cannot_be_set(values: Any, words: list[str], call: Callable[..., Any]) -> None:
    with pytest.raises(aqmlab.InputError) as raised:
        call(FILE, set=values)
    assert all(word in str(raised.value) for word in words), str(raised.value)


def test_plain_numbers_and_truth_values_may_be_set_as_such() -> None:
    given = {"flows.ftp.count": np.int64(3), "links.bottleneck.ecn": True, "flows.ftp.start_spread": 0.5}
    as_text = {"flows.ftp.count": "3", "links.bottleneck.ecn": "true", "flows.ftp.start_spread": "0.5"}
    assert aqmlab.load(FILE, given).resolved() == aqmlab.load(FILE, as_text).resolved()
    simulation = aqmlab.Simulation(FILE)
    simulation.set("flows.ftp.count", 3)
    assert simulation.count("ftp") == 3


@pytest.mark.parametrize("seed", [-1, 1.5, 2**64, "x", True, None])
@pytest.mark.parametrize("call", [aqmlab.run, aqmlab.Simulation])
def test_a_seed_that_is_none(seed: Any, call: Callable[..., Any]) -> None:
    with pytest.raises(aqmlab.InputError, match=r"^seed: .*: expected a whole number from 0 to 18446744073709551615$"):
        call(FILE, seed=seed)


@pytest.mark.parametrize("seeds", [[1, 1], [1, 2], "3", 1.5, 0, -1])
def test_a_number_of_seeds_that_is_none(seeds: Any) -> None:
    with pytest.raises(aqmlab.InputError, match=r"^seeds: .*(expected the number of seeds, such as 3|1 to 10000)"):
        aqmlab.compare(FILE, "pi", seeds=seeds)


def test_a_scenario_that_is_none() -> None:
    with pytest.raises(aqmlab.InputError, match="scenario: 5: expected a built-in name, a path"):
        aqmlab.run(5)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def run() -> Any:
    return aqmlab.run(FILE, "pi", series=True)


@pytest.fixture(scope="module")
def compared() -> Any:
    return aqmlab.compare(FILE, "pi,red", 2)


@pytest.mark.parametrize(
    ("look", "words"),
    [
        (lambda run: run.links["botleneck"], ["links", '"botleneck"', 'did you mean "bottleneck"?']),
        (lambda run: run.flows["fpt"], ["flows", '"fpt"', 'did you mean "ftp"?']),
        (lambda run: run.series["botleneck"], ["series", 'did you mean "bottleneck"?']),
        (lambda run: run.series["bottleneck"]["que"], ["series of bottleneck", 'did you mean "queue"?']),
        (lambda run: run.delays["botleneck"], ["delays", 'did you mean "bottleneck"?']),
        (lambda run: run.flow_table["grup"], ["flow_table", 'did you mean "group"?']),
        (lambda run: run.values["links.bottleneck.queue_men"], ['did you mean "links.bottleneck.queue_mean"?']),
    ],
)
def test_a_name_that_a_run_does_not_have(look: Callable[[Any], Any], words: list[str], run: Any) -> None:
    for kind in (KeyError, aqmlab.InputError):
        with pytest.raises(kind) as raised:
            look(run)
        assert all(word in str(raised.value) for word in words), str(raised.value)


def test_series_that_were_not_recorded_are_said_to_be_so() -> None:
    with pytest.raises(KeyError, match="series=True"):
        aqmlab.run(FILE, "pi").series["bottleneck"]


@pytest.mark.parametrize(
    ("look", "words"),
    [
        (lambda of: of.runs["pie", 1], ["runs", "('pi', 1)"]),
        (lambda of: of.summary("pie", "link.queue_mean"), ["pie", "pi"]),
        (lambda of: of.summary("pi", "links.botleneck.queue_mean"), ["botleneck", "bottleneck"]),
        (lambda of: of.summary("pi", "flows.fpt.goodput"), ["fpt", "ftp"]),
        (lambda of: of.table("botleneck"), ["botleneck", "bottleneck"]),
    ],
)
def test_a_name_that_a_comparison_does_not_have(look: Callable[[Any], Any], words: list[str], compared: Any) -> None:
    with pytest.raises(aqmlab.InputError) as raised:
        look(compared)
    assert all(word in str(raised.value) for word in words), str(raised.value)


def test_such_a_mapping_is_a_dictionary_otherwise(run: Any) -> None:
    assert run.links.get("botleneck") is None
    assert "botleneck" not in run.links
    for again in (pickle.loads(pickle.dumps(run.links)), copy.deepcopy(run.links)):
        assert isinstance(again, Named)
        assert (again, again.field) == (run.links, "links")
