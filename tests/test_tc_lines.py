"""Lines of tc as they are met in the field: batches, scripts, output of `tc -d`, classes; and settings of SQM.

What is right was read in the sources of tc, of the kernel and of sqm-scripts; figures are worked out by hand.
"""

import re

import pytest

from aqmlab import tc
from aqmlab.problems import InputError
from aqmlab.tc.openwrt import sqm
from aqmlab.tc.syntax import prepared
from conftest import Aqmlab

ROOT = "tc qdisc add dev eth0 root "
ATM = "qdisc fq_codel 8001: dev eth0 root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms"
HTB = "tc qdisc add dev eth0 root handle 1: htb default 10\n"
CHAIN = (
    "tc class add dev a parent 1: classid 1:1 htb rate 9mbit; tc class add dev a parent 1:1 classid 1:2 htb rate 2mbit"
)
LEAF = "\ntc qdisc add dev eth0 parent 1:10 fq_codel"


def of(aqm: str, rate: float | None = None, buffer: str | None = None, *, shaper: bool = True) -> tc.Setting:
    return tc.Setting(aqm, tc.Link(rate, buffer), shaper)


@pytest.mark.parametrize(
    ("batch", "command"),
    [
        ("qdisc add dev eth0 parent 1:10 cake diffserv4", "tc qdisc add dev eth0 parent 1:10 cake diffserv4"),
        ("qdisc add dev eth0 root fq_codel", f"{ROOT}fq_codel"),
        ("qdisc replace dev eth0 root fq_codel limit 1000", "tc qdisc replace dev eth0 root fq_codel limit 1000"),
        ("q a dev red root codel", "/sbin/tc -s q a dev red root codel"),
        ("qdisc add dev eth0 root handle 0x1:0 pie", "sudo tc qdisc add dev eth0 handle 1: root pie"),
    ],
)
def test_a_line_of_a_batch_is_read_as_the_command(batch: str, command: str) -> None:
    assert tc.read(batch).setting == tc.read(command).setting


def test_a_batch_means_what_a_command_does() -> None:
    assert "diffserv" not in tc.read("qdisc add dev eth0 root cake besteffort").setting.scheme.replace(
        "diffserv=besteffort", ""
    )
    assert "diffserv=diffserv4" in tc.read("qdisc add dev eth0 parent 1:10 cake diffserv4").setting.scheme
    assert tc.read("qdisc add dev eth0 root fq_codel").setting.link.ecn
    assert not tc.read("qdisc fq_codel 8001: dev eth0 root limit 10240p").setting.link.ecn
    assert tc.read("qdisc replace dev eth0 root fq_codel limit 1000").setting.link.buffer == "1000 packets"


@pytest.mark.parametrize(
    "lines",
    [
        f"{ATM} memory_limit 32Mb ecn drop_batch 64 \n linklayer atm overhead 40 mtu 2047 tsize 512 \n Sent 0 bytes",
        "tc qdisc add dev eth0 stab overhead 40 linklayer adsl root fq_codel",
        "qdisc replace dev eth0 root stab linklayer atm overhead 40 fq_codel",
    ],
)
def test_the_size_table_is_the_layer_of_the_link(lines: str) -> None:
    link = tc.read(lines).setting.link
    assert link.layer == tc.Layer(40, 0, "atm")
    assert link.ecn


def test_a_size_table_that_the_link_cannot_have_is_named() -> None:
    with pytest.raises(InputError, match="stab: cake has its own options: overhead, mpu, atm"):
        tc.read(f"{ROOT}stab overhead 40 linklayer atm cake bandwidth 10mbit".replace("root stab", "root stab"))


def test_statistics_are_passed_over_and_other_lines_are_named() -> None:
    assert tc.read(f"{ATM}\n Sent 0 bytes 0 pkt (dropped 0)\n maxpacket 0\n").notes == ()
    assert "not read: linklyaer atm overhead 40" in tc.read(f"{ATM}\n linklyaer atm overhead 40").notes


