"""What a report says of what was simulated: drawn, in tables, with the defaults told apart."""

import re
from pathlib import Path

import pytest

import aqmlab
from aqmlab import catalogue
from aqmlab.notebook import Item, Sheet
from aqmlab.present.figures import runs as figures
from aqmlab.present.html import glance
from aqmlab.present.html.setup import setup
from aqmlab.present.html.topology import topology
from aqmlab.runs import metrics
from aqmlab.runs.simulate import compare, compare_engines
from conftest import SMALL, Aqmlab

LINE = {"duration": "6 s", "warmup": "2 s"}


def drawn(*paths: list[int]) -> dict[str, int]:
    """Return how many boxes each link has in the drawing of groups with these paths."""
    flows = [
        {"name": "x", "kind": "udp-cbr", "rate": "1 Mbit/s", "rtt": "1 ms", "path": path, "groups": [{"count": 1}]}
        for path in paths
    ]
    names = [f"link-{i}" for i in range(1 + max(map(max, paths)))]
    svg = topology({"flows": flows, "links": [{"name": name} for name in names]}, {name: [] for name in names})
    assert svg.count('class="flow"') == len(paths)
    return {name: svg.count(f">{name}<") for name in names}


def test_each_link_is_drawn_once_where_its_flows_are_neighbours() -> None:
    assert drawn([0], [1]) == {"link-0": 1, "link-1": 1}
    assert drawn([0, 1, 2], [0], [1], [2]) == {"link-0": 1, "link-1": 1, "link-2": 1}
    crossed = drawn([0, 2], [0, 3], [1, 2], [1, 3])  # from two links to two others, each way
    assert crossed == {"link-0": 1, "link-1": 1, "link-2": 2, "link-3": 2}


def test_links_stand_in_the_order_in_which_packets_cross_them() -> None:
    scenario = aqmlab.load("li2014/table-15")
    svg = setup(scenario, ["pi"]).topology
    places = {name: int(x) for x, name in re.findall(r'<text x="(\d+)"[^>]*class="name middle">([a-f]-[a-f])<', svg)}
    assert list(places) == scenario.links
    assert sorted(places.values()) == list(places.values())
    assert len(set(places.values())) == 5


def bold(table: Sheet) -> list[str]:
    return [name.text for name, value, *_ in table.lines if value.bold]


def cells(table: Sheet) -> dict[str, list[Item]]:
    """Return the cells of a table by the name of their row."""
    return {name.text: row for name, *row in table.lines}


def test_parameters_that_are_not_the_default_stand_out() -> None:
    small = aqmlab.load(SMALL)
    assert bold(setup(small, [scheme.name for scheme in catalogue.schemes()]).parameters) == []
    assert bold(setup(small, ["droptail", "pi:w=85Hz", "pie:target=15ms"]).parameters) == ["PI (w=85Hz): w"]
    reds = setup(aqmlab.load(SMALL, {"schemes.red.max_p": "0.5"}), ["red"])
    assert bold(reds.parameters) == ["RED: max_p"]


def test_a_scheme_that_is_not_known_has_what_it_was_given() -> None:
    rows = cells(setup(aqmlab.load(SMALL), ["nobody:x=1"]).parameters)
    assert rows["nobody:x=1"][0].text.startswith("x=1; the others")


def test_the_scenario_is_there_as_it_was_read() -> None:
    told = setup(aqmlab.load(SMALL, {"duration": "1 s"}), ["pi"])
    assert told.text == SMALL.read_text()
    assert told.facts["Set"] == "duration = 1 s"


@pytest.mark.parametrize("name", ["droptail", "red", "codel", "pie", "cake", "fq-codel"])
def test_schemes_without_a_target_get_none(name: str) -> None:
    small = aqmlab.load(SMALL)
    assert catalogue.target(small, "bottleneck", name) is None
    run = aqmlab.run(small, name, series=True)
    assert figures.figures({name: run}, small, "bottleneck")["queue"].panels[0].target is None


