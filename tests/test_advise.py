"""`aqmlab advise`: conditions, candidates, what matters, the score by hand, and the command as users type it."""

import json
import subprocess
from dataclasses import dataclass, field
from math import exp, log, sqrt
from pathlib import Path
from typing import Any, cast

import pytest

from aqmlab import tc
from aqmlab._core import Scenario
from aqmlab.advise import Advice, LineSpec, advise, conditions, isp, tried
from aqmlab.advise.candidates import candidates
from aqmlab.advise.commands import Typed, best, linux, openwrt, share
from aqmlab.advise.document import document
from aqmlab.advise.needs import NEEDS, Sign, chosen, signs
from aqmlab.advise.ties import preferred
from aqmlab.advise.words import sentences
from aqmlab.kernel.images import images
from aqmlab.present.reports.advice import parts
from aqmlab.present.terminal.parts import show
from aqmlab.problems import InputError
from aqmlab.quantities import quantity
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.table import Table
from aqmlab.runs.task import Failure, Task
from aqmlab.scenario import load
from aqmlab.tc.qdiscs import LAYERS
from conftest import Aqmlab


@dataclass
class Compared:
    """What an advice reads of a comparison, with values that are given."""

    scenario: Scenario
    schemes: tuple[str, ...]
    values: dict[str, dict[int, dict[str, float | None]]]
    failures: list[Failure] = field(default_factory=list)

    @property
    def measured(self) -> Table[str]:
        name = self.scenario.name
        return Table({(name, scheme): runs for scheme, runs in self.values.items()}, {name: "down"})


DELAY, SENT = "flows.game-up.packet_delay_p99", ["flows.game-up.goodput", "flows.upload.goodput"]


def given(delays: dict[str, list[float | None]], **extra: Any) -> Advice:
    """An advice over `home/game` with the delays of two seeds by scheme; the uplink always carries as much."""
    values = {
        scheme: {seed: {DELAY: delay, **dict.fromkeys(SENT, 5e6)} for seed, delay in enumerate(found, start=1)}
        for scheme, found in delays.items()
    }
    compared = Compared(load("home/game"), tuple(delays), values, **extra)
    return Advice((cast("Comparison", compared),), ("latency", "throughput"), range(1, 3))


def test_what_tells_of_a_need() -> None:
    assert signs(load("home/call"), tuple(NEEDS)) == [
        # No long transfer crosses the other link.
        Sign("throughput", "flows.upload.goodput + flows.call-up.goodput", more=True, link="up"),
        Sign("fairness", "flows.upload.jain", more=True),
        Sign("latency", "flows.call-up.packet_delay_p99", more=False),
        Sign("latency", "flows.call-up.call.mos", more=True),
        Sign("latency", "flows.call-down.packet_delay_p99", more=False),
        Sign("latency", "flows.call-down.call.mos", more=True),
    ]
    assert [sign.measure for sign in signs(load("home/web"), ("transfers",))] == ["flows.web.fct_p95"]


def test_needs_are_read_or_refused() -> None:
    assert chosen("everything") == tuple(NEEDS)
    assert chosen("fairness, latency") == ("fairness", "latency")
    with pytest.raises(InputError, match="latency"):
        chosen("latencies")
    with pytest.raises(InputError, match="alone"):
        chosen("everything,latency")


def test_the_score_by_hand() -> None:
    # Logarithms of the delays: 0.693 and 1.386 above the first's; delay is one of two needs.
    score = given({"cake": [0.010, 0.010], "droptail": [0.020, 0.040]}).score("droptail")
    assert score.ratio == pytest.approx(exp(-(log(2) + log(4)) / 4))
    half = 12.706 * (log(4) - log(2)) / 2 / sqrt(2) / sqrt(2)  # t of one degree of freedom
    assert score.interval == pytest.approx((score.ratio * exp(-half), score.ratio * exp(half)), rel=1e-3)
    assert not score.sure


def test_the_better_of_two_does_not_depend_on_a_third() -> None:
    delays: dict[str, list[float | None]] = {"pie": [0.030, 0.031], "codel": [0.020, 0.022]}
    two = given(delays)
    three = given({**delays, "droptail": [3.0, 0.001]})
    assert two.score("pie", "codel") == three.score("pie", "codel")


def test_delays_of_microseconds_count() -> None:
    found = given({"cake": [50e-6, 50e-6], "droptail": [200e-6, 200e-6]})
    assert found.score("droptail", need="latency").ratio == pytest.approx(1 / 4)


def test_a_run_without_a_value_is_taken_as_the_worst() -> None:
    found = given({"cake": [0.010, 0.010], "codel": [0.020, None], "droptail": [0.040, 0.080]})
    assert found.score("codel", need="latency").ratio == pytest.approx(exp(-(log(2) + log(8)) / 2))


def test_a_scheme_that_failed_is_not_ranked() -> None:
    failure = Failure(Task(load("home/game"), "codel", 1), RuntimeError("broke"))
    found = given({"cake": [0.010, 0.010], "codel": [0.001, 0.001]}, failures=[failure])
    assert found.schemes == ["cake"]


def test_gains_are_told_against_droptail_and_once_a_need() -> None:
    found = given({"droptail": [1.0, 1.01], "cake": [0.010, 0.0101]})
    [gain] = found.gains("cake")
    assert (gain.sign.measure, round(gain.score.ratio)) == (DELAY, 100)
    assert found.costs("cake") == []
    assert [each.sign.need for each in found.costs("droptail")] == []  # it is the baseline


