"""Files from somebody else: regular ones, within limits, inside the folder that was named; others are refused."""

import errno
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow as pa
import pytest
from pyarrow import parquet

import aqmlab as lab
from aqmlab import untrusted
from aqmlab.bundle import verify
from aqmlab.gym import policy
from aqmlab.problems import in_words
from aqmlab.runs import columns, findings
from aqmlab.runs import store as stores
from conftest import COMMAND, SMALL, forked

LIMIT = 120
"""Seconds after which a command has hung; no measure of speed."""
SECRET = "root:$6$secret:1:2:3\n"

Refused = Callable[..., str]


@pytest.fixture
def refused(tmp_path: Path) -> Refused:
    """Run a command that must end with exit code 2 and one message, which is returned."""

    def run(*args: object) -> str:
        answer = forked(tmp_path, *args, limit=LIMIT)
        assert answer.returncode == 2, answer.stderr
        assert answer.stderr.count("Error: ") == 1, answer.stderr
        assert "Traceback" not in answer.stderr
        assert SECRET[:7] not in answer.stdout + answer.stderr
        return answer.stderr

    return run


@pytest.fixture
def out(swept: Path, tmp_path: Path) -> Path:
    """A sweep's folder that somebody else has sent, beside the experiment and a secret of ours."""
    shutil.copytree(swept, tmp_path / "out")
    (tmp_path / "secret").write_text(SECRET)
    shutil.copy(swept.parent / "e.toml", tmp_path)
    shutil.copy(SMALL, tmp_path)
    return tmp_path / "out"


def part(folder: Path) -> Path:
    return next((folder / "parts").glob("*.parquet"))


COMMANDS = {
    "report": ("report", "out", "--format", "csv"),
    "plot": ("plot", "out"),
    "merge": ("merge", "out", "--out", "merged"),
    "resume": ("sweep", "e.toml", "--out", "out", "--resume"),
}