def test_memory_bounds_a_queue() -> None:
    # 4 MiB / 2304 B = 1820.4 full packets; 32 MiB / 2304 B = 14,563 are more than the limit.
    shown = f"{ATM} memory_limit %s ecn drop_batch 64"
    read = tc.read(shown % "4Mb")
    assert read.setting.link.buffer == "1820 packets"
    assert any("memory_limit 4Mb" in note and "1820" in note for note in read.notes)
    assert tc.read(shown % "32Mb").setting.link.buffer == "10240 packets"
    assert not [note for note in tc.read(shown % "32Mb").notes if "memory" in note]
    assert tc.read(f"{ROOT}fq_pie memory_limit 2304000").setting.link.buffer == "1000 packets"
    assert tc.read(f"{ROOT}fq_codel limit 20000").setting.link.buffer == "14563 packets"  # 32 MiB unless told
    [command] = tc.write(of("fq-pie", buffer="20000 packets", shaper=False)).commands
    assert f" memory_limit {20000 * 2304} " in command
    assert tc.read(command).setting.link.buffer == "20000 packets"
    assert tc.read(f"{ROOT}dualpi2 limit 100 memlimit 2304000").setting.link.buffer == "100 packets"


def test_r2q_gives_the_quanta_of_classes() -> None:
    # 2 Mbit/s are 250,000 B/s: over 100 they are 2,500 B; 30 Mbit/s over 1: 3,750,000, at most 200,000; 64 kbit/s: 80,
    # at least 1,000.
    lines = "tc qdisc add dev eth0 root handle 1: htb r2q {}\n" + "\n".join(
        f"tc class add dev eth0 parent 1: classid 1:{i} htb rate {rate}"
        for i, rate in enumerate(("2mbit", "30mbit", "64kbit"), 1)
    )
    assert [each["quantum"] for each in tc.read_tree(lines.format(100)).classes] == ["2500 B", "37500 B", "1000 B"]
    assert [each["quantum"] for each in tc.read_tree(lines.format(1)).classes] == ["200000 B", "200000 B", "8000 B"]
    assert all("quantum" not in each for each in tc.read_tree(lines.format(10)).classes)


def test_a_class_alone_is_read_as_one_of_a_tree() -> None:
    one = "tc class add dev eth0 parent 1: classid 1:10 htb rate 100mbit {}"
    assert tc.read(HTB + one.format("ceil 50mbit") + LEAF).setting.link.rate == 50e6
    assert tc.read(HTB + one.format("ceil 200mbit") + LEAF).setting.link.rate == 100e6
    link = tc.read(HTB + one.format("overhead 10 linklayer adsl mpu 60") + LEAF).setting.link
    assert link.layer == tc.Layer(10, 60, "atm")
    burst = tc.read(HTB + one.format("burst 15k") + LEAF)
    assert any("burst" in note for note in burst.notes)


def test_a_tree_has_the_layer_of_its_classes() -> None:
    lines = HTB + "\n".join(
        f"tc class add dev eth0 parent 1:{parent} classid 1:{name} htb rate 810kbit overhead {{}} linklayer adsl"
        for parent, name in (("", "1"), ("1", "10"), ("1", "11"))
    )
    tree = tc.read_tree(lines.format(10, 10, 10))
    assert tree.layer == tc.Layer(10, 0, "atm")
    assert 'overhead = "10 B"\nframing = "atm"' in tree.toml()
    with pytest.raises(InputError, match="linklayer: the classes count packets in different ways"):
        tc.read_tree(lines.format(10, 10, 14))


def test_a_ceiling_below_the_rate_holds() -> None:
    lines = "".join(
        f"tc class add dev a parent {parent} classid {name} htb rate {rate}\n"
        for parent, name, rate in (("1:", "1:1", "9mbit"), ("1:1", "1:2", "2mbit ceil 1mbit"))
    )
    [child] = tc.read_tree(lines).classes
    assert (child["rate"], child["ceil"]) == ("1 Mbit/s", "1 Mbit/s")