def test_candidates_suit_the_line() -> None:
    fast = candidates(conditions(LineSpec(down=50e6, up=10e6)))
    assert fast == ["droptail", "codel", "pie", "fq-codel", "fq-pie", "cake", "dualpi2"]
    # 1.5 packets of 1514 B take 36.336 ms at 500 kbit/s; CAKE finds that itself.
    slow = candidates(conditions(LineSpec(down=1e6, up=0.5e6)))
    assert slow[1:3] == ["codel:target=36.3ms,interval=100ms", "pie:target=36.3ms"]
    assert slow[5] == "cake"
    # Round trips of at most 2 * 1.5 * 100 us.
    near = candidates(conditions(LineSpec(rate=10e9, rtt=100e-6)))
    assert near[1:3] == ["codel:target=30us,interval=300us", "pie:target=300us,t_update=300us"]
    assert near[5] == "cake:rtt=300us"


def test_conditions_are_those_of_the_line() -> None:
    for scenario in (*conditions(LineSpec(down=50e6, up=10e6, rtt=0.04)), *conditions(LineSpec(rate=10e9, rtt=1e-3))):
        assert scenario.duration - scenario.warmup >= 0.5
    names = [each.name for each in conditions(LineSpec(rate=1e9, law="dctcp", flows=8))]
    assert names == ["link/bulk", "link/mix"] * 2
    bulk, mix, far, _ = conditions(LineSpec(rate=1e9, rtt=0.01, law="dctcp", flows=8))
    assert (bulk.group("bulk").count, mix.group("bulk").count) == (8, 2)
    assert bulk.group("bulk").ecn
    assert far.group("bulk").rtt_range == pytest.approx((0.010, 0.030))
    [varying, *_] = conditions(LineSpec(down=20e6, up=4e6, varying=True), {"links.up.buffer": "1 MB"})
    assert varying.link("down").rates == [20e6, 10e6, 5e6]
    assert varying.link("up").buffer_bytes == 1_000_000


def test_a_part_of_a_crowded_line_is_measured_for_long_enough() -> None:
    crowded = LineSpec(rate=10e9, rtt=0.03, flows=20_000, buffer="64 MB")
    assert crowded.parts == 64
    found = conditions(crowded)
    for scenario in found:
        measured = scenario.duration - scenario.warmup
        assert measured >= 300 * (scenario.group("ping").rtt or 0)
        assert measured * scenario.link("link").rate / 12_000 < 400e3
        assert [scenario.parameters(name)["flows"] for name in ("fq-codel", "fq-pie", "cake")] == ["16"] * 3
        assert scenario.link("link").buffer_bytes == 1_000_000
    bulk, mix = found[:2]
    assert (bulk.link("link").rate, bulk.group("bulk").count, mix.group("bulk").count) == (156.25e6, 312, 78)
    [whole, *_] = conditions(crowded, whole=True)
    assert (whole.link("link").rate, whole.parameters("cake")["flows"]) == (10e9, "1024")
    # Few transfers cannot be divided, and a slow line need not be.
    assert LineSpec(rate=10e9, rtt=0.02, flows=50).parts == 1
    assert LineSpec(rate=10e9, rtt=0.02).parts == 1
    assert LineSpec(rate=50e6, flows=20_000).parts == 1
    assert LineSpec(rate=10e9, rtt=0.03, flows=1000).parts == 2


def test_what_is_advised_by_a_part_is_for_the_whole_line() -> None:
    line = LineSpec(rate=1e9, rtt=0.01, flows=1200)
    settings = {"duration": "0.4 s", "warmup": "0.1 s"}
    part, whole = conditions(line, settings)[:1], conditions(line, settings, whole=True)[0]
    found = advise(part, ("throughput",), ["droptail", "codel", "fq-codel"], 2, whole=whole)
    assert found.parts == 2
    assert "Simulated at 1/2 of the link: 500 Mbit/s and 600 long transfers" in " ".join(sentences(found))
    told = document(found, linux, "eth0")
    assert told["parts"] == 2
    of_fq_codel = next(each for each in told["ranking"] if each["aqm"] == "fq-codel")
    assert of_fq_codel["parameters"]["flows"] == "1024"
    assert f"limit {round(whole.link('link').buffer)} " in of_fq_codel["tc"][0]
    assert "codel" not in advise(part, ("throughput",), seeds=2, whole=whole).schemes


def test_lines_for_both_directions() -> None:
    [scenario, *_] = conditions(LineSpec(down=50e6, up=10e6))
    typed = linux("cake", scenario, "wan")
    assert typed.tested
    up, *redirect, down = typed.commands
    assert up.startswith("tc qdisc replace dev wan root cake memlimit 1902246 bandwidth 9500kbit")
    assert down.startswith("tc qdisc replace dev ifb4wan root cake memlimit 9511229 bandwidth 47500kbit")
    assert redirect[-1].endswith("redirect dev ifb4wan")
    assert linux("fq-pie", scenario, "wan").tested
    assert "Linux does not support" in str(linux("blue", scenario, "wan").why_not)
    assert "uci set sqm.wan.download='47500'" in openwrt("fq-codel", scenario, "wan").commands
    [link, *_] = conditions(LineSpec(rate=10e9, rtt=1e-3))
    [bare] = linux("codel", link, "eth0").commands
    assert " root codel limit " in bare  # the interface keeps the rate itself
    assert openwrt("cake", link, "eth0").why_not


