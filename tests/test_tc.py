"""Lines of tc: what is written is read back, units are those of tc, and what cannot be said is refused by name."""

import contextlib
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from aqmlab import catalogue, tc
from aqmlab.problems import InputError
from aqmlab.tc import averages, numbers, qdiscs
from aqmlab.tc.openwrt import sqm
from aqmlab.tc.syntax import prepared


def of(aqm: str, rate: float | None = None, buffer: str | None = None, **more: object) -> tc.Setting:
    """A setting; a rate alone is the interface's own."""
    link = tc.Link(rate, buffer, bool(more.get("ecn", True)), int(str(more.get("packet", 1514))))
    return tc.Setting(aqm, link, bool(more.get("shaper", False)))


def line(aqm: str, rate: float | None = None, buffer: str | None = None, **more: object) -> str:
    """Options of the only command."""
    [command] = tc.write(of(aqm, rate, buffer, **more)).commands
    return command.removeprefix("tc qdisc replace dev eth0 root ")


def setting_of(options: str) -> tc.Setting:
    return tc.read(f"tc qdisc replace dev eth0 root {options}").setting


MICROSECONDS = st.integers(1, 2_000_000).map(lambda n: f"{n} us")
WHOLE = st.integers(1, 5000)
STRATEGIES = {
    "time": MICROSECONDS,
    "milliseconds": st.integers(1000, 100_000).map(lambda n: f"{n} ms"),
    "packets": WHOLE.map(lambda n: f"{n} packets"),
    "packets/s": WHOLE.map(lambda n: f"{n} Hz"),
    "probability": st.integers(1, 1000).map(lambda n: f"{n / 1000}"),
    "sixteenths of a hertz": st.integers(1, 32).map(lambda n: f"{n / 16} Hz"),
    "hertz": st.integers(1, 5000).map(lambda n: f"{numbers.hertz_of(n)} Hz"),
    "percent": st.integers(1, 99).map(lambda n: f"{n} %"),
    "rate": st.integers(1000, 10**10).map(lambda n: f"{n} bit/s"),
    "number": st.integers(1, 60).map(str),
    "bytes": st.integers(1, 256).map(lambda n: f"{n} B"),
}
"""Values that tc can say exactly, by its units."""
SPECIAL = {
    "increment": st.integers(1, 65535).map(lambda n: f"{n / 65535:.15f}"),
    "decrement": st.integers(1, 65535).map(lambda n: f"{n / 65535:.15f}"),
    "drop_batch": WHOLE.map(str),
    "q_weight": st.just("auto"),
    "min_th": st.integers(3000, 5000).map(lambda n: f"{n} packets"),
    "max_th": st.integers(5001, 9000).map(lambda n: f"{n} packets"),
    "burst": st.integers(4000, 5500).map(lambda n: f"{n} packets"),
    "diffserv": st.sampled_from(["besteffort", "diffserv3", "diffserv4"]),
    "isolation": st.sampled_from(["hosts", "flows"]),
    "framing": st.sampled_from(["none", "atm", "ptm"]),
    "average": st.sampled_from(["all", "rio", "own"]),
    "min_share": st.integers(10, 500).map(lambda n: f"{n / 1000}"),
    "step": st.integers(1, 50).map(lambda n: f"{n / 1000}"),
}
CHOSEN = {"red": ["q_weight"], "ared": ["q_weight"], "choke": ["q_weight"], "gred": ["average", "min_share", "step"]}
OF_CAKE = ["diffserv", "isolation", "framing"]
CHOSEN |= {"cake": OF_CAKE, "cake-mq": OF_CAKE}


def _has_weight(pairs: list[str]) -> bool:
    """Whether tc finds a weight for the burst."""
    values = {pair.partition("=")[0]: float(pair.partition("=")[2].split()[0]) for pair in pairs if "packets" in pair}
    try:
        return averages.weight(values["burst"], values["min_th"]) > 0
    except InputError:
        return False


