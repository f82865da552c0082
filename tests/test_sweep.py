"""A sweep: what an experiment asks for, that nothing finished is lost or done twice, and what its numbers say."""

import errno
import json
import os
import random
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyarrow import parquet

import aqmlab as lab
from aqmlab import plan, sweeps
from conftest import COMMAND, SMALL, Aqmlab

BASIC = """
schema = 1
title = "Small"
scenarios = ["small.toml"]
aqms = ["droptail", { name = "pi", w = ["85 Hz", "170 Hz"] }]
seeds = 2
[set]
links.bottleneck.rate = ["5 Mbit/s", "10 Mbit/s"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a small scenario and an experiment about it: 1 x 2 x 3 x 2 = 12 runs."""
    (tmp_path / "small.toml").write_text(SMALL.read_text())
    write(tmp_path, BASIC)
    return tmp_path


def write(folder: Path, text: str) -> Path:
    path = folder / "e.toml"
    path.write_text(text)
    return path


def sweep(folder: Path, out: str = "out", **options: object) -> sweeps.Sweep:
    return sweeps.sweep(folder / "e.toml", folder / out, **options)  # type: ignore[arg-type]


def table(folder: Path, out: str = "out") -> bytes:
    return (folder / out / "runs.parquet").read_bytes()


def stored(out: Path) -> list[str]:
    """The keys of all stored runs; one that was done twice is there twice."""
    return [key for path in (out / "parts").glob("*.parquet") for key in parquet.read_table(path)["key"].to_pylist()]


# The experiment file


def test_every_combination_once(folder: Path) -> None:
    runs = plan.read(folder / "e.toml").runs()
    assert [(run.cell.overrides[0][1], run.cell.arm.aqm, run.seed) for run in runs] == [
        (rate, aqm, seed)
        for rate in ("5 Mbit/s", "10 Mbit/s")
        for aqm in ("droptail", "pi:w=85 Hz", "pi:w=170 Hz")
        for seed in (1, 2)
    ]
    assert len({run.key for run in runs}) == 12


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ('{ from = "50 Hz", to = "200 Hz", steps = 4 }', ["50 Hz", "100 Hz", "150 Hz", "200 Hz"]),
        ('{ from = "1 Hz", to = "100 Hz", steps = 3, scale = "log" }', ["1 Hz", "10 Hz", "100 Hz"]),
        ('["85 Hz", "170 Hz", "85 Hz"]', ["85 Hz", "170 Hz"]),
        ('"85 Hz"', ["85 Hz"]),
    ],
)
def test_ranges_and_lists(folder: Path, given: str, values: list[str]) -> None:
    write(folder, f'schema = 1\nscenarios = ["small.toml"]\naqms = [{{ name = "pi", w = {given} }}]')
    assert [arm.aqm for arm in plan.read(folder / "e.toml").arms] == [f"pi:w={value}" for value in values]


def test_the_same_run_has_the_same_key_however_it_is_written(folder: Path) -> None:
    [first] = plan.read(write(folder, 'schema = 1\nscenarios = ["small.toml"]\naqms = ["pi:w=170Hz"]')).runs()
    (folder / "other.toml").write_text("# The same world\n" + SMALL.read_text())
    text = 'schema = 1\nscenarios = ["other.toml"]\naqms = [{ name = "pi", w = "170 Hz" }]\nset.duration = "2000 ms"'
    [second] = plan.read(write(folder, text)).runs()
    assert first.key == second.key
    [third] = plan.read(write(folder, text.replace("2000", "2001"))).runs()
    assert third.key != first.key


