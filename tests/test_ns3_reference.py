"""CoDel, PIE, COBALT, FQ-CoDel and RED under the profile rfc against stored results of ns-3.37 (docs/validation.md)."""

import sys
from pathlib import Path

import pytest

VALIDATION = Path(__file__).parent.parent / "validation"
sys.path.insert(0, str(VALIDATION))

import ns3  # noqa: E402


@pytest.fixture(scope="module")
def checked() -> list[ns3.Ns3Row]:
    return ns3.check_ns3()


@pytest.mark.parametrize("ecn", [False, True], ids=["dropping", "marking"])
@pytest.mark.parametrize("aqm", ns3.SCHEMES)
def test_signals_and_mean_queue_lie_within_a_tenth_of_those_of_ns3(
    checked: list[ns3.Ns3Row], aqm: str, ecn: bool
) -> None:
    (row,) = [row for row in checked if row.same_tcp and (row.row["aqm"], row.row["ecn"]) == (aqm, ecn)]
    assert row.row["seeds"] == len(row.row["runs"]) >= 3
    assert row.differences == (pytest.approx(0, abs=0.1), pytest.approx(0, abs=0.1))


def test_no_queue_but_that_of_droptail_is_near_its_buffer(checked: list[ns3.Ns3Row]) -> None:
    # A mean of 100 of 1000 packets: the scheme holds the queue, not the buffer.
    assert [row for row in checked if row.row["aqm"] != "droptail" and row.theirs[1].mean > 100] == []