@pytest.mark.parametrize("name", ["plan.parquet", "runs.parquet", "environment.json", "part"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_among_the_results_is_refused(command: str, name: str, out: Path, refused: Refused) -> None:
    path = part(out) if name == "part" else out / name
    path.unlink()
    os.mkfifo(path)
    assert f"{path.name}: is a pipe, not a regular file" in refused(*COMMANDS[command])


@pytest.mark.parametrize("name", ["scenarios/small.toml", "scenarios", "series", "schemes", "experiment.toml"])
def test_a_merge_copies_nothing_from_outside(name: str, out: Path, tmp_path: Path, refused: Refused) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for each in ("a.toml", "a.py", "a.parquet"):
        (elsewhere / each).write_text(SECRET)
    path = out / name
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(tmp_path / "secret" if name.endswith(".toml") else elsewhere)
    assert "is a link that leads out of out" in refused(*COMMANDS["merge"])
    copied = [each.read_bytes() for each in (tmp_path / "merged").rglob("*") if each.is_file()]
    assert not [data for data in copied if SECRET.encode() in data]


def test_links_within_a_folder_are_followed(out: Path, tmp_path: Path) -> None:
    path = part(out)
    path.rename(out / "moved")
    path.symlink_to(out / "moved")
    assert forked(tmp_path, *COMMANDS["report"], limit=LIMIT).returncode == 0


@pytest.mark.parametrize("name", [".lock", ".environment.json.part", "parts", "scenarios"])
def test_a_resume_writes_nothing_outside(name: str, out: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    is_folder = (out / name).is_dir()
    if is_folder:
        (out / name).rename(elsewhere)
    (out / name).unlink(missing_ok=True)
    (out / name).symlink_to(elsewhere if is_folder else tmp_path / "secret")
    before = {path: path.stat().st_mtime_ns for path in elsewhere.glob("*")}
    answer = forked(tmp_path, *COMMANDS["resume"], limit=LIMIT)
    assert "Traceback" not in answer.stderr
    assert (tmp_path / "secret").read_text() == SECRET
    assert {path: path.stat().st_mtime_ns for path in elsewhere.glob("*")} == before


def test_text_that_is_no_document(tmp_path: Path) -> None:
    for text in ("[" * 100_000, "[" * 200 + "]" * 200, '{"a":' * 5000 + "1" + "}" * 5000):
        with pytest.raises(ValueError, match="nested more than 100 levels deep"):
            untrusted.parse_json(text)
    for digits in (400, 5000):
        with pytest.raises(ValueError, match=f"an integer of {digits:,} characters"):
            untrusted.parse_json("[" + "1" * digits + "]")
    with pytest.raises(ValueError, match="half of a character"):
        untrusted.parse_json('{"title": "\\ud800"}')
    with pytest.raises(ValueError, match="at most"):
        untrusted.parse_json(" " * (untrusted.LARGEST_JSON + 1))
    assert untrusted.parse_json("[" * 100 + "]" * 100)
    assert untrusted.parse_json(f"[-{2**64 - 1}]") == [-(2**64) + 1]
    (tmp_path / "a.json").write_text("[" * 100_000)
    with pytest.raises(lab.InputError, match=r"a.json: is not the expected JSON"):
        untrusted.read_json(tmp_path / "a.json")


@pytest.mark.parametrize("result", ["[" * 100_000, '{"a": ' + "1" * 400 + "}", "[]", "{}", '{"engine": 1}', "1" * 5000])
def test_a_result_that_is_none(result: str, out: Path, tmp_path: Path, refused: Refused) -> None:
    table = parquet.read_table(part(out)).to_pylist()
    table[0]["result"] = result
    part(out).write_bytes(columns.encode(columns.table(table)))
    for command in ("report", "plot"):
        assert f"run: {table[0]['key']}: its result " in refused(*COMMANDS[command])
    if len(result) > 100:
        with pytest.raises(lab.InputError, match="a stored result is not the result of a run"):
            lab.load_experiment(out)


def test_measures_that_are_no_numbers(out: Path) -> None:
    table = parquet.read_table(part(out)).to_pylist()
    for row, value in zip(table, ("", [], {}, "x", [[]]), strict=False):
        run = json.loads(row["result"])
        run["links"]["bottleneck"]["queue_mean"] = value
        row["result"] = json.dumps(run)
    part(out).write_bytes(columns.encode(columns.table(table)))
    found = findings.findings(out)
    known = [row["links.bottleneck.queue_mean"] for row in found.rows if "links.bottleneck.queue_mean" in row]
    assert len(known) == len(found.rows) - 5
    pairs = [(case, scheme) for case in found.cases for scheme in found.schemes]
    assert any(found.measured.summary(case, scheme, "link.queue_mean") for case, scheme in pairs)


def test_a_plan_of_other_runs(out: Path, refused: Refused) -> None:
    plan = parquet.read_table(out / "plan.parquet")
    other = plan.set_column(0, "key", pa.array(["none"] * len(plan)))
    (out / "plan.parquet").write_bytes(columns.encode(other))
    assert "no run is done yet" in refused(*COMMANDS["report"])


def test_sessions_that_are_none(out: Path, tmp_path: Path) -> None:
    for text in ("[" * 100_000, "5", "[5]", '{"schema": 1}'):
        (out / "environment.json").write_text(text)
        assert forked(tmp_path, *COMMANDS["report"], limit=LIMIT).returncode == 0
        assert forked(tmp_path, *COMMANDS["resume"], limit=LIMIT).returncode == 0


def bomb(path: Path, table: pa.Table, **how: object) -> None:
    parquet.write_table(table, path, compression="zstd", store_schema=False, **how)
    assert path.stat().st_size < 1_000_000


def test_small_tables_that_decode_to_gigabytes(tmp_path: Path) -> None:
    """Each of them is refused before what it would become is in memory."""
    path = tmp_path / "a.parquet"
    before = pa.total_allocated_bytes()
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 4000, pa.int32()), pa.array(["x" * 1_000_000]))
    for table, said in (
        (pa.table({"key": long}), "when decoded"),
        (pa.table({"key": pa.array([0] * (untrusted.MOST_ROWS + 1), pa.int8())}), "rows; at most 20,000,000"),
        (pa.table({f"c{i}": pa.array([0.0] * 2_000_000) for i in range(80)}), "when decoded"),
    ):
        bomb(path, table)
        with pytest.raises(lab.InputError, match=said):
            untrusted.read_parquet(path)
    del table, long
    assert pa.total_allocated_bytes() - before < 100_000_000
    bomb(path, pa.table({"key": ["a"], "x": pa.array([b"abc"], pa.binary(3))}))
    with pytest.raises(lab.InputError, match="x: is neither a number nor a text"):
        untrusted.read_parquet(path)


def test_pages_that_are_larger_than_a_file_says(tmp_path: Path) -> None:
    """A header says 2 GB, which Arrow would allocate; the metadata say 160 kB."""
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"x": [0.0] * 20_000}), path, compression="zstd", use_dictionary=False)
    data = bytearray(path.read_bytes())
    at = parquet.read_metadata(path).row_group(0).column(0).data_page_offset
    assert data[at : at + 3] == b"\x15\x00\x15"  # the kind of the page, then its size in three bytes
    data[at + 3 : at + 6] = b"\xfe\xff\xff\xff\x0f"
    path.write_bytes(data)
    before = pa.total_allocated_bytes()
    with pytest.raises(lab.InputError, match="x: a page of 2,147,483,647 bytes in a column of 160,"):
        untrusted.read_parquet(path)
    assert pa.total_allocated_bytes() == before
    data[at : at + 40] = b"\x15" * 40
    path.write_bytes(data)
    with pytest.raises(lab.InputError, match="x: a page "):
        untrusted.read_parquet(path)