@st.composite
def a_setting(draw: st.DrawFn, qdisc: qdiscs.Qdisc) -> tc.Setting:
    """A setting with random parameters that tc can say."""
    names = [name for name, _ in qdisc.options.values() if name != "mean_packet"]
    kinds = dict(qdisc.options.values())
    chosen = [*names, *CHOSEN.get(qdisc.scheme, [])]
    if qdisc.scheme not in CHOSEN or qdisc.is_cake:
        chosen = draw(st.lists(st.sampled_from(chosen), unique=True)) if chosen else []
    pairs = [f"{name}={draw(SPECIAL[name] if name in SPECIAL else STRATEGIES[kinds[name]])}" for name in chosen]
    needs = qdisc.kind in ("red", "choke", "gred")
    if qdisc.kind in ("red", "choke"):
        assume(_has_weight(pairs))
    shaper = draw(st.booleans()) and not qdisc.is_cake
    rate = float(draw(st.integers(1000, 10**10))) if shaper or needs else None
    buffer = draw(st.integers(9000, 100_000)) if needs or draw(st.booleans()) else None
    unit = "B" if qdisc.kind == "bfifo" else "packets"
    ecn = qdisc.marks in ("always", "never") or draw(st.booleans())
    size = f"{buffer} {unit}" if buffer else "77777 B" if qdisc.kind == "bfifo" else None
    return tc.Setting(qdisc.scheme + (":" + ",".join(pairs) if pairs else ""), tc.Link(rate, size, ecn), shaper)


@pytest.mark.parametrize("qdisc", qdiscs.TABLE, ids=lambda each: f"{each.kind} ({each.scheme})")
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_what_is_written_is_read_back(qdisc: qdiscs.Qdisc, data: st.DataObject) -> None:
    asked = data.draw(a_setting(qdisc))
    written = tc.write(asked)
    got = tc.read("\n".join(written.commands)).setting
    assert (got.link, got.shaper) == (asked.link, asked.shaper)
    ours, theirs = prepared(asked)[1], prepared(got)[1]
    named = {pair.partition("=")[0] for pair in asked.scheme.partition(":")[2].split(",")} - {""}
    for name in named:
        assert theirs[name] == (ours[name] if isinstance(ours[name], str) else pytest.approx(ours[name], rel=1e-9))
    assert tc.read("\n".join(tc.write(got).commands)).setting == got
    known = ("kernel", "weight", "memlimit: Linux counts", "queues: set by the device")
    assert not [note for note in tc.write(got).notes if not any(word in note for word in known)]


def test_every_scheme_of_linux_has_its_line() -> None:
    of_linux = {scheme.name for scheme in catalogue.schemes() if scheme.tc}
    assert of_linux == {each.scheme for each in qdiscs.TABLE}
    kinds = {scheme.name: scheme.tc.kind for scheme in catalogue.schemes() if scheme.tc}
    assert all(kinds[each.scheme] == each.kind for each in qdiscs.TABLE if each.kind != "bfifo")


@pytest.mark.parametrize("qdisc", qdiscs.TABLE, ids=lambda each: f"{each.kind} ({each.scheme})")
def test_no_parameter_is_forgotten(qdisc: qdiscs.Qdisc) -> None:
    told = {name for name, _ in qdisc.options.values()} | {name for name, _ in qdisc.keywords.values()}
    told |= {*qdisc.fixed, *qdisc.unsaid}
    by_itself = {"red": {"q_weight"}, "choke": {"q_weight"}, "gred": {"q_weight", "average", "min_share", "step"}}
    by_itself |= {"dualpi2": {"min_th", "range"}}
    declared = {each.name for each in catalogue.find(qdisc.scheme).parameters}
    assert declared - told - by_itself.get(qdisc.kind, set()) == set()


def test_lines_as_they_are_typed() -> None:
    assert line("codel:target=8ms") == "codel target 8ms interval 100ms ecn"
    assert line("pie:tupdate=20ms,alpha=0.25 Hz", ecn=False).startswith("pie target 15ms tupdate 20ms alpha 4 beta 20")
    assert line("droptail", buffer="600 packets") == "pfifo limit 600"
    assert line("droptail", buffer="90 kB") == "bfifo limit 90000"
    assert line("cake:overhead=44 B,mpu=84 B", 5e7) == (
        "cake bandwidth 50mbit rtt 100ms besteffort dual-srchost overhead 44 mpu 84 noatm"
    )
    assert line("cake:unlimited=true,diffserv=diffserv4", 5e7) == (
        "cake unlimited rtt 100ms diffserv4 dual-srchost raw noatm"
    )
    red = "red:flavour=linux,min=30 packets,max=90 packets,q_weight=auto,burst=55 packets,probability=0.1"
    assert line(red, 5e7, "360 packets", packet=1000) == (
        "red limit 360000 min 30000 max 90000 burst 55 probability 0.1 avpkt 1000 bandwidth 50mbit ecn"
    )


