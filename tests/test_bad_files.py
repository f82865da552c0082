"""Files, folders, options and streams that are wrong: exit code 2, one message with what is wrong, nothing left behind.

Each case is what is put into a folder of good files, a command, and what its message has.
"""

import errno
import io
import json
import os
import resource
import shlex
import shutil
import signal
import socket
import struct
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyarrow import parquet

from aqmlab import __main__ as program
from aqmlab import untrusted
from aqmlab.bundle import archive, build
from aqmlab.cli import main
from aqmlab.csv_text import csv_text
from aqmlab.problems import InputError
from aqmlab.runs import columns, grid, sweep
from aqmlab.runs.live import EmulatedLine
from conftest import SMALL, in_process

Maker = Callable[[Path], object]
Case = tuple[dict[str, bytes | str | Maker], str, str]

LIMIT = 120
"""Seconds after which a command has hung; no measure of speed."""
LONGEST = 2100
"""Characters of a message that somebody still reads."""
MANY = "9" * 400
WIDE = "9" * 5000
"""Of more digits than Python reads."""
EXPERIMENT = 'schema = 1\ntitle = "Small"\nscenarios = ["small.toml"]\naqms = ["red", "pi"]\n[set]\nduration = "1 s"\n'
ANSWERS = 'sheet = "01-bufferbloat"\nstudent = "s1"\nminutes = 15\n[answers]\nguess = "300 ms"\n'
CODE = 'import aqmlab\nclass OfBadFiles(aqmlab.Aqm):\n    """Mine."""\n'
TREE = """
schema = 1
duration = "1 s"
[[sites]]
name = "site"
down = "60 Mbit/s"
up = "60 Mbit/s"
buffer = "20 ms"
[[plans]]
name = "basic"
down = "20 Mbit/s"
up = "5 Mbit/s"
rtt = "20 ms"
buffer = "1 MB"
[lines]
count = 4
parent = "site"
[[flows]]
name = "web"
lines = ["basic"]
count = 1
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a good file of each kind."""
    from test_gym_policy import model

    folder = tmp_path_factory.mktemp("base")
    for name, text in {
        "small.toml": SMALL.read_text(),
        "tree.toml": TREE,
        "e.toml": EXPERIMENT,
        "answers.toml": ANSWERS,
        "line.csv": "time (s),rate (Mbit/s)\n0,5\n1,2\n",
        "mine.py": CODE,
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    sweep.sweep(folder / "e.toml", folder / "out")
    (folder / "b.zip").write_bytes(build.bundle(str(folder / "out")).data)
    with zipfile.ZipFile(folder / "b.zip") as file:
        file.extractall(folder / "unpacked")
    model(folder)
    (folder / "live").mkdir()
    text = EmulatedLine("1 Mbit/s", "1 Mbit/s").scenario().text
    setup = {"name": "line", "text": text, "overrides": [], "aqm": None, "seed": 1}
    (folder / "live" / "live.json").write_text(json.dumps(setup))
    for name in ("up", "down"):
        (folder / "live" / f"{name}.log").write_bytes(record(10**6, 0) + record(9 * 10**9, 1))
    return folder


def record(time: int, kind: int, number: int = 0) -> bytes:
    """A packet of 1000 B in the log of a live run."""
    return struct.pack("<QIIIIHBBI", time, number, 1, 2, 3, 1000, 0, kind, 0)


def gone(path: Path) -> None:
    """Make room for something else."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def pipe(path: Path) -> None:
    gone(path)
    os.mkfifo(path)


def listening(path: Path) -> None:
    """A socket; its path is too long for a bind."""
    gone(path)
    there = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(f"/proc/self/fd/{there}/{path.name}")
    os.close(there)


def folder(path: Path) -> None:
    gone(path)
    path.mkdir()


def link(to: str) -> Maker:
    def make(path: Path) -> None:
        gone(path)
        path.symlink_to(to)

    return make


def sparse(size: int) -> Maker:
    """A file of zeros that takes no room."""

    def make(path: Path) -> None:
        gone(path)
        with path.open("wb") as file:
            file.truncate(size)

    return make


def edit(old: str, new: str) -> Maker:
    """Put another text in place of one."""

    def make(path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    return make


def add(text: str) -> Maker:
    return lambda path: path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def cut(path: Path) -> None:
    """The first half."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def coded(encoding: str) -> Maker:
    return lambda path: path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))


def changed(**fields: object) -> Maker:
    """Other fields of a JSON document."""
    return lambda path: path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def rows(**fields: object) -> Maker:
    """Other values in the first row of a table; None leaves a column out."""

    def make(path: Path) -> None:
        table = parquet.read_table(path).to_pylist()
        table[0] |= fields
        path.write_bytes(columns.encode(columns.table(table)))

    return make


def part(maker: Maker) -> Maker:
    """Make it in place of the results of a sweep."""

    def make(path: Path) -> None:
        [found] = path.glob("*.parquet")
        maker(found)

    return make


def zipped(change: Callable[[dict[str, bytes]], None], *, sums: bool = True) -> Maker:
    """Pack a bundle again, its files changed."""

    def make(path: Path) -> None:
        with zipfile.ZipFile(path) as file:
            members = {name: file.read(name) for name in file.namelist() if name != archive.MANIFEST}
            before = file.read(archive.MANIFEST)
        change(members)
        with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(path, "w") as file:
            for name, data in members.items():
                file.writestr(name, data)
            file.writestr(archive.MANIFEST, archive.manifest(members) if sums else before)

    return make


def scenario(*edits: str) -> dict[str, bytes | str | Maker]:
    """The small scenario with a value replaced: key and value."""
    key, value = edits
    [line] = [line for line in SMALL.read_text().splitlines() if line.startswith(f"{key} = ")][:1]
    return {"small.toml": edit(line, f"{key} = {value}")}


RUN = "run small.toml"
SWEEP = "sweep e.toml --out swept"
REPORT = "report out --format csv"
CHECK = "exercise check 01-bufferbloat answers.toml"
REPLAY = "live --replay live"
EXPORT = "export-policy model.zip --out policy.py"
RESUME = "sweep e.toml --out out --resume"
MERGE = "merge out --out merged"
TRACE = "run small.toml --set 'links.bottleneck.rate={trace=\"line.csv\"}'"
IN_FOLDER: dict[str, bytes | str | Maker] = {"small.toml": edit('"10 Mbit/s"', '{ trace = "line.csv" }')}

