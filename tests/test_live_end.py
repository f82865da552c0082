"""However a live run ends, nothing of it is left."""

import os
import random
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from conftest import COMMAND
from live_runs import LINE, SINK

pytestmark = pytest.mark.usefixtures("live_machine")


LEFT = {"up.log", "down.log", "up.pcapng", "down.pcapng", "serve-1.log", "live.json"}
"""Files in the folder of a run that has been killed."""


def with_marker(marker: str) -> list[str]:
    """Command lines of the processes that have this marker in their environment."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if marker.encode() in environment.read_bytes() and (environment.parent / "cmdline").read_bytes():
                found.append((environment.parent / "cmdline").read_text())
    return found


def await_none(marker: str) -> None:
    """The kernel ends processes soon, not at once."""
    for _ in range(100):
        if not with_marker(marker):
            return
        time.sleep(0.05)
    pytest.fail(f"left behind: {with_marker(marker)}")


def start(marker: str, folder: Path) -> "subprocess.Popen[bytes]":
    """A live run with processes at both ends, in a folder."""
    busy = "touch started; sleep 601 & while true; do sleep 0.01; done"
    # Whoever runs the tests may ignore SIGHUP, as nohup does, and it is inherited.
    heed = ["env", "--default-signal=HUP,INT,TERM"]
    command = [*heed, str(COMMAND), "live", *LINE, "--serve", SINK, "--out", "out", "--", "sh", "-c", busy]
    environment = {**os.environ, "AQMLAB_TEST": marker}
    null = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=null, stderr=null, start_new_session=True)


@pytest.mark.parametrize("moments", [20, pytest.param(200, marks=pytest.mark.nightly)])
def test_nothing_is_left_after_kill_9(moments: int, tmp_path: Path) -> None:
    def kill(moment: int) -> None:
        """Kill a run after a while, and see that no process and no file is left."""
        marker, folder = f"kill-{os.getpid()}-{moment:03}", tmp_path / str(moment)
        folder.mkdir()
        process = start(marker, folder)
        time.sleep(random.Random(moment).uniform(0, 1.5))
        process.kill()
        process.wait()
        await_none(marker)
        assert {path.name for path in folder.iterdir()} <= {"out", "started"}
        assert {path.name for path in folder.glob("out/*")} <= LEFT

    before = machine()
    with ThreadPoolExecutor(4) as several:
        list(several.map(kill, range(moments)))
    assert machine() == before


def machine() -> tuple[str, str, int]:
    """Mounts, names of network devices, and named network namespaces."""
    names = re.findall(r"^ *(\S+):", Path("/proc/net/dev").read_text(), re.MULTILINE)
    return Path("/proc/self/mountinfo").read_text(), " ".join(names), len(list(Path("/run").glob("netns/*")))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_command_and_all(number: signal.Signals, tmp_path: Path) -> None:
    marker = f"signal-{os.getpid()}-{number}"
    process = start(marker, tmp_path)
    for _ in range(600):
        if (tmp_path / "started").exists():
            break
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(timeout=30) == 128 + number
    await_none(marker)