def test_a_shaper_is_htb() -> None:
    assert tc.write(of("codel", 8.5e6, shaper=True)).commands == (
        "tc qdisc replace dev eth0 root handle 1: htb default 1",
        "tc class replace dev eth0 parent 1: classid 1:1 htb rate 8500kbit ceil 8500kbit quantum 1514",
        "tc qdisc replace dev eth0 parent 1:1 handle 10: codel target 5ms interval 100ms ecn",
    )


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("codel target 5000", "codel:target=5 ms,mtu=1514 B"),  # bare times are microseconds
        ("codel target 1s interval 0.5sec", "codel:target=1 s,interval=500 ms,mtu=1514 B"),
        ("pie alpha 2 beta 20", "pie:alpha=0.125 Hz,beta=1.25 Hz,mean_packet=1514 B"),
        ("fq_pie ecn_prob 25", "fq-pie:mark_ecnth=0.25"),
        ("sfb rehash 30000 db 2000", "sfb:rehash_interval=30 s,rehash_warmup=2 s"),  # and these milliseconds
        ("sfb target 40", "sfb:bin_size=40 packets,max=50 packets"),
        ("cake bandwidth 2mbps besteffort", "cake:bandwidth=16 Mbit/s,diffserv=besteffort"),  # bytes a second
        ("cake bandwidth 5000 besteffort", "cake:bandwidth=5 kbit/s,diffserv=besteffort"),  # bits a second
        ("cake metro besteffort flows", "cake:rtt=10 ms,diffserv=besteffort,isolation=flows"),
        ("cake docsis besteffort", "cake:diffserv=besteffort,overhead=18 B,mpu=64 B,framing=none"),
        ("cake pppoe-ptm ether-vlan besteffort", "cake:diffserv=besteffort,overhead=34 B,framing=ptm"),
        ("cake docsis overhead 22 besteffort", "cake:diffserv=besteffort,overhead=22 B,mpu=64 B,framing=none"),
        ("cake conservative besteffort", "cake:diffserv=besteffort,overhead=48 B,framing=atm"),
        ("cake", "cake:diffserv=diffserv3"),
        (
            "dualpi2 classic_protection 25% coupling_factor 3 tupdate 16ms alpha 0.5 beta 3",
            # 128 and 768 of 256: 137 and 824 steps of 4e9 / 2^32 of them
            "dualpi2:t_update=16 ms,alpha=0.498403096688 Hz,beta=2.99769453774 Hz,k=3,classic_weight=0.25,"
            "flavour=linux",
        ),
    ],
)
def test_units_are_those_of_tc(typed: str, expected: str) -> None:
    names = {pair.partition("=")[0] for pair in re.split(r"[:,]", expected)}
    got = setting_of(typed).scheme
    scheme, _, pairs = got.partition(":")
    kept = [pair for pair in pairs.split(",") if pair.partition("=")[0] in names]
    assert f"{scheme}:{','.join(kept)}" == expected


def test_sizes_of_red_are_bytes_of_1024_and_thresholds_follow_from_the_limit() -> None:
    # 400 kb = 409600 B; max a quarter, 102400 B; min a third of it, 34133 B; 34.133 and 102.4 packets of 1000 B; burst
    # (2*34133 + 102400) / 3000 = 56.
    got = setting_of("red limit 400kb avpkt 1000 bandwidth 10mbit")
    assert got.scheme == (
        "red:min_th=34.133 packets,max_th=102.4 packets,q_weight=auto,burst=56 packets,max_p=0.02,"
        "mean_packet=1000 B,flavour=linux"
    )
    assert (got.link.buffer, got.link.rate, got.link.ecn) == ("409600 B", 10e6, False)


