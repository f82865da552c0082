"""QUIC connections as flows of a scenario: by a program of its own, to which runs and comparisons hand them."""

import json
import os
import subprocess
from pathlib import Path

import pytest

import aqmlab
from aqmlab import _core
from conftest import Aqmlab

CRATE = Path(__file__).parent.parent / "crates" / "quic"
TARGET = CRATE.parent.parent / "target"
OURS = f"aqmlab-quic {aqmlab.__version__} (sources {_core.source()})"
SCENARIO = """schema = 1
duration = "4 s"
[[links]]
name = "link"
rate = "10 Mbit/s"
buffer = "60 packets"
[[flows]]
name = "quic"
kind = "quic"
rtt = "40 ms"
ecn = true
[[flows]]
name = "tcp"
rtt = "40 ms"
"""


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    (tmp_path / "beside.toml").write_text(SCENARIO, encoding="utf-8")
    return tmp_path / "beside.toml"


def cargo(*arguments: str) -> None:
    environment = os.environ | {"CARGO_TARGET_DIR": str(TARGET)}
    done = subprocess.run(
        ["cargo", *arguments], cwd=CRATE, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_scenario_with_quic_says_which_program_it_needs(beside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(beside.parent))
    for ask in (aqmlab.run, aqmlab.compare):
        with pytest.raises(
            aqmlab.InputError, match=r'flows\.quic\.kind: "quic" needs the program aqmlab-quic.*cargo install'
        ):
            ask(beside, "pi")
    other = beside.parent / "aqmlab-quic"
    other.write_text("#!/bin/sh\necho aqmlab-quic 9.9\n", encoding="utf-8")
    other.chmod(0o755)
    with pytest.raises(aqmlab.InputError, match=rf"needs aqmlab-quic {aqmlab.__version__} .*; .* is aqmlab-quic 9\.9"):
        aqmlab.run(beside, "pi")


def test_a_simulation_that_is_stepped_has_no_quic(beside: Path) -> None:
    with pytest.raises(aqmlab.InputError, match=r'flows\.quic\.kind: "quic".*aqmlab-quic'):
        aqmlab.Simulation(beside, "pi")


def test_the_program_s_errors_are_those_of_the_input(beside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that answers as the real one does: exit code 2 for bad input, 1 for a run that failed."""
    monkeypatch.setenv("PATH", f"{beside.parent}:/usr/bin:/bin")
    program = beside.parent / "aqmlab-quic"
    for code, error in ((2, aqmlab.InputError), (1, aqmlab.RunError)):
        text = f'if [ "$1" = --version ]; then echo "{OURS}"; else cat > /dev/null; '
        program.write_text(
            f"#!/bin/sh\n{text} echo 'Error: seed: out of luck' >&2; exit {code}; fi\n", encoding="utf-8"
        )
        program.chmod(0o755)
        with pytest.raises(error, match="seed: out of luck"):
            aqmlab.run(beside, "pi")


def test_a_program_gets_all_of_a_long_scenario_though_it_reads_late(
    beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than a pipe holds, read after several looks at whether the run is cancelled."""
    text = SCENARIO + "# a comment\n" * 30_000
    beside.write_text(text, encoding="utf-8")
    monkeypatch.setenv("PATH", f"{beside.parent}:/usr/bin:/bin")
    program = beside.parent / "aqmlab-quic"
    count = 'sleep 0.5; echo "Error: seed: $(timeout 5 cat | wc -c) bytes" >&2; exit 2'
    program.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo "{OURS}"; else {count}; fi\n', encoding="utf-8")
    program.chmod(0o755)
    with pytest.raises(aqmlab.InputError, match=f"seed: {len(text)} bytes"):
        aqmlab.run(beside, "pi")


@pytest.mark.nightly
def test_runs_and_comparisons_hand_over(beside: Path, aqmlab: Aqmlab, monkeypatch: pytest.MonkeyPatch) -> None:
    cargo("build", "--profile", "test", "--locked", "--quiet")  # so its tests compile the same
    monkeypatch.setenv("PATH", f"{TARGET / 'debug'}:{os.environ['PATH']}")
    program = ["aqmlab-quic", "beside.toml", "--aqm", "codel", "--set", "links.link.rate=8 Mbit/s", "--seed", "2"]
    alone = subprocess.run(program, cwd=beside.parent, capture_output=True, text=True, check=True).stdout
    same = ["--aqm", "codel", "--set", "links.link.rate=8 Mbit/s", "--seed", "2"]
    ran = aqmlab("run", "beside.toml", *same, "--json").stdout
    results = [json.loads(text) for text in (alone, ran)]
    for result in results:
        result["engine"].pop("wall")
    assert results[0] == results[1]
    assert results[0]["flows"]["quic"]["marked"] > 0
    out = aqmlab("run", "beside.toml", *same, "--out", "out")
    assert out.returncode == 0, out.stderr
    assert (beside.parent / "out" / "series.csv").read_text().count("\n") > 30
    table = aqmlab("compare", "beside.toml", "--aqms", "droptail,fq-codel", "--seeds", "2")
    assert "FQ-CoDel" in table.stdout
    traced = aqmlab("run", "beside.toml", "--trace", "packets.csv")
    assert (traced.returncode, "cannot be traced" in traced.stderr) == (2, True)


@pytest.mark.nightly
def test_the_crate_has_no_lint_and_passes_its_tests() -> None:
    cargo("clippy", "--locked", "--all-targets", "--quiet", "--", "-D", "warnings")
    cargo("test", "--locked", "--quiet")
