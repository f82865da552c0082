"""Whatever ends a sweep, what is finished is intact, and a resumed sweep ends as if nothing had happened."""

import errno
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import aqmlab as lab
from conftest import BASIC, Aqmlab
from sweeping import LONG, split, start, stored, sweep, table, wait_for_more, write

BROKEN = """
import aqmlab

class Broken(aqmlab.Aqm):
    '''Breaks down.'''

    def on_enqueue(self, packet, queue):
        raise ValueError("boom")
"""


def test_a_run_that_fails_loses_no_other(aqmlab: Aqmlab, folder: Path) -> None:
    (folder / "broken.py").write_text(BROKEN)
    write(folder, BASIC.replace('"droptail"', '"broken.py", "droptail"'))
    answer = aqmlab("sweep", "e.toml", "--out", "out")
    assert answer.returncode == 1
    assert answer.stderr.count("boom") == 4
    assert "small, links.bottleneck.rate=5 Mbit/s, broken, seed 1: " in answer.stderr
    frame = lab.load_experiment(folder / "out")
    assert dict(frame["state"].value_counts()) == {"done": 12, "failed": 4}
    assert (folder / "out" / "schemes" / "broken.py").read_text() == BROKEN
    (folder / "broken.py").write_text(BROKEN.replace('raise ValueError("boom")', "return False"))
    again = json.loads(aqmlab("sweep", "e.toml", "--out", "out", "--resume", "--json").stdout)
    assert (again["done_now"], again["failures"]) == (4, [])


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-100],
        lambda _: b"",
        lambda data: bytes(len(data)),
        lambda data: data[: len(data) // 2] + bytes(100) + data[len(data) // 2 + 100 :],
    ],
    ids=["cut off", "empty", "zeroed", "holed"],
)
def test_a_damaged_file_is_named_and_costs_only_its_runs(
    aqmlab: Aqmlab, folder: Path, damage: Callable[[bytes], bytes]
) -> None:
    sweep(folder)
    whole = table(folder)
    part = split(folder / "out", 5)[1]
    part.write_bytes(damage(part.read_bytes()))
    answer = aqmlab("sweep", "e.toml", "--out", "out", "--resume")
    assert answer.returncode == 1
    assert part.name in answer.stderr
    assert "delete it" in answer.stderr
    assert "Traceback" not in answer.stderr
    with pytest.raises(lab.StoreError, match=part.name):
        lab.load_experiment(folder / "out")
    part.unlink()
    assert sweep(folder, resume=True).done_now == 5
    assert table(folder) == whole


@pytest.mark.parametrize(
    "name",
    [
        "runs.parquet",
        *(pytest.param(name, marks=pytest.mark.nightly) for name in ("timing.parquet", "environment.json")),
    ],
)
def test_a_resume_repairs_what_it_writes_and_says_so(aqmlab: Aqmlab, folder: Path, name: str) -> None:
    sweep(folder)
    whole = table(folder)
    assert aqmlab("sweep", "e.toml", "--out", "out", "--resume").stderr.count("Repaired") == 0
    path = folder / "out" / name
    data = bytearray(path.read_bytes())
    middle = len(data) // 3
    data[middle : middle + 64] = bytes(64)  # more than a header between pages, which may say less without being wrong
    path.write_bytes(data)
    if name == "runs.parquet":
        for command in (("report", "out"), ("plot", "out")):
            answer = aqmlab(*command)
            assert answer.returncode == 1
            assert "runs.parquet: is damaged; continue with --resume" in answer.stderr
        with pytest.raises(lab.StoreError, match="is damaged"):
            lab.load_experiment(folder / "out")
    answer = aqmlab("sweep", "e.toml", "--out", "out", "--resume", "--json")
    assert f"Repaired out/{name}" in answer.stderr
    assert json.loads(answer.stdout)["repaired"] == [name]
    assert table(folder) == whole