def test_the_weight_is_made_from_the_burst() -> None:
    # tc: burst + 1 - min <= (1 - (1 - W)^burst) / W. 33 + 1 - 20 = 14; W = 1/8: 7.9; 1/16: 14.1.
    assert averages.weight(33, 20) == 4
    assert averages.weight(averages.burst_for(1 / 16, 20), 20) == 4
    assert averages.weight(averages.burst_for(1 / 16, 20) + 1, 20) == 5
    assert averages.weight(averages.burst_for(0.002, 30), 30) == 9
    with pytest.raises(InputError, match="fewer than min"):
        averages.weight(18, 20)


def test_round_trip_times_of_dualpi2_set_the_rest() -> None:
    # typical 100/6 ms; tupdate the same, being below 100/3; alpha = 0.1 * 0.016667 / 0.01 = 0.1667: 42/256; beta 3; the
    # kernel keeps 45 and 824 steps of 4e9 / 2^32 of 1/256 Hz.
    values = prepared(setting_of("dualpi2 max_rtt 100ms"))[1]
    assert values["target"] == pytest.approx(0.1 / 6, rel=1e-3)
    assert (values["alpha"], values["beta"], values["classic_weight"]) == (
        pytest.approx(45 * 4e9 / 2**32 / 256),
        pytest.approx(824 * 4e9 / 2**32 / 256),
        0.1,
    )


def test_marks_that_linux_counts_twice_are_said_where_dualpi2_is_read() -> None:
    notes = tc.read("tc qdisc add dev wan root dualpi2").notes
    assert any("counts a packet twice" in note for note in notes)
    assert not any("counts a packet twice" in note for note in tc.read("tc qdisc add dev wan root codel").notes)


def test_short_lines_mean_what_the_kernel_does() -> None:
    assert setting_of("fq_codel").link.ecn
    assert not setting_of("codel").link.ecn
    assert tc.read("tc qdisc add dev wan root fq_codel").least == "10240 packets"
    # CAKE: 4 MiB; four times 400 Mbit/s in 100 ms are 20 MB, more than 10240 packets of 1514 B; at 100 Mbit/s 5 MB.
    limits = [tc.read(f"tc qdisc add dev wan root cake bandwidth {rate}mbit").least for rate in (10, 100, 400)]
    assert limits == ["1820 packets", "2170 packets", "6728 packets"]  # full ones, of 2304 B of memory each
    assert tc.read("tc qdisc add dev wan root cake").least == "6728 packets"
    values = prepared(setting_of("dualpi2"))[1]
    assert (values["t_update"], values["alpha"], values["beta"]) == (0.016, numbers.hertz_of(41), numbers.hertz_of(819))


def test_cake_behind_the_bottleneck() -> None:
    read = tc.read("tc qdisc add dev wan root cake bandwidth 45mbit besteffort ingress")
    assert "ingress=true" in read.setting.scheme
    assert "ingress" not in tc.read("tc qdisc add dev wan root cake bandwidth 45mbit egress").setting.scheme
    written = tc.write(tc.Setting("cake:bandwidth=45Mbit/s,ingress=true", tc.Link()))
    assert " ingress" in written.commands[0]
    assert " ingress" not in tc.write(tc.Setting("cake:bandwidth=45Mbit/s", tc.Link())).commands[0]


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("cake ack-filter", "cake: ack-filter: queues in the simulator do not see the ACK numbers"),
        ("cake autorate-ingress", "cake: autorate-ingress"),
        ("cake diffserv8", "cake: diffserv8"),
        ("pie bytemode", "pie: bytemode"),
        ("dualpi2 overflow", "dualpi2: overflow"),
        ("fq_codel ce_threshold_selector 0x1/0x3", "fq_codel: ce_threshold_selector"),
        ("red limit 400kb avpkt 1000 harddrop", "red: harddrop"),
        ("codel traget 5ms", 'codel has no option "traget"; did you mean "target"'),
        ("codel target 5min", '"5min" is not valid for tc; expected time'),
        ("codel target", "target: the value is missing"),
        ("fq_codle", 'no scheme corresponds to the queueing discipline "fq_codle"; did you mean "fq_codel"'),
        ("netem delay 5ms", '"netem"'),
        ("stab overhead 40 linklayer atm cake", "stab"),
        ("red limit 400kb", "red needs avpkt"),
    ],
)
def test_what_we_lack_is_refused_by_name(typed: str, why: str) -> None:
    with pytest.raises(InputError, match=re.escape(why)):
        setting_of(typed)


