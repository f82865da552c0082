"""Ctrl-C: exit code 130, no traceback, nothing left behind."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import COMMAND, SMALL


@pytest.mark.parametrize("command", ["run", "compare"])
def test_ctrl_c(command: str, tmp_path: Path) -> None:
    world = tmp_path / "long.toml"
    world.write_text(
        SMALL.read_text().replace('"2 s"', '"100000 s"').replace("schema = 1", 'schema = 1\nsample = "10 s"')
    )
    process = subprocess.Popen(
        [str(COMMAND), command, str(world), "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(2)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stdout == ""
    assert "Traceback" not in stderr
    assert not (tmp_path / "out").exists()
