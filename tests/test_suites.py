"""The studies of L4S, BBR and slow start: places and claims, what a wait is, and the physics behind their pages."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import aqmlab as package
from aqmlab.present.figures.suite import curves
from aqmlab.present.suite_words import grids
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.results import RunResult
from aqmlab.study.paper import suites
from aqmlab.study.suite import LinkSetting, Measure, Suite, load_suite
from aqmlab.study.suite_result import Places, SuiteResult, Trial, compare_suite, of_phases
from conftest import Aqmlab

NAMES = tuple(name for name in suites() if name != "rfc7928")


def placed(suite: Suite) -> dict[str, Trial]:
    """The trials of a suite by their places, without runs."""
    found = {}
    for experiment in suite.experiments:
        for link in suite.links():
            at = experiment.scenario_at(link)
            schemes = tuple(experiment.schemes or suite.schemes.values())
            trial = Trial(experiment, at, experiment.measures_in(at), Comparison(at, schemes, 0, (), 0), link)
            trial = replace(trial, at=suite.at(link))
            assert trial.place not in found, "a place has one name"
            found[trial.place] = trial
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_is_about_places_and_measures_that_there_are(name: str) -> None:
    suite = load_suite(name)
    trials = placed(suite)
    for claim in suite.claims:
        groups = [Places(trials).matching(patterns) for patterns in claim.groups]
        assert all(groups), claim.text
        assert set(claim.schemes) | set(claim.below) <= set(suite.schemes), claim.text
        for place in (place for group in groups for place in group):
            assert claim.value in trials[place].measures, claim.text
            assert {suite.spec(scheme) for scheme in claim.schemes} <= set(trials[place].comparison.schemes), claim.text


DOCS = Path(__file__).parent.parent / "docs"
TABLE = re.compile(r"<!-- ((?!output: )[^>]+) -->\n(.*?)<!-- end -->", re.DOTALL)
ELSEWHERE = {"shares", "balance", "kernel"}
"""Tables that validation/ writes."""


@pytest.mark.parametrize("name", NAMES)
def test_the_tables_on_the_pages_of_a_study_have_its_rows_columns_and_claims(name: str) -> None:
    """Without their numbers, which `docs/suites.py --check` compares."""
    suite = load_suite(name)
    result = SuiteResult(suite, suite.links(), tuple(suite.schemes.values()), 1, list(placed(suite).values()))
    wanted = {grid.title: ([*grid.heads], [row[0] for row in grid.rows]) for grid in grids(result)}
    pages = [DOCS / f"{name}{part}.md" for part in ("", "-evidence")]
    texts = [page.read_text(encoding="utf-8") for page in pages if page.exists()]
    tables = [(title, cells(table)) for text in texts for title, table in TABLE.findall(text) if title not in ELSEWHERE]
    assert "claims" in dict(tables)
    for title, rows in tables:
        if title == "claims":
            assert [row[:2] for row in rows[2:]] == [[claim.section, claim.text] for claim in suite.claims]
        else:
            assert (rows[0], [row[0] for row in rows[2:]]) == wanted[title], title


def cells(table: str) -> list[list[str]]:
    """The cells of a table in Markdown."""
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines() if line[:1] == "|"]


@pytest.mark.parametrize("name", NAMES)
def test_the_scenarios_of_a_study_are_all_in_it(name: str) -> None:
    built_in = {scenario for scenario in package.scenarios() if scenario.startswith(f"{name}/")}
    assert built_in
    assert built_in <= {experiment.scenario for experiment in load_suite(name).experiments}


def test_buffers_follow_rate_and_round_trip() -> None:
    l4s, bbr = placed(load_suite("l4s")), placed(load_suite("bbr"))
    # 250 ms of 12 Mbit/s are 375 kB, 250 packets of 1500 B; 50 Mbit/s times 40 ms are 250 kB, 166.7 packets.
    assert l4s["1 + 1 flows, 12 Mbit/s, 5 ms"].scenario.resolved()["links"][0]["buffer"] == "250 packets"
    assert bbr["BBR: 4 flows, 2 BDP"].scenario.resolved()["links"][0]["buffer"] == "334 packets"
    assert bbr["BBR: 4 flows, 2 BDP"].scenario.resolved()["flows"][0]["groups"][0]["count"] == 4


STREAM = """
schema = 1
title = "a stream that has the link for itself"
duration = "5 s"
warmup = "1 s"
[[links]]
name = "link"
rate = "10 Mbit/s"
buffer = "50 packets"
[[flows]]
name = "near"
kind = "udp-cbr"
rate = "2 Mbit/s"
packet = "1000 B"
rtt = "10 ms"
"""


def test_a_packet_that_meets_no_other_does_not_wait(tmp_path: Path) -> None:
    """5 ms of propagation and 1028 B at 10 Mbit/s: 5.8224 ms."""
    (tmp_path / "one.toml").write_text(STREAM, encoding="utf-8")
    scenario = package.load(tmp_path / "one.toml")
    experiment = load_suite("l4s").experiments[0]
    measures = {"wait": Measure("flows.near.packet_delay_p99", waiting=True)}
    compared = package.compare(scenario, ["droptail"])
    assert compared.runs["droptail", 1].flows["near"].packet_delay_mean == pytest.approx(0.0058224)
    wait = Trial(experiment, scenario, measures, compared).values("droptail", "wait")[1]
    assert wait == pytest.approx(0, abs=6e-6)  # percentiles are exact to 0.1 %


def test_a_rate_in_windows_is_over_that_of_the_suite(tmp_path: Path) -> None:
    """A datagram each 4.112 ms: 24 or 25 are in 100 ms, 0.8224 ms of the line each; the suite's rate is 4 Mbit/s."""
    (tmp_path / "one.toml").write_text(STREAM, encoding="utf-8")
    scenario = package.load(tmp_path / "one.toml")
    taken = {take: Measure("links.link.utilisation", window=0.1, take=take) for take in ("least", "mean", "most")}
    compared = package.compare(scenario, ["droptail"])
    link = LinkSetting(4e6, 0.01)
    trial = Trial(load_suite("l4s").experiments[0], scenario, taken, compared, link)
    found = [trial.values("droptail", take)[1] for take in taken]
    assert found == pytest.approx([24 * 0.02056, 0.5, 25 * 0.02056], rel=0.02)
    assert str(taken["most"]) == "links.link.utilisation: most in 100 ms"
    [rate, *_] = load_suite("cake-mq").experiments[0].measures.values()
    assert rate == replace(taken["mean"], path="links.bottleneck.utilisation")