PLACES: list[Case] = [
    ({"small.toml": folder}, RUN, "small.toml: is a directory, not a regular file; expected a TOML file"),
    ({"small.toml": pipe}, "show small.toml", "small.toml: is a pipe"),
    ({"small.toml": listening}, "compare small.toml --aqms pi", "small.toml: is a socket"),
    ({"small.toml": link("/dev/zero")}, RUN, "small.toml: is a device"),
    ({"small.toml": link("/dev/full")}, "tc --classes small.toml", "small.toml: is a device"),
    ({"small.toml": link("/proc/self/mem")}, RUN, "small.toml: cannot be read (Input/output error)"),
    ({"small.toml": link("/proc/self/environ")}, RUN, "small.toml: a binary file"),
    ({"small.toml": link("nowhere")}, RUN, "small.toml: is a link to a file that is not there"),
    ({"small.toml": link("small.toml")}, RUN, "small.toml: cannot be read (Too many levels of symbolic links)"),
    ({"small.toml": sparse(2**31)}, RUN, "2,147,483,648 bytes, more than 16,000,000"),
    ({"small.toml": b""}, RUN, "small.toml:1:1: duration: missing"),
    ({"small.toml": b"\xef\xbb\xbf"}, RUN, "small.toml:1:1: links: missing"),
    ({"small.toml": coded("utf-16")}, RUN, "small.toml: not UTF-8 text"),
    ({"small.toml": coded("utf-32")}, "show small.toml", "small.toml: not UTF-8 text"),
    ({"small.toml": b"schema = 1\rduration = '1 s'\r"}, RUN, "carriage return must be followed by newline"),
    ({"small.toml": cut}, RUN, "small.toml:10:5: is not TOML"),
    ({}, "run small.toml/below.toml", "small.toml/below.toml: cannot be read (Not a directory)"),
    ({}, f"run {'x' * 300}.toml", "cannot be read (File name too long)"),
    ({}, f"run {'x' * 300}", "no built-in scenario and no file"),
    ({}, f"show {'x' * 5000}", "no scheme, controller, scenario, study or preset"),
    ({}, "run x.**", "no built-in scenario and no file"),
    ({}, "run \udcff.toml", "argument: \\udcff.toml: is not UTF-8 text"),
    ({"\udcff.toml": SMALL.read_text()}, "run x.toml", "x.toml: no such file"),
    ({}, "run small.toml --aqm \udcff", "argument: \\udcff: is not UTF-8 text"),
    ({"e.toml": pipe}, SWEEP, "experiment: e.toml: is a pipe"),
    ({"e.toml": link("nowhere")}, SWEEP, "experiment: e.toml: is a link to a file that is not there"),
    ({"e.toml": b""}, SWEEP, "e.toml:1:1: experiment.schema: missing"),
    ({"e.toml": coded("utf-16")}, SWEEP, "e.toml: not UTF-8 text"),
    ({"small.toml": pipe}, SWEEP, "small.toml: is a pipe"),
    ({}, "sweep x.** --out swept", "experiment: x.**: no such file"),
    ({}, "sweep e.toml/x.toml --out swept", "e.toml/x.toml: cannot be read (Not a directory)"),
    ({"answers.toml": folder}, CHECK, "answers: answers.toml: is a directory"),
    ({"answers.toml": link("/dev/zero")}, CHECK, "answers: answers.toml: is a device"),
    ({"answers.toml": b""}, CHECK, "answers.toml:1:1: sheet: is missing"),
    ({"answers.toml": sparse(2**31)}, CHECK, "more than 16,000,000"),
    ({}, "exercise check 01-bufferbloat x.**", "answers: x.**: no such file"),
    ({}, "exercise mark 01-bufferbloat answers.toml missing.toml", "answers: missing.toml: no such file"),
    ({"b.zip": link("/proc/self/mem")}, "verify b.zip", "bundle: b.zip: cannot be read"),
    ({"b.zip": link("b.zip")}, "verify b.zip", "b.zip: cannot be read (Too many levels"),
    ({"b.zip": link("nowhere")}, "verify b.zip", "bundle: b.zip: no such file"),
    ({"b.zip": listening}, "verify b.zip", "bundle: b.zip: is a socket"),
    ({"b.zip": folder}, "verify b.zip", "has no SHA256SUMS"),
    ({"b.zip": sparse(2**31)}, "verify b.zip", "2,147,483,648 bytes, more than 536,870,912"),
    ({}, f"verify {'x' * 300}", "cannot be read (File name too long)"),
    ({"model.zip": folder}, EXPORT, "model: model.zip: is a directory, not a regular file"),
    ({"model.zip": pipe}, EXPORT, "model: model.zip: is a pipe"),
    ({"model.zip": link("nowhere")}, EXPORT, "model: model.zip: no such file"),
    ({"model.zip": link("/proc/self/mem")}, EXPORT, "is not a model that Stable-Baselines3 saved"),
    ({"live": pipe}, REPLAY, "replay: live: is not a folder of aqmlab live --out: live/live.json"),
    ({"live": link("live")}, REPLAY, "live/live.json: cannot be read (Too many levels"),
    ({"live/live.json": folder}, REPLAY, "live/live.json: is a directory"),
    ({"live/live.json": link("../answers.toml")}, REPLAY, "live/live.json: is a link that leads out of live"),
    ({"live/up.log": folder}, REPLAY, "live/up.log: is a directory"),
    ({"live/up.log": gone}, REPLAY, "live/up.log: no such file"),
    ({"live/up.log": sparse(2**33)}, REPLAY, "8,589,934,592 bytes, more than 536,870,912"),
    ({}, f"live --replay {'x' * 300}", "File name too long"),
    ({"out": pipe}, REPORT, "out: holds no sweep; expected a results folder of aqmlab sweep"),
    ({"out": link("out")}, REPORT, "out: holds no sweep"),
    ({"out/plan.parquet": folder}, REPORT, "out/plan.parquet: is a directory, not a regular file"),
    ({"out/plan.parquet": link("../answers.toml")}, REPORT, "out/plan.parquet: is a link that leads out of out"),
    ({"out/plan.parquet": sparse(2**31)}, REPORT, "2,147,483,648 bytes, more than 536,870,912"),
    ({"out/runs.parquet": listening}, "plot out", "out/runs.parquet: is a socket"),
    ({"out/environment.json": link("environment.json")}, MERGE, "environment.json: cannot be read (Too many levels"),
    ({"out/parts": part(pipe)}, MERGE, "is a pipe, not a regular file"),
    ({}, f"report {'x' * 300}", "holds no sweep"),
    ({}, f"merge out {'x' * 300} --out merged", "holds no sweep"),
    ({}, "merge out out --out merged", "both hold 2 runs"),
    ({}, "merge out --out out", "out: holds a sweep already"),
    ({}, "bundle out/plan.parquet --out c.zip", "no study, experiment file or folder"),
    ({"line.csv": folder}, TRACE, "trace: line.csv: is a directory"),
    ({"line.csv": pipe}, TRACE, "trace: line.csv: is a pipe"),
    ({"line.csv": b"\xff\xfe"}, TRACE, "trace: line.csv: not UTF-8 text"),
    ({"line.csv": b""}, TRACE, "traces.line.csv: is empty"),
    ({"line.csv": folder}, "live --up line.csv -- true", "trace: line.csv: is a directory"),
    ({"line.csv": pipe}, "live --down line.csv -- true", "trace: line.csv: is a pipe"),
    ({"line.csv": link("line.csv")}, "live --rate line.csv -- true", "Too many levels"),
    ({}, f"live --rate {MANY}Mbit/s -- true", "rate"),
    ({}, f"advise --down {MANY}Mbit/s --up 1Mbit/s --rtt 20ms", "down"),
    (IN_FOLDER | {"line.csv": link("line.csv")}, RUN, "Too many levels"),
    (IN_FOLDER | {"line.csv": link("/etc/passwd")}, RUN, "trace: line.csv: is not in ., the folder of the scenario"),
    (IN_FOLDER | {"line.csv": link("/etc/passwd")}, f"{RUN} --traces /proc", "trace: line.csv: is not in ."),
    (IN_FOLDER, f"{RUN} --traces small.toml --set 'flows.ftp.count=0'", "flows.ftp.count"),
    ({"small.toml": edit('"10 Mbit/s"', '{ trace = "a\\u0000b" }')}, RUN, "trace: a\\u0000b: is not in ."),
    ({"small.toml": edit('"10 Mbit/s"', '{ trace = "a.**" }')}, RUN, "trace: a.**: no such file"),
    ({"small.toml": edit('"10 Mbit/s"', f'{{ trace = "{"x" * 5000}" }}')}, RUN, "File name too long"),
    ({"mine.py": folder}, f"{RUN} --aqm mine.py", "aqm: mine.py: is a directory"),
    ({"mine.py": pipe}, f"{RUN} --aqm mine.py", "aqm: mine.py: is a pipe"),
    ({"mine.py": link("mine.py")}, f"{RUN} --aqm mine.py", "mine.py: cannot be read (Too many levels"),
    ({"mine.py": sparse(2**31)}, f"{RUN} --aqm mine.py", "mine.py: 2,147,483,648 bytes, more than 16,777,216"),
    ({"mine.py": b"\0"}, f"{RUN} --aqm mine.py", "aqm: mine.py: "),
    ({"mine.py": coded("utf-16")}, f"{RUN} --aqm mine.py", "aqm: mine.py: "),
    ({"mine.py": "import sys\nsys.exit(0)\n"}, f"{RUN} --aqm mine.py", "aqm: mine.py: SystemExit: 0 (line 2)"),
    ({"mine.py": "(" * 10_000}, f"{RUN} --aqm mine.py", "aqm: mine.py: "),
    ({"mine.py": "class"}, f"{RUN} --aqm mine.py", "aqm: mine.py: SyntaxError: invalid syntax (line 1)"),
    ({"mine.py": "raise OSError(5, 'no')\n"}, f"{RUN} --aqm mine.py", "aqm: mine.py: OSError: [Errno 5] no (line 1)"),
    ({"mine.so": pipe}, f"{RUN} --law ./mine.so", "law: mine.so: is a pipe"),
    ({"mine.so": folder}, f"{RUN} --law ./mine.so", "law: mine.so: is a directory"),
    ({"mine.so": b"\x7fELF"}, f"{RUN} --law ./mine.so", "law: ./mine.so: cannot be loaded"),
    ({"mine.so": b""}, f"{RUN} --law ./mine.so", "law: ./mine.so: cannot be loaded"),
]
"""Something else in the place of a file."""


