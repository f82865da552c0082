"""The built-in scenarios of an access line, and the options that describe one."""

import json
import re
from pathlib import Path

import pytest

from aqmlab.cli.compare import scenarios_for
from aqmlab.runs.simulate import compare
from aqmlab.scenario import chosen, load
from conftest import Aqmlab


def mos(aqm: str) -> float:
    found = compare("home/call", aqm).measured.values("home/call", aqm, "flows.call-up.call.mos")
    return found[1]


def test_a_folder_stands_for_its_scenarios() -> None:
    assert chosen("home") == ["home/call", "home/game", "home/meeting", "home/rrul", "home/video", "home/web"]
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


def test_a_video_call_adapts_by_the_law_that_is_asked_for(aqmlab: Aqmlab) -> None:
    short = ("--set", "duration=12 s", "--set", "warmup=6 s", "--set", "links.up.rate=2 Mbit/s", "--aqms", "fq-codel")
    asked = ("compare", "home/call", "home/meeting", *short, "--measure", "flows.call-up.*", "--json")

    def measured(*options: str) -> list[dict[str, float]]:
        both = json.loads(aqmlab(*asked, *options).stdout)["comparisons"]
        return [
            {entry["measure"].removeprefix("flows.call-up."): entry["mean"] for entry in of["measures"]} for of in both
        ]

    laws = {law: measured("--call", law) for law in ("gcc", "scream", "constant")}
    telephone, picture = measured()
    assert laws["gcc"] == [telephone, picture]  # the law that there is unless another is named
    assert all(of_law[0] == telephone for of_law in laws.values())  # a telephone has one rate
    assert telephone["call.mos"] > 4.2
    # One of five flows at 2 Mbit/s: a call that adapts has its share, what never adapts is too much for it.
    fair = 2e6 / 5
    for law in ("gcc", "scream"):
        adapts = laws[law][1]
        assert 0.3 * fair < adapts["goodput"] < 1.1 * fair
        assert adapts["media.frame_delay_p95"] < 0.15
        assert adapts["media.freeze_ratio"] == adapts["media.lost_ratio"] == 0
    assert picture["goodput"] != laws["scream"][1]["goodput"]
    assert laws["constant"][1]["media.lost_ratio"] > 0.5
    assert laws["constant"][1]["media.freeze_ratio"] > 0.1


def test_a_folder_is_played_on_linux_without_its_video_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert scenarios_for(["home"], ["sim"]) == chosen("home")
    assert scenarios_for(["home", "home/meeting"], ["sim", "linux"]) == [
        *(name for name in chosen("home") if name != "home/meeting"),
        "home/meeting",  # named alone it is not left out, but refused
    ]
    assert "home/meeting is left out: its calls run in the simulator only" in capsys.readouterr().err


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
        ("codel@down,pie", "links.down.aqm=droptail: the requested schemes replace it"),
        ("up=cake", "a scheme for one link is written cake@up"),
    ):
        refused = aqmlab("compare", *short, aqms)
        assert refused.returncode == 2
        assert told in refused.stderr


def test_what_an_option_cannot_mean_is_refused(within: Aqmlab) -> None:
    for options, told in (
        (("li2014/table-1", "--down", "1 Mbit/s"), "down"),
        (("home/call", "--up", "1 Mbit"), "links.up.rate"),
        (("--study", "rfc7928", "--down", "1 Mbit/s"), "down: 1 Mbit/s: is for scenarios"),
        (("--study", "rfc7928", "--buffer", "3 s", "--rate", "1 x"), "rate"),
        (("--study", "rfc7928", "--buffer", "3 x"), 'buffer: "3 x" has an unknown unit'),
        (("--study", "rfc7928", "--only", "5.2", "--up", "1 Mbit/s"), "none of the experiments has two directions"),
        (("--study", "rfc7928", "--only", "5.2-cubicc"), 'did you mean "5.2-cubic"'),
        (("--study", "l4s", "--buffer", "1 MB"), "buffer: 1 MB: the claims of l4s"),
        (("home/call", "--only", "8.2"), "only: 8.2: describes"),
        (("home/call", "--rate", "1 Mbit/s"), "rate: 1 Mbit/s: describes a suite"),
        (("home", "--call", "screm"), 'call: no rate control "screm"; did you mean "scream"'),
        (
            ("home/call", "home/game", "--call", "gcc"),
            "call: gcc: no flow of home/call, home/game is an adaptive video call",
        ),
        (("--study", "rmcat", "--call", "gcc"), "call: gcc: is for scenarios"),
    ):
        refused = within("compare", *options, "--aqms", "droptail")
        assert refused.returncode == 2, options
        assert told in refused.stderr, options
