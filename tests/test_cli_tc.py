"""`aqmlab tc` as users type it."""

import json
import subprocess
import tomllib

from conftest import COMMAND, Aqmlab


def test_a_line_to_paste(aqmlab: Aqmlab) -> None:
    done = aqmlab("tc", "codel:target=8ms", "--dev", "wan")
    assert (done.returncode, done.stderr) == (0, "")
    *notes, line = done.stdout.splitlines()
    assert notes == [
        "# mtu: 1500 B here, 1514 B in Linux, which has no option",
        "# flavour: rfc8289 here, linux in Linux, which has no option",
    ]
    assert line == "tc qdisc replace dev wan root codel target 8ms interval 100ms ecn"


def test_a_rate_brings_a_shaper_unless_the_interface_has_it(aqmlab: Aqmlab) -> None:
    shaped = aqmlab("tc", "sfb", "--rate", "50Mbit/s").stdout.splitlines()
    assert ["htb" in line for line in shaped] == [True, True, False]
    assert "rate 50mbit" in shaped[1]
    [plain] = aqmlab("tc", "choke", "--rate", "50Mbit/s", "--buffer", "400packets", "--no-shaper").stdout.splitlines()[
        1:
    ]
    assert plain.startswith("tc qdisc replace dev eth0 root choke limit 400 ")
    [cake] = aqmlab("tc", "cake", "--rate", "50Mbit/s").stdout.splitlines()
    assert "cake bandwidth 50mbit" in cake


def test_what_is_read_are_keys_of_a_link(aqmlab: Aqmlab) -> None:
    done = aqmlab("tc", "--from", "tc qdisc add dev wan root fq_codel limit 2000 target 8ms noecn")
    assert done.returncode == 0
    assert tomllib.loads(done.stdout) == {
        "buffer": "2000 packets",
        "ecn": False,
        "aqm": "fq-codel:target=8 ms",
    }
    told = json.loads(aqmlab("tc", "--from", "tc qdisc add dev wan root codel", "--json").stdout)
    assert (told["dev"], told["buffer"]) == ("wan", "1000 packets")
    assert told["notes"] == ["buffer: the kernel's default, 1000 packets"]


def test_what_tc_shows_comes_through_a_pipe() -> None:
    shown = (
        "qdisc cake 8001: root refcnt 2 bandwidth 45Mbit besteffort triple-isolate nonat nowash ack-filter rtt 100ms\n"
    )
    arguments = [str(COMMAND), "tc", "--from", "-"]
    done = subprocess.run(arguments, input=shown, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "Error: tc: cake: ack-filter: queues in the simulator do not see the ACK numbers that the filter compares\n"
    )
    without = shown.replace("ack-filter ", "ingress ")
    done = subprocess.run(arguments, input=without, capture_output=True, text=True, check=True)
    assert tomllib.loads(done.stdout)["aqm"] == "cake:bandwidth=45 Mbit/s,rtt=100 ms,diffserv=besteffort,ingress=true"
    assert "# triple-isolate: left out: a flow in the simulator has one host, its sender" in done.stdout


def test_what_cannot_be_said_ends_with_2(within: Aqmlab) -> None:
    for arguments, why in [
        (("blue",), 'Linux does not support "blue"'),
        (("fq-codel:ways=8",), "ways"),
        (("red", "--rate", "5Mbit/s"), "give --buffer"),
        (("codel", "--rate", "50"), 'rate: "50" is not a rate'),
        (("codel", "--buffer", "50"), 'buffer: "50" is not a size'),
        (("pie", "--rate", "5Mbit/s", "--openwrt"), "SQM has scripts for cake and fq_codel"),
        (("codel", "--down", "5Mbit/s"), "add --openwrt"),
        (("codel:target=5",), "has no unit"),
        ((), "give a scheme"),
        (("codel", "--from", "tc qdisc add dev eth0 root codel"), "give a scheme"),
    ]:
        done = within("tc", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert why in done.stderr, arguments


def test_names_of_tc_are_read_in_a_run(aqmlab: Aqmlab, small: str) -> None:
    ours = aqmlab("run", small, "--aqm", "pie:t_update=20 ms,target=9 ms", "--json")
    theirs = aqmlab("run", small, "--aqm", "pie:tupdate=20 ms,target=9 ms", "--json")
    assert theirs.returncode == 0
    links = [json.loads(each.stdout)["links"]["bottleneck"] for each in (ours, theirs)]
    assert [each.pop("schemes")[0][1] for each in links] == [
        "pie:t_update=20 ms,target=9 ms",
        "pie:tupdate=20 ms,target=9 ms",  # as it was asked for
    ]
    assert links[0] == links[1]


def test_settings_of_openwrt(aqmlab: Aqmlab) -> None:
    done = aqmlab("tc", "cake:overhead=22B,framing=ptm", "--rate", "10Mbit/s", "--down", "50Mbit/s", "--openwrt")
    assert done.returncode == 0
    assert "uci set sqm.eth0.download='50000'" in done.stdout
    assert done.stdout.splitlines()[-1] == "/etc/init.d/sqm restart"
