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
from aqmlab.present.figures.ellipses import of_spread
from aqmlab.present.figures.suite import trade_off
from aqmlab.present.suite_words import link as in_words
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.results import RunResult
from aqmlab.runs.table import Table
from aqmlab.runs.task import Failure
from aqmlab.study.suite import Experiment, LinkSetting, Phases, load_suite
from aqmlab.study.suite_result import DELAY, GOODPUT, SuiteResult, Trial, compare_suite, queueing_delay
from aqmlab.study.suite_trace import Phase, by_phase, loss_pattern, traces
from conftest import Aqmlab

SUITE = load_suite("rfc7928")
BY_SCENARIO = {experiment.scenario.removeprefix("rfc7928/"): experiment for experiment in SUITE.experiments}
SCENARIOS = [name for name in package.scenarios() if name.startswith("rfc7928/")]
MINE = SUITE.link("20 Mbit/s", "60 ms", 10)
"""Bandwidth-delay product: 20e6 × 0.06 / (8 × 1500) = 100 packets."""


def resolved(name: str, link: LinkSetting) -> Any:
    return BY_SCENARIO[name].scenario_at(link).resolved()


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
    given = package.load(experiment.scenario).resolved()
    assert experiment.scenario_at(SUITE.link()).resolved() == given


def test_a_title_names_its_section() -> None:
    for experiment in SUITE.experiments:
        assert experiment.section.split()[0] in package.load(experiment.scenario).title


# One's own link


@pytest.mark.parametrize(
    ("link", "mild", "medium", "heavy"),
    [
        (SUITE.link(), 6, 14, 19),  # S = 83.3 + 84 = 167.3: 6.02, 13.55, 19.08
        (MINE, 7, 16, 23),  # S = 100 + 100: 7.2, 16.2, 22.8
        (LinkSetting(45e6, 0.08), 22, 49, 68),  # S = 300 + 300: 21.6, 48.6, 68.4
        (LinkSetting(1e6, 0.01), 1, 1, 1),  # S = 0.8 + 10: at least one flow
    ],
)
def test_levels_of_congestion(link: LinkSetting, mild: int, medium: int, heavy: int) -> None:
    assert [link.level(name) for name in ("mild", "medium", "heavy")] == [mild, medium, heavy]


def test_a_scenario_follows_the_link() -> None:
    first = resolved("5.1.1-newreno", MINE)
    bottleneck = first["links"][0]
    assert (bottleneck["rate"], bottleneck["buffer"]) == ("20 Mbit/s", "100 packets")
    packets = float(bottleneck["target"].removesuffix(" packets"))
    assert packets == pytest.approx(100 / 3, rel=1e-3), "20 ms is a third of the buffer's 60 ms"
    assert (group(first, "bulk")["rtt"], group(first, "bulk")["groups"][0]["count"]) == ("60 ms", 10)


def test_a_buffer_of_one_s_own_and_a_rate_upwards() -> None:
    [link] = SUITE.links("20 Mbit/s", "60 ms", None, "1000 ms", "4 Mbit/s")
    first = resolved("6-rtt-560ms", link)["links"][0]
    assert (first["buffer"], first["target"]) == ("2500000 B", "33.333333333333336 packets")  # 20 ms of 20 Mbit/s
    down, up = resolved("9.2-bidirectional", link)["links"]
    assert (down["rate"], down["buffer"]) == ("20 Mbit/s", "2500000 B")
    assert (up["rate"], up["buffer"]) == ("4 Mbit/s", "500000 B")
    assert resolved("9.1-mix", link)["links"][1]["rate"] == "4 Mbit/s"
    # S = 100 + 1666.7 packets; upwards a fifth of that: 0.036 S = 63.6 and 12.7.
    assert link.level("mild") == 64
    assert group(resolved("9.2-bidirectional", link), "upload")["groups"][0]["count"] == 13
    [small] = SUITE.links("20 Mbit/s", "60 ms", None, "15 packets")
    assert resolved("5.1.1-newreno", small)["links"][0]["target"] == "5 packets"