OUTS: list[Case] = [
    ({"to": b"mine"}, f"{RUN} --out to", "out: to: is a file; expected a folder"),
    ({"to": link("nowhere")}, f"{RUN} --out to", "out: to: is a broken link"),
    ({"to": link("to")}, f"{RUN} --out to", "out: to: is a broken link"),
    ({"to": link("nowhere")}, f"{RUN} --out to/below", "out: to/below: to cannot be written to"),
    ({"to": pipe}, f"{RUN} --out to", "out: to: is a file; expected a folder"),
    ({}, f"{RUN} --out {'x' * 300}", "cannot be written (File name too long)"),
    ({}, f"{RUN} --out {'x/' * 3000}", "cannot be written (File name too long)"),
    ({}, f"{RUN} --out /dev/full", "out: /dev/full: is a file; expected a folder"),
    ({}, f"{RUN} --out /proc/self/new", "out: /proc/self/new: /proc/self cannot be written to"),
    ({"to": folder}, f"{RUN} --pcap to", "pcap: to: is a directory"),
    ({"to": pipe}, f"{RUN} --trace to", "trace: to: not a regular file"),
    ({}, f"{RUN} --pcap a --trace ./a", "trace: a: is also the file of --pcap"),
    ({"to": link("to")}, f"{RUN} --pcap to --trace to", "trace: to: is also the file of --pcap"),
    ({}, f"{RUN} --pcap {'x' * 255}", "cannot be written (File name too long)"),
    ({"to": b""}, "compare small.toml --aqms pi --out to", "out: to: is a file"),
    ({"to": link("nowhere")}, "sweep e.toml --out to", "out: to: is a broken link"),
    ({}, f"sweep e.toml --out {'x' * 300}", "File name too long"),
    ({"to": b""}, "merge out --out to", "out: to: is a file"),
    ({"to": folder}, "plot out ranking --out to.pdf/x.pdf --measure nothing", 'no measure "nothing"'),
    ({"to.pdf": folder}, "plot out ranking --out to.pdf", "out: to.pdf: is a directory"),
    ({}, "plot out ranking --out to", "out: to: expected a name that ends in .pdf, .svg, .png"),
    ({}, f"plot out ranking --out {'x' * 252}.pdf", "File name too long"),
    ({"to": pipe}, f"{REPORT} --out to", "out: to: not a regular file"),
    ({"to": b"mine"}, "report out --out to", "out: to: this report does not say what it is about"),
    ({}, f"{REPORT} --out out/plan.parquet/x", "out/plan.parquet cannot be written to"),
    ({"to": pipe}, "bundle out --out to", "out: to: not a regular file"),
    ({"to": b"mine"}, "bundle out --out to", "out: to: exists and is not a bundle"),
    ({"policy.py": folder}, EXPORT, "out: policy.py: is a directory"),
    ({"policy.py": pipe}, EXPORT, "out: policy.py: not a regular file"),
    ({"policy.py": link("/dev/full")}, EXPORT, "out: policy.py: not a regular file"),
    ({}, "export-policy model.zip --out my-aqm.py", 'name: "My-aqm" is not the name of a class'),
    ({}, f"export-policy model.zip --out {'x' * 300}.py", "File name too long"),
    ({"to": folder}, "exercise mark 01-bufferbloat answers.toml --out to", "out: to: is a directory"),
    ({"to": pipe}, "exercise mark 01-bufferbloat answers.toml --out to", "out: to: not a regular file"),
    ({"to": link("/dev/full")}, "exercise mark 01-bufferbloat answers.toml --out to", "out: to: not a regular file"),
    ({"to": b""}, "exercise show 01-bufferbloat --student s1 --out to", "out: to: is a file"),
    ({}, "exercise show 01-bufferbloat --student s1 --out .", "answers.toml is there already"),
    ({"to": link("nowhere")}, "exercise show 01-bufferbloat --student s1 --out to", "is a broken link"),
    ({"to": b""}, "analyse pi --rate 5Mbit/s --rtt 50ms --flows 9 --out to", "out: to: is a file"),
    ({"to": b""}, "reproduce li2014 --table 1 --out to", "out: to: is a file"),
    ({"to": b""}, "card reno --out to", "out: to: is a file"),
    ({"to": b""}, "live --rate 1Mbit/s --out to -- true", "out: to: is a file"),
]
"""Places that cannot be written to."""