def test_the_target_of_thresholds_is_their_middle() -> None:
    small = aqmlab.load(SMALL)
    assert catalogue.target(small, "bottleneck", "pi") == 30
    assert catalogue.target(small, "bottleneck", "ared") == 30
    assert catalogue.target(small, "bottleneck", "ared:min_th=20packets,max_th=60packets") == 40
    assert not catalogue.steers(small, "bottleneck", "ared:min_th=20packets,max_th=60packets")


@pytest.mark.parametrize("name", [scheme.name for scheme in catalogue.schemes() if scheme.target is not None])
def test_schemes_with_a_target_follow_that_of_the_link(name: str) -> None:
    duration = "60 s" if name == "sfc" else "6 s"  # its integral is slow
    low, high = (
        aqmlab.run(SMALL, name, set={"links.bottleneck.target": target, "duration": duration}).links["bottleneck"]
        for target in ("20 packets", "60 packets")
    )
    assert low.queue_mean < high.queue_mean


def test_a_first_table_says_what_users_notice() -> None:
    found = compare_engines(["home/call", "home/web"], ["droptail", "fq-codel", "cake"], set=LINE)
    both = [each.first for each in found]
    table = glance.glance(both)
    assert table.heads[1:] == ["DropTail", "FQ-CoDel", "CAKE"]
    assert list(cells(table))[:3] == ["call: upload: Goodput (Mbit/s)", "call: call-up: MOS", "call: call-down: MOS"]
    assert [item.bold for item in cells(table)["call: call-up: MOS"]] == [False, True, True]
    assert [item.small for item in cells(table)["call: call-up: MOS"]][1:] == ["good", "good"]
    [call, web] = glance.sentences(both)
    assert re.fullmatch(
        r"A call with four uploads: MOS of call-up is \d\.\d\d \(.+\) under DropTail, "
        r"4\.\d\d \(good\) under FQ-CoDel and CAKE\.",
        call,
    )
    assert "FCT p95 of web is" in web


def test_a_first_table_of_greedy_flows_has_the_delay_of_the_queue() -> None:
    compared = compare(str(SMALL), ["droptail", "codel"])
    table = glance.glance([compared])
    assert list(cells(table)) == ["ftp: Goodput (Mbit/s)", "bottleneck: Delay mean (ms)"]
    [told] = glance.sentences([compared])
    slow, fast = (compared.text(spec, "links.bottleneck.queue_delay_mean").split()[0] for spec in ("droptail", "codel"))
    assert told.endswith(f"Delay mean of bottleneck is {slow} ms under DropTail, {fast} ms under CoDel.")


def test_nothing_is_bold_where_all_are_alike() -> None:
    compared = compare(str(SMALL), ["pi", "pi:w=170Hz"])
    assert not any(item.bold for row in glance.glance([compared]).lines for item in row)


def test_delays_that_nobody_notices_are_alike() -> None:
    metric = metrics.find("link.queue_delay_mean")
    assert glance._ratio(metric, {"a": 0.0, "b": 5e-5}) < glance.ALIKE
    assert glance._ratio(metric, {"a": 0.0, "b": 0.040}) > glance.ALIKE
    assert glance._ratio(metric, {"a": 0.0157, "b": 0.0424}) > 2


def test_a_report_replaces_only_one_on_the_same(aqmlab: Aqmlab, tmp_path: Path) -> None:
    first = ("compare", SMALL, "--aqms", "droptail", "--out", "left")
    assert aqmlab(*first).returncode == 0
    before = (tmp_path / "left" / "report.html").read_bytes()
    refused = aqmlab("compare", "home/call", "--aqms", "droptail", "--out", "left")
    assert refused.returncode == 2
    assert "left/report.html: this report is about small; choose another place for home/call" in refused.stderr
    assert (tmp_path / "left" / "report.html").read_bytes() == before
    assert aqmlab(*first, "--seeds", "2").returncode == 0
    assert (tmp_path / "left" / "report.html").read_bytes() != before