def test_a_part_of_the_suite() -> None:
    def names(patterns: str) -> list[str]:
        return [each.scenario.removeprefix("rfc7928/") for each in SUITE.only(patterns).experiments]

    assert names("5.1.1") == ["5.1.1-newreno"]
    assert names("8.2.*, 5.2-cubic")[:2] == ["5.2-cubic", "8.2.2-mild"]
    assert names("*-bidirectional,rfc7928/9.1*") == ["9.1-mix", "9.2-bidirectional"]
    result = compare_suite("rfc7928", "droptail,codel", only="5.2,8.2.2", buffer="1000 ms")
    assert [trial.experiment.section for trial in result.trials] == ["5.2", "8.2.2"]
    p95 = {spec: [*result.trials[0].values(spec, DELAY).values()] for spec in result.schemes}
    assert p95["droptail"] > [0.5]
    assert p95["codel"] < [0.1]


def test_a_law_takes_the_place_of_newreno() -> None:
    """And of nothing else: 5.4 is about LEDBAT beside NewReno, 9.1 has CUBIC in it."""
    suite = SUITE.with_law("vegas:alpha=3")
    laws = {
        each.scenario.removeprefix("rfc7928/"): [
            flows["tcp"]["congestion_control"].partition(",")[0]
            for flows in each.scenario_at(MINE).resolved()["flows"]
            if "tcp" in flows
        ]
        for each in suite.experiments
    }
    own = "vegas:alpha=3"
    assert (laws["5.1.1-newreno"], laws["4.4-sizes"]) == ([own], [own, own])
    assert laws["5.2-cubic"] == ["cubic:c=0.4"]
    assert laws["5.4-ledbat"] == [own, "ledbat:target=5 ms"]
    assert laws["9.1-mix"] == [own, own, "cubic:c=0.4"]
    result = compare_suite("rfc7928", "codel", only="5.1.1", law="cubic")
    assert result.document()["law"] == "cubic"
    assert "of cubic in place of reno" in in_words(result)
    with pytest.raises(package.InputError, match="l4s is defined for specific controllers"):
        compare_suite("l4s", law="cubic")


def test_what_scales_with_the_link() -> None:
    assert group(resolved("5.3a-unresponsive", MINE), "udp")["rate"] == "24 Mbit/s"
    assert group(resolved("5.3b-unresponsive-and-newreno", MINE), "udp")["rate"] == "15 Mbit/s"
    near, far = resolved("6-rtt-5ms", MINE), resolved("6-rtt-560ms", MINE)
    assert (group(near, "class-2")["rtt"], near["links"][0]["buffer"]) == ("3 ms", "100 packets")
    assert (group(far, "class-2")["rtt"], far["links"][0]["buffer"]) == ("336 ms", "560 packets")
    capacity = resolved("8.2.6-capacity-1", MINE)["links"][0]
    assert (capacity["rate"]["values"], capacity["buffer"]) == (["200 Mbit/s", "20 Mbit/s"], "1000 packets")
    up = resolved("9.2-bidirectional", MINE)["links"][1]
    assert (up["rate"], up["buffer"]) == ("2 Mbit/s", "15000 B")


def test_flows_replace_the_rfc_s_few_flows_and_no_level_of_congestion() -> None:
    def counts(name: str) -> list[int]:
        return [entry["count"] for flows in resolved(name, MINE)["flows"] for entry in flows["groups"]]

    assert counts("6-rtt-20ms") == [10, 10]
    assert counts("8.2.4-heavy") == [23]
    assert counts("8.2.5-varying") == [7, 9, 7, 9, 7, 9, 7], "mild, then 9 more for medium, 7 more for heavy"
    assert counts("10.2-same") == [4, 4], "half of 7 each, rounded"
    assert counts("4.4-sizes") == [4, 4]


def test_two_in_series_are_those_of_the_rfc_s_figure_3() -> None:
    """Senders A cross both queues, senders B the second alone; no others. The first has 0.4 of the rate."""
    for name in ("10.2-same", "10.2-schemes"):
        first, second = resolved(name, MINE)["links"]
        assert (first["rate"], first["buffer"]) == ("8 Mbit/s", "40 packets"), "20 Mbit/s and 100 packets, times 0.4"
        assert (second["rate"], second["buffer"]) == ("20 Mbit/s", "100 packets")
        paths = {flows["name"]: flows["path"] for flows in resolved(name, MINE)["flows"]}
        assert paths == {"senders-a": [0, 1], "senders-b": [1]}


