"""The example with a whole QUIC stack in virtual time."""

import os
import subprocess
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent.parent / "examples" / "quinn"


@pytest.mark.nightly
def test_quinn_transfers_the_same_a_thousand_times() -> None:
    environment = os.environ | {"AQMLAB_REPEATS": "1000", "CARGO_TARGET_DIR": str(EXAMPLE.parent.parent / "target")}
    run = ["cargo", "test", "--locked", "--quiet"]
    done = subprocess.run(run, cwd=EXAMPLE, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