@pytest.mark.parametrize(
    ("aqm", "more", "why"),
    [
        ("blue", {}, 'Linux does not support "blue"'),
        ("fq-red", {}, 'Linux does not support "fq-red"'),
        ("codle", {}, "codel"),
        ("fq-codel:ways=8", {}, 'ways: "8" cannot be set in fq_codel, which uses 1'),
        ("sfb:levels=4", {}, 'levels: "4" cannot be set in sfb'),
        ("red:wait=false", {"rate": 1e7, "buffer": "600 packets"}, "wait: cannot be set in red: it exists in ns-2"),
        ("red:flavour=ns2", {"rate": 1e7, "buffer": "600 packets"}, 'flavour: "ns2" cannot be set'),
        ("red", {"rate": 1e7}, "buffer: red needs it"),
        ("red", {"buffer": "600 packets"}, "rate: red needs the rate of the link"),
        ("pie:alpha=3 Hz", {}, "alpha: 48 is above the maximum of tc, 32"),
        ("cake", {"ecn": False}, "ecn: cake in Linux marks"),
        ("cake:ack-filter", {}, "ack-filter: queues in the simulator do not see the ACK numbers"),
        ("cake-mq:sync_time=1 ms", {}, 'sync_time: "1 ms" cannot be set in cake_mq'),
        ("cake-mq:autorate-ingress", {}, "autorate-ingress: Linux refuses it, too"),
        ("cake:besteffort", {}, "besteffort: write cake:diffserv=besteffort"),
        ("fq-codel:memory_limit=4MB", {}, "memory_limit: it bounds the queue of the link"),
        ("codel:ecn=true", {}, "ecn: it is the link that marks"),
        ("codel:limti=5", {}, 'unknown parameter "limti"'),
        (
            "choke:q_weight=auto,min=50packets,max=90packets,burst=20packets",
            {"rate": 1e7, "buffer": "400 packets"},
            "burst",
        ),
    ],
)
def test_what_linux_cannot_be_told_is_refused(aqm: str, more: dict[str, object], why: str) -> None:
    with pytest.raises(InputError, match=re.escape(why)):
        line(aqm, **more)  # type: ignore[arg-type]


def test_what_linux_has_otherwise_is_noted() -> None:
    mtu, flavour = tc.write(of("codel")).notes
    assert mtu == "mtu: 1500 B here, 1514 B in Linux, which has no option"
    assert flavour == "flavour: rfc8289 here, linux in Linux, which has no option"
    assert tc.write(of("codel:flavour=linux")).notes == ()
    assert "alpha: 0.13 Hz here, 0.125 Hz in Linux" in tc.write(of("pie:alpha=0.13 Hz")).notes
    noted = tc.write(of("red:flavour=linux,q_weight=0.002", 1e7, "600 packets")).notes
    assert noted == ("q_weight: 0.002 here, 0.001953125 in Linux",)
    # SFB has 16 bits: 0.0001 * 65535 = 6.6, so 7 of them.
    assert tc.write(of("sfb:decrement=0.01 %")).notes == ("decrement: 0.0001 here, 0.000106813153277 in Linux",)


def test_several_queues_of_a_card_are_one_and_several_schemes_are_none() -> None:
    queues = "qdisc mq 0: root \n" + "".join(
        f"qdisc fq_codel 0: parent :{i} limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms "
        "memory_limit 32Mb ecn drop_batch 64 \n Sent 100 bytes 1 pkt (dropped 0, overlimits 0 requeues 0) \n"
        for i in (1, 2)
    )
    assert tc.read(queues).setting.scheme.startswith("fq-codel:")
    with pytest.raises(InputError, match="several queueing disciplines"):
        tc.read(queues + "qdisc pfifo 0: parent :3 limit 1000p\n")


