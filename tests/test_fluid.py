"""The fluid model of a scenario: beside the packets, closed forms, and what it has no place for."""

from statistics import fmean
from typing import Any

import numpy as np
import pytest

import aqmlab
from aqmlab._core import Scenario, fluid
from aqmlab.catalogue import schemes

LONG_LIVED = """
schema = 1
title = "60 long-lived flows in the domain of the fluid model: PI's published network at 45 Mbit/s"
duration = "300 s"
warmup = "150 s"

[[links]]
name = "bottleneck"
rate = "45 Mbit/s"
buffer = "900 packets"
target = "300 packets"
aqm = "pi"
ecn = true

[[flows]]
name = "ftp"
count = 60
rtt = "240 ms"
start = { uniform = ["0 s", "10 s"] }
tcp = { variant = "sack", profile = "rfc" }
ecn = false
"""


def scenario(**changes: str) -> Scenario:
    """The scenario above; `flows__0__count="30"` sets flows.0.count."""
    sets = [(path.replace("__", "."), value) for path, value in changes.items()]
    return Scenario.parse(LONG_LIVED, "long-lived", sets)


def at_once(**changes: str) -> Scenario:
    """One class of flows."""
    return scenario(flows__0__start="0 s", **changes)


def told(loaded: Scenario, aqm: str | None = None, **options: Any) -> dict[str, Any]:
    return fluid(loaded, aqm, **options).document()


def test_the_operating_point_is_that_of_the_closed_form() -> None:
    answer = told(at_once(flows__0__ecn="true"))
    assert (answer["scenario"], answer["aqm"], answer["windows"], answer["ecn"]) == (
        "long-lived",
        "pi",
        "classic",
        True,
    )
    capacity = 45e6 / 8 / 1040
    assert answer["capacity"] == pytest.approx(capacity, rel=1e-12)
    # Propagation and one packet's sending time; the target is the queue.
    window = (0.24 + 1 / capacity + 300 / capacity) * capacity / 60
    assert answer["summary"]["queue_mean"] == pytest.approx(300, abs=0.5)
    assert answer["summary"]["classes"][0]["window_mean"] == pytest.approx(window, rel=2e-3)
    assert answer["summary"]["p_mean"] == pytest.approx(2 / window**2, rel=5e-3)
    assert answer["summary"]["oscillation"]["settles"]


@pytest.mark.parametrize("ecn", ["false", "true"])
@pytest.mark.parametrize(("count", "classic"), [("60", 1.28), ("120", 1.42)])
def test_refined_windows_meet_the_packets_within_10_percent_in_p_and_5_in_queue(
    ecn: str, count: str, classic: float
) -> None:
    loaded = scenario(flows__0__ecn=ecn, flows__0__count=count)
    runs = [aqmlab.run(loaded, seed=seed).links["bottleneck"] for seed in (1, 2)]
    p = fmean(run.mark_ratio + run.drop_ratio for run in runs)
    queue = fmean(run.queue_mean for run in runs)
    alike = at_once(flows__0__ecn=ecn, flows__0__count=count)
    refined = told(alike, windows="refined")["summary"]
    assert refined["p_mean"] == pytest.approx(p, rel=0.1)
    assert refined["queue_mean"] == pytest.approx(queue, rel=0.05)
    # The published form lies above: 2 / W^2 where packets have about 1.56 and 1.41.
    assert told(alike)["summary"]["p_mean"] / p == pytest.approx(classic, abs=0.06)


def test_series_have_a_row_for_each_class_and_come_when_asked_for() -> None:
    loaded = at_once(duration="20 s", warmup="0 s", flows__0__rtt='{ values = ["100 ms", "300 ms"] }')
    assert fluid(loaded).series() == {}
    series = fluid(loaded, series=True).series()
    assert list(series) == ["time", "queue", "queue_delay", "p", "window", "rate"]
    assert series["time"].shape == series["p"].shape == (2001,)
    assert series["window"].shape == series["rate"].shape == (2, 2001)
    assert series["time"][-1] == pytest.approx(20)
    np.testing.assert_allclose(series["queue_delay"] * 45e6 / 8 / 1040, series["queue"])


def test_equal_inputs_give_equal_bytes() -> None:
    loaded = scenario(duration="5 s", warmup="0 s")
    first, second = (fluid(loaded, "npd-red", series=True) for _ in range(2))
    assert first.document() == second.document()
    assert all(np.array_equal(column, second.series()[name]) for name, column in first.series().items())


