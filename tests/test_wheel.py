"""The wheel in an empty environment without a compiler: the tour works there, and the base without extras."""

import os
import re
import shlex
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from test_docs import blocks, show

ROOT = Path(__file__).parent.parent
WHEELS = sorted((ROOT / "dist").glob("aqmlab-*.whl"))
SOURCES = sorted((ROOT / "dist").glob("aqmlab-*.tar.gz"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MOST_BYTES = 15_000_000
TOUR = ROOT / "docs" / "tour.md"
EXPERIMENT = """
schema = 1
title = "Few"
scenarios = ["li2014/table-1"]
aqms = ["pi", "red"]
seeds = 2
[set]
duration = "5 s"
"""

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not WHEELS, reason="make wheel makes it"),
]


class Place:
    """A virtual environment with the wheel."""

    def __init__(self, folder: Path, extras: str) -> None:
        self.bin = folder / "venv" / "bin"
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        pip = [
            self.bin / "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--only-binary",
            ":all:",
            f"{WHEELS[-1]}{extras}",
        ]
        subprocess.run(pip, check=True, env=self.environment)

    @property
    def environment(self) -> dict[str, str]:
        """Of a machine that has nothing but this; addresses of package indexes stay."""
        kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or "proxy" in name.lower()}
        return {**kept, "PATH": str(self.bin), "HOME": str(self.bin.parent)}

    def run(self, program: str, *arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
        """Run a program of the environment."""
        command = [self.bin / program, *arguments]
        return subprocess.run(command, cwd=cwd, env=self.environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("base"), "")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("whole"), "[reports]")


def test_the_wheel_is_small_and_says_what_is_in_it() -> None:
    assert WHEELS[-1].stat().st_size < MOST_BYTES
    names = zipfile.ZipFile(WHEELS[-1]).namelist()
    assert any(name.endswith(".cyclonedx.json") for name in names)
    assert [name for name in names if name.endswith(".so")] == ["aqmlab/_core.abi3.so"]
    assert "-cp311-abi3-" in WHEELS[-1].name


@pytest.mark.skipif(sys.platform != "linux", reason="glibc is Linux's")
def test_the_wheel_runs_with_a_glibc_of_2018() -> None:
    """By the versions of the symbols that its programs ask for; manylinux_2_28 is RHEL 8, Debian 10 and later."""
    assert "-manylinux_2_28_" in WHEELS[-1].name
    wheel = zipfile.ZipFile(WHEELS[-1])
    found = {
        name: max(
            (tuple(map(int, each)) for each in re.findall(rb"GLIBC_(\d+)\.(\d+)", wheel.read(name))), default=(0, 0)
        )
        for name in ("aqmlab/_core.abi3.so", "aqmlab/kernel/guest")
    }
    assert found["aqmlab/kernel/guest"] == (0, 0)  # linked statically
    assert (2, 2) < found["aqmlab/_core.abi3.so"] <= (2, 28)


def test_wheel_and_source_archive_have_every_file_of_the_package() -> None:
    """Also those that are no Python: the studio's page, lessons, scenarios, published values, templates."""
    package = ROOT / "python"
    compiled = {".so", ".pyc"}
    files = {
        path.relative_to(package).as_posix()
        for path in (package / "aqmlab").rglob("*")
        if path.is_file() and path.suffix not in compiled
    }
    some = {
        "aqmlab/studio/static/index.html",
        "aqmlab/studio/static/studio.js",
        "aqmlab/studio/static/studio.css",
        "aqmlab/studio/lessons/01-bufferbloat.toml",
        "aqmlab/studio/lessons/01-bufferbloat.md",
        "aqmlab/scenarios/li2014/table-1.toml",
        "aqmlab/study/papers/li2014.csv",
        "aqmlab/bundle/references.toml",
        "aqmlab/py.typed",
    }
    assert some <= files
    wheel = zipfile.ZipFile(WHEELS[-1]).namelist()
    assert files - {*wheel} == set()
    licences = PROJECT["license-files"]
    assert [name for name in licences if not any(each.endswith(f"/{name}") for each in wheel)] == []
    with tarfile.open(SOURCES[-1]) as archive:
        source = {name.partition("/")[2] for name in archive.getnames()}
    files.discard("aqmlab/kernel/guest")  # built, as an extension is: whoever builds from source builds it
    assert {f"python/{name}" for name in files} | {*licences} <= source


def test_the_base_has_what_run_compare_and_plot_need(base: Place, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(EXPERIMENT)
    for line in (
        "aqmlab --version",
        "aqmlab run li2014/table-1 --aqm pi --out ran",
        "aqmlab compare li2014/table-1 --aqms pi,red --seeds 2",
        "aqmlab sweep e.toml --out swept",
        "aqmlab plot swept box --out box.pdf",
    ):
        done = base.run(*shlex.split(line), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "box.pdf").stat().st_size > 1000


def test_the_base_says_what_a_report_needs(base: Place, tmp_path: Path) -> None:
    done = base.run("aqmlab", "compare", "li2014/table-1", "--aqms", "pi", "--out", "report", cwd=tmp_path)
    assert done.returncode == 1
    assert "-m pip install 'control>=" in done.stderr


def test_the_tour_works(whole: Place, tmp_path: Path) -> None:
    show(tmp_path)
    lines = [line for block in blocks(TOUR, "console") for line in block.splitlines()]
    # No program but those of the wheel is found, so nothing is live.
    commands = [line for line in lines if line.startswith("$ ") and " live " not in line]
    for line in commands:
        done = whole.run(*shlex.split(line.removeprefix("$ ")), cwd=tmp_path)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert (tmp_path / "report" / "report.html").exists()
    for block in blocks(TOUR, "python"):
        done = whole.run("python", "-c", block, cwd=tmp_path)
        assert done.returncode == 0, f"{block}\n{done.stderr}"