def test_small_packets_have_500_bytes_and_ecn_is_on_where_the_rfc_says() -> None:
    sizes = [int(flows["packet"].split()[0]) for flows in resolved("4.4-sizes", MINE)["flows"]]
    assert [size + 40 for size in sizes] == [500, 1500]
    assert [flows["ecn"] for flows in resolved("4.5-ecn-5ms", MINE)["flows"]] == [True, True]
    assert (resolved("4.5-ecn-5ms", MINE)["links"], resolved("4.5-ecn-560ms", MINE)["links"]) == (
        resolved("6-rtt-5ms", MINE)["links"],
        resolved("6-rtt-560ms", MINE)["links"],
    )


def test_one_direction_keeps_droptail() -> None:
    down, up = resolved("9.2-one-aqm", MINE)["links"]
    assert (down["fixed"], up["fixed"], up["aqm"]) == (False, True, "droptail")


def test_a_target_never_exceeds_a_third_of_the_buffer() -> None:
    slow = resolved("5.1.1-newreno", SUITE.link("20 Mbit/s", "15 ms"))["links"][0]
    assert slow["buffer"] == "25 packets"
    assert float(slow["target"].removesuffix(" packets")) == pytest.approx(25 / 3, rel=1e-3)


@pytest.mark.parametrize("rate", ["100 kbit/s", "1 Mbit/s", "33 Mbit/s", "10 Gbit/s"])
@pytest.mark.parametrize("rtt", ["0.1 ms", "17 ms", "1 s"])
def test_every_scenario_has_a_place_on_every_link(rate: str, rtt: str) -> None:
    link = SUITE.link(rate, rtt)
    for experiment in SUITE.experiments:
        for place in experiment.scenario_at(link).resolved()["links"]:
            packets = [float(place[key].split()[0]) for key in ("target", "buffer") if "packets" in place[key]]
            assert packets == sorted(packets), "the target is not above the buffer"


# Who is best


class Given(Trial):
    """A trial whose values are made up, by scheme."""

    made_up: Mapping[str, list[float]]

    @property
    def measured(self) -> Table[str]:  # type: ignore[override]
        runs = {
            (self.experiment.scenario, spec): {i: {GOODPUT: value, DELAY: value} for i, value in enumerate(values)}
            for spec, values in self.made_up.items()
        }
        return Table(runs, {self.experiment.scenario: "bottleneck"})


def given(values: Mapping[str, list[float]]) -> Given:
    experiment = BY_SCENARIO["5.1.1-newreno"]
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
    """Maximum likelihood: the variances are 2/4 and 0.5/4, over n and not n - 1."""
    line = of_spread(np.array([[-1, 5], [1, 5], [0, 4.5], [0, 5.5]]))
    assert line is not None
    assert line.max(axis=0) == pytest.approx([(2 / 4) ** 0.5, 5 + (0.5 / 4) ** 0.5])
    assert line.min(axis=0) == pytest.approx([-((2 / 4) ** 0.5), 5 - (0.5 / 4) ** 0.5])
    flat = of_spread(np.array([[-1, -1], [1, 1], [0, 0.0]]))
    assert flat is not None
    assert flat[:, 0] == pytest.approx(flat[:, 1]), "on the diagonal"
    assert flat.max() == pytest.approx((2 / 3) ** 0.5)
    assert of_spread(np.array([[-1, -1], [1, 1.0]])) is None


def test_the_queueing_delay_is_what_exceeds_each_group_s_propagation(two_rtts: RunResult) -> None:
    """At 10 Mbit/s 1000 B take 0.8 ms and 500 B 0.4 ms; of the latter there are twice as many."""
    propagation = {"near": 0.005, "far": 0.1}
    assert queueing_delay(two_rtts, propagation, "near") == pytest.approx(0.0008, abs=1e-6)
    assert queueing_delay(two_rtts, propagation, "far") == pytest.approx(0.0004, abs=1e-6)
    assert queueing_delay(two_rtts, propagation) == pytest.approx((0.0008 + 2 * 0.0004) / 3, abs=1e-6)