@pytest.mark.parametrize(
    "line",
    [
        "qdisc cake 8001: dev eth0 root refcnt 2 bandwidth unlimited diffserv4 nonat rtt 100ms raw overhead 0",
        f"{ROOT}cake unlimited diffserv4",
        f"{ROOT}cake diffserv4",
        HTB
        + "tc class add dev eth0 parent 1: classid 1:10 htb rate 50mbit"
        + LEAF.replace("fq_codel", "cake diffserv4"),
    ],
)
def test_cake_without_bandwidth_does_not_shape(line: str) -> None:
    read = tc.read(line).setting
    assert "unlimited=true" in read.scheme
    assert "diffserv=diffserv4" in read.scheme


def test_cake_in_a_leaf_of_a_tree_does_not_shape() -> None:
    [leaf] = tc.read_tree(f"{CHAIN}; tc qdisc add dev a parent 1:2 cake").classes
    assert "unlimited=true" in str(leaf["aqm"])


def test_a_leaf_without_a_discipline_is_a_fifo() -> None:
    tree = tc.read_tree(CHAIN)
    assert (tree.classes[0]["aqm"], tree.classes[0]["buffer"]) == ("droptail", "1000 packets")
    alone = tc.read("tc class add dev a parent 1: classid 1:1 htb rate 9mbit")
    assert (alone.setting.scheme, alone.least, alone.setting.link.rate) == ("droptail", "1000 packets", 9e6)


@pytest.mark.parametrize("name", ["0x1:10", "1:0x10", "10010", "0x10", "01:0010"])
def test_numbers_of_classes_are_hexadecimal(name: str) -> None:
    lines = (
        "tc qdisc add dev a root handle 1:0 htb\ntc class add dev a parent 1: classid 1:1 htb rate 9mbit\n"
        f"tc class add dev a parent 1:1 classid {name} htb rate 2mbit\ntc qdisc add dev a parent 1:10 codel"
    )
    [leaf] = tc.read_tree(lines).classes
    assert leaf["name"] == "class-10"
    assert str(leaf["aqm"]).startswith("codel:")


SCRIPT = """#!/bin/sh
# set up a shaper
DEV=eth0
modprobe sch_cake
sudo tc qdisc del dev eth0 root 2>/dev/null || true
if ! sudo tc qdisc add dev eth0 root fq_codel limit 500 > /dev/null 2>&1; then
    echo failed
fi
tc qdisc add dev eth0 handle ffff: ingress
tc filter add dev eth0 parent ffff: protocol all prio 10 u32 match u32 0 0 action mirred egress redirect dev ifb0
$TC qdisc replace dev eth0 root fq_codel limit 600 || tc qdisc add dev eth0 root pfifo_fast
tc -s qdisc show dev eth0 | grep fq_codel
"""