def test_a_file_of_another_kind_among_the_results(aqmlab: Aqmlab, folder: Path) -> None:
    sweep(folder)
    whole = table(folder)
    foreign = folder / "out" / "parts" / "mine.parquet"
    parquet.write_table(pa.table({"x": [1.0]}), foreign)
    (folder / "out" / "parts" / "notes.txt").write_text("No part.")
    answer = aqmlab("sweep", "e.toml", "--out", "out", "--resume")
    assert answer.returncode == 1
    assert "mine.parquet: is not a file of a sweep" in answer.stderr
    assert "Traceback" not in answer.stderr
    foreign.unlink()
    assert sweep(folder, resume=True).done_now == 0
    assert table(folder) == whole


PANICS = """
import aqmlab

class Panics(aqmlab.Aqm):
    "All runs share an instance, which no scheme may do, and one run starts another: the engine finds it changed."

    one = None
    nested = False

    def __new__(cls, **parameters):
        cls.one = cls.one or super().__new__(cls, **parameters)
        return cls.one

    def on_enqueue(self, packet, queue):
        if not Panics.nested:
            Panics.nested = True
            aqmlab.run("small.toml", Panics)
"""


def test_a_run_that_panics_loses_no_other(aqmlab: Aqmlab, folder: Path) -> None:
    (folder / "panics.py").write_text(PANICS)
    write(folder, 'schema = 1\nscenarios = ["small.toml"]\naqms = ["panics.py", "pi"]\nseeds = 2')
    answer = aqmlab("sweep", "e.toml", "--out", "out", "--jobs", 1, "--json")
    assert answer.returncode == 1
    [failure] = json.loads(answer.stdout)["failures"]
    assert failure.startswith("small, panics, seed 1: PanicException: ")
    assert list(lab.load_experiment(folder / "out")["state"]) == ["failed", "done", "done", "done"]


@pytest.fixture
def tiny_disk(folder: Path) -> Iterator[Path]:
    """A file system of 128 kB."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", disk]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_real_disk_that_fills_up(aqmlab: Aqmlab, folder: Path, tiny_disk: Path) -> None:
    sweep(folder, "whole", series="all")
    answer = aqmlab("sweep", "e.toml", "--out", "disk/out", "--series", "all", "--jobs", 1)
    assert answer.returncode == 1
    assert "No space left on device" in answer.stderr
    assert "--resume" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert not list(tiny_disk.rglob("*.part"))
    kept = len(stored(tiny_disk / "out"))
    assert 0 < kept < 12
    assert len(lab.load_experiment(tiny_disk / "out")) == kept
    subprocess.run(["mount", "-o", "remount,size=4m", tiny_disk], check=True)
    again = json.loads(aqmlab("sweep", "e.toml", "--out", "disk/out", "--series", "all", "--resume", "--json").stdout)
    assert again["done_now"] == 12 - kept
    assert table(folder, "disk/out") == table(folder, "whole")


def test_a_file_that_may_not_grow(folder: Path) -> None:
    """The final table is too large for the limit; the parts are not."""
    sweep(folder, "whole")
    limit = (folder / "whole" / "runs.parquet").stat().st_size - 1
    limited = start(folder, "--jobs", "1", before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    stderr = limited.communicate()[1]
    assert limited.returncode == 1
    assert "runs.parquet: cannot be written (File too large)" in stderr
    assert ".part" not in stderr
    assert not (folder / "out" / "runs.parquet").exists()
    assert sweep(folder, resume=True).done_now == 0
    assert table(folder) == table(folder, "whole")


@pytest.mark.parametrize("out", ["/proc/out", "/proc/self/out", "small.toml/out"])
def test_a_folder_that_cannot_be_written(aqmlab: Aqmlab, folder: Path, out: str) -> None:
    answer = aqmlab("sweep", "e.toml", "--out", out)
    assert answer.returncode in {1, 2}
    assert answer.stderr.splitlines()[-1].startswith(f"Error: out: {out}")
    assert "cannot be written" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_folder_that_became_read_only(aqmlab: Aqmlab, folder: Path, tiny_disk: Path) -> None:
    write(folder, BASIC.replace("seeds = 2", "seeds = 1"))
    sweep(folder, "disk/out")
    subprocess.run(["mount", "-o", "remount,ro", tiny_disk], check=True)
    before = table(folder, "disk/out")
    write(folder, BASIC)
    answer = aqmlab("sweep", "e.toml", "--out", "disk/out", "--resume")
    assert answer.returncode in {1, 2}
    assert "disk/out" in answer.stderr
    assert "cannot be written" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert table(folder, "disk/out") == before
    subprocess.run(["mount", "-o", "remount,rw", tiny_disk], check=True)
    assert sweep(folder, "disk/out", resume=True).done_now == 6


def test_two_sweeps_in_one_folder(aqmlab: Aqmlab, folder: Path) -> None:
    write(folder, LONG)
    first = start(folder)
    wait_for_more(first, folder / "out", 0)
    second = aqmlab("sweep", "e.toml", "--out", "out", "--resume")
    assert first.poll() is None
    assert second.returncode == 2
    assert (
        f"another sweep or tune is at work in it (process {first.pid} on {socket.gethostname()}, since 20"
        in second.stderr
    )
    assert len(lab.load_experiment(folder / "out")) > 0  # to read is allowed
    first.kill()
    first.communicate()
    write(folder, BASIC)
    assert sweep(folder, resume=True).done_now == 12  # a lock goes with its process


DIES = """
import os, signal, sys
from pathlib import Path
from aqmlab.runs.store import Store