VALUES: list[Case] = [
    (scenario("rate", f'"{value}"'), RUN, "links.bottleneck.rate")
    for value in (
        *("1e400 Mbit/s", "inf Mbit/s", "-inf Mbit/s", "NaN Mbit/s", "-0 Mbit/s", "0x10 Mbit/s", "1_0_ x"),
        *(
            f"{MANY} Mbit/s",
            f"{WIDE} Mbit/s",
            "1e-300 Mbit/s",
            "1e5e5 Mbit/s",
            "--1 Mbit/s",
            "10,5 Mbit/s",
            " ",
            "Mbit/s",
        ),
        *(
            "\u0661\u0660 Mbit/s",
            "\uff11\uff10 Mbit/s",
            "10 Mbit\u2044s",
            "10\\u0000 Mbit/s",
            "10 \u202eMbit/s",
            "=1+1",
        ),
        *(
            "10 Mbit/s;",
            "10 Mbit/s\\n1",
            "\u221e Mbit/s",
            "10 \u041cbit/s",
            "<b>10</b> Mbit/s",
            "$(id) Mbit/s",
            "1/0 Mbit/s",
        ),
    )
]
VALUES += [
    (scenario("count", value), RUN, "flows.ftp.count")
    for value in (
        "1e300",
        "nan",
        "-inf",
        "-0",
        "0.5",
        "true",
        "1979-05-27",
        "[10]",
        "{}",
        f'"{MANY}"',
        "-9223372036854775808",
    )
]
VALUES += [
    (scenario("count", MANY), RUN, "small.toml:17:"),
    (scenario("count", "0x"), RUN, "is not TOML"),
    (scenario("schema", "-1"), RUN, "schema"),
    (scenario("target", '"-0 packets"'), RUN, "links.bottleneck.target"),
    (scenario("target", f'"{MANY} ms"'), RUN, "links.bottleneck.target"),
    (scenario("delay", '"1e-300 s"\nloss = nan'), RUN, "links.bottleneck.loss"),
    (scenario("delay", '"1 ms"\nloss = -0.1'), RUN, "links.bottleneck.loss"),
    (scenario("delay", '"1 ms"\nloss = "1e400%"'), RUN, "links.bottleneck.loss"),
    (scenario("title", "1"), RUN, "title"),
    (scenario("title", '"\\ud800"'), RUN, "small.toml:3:"),
    (scenario("title", '"\x1b[2J"'), RUN, "small.toml:3:"),
    (scenario("title", '"a"\ntitle = "b"'), RUN, "duplicate key"),
    (scenario("name", '""'), RUN, "name"),
    (scenario("name", '"a.b"'), RUN, "name"),
    (scenario("name", '"*"'), RUN, "name"),
    (scenario("name", '"a\\u0000"'), RUN, "name"),
    (scenario("name", '"\\u001b[2J"'), RUN, "name"),
    (scenario("name", '"\\u202e"'), RUN, "name"),
    (scenario("name", f'"{"x" * 100_000}"'), RUN, "name"),
    (scenario("name", '"../../x"'), RUN, "name"),
    (scenario("aqm", f'"{"x" * 1_000_000}"'), RUN, "links.bottleneck.aqm"),
    (scenario("aqm", '"\\u001b[2J"'), RUN, "\\u{1b}[2J"),
    (scenario("aqm", '"pi:a=1e400"'), RUN, 'pi.a: "1e400" is too large'),
    (scenario("kind", '"ftp"\neach = 5'), RUN, "each"),
    (scenario("kind", '"ftp"\neach = "nowhere"'), RUN, "each"),
    (scenario("kind", '"ftp"\neach = "bottleneck"\npath = ["bottleneck"]'), RUN, "each"),
    ({"small.toml": add("[[changes]]\n")}, RUN, "changes"),
    ({"small.toml": add('[[changes]]\nat = "1 s"\npath = "links.bottleneck.rate"\n')}, RUN, "changes"),
    (
        {"small.toml": add('[[changes]]\nat = nan\npath = "links.bottleneck.rate"\nvalue = "1 Mbit/s"\n')},
        RUN,
        "changes",
    ),
    ({"small.toml": add('[[changes]]\nat = "-1 s"\npath = "flows.ftp.count"\nvalue = 1\n')}, RUN, "changes"),
    ({"small.toml": add('[[changes]]\nat = "1 s"\npath = "flows.ftp.count"\nvalue = nan\n')}, RUN, "changes"),
    ({"small.toml": add(f'[[changes]]\nat = "1 s"\npath = "{"a." * 10_000}"\nvalue = 1\n')}, RUN, "changes"),
    ({"small.toml": add('[[changes]]\nwhen = {}\npath = "flows.ftp.count"\nvalue = 1\n')}, RUN, "changes"),
    ({"small.toml": add('[[changes]]\nat = "1 s"\n' * 20_000)}, RUN, "and 39901 more problems"),
    ({"small.toml": add("[traces]\n'line.csv' = 5\n")}, RUN, "traces"),
    ({"small.toml": add('[[controllers]]\nkind = "none"\n')}, RUN, "controllers"),
    ({"small.toml": add('[[buffers]]\nname = "a"\nsize = "nan B"\n')}, RUN, "buffers"),
    ({"small.toml": add("[wifi]\n")}, RUN, "stations: missing"),
    ({"small.toml": add("[[stations]]\n")}, RUN, "wifi: missing"),
    ({"tree.toml": edit("count = 4", f"count = {2**62}")}, "run tree.toml", "count"),
    ({"tree.toml": edit("count = 4", "count = -1")}, "run tree.toml", "count"),
    ({"tree.toml": edit('name = "basic"', 'name = "basic"\nshare = nan')}, "run tree.toml", "share"),
    ({"tree.toml": edit('name = "basic"', 'name = "basic"\nshare = 0')}, "run tree.toml", "share"),
    ({"tree.toml": edit('name = "basic"', 'name = "basic"\neach = 1')}, "run tree.toml", "each"),
    ({"tree.toml": edit('name = "site"', 'name = "site"\nparent = "site"')}, "run tree.toml", "parent"),
    ({"tree.toml": edit('["basic"]', '["fast"]')}, "run tree.toml", "lines"),
    ({"tree.toml": edit('["basic"]', "[[]]")}, "run tree.toml", "lines"),
    ({"tree.toml": edit("[lines]", "[lines]\nonly = [5]")}, "run tree.toml", "only"),
    ({"tree.toml": edit("[lines]", "[lines]\nonly = [-1]")}, "run tree.toml", "only"),
    ({"line.csv": "time (s),rate (Mbit/s)\n0,nan\n"}, TRACE, 'line 2, column "rate"'),
    ({"line.csv": "time (s),rate (Mbit/s)\n0,\n"}, TRACE, 'line 2, column "rate"'),
    ({"line.csv": "time (s),rate (Mbit/s)\n0,5\n-1,5\n"}, TRACE, 'line 3, column "time"'),
    ({"line.csv": f"time (s),rate (Mbit/s)\n0,{MANY}\n"}, TRACE, 'line 2, column "rate"'),
    ({"line.csv": "time (s);rate (Mbit/s)\n0;5\n"}, TRACE, "line 1"),
    ({"line.csv": '"time (s)","rate (Mbit/s)"\n0,5\n'}, TRACE, "line 1"),
    ({"line.csv": "=1+1,\x1b[2J\n0,5\n"}, TRACE, "line 1"),
    ({"line.csv": "1\n2\nx\n"}, TRACE, "line 3"),
    ({"line.csv": f"1\n{WIDE}\n"}, TRACE, "line 2"),
    ({"line.csv": "\u0661\n\u0662\n"}, TRACE, "line 1"),
    ({"line.csv": "x" * 1_000_000}, TRACE, "line 1"),
]
"""Numbers, names and keys of a scenario, and of a trace."""