def test_a_script_is_read_and_what_is_not_is_named() -> None:
    read = tc.read(SCRIPT)
    assert read.setting.link.buffer == "600 packets"
    skipped = [note for note in read.notes if note.startswith("not read: ")]
    for word in ("DEV=eth0", "modprobe", "del dev eth0", "true", "if !", "echo", "ingress", "filter", "pfifo_fast"):
        assert any(word in note for note in skipped), word


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("sudo", '"sudo" is not a tc command; write tc qdisc replace dev DEV root ...'),
        ("tc", '"tc" is not a tc command'),
        (f"{ROOT}tbf rate 1mbit burst 5kb latency 70ms", 'no scheme corresponds to the queueing discipline "tbf"'),
        ("tc filter add dev eth0 protocol ip u32 match u32 0 0", "no queueing discipline in it"),
        (f"{ROOT}red limit 400kb avpkt 0", "avpkt: 0 B is not a packet size"),
        (f"{ROOT}choke limit 400 avpkt 0 bandwidth 10mbit", "avpkt: 0 B is not a packet size"),
        (
            f"{ROOT}gred setup vqs 8 default 0\n"
            + "\n".join(
                f"tc qdisc change dev eth0 root gred vq {i} limit 60k min 15k max 25k avpkt 0" for i in range(8)
            ),
            "avpkt: 0 B",
        ),
        (f"{ROOT}choke limit 400", "bandwidth: choke needs it"),
        (f"{ROOT}dualpi2 step_thresh 3p", "step_thresh: tc takes packets, too; the step is a time here"),
        (f"{ROOT}dualpi2 max_rtt 10s", "max_rtt: 10 s: tc refuses it, as alpha would be less than 1/256 Hz"),
        (f"{ROOT}dualpi2 typical_rtt 200ms max_rtt 20ms", "typical_rtt: 200 ms is above max_rtt, 20 ms"),
        (f"{ROOT}dualpi2 limit -5", 'limit: "-5" is not valid for tc'),
        (f"{ROOT}codel limit -5", 'limit: "-5" is not valid for tc'),
        (f"{ROOT}codel limit 1000p", 'limit: "1000p" is not valid for tc'),
        (f"{ROOT}codel target -5ms", 'target: "-5ms" is not valid for tc'),
        (f"{ROOT}cake overhead 300", 'overhead: "300" is not valid for tc'),
        (f"{ROOT}cake mpu -1", 'mpu: "-1" is not valid for tc'),
        ("tc qdisc add dev eth0 root handle 10000: bfifo", 'handle: "10000:" is not a handle of a queueing discipline'),
        ("tc qdisc add dev eth0 root handle 12^ bfifo", 'handle: "12^" is not a handle'),
        (f"{ROOT}pfifo\n{ROOT}pfifo", "eth0 has a queueing discipline there already"),
        (f"{ROOT}red limit 1M avpkt 1500 nodrop", "red: nodrop"),
        ("tc qdisc add dev a root htb\ntc class add dev a classid 1:1 htb rate 5%", "a share of the device's rate"),
        (f"{HTB}tc qdisc add dev eth0 root htb offload", "eth0 has a queueing discipline there already"),
        ("tc qdisc add dev eth0 root htb defualt 10", 'htb has no option "defualt"; did you mean "default"'),
        ("tc qdisc add dev a root handle 1: htb default zz", 'default: "zz" is not a class'),
    ],
)
def test_what_is_not_understood_is_named(lines: str, why: str) -> None:
    with pytest.raises(InputError, match=re.escape(why)):
        tc.read(lines)


def test_a_priority_above_seven_is_seven() -> None:
    assert tc.read_tree(f"{CHAIN} prio 9").classes[0]["prio"] == 7


def test_gains_of_dualpi2_are_those_of_the_kernel() -> None:
    # tc sends floor(256 * 0.1 * 20 ms / (200 ms)^2) = 12 and floor(256 * 0.3 / 200 ms) = 384. The kernel keeps
    # n * 2^32 / 4e9, rounded down: 12 and 412, and shows 11 and 383 of 256: it acts on 0.04366 and 1.49882 Hz.
    typed = tc.read(f"{ROOT}dualpi2 typical_rtt 20ms max_rtt 200ms").setting
    values = prepared(typed)[1]
    assert values["alpha"] == pytest.approx(0.0437, abs=5e-5)
    assert values["beta"] == pytest.approx(412 * 4e9 / 2**32 / 256, rel=1e-6)
    shown = tc.read(
        "qdisc dualpi2 8001: root limit 10000p target 20ms tupdate 20ms alpha 0.042969 beta 1.496094"
    ).setting
    assert prepared(shown)[1]["alpha"] == values["alpha"]
    assert prepared(shown)[1]["beta"] == values["beta"]
    [command] = tc.write(typed).commands
    assert " alpha 0.046875 beta 1.5 " in command


def test_options_of_htb_are_looked_at() -> None:
    tree = tc.read_tree(f"{HTB}tc class add dev eth0 parent 1: classid 1:1 htb rate 9mbit\n"
                        "tc class add dev eth0 parent 1:1 classid 1:10 htb rate 2mbit")  # fmt: skip
    assert any(note == "default: class-10 takes what no filter puts elsewhere" for note in tree.notes)
    unshaped = tc.read("tc qdisc add dev a root handle 1: htb\n"
                       "tc class add dev a parent 1: classid 1:1 htb rate 9mbit\n"
                       "tc qdisc add dev a parent 1:1 codel")  # fmt: skip
    assert any(note.startswith("default: none: ") for note in unshaped.notes)