def test_patterns_leave_out_other_names_of_the_same(folder: Path) -> None:
    write(folder, 'schema = 1\nscenarios = ["li2014/*"]\naqms = ["pi"]')
    names = [world.name for world in plan.read(folder / "e.toml").worlds]
    assert "li2014/table-1" in names
    assert "li2014/table-16" not in names  # its file says same_as


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("seeds = 2", "sedes = 2", ["sedes", "seeds"]),
        ("schema = 1", "schema = 2", ["schema", "2"]),
        ("schema = 1", "", ["schema", "missing"]),
        ("schema = 1", "schema = [", ["no TOML", "line"]),
        ('["small.toml"]', '["smal.toml"]', ["smal.toml", "no such file"]),
        ('["small.toml"]', '["li2014/tabel-1"]', ["tabel-1", "li2014/table-1"]),
        ('["small.toml"]', '["li2015/*"]', ["li2015/*"]),
        ('["small.toml"]', "[]", ["scenarios"]),
        ("droptail", "doptail", ["doptail", "droptail"]),
        ('name = "pi"', 'nam = "pi"', ["aqms.1", "name"]),
        ('w = ["85 Hz", "170 Hz"]', 'w = ["85", "170 Hz"]', ["w", "85", "unit"]),
        ('w = ["85 Hz", "170 Hz"]', "w = []", ["w", "expected"]),
        ('w = ["85 Hz", "170 Hz"]', 'wa = ["85 Hz", "170 Hz"]', ["wa"]),
        ('["85 Hz", "170 Hz"]', '{ from = "1 Hz", to = "1 s", steps = 2 }', ["Hz", "one unit"]),
        ('["85 Hz", "170 Hz"]', '{ from = "1 Hz", to = "2 Hz", steps = 1 }', ["steps", "1"]),
        ('["85 Hz", "170 Hz"]', '{ from = "1 Hz", too = "2 Hz", steps = 2 }', ["too", '"to"']),
        ('["85 Hz", "170 Hz"]', '{ from = "0 Hz", to = "2 Hz", steps = 2, scale = "log" }', ["log", "0"]),
        ("seeds = 2", "seeds = 0", ["seeds", "0"]),
        ("seeds = 2", "seeds = [1, 1]", ["seeds", "[1, 1]"]),
        ("seeds = 2", 'seeds = "two"', ["seeds", "two"]),
        ("seeds = 2", "seeds = 1000000000", ["seeds", "1000000000"]),
        ("bottleneck", "botleneck", ["small", "botleneck", "bottleneck"]),
        ("5 Mbit/s", "5 Mbit", ["small", "5 Mbit"]),
    ],
)
def test_a_mistake_in_an_experiment(aqmlab: Aqmlab, folder: Path, old: str, new: str, words: list[str]) -> None:
    assert old in BASIC
    write(folder, BASIC.replace(old, new, 1))
    answer = aqmlab("sweep", "e.toml", "--out", "out")
    assert answer.returncode == 2, answer.stderr
    assert answer.stderr.startswith("Error: ")
    assert all(word in answer.stderr for word in words), answer.stderr
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--executor", "slurm://here"], ["slurm://here", "dask://"]),
        (["--executor", "dask://127.0.0.1:9"], ["dask://127.0.0.1:9", "scheduler"]),
        (["--precision", "two"], ["two", "2%"]),
        (["--precision", "total.jian=2%"], ["total.jian", "total.jain"]),
        (["--out", "small.toml"], ["out", "small.toml"]),
    ],
)
def test_a_mistake_on_the_command_line(aqmlab: Aqmlab, folder: Path, options: list[str], words: list[str]) -> None:
    answer = aqmlab("sweep", "e.toml", "--out", "out", *options)
    assert answer.returncode == 2, answer.stderr
    assert all(word in answer.stderr for word in words), answer.stderr
    assert "Traceback" not in answer.stderr
    assert not (folder / "out").exists()


# Results


def test_the_table_has_what_single_runs_have(folder: Path) -> None:
    swept = sweep(folder)
    frame = lab.load_experiment(folder / "out")
    assert len(frame) == swept.done_now == 12
    assert set(frame["state"]) == {"done"}
    row = frame[(frame["aqm"] == "pi:w=85 Hz") & (frame["set.links.bottleneck.rate"] == "5 Mbit/s")].iloc[1]
    run = lab.run(folder / "small.toml", "pi:w=85Hz", 2, set={"links.bottleneck.rate": "5 Mbit/s"})
    assert (row["seed"], row["pi.w"], row["scenario"], row["link"]) == (2, "85 Hz", "small", "bottleneck")
    assert row["links.bottleneck.queue_mean"] == run.links["bottleneck"].queue_mean
    assert row["links.bottleneck.drops.overflow"] == run.links["bottleneck"].drops["overflow"]
    assert row["flows.ftp.goodput"] == run.flows["ftp"].goodput
    assert row["total.jain"] == run.total.jain
    assert row["events"] == run.engine.events
    assert not [name for name in frame if "wall" in name]


