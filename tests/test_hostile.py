"""Inputs from strangers: nothing leaves its folder, nothing grows without bound, nothing is run, nothing is obeyed."""

import ast
import io
import json
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile, ZipInfo

import pyarrow.parquet as pq
import pytest

import aqmlab as lab
from aqmlab.bundle import archive, artefact, build, verify
from aqmlab.bundle.artefact import ABOUT, RUNS, SUMMARY
from aqmlab.csv_text import csv_text
from aqmlab.gym import policy
from aqmlab.names import plain
from aqmlab.present import tables
from aqmlab.present.html import sweep as sweep_report
from aqmlab.present.reports import comparison
from aqmlab.present.terminal import console
from aqmlab.runs import findings, sweep
from browser import Browser
from conftest import SMALL, Aqmlab

PACKAGE = Path(lab.__file__).parent
SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; form-action 'none'"
)
NAMES = [
    "../evil",
    "a/../../evil",
    "/etc/evil",
    "//host/evil",
    "C:\\evil",
    "c:evil",
    "a\\..\\evil",
    "./evil",
    ".hidden",
    "-rf",
    "a//b",
    "a/",
    "nul.txt",
    "results/COM1",
    "a/aux",
    "point.",
    "two words",
    "esc\x1b[2J",
    "line\nbreak",
    "zero\0.txt",
    "ümlaut",
    "x" * 201,
]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a bundle of one run."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "small.toml").write_text(SMALL.read_text())
    (folder / "e.toml").write_text(
        'schema = 1\ntitle = "Small"\nscenarios = ["small.toml"]\naqms = ["red"]\n[set]\nduration = "1 s"\n'
    )
    with ZipFile(io.BytesIO(build.bundle(str(folder / "e.toml")).data)) as file:
        return {name: file.read(name) for name in file.namelist() if name != archive.MANIFEST}


def zipped(path: Path, members: dict[str, bytes], change: Callable[[ZipInfo], None] = lambda _: None) -> Path:
    """Write a zip file as a stranger might, its manifest in order."""
    every = {**members, archive.MANIFEST: archive.manifest(members)}
    with ZipFile(path, "w") as file:
        for name, data in every.items():
            info = ZipInfo("placeholder")
            info.filename, info.compress_type = name, ZIP_DEFLATED
            change(info)
            file.writestr(info, data)
    return path


def refused(path: Path, match: str) -> None:
    with pytest.raises(lab.InputError, match=match) as told:
        verify.read(path)
    assert plain(str(told.value)) == str(told.value)


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_names_stay_in_the_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(lab.InputError, match="is not a valid file name"):
        archive.pack({name: b"x"})
    path = zipped(tmp_path / "b.zip", {"placeholder": b"x"})
    if "\0" not in name and "\n" not in name:
        zipped(path, {name: b"x"})
    else:  # zipfile cannot write such names: put one in the place of another of the same length
        wide = "y" * len(name)
        path.write_bytes(zipped(path, {wide: b"x"}).read_bytes().replace(wide.encode(), name.encode()))
    refused(path, "is not a valid file name")