@pytest.fixture(scope="module")
def two_rtts(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """Two constant streams that never meet: at the link every 4 ms from 2.5 ms on, and every 2 ms from 51.5 ms on."""
    file = tmp_path_factory.mktemp("udp") / "two.toml"
    flow = 'kind = "udp-cbr"\nrate = "2 Mbit/s"\nheader = "0 B"\n'
    file.write_text(
        'schema = 1\ntitle = "two"\nduration = "5 s"\nwarmup = "1 s"\n[[links]]\nname = "link"\nrate = "10 Mbit/s"\n'
        'buffer = "50 packets"\n'
        f'[[flows]]\nname = "near"\nrtt = "10 ms"\npacket = "1000 B"\n{flow}'
        f'[[flows]]\nname = "far"\nrtt = "200 ms"\npacket = "500 B"\nstart = "1.5 ms"\n{flow}',
        encoding="utf-8",
    )
    return package.run(file, "droptail")


def test_phases_by_hand() -> None:
    """Rounds of 2 s, measured from 2 s to 6 s: each phase lasts 2 s in all."""
    phases = Phases(["high", "low"], 1.0)
    sent = np.array([2.1, 2.9, 3.5, 4.5]), np.array([100.0, 200.0, 60.0, 300.0])
    waited = np.array([2.5, 4.5]), np.array([0.1, 0.3])
    assert by_phase(phases, sent, waited, 4.0) == [Phase(300.0, pytest.approx(0.2)), Phase(30.0, None)]


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


def only(result: SuiteResult, *names: str) -> SuiteResult:
    """Return some of the experiments alone."""
    wanted = {f"rfc7928/{name}" for name in names}
    return replace(result, trials=[trial for trial in result.trials if trial.experiment.scenario in wanted])


@pytest.fixture(scope="module")
def droptail() -> SuiteResult:
    return compare_suite("rfc7928", "droptail")


def test_the_phases_of_a_trace_follow_the_capacity(droptail: SuiteResult) -> None:
    [traced] = traces(only(droptail, "8.2.6-capacity-1")).values()
    high, low = traced.phases
    assert 0.95 < low.goodput / (10e6 * 1460 / 1500) <= 1, "all but busy at 10 Mbit/s"
    assert 2 * low.goodput < high.goodput < 100e6
    assert low.delay is not None
    assert high.delay is not None
    assert low.delay > 5 * high.delay, "a buffer for 100 Mbit/s fills at 10"


def test_a_class_has_a_panel_of_its_own(droptail: SuiteResult) -> None:
    some = only(droptail, "5.1.1-newreno", "9.2-bidirectional")
    alone, down, up = trade_off(some, some.trials).panels
    assert alone.title == "5.1.1 one NewReno flow"
    assert [panel.title.splitlines()[1] for panel in (down, up)] == ["download", "upload"]
    [(delay, goodput)] = alone.clouds["DropTail"].points
    run = some.trials[0].comparison.runs["droptail", 1]
    assert run.total.packet_delay_mean
    assert delay == pytest.approx(1e3 * (run.total.packet_delay_mean - 0.05)), "half of 100 ms is propagation"
    assert goodput == pytest.approx(run.total.goodput / 1e6)


def test_panels_of_a_class_share_their_axes(droptail: SuiteResult) -> None:
    some = only(droptail, "5.1.1-newreno", "5.2-cubic", "9.2-bidirectional")
    newreno, cubic, down, up = trade_off(some, some.trials).panels
    assert newreno.x_range == cubic.x_range
    assert newreno.y_range == cubic.y_range
    for panel in (newreno, cubic):
        [(delay, goodput)] = panel.clouds["DropTail"].points
        assert panel.x_range is not None
        assert panel.y_range is not None
        assert panel.x_range[0] < delay < panel.x_range[1]
        assert panel.y_range[0] < goodput < panel.y_range[1]
    assert down.x_range != up.x_range


def test_ecn_keeps_the_far_class_from_losses() -> None:
    run = package.run("rfc7928/4.5-ecn-560ms", "codel")
    link = run.links["bottleneck"]
    assert link.marked > 0
    assert link.dropped == 0
    assert sum(flows.retransmits for flows in run.flows.values()) == 0


def test_both_queues_in_series_lose_packets() -> None:
    run = package.run("rfc7928/10.2-same", "pie")
    first, second = run.links["first"].drop_ratio, run.links["second"].drop_ratio
    assert 0.5 < first / second < 2, "chosen so that A lose as much at the first as at the second"


def test_a_trace_gives_the_distributions(droptail: SuiteResult) -> None:
    whole = only(droptail, "5.1.1-newreno")
    [traced] = traces(whole).values()
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
        assert ranking.blocks == 30
        assert sum(ranking.ranks.values()) == pytest.approx(1 + 2 + 3)
        for trial in result.trials:
            means = {spec: summary.mean for spec in result.schemes if (summary := trial.summary(spec, measure))}
            assert best(means, key=means.__getitem__) in trial.best[measure]
    assert any("One seed" in caveat for caveat in result.caveats)
    assert not any("DropTail" in caveat for caveat in result.caveats)


def test_8_2_6_wants_droptail_beside_the_others(result: SuiteResult) -> None:
    assert any("8.2.6" in caveat for caveat in replace(result, schemes=("pie", "fq-codel")).caveats)


def test_a_failed_run_leaves_a_gap_and_no_other(result: SuiteResult) -> None:
    first = result.trials[0]
    outcomes = first.comparison.outcomes
    failed = [Failure(task=None, error=RuntimeError("lost")), *outcomes[1:]]  # type: ignore[arg-type]
    broken = replace(first, comparison=replace(first.comparison, outcomes=tuple(failed)))
    assert broken.summary("droptail", GOODPUT) is None
    assert "droptail" not in broken.best[GOODPUT]
    ranking = replace(result, trials=[broken, *result.trials[1:]]).ranking(GOODPUT)
    assert ranking
    assert ranking.blocks == 29


@pytest.mark.nightly
def test_compare_with_a_suite_leaves_a_report(aqmlab: Aqmlab, tmp_path: Path) -> None:
    link = ("--rate", "1Mbit/s", "--rtt", "60ms", "--flows", 2)
    answer = aqmlab("compare", "--study", "rfc7928", "--aqms", "pie,fq-codel", *link, "--json", "--out", "out")
    assert answer.returncode == 0, answer.stderr
    document = json.loads(answer.stdout)
    assert [document[key] for key in ("study", "rate", "rtt", "flows", "seeds")] == ["rfc7928", 1e6, 0.06, 2, 1]
    assert len(document["experiments"]) == 30
    assert document["ranking"][GOODPUT] is None, "two schemes are not ranked"
    first = next(entry for entry in document["experiments"] if entry["section"] == "5.1.1")
    assert first["set"]["links.bottleneck.rate"] == "1 Mbit/s"
    usual = {GOODPUT, "Loss", "Delay p50", DELAY, "Delay p99", "Queueing delay"}
    assert {entry["measure"] for entry in first["measures"]} >= usual
    assert any("8.2.6" in caveat for caveat in document["caveats"])
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"report.html", "results.json", "figures.tex"} | {
        f"{stem}.{kind}" for stem in ("trade-off", "delay", "goodput") for kind in ("pdf", "svg", "png")
    }
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "--study rfc7928 --rate 1Mbit/s" in page
    assert page.count("<svg") == 3
    assert "8.2.5 varying congestion: heavy" in page
    assert not re.search(r'(src|href)="(?!#)', re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL))
    assert json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8")) == document