@pytest.mark.parametrize("kind", [{}, {"data_page_version": "2.0"}, {"row_group_size": 100, "data_page_size": 100}])
def test_honest_pages_are_read(kind: dict[str, Any], tmp_path: Path) -> None:
    table = pa.table({"a": ["x" * i for i in range(500)], "b": [1.5] * 500, "c": [None, True] * 250})
    parquet.write_table(table, tmp_path / "a.parquet", write_page_checksum=True, **kind)
    assert untrusted.read_parquet(tmp_path / "a.parquet").equals(table)


@pytest.mark.parametrize("name", ["plan.parquet", "part"])
def test_a_table_of_too_many_rows(name: str, out: Path, refused: Refused) -> None:
    path = part(out) if name == "part" else out / name
    repeated = parquet.read_table(path).slice(0, 1).to_pylist()[0]
    rows = untrusted.MOST_RECORDS + 1
    same = {
        column: pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int8()), pa.array([value or ""]))
        for column, value in repeated.items()
    }
    bomb(path, pa.table(same), row_group_size=rows)
    assert f"{path.name}: 1,000,001 rows; at most 1,000,000" in refused(*COMMANDS["report"])


def test_the_same_table_comes_back(tmp_path: Path) -> None:
    table = pa.table(
        {
            "key": ["a", "b", None, "a"],
            "none": pa.nulls(4, pa.string()),
            "x": [1.5, None, 2.0, 3.0],
            "n": [1, 2, 3, None],
            "yes": [True, None, False, True],
        }
    )
    (tmp_path / "a.parquet").write_bytes(columns.encode(table))
    assert untrusted.read_parquet(tmp_path / "a.parquet").equals(table)
    assert untrusted.read_parquet(tmp_path / "a.parquet", columns=["x", "key", "z"]).column_names == ["x", "key"]


def test_series_that_are_no_numbers(out: Path) -> None:
    key = parquet.read_table(out / "plan.parquet")["key"][0].as_py()
    table = {"key": [key], "link": ["a"], "time": [0.0], "queue": ["many"], "utilisation": [0.5]}
    (out / "series").mkdir()
    (out / "series" / f"{key}.parquet").write_bytes(columns.encode(pa.table(table)))
    with pytest.raises(lab.StoreError, match="series: has files that are not of a sweep"):
        lab.load_series(out)


def test_results_larger_than_a_part_are_stored_in_several(
    swept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "LARGEST_PART", 10_000)
    lab.merge([swept], tmp_path / "merged")
    assert len(list((tmp_path / "merged" / "parts").glob("*.parquet"))) > 1
    assert (tmp_path / "merged" / "runs.parquet").read_bytes() == (swept / "runs.parquet").read_bytes()
    assert len(findings.findings(tmp_path / "merged").rows) == 24


def test_a_pipe_for_a_lock_is_refused(out: Path, tmp_path: Path) -> None:
    (out / ".lock").unlink(missing_ok=True)
    os.mkfifo(out / ".lock")
    answer = forked(tmp_path, *COMMANDS["resume"], limit=LIMIT)
    assert answer.returncode == 1
    assert ".lock: cannot be written (not a regular file)" in answer.stderr


def test_a_zip_file_of_a_million_names_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.zip"
    with ZipFile(path, "w") as file:
        file.writestr("a", b"")
        file.filelist *= 100_000
    with path.open("rb") as opened:
        ZipFile(opened)  # no fault but its size
    monkeypatch.setattr(ZipFile, "__init__", lambda *_, **__: pytest.fail("was listed"))
    for read in (verify.read, policy.read):
        with pytest.raises(lab.InputError, match="directory of the zip file has more than 4,194,304 bytes"):
            read(path)


def test_files_that_are_no_regular_ones(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "large").write_bytes(bytes(101))
    for name, said in (
        ("pipe", "is a pipe"),
        ("socket", "is a socket"),
        (".", "is a directory"),
        ("loop", "cannot be read"),
        ("large", "101 bytes, more than 100"),
        ("/dev/zero", "is a device"),
        ("x" * 300, "cannot be read"),
        ("zero\0", "is not a file name"),
    ):
        with pytest.raises(lab.InputError, match=said):
            untrusted.read(tmp_path / name, 100)
    with pytest.raises(FileNotFoundError):
        untrusted.read(tmp_path / "none", 100)
    with pytest.raises(lab.InputError, match="more than 100 bytes"):
        untrusted.read(Path("/proc/self/status"), 100)  # a file whose size is 0