def test_links_are_refused(small: dict[str, bytes], tmp_path: Path) -> None:
    def link(info: ZipInfo) -> None:
        info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16

    refused(zipped(tmp_path / "b.zip", {"link": b"/etc/passwd"}, link), "is a link")
    folder = tmp_path / "folder"
    for name, data in {**small, archive.MANIFEST: archive.manifest(small)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    verify.read(folder)
    (folder / RUNS).rename(tmp_path / "elsewhere")
    (folder / RUNS).symlink_to(tmp_path / "elsewhere")
    refused(folder, "is a link")
    (folder / RUNS).unlink()
    os.mkfifo(folder / RUNS)
    refused(folder, "special file")


@pytest.mark.parametrize("fault", ["encrypted", "bzip2", "twice", "capitals"])
def test_what_no_bundle_has(fault: str, tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    if fault == "bzip2":
        zipped(path, {"a": b"x"}, lambda info: setattr(info, "compress_type", ZIP_BZIP2))
        return refused(path, "compressed in a way")
    if fault == "encrypted":
        data = bytearray(zipped(path, {"a": b"x"}).read_bytes())
        at = data.index(b"PK\x01\x02")
        struct.pack_into("<H", data, at + 8, 1)
        path.write_bytes(data)
        return refused(path, "encrypted")
    second = "A" if fault == "capitals" else "b"
    with ZipFile(path, "w") as file:
        file.writestr("a", b"x")
        file.writestr(second, b"y")
        file.filelist[-1].filename = "A" if fault == "capitals" else "a"
    return refused(path, "occurs twice")


def test_bombs_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ZipFile, "read", lambda *_: pytest.fail("was unpacked"))
    path = tmp_path / "b.zip"
    refused(zipped(path, {"a": bytes(10**6)}), "becomes more than 300 times as large")
    refused(zipped(path, {f"f{i}": b"" for i in range(archive.MOST_FILES)}), "10,001 files; at most 10,000")
    for size, said in ((archive.LARGEST_FILE + 1, "at most 268,435,456"), (archive.LARGEST_FILE, "bytes unpacked")):
        with ZipFile(path, "w") as file:
            for name in "abc":
                file.writestr(name, os.urandom(1000))
        data = bytearray(path.read_bytes())
        for found in re.finditer(rb"PK\x01\x02", bytes(data)):
            struct.pack_into("<I", data, found.start() + 24, size)
        path.write_bytes(data)
        refused(path, said)


def test_files_that_overlap_are_refused(tmp_path: Path) -> None:
    """Many entries of the directory may point at the same data: small when packed, large when unpacked."""
    path = tmp_path / "b.zip"
    with ZipFile(path, "w") as file:
        file.writestr("a", os.urandom(1000))
    with ZipFile(path, "a") as file:
        [one] = file.infolist()
        for name in "bcdefgh":
            other = ZipInfo(name)
            for part in ("CRC", "compress_size", "file_size", "header_offset"):
                setattr(other, part, getattr(one, part))
            file.filelist.append(other)
        file._didModify = True
    refused(path, "overlap|cannot be read|damaged")


@pytest.mark.parametrize(
    ("about", "line", "said"),
    [
        ({"schema": 2}, {}, "schema 1"),
        ({"scenarios": {"small": "../small.toml"}}, {}, "is missing"),
        ({"scenarios": {"small": 1}}, {}, "not text"),
        ({"scenarios": []}, {}, "of another kind"),
        ({"schemes": {"red": "/tmp/evil.py"}}, {}, "not a Python file of the bundle"),
        ({"schemes": {"red": "schemes/evil.py"}}, {}, "not a Python file of the bundle"),
        ({"schemes": {"red": "README.md"}}, {}, "not a Python file of the bundle"),
        ({"schemes": {"red": "schemes/a.py:A@up+/tmp/evil.py@down"}}, {}, "not a Python file of the bundle"),
        ({}, {"aqm": "/tmp/evil.py"}, "a file that is not in the bundle"),
        ({}, {"aqm": "red@up+/tmp/evil.py@down"}, "a file that is not in the bundle"),
        ({}, {"aqm": 1}, "is not a run"),
        ({}, {"scenario": "/etc/passwd"}, "is not in the bundle"),
        ({}, {"seed": -1}, "is not a run"),
        ({}, {"seed": True}, "is not a run"),
        ({}, {"set": [["duration"]]}, "is not a run"),
        ({}, {"result": []}, "is not a run"),
        ({}, {"result": {"links": {"a": 1e300}}}, "is not a run"),
        ({}, {"result": {"links": {"a": float("nan")}}}, "is not a run"),
        ({}, {"result": {"links": {"a": 10**400}}}, "is not a run"),
    ],
)
def test_what_a_bundle_says_is_checked(
    small: dict[str, bytes], about: dict[str, object], line: dict[str, object], said: str, tmp_path: Path
) -> None:
    told = {**json.loads(small[ABOUT]), **about}
    run = {**json.loads(small[RUNS]), **line}
    text = {ABOUT: json.dumps(told).encode(), RUNS: f"{json.dumps(run)}\n".encode()}
    refused(zipped(tmp_path / "b.zip", {**small, "schemes/a.py": b"", **text}), said)


def test_deep_json_is_refused(small: dict[str, bytes], tmp_path: Path) -> None:
    for deep in (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, b"[" * 900 + b"]" * 900):
        line = small[RUNS].replace(b'"result": {', b'"result": {"x": ' + deep + b", ", 1)
        with pytest.raises(lab.InputError):
            verify.verify(zipped(tmp_path / "b.zip", {**small, RUNS: line, SUMMARY: b""}))


def test_a_bundle_reads_no_file_beside_it(small: dict[str, bytes], tmp_path: Path) -> None:
    """The trace of a rate is in the scenario's text or nowhere."""
    (tmp_path / "secret").write_text("1\n2\n")
    text = small["scenarios/small.toml"].replace(b'rate = "10 Mbit/s"', b'rate = { trace = "/etc/passwd" }')
    assert text != small["scenarios/small.toml"]
    path = zipped(tmp_path / "b.zip", {**small, "scenarios/small.toml": text})
    with pytest.raises(lab.InputError, match="trace"):
        verify.verify(path)


RUNS_CODE = {"eval", "exec", "__import__", "read_pickle", "to_pickle", "exec_module", "loads_pickle"}
UNSAFE = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml"}


def test_no_file_is_read_as_code() -> None:
    """No module loads pickles, and code is run in two places: a scheme that is named, and our own template."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                found |= {(name, called)} & {(name, each) for each in RUNS_CODE}
                assert not [each for each in node.keywords if each.arg in ("allow_pickle", "weights_only")], name
                assert called != "load" or getattr(getattr(node.func, "value", None), "id", "") not in ("np", "torch")
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [each.name for each in node.names] + [getattr(node, "module", None) or ""]
                assert not UNSAFE & {each.partition(".")[0] for each in names}, name
    assert found == {("own.py", "exec"), ("gym/policy.py", "exec")}


def hostile_sweep(folder: Path, name: str = SCRIPT) -> Path:
    """A sweep whose titles and names are a stranger's."""
    (folder / "small.toml").write_text(SMALL.read_text().replace("Ten flows for two seconds", SCRIPT.replace('"', "'")))
    title = json.dumps(SCRIPT + "\x1b[2J")
    (folder / "e.toml").write_text(
        f'schema = 1\ntitle = {title}\nscenarios = ["small.toml"]\naqms = ["red", "pi"]\nseeds = 2\n'
        '[set]\nduration = "1 s"\n'
    )
    sweep.sweep(folder / "e.toml", folder / "out")
    plan = folder / "out" / "plan.parquet"
    table = pq.read_table(plan).to_pylist()
    for row in table:
        row["scenario"], row["aqm"] = name, name if row["aqm"] == "red" else row["aqm"]
    from aqmlab.runs import columns

    plan.write_bytes(columns.encode(columns.table(table)))
    (folder / "out" / "runs.parquet").unlink()
    return folder / "out"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A report on a comparison and one on a sweep, every text of which is a script."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "mine.py").write_text(
        "import aqmlab\n\n\nclass Mine(aqmlab.Aqm):\n"
        f'    """{SCRIPT}"""\n\n    title = {SCRIPT!r}\n    tick = "10 ms"\n\n'
        "    def on_tick(self, queue):\n        self.p = 0.01\n"
    )
    text = SMALL.read_text().replace("Ten flows for two seconds", SCRIPT.replace('"', "'"))
    name = "<script>document.title='owned'<" + "\N{DIVISION SLASH}script>.toml"
    (folder / name).write_text(text)
    compared = lab.compare(folder / name, [str(folder / "mine.py"), "red"], 2, set={"duration": "1 s"})
    page = str(comparison.files([compared], f"aqmlab compare {SCRIPT}")["report.html"])
    (folder / "comparison.html").write_text(page, encoding="utf-8")
    found = findings.findings(hostile_sweep(folder))
    (folder / "sweep.html").write_text(sweep_report.report(found), encoding="utf-8")
    return [folder / "comparison.html", folder / "sweep.html"]


