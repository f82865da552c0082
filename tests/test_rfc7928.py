"""RFC 7928: its scenarios, how they follow one's own link, what the suite says, and the physics behind it."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aqmlab as package
from aqmlab.batch import Failure
from aqmlab.comparison import Comparison
from aqmlab.results import RunResult
from aqmlab.suite import Experiment, Link, load_suite
from aqmlab.suite_plots import ellipse
from aqmlab.suite_result import DELAY, GOODPUT, SuiteResult, Trial, compare_suite
from aqmlab.suite_trace import loss_pattern, traces
from conftest import Aqmlab

SUITE = load_suite("rfc7928")
BY_SCENARIO = {experiment.scenario.removeprefix("rfc7928/"): experiment for experiment in SUITE.experiments}
SCENARIOS = [name for name in package.scenarios() if name.startswith("rfc7928/")]
MINE = SUITE.link("20 Mbit/s", "60 ms", 10)
"""Bandwidth-delay product: 20e6 × 0.06 / (8 × 1500) = 100 packets."""


def world(name: str, link: Link) -> Any:
    return json.loads(BY_SCENARIO[name].world(link).resolved_json())


def group(of: Any, name: str) -> Any:
    return next(entry for entry in of["flows"] if entry["name"] == name)


# Scenarios


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_runs_and_sends_no_more_than_its_links_carry(name: str) -> None:
    run = package.run(name, "codel")
    for link in run.links.values():
        assert link.departed > 0
        assert link.utilisation <= 1
    assert all(flows.received > 0 for flows in run.flows.values())


def test_every_scenario_is_in_the_suite_but_the_one_it_names() -> None:
    assert {experiment.scenario for experiment in SUITE.experiments} == set(SCENARIOS) - {"rfc7928/10.2-parameters"}


@pytest.mark.parametrize("experiment", SUITE.experiments, ids=lambda experiment: experiment.scenario)
def test_the_base_case_is_exactly_the_scenario(experiment: Experiment) -> None:
    given = json.loads(package.load(experiment.scenario).resolved_json())
    assert json.loads(experiment.world(SUITE.link()).resolved_json()) == given


def test_a_title_names_its_section() -> None:
    for experiment in SUITE.experiments:
        assert experiment.section.split()[0] in package.load(experiment.scenario).title


# One's own link


@pytest.mark.parametrize(
    ("link", "mild", "medium", "heavy"),
    [
        (SUITE.link(), 6, 14, 19),  # S = 83.3 + 84 = 167.3: 6.02, 13.55, 19.08
        (MINE, 7, 16, 23),  # S = 100 + 100: 7.2, 16.2, 22.8
        (Link(45e6, 0.08), 22, 49, 68),  # S = 300 + 300: 21.6, 48.6, 68.4
        (Link(1e6, 0.01), 1, 1, 1),  # S = 0.8 + 10: at least one flow
    ],
)
def test_levels_of_congestion(link: Link, mild: int, medium: int, heavy: int) -> None:
    assert [link.level(name) for name in ("mild", "medium", "heavy")] == [mild, medium, heavy]


def test_a_scenario_follows_the_link() -> None:
    first = world("5.1.1-newreno", MINE)
    bottleneck = first["links"][0]
    assert (bottleneck["rate"], bottleneck["buffer"]) == ("20 Mbit/s", "100 packets")
    packets = float(bottleneck["target"].removesuffix(" packets"))
    assert packets == pytest.approx(100 / 3, rel=1e-3), "20 ms is a third of the buffer's 60 ms"
    assert (group(first, "bulk")["rtt"], group(first, "bulk")["groups"][0]["count"]) == ("60 ms", 10)


def test_what_scales_with_the_link() -> None:
    assert group(world("5.3a-unresponsive", MINE), "udp")["rate"] == "24 Mbit/s"
    assert group(world("5.3b-unresponsive-and-newreno", MINE), "udp")["rate"] == "15 Mbit/s"
    near, far = world("6-rtt-5ms", MINE), world("6-rtt-560ms", MINE)
    assert (group(near, "class-2")["rtt"], near["links"][0]["buffer"]) == ("3 ms", "100 packets")
    assert (group(far, "class-2")["rtt"], far["links"][0]["buffer"]) == ("336 ms", "560 packets")
    capacity = world("8.2.6-capacity-1", MINE)["links"][0]
    assert (capacity["rate"]["values"], capacity["buffer"]) == (["200 Mbit/s", "20 Mbit/s"], "1000 packets")
    up = world("9.2-bidirectional", MINE)["links"][1]
    assert (up["rate"], up["buffer"]) == ("2 Mbit/s", "15000 B")


def test_flows_replace_the_rfc_s_few_flows_and_no_level_of_congestion() -> None:
    def counts(name: str) -> list[int]:
        return [entry["count"] for flows in world(name, MINE)["flows"] for entry in flows["groups"]]

    assert counts("6-rtt-20ms") == [10, 10]
    assert counts("8.2.4-heavy") == [23]
    assert counts("8.2.5-varying") == [7, 9, 7, 9, 7, 9, 7], "mild, then 9 more for medium, 7 more for heavy"
    assert counts("10.2-same") == [4, 4, 4], "half of 7, rounded"


def test_a_target_never_exceeds_a_third_of_the_buffer() -> None:
    slow = world("5.1.1-newreno", SUITE.link("20 Mbit/s", "15 ms"))["links"][0]
    assert slow["buffer"] == "25 packets"
    assert float(slow["target"].removesuffix(" packets")) == pytest.approx(25 / 3, rel=1e-3)


# Who is best


class Given(Trial):
    """A trial whose values are made up, by scheme."""

    made_up: Mapping[str, list[float]]

    def values(self, spec: str, measure: str) -> dict[int, float]:
        return dict(enumerate(self.made_up[spec]))


def given(values: Mapping[str, list[float]]) -> Given:
    experiment = SUITE.experiments[0]
    loaded = package.load(experiment.scenario)
    trial = Given(experiment, loaded, {}, Comparison(loaded, tuple(values), 3, (), 0.0))
    object.__setattr__(trial, "made_up", values)
    return trial


def test_the_best_and_those_as_good() -> None:
    """b less a: 5, -3, 4, mean 2 ± 4.30 × 4.36 / 1.73 = 10.8; b less c: -8 ± 10.8; c less a: 10; d: 0.5 above a."""
    trial = given({"a": [100, 108, 101], "b": [105, 105, 105], "c": [110, 118, 111], "d": [100.5, 108.5, 101.5]})
    assert trial.best[DELAY] == ("a", "b", "d")
    assert trial.best[GOODPUT] == ("b", "c")


def test_one_seed_has_no_interval_but_the_margin() -> None:
    assert given({"a": [100], "b": [100.9], "c": [101.1]}).best[DELAY] == ("a", "b")


def test_how_losses_fall() -> None:
    losses = loss_pattern(np.array([0.0, 0.01, 0.5]), np.array([1, 2, 1]), 4, 0.1)
    assert losses.gap == pytest.approx(0.25)
    assert losses.synchronisation == pytest.approx((2 / 4 + 1 / 4) / 2)
    assert loss_pattern(np.array([]), np.array([]), 4, 0.1).synchronisation is None
    assert loss_pattern(np.array([1.0]), np.array([1]), 1, 0.1).gap is None


def test_the_ellipse_of_a_known_covariance() -> None:
    (x, y), long, short, angle = ellipse(np.array([[-1, 5], [1, 5], [0, 4.5], [0, 5.5]]))
    assert (x, y) == (0, 5)
    assert long == pytest.approx(2 * (2 / 3) ** 0.5)
    assert short == pytest.approx(2 * (0.5 / 3) ** 0.5)
    assert angle % 180 == pytest.approx(0)
    _, long, short, angle = ellipse(np.array([[-1, -1], [1, 1], [0, 0]]))
    assert (long, short, angle % 180) == (pytest.approx(2 * 2**0.5), pytest.approx(0), pytest.approx(45))


# Physics


def test_droptail_has_the_longest_delay_under_one_flow() -> None:
    runs = package.compare("rfc7928/5.1.1-newreno", "droptail,red,codel,pie,fq-codel").runs
    delays = {spec: run.total.packet_delay_p95 or 0.0 for (spec, _), run in runs.items()}
    assert max(delays, key=delays.__getitem__) == "droptail"
    assert delays["droptail"] > 0.05 + 0.9 * 84 * 1500 * 8 / 10e6, "the buffer is all but full"


@pytest.mark.parametrize(("aqm", "starves"), [("droptail", True), ("codel", True), ("pie", True), ("fq-codel", False)])
def test_udp_above_the_capacity_starves_tcp_unless_flows_have_queues(aqm: str, starves: bool) -> None:
    run = package.run("rfc7928/5.3b-unresponsive-and-newreno", aqm, set={"flows.udp.rate": "12 Mbit/s"})
    share = run.flows["bulk"].goodput / 10e6
    assert share < 0.02 if starves else share > 0.35


def test_ledbat_gives_way_where_the_queue_is_long() -> None:
    run = package.run("rfc7928/5.4-ledbat", "droptail")
    assert run.flows["ledbat"].goodput < 0.1 * run.flows["bulk"].goodput


def test_the_near_class_gets_more_and_flow_queueing_evens_it_out() -> None:
    def ratio(run: RunResult) -> float:
        return run.flows["class-2"].goodput / run.flows["class-1"].goodput

    fifo, fair = (package.run("rfc7928/6-rtt-5ms", aqm) for aqm in ("codel", "fq-codel"))
    assert ratio(fifo) > 3
    assert 1 <= ratio(fair) < 2


def test_a_trace_gives_the_distributions() -> None:
    whole = compare_suite("rfc7928", "droptail")
    result = replace(whole, trials=whole.trials[:1])
    [traced] = traces(result).values()
    assert 0 <= traced.delay[0] <= traced.delay[-1] <= 84 * 1500 * 8 / 10e6, "at most a full buffer"
    assert traced.goodput[-1] == pytest.approx(10e6 * 1460 / 1500, rel=0.01), "a busy link"
    mean = float(traced.goodput.mean())
    assert mean == pytest.approx(whole.trials[0].values("droptail", GOODPUT)[1], rel=0.01)
    assert traced.losses.synchronisation is None, "a single flow"


# As a user types it


@pytest.fixture(scope="module")
def result() -> SuiteResult:
    return compare_suite("rfc7928", "droptail,pie,fq-codel", rate="5 Mbit/s", rtt="40 ms", flows=3)


def test_ranks_and_wins_agree_with_the_measures(result: SuiteResult) -> None:
    for measure, best in ((DELAY, min), (GOODPUT, max)):
        ranking = result.ranking(measure)
        assert ranking
        assert ranking.blocks == 26
        assert sum(ranking.ranks.values()) == pytest.approx(1 + 2 + 3)
        for trial in result.trials:
            means = {spec: summary.mean for spec in result.schemes if (summary := trial.summary(spec, measure))}
            assert best(means, key=means.__getitem__) in trial.best[measure]
    assert any("One seed" in caveat for caveat in result.caveats)


def test_a_failed_run_leaves_a_gap_and_no_other(result: SuiteResult) -> None:
    first = result.trials[0]
    outcomes = first.comparison.outcomes
    failed = [Failure(task=None, error=RuntimeError("lost")), *outcomes[1:]]  # type: ignore[arg-type]
    broken = replace(first, comparison=replace(first.comparison, outcomes=tuple(failed)))
    assert broken.summary("droptail", GOODPUT) is None
    assert "droptail" not in broken.best[GOODPUT]
    ranking = replace(result, trials=[broken, *result.trials[1:]]).ranking(GOODPUT)
    assert ranking
    assert ranking.blocks == 25


def test_compare_with_a_suite_leaves_a_report(aqmlab: Aqmlab, tmp_path: Path) -> None:
    link = ("--rate", "1Mbit/s", "--rtt", "60ms", "--flows", 2)
    answer = aqmlab("compare", "--study", "rfc7928", "--aqms", "pie,fq-codel", *link, "--json", "--out", "out")
    assert answer.returncode == 0, answer.stderr
    document = json.loads(answer.stdout)
    assert [document[key] for key in ("study", "rate", "rtt", "flows", "seeds")] == ["rfc7928", 1e6, 0.06, 2, 1]
    assert len(document["experiments"]) == 26
    assert document["ranking"][GOODPUT] is None, "two schemes are not ranked"
    first = document["experiments"][0]
    assert first["set"]["links.bottleneck.rate"] == "1 Mbit/s"
    assert {entry["measure"] for entry in first["measures"]} >= {GOODPUT, "Loss", "Delay p50", DELAY, "Delay p99"}
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"report.html", "results.json"} | {
        f"{stem}.{kind}" for stem in ("trade-off", "delay", "goodput") for kind in ("svg", "png")
    }
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "--study rfc7928 --rate 1Mbit/s" in page
    assert page.count("<svg") == 3
    assert not re.search(r'(src|href)="(?!#)', re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL))
    assert json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8")) == document


def test_compare_with_a_suite_prints_measures_matrix_and_caveats(aqmlab: Aqmlab) -> None:
    answer = aqmlab("compare", "--study", "rfc7928", "--aqms", "droptail,pie,fq-codel", "--rate", "2 Mbit/s")
    assert answer.returncode == 0
    for text in ("8.2.3 medium congestion", "Class II / I", "Which one for this link", "critical difference", "Note:"):
        assert text in answer.stdout


def test_the_suite_is_listed_and_shown(aqmlab: Aqmlab) -> None:
    assert "rfc7928" in [entry["name"] for entry in json.loads(aqmlab("list", "studies", "--json").stdout)]
    page = aqmlab("show", "rfc7928").stdout
    assert all(experiment.scenario in page for experiment in SUITE.experiments)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["compare", "--study", "rfc7928", "--rate", "20"], ["rate", "20", "unit"]),
        (["compare", "--study", "rfc7928", "--rate", ""], ["rate"]),
        (["compare", ""], ["scenario"]),
        (["compare", "--study", "rfc7928", "--rate", "20 Mbits"], ["rate", "Mbit/s"]),
        (["compare", "--study", "rfc7928", "--rate", "1 bit/s"], ["rate", "1 bit/s", "100 kbit/s"]),
        (["compare", "--study", "rfc7928", "--rtt", "50 s"], ["rtt", "50 s", "1 s"]),
        (["compare", "--study", "rfc7928", "--rtt", "{ values = ['1 ms', '2 ms'] }"], ["rtt", "one rtt"]),
        (["compare", "--study", "rfc7928", "--flows", "0"], ["flows", "0"]),
        (["compare", "--study", "rfc7928", "--aqms", "pie,cdel"], ["cdel", "codel"]),
        (["compare", "--study", "rfc7928", "--seeds", "1000000000"], ["seeds", "1000000000"]),
        (["compare", "--study", "rfc7982"], ["study", "rfc7982", "rfc7928"]),
        (["compare", "--study", "li2014"], ["study", "li2014", "aqmlab reproduce"]),
        (["compare", "--study", "rfc7928", "li2014/table-1"], ["scenario", "--study"]),
        (["compare"], ["scenario", "--study"]),
        (["compare", "li2014/table-1", "--rate", "5 Mbit/s"], ["rate", "5 Mbit/s", "--study"]),
        (["compare", "li2014/table-1", "--flows", "5"], ["flows", "5", "--study"]),
        (["reproduce", "rfc7928"], ["rfc7928", "aqmlab compare --study rfc7928"]),
    ],
)
def test_a_mistake(aqmlab: Aqmlab, tmp_path: Path, args: list[str], words: list[str]) -> None:
    answer = aqmlab(*args, "--out", "out")
    assert answer.returncode == 2
    assert "Traceback" not in answer.stderr
    assert answer.stdout == ""
    assert all(word in answer.stderr for word in words), answer.stderr
    assert list(tmp_path.iterdir()) == []
