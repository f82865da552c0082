"""The same scenario and seed give the same bytes: twice, on any number of threads, from either door."""

import json
import re
import subprocess
from pathlib import Path

import pytest

import aqmlab as lab
from conftest import Aqmlab

ROOT = Path(__file__).parent.parent


def without_wall(text: str) -> str:
    return re.sub(r'"wall": ?[0-9.e+-]+', '"wall": 0', text)


@pytest.mark.parametrize("aqm", ["pi", "ared", "an-aqm"])
def test_command_line_twice_and_python(aqmlab: Aqmlab, small: str, aqm: str) -> None:
    first, second = (aqmlab("run", small, "--aqm", aqm, "--seed", 5, "--json").stdout for _ in range(2))
    assert without_wall(first) == without_wall(second)
    assert without_wall(first).strip() == without_wall(lab.run(small, aqm, seed=5).json())


def test_the_same_bytes_from_rust(aqmlab: Aqmlab) -> None:
    """Also at another level of optimisation, with overflow checks: the example is that of `cargo test`."""
    file = Path(lab.__file__).parent / "scenarios" / "li2014" / "table-1.toml"
    example = ["cargo", "run", "--quiet", "--locked", "--profile", "test", "--example", "run", "--"]
    rust = subprocess.run(
        [*example, file, "li2014/table-1", "pi", "3"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    command_line = aqmlab("run", "li2014/table-1", "--aqm", "pi", "--seed", 3, "--json").stdout
    assert without_wall(rust) == without_wall(command_line)


def test_seeds_differ(small: str) -> None:
    assert lab.run(small, "pi", seed=1).links != lab.run(small, "pi", seed=2).links


def test_any_number_of_threads(aqmlab: Aqmlab, small: str) -> None:
    one, two = (
        aqmlab("compare", small, "--aqms", "pi,rem,ared", "--seeds", 3, "--jobs", jobs, "--json").stdout
        for jobs in (1, 2)
    )
    assert json.loads(one)["runs"]
    assert without_wall(one) == without_wall(two)


def test_recording_series_changes_no_result(small: str) -> None:
    assert lab.run(small, "pi", series=True).links == lab.run(small, "pi").links


def test_figures_and_series_are_the_same_bytes(aqmlab: Aqmlab, small: str, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        assert aqmlab("run", small, "--aqm", "pi", "--out", folder).returncode == 0
    for name in ("queue.svg", "queue.png", "p.svg", "series.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