def test_a_measure_adds_values_up_that_all_have_to_be_there(tmp_path: Path) -> None:
    """Two streams of 2 Mbit/s and 1028 B for each 1000 B, but one of them ends before the measurement begins."""
    other = STREAM[STREAM.index("[[flows]]") :].replace("near", "far")
    gone = other.replace("far", "gone").replace('kind = "udp-cbr"', 'kind = "http"\ncount = 1\nsize = "1 packet"')
    gone = gone.replace('rate = "2 Mbit/s"\npacket = "1000 B"\n', 'think_time = "9 s"\n')
    (tmp_path / "three.toml").write_text(STREAM + other + gone, encoding="utf-8")
    scenario = package.load(tmp_path / "three.toml")
    both = Measure("flows.near.goodput + flows.far.goodput")
    measures = {
        "both": both,
        "share": replace(both, over="flows.near.goodput"),
        "none": Measure("flows.near.packet_delay_p99 + flows.gone.fct_p95"),
    }
    trial = Trial(load_suite("l4s").experiments[0], scenario, measures, package.compare(scenario, ["droptail"]))
    assert trial.values("droptail", "both")[1] == pytest.approx(2 * 2e6 * 1000 / 1028, rel=0.01)
    assert trial.values("droptail", "share")[1] == pytest.approx(2, rel=0.01)
    assert trial.values("droptail", "none") == {}
    assert trial.shown("both").unit == "Mbit/s"


