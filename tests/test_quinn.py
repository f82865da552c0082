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


@pytest.mark.nightly
def test_quic_connections_are_flows_of_a_scenario() -> None:
    crate = EXAMPLE.parent.parent / "crates" / "quic"
    environment = os.environ | {"CARGO_TARGET_DIR": str(crate.parent.parent / "target")}
    for verb in (["clippy", "--all-targets", "--quiet", "--", "-D", "warnings"], ["test", "--quiet"]):
        run = ["cargo", verb[0], "--locked", *verb[1:]]
        done = subprocess.run(run, cwd=crate, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