def test_scripts_are_text_on_a_page(pages: list[Path]) -> None:
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "&lt;script&gt;document.title=" in text
        assert "<script>document.title" not in text
        assert "<img src=x" not in text
        assert f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">' in text


@pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")),
    reason="chromium and chromedriver are not installed (Debian: apt install chromium chromium-driver)",
)
def test_scripts_are_shown_and_not_run(pages: list[Path]) -> None:
    with Browser() as browser:
        for page in pages:
            browser.open(page, 1280)
            assert "<script>" in browser.run("return document.body.textContent")
            assert browser.run("return document.title") != "owned"
            assert browser.run("return document.querySelectorAll('img[src=x]').length") == 0
            drawn = browser.run("return [...document.querySelectorAll('.plot text')].map((e) => e.textContent).join()")
            assert page.stem == "comparison" or "<script>" in drawn


def test_results_of_strangers_read_nothing_outside_of_their_folder(tmp_path: Path) -> None:
    out = hostile_sweep(tmp_path)
    found = findings.findings(out)
    [case] = found.cases
    assert found.scenario(case) is None
    for name in ("../../small", str(tmp_path / "small"), str(tmp_path / "small.toml")):
        assert found.scenario(type(case)(name, case.link, (), name)) is None
    assert found.scenario(type(case)("small", case.link, (), "small")) is not None
    (out / "series").mkdir()
    (tmp_path / "key.parquet").write_bytes((out / "timing.parquet").read_bytes())
    from aqmlab.runs import columns

    row = {**pq.read_table(out / "plan.parquet").to_pylist()[0], "key": "../../key"}
    (out / "plan.parquet").write_bytes(columns.encode(columns.table([row])))
    with pytest.raises(lab.StoreError, match="outside"):
        lab.load_series(out)


