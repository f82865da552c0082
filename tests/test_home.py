"""The built-in scenarios of an access line, and the options that describe one."""

import json

import pytest

from aqmlab.runs.simulate import compare
from aqmlab.scenario import chosen, load
from conftest import Aqmlab


def mos(aqm: str) -> float:
    found = compare("home/call", aqm).measured.values("home/call", aqm, "flows.call-up.call.mos")
    return found[1]


def test_a_folder_stands_for_its_scenarios() -> None:
    assert chosen("home") == ["home/call", "home/game", "home/rrul", "home/video", "home/web"]
    assert chosen("home/call") == ["home/call"]
    assert chosen("my.toml") == ["my.toml"]


def test_a_call_beside_uploads_is_saved_by_flow_queueing() -> None:
    assert mos("droptail") < 2
    assert mos("fq-codel") > 4.2
    assert mos("cake") > 4.2


@pytest.mark.parametrize("name", chosen("home"))
def test_droptail_fills_a_modem_and_cake_does_not(name: str) -> None:
    both = compare(name, ["droptail", "cake"])
    worst = {
        aqm: max(both.measured.values(name, aqm, f"links.{link}.queue_delay_p99")[1] for link in ("up", "down"))
        for aqm in both.schemes
    }
    assert worst["droptail"] > 0.4  # of 500 ms
    assert worst["cake"] < 0.15
    assert load(name).links == ["down", "up"]


def test_the_line_is_described_by_options(aqmlab: Aqmlab) -> None:
    line = ("--down", "20 Mbit/s", "--up", "2 Mbit/s", "--rtt", "60 ms", "--buffer", "250 ms")
    asked = ("compare", "home/call", "home/game", "--aqms", "droptail", *line, "--json")
    both = json.loads(aqmlab(*asked, "--measure", "flows.*.packet_delay_p99").stdout)["comparisons"]
    assert [each["scenario"] for each in both] == ["home/call", "home/game"]
    call = {entry["measure"]: entry["mean"] for entry in both[0]["measures"]}
    assert set(call) == {f"flows.{name}.packet_delay_p99" for name in ("upload", "call-up", "call-down")}
    # A full buffer of 250 ms, half of the round trip, the packet in service and its own 8 * 200 bit / 2 Mbit/s.
    assert call["flows.call-up.packet_delay_p99"] == pytest.approx(0.250 + 0.030 + 0.0008, abs=0.007)
    assert call["flows.call-down.packet_delay_p99"] == pytest.approx(0.030, abs=0.002)


def test_what_an_option_cannot_mean_is_refused(aqmlab: Aqmlab) -> None:
    for options, told in (
        (("li2014/table-1", "--down", "1 Mbit/s"), "down"),
        (("home/call", "--up", "1 Mbit"), "links.up.rate"),
        (("--study", "rfc7928", "--buffer", "1 MB"), "buffer: 1 MB: is for scenarios"),
        (("home/call", "--rate", "1 Mbit/s"), "rate: 1 Mbit/s: describes the link of a suite"),
    ):
        refused = aqmlab("compare", *options, "--aqms", "droptail")
        assert refused.returncode == 2, options
        assert told in refused.stderr, options
