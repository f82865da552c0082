"""Bad input: exit code 2, one clear message that names the field, no traceback, nothing written."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab import line, scenario, tc
from aqmlab.runs import live
from conftest import SMALL, Aqmlab

LONG = "9" * 400
HEX = "f" * 5000
"""Of more digits than Python reads or writes."""
HTB = "tc class add dev e "


@pytest.fixture
def aqmlab(within: Aqmlab) -> Aqmlab:
    """What is refused starts nothing: it needs no process of its own."""
    return within


def refused(answer: object, *words: str) -> None:
    assert answer.returncode == 2, answer.stderr  # type: ignore[attr-defined]
    assert answer.stdout == ""  # type: ignore[attr-defined]
    message = answer.stderr  # type: ignore[attr-defined]
    assert message.count("Error: ") == 1, message
    assert "Traceback" not in message
    assert "panicked" not in message
    for word in words:
        assert word in message, message


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('duration = "2 s"', 'duraton = "2 s"', ["duraton", "duration"]),
        ('duration = "2 s"', "duration = 2", ["duration", "2"]),
        ('duration = "2 s"', 'duration = "0 s"', ["duration", "0 s"]),
        ('duration = "2 s"', 'duration = "-2 s"', ["duration", "-2 s"]),
        ('duration = "2 s"', 'duration = "1e30 s"', ["duration", "1e30 s"]),
        ('duration = "2 s"', 'duration = "2 Mbit/s"', ["duration", "2 Mbit/s"]),
        ('duration = "2 s"', 'duration = "2 parsecs"', ["duration", "parsecs"]),
        ('duration = "2 s"', 'duration = ""', ["duration"]),
        ('rate = "10 Mbit/s"', 'rate = "ten Mbit/s"', ["rate", "ten"]),
        ('rate = "10 Mbit/s"', 'rate = "nan Mbit/s"', ["rate", "nan"]),
        ('rate = "10 Mbit/s"', 'rate = "0 Mbit/s"', ["rate"]),
        ('rate = "10 Mbit/s"', 'rate = "-1 Mbit/s"', ["rate", "-1"]),
        ('buffer = "100 packets"', "buffer = 100", ["buffer", "100"]),
        ('target = "30 packets"', 'loss = "101%"', ["links.bottleneck.loss", "101%", "0 ..= 1"]),
        ('target = "30 packets"', 'loss = { p = "1%", q = "30%" }', ["loss", '"q"', "known: p, r, bad, good"]),
        ('target = "30 packets"', 'loss = { p = "1%" }', ["loss", "r: missing"]),
        ('target = "30 packets"', 'jiter = "1 ms"', ["jiter", "jitter"]),
        ('target = "30 packets"', 'jitter = "11 s"', ["jitter", "11 s", "10 s"]),
        ('target = "30 packets"', 'reorder = "1%"', ["reorder", "needs jitter"]),
        (
            'target = "30 packets"',
            'policer = { rate = "1 Mbit/s", burst = "1 B" }',
            ["policer.burst", "1 B", "holds no packet"],
        ),
        ('target = "30 packets"', "aggregation = { packets = 1 }", ["aggregation.packets", "1", "2"]),
        ('target = "30 packets"', 'ecn_mangling = "bleech"', ["ecn_mangling", "bleech", '"bleach"']),
        ('buffer = "100 packets"', 'buffer = "0 packets"', ["buffer"]),
        ('target = "30 packets"', 'target = "3000 packets"', ["target", "3000"]),
        ('aqm = "droptail"', 'aqm = "doptail"', ["aqm", "doptail", "droptail"]),
        ("count = 10", "count = 0", ["count"]),
        ("count = 10", "count = -10", ["count", "-10"]),
        ("count = 10", 'count = "ten"', ["count"]),
        ("count = 10", "count = 100000000000", ["count", "100000000000"]),
        ('rtt = "20 ms"', 'rtt = "1 ms"', ["rtt", "1 ms"]),
        ('kind = "ftp"', 'kind = "fpt"', ["kind", "fpt", "ftp"]),
        ('packet = "1000 B"', 'packet = "0 B"', ["packet"]),
        ('variant = "reno"', 'variant = "renno"', ["variant", "renno", "reno"]),
        ('kind = "ftp"', 'path = ["botleneck"]', ["path", "botleneck", "bottleneck"]),
        ('kind = "ftp"', 'path = ["bottleneck", "bottleneck"]', ["path", "twice"]),
        ('kind = "ftp"', 'start = "1 s"\nstop = "0.5 s"', ["stop", "500 ms", "1 s"]),
        (
            'rate = "10 Mbit/s"',
            'rate = [["0 s", "10 Mbit/s"], ["2 s", "5 Mbit/s"], ["1 s", "1 Mbit/s"]]',
            ["links.bottleneck.rate", "out of order", "1 s"],
        ),
        (
            'kind = "ftp"',
            'kind = "http"\nthink_time = "1 s"\nsize = { pareto = { mean = "12 packets", shape = 0.9 } }',
            ["size", "shape", "0.9"],
        ),
        ("schema = 1", "schema = 2", ["schema", "2"]),
        ("schema = 1", "", ["schema"]),
        ("schema = 1", "schema = [", ["wrong.toml:3:7: is not TOML"]),
    ],
)
def test_a_mistake_in_a_scenario(aqmlab: Aqmlab, tmp_path: Path, old: str, new: str, words: list[str]) -> None:
    text = SMALL.read_text()
    assert old in text
    (tmp_path / "wrong.toml").write_text(text.replace(old, new, 1))
    refused(aqmlab("run", "wrong.toml", "--out", "out"), *words)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.toml", b"", []),
        ("text.toml", b"This is no TOML.\n", []),
        ("latin.toml", "title = 'Zürich'".encode("latin-1"), ["UTF-8"]),
        ("binary.toml", bytes(range(256)), ["UTF-8"]),
        ("zeros.toml", bytes(1000), ["binary"]),
        ("deep.toml", b"a = " + b"[" * 900_000, []),
        ("huge.toml", b"[" * 17_000_000, ["16 MB"]),
    ],
)
def test_a_file_that_is_no_scenario(
    aqmlab: Aqmlab, tmp_path: Path, name: str, content: bytes, words: list[str]
) -> None:
    (tmp_path / name).write_bytes(content)
    refused(aqmlab("run", name), *words)


def test_files_that_cannot_be_read(aqmlab: Aqmlab, tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    os.mkfifo(tmp_path / "pipe.toml")
    refused(aqmlab("run", "folder.toml"), "folder.toml", "directory")
    refused(aqmlab("run", "pipe.toml"), "pipe.toml", "regular")
    refused(aqmlab("run", "none.toml"), "none.toml", "no such file")
    refused(aqmlab("show", "folder.toml"), "folder.toml", "directory")


def test_a_file_that_is_missing_may_have_been_one_beside_it(aqmlab: Aqmlab, tmp_path: Path) -> None:
    (tmp_path / "my-link.toml").write_text(SMALL.read_text())
    for name in ("my-lnik.toml", "my-link", "my-link.tom"):
        refused(aqmlab("run", name), "scenario", name, 'did you mean "my-link.toml"?')
    (tmp_path / "gains.toml").write_text('schema = 1\nscenarios = ["mylink.toml"]\naqms = ["pi"]\n')
    refused(aqmlab("sweep", "gain.toml", "--out", "x"), "experiment", 'did you mean "gains.toml"?')
    refused(aqmlab("sweep", "gains.toml", "--out", "x"), "mylink.toml", 'did you mean "my-link.toml"?')
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["run", "li2014/tabel-1"], ["li2014/tabel-1", "li2014/table-1"]),
        (["run", "SMALL", "--aqm", "pii"], ["pii", "pi"]),
        (["run", "SMALL", "--aqm", "pi:aa=1"], ["aa"]),
        (["run", "SMALL", "--aqm", "pi:a"], ["a"]),
        (["run", "SMALL", "--aqm", "pi:a=x"], ["a", "x"]),
        (["run", "SMALL", "--aqm", "pi:a=-1"], ["a", "-1"]),
        (["run", "SMALL", "--aqm", "pi:a=nan"], ["a", "nan"]),
        (["run", "SMALL", "--aqm", ""], ["aqm"]),
        (["run", "SMALL", "--seed", "-1"], ["--seed"]),
        (["run", "SMALL", "--seed", "18446744073709551616"], ["--seed"]),
        (["run", "SMALL", "--seed", "1.5"], ["--seed"]),
        (["run", "SMALL", "--sed", "1"], ["--sed", "--seed"]),
        (["run", "SMALL", "--set", "duration"], ["duration"]),
        (["run", "SMALL", "--set", "duratoin=1 s"], ["duratoin", "duration"]),
        (["run", "SMALL", "--set", "links.bottlenek.rate=1 Mbit/s"], ["bottlenek", "bottleneck"]),
        (["run", "SMALL", "extra"], ["extra"]),
        (["run"], ["SCENARIO"]),
        (["compare", "SMALL", "--aqms", "pi,remm"], ["remm", "rem"]),
        (["compare", "SMALL", "--aqms", "pi,,rem"], ["aqms"]),
        (["compare", "SMALL", "--aqms", "pi,"], ["aqms", "without spaces"]),
        (["sweep", "SMALL"], ["experiment", "is a scenario", 'scenarios = ["small.toml"]']),
        (["compare", "SMALL", "--aqms", "a=1,pi"], ["a=1"]),
        (["compare", "SMALL", "--aqms", "pi,a=1"], ["pi:a=1"]),
        (["compare", "SMALL", "--aqms", "rem,pi:a=-1"], ["a", "-1"]),
        (["compare", "SMALL", "--seeds", "0"], ["--seeds"]),
        (["compare", "SMALL", "--seeds", "1000000000"], ["seeds", "1000000000"]),
        (["compare", "SMALL", "--jobs", "0"], ["--jobs"]),
        (["compare", "SMALL", "--jobs", "1025"], ["jobs", "1025", "1 to 1024"]),
        (["tc", "codel", "--packet", LONG], ["packet", "999", "1 to 4294967295"]),
        (["tc", "--from", "tc qdisc add dev e root codel limit -1"], ["limit", '"-1"', "packets from 0 to 4294967295"]),
        (["tc", "--from", f"tc qdisc add dev e root codel limit {LONG}"], ["limit", "packets from 0 to 4294967295"]),
        (["tc", "--from", f"tc qdisc add dev e root codel limit 0x{HEX}"], ["limit", "packets from 0 to 4294967295"]),
        (["tc", "--from", f"tc qdisc add dev e root stab mpu {10 * LONG} codel"], ["mpu", "bytes"]),
        (["tc", "--from", f"tc qdisc add dev e root cake bandwidth {LONG}tbit"], ["bandwidth", "rate"]),
        (["tc", "--from", f"{HTB}parent 1:10 classid 1:10 htb rate 1mbit"], ["parent", "1:10", "below itself"]),
        (
            ["tc", "--from", f"{HTB}parent 1:2 classid 1:1 htb rate 1mbit\n{HTB}parent 1:1 classid 1:2 htb rate 1mbit"],
            ["parent", "1:1", "below itself", "root"],
        ),
        (["tc", "--from", f"{HTB}classid 1:1 htb rate {LONG}mbit\n{HTB}classid 1:2 htb rate 1mbit"], ["rate", "mbit"]),
        (["reproduce", "li2013"], ["li2013", "li2014"]),
        (["reproduce", "li2014", "--table", "99"], ["table", "99"]),
        (["reproduce", "li2014", "--figure", "1"], ["figure", "1"]),
        (["reproduce", "li2014", "--sensitivity", "--table", "1"], ["sensitivity", "--table"]),
        (["show", "pie-in-the-sky"], ["pie-in-the-sky"]),
        (["list", "aqm"], ["aqm"]),
        (["compair"], ["compair", "compare"]),
        (["--jsn"], ["--jsn"]),
    ],
)
def test_a_mistake_on_the_command_line(aqmlab: Aqmlab, tmp_path: Path, args: list[str], words: list[str]) -> None:
    given = [str(SMALL) if arg == "SMALL" else arg for arg in args]
    if given[0] in ("run", "compare", "reproduce"):
        given += ["--out", "out"]
    refused(aqmlab(*given), *words)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_used(aqmlab: Aqmlab, small: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    refused(aqmlab("run", small, "--out", "file"), "out", "file")
    refused(aqmlab("compare", small, "--aqms", "pi", "--out", "file/below"), "out", "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_several_problems_are_told_together(aqmlab: Aqmlab, tmp_path: Path) -> None:
    text = SMALL.read_text().replace('"2 s"', '"0 s"').replace("count = 10", "count = 0")
    (tmp_path / "wrong.toml").write_text(text)
    refused(aqmlab("run", "wrong.toml"), "duration", "count")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('seeds = "many"', "my.toml:4:9: experiment.seeds: "),
        ("sedes = 3", "my.toml:4:1: experiment.sedes: unknown key"),
    ],
)
def test_a_mistake_in_an_experiment_has_a_line_and_a_column(
    aqmlab: Aqmlab, tmp_path: Path, line: str, said: str
) -> None:
    (tmp_path / "my.toml").write_text(f'schema = 1\nscenarios = ["{SMALL}"]\naqms = ["pi"]\n{line}\n')
    refused(aqmlab("sweep", str(tmp_path / "my.toml"), "--out", str(tmp_path / "out")), said)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('duration = "2 s"\n', "", "wrong.toml:1:1: duration: missing"),
        ('duration = "2 s"', "duration = 2", "wrong.toml:4:12: duration: "),
    ],
)
def test_run_and_sweep_say_the_same_of_a_scenario(
    aqmlab: Aqmlab, tmp_path: Path, old: str, new: str, said: str
) -> None:
    text = SMALL.read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "wrong.toml").write_text(text.replace(old, new))
    (tmp_path / "my.toml").write_text('schema = 1\nscenarios = ["wrong.toml"]\naqms = ["pi"]\nseeds = 1\n')
    refused(aqmlab("run", tmp_path / "wrong.toml"), said)
    refused(aqmlab("sweep", tmp_path / "my.toml", "--out", tmp_path / "out"), said)


def test_no_list_of_schemes_is_not_the_default_list(aqmlab: Aqmlab) -> None:
    refused(aqmlab("compare", str(SMALL), "--aqms", ""), "aqms", "no scheme", "such as pi,codel")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc, in which no folder can be made")
def test_a_folder_that_cannot_be_made_is_refused_in_words(aqmlab: Aqmlab) -> None:
    refused(aqmlab("run", str(SMALL), "--out", "/proc/x"), "out: /proc/x: /proc cannot be written to")


@pytest.mark.parametrize(
    ("option", "value", "told", "not_told"),
    [
        ("--aqm", "sfq", "expected one of", "did you mean"),
        ("--aqm", "pfifo", 'as tc calls it; did you mean "droptail"?', "known:"),
        ("--set", "links.bottleneck.rate=45MB/s", 'did you mean "360 Mbit/s"?', '"Mbit/s"'),
        ("--set", "links.bottleneck.rate=45Mbps", 'did you mean "Mbit/s"?', "360"),
        ("--set", "links.bottleneck.buffer=5m", "expected packets, bytes", "did you mean"),
        ("--set", "duration=5sec", 'did you mean "s"?', "expected"),
    ],
)
def test_what_is_suggested_has_the_meaning_of_what_was_given(
    aqmlab: Aqmlab, option: str, value: str, told: str, not_told: str
) -> None:
    answer = aqmlab("run", str(SMALL), option, value)
    refused(answer, told)
    assert not_told not in answer.stderr


def test_a_byte_order_mark_is_no_part_of_a_file(aqmlab: Aqmlab, tmp_path: Path) -> None:
    (tmp_path / "line.csv").write_bytes(b"\xef\xbb\xbftime (s),rate (Mbit/s)\n0,5\n")
    scenario = SMALL.read_text("utf-8").replace('rate = "10 Mbit/s"', 'rate = { trace = "line.csv" }')
    (tmp_path / "marked.toml").write_bytes(b"\xef\xbb\xbf" + scenario.encode())
    assert aqmlab("run", "marked.toml").returncode == 0


DESCRIPTION = "rate = '8 Mbit/s'\nbuffer = '100 packets'"
WHOLE: list[tuple[str, Callable[[int], object], int]] = [
    ("seed", lambda n: lab.run(SMALL, seed=n), 2**64),
    ("threads", lambda n: lab.run(SMALL, threads=n), 1025),
    ("jobs", lambda n: lab.compare(SMALL, "pi", jobs=n), 1025),
    ("seeds", lambda n: lab.compare(SMALL, "pi", n), 10_001),
    ("seed", lambda n: lab.Simulation(SMALL, seed=n), 2**64),
    ("i", lambda n: lab.Simulation(SMALL).flow("ftp", n), 2**32),
    ("flows", lambda n: lab.Simulation(SMALL).sample_columns([("ftp", n)]), 2**32),
    ("seed", lambda n: line.Line(DESCRIPTION, n), 2**64),
    ("seed", lambda n: line.Path(SMALL.read_text(), seed=n), 2**64),
    ("seed", lambda n: line.SharedPath(SMALL.read_text(), seed=n), 2**64),
    ("now", lambda n: line.Line(DESCRIPTION).push(n, 1000, b""), 2**64),
    ("length", lambda n: line.Line(DESCRIPTION).push(0, n, b""), 2**32),
    ("flow", lambda n: line.Line(DESCRIPTION).push(0, 1000, b"", flow=n), 2**32),
    ("host", lambda n: line.Line(DESCRIPTION).push(0, 1000, b"", host=n), 2**32),
    ("dscp", lambda n: line.Line(DESCRIPTION).push(0, 1000, b"", dscp=n), 256),
    ("now", lambda n: line.Line(DESCRIPTION).pop(n), 2**64),
    ("now", lambda n: line.Line(DESCRIPTION).advance(n), 2**64),
    ("packet", lambda n: tc.Link(packet=n), 2**32),
    ("seed", lambda n: live.live(scenario.load(SMALL), ["true"], seed=n), 2**64),
    ("mtu", lambda n: live.live(scenario.load(SMALL), ["true"], mtu=n), 65536),
]
"""What takes whole numbers: how it names one, a call of it, and the first that is too large."""


@pytest.mark.parametrize("given", ["negative", "too large", "400 digits", "5000 digits"])
@pytest.mark.parametrize(("name", "call", "most"), WHOLE, ids=[f"{i}-{each[0]}" for i, each in enumerate(WHOLE)])
def test_a_whole_number_out_of_range_is_named(name: str, call: Callable[[int], object], most: int, given: str) -> None:
    number = {"negative": -1, "too large": most, "400 digits": 10**400, "5000 digits": 10**5000}
    with pytest.raises(lab.InputError, match=rf"^{name}: "):
        call(number[given])


@pytest.mark.parametrize("number", [10**400, -(10**400), 10**5000], ids=["400", "-400", "5000"])
def test_a_value_of_many_digits_is_refused(number: int) -> None:
    with pytest.raises(lab.InputError, match=r"flows\.ftp\.count"):
        lab.run(SMALL, set={"flows.ftp.count": number})
    simulation = lab.Simulation(SMALL)
    if number > 0:
        simulation.step_until(number)  # at most the end
        assert simulation.now == simulation.end
    else:
        with pytest.raises(lab.InputError, match="step_until"):
            simulation.step_until(number)