def test_a_terminal_obeys_no_text(tmp_path: Path, aqmlab: Aqmlab, capsys: pytest.CaptureFixture[str]) -> None:
    out = console.console()
    shown = console.table("\x1b]0;owned\x07", "Name")
    shown.add_row("red\x1b[2J\x9b2J\r")
    out.print(shown, console.title("\x1b[1A"), "\x1b[31mred", sep="\n")
    printed = capsys.readouterr().out
    assert "\\u001b]0;owned" in printed
    assert "red\\u001b[2J\\u009b2J\\r" in printed
    assert not set("\x1b\x07\x9b\r") & set(printed)
    (tmp_path / "small.toml").write_text(SMALL.read_text().replace("Ten flows", "\\u001b[2JTen"))
    for arguments in (["show", "small.toml"], ["run", "small.toml"], ["run", "\x1b[2J.toml"], ["show", "\x1b[2J"]):
        done = aqmlab(*arguments)
        assert "\x1b" not in done.stdout + done.stderr, arguments


CONTROLS = "\x1b[2J\x9b2J\x7f\u202e"


def test_no_command_prints_a_control_character(tmp_path: Path, aqmlab: Aqmlab) -> None:
    text = SMALL.read_text().replace("Ten flows", json.dumps(CONTROLS)[1:-1].replace("\x7f", "\\u007f"))
    names = ["small\x1b[2J\x9b2J.toml", "e.toml", "answers.toml"]
    for name, content in zip(names, (text, EXPERIMENT, ANSWERS), strict=True):
        (tmp_path / name).write_text(content)
    for arguments in (
        ["sweep", "e.toml", "--out", "out"],
        ["sweep", "e.toml", "--out", "other", "--dry-run"],
        *(["report", "out", "--format", form] for form in ("csv", "latex", "markdown", "html")),
        ["plot", "out"],
        ["merge", "out", "--out", "\x1b[2J"],
        ["compare", names[0], "--aqms", "pi,red", "--out", "compared\x1b[2J"],
        ["exercise", "mark", "01-bufferbloat", "answers.toml"],
        ["exercise", "solution", "01-bufferbloat", "--student", "=\x1b[2J"],
        ["tc", "--from", "tc qdisc add dev \x1b[2J root codel; tc filter \x9b2J"],
        ["show", "red\x1b[2J"],
    ):
        done = aqmlab(*arguments)
        assert not set(CONTROLS) - set("[2J") & set(done.stdout + done.stderr), arguments
    assert "'=\\u001b[2J,45," in aqmlab("exercise", "mark", "01-bufferbloat", "answers.toml").stdout
    page = (tmp_path / "compared\x1b[2J" / "report.html").read_text(encoding="utf-8")
    assert "\\u202e" in page
    assert not {"\x1b", "\x9b", "\u202e"} & set(page)