EXPERIMENTS: list[Case] = [
    ({"e.toml": edit('["small.toml"]', value)}, SWEEP, f"experiment.scenarios{said}")
    for value, said in (
        ("[]", ""),
        ("5", ""),
        ("[5]", ""),
        ('"small"', ""),
        ('["li2014/***********************z"]', ""),
        ('["\\u0000"]', ""),
        (f'["{"x" * 100_000}"]', ""),
        ('["\\u001b[2J"]', ""),
    )
]
EXPERIMENTS += [
    ({"e.toml": edit('["small.toml"]', '["a\\u0000.toml"]')}, SWEEP, "a\\u0000.toml: is not a file name"),
    ({"e.toml": edit('["small.toml"]', '["../x.toml"]')}, SWEEP, "../x.toml: no such file"),
    ({"e.toml": edit('["red", "pi"]', "[]")}, SWEEP, "experiment.aqms"),
    ({"e.toml": edit('["red", "pi"]', "[{}]")}, SWEEP, "experiment.aqms.0"),
    ({"e.toml": edit('["red", "pi"]', f'["{"x" * 1_000_000}"]')}, SWEEP, "aqm"),
    ({"e.toml": edit('["red", "pi"]', '["a\\u0000.py"]')}, SWEEP, "a\\u0000.py: is not a file name"),
    ({"e.toml": edit('["red", "pi"]', '["loop.py"]'), "loop.py": link("loop.py")}, SWEEP, "loop.py: cannot be read"),
    ({"e.toml": edit('["red", "pi"]', '["pipe.py"]'), "pipe.py": pipe}, SWEEP, "pipe.py: is a pipe"),
    (
        {"e.toml": edit('["red", "pi"]', '[{ name = "pi", w = { from = "1 Hz", to = "9 Hz", steps = 1e300 } }]')},
        SWEEP,
        "steps",
    ),
    (
        {"e.toml": edit('["red", "pi"]', '[{ name = "pi", w = { from = "nan Hz", to = "9 Hz", steps = 2 } }]')},
        SWEEP,
        "from",
    ),
    (
        {
            "e.toml": edit(
                '["red", "pi"]', f'[{{ name = "pi", w = {{ from = "1{" " * 200_000}x y", to = "9 Hz", steps = 2 }} }}]'
            )
        },
        SWEEP,
        "from is in",
    ),
    ({"e.toml": edit('"1 s"', '{ from = "-1e308 s", to = "1e308 s", steps = 3 }')}, SWEEP, "duration"),
    ({"e.toml": edit('"1 s"', "[]")}, SWEEP, "experiment.set.duration"),
    ({"e.toml": edit('"1 s"', "[[]]")}, SWEEP, "experiment.set.duration"),
    ({"e.toml": edit("duration", '""')}, SWEEP, "small"),
    ({"e.toml": edit("duration", f'"{"a." * 5000}"')}, SWEEP, "small"),
    (
        {"e.toml": edit("[set]", "[set]\n" + "".join(f'"a{i}" = [1, 2]\n' for i in range(64)))},
        SWEEP,
        "runs; at most 1,000,000",
    ),
    ({"e.toml": edit("[set]", "seeds = 0\n[set]")}, SWEEP, "seeds"),
    ({"e.toml": edit("[set]", "seeds = 1e300\n[set]")}, SWEEP, "seeds"),
    ({"e.toml": edit("[set]", "seeds = [-1]\n[set]")}, SWEEP, "seeds"),
    ({"e.toml": edit("[set]", f"seeds = {2**62}\n[set]")}, SWEEP, "seeds"),
    ({"e.toml": edit("[set]", "warmup = -1\n[set]")}, SWEEP, "warmup"),
    ({"e.toml": edit("[set]", 'engine = "windows"\n[set]')}, SWEEP, "engine"),
    ({"e.toml": edit("[set]", 'law = "\\u0000.so"\n[set]')}, SWEEP, "experiment.law"),
    ({"e.toml": edit("schema = 1", "schema = true")}, SWEEP, "experiment.schema"),
    ({"e.toml": edit('"Small"', "[]")}, SWEEP, "experiment.title"),
    ({"e.toml": edit("[set]", "[set.set]")}, SWEEP, 'unknown key "set"'),
    ({"answers.toml": edit("15", "15.0")}, CHECK, "answers.toml:3:11: minutes: 15.0: expected 15, 45 or 90"),
    ({"answers.toml": edit("15", "nan")}, CHECK, "minutes: nan"),
    ({"answers.toml": edit("15", "[15]")}, CHECK, "minutes: [15]"),
    ({"answers.toml": edit("15", MANY)}, CHECK, "answers.toml:3:"),
    ({"answers.toml": edit('"s1"', '" "')}, CHECK, "answers.toml:2:11: student: is missing"),
    (
        {"answers.toml": edit('"01-bufferbloat"', '"02-red-knobs"')},
        CHECK,
        "answers.toml: sheet: 02-red-knobs: these answers are for",
    ),
    ({"answers.toml": edit('"01-bufferbloat"', f'"{"x" * 100_000}"')}, CHECK, "these answers are for another sheet"),
    ({"answers.toml": edit("[answers]", "answers = 5")}, CHECK, "answers.toml:"),
    ({"answers.toml": edit("guess", "gues")}, CHECK, "gues"),
    ({"answers.toml": edit("guess", '"\\u001b[2J"')}, CHECK, "answers.toml"),
    ({"answers.toml": edit("guess", f'"{"x" * 100_000}"')}, CHECK, "answers.toml"),
    (
        {"two.toml": ANSWERS.replace("guess", "gues")},
        "exercise mark 01-bufferbloat answers.toml two.toml",
        "two.toml: ",
    ),
    ({}, "exercise solution 01-bufferbloat --student ' '", "student"),
    ({}, "exercise solution 01-bufferbloat --student s1 --minutes 16", "minutes"),
    ({}, f"exercise show {'x' * 5000} --student s1", "no sheet"),
]
"""Experiments and answers."""