def test_what_is_changed_keeps_the_rest() -> None:
    add = f"{ROOT}fq_codel limit 1000 flows 256\n"
    read = tc.read(f"{add}tc qdisc change dev eth0 root fq_codel limit 2000").setting
    assert read.link.buffer == "2000 packets"
    assert "flows=256" in read.scheme
    cake = tc.read(f"{ROOT}cake overhead 128 mpu 256\ntc qdisc change dev eth0 root cake mpu 128").setting
    assert "overhead=128 B" in cake.scheme
    assert "mpu=128 B" in cake.scheme
    twice = tc.read(f"{ROOT}cake docsis\ntc qdisc change dev eth0 root cake ethernet").setting
    assert "overhead=38 B" in twice.scheme  # words add up within a command


def test_several_devices_are_told_apart() -> None:
    tree = HTB + "tc class add dev eth0 parent 1: classid 1:10 htb rate 9mbit" + LEAF
    with pytest.raises(InputError, match="dev: commands for several devices: eth0, ifb0; give those of one"):
        tc.read_tree(tree + "\n" + tree.replace("eth0", "ifb0"))


def settings(found: tc.Lines) -> dict[str, str]:
    """Return options of SQM."""
    return dict(re.findall(r"uci set sqm\.\w+\.(\w+)='(.*)'", "\n".join(found.commands)))


def test_each_direction_of_sqm_has_its_own_limit() -> None:
    up, down = tc.Link(1e7, "500000 B"), tc.Link(5e7, "2500000 B")
    cake = settings(sqm(tc.Setting("cake", up, True), down))
    assert "memlimit 760898 " in cake["eqdisc_opts"] + " "
    assert "memlimit 3804491 " in cake["iqdisc_opts"] + " "
    assert cake["download"] == "50000"
    codel = settings(sqm(tc.Setting("fq-codel", tc.Link(1e7, "500 packets"), True), tc.Link(5e7, "2500 packets")))
    assert (codel["elimit"], codel["ilimit"]) == ("500", "2500")


def test_advice_for_openwrt_has_a_limit_a_direction(aqmlab: Aqmlab) -> None:
    from aqmlab.advise import LineSpec, commands, conditions

    typed = commands.openwrt("cake", conditions(LineSpec(down=50e6, up=10e6))[0], "wan")
    found = settings(tc.Lines(typed.commands, ()))
    limits = [int(re.findall(r"memlimit (\d+)", found[f"{way}qdisc_opts"])[0]) for way in "ei"]
    assert limits[1] == pytest.approx(5 * limits[0], rel=0.01)


@pytest.mark.parametrize(
    ("scheme", "way", "words"),
    [
        ("cake:diffserv=diffserv3", "i", ["diffserv3", "nat", "dual-dsthost"]),
        ("cake:diffserv=diffserv4", "i", ["diffserv4"]),
        ("cake", "i", ["besteffort"]),
        ("cake", "e", ["besteffort", "nat", "dual-srchost"]),
        ("cake:ingress=true", "i", ["ingress"]),
    ],
)
def test_words_of_sqm_are_said_in_full(scheme: str, way: str, words: list[str]) -> None:
    found = settings(sqm(of(scheme, 1e7), 2e7))
    assert {*words} <= {*found[f"{way}qdisc_opts"].split()}


def test_sqm_squashes_nothing_that_is_asked_for() -> None:
    tins = settings(sqm(of("cake:diffserv=diffserv3", 1e7), 2e7))
    assert (tins["squash_ingress"], tins["squash_dscp"]) == ("0", "0")
    assert settings(sqm(of("cake", 1e7), 2e7))["squash_ingress"] == "1"


def test_ingress_is_said_of_what_comes_in() -> None:
    found = settings(sqm(of("cake:ingress=true", 1e7), 2e7))
    assert "ingress" not in found["eqdisc_opts"].split()


def test_bandwidth_is_what_sqm_shapes_to() -> None:
    assert settings(sqm(of("cake:bandwidth=8Mbit/s", 1e7)))["upload"] == "8000"
    assert settings(sqm(of("cake", 1e7)))["upload"] == "10000"