EXPERIMENT = """
schema = 1
title = "\\u001b[2J"
scenarios = ["small\\u001b[2J\\u009b2J.toml"]
aqms = ["red", "pi"]
seeds = 1
[set]
duration = "1 s"
"""
ANSWERS = 'sheet = "01-bufferbloat"\nstudent = "=\\u001b[2J"\nminutes = 45\n[answers]\n'


def test_a_document_with_control_characters_is_json(tmp_path: Path, aqmlab: Aqmlab) -> None:
    title = "\x9b\u202e\U000e0001"
    (tmp_path / "e.toml").write_text(
        f'schema = 1\ntitle = "{title}"\nscenarios = ["{SMALL}"]\naqms = ["red"]\nseeds = 1\n'
    )
    printed = aqmlab("sweep", "e.toml", "--dry-run", "--json").stdout
    assert printed.replace("\n", "").isprintable()
    assert json.loads(printed)["title"] == title


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+1+1", "'+1+1"),
        ("-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1+1", "'\t=1+1"),
        ("\r=1", "'\\r=1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("-x", "'-x"),
        ("-1.5", "-1.5"),
        ("+2e-3", "+2e-3"),
        (-1.5, "-1.5"),
        ("pi:a=-1", "pi:a=-1"),
        ("", ""),
        (None, ""),
    ],
)
def test_no_cell_of_a_csv_file_is_a_formula(value: object, cell: str) -> None:
    assert csv_text([[value, "second"]]) == f"{cell},second\n"


def test_a_table_for_people_has_no_markup_of_a_stranger(tmp_path: Path) -> None:
    found = findings.findings(hostile_sweep(tmp_path, "a|b\n![x](http://evil)`" + SCRIPT + "\\input{x}$&_"))
    markdown, latex = (tables.TABLES[form](found, ["link.drop_ratio"], True) for form in ("markdown", "latex"))
    assert "a&#124;b !&#91;x](http://evil)&#96;" in markdown
    assert "<" not in markdown
    assert {line.count("|") for line in markdown.splitlines() if line.startswith("|")} == {3}
    assert r"\textbackslash{}input\{x\}\$\&\_" in latex
    [caption] = [line for line in latex.splitlines() if line.startswith(r"\caption")]
    assert caption.endswith("}")


def entry(folder: Path, text: bytes) -> Path:
    path = folder / "model.zip"
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        file.writestr(policy.ENTRY, text)
    return path