def test_the_same_bytes_on_any_number_of_threads(folder: Path) -> None:
    sweep(folder, "one", jobs=1)
    sweep(folder, "three", jobs=3)
    assert table(folder, "one") == table(folder, "three")


def test_the_folder_repeats_itself(folder: Path) -> None:
    sweep(folder)
    again = sweeps.sweep(folder / "out" / "experiment.toml", folder / "again")
    assert again.done_now == 12
    assert table(folder, "again") == table(folder)


def test_a_folder_with_results_is_left_alone(aqmlab: Aqmlab, folder: Path) -> None:
    sweep(folder)
    before = table(folder)
    answer = aqmlab("sweep", "e.toml", "--out", "out")
    assert answer.returncode == 2
    assert "--resume" in answer.stderr
    assert table(folder) == before


@pytest.mark.parametrize(
    ("old", "new", "runs", "done_now"),
    [
        ("seeds = 2", "seeds = 3", 18, 6),
        ("seeds = 2", "seeds = [2]", 6, 0),
        ('"170 Hz"]', '"340 Hz"]', 12, 4),
        ('"10 Mbit/s"]', '"10 Mbit/s", "20 Mbit/s"]', 18, 6),
        ('title = "Small"', 'title = "Other"', 12, 0),
    ],
)
def test_a_changed_experiment_does_exactly_what_is_new(
    folder: Path, old: str, new: str, runs: int, done_now: int
) -> None:
    sweep(folder)
    write(folder, BASIC.replace(old, new))
    swept = sweep(folder, resume=True)
    assert (len(swept.rows), swept.done_now) == (runs, done_now)
    sweep(folder, "fresh")
    assert table(folder) == table(folder, "fresh")


def test_a_changed_scenario_is_run_again(folder: Path) -> None:
    sweep(folder)
    (folder / "small.toml").write_text(SMALL.read_text().replace("count = 10", "count = 11"))
    assert sweep(folder, resume=True).done_now == 12


def test_dry_run_writes_nothing(aqmlab: Aqmlab, folder: Path) -> None:
    answer = aqmlab("sweep", "e.toml", "--dry-run", "--json", "--out", "out")
    assert json.loads(answer.stdout) == {"schema": 1, "title": "Small", "runs": 12, "done": 0}
    assert not (folder / "out").exists()
    assert "12 runs" in aqmlab("sweep", "e.toml", "--dry-run").stdout


def test_the_command_tells_means_and_ranks(aqmlab: Aqmlab, folder: Path) -> None:
    answer = aqmlab("sweep", "e.toml", "--out", "out", "--json")
    document = json.loads(answer.stdout)
    assert (document["runs"], document["done_now"], document["failures"]) == (12, 12, [])
    assert len(document["summary"]) == 6 * len(sweeps.MEASURES)
    assert document["ranking"]["total.goodput"]["blocks"] == 2
    page = aqmlab("sweep", "e.toml", "--out", "out", "--resume").stdout
    assert "12 runs, 0 of them done now; 0 failed" in page
    assert "critical difference" in page


def test_a_difference_is_paired_by_seed(folder: Path) -> None:
    swept = sweep(folder)
    droptail, pi, _ = swept.experiment.cells[:3]
    ours, theirs = (list(swept.values(cell, "link.queue_mean").values()) for cell in (pi, droptail))
    found = swept.difference(pi, droptail, "link.queue_mean")
    assert found is not None
    assert found.difference.mean == pytest.approx(((ours[0] - theirs[0]) + (ours[1] - theirs[1])) / 2)


def test_precision_adds_the_same_seeds_whatever_happened_before(folder: Path) -> None:
    write(folder, 'schema = 1\nscenarios = ["small.toml"]\naqms = ["pi", "droptail"]')
    precise = sweeps.precision("3%", 20)
    swept = sweep(folder, "whole", precise=precise)
    for cell in swept.experiment.cells:
        summary = swept.summary(cell, "link.queue_mean")
        assert summary is not None
        assert summary.half_width is not None
        assert summary.n == 20 or summary.half_width <= 0.03 * summary.mean
        assert summary.n >= 3
    sweep(folder)
    sweep(folder, resume=True, precise=precise)
    assert table(folder) == table(folder, "whole")


