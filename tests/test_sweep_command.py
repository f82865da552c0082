"""Sweeps over a real program: the keys of the file, and runs where a kernel is built."""

import json
import shlex
import signal
from pathlib import Path

import pandas as pd
import pytest

import aqmlab
from aqmlab.problems import InputError
from aqmlab.runs import plan
from conftest import Aqmlab, virtual_fault
from live_runs import SINK
from sweeping import start, stored, sweep, table, wait_for_more, write

kernel = pytest.mark.skipif(virtual_fault() is not None, reason=str(virtual_fault()))

SEND = """
import socket, sys, time
peer, start = socket.create_connection(("server", 5000)), time.monotonic()
for _ in range(int(sys.argv[1])): peer.sendall(bytes(1 << 16))
peer.shutdown(socket.SHUT_WR)
print(f"SENT={int(sys.argv[1])} TOOK={time.monotonic() - start}")
"""

EXPERIMENT = f"""
schema = 1
title = "Sending"
scenarios = ["link.toml"]
aqms = ["droptail", "fq-codel"]
seeds = 2
command = ["python3", "send.py", "10"]
serve = {json.dumps(SINK)}
measure = {{ sent = "SENT=([0-9]+)", took = "TOOK=([0-9.]+)", time = "time", exit = "exit" }}
start_spread = "100 ms"

[set]
"links.0.rate" = ["5 Mbit/s", "10 Mbit/s"]
"""