def test_policies_of_strangers(tmp_path: Path) -> None:
    from test_gym_policy import document

    def export(**other: object) -> str:
        return policy.export(entry(tmp_path, json.dumps(document(**other)).encode()), "Mine")

    evil = '"""\nimport os\n\\"""\r\x1b\0{os} """'
    text = export(recipe=evil, reward={evil: 1.0})
    assert not {"\x1b", "\0", "\r"} & set(text)
    assert [line for line in text.splitlines() if line.startswith("import ")] == ["import numpy as np", "import aqmlab"]
    for other in (
        {"layers": [{"weights": [["__import__('os')"]], "bias": [0], "activation": "tanh"}]},
        {"layers": [{"weights": [[float("nan")]], "bias": [0], "activation": "none"}]},
        {"layers": [{"weights": [[1.0]], "bias": [0], "activation": "__import__('os')"}]},
        {"layers": [{"weights": [[1.0]], "bias": [0], "activation": ["tanh"]}]},
        {"layers": 5},
        {"act": {}},
        {"act": {"scheme": "fixed-p", "moved": [["p", ["0", "__import__('os')"], "square", 0.05]]}},
        {"every": "__import__('os')"},
        {"observe": ["__import__('os')"]},
        {"squash": 1, "samples": [["x"]]},
        {"recipe": 5},
    ):
        with pytest.raises(lab.InputError):
            export(**other)
    with pytest.raises(lab.InputError, match="larger than"):
        policy.export(entry(tmp_path, b" " * (policy.LARGEST + 1)), "Mine")
    for text in (b"[]", b"\xff", b"[" * 100_000):
        with pytest.raises(lab.InputError):
            policy.export(entry(tmp_path, text), "Mine")


def test_runs_of_a_bundle_cost_no_more_than_they_say(small: dict[str, bytes], tmp_path: Path) -> None:
    """A run that is there twice is refused, so that work is bounded by the size of a file."""
    path = zipped(tmp_path / "b.zip", {**small, RUNS: small[RUNS] * 2})
    refused(path, "occurs twice")
    assert len(artefact.read(small).runs) == 1
    assert zipfile.is_zipfile(path)


KINDS: dict[str, Callable[[int], str]] = {
    "dotted key": lambda n: "trace." * n + "a = 1",
    "header": lambda n: "[trace" + ".a" * n + "]",
    "deep array": lambda n: "trace = " + "[" * n,
    "deep inline table": lambda n: "trace = " + "{a=" * n,
    "inline table": lambda n: "schema = 1\ntrace = {" + ",k=[" * n,
    "inline strings": lambda n: "schema = 1\ntrace = {" + ',k="' * n,
    "string": lambda n: 'trace = "' + "x" * n + '"',
    "number": lambda n: "trace = " + "1" * n,
    "keys": lambda n: "".join(f"trace{i} = 1\n" for i in range(n)),
    "tables": lambda n: "".join(f"[trace{i}]\n" for i in range(n)),
    "long header and keys": lambda n: f"[{'t' * n}]\n" + "".join(f"k{i} = 1\n" for i in range(n)),
}
"""Texts of about `n` times a few characters; "trace" in it makes who looks for traces read it."""
READ = """
import resource, sys, tracemalloc
from pathlib import Path
from aqmlab import InputError, Scenario, scenario
from aqmlab.runs import plan
from aqmlab.studio import check

resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
tracemalloc.start()
for name in sys.argv[1:]:
    file = Path(name)
    text = file.read_text()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    for read in (lambda: Scenario.parse(text, "mine"), lambda: scenario.load(file), lambda: plan.read(file)):
        try:
            read()
        except InputError as error:
            check.problems(error)
        else:
            sys.exit(f"{name} is accepted")
    print(tracemalloc.get_traced_memory()[1] - before)
"""


def test_twice_the_text_takes_twice_the_memory_at_most(tmp_path: Path) -> None:
    files = [tmp_path / f"{kind} {n}.toml" for kind in KINDS for n in (4000, 8000)]
    for file in files:
        kind, n = file.stem.rsplit(" ", 1)
        file.write_text(KINDS[kind](int(n)), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", READ, *map(str, files)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    peaks = [int(line) for line in done.stdout.split()]
    for kind, once, twice in zip(KINDS, peaks[::2], peaks[1::2], strict=True):
        assert twice < 2 * once + 500_000, kind
