"""The scenarios of Boudi & Loudini have the flows that their levels ask for; its figures are its text's."""

import sys
from pathlib import Path
from statistics import fmean

import pytest

import aqmlab
from aqmlab.analysis import fuzzy
from aqmlab.present.figures import study as figures_of_study
from aqmlab.present.plots.data import HeatMaps, LineChart
from aqmlab.study.congestion import find_flows

VALIDATION = Path(__file__).parent.parent / "validation"
sys.path.insert(0, str(VALIDATION))

import boudi  # noqa: E402


def flows(name: str) -> dict[str, int]:
    """How many flows each group of a scenario has at the start."""
    return {each["name"]: each["groups"][0]["count"] for each in aqmlab.load(name).resolved()["flows"]}


def signalled(name: str, aqm: str, count: int) -> float:
    """The share of the packets that are dropped or marked, mean over the seeds of the search."""
    runs = [aqmlab.run(name, aqm, seed=seed, set={"flows.*.count": str(count)}) for seed in (1, 2, 3)]
    links = [run.links["bottleneck"] for run in runs]
    return fmean(link.drop_ratio + link.mark_ratio for link in links)


@pytest.mark.parametrize(("of", "level", "aqm"), [("", "light", "pid"), ("droptail-", "light", "droptail")])
def test_fewer_flows_lose_less_than_the_level(of: str, level: str, aqm: str) -> None:
    name = f"boudi/{of}{level}-50"
    [count] = set(flows(name).values())
    assert signalled(name, aqm, count - 1) < boudi.LEVELS[level] <= signalled(name, aqm, count)


@pytest.mark.parametrize("of", boudi.BANDWIDTHS)
def test_flows_are_in_proportion_to_the_bandwidth(of: str) -> None:
    for level in boudi.LEVELS:
        [searched] = set(flows(f"boudi/{of}{level}-50").values())
        for rate in boudi.BANDWIDTHS[of]:
            text = aqmlab.load(f"boudi/{of}{level}-{rate}").text
            assert text == boudi.scenario(of, level, rate, round(searched * rate / 50))


def test_the_transient_goes_through_the_three_levels() -> None:
    counts = {level: flows(f"boudi/{level}-50")["rtt-40"] for level in boudi.LEVELS}
    assert (boudi.FOLDER / "transient.toml").read_text(encoding="utf-8") == boudi.transient(counts)


@pytest.mark.nightly
def test_the_search_is_exact_for_small_numbers(tmp_path: Path) -> None:
    """One flow alone never overflows twice its bandwidth-delay product once it is out of slow start."""
    file = tmp_path / "scenario.toml"
    file.write_text(boudi.scenario("lognormal-", "light", 10, 1), encoding="utf-8")
    few = find_flows(file, 0.0001)
    assert 1 <= few < find_flows(file, 0.01)


def test_the_example_of_the_paper() -> None:
    """Eq. (9): a round trip of 100 ms is 75 % of category 2 and 25 % of category 3."""
    shares = {name: line[100] for name, line in fuzzy.categories([100]).items()}
    assert shares == {"Cat 1": 0, "Cat 2": 0.75, "Cat 3": 0.25, "Cat 4": 0, "Cat 5": 0}
    assert [line[720] for line in fuzzy.categories([720]).values()] == [0, 0, 0, 0, 1], "above 640 ms: the fifth"
    assert [line[0] for line in fuzzy.categories([0]).values()] == [1, 0, 0, 0, 0], "less than 40 ms: the first"


def test_terms_of_inputs_and_output_add_up_to_one() -> None:
    for law in (fuzzy.inputs, fuzzy.outputs, fuzzy.probabilities):
        for x in (0.0, 0.1, 0.4, 1.0):
            assert sum(line[x] for line in law([x]).values()) == pytest.approx(1)
    assert fuzzy.outputs([0.75])["PB"] == {0.75: 1}


def test_the_surface_at_its_corners_is_table_i() -> None:
    surface = fuzzy.surface([-1, 0, 1])
    corners = [[surface[error][change] for change in (-1, 0, 1)] for error in ("-1", "0", "1")]
    assert corners == [[-1, -0.75, 0], [-0.75, 0, 0.75], [0, 0.75, 1]], "NH, NB, Z; NB, Z, PB; Z, PB, PH"


def test_the_figures_of_the_controller_need_no_run() -> None:
    again = aqmlab.reproduce("boudi", figures=["1", "2", "3", "4", "I"])
    assert again.comparisons == {}
    drawn = [figures_of_study.figure(again, figure) for figure in again.figures]
    assert [type(each) for each in drawn] == [LineChart] * 4 + [HeatMaps]
    [*_, surface] = drawn
    assert isinstance(surface, HeatMaps)
    assert surface.panels[0].values.shape == (13, 13)
    assert surface.panels[0].values[12, 0] == 0, "a long queue that shrinks fast: Z"
