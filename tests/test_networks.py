"""Networks of many queues, each with a known answer: trees of lines, many bottlenecks, a day over satellites."""

import json
from time import process_time

import pytest

import aqmlab as package
from aqmlab.runs.measures import every
from aqmlab.runs.results import RunResult
from conftest import Aqmlab

ISP = "networks/isp-10k"
FABRIC = "networks/leaf-spine-1k"
SHORT: dict[str, str | float] = {"duration": "3 s", "warmup": "1 s"}


def test_ten_thousand_lines_are_read_at_once() -> None:
    begun = process_time()
    scenario = package.load(ISP)
    assert process_time() - begun < 10  # a bound that only a square of the lines exceeds
    assert repr(scenario) == "<Scenario networks/isp-10k: 50000 flows, 20116 links, 60 s>"
    assert scenario.links == ["basic-down", "basic-up", "fast-down", "fast-up", "site-down", "ap-down"]
    assert scenario.link("fast-down").rate == scenario.link("line-1-down").rate == 100e6
    assert scenario.flows[:3] == ["web-basic", "web-fast", "video-basic"]
    assert scenario.notice is None
    crossed = scenario.resolved()["flows"][0]
    assert (crossed["path"], crossed["ack_path"]) == ([4, 5, 0], [1])


def test_results_are_by_plan_and_site(aqmlab: Aqmlab) -> None:
    options = [part for key, value in {**SHORT, "lines.count": 64}.items() for part in ("--set", f"{key}={value}")]
    found = json.loads(aqmlab("run", ISP, *options, "--json").stdout)
    assert list(found["links"]) == package.load(ISP).links
    assert {"basic-down", "site-3"} <= {*found["spreads"]}
    assert found["spreads"]["basic-down"]["count"] + found["spreads"]["fast-down"]["count"] == 64
    shown = aqmlab("run", ISP, *options, "--aqm", "fq-codel@fast-down").stdout
    assert "Over links" in shown
    assert "site-15" in shown
    compared = aqmlab(
        "compare", ISP, *options, "--aqms", "cake,fq-codel", "--measure", "links.basic-down.queue_delay_p99"
    )
    assert compared.returncode == 0, compared.stderr


def test_each_line_is_a_row_where_that_is_wanted() -> None:
    values: dict[str, str | float] = {**SHORT, "lines.count": 32, "plans.fast.each": True}
    result = package.run(ISP, set=values)
    rows = [name for name in result.links if name.startswith("line-") and name.endswith("-down")]
    assert len(rows) == result.spreads["fast-down"]["count"] > 10
    assert sum(result.links[name].arrived for name in rows) == result.links["fast-down"].arrived


def test_a_tree_is_refused_where_there_are_none(aqmlab: Aqmlab) -> None:
    done = aqmlab("run", ISP, "--engine", "linux")
    assert done.returncode == 2


def test_flow_queueing_shares_a_parking_lot_max_min() -> None:
    result = package.run("networks/parking-lot-32", set={"duration": "20 s", "warmup": "5 s"})
    goodputs = {name: of.goodput for name, of in result.flows.items()}
    half = 0.5 * 10e6 * 1448 / 1500
    assert goodputs.pop("long") == pytest.approx(half, rel=0.1)
    assert sum(goodputs.values()) / 32 == pytest.approx(half, rel=0.1)


def test_a_thousand_hosts_are_read_at_once() -> None:
    begun = process_time()
    scenario = package.load(FABRIC)
    assert process_time() - begun < 10  # a bound that only a square of the links exceeds
    assert scenario.links == ["host-up", "host-down", "leaf-up", "leaf-down"]
    assert repr(scenario) == "<Scenario networks/leaf-spine-1k: 6 flows, 2560 links, 0.05 s>"
    # alone a port takes half of the 9 MB: alpha / (1 + alpha)
    assert scenario.resolved()["links"][1]["buffer"] == "4500000 B"
    assert "flows.web.slowdown.p99" in every(scenario)
    assert not [name for name in every(package.load(ISP)) if "slowdown" in name]


def test_slowdowns_are_one_where_nothing_is_in_the_way(aqmlab: Aqmlab) -> None:
    alone: dict[str, str | float] = {
        "fabric.leaves.count": 4,
        "fabric.hosts.count": 16,
        "fabric.spines": 2,
        "duration": "400 ms",
        "flows.web.load": 0.001,
        "flows.web.size": "5 packets",
        "flows.cubic.load": 0.001,
        "flows.cubic.size": "10 packets",
        "flows.incast.count": 0,
    }
    result = package.run(FABRIC, set=alone)
    for name in ("web", "cubic"):
        slowdown = result.flows[name].slowdown
        assert slowdown is not None
        assert slowdown.p50 == pytest.approx(1, abs=0.01)
    assert result.spreads["leaf-up"]["count"] == 8
    options = [part for key, value in alone.items() for part in ("--set", f"{key}={value}")]
    shown = aqmlab("run", FABRIC, *options).stdout
    assert "Slowdown" in shown
    assert aqmlab("run", FABRIC, *options, "--engine", "linux").returncode == 2


def test_the_accounts_of_a_satellite_line_balance() -> None:
    _balance(package.run("networks/leo-day", set={"duration": "300 s"}))


@pytest.mark.nightly
def test_the_accounts_of_a_day_balance() -> None:
    _balance(package.run("networks/leo-day"))


def _balance(result: RunResult) -> None:
    link = result.links["down"]
    assert link.utilisation > 0.9
    waiting = link.arrived - link.departed - link.dropped
    assert abs(waiting) <= 101