# Bad ends

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


def test_a_damaged_file_is_named_and_costs_only_its_runs(aqmlab: Aqmlab, folder: Path) -> None:
    sweep(folder, jobs=1)
    whole = table(folder)
    part = max((folder / "out" / "parts").iterdir(), key=lambda path: path.stat().st_size)
    lost = parquet.read_table(part).num_rows
    part.write_bytes(part.read_bytes()[:-100])
    answer = aqmlab("sweep", "e.toml", "--out", "out", "--resume")
    assert answer.returncode == 1
    assert part.name in answer.stderr
    assert "delete it" in answer.stderr
    assert "Traceback" not in answer.stderr
    with pytest.raises(lab.StoreError, match=part.name):
        lab.load_experiment(folder / "out")
    part.unlink()
    assert sweep(folder, resume=True).done_now == lost
    assert table(folder) == whole


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


LONG = """
schema = 1
title = "Long enough to be stopped"
scenarios = ["small.toml"]
aqms = ["droptail", "pi", "red"]
seeds = 80
[set]
duration = "200 s"
"""


def start(folder: Path, *options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [str(COMMAND), "sweep", "e.toml", "--out", "out", "--json", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no thread runs here
    )


def wait_for_more(process: "subprocess.Popen[str]", out: Path, before: int) -> None:
    """Return once more than `before` batches are stored, or the process has ended."""
    for _ in range(6000):
        if process.poll() is not None or len(list((out / "parts").glob("[!.]*.parquet"))) > before:
            return
        time.sleep(0.005)
    pytest.fail("no batch was stored within half a minute")


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
    before = len(stored(folder / "out"))
    last = start(folder, "--resume")
    answer = json.loads(last.communicate()[0])
    assert answer["done_now"] == 240 - before > 0
    assert table(folder) == table(folder, "whole")
    keys = stored(folder / "out")
    assert len(keys) == len(set(keys)) == 240


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


# A cluster


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, Sequence["subprocess.Popen[bytes]"]]]:
    """The address of a Dask cluster on this machine, and its processes: a scheduler and two workers."""
    pytest.importorskip("distributed")
    dask = str(Path(sysconfig.get_path("scripts")) / "dask")
    port = free_port()
    quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(
        [dask, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"], **quiet
    ) as scheduler:
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
        workers = [subprocess.Popen([dask, "worker", f"tcp://127.0.0.1:{port}", *options], **quiet) for _ in range(2)]
        try:
            wait_for_workers(port, 2)
            yield f"dask://127.0.0.1:{port}", [scheduler, *workers]
        finally:
            for process in (*workers, scheduler):
                process.kill()
            for process in workers:
                process.wait()


def wait_for_workers(port: int, n: int) -> None:
    program = (
        "from distributed import Client\n"
        f"with Client('tcp://127.0.0.1:{port}', timeout=30) as client: client.wait_for_workers({n}, timeout=30)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_a_dask_cluster_gives_the_same_table(folder: Path) -> None:
    """Also when one of its two workers is killed in the middle."""
    write(folder, LONG)
    sweep(folder, "whole")
    with cluster(folder) as (url, processes):
        process = start(folder, "--executor", url)
        wait_for_more(process, folder / "out", 2)
        assert process.poll() is None
        processes[1].kill()
        stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    document = json.loads(stdout)
    assert (document["runs"], document["failures"]) == (240, [])
    assert table(folder) == table(folder, "whole")
    keys = stored(folder / "out")
    assert len(keys) == len(set(keys)) == 240


def test_a_cluster_that_goes_away(folder: Path) -> None:
    write(folder, LONG)
    with cluster(folder) as (url, processes):
        process = start(folder, "--executor", url)
        wait_for_more(process, folder / "out", 0)
        processes[0].kill()
        stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 1
    assert stdout == ""
    assert "Error: executor: no longer answers" in stderr
    kept = len(stored(folder / "out"))
    assert 0 < kept < 240
    assert sweep(folder, resume=True).done_now == 240 - kept
