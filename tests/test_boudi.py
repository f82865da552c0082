"""The numbers of flows in the scenarios of Boudi & Loudini are those the search finds."""

import sys
from pathlib import Path

import pytest

import aqmlab
from aqmlab.study.congestion import find_flows

VALIDATION = Path(__file__).parent.parent / "validation"
sys.path.insert(0, str(VALIDATION))

import boudi  # noqa: E402


@pytest.mark.parametrize(("law", "level"), [("", "light"), ("", "high"), ("lognormal-", "medium")])
def test_the_search_finds_the_number_in_the_file(law: str, level: str) -> None:
    count = boudi.search(law, level, 10)
    text = (boudi.FOLDER / f"{law}{level}-10.toml").read_text(encoding="utf-8")
    assert text == boudi.scenario(law, level, 10, count)


def test_the_number_of_flows_loses_what_its_level_says_and_half_of_it_less() -> None:
    short = {"duration": "200 s", "warmup": "100 s"}
    found = aqmlab.run("boudi/medium-10", "droptail", set=short)
    count = found.flows["ftp"].count
    fewer = aqmlab.run("boudi/medium-10", "droptail", set={**short, "flows.ftp.count": str(count // 2)})
    assert found.links["bottleneck"].drop_ratio == pytest.approx(0.005, rel=0.2)
    assert fewer.links["bottleneck"].drop_ratio < 0.004


def test_the_search_is_exact_for_small_numbers(tmp_path: Path) -> None:
    """One flow alone never overflows twice its bandwidth-delay product once it is out of slow start."""
    file = tmp_path / "scenario.toml"
    file.write_text(boudi.scenario("", "light", 10, 1), encoding="utf-8")
    few = find_flows(file, 0.0001)
    assert 1 <= few < find_flows(file, 0.01)