def test_a_live_run_of_somebody_else(tmp_path: Path, refused: Refused) -> None:
    folder = tmp_path / "live"
    folder.mkdir()
    (tmp_path / "secret").write_text(SECRET)
    setup = {"name": "small", "text": SMALL.read_text(), "overrides": [], "aqm": None, "seed": 1}
    for change in ({"seed": -1}, {"seed": 2**70}, {"overrides": 5}, {"name": None}, {"text": []}):
        (folder / "live.json").write_text(json.dumps(setup | change))
        assert "live: is not a folder of aqmlab live --out" in refused("live", "--replay", "live")
    (folder / "live.json").write_text("[" * 100_000)
    assert "nested more than 100 levels deep" in refused("live", "--replay", "live")
    (folder / "live.json").write_text(json.dumps(setup))
    (folder / "up.log").symlink_to(tmp_path / "secret")
    assert "up.log: is a link that leads out of live" in refused("live", "--replay", "live")
    for name in ("up.log", "live.json"):
        (folder / name).unlink()
        os.mkfifo(folder / name)
        assert f"{name}: is a pipe" in refused("live", "--replay", "live")


def test_pipes_and_devices_for_files(tmp_path: Path, refused: Refused) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "report").mkdir()
    os.mkfifo(tmp_path / "report" / "report.html")
    for command in (
        ("verify",),
        ("exercise", "check", "01-bufferbloat"),
        ("export-policy", "--out", "p.py"),
        ("run",),
        ("sweep",),
    ):
        for path in ("pipe", "/dev/zero"):
            assert "not a regular file" in refused(*command, path)
    assert "is a pipe" in refused("compare", SMALL, "--aqms", "pi", "--out", "report")


def test_lines_of_tc_are_bounded() -> None:
    run = partial(subprocess.run, [COMMAND, "tc", "--from", "-"], capture_output=True, timeout=LIMIT, check=False)
    with open("/dev/zero", "rb") as zeros:
        answer = run(stdin=zeros)
    assert answer.returncode == 2
    assert answer.stderr == b"Error: from: standard input: more than 1,000,000 bytes\n"
    answer = run(input=b"\xff\xfe")
    assert (answer.returncode, b"not UTF-8" in answer.stderr) == (2, True)


def scenario_with(trace: object) -> str:
    return SMALL.read_text().replace('rate = "10 Mbit/s"', f"rate = {{ trace = {json.dumps(str(trace))} }}")


def test_a_trace_is_in_the_folder_of_its_scenario(tmp_path: Path, refused: Refused) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs, theirs / "below"):
        folder.mkdir()
    (ours / "secret").write_text(SECRET)
    (ours / "cell").write_text("1\n2\n10\n")
    (theirs / "link").symlink_to(ours / "secret")
    (tmp_path / "e.toml").write_text('schema = 1\nscenarios = ["theirs/s.toml"]\naqms = ["pi"]\n')
    for name in (ours / "secret", "../ours/secret", "link", "below/../../ours/secret", "/dev/zero"):
        (theirs / "s.toml").write_text(scenario_with(name))
        for command in ("run", "show", "compare"):
            assert f"trace: {name}: is not in theirs" in refused(command, "theirs/s.toml")
        assert f"trace: {name}: is not in theirs" in refused("sweep", "e.toml", "--dry-run")
    (theirs / "s.toml").write_text(scenario_with(ours / "cell"))
    for traces in (ours, tmp_path):
        assert lab.load(theirs / "s.toml", traces=traces).links
    for command in (("run", "theirs/s.toml", "--set", "duration=1 s"), ("sweep", "e.toml", "--dry-run")):
        assert forked(tmp_path, *command, "--traces", "ours", limit=LIMIT).returncode == 0
    (theirs / "s.toml").write_text(scenario_with("below/cell"))
    shutil.copy(ours / "cell", theirs / "below")
    assert lab.load(theirs / "s.toml").links


def test_errors_of_the_system_are_words() -> None:
    assert in_words(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a")) == "a: No space left on device"
    assert in_words(OSError(errno.EACCES, os.strerror(errno.EACCES))) == "Permission denied"
    assert in_words(OSError("a: Permission denied (os error 13)")) == "a: Permission denied"
    with open("/dev/full", "wb") as full:
        answer = subprocess.run(
            [COMMAND, "show", "li2014/table-1"], stdout=full, stderr=subprocess.PIPE, timeout=LIMIT, check=False
        )
    assert (answer.returncode, answer.stderr) == (1, b"Error: standard output: No space left on device\n")
