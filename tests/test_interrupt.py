"""Ctrl-C: exit code 130, no traceback, nothing left behind."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aqmlab.bundle import archive, build
from conftest import COMMAND, SMALL, heed_interrupts


def wait_until_simulating(process: "subprocess.Popen[str]") -> None:
    """Return when a thread beside the first is at work; the runs are made there."""
    threads = Path(f"/proc/{process.pid}/task")
    for _ in range(600):
        assert process.poll() is None
        if len(list(threads.iterdir())) > 1:
            return
        time.sleep(0.1)
    pytest.fail("no simulation began within a minute")


LONG = SMALL.read_text().replace('"2 s"', '"100000 s"').replace("schema = 1", 'schema = 1\nsample = "10 s"')
COMMANDS = {
    "run": ["run", "long.toml", "--out", "out"],
    "compare": ["compare", "long.toml", "--out", "out"],
    "sweep": ["sweep", "e.toml", "--out", "swept"],
    "tune": ["tune", "red", "--scenario", "long.toml", "--objective", "min link.queue_mean"],
    "verify": ["verify", "long.zip"],
}


def write_bundle(folder: Path) -> None:
    """Write a bundle of a run that takes hours: that of a short one, with another duration."""
    (folder / "small.toml").write_text(SMALL.read_text())
    (folder / "short.toml").write_text('schema = 1\nscenarios = ["small.toml"]\naqms = ["red"]\n')
    (folder / "long.zip").write_bytes(build.bundle(str(folder / "short.toml")).data)
    files = archive.unpack(folder / "long.zip")
    files["scenarios/small.toml"] = LONG.encode()
    (folder / "long.zip").write_bytes(archive.pack(files))


@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c(command: str, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    (tmp_path / "e.toml").write_text('schema = 1\nscenarios = ["long.toml"]\naqms = ["red"]\n')
    if command == "verify":
        write_bundle(tmp_path)
    process = subprocess.Popen(
        [str(COMMAND), *COMMANDS[command]],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 - no thread runs here
    )
    wait_until_simulating(process)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stdout == ""
    assert "Traceback" not in stderr
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.rglob("*.part"))


ENDLESS = """
import aqmlab, time

class Endless(aqmlab.Aqm):
    def on_enqueue(self, packet, queue):
        if queue.arrived_packets == 1:
            open("begun", "w").close()
        while True:
            {body}
"""


@pytest.mark.parametrize("body", ["pass", "time.sleep(0.01)"])
def test_ctrl_c_ends_a_scheme_in_python_that_does_not(body: str, tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS.format(body=body))
    process = subprocess.Popen(
        [str(COMMAND), "compare", str(SMALL), "--aqms", "endless.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 - no thread runs here
    )
    for _ in range(600):
        if (tmp_path / "begun").exists():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    try:
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, stdout, stderr) == (130, "", "")


LEFT_ALONE = """
import sys
import threading
import aqmlab
from aqmlab._core import Interrupted
from aqmlab.runs import workers

def profiled():
    sys.setprofile(lambda *event: None)
    [number * number for number in range(100)]
    sys.setprofile(None)

aqmlab.run(sys.argv[1])
profiled()

running, began = workers.Running(), threading.Event()

def busy(batch, watch):
    began.set()
    try:
        while True:
            pass
    except Interrupted:
        return ["interrupted"]

workers.do = busy
ended = []
thread = threading.Thread(target=lambda: ended.extend(running.do([], None)))
thread.start()
began.wait()
running.interrupt()
thread.join()
profiled()
print(*ended, bool(running))
"""


def test_a_run_leaves_the_interpreter_as_it_was() -> None:
    """No exception is pending once a run has ended, by itself or interrupted: a profiler would loop for ever."""
    done = subprocess.run(
        [sys.executable, "-c", LEFT_ALONE, str(SMALL)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "interrupted False\n", done.stderr
