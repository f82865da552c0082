"""A sweep in parts: whatever became of each part, together they are the sweep; what does not fit is named."""

import json
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab.runs import shards
from aqmlab.runs import sweep as sweeps
from conftest import BASIC, Aqmlab
from sweeping import LONG, start, sweep, table, wait_for_more, write

BROKEN = """
import aqmlab

class Own(aqmlab.Aqm):
    "Breaks down."

    def on_enqueue(self, packet, queue):
        raise ValueError
"""


def part(folder: Path, number: int, of: int, **options: object) -> Path:
    """Do a part of the sweep of 12 runs in a folder of its own."""
    sweep(folder, f"parts/{number}", shard=shards.Shard(number, of), **options)
    return folder / "parts" / str(number)


def files(folder: Path) -> dict[str, bytes]:
    """The files of a sweep that say what it found, not when and where it ran."""
    patterns = ("experiment.toml", "plan.parquet", "runs.parquet", "scenarios/*", "series/*", "delays/*")
    found = [path for pattern in patterns for path in folder.glob(pattern)]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_merging_says_how_far_it_is(folder: Path) -> None:
    told: list[tuple[float, int]] = []
    parts = [part(folder, number, 2) for number in (1, 2)]
    lab.merge(parts, folder / "out", progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 5), (1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]


def test_a_part_is_every_nth_run() -> None:
    assert shards.Shard(1, 3).part(range(8)) == [0, 3, 6]
    assert shards.Shard(3, 3).part(range(8)) == [2, 5]


def test_parts_of_a_sweep_make_the_sweep(aqmlab: Aqmlab, folder: Path) -> None:
    sweep(folder, "whole", series="first")
    folders = [part(folder, number, 7, series="first") for number in range(1, 8)]
    assert [len(lab.load_experiment(each)) for each in folders] == [2, 2, 2, 2, 2, 1, 1]
    answer = aqmlab("merge", *folders, "--out", "out", "--json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout) == {
        "schema": 1,
        "title": "Small",
        "folders": [str(each) for each in folders],
        "runs": 12,
        "failures": [],
    }
    assert len(files(folder / "whole")) == 16  # 3 files, a scenario, series and delays of 6 runs
    assert files(folder / "out") == files(folder / "whole")
    sessions = json.loads((folder / "out" / "environment.json").read_text())
    assert [session["shard"] for session in sessions] == [f"{number}/7" for number in range(1, 8)]
    assert sweep(folder, resume=True).done_now == 0


def test_a_part_goes_on_where_it_stopped_and_fails_as_the_sweep_does(aqmlab: Aqmlab, folder: Path) -> None:
    (folder / "own.py").write_text(BROKEN)
    write(folder, BASIC.replace('"droptail"', '"own.py"'))
    sweep(folder, "whole")
    options = ("sweep", "e.toml", "--out", "parts/1", "--shard", "1/2", "--json")
    first = aqmlab(*options)
    assert (first.returncode, json.loads(first.stdout)["done_now"]) == (1, 6)
    again = aqmlab(*options, "--resume")
    assert (again.returncode, json.loads(again.stdout)["done_now"]) == (1, 2)  # those that failed
    assert json.loads(aqmlab(*options, "--dry-run").stdout) == {"schema": 1, "title": "Small", "runs": 6, "done": 4}
    part(folder, 2, 2)
    answer = aqmlab("merge", "parts/1", "parts/2", "--out", "out")
    assert answer.returncode == 1
    assert "Small: 12 runs of 2 folders; 4 failed" in answer.stdout
    assert files(folder / "out") == files(folder / "whole")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0/7", "the parts are 1/7 to 7/7"),
        ("8/7", "the parts are 1/7 to 7/7"),
        ("1/0", "the parts are"),
        ("a/b", "such as 2/7"),
        ("3", "such as 2/7"),
        ("1/2/3", "such as 2/7"),
        ("-1/7", "such as 2/7"),
        ("1/13", "12 runs"),
    ],
)
def test_a_shard_that_is_none(text: str, told: str) -> None:
    with pytest.raises(lab.InputError, match="shard") as error:
        shards.shard(text, 12)
    assert told in str(error.value)
    assert text in str(error.value)