def test_half_the_step_tells_the_error() -> None:
    loaded = at_once(duration="50 s", warmup="0 s")
    assert told(loaded)["error"] is None
    error = told(loaded, check=True)["error"]
    assert error["queue"] < 0.05
    assert error["p_mean"] < 1e-4


def test_random_round_trips_become_at_most_16_classes_that_keep_flows_and_mean() -> None:
    loaded = at_once(duration="2 s", warmup="0 s", flows__0__rtt='{ uniform = ["20 ms", "140 ms"] }')
    classes = told(loaded)["classes"]
    assert len(classes) == 16
    assert sum(kind["count"] for kind in classes) == 60
    rtts = [kind["rtt"] for kind in classes]
    assert rtts == sorted(rtts)
    # A uniform law: mean 80 ms, and 60 draws have a standard error of 4.5 ms.
    assert sum(kind["rtt"] * kind["count"] for kind in classes) / 60 == pytest.approx(0.08, abs=0.0135)


def test_groups_of_flows_are_classes() -> None:
    loaded = Scenario.parse(
        LONG_LIVED.replace("count = 60\n", 'groups = [{ count = 20 }, { count = 40, start = "1 s", stop = "5 s" }]\n')
        .replace('start = { uniform = ["0 s", "10 s"] }\n', "")
        .replace('"300 s"', '"10 s"')
        .replace('"150 s"', '"0 s"'),
        "groups",
    )
    kinds = [(kind["count"], kind["start"], kind["stop"]) for kind in told(loaded)["classes"]]
    assert kinds == [(20, 0, None), (40, 1, 5)]


@pytest.mark.parametrize("aqm", ["codel", "cobalt", "choke", "fq-pie", "dualpi2", "sfb", "avq"])
def test_schemes_without_a_place_are_refused_with_the_reason(aqm: str) -> None:
    with pytest.raises(
        aqmlab.InputError, match=f'^aqm: the fluid model does not support "{aqm}": the scheme .*pi2, pid, pie'
    ):
        fluid(at_once(), aqm)


def test_every_other_scheme_of_the_list_runs() -> None:
    loaded = at_once(duration="5 s", warmup="0 s")
    for scheme in schemes():
        if scheme.signal is None:
            continue
        summary = told(loaded, scheme.name)["summary"]
        assert 0 <= summary["p_mean"] <= 1
        assert 0 <= summary["queue_mean"] <= 900


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"aqm": "pie2"}, 'aqm: unknown scheme "pie2"; did you mean "pi2"'),
        ({"aqm": "pi:a=-1"}, "pi.a: "),
        ({"duration": 0}, "duration: 0 s is out of range"),
        ({"duration": float("nan")}, "duration: NaN s is out of range"),
        ({"duration": 500_000}, "duration: 500000 s has more than 10000000 samples of 0.01 s"),
        ({"duration": 100}, r"duration: 100 s does not reach beyond the warm-up \(150 s\)"),
        ({"step": 0.2}, "step: .* too long: at most half the shortest round trip"),
        ({"step": -1}, 'step: "-1 s" is not above 0'),
        ({"step": 1e-8}, "step: .* too many"),
        ({"windows": "refind"}, 'windows: unknown kind of windows "refind"; did you mean "refined"'),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(aqmlab.InputError, match=words):
        fluid(at_once(), **options)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "sun2007/fig-9",
            ['flows.web.kind: the fluid model does not support "http"; it supports "ftp"', "flows.udp.kind"],
        ),
        ("li2014/table-15", ["links: the fluid model has one queue; take a scenario with one link"]),
        ("deployed/unresponsive", ["udp-cbr"]),
    ],
)
def test_scenarios_that_do_not_fit_are_refused(name: str, words: list[str]) -> None:
    with pytest.raises(aqmlab.InputError) as refusal:
        fluid(aqmlab.load(name), "pi")
    assert all(word in str(refusal.value) for word in words), refusal.value


def test_what_of_a_scenario_has_no_place_is_named() -> None:
    more = LONG_LIVED + '[[flows]]\nname = "marked"\nrtt = "50 ms"\necn = true\ntcp = { delayed_ack = true }\n'
    changing = more.replace('rate = "45 Mbit/s"', 'rate = [["0 s", "45 Mbit/s"], ["10 s", "15 Mbit/s"]]\nloss = "1%"')
    with pytest.raises(aqmlab.InputError) as refusal:
        fluid(Scenario.parse(changing, "mixed"))
    lines = str(refusal.value).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "links.bottleneck.rate",
        "links.bottleneck.loss",
        "flows.marked.tcp.delayed_ack",
        "flows.marked.ecn",
    ]
