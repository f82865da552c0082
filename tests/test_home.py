"""The built-in scenarios of an access line, and the options that describe one."""

import json
import re
from pathlib import Path

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


SHORT = {"duration": "8 s", "warmup": "4 s"}


def test_each_link_has_a_scheme_of_its_own() -> None:
    rows = ["cake@up", "cake@up+fq-codel@down", "droptail@up+fq-codel@down", "fq-codel"]
    both = compare("home/call", rows, set=SHORT)
    seen = {row: both.runs[row, 1] for row in rows}
    assert [each.aqm for each in seen.values()] == rows
    # The scenario's own scheme at down is FQ-CoDel: naming it changes nothing.
    assert seen["cake@up"].links == seen["cake@up+fq-codel@down"].links != seen["fq-codel"].links
    delay = {row: run.links["up"].queue_delay_p99 for row, run in seen.items()}
    assert delay["droptail@up+fq-codel@down"] > 0.4
    assert delay["cake@up"] < 0.1
    # A row says what the scenario could say itself.
    by_row = compare("home/call", ["fq-codel:target=8ms@down"], set=SHORT).runs["fq-codel:target=8ms@down", 1]
    by_set = compare("home/call", ["fq-codel@up"], set={**SHORT, "links.down.aqm": "fq-codel:target=8ms"})
    assert by_row.links == by_set.runs["fq-codel@up", 1].links


def test_rows_of_schemes_are_told_apart_and_refused(aqmlab: Aqmlab, tmp_path: Path) -> None:
    short = ("home/call", "--set", "duration=2 s", "--set", "warmup=1 s", "--set", "links.down.aqm=droptail", "--aqms")
    shown = aqmlab("compare", *short, "cake@up,cake@up+codel:target=8ms,interval=80ms@down", "--out", str(tmp_path))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for text in (shown.stdout, page):
        assert "up: CAKE" in text
    assert "up: CAKE, down: CoDel (target=8ms,interval=80ms)" in page
    row = re.search(r"down\.interval.*?</tr>", page, re.DOTALL)
    assert row is not None
    assert re.findall(r"\d+ ms", row[0]) == ["80 ms", "100 ms"]  # as used, and the default
    for aqms, told in (
        ("cake@upp", 'unknown link "upp"; did you mean "up"'),
        ("cak@up", "cake"),
        ("cake@up+codel", "each link has one scheme"),
        ("cake@up+codel@up", "each link has one scheme"),
        ("codel@down,pie", "links.down.aqm=droptail: the schemes asked for replace it"),
        ("up=cake", "a scheme for one link is written cake@up"),
    ):
        refused = aqmlab("compare", *short, aqms)
        assert refused.returncode == 2
        assert told in refused.stderr


def test_what_an_option_cannot_mean_is_refused(aqmlab: Aqmlab) -> None:
    for options, told in (
        (("li2014/table-1", "--down", "1 Mbit/s"), "down"),
        (("home/call", "--up", "1 Mbit"), "links.up.rate"),
        (("--study", "rfc7928", "--down", "1 Mbit/s"), "down: 1 Mbit/s: is for scenarios"),
        (("--study", "rfc7928", "--buffer", "3 s", "--rate", "1 x"), "rate"),
        (("--study", "rfc7928", "--buffer", "3 x"), 'buffer: "3 x" has an unknown unit'),
        (("--study", "rfc7928", "--only", "5.2", "--up", "1 Mbit/s"), "none of the experiments has two directions"),
        (("--study", "rfc7928", "--only", "5.2-cubicc"), 'did you mean "5.2-cubic"'),
        (("--study", "l4s", "--buffer", "1 MB"), "buffer: 1 MB: l4s has claims"),
        (("home/call", "--only", "8.2"), "only: 8.2: describes"),
        (("home/call", "--rate", "1 Mbit/s"), "rate: 1 Mbit/s: describes a suite"),
    ):
        refused = aqmlab("compare", *options, "--aqms", "droptail")
        assert refused.returncode == 2, options
        assert told in refused.stderr, options