def test_nat_is_left_out_where_nothing_is_translated(aqmlab: Aqmlab) -> None:
    assert "nat" not in settings(sqm(of("cake", 1e7), 2e7, nat=False))["eqdisc_opts"].split()
    assert "nat" not in settings(sqm(of("cake:isolation=flows", 1e7), 2e7))["eqdisc_opts"].split()
    arguments = ("tc", "cake", "--rate", "10Mbit/s", "--down", "20Mbit/s", "--openwrt")
    assert " nat" in aqmlab(*arguments).stdout
    assert " nat" not in aqmlab(*arguments, "--no-nat").stdout
    alone = aqmlab("tc", "cake", "--no-nat")
    assert alone.returncode == 2
    assert "--openwrt" in alone.stderr


def test_cake_without_a_shaper_stands_below_one() -> None:
    lines = tc.write(of("cake:unlimited=true", 5e7)).commands
    assert len(lines) == 3
    assert " htb rate 50mbit ceil 50mbit " in lines[1]
    assert " parent 1:1 handle 10: cake unlimited " in lines[2]
    assert tc.read("\n".join(lines)).setting.link.rate == 5e7
    with pytest.raises(InputError, match="unlimited: SQM sets CAKE's bandwidth"):
        sqm(of("cake:unlimited=true", 5e7))


def test_a_layer_is_written_as_it_is_read() -> None:
    link = tc.Link(1e7, layer=tc.Layer(26, 0, "atm"))
    lines = tc.write(tc.Setting("fq-codel", link, True)).commands
    assert lines[0] == "tc qdisc replace dev eth0 root handle 1: stab overhead 26 linklayer atm htb default 1"
    assert tc.read("\n".join(lines)).setting.link.layer == link.layer
    ptm = tc.write(tc.Setting("fq-codel", tc.Link(65e6, layer=tc.Layer(16, 0, "ptm")), True))
    assert " stab overhead 16 linklayer ethernet htb " in ptm.commands[0]
    assert " rate 64mbit ceil 64mbit " in ptm.commands[1]
    assert any(note.startswith("framing: htb counts no PTM") for note in ptm.notes)
    [cake] = tc.write(tc.Setting("cake", tc.Link(1e7, layer=tc.Layer(16, 0, "ptm")), True)).commands
    assert " overhead 30 ptm" in cake  # CAKE counts from the IP packet


TWO = """tc qdisc add dev eth0 root handle 1: htb default 20
tc class add dev eth0 parent 1: classid 1:1 htb rate 10mbit
tc class add dev eth0 parent 1:1 classid 1:10 htb rate 4mbit
tc class add dev eth0 parent 1:1 classid 1:20 htb rate 6mbit
tc qdisc add dev eth0 parent 1:10 handle 10: fq_codel
tc qdisc add dev eth0 parent 1:20 handle 20: pie
"""


def test_what_is_deleted_is_gone_with_what_is_below() -> None:
    [left] = tc.read_tree(f"{TWO}tc class del dev eth0 classid 1:10").classes
    assert (left["rate"], str(left["aqm"]).partition(":")[0]) == ("6 Mbit/s", "pie")
    assert tc.read_tree(f"{TWO}tc class del dev eth0 parent 1:1 classid 1:10").classes == [left]
    kept = tc.read_tree(f"{TWO}tc qdisc del dev eth0 parent 1:20").classes
    assert [str(each["aqm"]).partition(":")[0] for each in kept] == ["fq-codel", "droptail"]
    with pytest.raises(InputError, match="classid: 1:1: has classes below it"):
        tc.read_tree(f"{TWO}tc class del dev eth0 classid 1:1")
    again = tc.read(f"{TWO}tc qdisc del dev eth0 root\ntc qdisc add dev eth0 root pie")
    assert again.setting.scheme.startswith("pie")
    other = tc.read(f"{TWO}tc qdisc replace dev eth0 root cake bandwidth 9mbit")  # takes the classes away
    assert other.setting.scheme.startswith("cake")