def test_the_modem_behind_the_lines_is_that_of_the_line() -> None:
    line = LineSpec(down=50e6, up=10e6, rtt=0.02, buffer="300 ms", law="reno", ecn=True)
    [scenario, *_] = conditions(line)
    bare, shaped = tried.behind_modem(scenario, linux("fq-codel:target=7ms", scenario, "wan"), "wan")
    assert bare["links.modem-down.rate"] == "50 Mbit/s"
    assert bare["links.modem-up.buffer"] == "375000 B"  # 10 Mbit/s for 300 ms
    assert bare["flows.*.rtt"] == "20 ms"
    assert "reno" in bare["flows.upload.tcp"]
    assert bare["flows.download.ecn"] == "true"
    assert "links.down.rate" not in bare
    assert shaped["links.down.rate"] == "47.5 Mbit/s"
    assert shaped["links.up.rate"] == "9.5 Mbit/s"
    assert "target=7 ms" in shaped["links.up.aqm"]
    by_itself = tried.behind_modem(scenario, linux("cake", scenario, "wan"), "wan")[1]
    assert "links.down.rate" not in by_itself  # the interface is as fast as its cable, CAKE shapes
    assert "bandwidth=47.5 Mbit/s" in by_itself["links.down.aqm"]
    load(tried.MODEM, by_itself)


def test_there_is_nothing_to_check_without_a_shaper() -> None:
    [scenario, *_] = conditions(LineSpec(down=50e6, up=10e6, varying=True))
    with pytest.raises(InputError, match="without a shaper the queue stays in the modem"):
        tried.behind_modem(scenario, linux("fq-codel", scenario, "eth0"), "eth0")


