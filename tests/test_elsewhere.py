"""What works outside Linux: the package without the modules that only Unix has. It is compiled for others, not run."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TARGETS = ("x86_64-pc-windows-gnu", "aarch64-unknown-linux-gnu", "aarch64-apple-darwin")
ENGINE = ("aqmlab", "aqmlab-c", "aqmlab-law", "aqmlab-fluid", "aqmlab-python")
UNIX = ("fcntl", "grp", "pwd", "resource", "termios")

HIDDEN = f"""
import sys
for name in {UNIX}:
    sys.modules[name] = None
"""

LOADED = """
import pkgutil, aqmlab
for found in pkgutil.walk_packages(aqmlab.__path__, "aqmlab."):
    if not found.name.endswith(("__main__", "sb3", "cluster")):
        __import__(found.name)
"""

# The lock of Windows, which is made of Linux's here; `held` is 1 if another process has it.
WINDOWS = """
import sys, types, aqmlab, aqmlab.runs.sweep, aqmlab.lock
windows = types.ModuleType("msvcrt")
windows.LK_NBLCK = 2
def locking(file, mode, count):
    assert (mode, count) == (2, 1)
    if int(sys.argv[1]):
        raise PermissionError(13, "held")
windows.locking = locking
sys.modules["msvcrt"] = windows
sys.platform = "win32"
"""

LOCKED = """
try:
    with aqmlab.lock.held(__import__("pathlib").Path("."), "out", "another sweep"):
        print("held")
except aqmlab.InputError as why:
    print(why)
"""


def run(text: str, *arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN + text, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_loads_without_what_only_unix_has(tmp_path: Path) -> None:
    run(LOADED, cwd=tmp_path)


def test_runs_and_comparisons_work_without_what_only_unix_has(tmp_path: Path) -> None:
    text = "import aqmlab\nprint(aqmlab.compare('li2014/table-1', 'pi,red', seeds=2, set={'duration': '12 s'}).table())"
    assert "red" in run(text, cwd=tmp_path)


def test_a_folder_is_locked_on_windows(tmp_path: Path) -> None:
    assert run(WINDOWS + LOCKED, "0", cwd=tmp_path) == "held\n"
    assert "another sweep is at work in it" in run(WINDOWS + LOCKED, "1", cwd=tmp_path)


def test_a_sweep_works_without_what_only_unix_has(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(
        "schema = 1\nscenarios = ['li2014/table-1']\naqms = ['pi', 'red']\n[set]\nduration = '12 s'\n", encoding="utf-8"
    )
    text = (
        "print(aqmlab.sweep('e.toml', 'swept').schemes, aqmlab.run('li2014/table-1', 'pi', set={'duration': '12 s'}))"
    )
    assert "red" in run(WINDOWS + text, "0", cwd=tmp_path).lower()
    assert (tmp_path / "swept" / "runs.parquet").exists()


def listed(*of: str) -> list[str]:
    """What rustup has installed of it; nothing where there is no rustup."""
    if shutil.which("rustup") is None:
        return []
    done = subprocess.run(["rustup", *of], capture_output=True, text=True, check=False)
    return [line.split()[0] for line in done.stdout.splitlines() if line]


def check(*arguments: str, **variables: str) -> None:
    environment = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target" / "elsewhere")} | variables
    command = ["cargo", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.nightly
@pytest.mark.parametrize("target", TARGETS)
def test_the_engine_compiles_for_other_systems(target: str) -> None:
    if target not in listed("target", "list", "--installed"):
        pytest.skip(f"rustup target add {target}")
    crates = [part for name in ENGINE for part in ("-p", name)]
    check("check", "--locked", "--quiet", "--target", target, *crates, PYO3_NO_PYTHON="1")


@pytest.mark.nightly
def test_everything_compiles_with_the_oldest_rust_that_is_promised() -> None:
    oldest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["rust-version"]
    found = [name for name in listed("toolchain", "list") if name.startswith(f"{oldest}.")]
    if not found:
        pytest.skip(f"rustup toolchain install {oldest}.0 --profile minimal")
    check(f"+{found[0]}", "check", "--locked", "--quiet", "--workspace")