def test_links_of_a_cell_keep_the_rates_of_its_stations() -> None:
    wireless = placed(load_suite("rmcat-wireless"))
    links = {
        link["name"]: link["rate"]
        for link in wireless["RFC 8869, 3.2, a 16 downlink calls"].scenario.resolved()["links"]
    }
    assert links == {"down": "100 Mbit/s", "up": "100 Mbit/s", "wifi-down": "52 Mbit/s", "phone-up": "52 Mbit/s"}
    [narrow] = {each["rate"] for each in wireless["RFC 8869, 3.1, an uplink call"].scenario.resolved()["links"][:2]}
    assert narrow == "1 Mbit/s"


def test_how_a_phase_ends_is_a_share_of_the_flows_and_how_long_it_lasts_a_mean() -> None:
    start, avoidance, loss = "slow_start", "congestion_avoidance", "fast_recovery"
    flows = [
        [(1.0, start), (3.0, avoidance), (4.0, loss), (5.0, start), (9.0, avoidance)],
        [(0.0, start), (4.0, loss)],
        [(2.0, start)],
        [(0.0, "startup")],
    ]
    by_rule = Measure("flows.it.phases", phase=start, then=avoidance)
    assert of_phases(flows, by_rule) == pytest.approx(1 / 3), (
        "of three that begin with it; the second one does not count"
    )
    assert of_phases(flows, replace(by_rule, then="")) == 3.0, "2 s and 4 s; one never leaves"
    assert of_phases(flows[3:], by_rule) is None
    assert str(by_rule) == "flows.it.phases: slow_start > congestion_avoidance"
    read = load_suite("slow-start").experiments[0].measures["Exit by rule"]
    assert read == replace(by_rule, path="flows.flow.phases")


# A link of one's own


@pytest.fixture(scope="module")
def mine() -> SuiteResult:
    return compare_suite("l4s", rate="40 Mbit/s", rtt="20 ms")


def test_claims_are_judged_and_can_fail(mine: SuiteResult) -> None:
    balance = next(
        each for each in mine.claims if each.claim.schemes == ("DualPI2",) and "same rate" in each.claim.text
    )
    assert balance.verdict == "holds"
    harder = replace(balance.claim, within=(0.99, 1.01))
    places = Places({trial.place: trial for trial in mine.trials})
    failed = places.judge(mine.suite, replace(harder, groups=(("*",),)))
    assert failed.verdict == "fails"
    assert "40 Mbit/s, 20 ms" in failed.measured


def test_schemes_that_were_not_asked_for_are_missing() -> None:
    result = compare_suite("l4s", "droptail", rate="4 Mbit/s", rtt="5 ms")
    assert {each.verdict for each in result.claims} == {"missing"}


def test_a_sentence_about_other_links_is_missing() -> None:
    result = compare_suite("l4s", "dualpi2", rate="4 Mbit/s", rtt="5 ms")
    verdicts = {each.claim.text: each.verdict for each in result.claims if each.claim.value == "L4S delay mean"}
    assert list(verdicts.values()) == ["fails", "missing"], "a packet takes 3 ms; the second is about 40 Mbit/s"


def test_rates_and_waits_of_a_pair(mine: SuiteResult) -> None:
    [trial, _] = mine.trials
    [dual, coupled, fair, codel, step, drop] = mine.schemes

    def value(spec: str, measure: str) -> float:
        return trial.values(spec, measure)[1]

    assert value(dual, "L4S delay p99") < 0.001
    assert 0.010 < value(dual, "Classic delay p50") < 0.020
    assert (
        0.5 < value(dual, "L4S / Classic") < 2.2
    )  # by theory 1.3 at equal round trips; Classic packets wait 15 ms more
    assert 0.010 < value(coupled, "L4S delay p50") < 0.020, "one queue, one delay"
    assert value(fair, "L4S / Classic") == pytest.approx(1, abs=0.1)
    assert value(codel, "L4S / Classic") > 4, "what drops CUBIC marks Prague"
    assert value(step, "L4S / Classic") < 0.1, "CUBIC keeps the queue above the step, so that all of Prague is marked"
    assert value(drop, "L4S delay p50") > 0.15


