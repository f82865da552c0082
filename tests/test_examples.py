"""The examples: what their page lists is there and works. Notebooks and the template in Rust have their own tests.

No test runs quic.py, which needs a package that the tests do not install; docs/live.md shows how to.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Aqmlab, virtual_fault

EXAMPLES = Path(__file__).parent.parent / "examples"
PAGE = (EXAMPLES / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"`aqmlab ([^`]+)`", PAGE)


def test_the_page_lists_sixteen_and_all_notebooks() -> None:
    assert len(re.findall(r"^\| (?!what|---)", PAGE, re.MULTILINE)) == 16
    linked = set(re.findall(r"\]\(([^)]+)\)", PAGE))
    assert all((EXAMPLES / link).exists() for link in linked)
    assert {f"notebooks/{path.name}" for path in EXAMPLES.glob("notebooks/*")} <= linked


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_work(command: str, aqmlab: Aqmlab, tmp_path: Path) -> None:
    for name in ("my-link.toml", "rivals.toml", "gym"):
        source = EXAMPLES / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    done = aqmlab(*shlex.split(command))
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(virtual_fault() is not None, reason=str(virtual_fault()))
@pytest.mark.skipif(not all(map(shutil.which, ("chromium", "iperf3"))), reason="chromium and iperf3 are not installed")
def test_a_browser_loads_a_page(aqmlab: Aqmlab, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "page-load", tmp_path, dirs_exist_ok=True)
    experiment = tmp_path / "page-load.toml"
    text = re.sub("^seeds = .*", "seeds = 1", experiment.read_text(encoding="utf-8"), flags=re.MULTILINE)
    experiment.write_text(re.sub("^aqms = .*", 'aqms = ["fq-codel"]', text, flags=re.MULTILINE), encoding="utf-8")
    done = aqmlab("sweep", experiment, "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    [load, *_] = json.loads(done.stdout)["summary"]
    assert load["measure"] == "program.Load time (s)"
    assert 0.5 < load["mean"] < 3


@pytest.mark.nightly
@pytest.mark.parametrize("algorithm", ["ppo", "sac"])
def test_the_training_leaves_a_model_that_becomes_a_scheme(algorithm: str, aqmlab: Aqmlab, tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3", reason="make train installs stable-baselines3 and torch")
    arguments = ["--algorithm", algorithm, "--steps", "300", "--envs", "2", "--out", "model.zip"]
    done = subprocess.run(
        [sys.executable, EXAMPLES / "gym" / "train.py", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"model.zip: {algorithm.upper()}, seed 1, 300 steps" in done.stdout
    exported = aqmlab("export-policy", "model.zip", "--out", "trained.py")
    assert exported.returncode == 0, exported.stderr