def raw(text: str) -> dict[str, bytes | str | Maker]:
    """What is on standard input."""
    return {"stdin": text}


TC = "tc --from -"
HTB = "tc class add dev e parent 1: classid 1:1 htb rate "
LINES: list[Case] = [
    (raw(text), TC, said)
    for text, said in (
        ("", "tc"),
        ("\ufeff", "tc"),
        ("\0", "tc"),
        ("tc", "is not a tc command"),
        ("tc qdisc", "is not a tc command"),
        ("tc qdisc add", "names no queueing discipline"),
        ("tc qdisc add dev", "dev: the value is missing"),
        ("tc qdisc add dev e root", "names no queueing discipline"),
        ("tc qdisc add dev e root '", "No closing quotation"),
        ("tc qdisc add dev e root codel limit", "limit"),
        ("tc qdisc add dev e root codel limit \u0661", "limit"),
        ("tc qdisc add dev e root codel limit 1_0", "limit"),
        (f"tc qdisc add dev e root codel limit {MANY}", "limit"),
        (f"tc qdisc add dev e root codel target {WIDE}ms", "target"),
        (f"tc qdisc add dev e root codel target {'1' * 9000}x", "target"),
        ("tc qdisc add dev e root codel target nan", "target"),
        ("tc qdisc add dev e root codel target -1ms", "target"),
        ("tc qdisc add dev e root codel target 1e-300ms", "target"),
        ("tc qdisc add dev e root codel \x1b[2J", "\\u001b[2J"),
        ("tc qdisc add dev e root \u202e", "\\u202e"),
        ("tc qdisc add dev e handle 10000: root codel", "handle"),
        (f"tc qdisc add dev e handle {WIDE}: root codel", "handle"),
        ("tc qdisc add dev e parent x:y codel", "parent"),
        ("tc qdisc add dev e root stab overhead 1e3 codel", "overhead"),
        ("tc qdisc add dev e root stab linklayer x codel", "linklayer"),
        ("tc qdisc add dev e root codel; tc qdisc add dev e root codel", "write replace"),
        (f"tc qdisc add dev e root codel {'x' * 10_000}", "a line of 10030 characters; at most 10000"),
        ("x" * 1_000_001, "standard input: more than 1,000,000 bytes"),
        ("\n".join(["ip link set e up"] * 9000), "is not a tc command"),
        ("tc qdisc add dev e root codel && " * 9000, "characters; at most 10000"),
        (f"{HTB}0mbit\n{HTB.replace('1:1', '1:2')}1mbit", "rate"),
        (f"{HTB}nanmbit\n{HTB.replace('1:1', '1:2')}1mbit", "rate"),
        (f"{HTB}1mbit ceil 50%\n{HTB.replace('1:1', '1:2')}1mbit", "ceil"),
        (f"{HTB}1mbit prio -1\n{HTB.replace('1:1', '1:2')}1mbit", "prio"),
        (f"{HTB}1mbit\n{HTB}1mbit", "write replace"),
        (f"{HTB}1mbit\n{HTB.replace('parent 1:', 'parent 1:7').replace('1:1 ', '1:2 ')}1mbit", "parent"),
        (f"{HTB}1mbit\n{HTB.replace('dev e', 'dev f')}1mbit", "dev"),
        (f"{HTB}1mbit\n{HTB.replace('1:1', '1:2')}1mbit\ntc qdisc add dev e parent 1:9 codel", "parent"),
    )
]
LINES += [
    ({}, "tc codel --rate nan", "rate"),
    ({}, "tc codel --rate 1e400Mbit/s", "rate"),
    ({}, f"tc codel --buffer {MANY}packets --rate 1Mbit/s", "buffer"),
    ({}, "tc codel --packet 0", "packet"),
    ({}, "tc \x1b[2J", "aqm"),
    ({}, "tc --classes small.toml", "classes"),
    ({}, "tc codel --from -", "tc"),
    ({}, "tc", "tc"),
]
"""Lines of tc."""


def log(*records: bytes) -> dict[str, bytes | str | Maker]:
    """Another log of a live run."""
    return {"live/up.log": b"".join(records)}


