"""A tree of HTB: the classes of a link as lines of tc and back, and what is no tree."""

import json
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab import tc
from conftest import Aqmlab

SITE = """
schema = 1
duration = "1 s"

[[links]]
name = "down"
rate = "100 Mbit/s"
buffer = "500 packets"
aqm = "fq-codel"

[[links.classes]]
name = "gold"
parent = "site"
rate = "30 Mbit/s"
ceil = "50 Mbit/s"
burst = "20 kB"
quantum = "3028 B"
flows = ["web"]

[[links.classes]]
name = "site"
rate = "50 Mbit/s"
cburst = "3 kB"

[[links.classes]]
name = "rest"
parent = "site"
rate = "20 Mbit/s"
prio = 3
aqm = "pie:target=20ms"
buffer = "200 packets"

[[flows]]
name = "web"
rtt = "20 ms"

[[flows]]
name = "bulk"
rtt = "20 ms"
"""

CLASSES = {
    "1: classid 1:1": "rate 100mbit ceil 100mbit quantum 1514",
    "1:1 classid 1:11": "rate 50mbit ceil 50mbit burst 1600b cburst 3000b quantum 200000",
    "1:11 classid 1:10": "rate 30mbit ceil 50mbit burst 20000b cburst 1600b prio 0 quantum 3028",
    "1:11 classid 1:12": "rate 20mbit ceil 20mbit burst 1600b cburst 1600b prio 3 quantum 200000",
}


@pytest.fixture
def site(tmp_path: Path) -> lab.Scenario:
    (tmp_path / "site.toml").write_text(SITE)
    return lab.load(tmp_path / "site.toml")


def test_a_tree_is_written_from_above(site: lab.Scenario) -> None:
    lines = tc.write_tree(site, "down", "eth1")
    expected = [f"tc class replace dev eth1 parent {place} htb {options}" for place, options in CLASSES.items()]
    assert [line for line in lines.commands if " class " in line] == expected
    assert lines.commands[0] == "tc qdisc replace dev eth1 root handle 1: htb"
    queues = [line for line in lines.commands[1:] if " qdisc " in line]
    assert queues[0].startswith("tc qdisc replace dev eth1 parent 1:10 handle 10: fq_codel limit 500 ")
    assert queues[1].startswith("tc qdisc replace dev eth1 parent 1:12 handle 12: pie limit 200 target 20ms ")
    assert "1:10 is gold takes web" in lines.notes
    assert "1:12 is rest takes bulk" in lines.notes