LINK = """
schema = 1
duration = "10 s"
[[links]]
name = "up"
rate = "10 Mbit/s"
buffer = "50 packets"
[[links]]
name = "down"
rate = "10 Mbit/s"
buffer = "50 packets"
[[flows]]
name = "any"
path = ["up"]
ack_path = ["down"]
rtt = "20 ms"
tcp = "linux"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "link.toml").write_text(LINK, encoding="utf-8")
    (tmp_path / "send.py").write_text(SEND, encoding="utf-8")
    write(tmp_path, EXPERIMENT)
    return tmp_path


@pytest.mark.parametrize(
    ("given", "instead", "why"),
    [
        ('command = ["python3", "send.py", "10"]', "", "experiment.serve: belongs to a command; add command ="),
        ('["python3", "send.py", "10"]', '"send.py"', "experiment.command: 'send.py': expected a list of texts"),
        ('["python3", "send.py", "10"]', "[]", "experiment.command: []: expected a program and its arguments"),
        ('"SENT=([0-9]+)"', '"SENT="', "measure: sent=SENT=: put the number in parentheses"),
        ('"SENT=([0-9]+)"', "3", "experiment.measure.sent: 3: expected a text"),
        ('"100 ms"', "3", "experiment.start_spread: 3: expected a time"),
        ('"100 ms"', '"soon"', 'experiment.start_spread: "soon" is not a time; write e.g. 30ms'),
        ("seeds = 2", 'engine = "sim"', "engine: sim: a command runs on linux only"),
        ("seeds = 2", 'law = "cubic"', "law: cubic: a command has the kernel's TCP"),
        ("seeds = 2", 'warmup = "mser"', "experiment.warmup: 'mser': a command has no pilot runs"),
    ],
)
def test_wrong_keys_are_refused(given: str, instead: str, why: str, folder: Path, aqmlab: Aqmlab) -> None:
    assert given in EXPERIMENT
    write(folder, EXPERIMENT.replace(given, instead))
    refused = aqmlab("sweep", folder / "e.toml", "--dry-run")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert why in refused.stderr


@kernel
def test_a_program_is_swept_over_schemes_and_rates(folder: Path) -> None:
    swept = sweep(folder)
    assert not swept.failures
    assert list(swept.measures)[:4] == ["program.exit", "program.sent", "program.time", "program.took"]
    frame = aqmlab.load_experiment(folder / "out")
    assert len(frame) == 8
    assert {*frame["engine"]} == {"linux"}
    assert {*frame["program.sent"]} == {10}
    assert {*frame["program.exit"]} == {0}
    slow, fast = (frame[frame["set.links.0.rate"] == rate] for rate in ("5 Mbit/s", "10 Mbit/s"))
    assert slow["program.took"].min() > fast["program.took"].max()
    assert (frame["program.time"] > frame["program.took"]).all()
    first = swept.document()["summary"][1]
    assert (first["measure"], first["n"], first["mean"]) == ("program.sent", 2, 10)
    differences = [each["more_than_first"] for each in swept.document()["summary"] if each["aqm"] == "fq-codel"]
    assert all(each["mean"] is not None for each in differences if each)


@kernel
def test_a_killed_sweep_keeps_its_finished_runs(folder: Path) -> None:
    sweep(folder, "whole")
    process = start(folder, "--jobs", "1")
    wait_for_more(process, folder / "out", 1)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    done = len(stored(folder / "out"))
    assert 0 < done < 8
    again = sweep(folder, resume=True)
    assert again.done_now == 8 - done
    assert table(folder) == table(folder, "whole")
    assert sweep(folder, resume=True).done_now == 0


@kernel
def test_a_file_that_the_command_names_is_part_of_the_runs(folder: Path) -> None:
    before = {run.key for run in plan.read(folder / "e.toml").runs()}
    assert before == {run.key for run in plan.read(folder / "e.toml").runs()}
    (folder / "send.py").write_text(SEND + "\n", encoding="utf-8")
    assert not before & {run.key for run in plan.read(folder / "e.toml").runs()}


@kernel
def test_the_stored_experiment_has_the_same_runs(folder: Path) -> None:
    asked = plan.read(folder / "e.toml")
    again = folder / "again"
    again.mkdir()
    for name, text in asked.files().items():
        (again / name).parent.mkdir(exist_ok=True)
        (again / name).write_text(text, encoding="utf-8")
    (again / "send.py").write_text(SEND, encoding="utf-8")
    found = plan.read(again / "experiment.toml")
    assert [run.key for run in found.runs()] == [run.key for run in asked.runs()]


@kernel
def test_what_fails_says_why_and_changes_nothing(folder: Path) -> None:
    write(folder, EXPERIMENT.replace('"python3", "send.py"', '"no-such"').replace("seeds = 2", "seeds = 1"))
    swept = sweep(folder)
    assert len(swept.failures) == 4
    assert "no-such: No such file" in swept.failures[0]
    write(folder, EXPERIMENT.replace("[set]", '[set]\nwarmup = "9 s"').replace("seeds = 2", "seeds = 1"))
    assert "the command ended within the warm-up of 9 s" in sweep(folder, "late").failures[0]
    quiet = shlex.join(["python3", "-c", "open('new', 'w')"])
    write(folder, EXPERIMENT.replace('["python3", "send.py", "10"]', json.dumps(shlex.split(quiet))))
    swept = sweep(folder, "quiet")
    frame = aqmlab.load_experiment(folder / "quiet")
    assert not (folder / "new").exists()  # runs would find the files of others
    assert frame["program.sent"].isna().all()
    assert {*frame["program.exit"]} == {1}


@kernel
def test_reports_and_figures_show_the_program(folder: Path, aqmlab: Aqmlab) -> None:
    sweep(folder)
    page = folder / "report.html"
    assert aqmlab("report", "out", "--out", page).returncode == 0
    text = page.read_text(encoding="utf-8")
    assert "took, which the program prints" in text
    assert "python3 send.py 10" in text
    drawn = aqmlab(
        "plot", "out", "measure", "--measure", "program.took", "--against", "set.links.0.rate", "--out", "a.svg"
    )
    assert drawn.returncode == 0, drawn.stderr
    listed = aqmlab("plot", "out").stdout
    assert "program.took" in listed


@kernel
def test_only_what_programs_have_is_recorded_and_measured(folder: Path) -> None:
    for options, why in [
        ({"series": "first"}, "series: first: a command has no stored series"),
        ({"executor": "dask://localhost:1"}, "command: python3: your own code runs on the threads of this process"),
        ({"measures": ["program.lod"]}, 'measure: no measure "program.lod"'),
    ]:
        with pytest.raises(InputError, match=why):
            sweep(folder, **options)
    found = sweep(folder, measures=["program.t*", "link.drop_ratio"])
    assert list(found.measures) == ["program.time", "program.took", "link.drop_ratio"]
    frame = pd.DataFrame(found.measured.rows())
    assert {"sent", "took"} <= {*frame["measure"]}