def test_cake_on_several_queues_is_a_root_and_its_parts_are_passed_over() -> None:
    written = tc.write(of("cake-mq:queues=8,diffserv=diffserv3", 1e9))
    [command] = written.commands
    assert command.startswith("tc qdisc replace dev eth0 root cake_mq bandwidth 1gbit rtt 100ms diffserv3")
    assert "queues: set by the device: ethtool -L eth0 combined N; Linux 7.0" in written.notes
    options = "bandwidth 1Gbit diffserv3 dual-srchost nonat nowash no-ack-filter split-gso rtt 100ms raw overhead 0"
    parts = "".join(f"qdisc cake 0: dev eth0 parent 8001:{i} {options}\n" for i in (1, 2))
    found = tc.read(f"qdisc cake_mq 8001: dev eth0 root {options}\n{parts}").setting
    assert tc.read(command).setting.scheme == f"{found.scheme},framing=none"
    for refused in ("tc qdisc add dev eth0 parent 1:10 cake_mq bandwidth 1gbit", "qdisc cake_mq 1: parent 1:1"):
        with pytest.raises(InputError, match="cake_mq: it can only be the root of a device"):
            tc.read(refused)
    with pytest.raises(InputError, match="autorate-ingress"):
        tc.read("tc qdisc add dev eth0 root cake_mq autorate-ingress")


def test_settings_of_openwrt() -> None:
    # fq_codel: limit, target and ECN are options of SQM; the rest is passed on.
    found = sqm(of("fq-codel:target=8ms", 1e7, "2000 packets"), 5e7).commands
    assert "uci set sqm.eth0.upload='10000'" in found
    assert "uci set sqm.eth0.download='50000'" in found
    assert "uci set sqm.eth0.script='simplest.qos'" in found
    assert "uci set sqm.eth0.etarget='8ms'" in found
    assert "uci set sqm.eth0.ilimit='2000'" in found
    assert "uci set sqm.eth0.eqdisc_opts='flows 1024 quantum 1514 drop_batch 64 interval 100ms'" in found
    cake = sqm(of("cake:overhead=30 B,framing=ptm", 1e7)).commands
    assert "uci set sqm.eth0.script='piece_of_cake.qos'" in cake
    assert "uci set sqm.eth0.eqdisc_opts='rtt 100ms besteffort dual-srchost overhead 30 ptm nat'" in cake
    assert "uci set sqm.eth0.iqdisc_opts='rtt 100ms besteffort dual-dsthost overhead 30 ptm nat'" in cake
    with pytest.raises(InputError, match="scripts for cake and fq_codel, not for codel"):
        sqm(of("codel", 1e7))
    with pytest.raises(InputError, match="rate: SQM is a shaper"):
        sqm(of("cake"))


WORDS = [word for each in qdiscs.TABLE for word in (each.kind, each.limit[0], *each.options, *each.keywords)]
WORDS += [
    "tc",
    "qdisc",
    "class",
    "replace",
    "dev",
    "eth0",
    "root",
    "parent",
    "1:",
    "8001:",
    "handle",
    "setup",
    "vqs",
    "vq",
    "grio",
    "default",
    "htb",
    "rate",
    "ewma",
    "5ms",
    "0",
    "1",
    "8",
    "1000",
    "-3",
    "1.2.3ms",
    "1e99",
    "10mbit",
    "300kb",
    "unlimited",
    "raw",
    "docsis",
    "ecn",
    "bandwidth",
    "avpkt",
    "adaptive",
    "-s",
    "sudo",
]
WORDS += ["'", "\n", " vq", ""]


BEGIN = st.sampled_from(["tc qdisc add dev eth0 root", "qdisc"])


@given(words=st.lists(st.sampled_from(WORDS), max_size=12), start=BEGIN)
@settings(max_examples=200, deadline=None)
def test_whatever_is_typed_is_read_or_refused(words: list[str], start: str) -> None:
    with contextlib.suppress(InputError):
        assert prepared(tc.read(" ".join([start, *words])).setting)


def test_every_virtual_queue_of_gred_is_read() -> None:
    lines = list(tc.write(of("gred", 2e7, "400 packets")).commands)
    assert tc.read("\n".join(lines)).setting.scheme.startswith("gred:")
    for broken, why in [
        (lines[:-1], "give setup and the vq 0 to 7 in order"),
        ([*lines[:-1], lines[-1].replace("max 269492", "max 300000")], "the same for all classes"),
        ([*lines[:-1], lines[-1].replace("min 239549", "min 240000")], "rise evenly"),
        ([*lines[:-1], lines[-1].replace(" limit 605600", "")], "needs limit, min and max"),
    ]:
        with pytest.raises(InputError, match=why):
            tc.read("\n".join(broken))
