"""The crates can be published, and nothing else is."""

import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from aqmlab import _core
from aqmlab.cli import app

ROOT = Path(__file__).parent.parent
PUBLISHED = {
    *(
        "aqmlab",
        "aqmlab-aqm",
        "aqmlab-core",
        "aqmlab-fluid",
        "aqmlab-law",
        "aqmlab-scenario",
        "aqmlab-sim",
        "aqmlab-tcp",
    ),
}


@pytest.mark.nightly
def test_the_crates_compile_as_packed() -> None:
    """Each as those who depend on it would get it."""
    # Cargo takes a version that it has unpacked or compiled for the same, though our sources have changed since.
    target, home = ROOT / "target" / "publish", Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry"
    for earlier in (target, *home.glob("src/-*/aqmlab*"), *home.glob("cache/-*/aqmlab*")):
        shutil.rmtree(earlier, ignore_errors=True) if earlier.is_dir() else earlier.unlink(missing_ok=True)
    command = ["cargo", "publish", "--workspace", "--dry-run", "--locked", "--allow-dirty", "--target-dir", str(target)]
    environment = os.environ | {"CARGO_PROFILE_DEV_DEBUG": "false", "CARGO_INCREMENTAL": "0"}  # nothing of it is run
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    packed = {line.split()[1] for line in done.stderr.splitlines() if line.strip().startswith("Packaging ")}
    assert packed == PUBLISHED
    assert "manifest has no" not in done.stderr


def test_the_home_is_one() -> None:
    """That of Cargo.toml, in the wheel's metadata, in `--help` and in what bundles say."""
    workspace, project = (
        tomllib.loads((ROOT / name).read_text(encoding="utf-8")) for name in ("Cargo.toml", "pyproject.toml")
    )
    home = workspace["workspace"]["package"]["repository"]
    assert project["project"]["urls"] == {"Home": home}
    assert _core.home() == (None if home.endswith(".invalid") else home)
    is_set = not home.endswith(".invalid")
    assert (home in str(app.info.epilog)) == ("Home:" in str(app.info.epilog)) == is_set


def test_libraries_take_later_versions_of_what_they_depend_on() -> None:
    command = ["cargo", "metadata", "--no-deps", "--locked", "--format-version", "1"]
    packages = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)[
        "packages"
    ]
    exact = [
        (package["name"], each["name"], each["req"])
        for package in packages
        for each in package["dependencies"]
        if each["req"].startswith("=")
    ]
    assert exact == []
    versions = {(package["name"], package["rust_version"]) for package in packages}
    assert {version for _, version in versions} == {"1.90"}