STORED: list[Case] = [
    ({"live/live.json": b"\xef\xbb\xbf{}"}, REPLAY, "live/live.json: does not contain a valid name, text, overrides"),
    ({"live/live.json": b"{}"}, REPLAY, "live/live.json: does not contain a valid name, text, overrides"),
    ({"live/live.json": b"[]"}, REPLAY, "live: is not a folder of aqmlab live --out"),
    ({"live/live.json": b"null"}, REPLAY, "live: is not a folder of aqmlab live --out"),
    ({"live/live.json": cut}, REPLAY, "is not the expected JSON"),
    ({"live/live.json": changed(seed=1.5)}, REPLAY, "seed"),
    ({"live/live.json": changed(seed=True)}, REPLAY, "seed"),
    ({"live/live.json": changed(aqm=[])}, REPLAY, "aqm"),
    ({"live/live.json": changed(aqm="\x1b[2J")}, REPLAY, "aqm"),
    (
        {"live/live.json": changed(aqm="mine.py")},
        REPLAY,
        "the live run used mine.py; to run it on this machine, give --aqm",
    ),
    ({"live/live.json": changed(name="\x1b[2J", text="")}, REPLAY, "duration: missing"),
    ({"live/live.json": changed(overrides=[["duration", "'-1 s'"]])}, REPLAY, "duration"),
    ({"live/live.json": changed(overrides=[["duration"]])}, REPLAY, "live: is not a folder of"),
    ({"live/live.json": changed(overrides={"a": "b"})}, REPLAY, "live: is not a folder of"),
    (log(b"x"), REPLAY, "up.log"),
    (log(bytes(31)), REPLAY, "up.log"),
    (log(b"\xff" * 32), REPLAY, "up.log"),
    (log(record(1, 7)), REPLAY, "up.log"),
    (log(record(2**63, 0), record(1, 1)), REPLAY, "up.log"),
    (log(record(10, 0), record(5, 0, 1)), REPLAY, "up.log"),
    ({"out/environment.json": '[{"schema": 99}]'}, REPORT, "was made by a newer version (store schema 99)"),
    ({"out/environment.json": '[{"aqmlab": 5}]', "two": link("out")}, "merge out two --out m", "both hold"),
    ({"out/parts": folder}, REPORT, "no run is done yet"),
    ({"out/parts": folder}, MERGE, "2 runs of 2 are in none of them"),
    ({"out/parts": folder, "out/environment.json": f'[{{"shard": "1/{WIDE}"}}]'}, MERGE, "2 runs of 2 are in none"),
    ({"out/parts": folder, "out/environment.json": '[{"shard": []}]'}, MERGE, "2 runs of 2 are in none"),
    ({"out/parts": part(rows(result="[" * 200_000))}, REPORT, "nested more than 100 levels"),
    ({"out/parts": part(rows(result='{"a": ' + MANY + "}"))}, REPORT, "an integer of 400 characters"),
    ({}, f"{REPORT} --measure nothing", "measure"),
    ({}, f"{REPORT} --measure {'*' * 5000}!", "no measure"),
    ({}, f"{REPORT} --link \x1b[2J", "link"),
    ({}, f"plot out ranking --aqms {'x' * 5000} --out a.pdf", "aqms"),
    ({}, "plot out raking", "figure"),
    ({}, "sweep e.toml --out out", "continue with --resume"),
    ({"out/tune.json": "{}", "out/plan.parquet": gone}, RESUME, "holds a tune already"),
    *(
        ({}, f"sweep e.toml --out swept --shard {text}", "shard")
        for text in ("0/2", "3/2", "1/3", "/", "1", f"{WIDE}/2", f"1/{WIDE}", "-1/2", "1/2/3", "\u0661/\u0662", "nan/2")
    ),
    *(
        ({}, f"sweep e.toml --out swept --precision {text}", "precision")
        for text in ("nan%", "0%", "100%", "1e400%", "-1%", "1" * 30_000 + "x", "%")
    ),
    *(
        ({}, f"{RUN} --memory {text}", "memory")
        for text in ("nan", "infB", "-1GB", "1e400GB", "0x10GB", "1_0GB", MANY, "\u0661GB", "''", "GB", "8", "1e-300GB")
    ),
    *(
        ({}, f"tune red --scenario small.toml --objective 'min link.queue_mean' --budget '{text}'", "budget")
        for text in (f"{WIDE} runs", "-1 runs", "nan s", "runs", "0 s", "\u0661 runs")
    ),
    *(({}, f"{RUN} --seed {text}", "seed") for text in ("nan", "1e3", "-1", MANY, "0x10", "''")),
    *(
        ({}, f"{RUN} --set {text}", said)
        for text, said in (("=1", ""), ("a", "set"), (f"{'a.' * 9000}=1", ""), ("flows.ftp.count=nan", "count"))
    ),
    ({}, f"compare small.toml --aqms {','.join(['x' * 100] * 1000)}", "aqm"),
    ({}, "compare small.toml --aqms ','", "aqms"),
    ({}, "compare small.toml --aqms pi@\x1b[2J", "aqm"),
    ({}, "cite \x1b[2J", 'no scheme, controller or study "\\u001b[2J"'),
    ({}, "analyse pi --scenario small.toml --map a", "map"),
    ({}, "list \x1b[2J", "'\\x1b[2J' is not one of 'aqms'"),
]
"""What commands store, and options."""


DAMAGED: list[Case] = [
    (
        {"out/plan.parquet": b""},
        REPORT,
        "plan.parquet: cannot be read (Parquet file size is 0 bytes); continue with --resume",
    ),
    ({"out/plan.parquet": cut}, MERGE, "plan.parquet: cannot be read"),
    ({"out/plan.parquet": b"PAR1" + b"\xff" * 100 + b"PAR1"}, REPORT, "plan.parquet: cannot be read"),
    ({"out/plan.parquet": rows(seed=None)}, REPORT, "plan.parquet: is not a file of a sweep (column seed)"),
    ({"out/plan.parquet": rows(scenario=None)}, REPORT, "plan.parquet: is not a file of a sweep (column scenario)"),
    ({"out/runs.parquet": cut}, "plot out", "runs.parquet: is damaged; continue with --resume, which writes it again"),
    ({"out/parts": part(cut)}, REPORT, "delete it and continue with --resume: only its runs are done again"),
    ({"out/parts": part(rows(state="failed", error=None, result=None))}, MERGE, "seed 1: no reason is stored"),
]
"""A folder whose files are damaged, and one with a run that failed: exit code 1."""


BUNDLES: list[Case] = [
    ({"b.zip": cut}, "verify b.zip", "is damaged, or not a zip file"),
    ({"b.zip": b"PK\5\6" + bytes(18)}, "verify b.zip", "has no SHA256SUMS"),
    ({"b.zip": b"\x1f\x8b\x08" + bytes(50)}, "verify b.zip", "is damaged, or not a zip file"),
    ({"b.zip": zipped(dict.clear)}, "verify b.zip", "bundle.json: is missing"),
    (
        {"b.zip": zipped(lambda members: members.update({"README.md": b"other"}), sums=False)},
        "verify b.zip",
        "README.md: was changed",
    ),
    (
        {"b.zip": zipped(lambda members: members.update({"inner.zip": b"PK"}), sums=False)},
        "verify b.zip",
        "it was added later",
    ),
    (
        {"b.zip": zipped(lambda members: members.pop("README.md") and None, sums=False)},
        "verify b.zip",
        "README.md: is missing",
    ),
    (
        {"b.zip": zipped(lambda members: members.update({"/etc/passwd": b""}))},
        "verify b.zip",
        "is not a valid file name for a bundle",
    ),
    ({"b.zip": zipped(lambda members: members.update({"a\x1b[2J": b""}))}, "verify b.zip", "a\\u001b[2J: is not a"),
    (
        {"b.zip": zipped(lambda members: members.update({"README.MD": b""}))},
        "verify b.zip",
        "README.MD: occurs twice, or differs",
    ),
    ({"unpacked/README.md": b"other"}, "verify unpacked", "README.md: was changed"),
    ({"unpacked/README.md": folder}, "verify unpacked", "README.md: is missing"),
    ({"unpacked/README.md": pipe}, "verify unpacked", "README.md: is a link or another special file"),
    ({"unpacked/extra": link("/etc/passwd")}, "verify unpacked", "extra: is a link"),
    ({"unpacked/SHA256SUMS": b"\xff"}, "verify unpacked", "SHA256SUMS: line 1"),
    ({"unpacked/SHA256SUMS": b""}, "verify unpacked", "is not in SHA256SUMS"),
    ({"unpacked/huge": sparse(2**40)}, "verify unpacked", "huge: 1,099,511,627,776 bytes"),
    ({"unpacked/\udcff": b""}, "verify unpacked", "\\udcff: is not a"),
    ({}, "verify unpacked --run-code ../mine.py", "run-code: ../mine.py: is not a scheme of the bundle"),
    ({"model.zip": cut}, EXPORT, "is not a model that Stable-Baselines3 saved"),
    ({"model.zip": b""}, EXPORT, "is not a model that Stable-Baselines3 saved"),
    ({"model.zip": b"\x1f\x8b\x08" + bytes(50)}, EXPORT, "is not a model that Stable-Baselines3 saved"),
]
"""Zip files, and the folder that one was unpacked to."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Interrupt what does not end."""

    def late(*_: object) -> None:
        raise TimeoutError(f"does not end within {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def told(monkeypatch: pytest.MonkeyPatch, command: str, stdin: bytes = b"") -> tuple[object, str, str]:
    """Run a command in this process and return its exit code and what is on its two streams."""
    with at_most(LIMIT):
        done = in_process(monkeypatch, *shlex.split(command), stdin=stdin)
    return done.returncode, done.stdout, done.stderr


def prepare(base: Path, folder: Path, files: dict[str, bytes | str | Maker]) -> None:
    shutil.copytree(base, folder, symlinks=True, dirs_exist_ok=True)
    for name, content in files.items():
        path = folder / name
        if callable(content):
            content(path)
        else:
            gone(path)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())