def test_the_tables_have_a_column_for_each_scheme_and_percentiles_in_one(mine: SuiteResult) -> None:
    titles = {grid.title: grid for grid in grids(mine)}
    grid = titles["1 + 1 flows: L4S delay p50 / p99 / p99.9 (ms)"]
    assert list(grid.heads[1:]) == list(mine.suite.schemes)
    assert [row[0] for row in grid.rows] == ["40 Mbit/s, 20 ms"]
    assert all(cell.count(" / ") == 2 for cell in map(str, grid.rows[0][1:]))


def test_the_picture_has_the_rate_across_and_the_schemes_as_lines(mine: SuiteResult) -> None:
    drawn = curves(mine)
    assert drawn.names == list(mine.suite.schemes)
    assert {x for panel in drawn.panels for line in panel.lines.values() for x in line} == {40.0}


# BBR


def bbr(place: str) -> RunResult:
    trial = placed(load_suite("bbr"))[place]
    return package.run(trial.scenario, "droptail")


def share(run: RunResult) -> float:
    return run.flows["flow"].goodput / run.total.goodput


def test_bbr_over_buffers() -> None:
    assert bbr("BBR: 4 flows, 0.25 BDP").links["bottleneck"].drop_ratio > 0.05
    assert bbr("BBRv3: 4 flows, 0.25 BDP").links["bottleneck"].drop_ratio < 0.02
    assert share(bbr("BBR: 1 flow against 1 CUBIC, 0.1 BDP")) > 0.9
    assert 0.3 < share(bbr("BBR: 1 flow against 1 CUBIC, 8 BDP")) < 0.6


@pytest.mark.parametrize("others", [4, 16])
def test_one_bbr_flow_has_two_fifths_of_a_deep_buffer(others: int) -> None:
    assert 0.33 < share(bbr(f"BBR: 1 flow against several CUBIC, {others} CUBIC, 4 BDP")) < 0.55


@pytest.mark.parametrize(("aqm", "low", "high"), [("codel", 0.75, 1.0), ("pie", 0.75, 1.0), ("fq-codel", 0.45, 0.55)])
def test_one_queue_under_an_aqm_is_a_shallow_buffer_to_bbr(aqm: str, low: float, high: float) -> None:
    run = package.run(placed(load_suite("bbr"))["BBR: 1 flow against 1 CUBIC, under an AQM"].scenario, aqm)
    assert low < share(run) < high


# The command


def test_the_command_prints_verdicts_and_leaves_a_report(aqmlab: Aqmlab, tmp_path: Path) -> None:
    asked = ("compare", "--study", "l4s", "--rate", "4Mbit/s", "--rtt", "20ms")
    done = aqmlab(*asked, "--json", "--out", "report")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["tally"]["claims"] == len(load_suite("l4s").claims)
    assert {"holds", "fails"} <= {claim["verdict"] for claim in document["claims"]}
    report = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "Published claims" in report
    assert "published numbers" not in report


def test_a_study_and_a_law_may_have_one_name(aqmlab: Aqmlab) -> None:
    page = aqmlab("show", "bbr").stdout
    assert "pacing_gain" in page
    assert "aqmlab compare --study bbr" in page


def test_thresholds_of_faster_ports_are_multiples_of_what_is_varied() -> None:
    """kmin of 30 kB and kmax of four times as much at 10 Gbit/s: 120 and 480 kB at 40 Gbit/s."""
    trial = placed(load_suite("marking"))["kmax = 4 kmin: Map, 30 kB"]
    given = {"kmin": "30 kB", "kmax": "120 kB", "pmax": "0.2", "unmarkable": "pass"}
    assert trial.scenario.parameters("switch-red") == given
    assert trial.experiment.fixed["fabric.leaves.aqm"] == "switch-red:kmin=120 kB,kmax=480 kB,unmarkable=pass"