def test_options_that_do_not_go_with_parts(aqmlab: Aqmlab, folder: Path) -> None:
    for options, told in ((["--shard", "8/7"], "8/7"), (["--shard", "1/2", "--precision", "5%"], "precision")):
        answer = aqmlab("sweep", "e.toml", "--out", "out", *options)
        assert answer.returncode == 2
        assert answer.stderr.splitlines()[-1].startswith("Error: shard: ")
        assert told in answer.stderr
    assert not (folder / "out").exists()
    answer = aqmlab("merge", "parts/1")
    assert (answer.returncode, answer.stderr) == (
        2,
        "Error: out: missing; --out DIR names the folder for the merged sweep\n",
    )


def refused(folder: Path, *parts: Path) -> str:
    """What merging says; it leaves nothing."""
    with pytest.raises(lab.InputError) as error:
        lab.merge(parts, folder / "out")
    assert not (folder / "out").exists()
    return str(error.value)


def test_parts_that_do_not_go_together(folder: Path) -> None:
    one, two, three = (part(folder, number, 3) for number in (1, 2, 3))
    assert f"{one} and {one}: both hold 4 runs" in refused(folder, one, one, two)
    assert "no folder of shard 2/3 is among them" in refused(folder, one, three)
    assert "holds no sweep" in refused(folder, one, folder)
    assert "none is given" in refused(folder)
    four = part(folder, 4, 4)
    assert "both hold 1 run;" in refused(folder, one, two, three, four)
    sweep(folder, "parts/half", shard=shards.Shard(1, 2))
    sweep(folder, "parts/quarter", shard=shards.Shard(2, 4))
    halves = folder / "parts" / "half", folder / "parts" / "quarter"
    assert "3 runs of 12 are in none of them" in refused(folder, *halves)
    killed = folder / "parts" / "killed"
    shutil.copytree(three, killed)
    next((killed / "parts").iterdir()).unlink()
    told = refused(folder, one, two, killed)
    assert f"{killed}: shard 3/3 lacks 4 runs; continue there with --shard 3/3 --resume" in told
    sessions = three / "environment.json"
    sessions.write_text(sessions.read_text().replace(lab.__version__, "0.0.1"))
    assert f"{three}: was made by aqmlab 0.0.1" in refused(folder, one, two, three)
    write(folder, BASIC.replace("seeds = 2", "seeds = 3"))
    assert f"{part(folder, 5, 5)}: holds another experiment than {one}" in refused(folder, one, folder / "parts" / "5")
    (folder / "taken").mkdir()
    shutil.copytree(two, folder / "taken", dirs_exist_ok=True)
    with pytest.raises(lab.InputError, match="holds a sweep already"):
        lab.merge([one, two, part_again(folder, three)], folder / "taken")


def part_again(folder: Path, three: Path) -> Path:
    """The third part, by this version again."""
    sessions = three / "environment.json"
    sessions.write_text(sessions.read_text().replace("0.0.1", lab.__version__))
    return three


@pytest.mark.nightly
def test_seven_processes_killed_at_any_moment_and_resumed(aqmlab: Aqmlab, folder: Path) -> None:
    write(folder, LONG)
    sweeps.sweep(folder / "e.toml", folder / "whole")
    moment, killed = random.Random(1), 0
    options = {number: ("--shard", f"{number}/7", "--jobs", "1") for number in range(1, 8)}
    started = {number: start(folder, *options[number], out=f"parts-{number}") for number in options}
    for number in (2, 3, 7):
        wait_for_more(started[number], folder / f"parts-{number}", 0)
        time.sleep(moment.uniform(0, 0.1))
        started[number].kill()
        started[number].communicate()
        killed += started[number].returncode == -signal.SIGKILL
        started[number] = start(folder, *options[number], "--resume", out=f"parts-{number}")
    assert killed == 3
    for process in started.values():
        process.communicate()
        assert process.returncode == 0
    answer = aqmlab("merge", *(f"parts-{number}" for number in options), "--out", "out")
    assert answer.returncode == 0, answer.stderr
    assert files(folder / "out") == files(folder / "whole")
    assert table(folder) == table(folder, "whole")