def listed(folder: Path) -> set[tuple[str, int]]:
    """What is in a folder, with sizes."""
    names = [path for path in folder.rglob("*") if "__pycache__" not in path.parts]
    return {(str(path), path.lstat().st_size) for path in names}


REFUSED = [*PLACES, *OUTS, *VALUES, *EXPERIMENTS, *LINES, *STORED, *BUNDLES]


def label(case: Case) -> str:
    return ascii(f"{case[1][:40]} {' '.join(case[0])}")[1:-1]


@pytest.mark.parametrize("case", REFUSED, ids=label)
def test_what_is_wrong_is_refused(case: Case, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, command, said = case
    stdin = str(files.get("stdin", "")).encode()
    prepare(base, tmp_path, files)
    monkeypatch.chdir(tmp_path)
    before = listed(tmp_path)
    code, out, err = told(monkeypatch, command, stdin)
    assert (code, out) == (2, ""), err
    assert [line[:7] for line in err.splitlines()].count("Error: ") == 1
    assert said in err
    assert max(map(len, err.splitlines())) < LONGEST
    assert err.count("\n") < 110
    assert not [letter for letter in err if not letter.isprintable() and letter not in "\n\t"]
    assert listed(tmp_path) == before


@pytest.mark.parametrize("case", DAMAGED, ids=label)
def test_what_is_damaged_is_told(case: Case, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, command, said = case
    prepare(base, tmp_path, files)
    monkeypatch.chdir(tmp_path)
    code, _, err = told(monkeypatch, command)
    assert code == 1, err
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize("text", ["0", "-5", "x", "\u00b2", "1e9", "999999999", WIDE])
def test_a_terminal_has_a_size_or_none(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = told(monkeypatch, "list studies")
    for name in ("COLUMNS", "LINES"):
        monkeypatch.setenv(name, text)
    assert told(monkeypatch, "list studies") == usual


def test_streams_that_are_closed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(sys, "argv", ["aqmlab", "tc", "--from", "-"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capfd.readouterr().err == "Error: from: standard input: is closed; expected tc commands\n"
    for name in ("stdout", "__stdout__", "stderr"):
        monkeypatch.setattr(sys, name, None)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capfd.readouterr() == ("", "")
    for stream in (sys.stdout, sys.stderr):
        stream.close()


@pytest.mark.parametrize(
    "command",
    [
        EXPORT,
        "exercise mark 01-bufferbloat answers.toml --out marks.csv",
        "exercise show 01-bufferbloat --student s1 --out mine",
        f"{REPORT} --out report.csv",
        f"{RUN} --pcap a.pcap",
        MERGE,
    ],
)
def test_a_disk_that_is_full(command: str, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left of a file for which there is no room; a limit on sizes stands for the disk."""
    prepare(base, tmp_path, {})
    monkeypatch.chdir(tmp_path)
    before = listed(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        code, out, err = told(monkeypatch, command)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (code, out) == (1, ""), err
    assert os.strerror(errno.EFBIG) in err
    left = [name for name, _ in listed(tmp_path) - before if Path(name).is_file()]
    assert [name for name in left if not name.endswith(".lock")] == []


@contextmanager
def unprivileged() -> Iterator[None]:
    """Be a user who may not read everything."""
    user = os.geteuid()
    os.seteuid(user or 65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_files_that_are_closed_to_us(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(base, tmp_path, {})
    monkeypatch.chdir(tmp_path)
    closed = {
        "small.toml": "show small.toml",
        "e.toml": "sweep e.toml --dry-run",
        "answers.toml": "exercise mark 01-bufferbloat answers.toml",
        "b.zip": "verify b.zip",
        "mine.py": "show mine.py",
        "live": REPLAY,
        "unpacked": "verify unpacked",
    }
    for name, command in closed.items():
        assert told(monkeypatch, command)[0] == 0  # that also loads what it needs
        (tmp_path / name).chmod(0)
        with unprivileged():
            code, out, err = told(monkeypatch, command)
        (tmp_path / name).chmod(0o700)
        assert (code, out) == (2, ""), err
        assert "Permission denied" in err


def test_a_file_that_is_gone_meanwhile(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(base, tmp_path, {})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(archive, "_check_sizes", lambda *_: shutil.rmtree("unpacked"))
    code, out, err = told(monkeypatch, "verify unpacked")
    assert (code, out) == (2, "")
    assert "bundle: unpacked: cannot be read (unpacked/README.md: No such file or directory)" in err


class Waits(io.RawIOBase):
    """A file that has nothing to read yet, as /proc/kmsg may have."""

    def read(self, size: int = -1) -> None:  # type: ignore[override]
        """Have nothing."""


def test_a_file_that_would_have_to_wait() -> None:
    with pytest.raises(InputError, match=r"a: cannot be read \(it is still empty\)"):
        untrusted.read_stream(Waits(), 100, "a")  # type: ignore[arg-type]


def test_texts_are_read_in_time_proportional_to_their_length() -> None:
    with at_most(LIMIT):
        assert csv_text([["+" + "1" * 300_000 + "x"]]).startswith("'+1")
        assert grid.number("1" + " " * 300_000 + "x\ny") == (1.0, "x\ny")
        with pytest.raises(InputError, match="precision"):
            sweep.precision("1" * 300_000 + "x")


def test_ctrl_c_while_the_command_line_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupts:
        """Interrupts the import."""

        def find_spec(self, name: str, *_: object) -> None:
            if name == "aqmlab.cli":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "aqmlab.cli")
    monkeypatch.setattr(sys, "meta_path", [Interrupts(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 130