left = int(sys.argv[1])

def mortal(step):
    def do(*args, **options):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*args, **options)
    return do

os.fsync, Path.replace, Path.unlink = map(mortal, (os.fsync, Path.replace, Path.unlink))
store = Store("out")
store.finish(store.results())
"""


@pytest.mark.nightly
def test_killed_at_each_step_of_the_end(folder: Path) -> None:
    """The final tables, and one part of many: kill -9 before each write, rename and removal loses nothing."""
    sweep(folder, "whole")
    for steps in range(100):
        shutil.rmtree(folder / "out", ignore_errors=True)
        shutil.copytree(folder / "whole", folder / "out")
        for name in ("runs.parquet", "timing.parquet"):
            (folder / "out" / name).unlink()
        split(folder / "out", 4)
        died = subprocess.run([sys.executable, "-c", DIES, str(steps)], cwd=folder, check=False)
        assert sweep(folder, resume=True).done_now == 0
        assert table(folder) == table(folder, "whole")
        assert len(stored(folder / "out")) == 12
        if died.returncode == 0:
            break
        assert died.returncode == -signal.SIGKILL
    assert steps == 10  # three files synced and renamed, their folder synced, three removed


def test_a_disk_that_fills_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep(folder, "whole")
    room = iter([True] * 5)  # experiment, scenario, environment, plan and one batch

    def fsync(_: int) -> None:
        if not next(room, False):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(os, "fsync", fsync)
        with pytest.raises(lab.StoreError, match=r"No space left on device.*--resume"):
            sweep(folder, jobs=1)
    kept = len(stored(folder / "out"))
    assert 0 < kept < 12
    assert not list((folder / "out").rglob("*.part"))
    assert sweep(folder, resume=True).done_now == 12 - kept
    assert table(folder) == table(folder, "whole")


@pytest.mark.nightly
def test_killed_ten_times(folder: Path) -> None:
    """kill -9 at random moments: the final table is that of an uninterrupted sweep, and nothing was done twice."""
    write(folder, LONG)
    sweep(folder, "whole")
    moment, killed, options = random.Random(1), 0, []
    for _ in range(10):
        before = len(list((folder / "out" / "parts").glob("[!.]*.parquet")))
        process = start(folder, *options)
        wait_for_more(process, folder / "out", before)
        time.sleep(moment.uniform(0, 0.1))
        process.kill()
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        options = ["--resume"]
    assert killed == 10
    keys = stored(folder / "out")
    assert len(keys) == len(set(keys))
    last = start(folder, "--resume")
    answer = json.loads(last.communicate()[0])
    assert answer["done_now"] == 240 - len(keys) > 0
    assert table(folder) == table(folder, "whole")
    assert len(list((folder / "out" / "parts").iterdir())) == 1


def test_ctrl_c(folder: Path) -> None:
    write(folder, LONG)
    process = start(folder)
    wait_for_more(process, folder / "out", 0)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stdout == ""
    assert "Traceback" not in stderr
    kept = len(stored(folder / "out"))
    assert 0 < kept < 240
    assert sweep(folder, resume=True).done_now == 240 - kept