def test_what_cannot_be_checked_is_said_before_any_work(
    within: Aqmlab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    line = ["advise", "--down", "50Mbit/s", "--up", "10Mbit/s", "--check"]
    for options, reason in (((), "aqmlab kernel build"), (("--openwrt",), "leave out --openwrt")):
        refused = within(*line, *options)
        assert refused.returncode == 2
        assert reason in refused.stderr


@pytest.mark.skipif(not images(), reason="no kernel is built: aqmlab kernel build")
@pytest.mark.parametrize(
    ("line", "aqm", "delay"),
    [
        (["--down", "20Mbit/s", "--up", "5Mbit/s"], "cake", "flows.ping.packet_delay_p99"),
        (["--rate", "20Mbit/s"], "fq-codel", "links.link.queue_delay_mean"),
    ],
)
def test_the_lines_are_tried_on_linux(aqmlab: Aqmlab, line: list[str], aqm: str, delay: str) -> None:
    options = ["--aqms", f"droptail,{aqm}", "--seeds", "2", "--set", "duration=4s", "--set", "warmup=2s"]
    told = json.loads(aqmlab("advise", *line, *options, "--check", "--json").stdout)["check"]
    measures = told["measures"]
    assert told["aqm"] == aqm
    assert measures[delay]["bare"] > 2 * measures[delay]["linux"]
    assert measures[delay]["sim"] == pytest.approx(measures[delay]["linux"], rel=0.5)
    if "--down" in line:
        waiting = measures["links.modem-up.queue_mean"]
        assert waiting["linux"] < 3 < waiting["bare"]


def test_hosts_are_ours_in_both_directions() -> None:
    """What comes in is fair to where it goes: with dual-srchost there a host with more flows would get more."""
    [scenario, *_] = conditions(LineSpec(down=50e6, up=10e6))
    up, *_, down = linux("cake", scenario, "eth0").commands
    assert " dual-srchost " in up
    assert " dual-dsthost " in down
    assert "srchost" not in down
    assert any("(NAT), add nat" in note for note in linux("cake", scenario, "eth0").notes)
    assert not any("NAT" in note for note in linux("fq-codel", scenario, "eth0").notes)


@pytest.mark.parametrize(
    ("layer", "cake", "htb", "up"),
    [
        ("pppoe-ptm", "overhead 30 ptm", "overhead 16 linklayer ethernet", "9353kbit"),  # 9500 * 64/65
        ("bridged-ptm", "overhead 22 ptm", "overhead 8 linklayer ethernet", "9353kbit"),
        ("pppoe-vcmux", "overhead 32 atm", "overhead 18 linklayer atm", "9500kbit"),
        ("pppoa-vcmux", "overhead 10 atm", "overhead -4 linklayer atm", "9500kbit"),
        ("docsis", "overhead 18 mpu 64 noatm", "overhead 4 mpu 64 linklayer ethernet", "9500kbit"),
        ("ethernet", "overhead 38 mpu 84 noatm", "overhead 24 mpu 84 linklayer ethernet", "9500kbit"),
    ],
)
def test_the_link_layer_is_in_the_link_the_shaper_and_the_commands(layer: str, cake: str, htb: str, up: str) -> None:
    """CAKE's overhead counts from the IP packet, a size table from the Ethernet frame of 14 B more."""
    [scenario, *_] = conditions(LineSpec(down=50e6, up=10e6, link_layer=layer))
    overhead, mpu, framing = LAYERS[layer]
    for link in scenario.resolved()["links"]:
        found = (link["overhead"], link["mpu"], link["framing"])
        assert found == (f"{overhead - 14} B", f"{mpu or 0} B", framing or "none")
    assert scenario.parameters("cake")["overhead"] == f"{overhead} B"
    first, *_, last = linux("cake", scenario, "eth0").commands
    for line, rate in ((first, "9500kbit"), (last, "47500kbit")):
        assert f" bandwidth {rate} " in line
        assert line.endswith(cake)
        assert " raw " not in line
    root, shaper, queue = linux("fq-codel", scenario, "eth0").commands[:3]
    assert root == f"tc qdisc replace dev eth0 root handle 1: stab {htb} htb default 1"
    assert f"htb rate {up} ceil {up} " in shaper
    assert "fq_codel" in queue
    for scheme in ("cake", "fq-codel"):
        [note] = [each for each in linux(scheme, scenario, "eth0").notes if each.startswith("link layer")]
        assert layer in note


def test_a_link_layer_of_sqm() -> None:
    [scenario, *_] = conditions(LineSpec(down=50e6, up=10e6, link_layer="pppoe-ptm"))
    by_cake = openwrt("cake", scenario, "wan").commands
    assert any("eqdisc_opts=" in line and "overhead 30 ptm" in line for line in by_cake)
    assert "uci set sqm.wan.linklayer='none'" in by_cake
    by_htb = openwrt("fq-codel", scenario, "wan").commands
    for setting in ("upload='9353'", "overhead='16'", "tcMPU='0'", "linklayer='ethernet'"):
        assert f"uci set sqm.wan.{setting}" in by_htb
    assert "uci set sqm.wan.linklayer_adaptation_mechanism='tc_stab'" in by_htb
    assert by_htb.index("uci set sqm.wan.overhead='16'") < by_htb.index("uci commit sqm")


def test_the_modem_behind_the_lines_has_the_link_layer() -> None:
    [scenario, *_] = conditions(LineSpec(down=50e6, up=10e6, link_layer="pppoe-ptm"))
    bare, shaped = tried.behind_modem(scenario, linux("fq-codel", scenario, "wan"), "wan")
    assert bare["links.modem-up.overhead"] == shaped["links.up.overhead"] == "16 B"
    assert quantity(bare["links.modem-up.rate"]) == pytest.approx(10e6 * 64 / 65)  # no shaper of Linux knows PTM
    assert shaped["links.up.rate"] == "9.353 Mbit/s"
    by_cake = tried.behind_modem(scenario, linux("cake", scenario, "wan"), "wan")[1]["links.up.aqm"]
    assert "overhead=30 B" in by_cake
    assert "link_header=14 B" in by_cake
    load(tried.MODEM, shaped)


def test_what_conflicts_or_is_missing_is_said(within: Aqmlab) -> None:
    home, isp = ("--down", "50Mbit/s", "--up", "10Mbit/s"), ("--rate", "25Gbit/s")
    for options, why in (
        (
            ("--down", "50Mbit/s"),
            "up: missing; --down describes an access link, which has two directions: add --up RATE",
        ),
        (("--up", "50Mbit/s"), "down: missing; --up describes an access link"),
        ((*home, "--rate", "1 Gbit/s"), "leave out --rate, or --down and --up"),
        ((*home, "--link-layer", "pppoe-pmt"), 'did you mean "pppoe-ptm"?'),
        ((*home, "--preset", "lte", "--link-layer", "docsis"), "leave out --preset lte"),
        ((*home, "--varying", "--shape", "90%"), "the rate of this link varies"),
        ((*isp, "--preset", "lte"), "use --down and --up instead of --rate"),
        ((*isp, "--shape", "90%"), "shape: 90%: shapes an access link"),
        ((*isp, "--openwrt"), "openwrt: shapes an access link"),
        ((*isp, "--subscribers", "9"), "plan: missing; --rate, --subscribers describes an ISP's link"),
        ((*isp, "--plan", "100/20Mbit/s"), "add --subscribers 2000"),
        ((*isp, "--subscribers", "9", "--plan", "100Mbit/s"), 'plan: "100Mbit/s" is not a plan'),
        ((*isp, "--subscribers", "9", "--plan", "30/1Gbit/s"), "is more than the link, 25 Gbit/s"),
        ((*isp, "--subscribers", "70000", "--plan", "100/20Mbit/s"), "65,519"),
        (
            (*isp, "--subscribers", "9", "--plan", "100/20Mbit/s", "--flows", "5"),
            "flows: 5: cannot be used with --subscribers",
        ),
        (("home/call", "--preset", "lte"), "preset: lte: describes an access link"),
        (("home/call", "--varying"), "varying: describes an access link"),
        (("--down", "50Mbit/s", "--up", "9Mbit/s", "--dev-up", "wan"), "dev-up: wan: requires --subscribers"),
    ):
        refused = within("advise", *options)
        assert (refused.returncode, refused.stdout) == (2, ""), options
        assert why in refused.stderr, (options, refused.stderr)


def test_plans() -> None:
    assert isp.plan("100/20Mbit/s") == (100e6, 20e6)
    assert isp.plan("1Gbit/s / 50 Mbit/s") == (1e9, 50e6)
    assert isp.plan("2.5/0.5Gbit/s") == (2.5e9, 0.5e9)
    assert isp.Subscribers(2000, 100e6, 20e6, 25e9).own(100e6) == 12.5e6
    assert isp.Subscribers(10, 100e6, 20e6, 25e9).own(100e6) == 100e6


def test_the_tree_of_an_isp_is_what_a_shell_makes_of_it() -> None:
    [scenario, *_] = conditions(LineSpec(down=100e6, up=20e6))
    typed = isp.writer(isp.Subscribers(300, 100e6, 20e6, 25e9), "wan")("cake", scenario, "lan")
    made = {}
    for dev in ("lan", "wan"):
        script = "\n".join(["tc() { echo tc $*; }", *typed.commands])
        lines = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout.splitlines()
        made[dev] = [line for line in lines if f" dev {dev} " in line]
        assert len(made[dev]) == 2 + 2 * 300
        assert f"tc class replace dev {dev} parent 1:1 classid 1:13b htb" in made[dev][-2]  # 0x10 + 299
    tree = tc.read_tree("\n".join(made["lan"]))
    assert tree.rate == "25 Gbit/s"
    assert len(tree.classes) == 300
    assert (tree.classes[0]["rate"], tree.classes[0]["ceil"]) == ("83.333 Mbit/s", "100 Mbit/s")
    assert str(tree.classes[0]["aqm"]).startswith("cake")
    assert " dual-dsthost " in made["lan"][-1]  # hosts are the subscriber's in both directions
    assert " dual-srchost " in made["wan"][-1]
    assert all("bandwidth" not in line for line in made["lan"])
    assert any("1.2 times the link down" in note for note in typed.notes)
    [layered, *_] = conditions(LineSpec(down=100e6, up=20e6, link_layer="ethernet"))
    of = isp.Subscribers(9, 100e6, 20e6, 1e9)
    assert (
        isp.writer(of, "wan")("fq-codel", layered, "lan")
        .commands[0]
        .endswith("root handle 1: stab overhead 24 mpu 84 linklayer ethernet htb")
    )
    [leaf] = [line for line in isp.writer(of, "wan")("cake", layered, "lan").commands if "lan parent 1:$n" in line]
    assert "overhead" not in leaf  # the table counts it already
    [ptm, *_] = conditions(LineSpec(down=65e6, up=13e6, link_layer="pppoe-ptm"))
    plan = isp.writer(isp.Subscribers(9, 65e6, 13e6, 1e9), "wan")("cake", ptm, "lan").commands
    assert any(" htb rate 64mbit ceil 64mbit " in line for line in plan)


def test_an_isp_as_a_user_asks(aqmlab: Aqmlab) -> None:
    brief = ("--seeds", "2", "--aqms", "droptail,fq-codel", "--set", "duration=3 s", "--set", "warmup=1 s")
    whose = ("--rate", "25Gbit/s", "--subscribers", "2000", "--plan", "100/20Mbit/s", "--for", "latency")
    told = json.loads(aqmlab("advise", *whose, *brief, "--json").stdout)
    assert told["advised"] == "fq-codel"
    assert told["ranking"][0]["tc"][1].endswith("htb rate 25gbit ceil 25gbit quantum 1514")
    assert told["conditions"][0]["set"]["links.down.rate"] == "100 Mbit/s"


def test_a_fast_link_offers_subscribers() -> None:
    def notes(rate: float) -> str:
        return " ".join(linux("fq-codel", conditions(LineSpec(rate=rate, rtt=0.02))[0], "eth0").notes)

    assert "--subscribers N --plan 100/20Mbit/s" in notes(25e9)
    assert "--subscribers" not in notes(100e6)
    assert "aqmlab tc fq-codel --rate 100Mbit/s --dev eth0 prints a shaper" in notes(100e6)


def test_a_preset_that_cannot_be_shaped_says_what_to_do(within: Aqmlab) -> None:
    line = ("advise", "--down", "200Mbit/s", "--up", "20Mbit/s", "--preset")
    for preset, instead in (
        ("starlink", "aqmlab advise --down '200 Mbit/s' --up '20 Mbit/s' --varying prints CAKE with cake-autorate"),
        ("starlink-down", "--varying"),
        ("docsis", "--up '20 Mbit/s' --link-layer docsis prints one"),
    ):
        refused = within(*line, preset)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert instead in refused.stderr
    assert "lte itself are '43 Mbit/s' and '10 Mbit/s'" in within("advise", "--preset", "lte").stderr
    alone = within("advise", "--preset", "starlink")
    assert "--down '460 Mbit/s' --up '25 Mbit/s' --varying" in alone.stderr  # the preset's own


def test_presets_are_listed_and_shown(aqmlab: Aqmlab) -> None:
    listed = json.loads(aqmlab("list", "presets", "--json").stdout)
    assert {"name": "lte-down", "title": "The downlink of a phone on LTE that moves"} in listed
    assert all(f'preset = "{each["name"]}"' in aqmlab("show", each["name"]).stdout for each in listed[:1])
    both = aqmlab("show", "starlink").stdout
    assert "starlink-down" in both
    assert 'rate = "25 Mbit/s"' in both
    assert "docsis-up" in aqmlab("list").stdout
    assert 'did you mean "lte-down"?' in aqmlab("show", "lte-dwn").stderr


def test_a_shaper_keeps_less_than_the_line_carries() -> None:
    [scenario, *_] = conditions(LineSpec(down=50e6, up=10e6))
    for shape, up in ((0.95, "9500kbit"), (0.9, "9mbit"), (1.0, "10mbit")):
        typed = linux("fq-codel", scenario, "eth0", shape)
        assert f"htb rate {up} ceil {up} " in typed.commands[1]
        assert f"rate: {100 * shape:.0f} % of the link rate (50 Mbit/s down and 10 Mbit/s up)" in typed.notes[-3]
        assert "link layer: none given" in typed.notes[-2]
    [odd, *_] = conditions(LineSpec(down=1_234_567, up=1_234_567))
    assert "uci set sqm.eth0.upload='1172'" in openwrt("cake", odd, "eth0").commands
    docsis = linux("cake:overhead=18B,mpu=64B", scenario, "eth0")
    assert "link layer: overhead 18 B, mpu 64 B, framing none, as given" in docsis.notes
    for text, expected in (("90%", 0.9), ("0.9", 0.9), ("100 %", 1.0)):
        assert share(text) == expected
    for text in ("95", "5 %", "0", "9 ms", "much"):
        with pytest.raises(InputError, match="shape: "):
            share(text)


def test_a_varying_rate_brings_the_settings_of_cake_autorate() -> None:
    [varying, *_] = conditions(LineSpec(down=40e6, up=8e6, varying=True))
    settings = [
        "# /root/cake-autorate/config.primary.sh:",
        "dl_if=ifb4wan",
        "ul_if=wan",
        *(f"{which}_dl_shaper_rate_kbps={rate}" for which, rate in (("min", 10000), ("base", 20000), ("max", 40000))),
        *(f"{which}_ul_shaper_rate_kbps={rate}" for which, rate in (("min", 2000), ("base", 4000), ("max", 8000))),
    ]
    on_linux = linux("fq-codel", varying, "wan").autorate
    assert list(on_linux[-len(settings) :]) == settings
    shapers = [line for line in on_linux if " cake " in line]
    assert [line.split()[4] for line in shapers] == ["ifb4wan", "wan"]
    assert " bandwidth 20mbit " in shapers[0]
    assert " bandwidth 4mbit " in shapers[1]
    by_sqm = openwrt("cake", varying, "wan")
    assert list(by_sqm.autorate) == settings  # SQM makes the shapers
    assert "uci set sqm.wan.download='20000'" in by_sqm.commands
    [steady, *_] = conditions(LineSpec(down=40e6, up=8e6))
    assert linux("cake", steady, "wan").autorate == ()


def test_a_rate_of_a_trace_brings_settings_by_its_seconds(tmp_path: Path) -> None:
    # Of three seconds the first has 100 packets of 12 kbit, the second 200, the third 300.
    times = [1000 * i + 1 + n % 900 for i in range(3) for n in range(100 * (i + 1))]
    trace = tmp_path / "lte.trace"
    trace.write_text("\n".join(map(str, [*sorted(times), 3000])))
    line = LineSpec(down=2.4e6, up=1e6)
    [traced, *_] = conditions(line, {"links.down.rate": f'{{ trace = "{trace}" }}'})
    assert traced.link("down").typical_rates == [1.2e6, 2.4e6, 3.612e6]
    assert "min_dl_shaper_rate_kbps=1200" in linux("cake", traced, "wan").autorate


def test_candidates_on_a_line_whose_rate_varies_have_patient_ones() -> None:
    found = candidates(conditions(LineSpec(down=43e6, up=10e6, preset="lte")))
    assert found[-2:] == ["fq-codel:target=50ms,interval=1s", "cake:rtt=1s"]


def test_a_preset_of_the_line(aqmlab: Aqmlab) -> None:
    [mobile, *_] = conditions(LineSpec(down=43e6, up=10e6, preset="lte"))
    assert "interruptions" in mobile.link("down").impairments
    assert mobile.link("up").rate == 10e6
    line = ("advise", "--down", "43Mbit/s", "--up", "10Mbit/s", "--preset")
    for preset, reason in (
        ("let", 'did you mean "lte"?'),
        ("lte-down", "lte-down: describes one direction; use --preset lte"),
    ):
        refused = aqmlab(*line, preset)
        assert refused.returncode == 2
        assert reason in refused.stderr
    refused = aqmlab(*line, "lte", "--varying")
    assert refused.returncode == 2
    assert "varies by itself" in refused.stderr


@pytest.mark.nightly
def test_fq_codel_gives_up_a_third_of_an_lte_line_and_a_larger_target_wins_it_back() -> None:
    found = advise(conditions(LineSpec(down=43e6, up=10e6, rtt=0.050, preset="lte")), ("throughput",), seeds=3)
    unused = found.unused()["down"]
    usual, patient = "fq-codel:target=6.27ms,interval=100ms", "fq-codel:target=50ms,interval=1s"
    given_up = 1 - found.score(usual, patient).ratio
    assert 0.25 < given_up < 0.4  # 30 % were measured
    assert unused[patient] < 0.25
    assert unused[usual] > 0.4
    assert "Unused capacity of" in " ".join(sentences(found))


def test_a_varying_rate_has_no_fixed_shaper() -> None:
    [varying, *_] = conditions(LineSpec(down=50e6, up=10e6, varying=True))
    [bare] = linux("cake", varying, "eth0").commands
    assert bare.startswith("tc qdisc replace dev eth0 root cake memlimit ")
    assert " unlimited " in bare
    assert any("down and up varies" in note and "autorate" in note for note in linux("cake", varying, "eth0").notes)
    assert "autorate" in str(openwrt("fq-codel", varying, "eth0").why_not)
    for scheme, write in (("cake", linux), ("cake", openwrt), ("fq-codel", openwrt)):
        typed = write(scheme, varying, "eth0")
        assert "no shaper" not in " ".join([*typed.notes, typed.why_not or ""])
    changed = load("home/game", {"changes": '[{ at = "5 s", path = "links.up.rate", value = "1 Mbit/s" }]'})
    assert any("rate: the rate of up varies" in note for note in linux("fq-codel", changed, "eth0").notes)


def test_a_fast_line_asks_much_of_a_processor() -> None:
    [fast, *_] = conditions(LineSpec(rate=10e9, rtt=0.02))
    [note] = [each for each in linux("cake", fast, "eth0").notes if each.startswith("processor")]
    assert "833,333 packets of 1500 B per second, 1,200 ns per packet" in note
    assert "cake_mq" in note
    assert not any(each.startswith("processor") for each in linux("codel", fast, "eth0").notes)


def test_of_equals_the_tested_shipped_and_simple_one_is_advised() -> None:
    for schemes, is_access, expected in (
        (("fq-pie", "fq-codel"), False, "fq-codel"),  # tested
        (("fq-pie", "dualpi2"), False, "fq-pie"),  # alike: the better score
        (("codel", "fq-codel"), False, "fq-codel"),  # in SQM
        (("fq-codel", "cake"), True, "cake"),  # no shaper beside it
        (("fq-codel", "cake"), False, "fq-codel"),
        (("codel:target=8ms", "codel"), False, "codel"),  # fewer parameters
        (("blue", "pie"), False, "pie"),  # in Linux
    ):
        assert preferred(schemes, is_access=is_access) == expected


def test_only_equals_of_the_best_are_advised() -> None:
    found = given({"fq-pie": [0.0100, 0.0100], "cake": [0.0101, 0.0101], "droptail": [1.0, 1.0]})
    assert (found.first, found.ties, found.advised) == ("fq-pie", ["cake"], "cake")
    assert list(best(found, "eth0", linux)) == ["cake"]
    assert "It is statistically tied with the best, FQ-PIE (CAKE's score: 99" in sentences(found)[0]
    assert "Also tied" not in sentences(found)[0]
    told = document(found, linux, "eth0")
    assert told["advised"] == "cake"
    assert [each["equal"] for each in told["ranking"]] == [True, True, False]
    found = given({"fq-pie": [0.010, 0.010], "cake": [0.020, 0.020]})
    assert found.advised == "fq-pie"


@pytest.fixture
def fq_pie_untested(monkeypatch: pytest.MonkeyPatch) -> None:
    """FQ-PIE and nothing else has no commands that a kernel was given."""
    monkeypatch.setattr("aqmlab.advise.ties.UNTESTED", ("fq_pie",))


@pytest.mark.usefixtures("fq_pie_untested")
def test_an_untested_scheme_is_advised_only_where_it_is_10_percent_better() -> None:
    # The score is the root of the delays' ratio, as delay is one of two needs.
    close = given({"fq-pie": [0.0100, 0.0100], "cake": [0.0110, 0.0110], "pie": [0.0111, 0.0111]})
    assert close.schemes[0] == "fq-pie"
    assert close.ties == []
    assert (close.advised, close.best_tested) == ("cake", "cake")
    words = sentences(close)[0]
    assert words.startswith("CAKE is recommended over 1 condition")
    assert "FQ-PIE has the best score, but its commands have not been tested" in words
    assert "4.9 % better" in words
    assert list(best(close, "eth0", linux)) == ["cake"]
    assert document(close, linux, "eth0")["advised"] == "cake"
    far = given({"fq-pie": [0.010, 0.010], "cake": [0.0125, 0.0125]})  # 11.8 %
    assert far.advised == "fq-pie"
    alone = given({"fq-pie": [0.010, 0.010], "blue": [0.0105, 0.0105]})
    assert (alone.advised, alone.best_tested) == ("fq-pie", None)


@pytest.mark.usefixtures("fq_pie_untested")
def test_the_title_of_commands_is_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    found = given({"fq-pie": [0.010, 0.010], "droptail": [0.020, 0.020]})
    typed = Typed(("tc qdisc replace dev eth0 root fq_pie",), ("fq_pie: not tested on a kernel yet",))
    show(parts(found, {"fq-pie": typed}))
    said = capsys.readouterr().out
    assert "Commands for FQ-PIE\nNote: these commands are not tested on a kernel. FQ-PIE is recommended because" in said
    assert "To type" not in said


def test_a_noisy_scheme_is_no_equal_where_a_better_one_is_none() -> None:
    found = given({"fq-pie": [0.010, 0.010], "fq-codel": [0.0125, 0.0125], "cake": [0.011, 0.030]})
    assert found.schemes == ["fq-pie", "fq-codel", "cake"]
    assert found.score("fq-codel").sure
    assert not found.score("cake").sure
    assert (found.ties, found.advised) == ([], "fq-pie")


def test_what_has_no_lines_has_those_of_the_best_that_has_beside_it() -> None:
    found = given({"fq-pie": [0.010, 0.010], "codel": [0.015, 0.015], "fq-codel": [0.02, 0.02], "cake": [0.04, 0.04]})
    lines = best(found, "eth0", openwrt, "SQM")
    assert list(lines) == ["fq-pie", "fq-codel"]
    assert "not for fq_pie" in str(lines["fq-pie"].why_not)
    assert lines["fq-codel"].notes[0].startswith("the best that SQM supports: FQ-CoDel (70.7 %")
    assert list(best(found, "eth0", linux)) == ["fq-pie"]


def test_what_a_traced_link_does_not_carry_is_a_cost(tmp_path: Path) -> None:
    # 36 Mbit/s for 2 s, 3 Mbit/s for 2 s: few senders that keep the queue short cannot use the first.
    times = [time for time in range(1, 4001) for _ in range(3 if time <= 2000 else time % 4 == 0)]
    (tmp_path / "cell").write_text("".join(f"{time}\n" for time in times))
    settings = {"duration": "20 s", "warmup": "4 s", "flows.bulk.count": "2"}
    scenario = load("link/bulk", {"links.link.rate": f"{{ trace = '{tmp_path}/cell' }}", **settings})
    found = advise([scenario], ("throughput", "latency"), ["droptail", "codel"], 3)
    [cost] = found.costs("codel")
    assert (cost.sign.need, cost.sign.metric.name) == ("throughput", "goodput")
    assert cost.score.ratio < 0.95


def test_a_slow_line_as_a_user_asks(aqmlab: Aqmlab) -> None:
    asked = ("advise", "--down", "2 Mbit/s", "--up", "1 Mbit/s", "--seeds", "3", "--aqms", "droptail,cake")
    told = json.loads(aqmlab(*asked, "--json").stdout)
    first, last = told["ranking"]
    assert (first["aqm"], first["score"], last["aqm"]) == ("cake", 1.0, "droptail")
    assert last["interval"][1] < 0.8
    assert first["tested"]
    assert any("bandwidth 950kbit" in line for line in first["tc"])
    assert "latency" in {gain["need"] for gain in first["gains"]}
    assert first["felt"]["rpm"] > 2 * last["felt"]["rpm"]
    assert 100 >= first["felt"]["qoo_gaming"] > last["felt"]["qoo_gaming"] >= 0
    frames = [each["picture"]["media.frame_delay_p95"] for each in (first, last)]
    assert frames[0] < frames[1] / 2
    assert f"Video calls, frame delay (p95): {1e3 * frames[0]:.1f} ms with CAKE" in told["why"]
    assert told["why"].startswith("CAKE comes first over 8 conditions and 3 seeds.")
    text = aqmlab(*asked).stdout
    assert "Gains over DropTail" in text
    assert f"{first['felt']['rpm']:,.0f} RPM with CAKE, {last['felt']['rpm']:,.0f} RPM with DropTail" in " ".join(
        text.split()
    )
    assert "bandwidth 1900kbit" in text


def test_the_law_of_calls_is_the_users(aqmlab: Aqmlab) -> None:
    line = ("--down", "20 Mbit/s", "--up", "2 Mbit/s", "--set", "duration=6 s", "--set", "warmup=3 s")
    asked = ("advise", *line, "--seeds", "2", "--aqms", "fq-codel,cake", "--for", "latency", "--json")
    usual, same, other = (
        json.loads(aqmlab(*asked, *options).stdout) for options in ((), ("--call", "gcc"), ("--call", "constant"))
    )
    assert usual["ranking"][0]["picture"] == same["ranking"][0]["picture"]
    rates = {of["ranking"][0]["picture"]["goodput"] for of in (usual, other)}
    assert len(rates) == 2
    changed = {condition["scenario"]: condition["set"] for condition in other["conditions"]}
    assert changed["home/meeting"]["flows.call-up.law"] == "constant"
    assert not any(".law" in path for path in changed["home/call"])


def test_what_nothing_tells_of_is_said() -> None:
    asked = [load("li2014/table-1", {"duration": "2 s", "flows.ftp.count": "20"})]
    words = sentences(advise(asked, tuple(NEEDS), ["droptail", "pi"], 2))
    assert "over 1 condition and 2 seeds" in words[0]
    assert "Not measured: latency and transfers (the delay of calls, games and pings" in "\n".join(words)
    assert "Not measured" not in "\n".join(sentences(advise(asked, ("fairness",), ["droptail", "pi"], 2)))


def test_what_matters_decides() -> None:
    # A target of 200 ms keeps the link full and callers waiting; CoDel's own 1 ms the other way round.
    schemes = ["codel:target=200ms,interval=400ms", "codel:target=1ms,interval=20ms"]
    scenarios = [load("home/call", {"duration": "20 s", "warmup": "5 s"})]
    assert advise(scenarios, ("throughput",), schemes, 3).first == schemes[0]
    assert advise(scenarios, ("latency",), schemes, 3).first == schemes[1]


def test_what_cannot_be_advised_is_refused(within: Aqmlab) -> None:
    home = ("--down", "1 Mbit/s", "--up", "1 Mbit/s")
    for options, why in (
        ((), "describe the link"),
        (("--down", "1 Mb", "--up", "1 Mbit/s"), 'down: "1 Mb" is not a rate'),
        ((*home, "--rtt", "5"), 'rtt: "5" is not a time'),
        (("--down", __file__, "--up", "1 Mbit/s"), "the trace with --set 'links.down.rate={ trace = "),
        ((*home, "--for", "speed"), "speed"),
        ((*home, "--flows", "5"), "one direction"),
        ((*home, "--aqms", "cake"), "at least two"),
        ((*home, "--law", "cubik"), "cubic"),
        ((*home, "--call", "nad"), 'call: no rate control "nad"; did you mean "nada"'),
        (("--rate", "1 Mbit/s", "--call", "gcc"), "call: gcc: a call needs two directions"),
        (("home/meeting", "--call", "gcc"), "call: gcc: describes an access link; leave the scenarios out"),
        (("li2014/table-1", "--rtt", "5 ms"), "leave the scenarios out"),
        (("li2014/table-1", "--for", "latency"), "these scenarios do not measure it"),
    ):
        refused = within("advise", *options)
        assert (refused.returncode, refused.stdout) == (2, ""), options
        assert why in refused.stderr, options