def test_cake_in_a_leaf_does_not_shape(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(SITE.replace('flows = ["web"]', 'flows = ["web"]\naqm = "cake"'))
    lines = tc.write_tree(lab.load(tmp_path / "site.toml"), "down")
    [cake] = [line for line in lines.commands if " cake " in line]
    assert "bandwidth" not in cake


def test_what_is_written_is_read_again(site: lab.Scenario, tmp_path: Path) -> None:
    lines = tc.write_tree(site, "down")
    tree = tc.read_tree("\n".join(lines.commands))
    assert tree.rate == "100 Mbit/s"
    assert [each["name"] for each in tree.classes] == ["class-11", "class-10", "class-12"]
    text = f'schema = 1\nduration = "1 s"\n\n[[links]]\nname = "down"\nbuffer = "500 packets"\n{tree.toml()}'
    flows = '\n[[flows]]\nname = "web"\nrtt = "20 ms"\n\n[[flows]]\nname = "bulk"\nrtt = "20 ms"\n'
    text = text.replace('name = "class-10"', 'name = "class-10"\nflows = ["web"]')
    (tmp_path / "again.toml").write_text(text + flows)
    again = {each["name"]: each for each in lab.load(tmp_path / "again.toml").resolved()["links"][0]["classes"]}
    [gold, inner, rest] = site.resolved()["links"][0]["classes"]
    for one, other in ((gold, again["class-10"]), (inner, again["class-11"]), (rest, again["class-12"])):
        for key in ("rate", "ceil", "burst", "cburst", "prio", "quantum", "flows"):
            assert one[key] == other[key], key
    assert again["class-12"]["buffer"] == rest["buffer"]
    assert again["class-10"]["parent"] == "class-11"


def test_what_tc_shows_is_read() -> None:
    tree = tc.read_tree("""
class htb 1:1 root rate 10Mbit overhead 38 ceil 10Mbit linklayer ethernet burst 1600b/1 cburst 1600b/1 mpu 0b level 7
class htb 1:10 parent 1:1 leaf 10: prio 2 quantum 25000 rate 2Mbit overhead 38 ceil 10Mbit burst 15Kb/8 cburst 1600b/1
class htb 1:20 parent 1:1 prio 0 rate 8Mbit overhead 38 ceil 8Mbit burst 1600b cburst 1600b level 0
qdisc htb 1: dev eth2 root refcnt 2 r2q 10 default 0x20 direct_packets_stat 0
qdisc codel 10: dev eth2 parent 1:10 limit 1000p target 5ms interval 100ms
""")
    assert (tree.rate, tree.dev) == ("10 Mbit/s", "eth2")
    [first, second] = tree.classes
    assert first == {
        "name": "class-10", "rate": "2 Mbit/s", "ceil": "10 Mbit/s", "burst": "15360 B", "cburst": "1600 B",
        "quantum": "25000 B", "prio": 2, "aqm": first["aqm"], "buffer": "1000 packets",
    }  # fmt: skip
    assert str(first["aqm"]).startswith("codel:target=5 ms,")
    assert second["ceil"] == "8 Mbit/s"
    assert tree.layer == tc.Layer(38)


CLASS = "tc class add dev a parent 1: classid 1:1 htb rate 9mbit\n"


@pytest.mark.parametrize(
    ("lines", "field", "told"),
    [
        (CLASS + "tc class add dev a parent 1:7 classid 1:8 htb rate 1mbit", "parent", "1:7: no class has this name"),
        (CLASS + "tc class add dev a parent 1:1 classid 1:8 htb ceil 1mbit", "rate", "1:8: a class needs its rate"),
        (CLASS + "tc class add dev a parent 1:1 classid 1g htb rate 2mbit", "classid", '"1g" is not a class'),
        (CLASS + "tc class add dev a parent 1:1 classid 1:8 htb rate 2mbit speed 3", "speed", "no option of a class"),
        (CLASS + "tc class add dev a parent 1:1 classid 1:8 htb rate 2mbit prio", "prio", "is not valid for tc"),
        (CLASS + CLASS.replace(":1 ", ":2 ") + "tc qdisc add dev a parent 1:9 codel", "parent", "1:9: no leaf"),
    ],
)
def test_what_is_no_tree_is_named(lines: str, field: str, told: str) -> None:
    with pytest.raises(lab.InputError, match=told) as error:
        tc.read_tree(lines)
    assert error.value.problems[0].path == field


def test_classes_at_the_root_borrow_nothing() -> None:
    lines = CLASS.replace("9mbit", "9mbit ceil 20mbit") + CLASS.replace("1:1 ", "1:2 ")
    tree = tc.read_tree(lines)
    assert (tree.rate, [each["ceil"] for each in tree.classes]) == (None, ["9 Mbit/s", "9 Mbit/s"])
    assert any("borrows nothing" in note for note in tree.notes)
    assert any("several classes are at the root" in note for note in tree.notes)


def test_the_command(aqmlab: Aqmlab, tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(SITE)
    written = aqmlab("tc", "--classes", "site.toml", "--dev", "eth1")
    assert written.returncode == 0, written.stderr
    read = aqmlab("tc", "--from", written.stdout, "--json")
    assert [each["rate"] for each in json.loads(read.stdout)["classes"]] == ["50 Mbit/s", "30 Mbit/s", "20 Mbit/s"]
    assert aqmlab("tc", "--from", written.stdout).stdout.count("[[links.classes]]") == 3
    refused = aqmlab("tc", "--classes", "li2014/table-1")
    assert (refused.returncode, "no link with classes" in refused.stderr) == (2, True)