def test_compare_with_a_suite_prints_measures_matrix_and_caveats(aqmlab: Aqmlab) -> None:
    answer = aqmlab("compare", "--study", "rfc7928", "--aqms", "droptail,pie,fq-codel", "--rate", "2 Mbit/s")
    assert answer.returncode == 0
    for text in ("8.2.3 medium congestion", "Class II / I", "Comparison on this link", "critical difference", "Note:"):
        assert text in answer.stdout


def test_the_suite_is_listed_and_shown(aqmlab: Aqmlab) -> None:
    assert "rfc7928" in [entry["name"] for entry in json.loads(aqmlab("list", "studies", "--json").stdout)]
    page = aqmlab("show", "rfc7928").stdout
    assert all(experiment.scenario in page for experiment in SUITE.experiments)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["compare", "--study", "rfc7928", "--rate", "20"], ["rate", "20", "Mbit/s"]),
        (["compare", "--study", "rfc7928", "--rate", ""], ["rate"]),
        (["compare", ""], ["scenario"]),
        (["compare", "--study", "rfc7928", "--rate", "20 Mbits"], ["rate", "Mbit/s"]),
        (["compare", "--study", "rfc7928", "--rate", "1 bit/s"], ["rate", "1 bit/s", "100 kbit/s"]),
        (["compare", "--study", "rfc7928", "--rtt", "50 s"], ["rtt", "50 s", "1 s"]),
        (["compare", "--study", "rfc7928", "--rtt", "{ values = ['1 ms', '2 ms'] }"], ["rtt", "is not a time"]),
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
