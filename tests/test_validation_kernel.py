"""Linux in virtual time: how the settings become scenarios, the rule by which a cell agrees, and the stored rows."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "validation"))

import exceptions
import kernel
from kernel import Cell, check, differing
from kernel_cases import Case, cases, lines

SOME = 8
"""Every so many cases are held to their rows by day."""


def test_the_list_has_every_case_once() -> None:
    found = cases()
    assert len(found) == len({case.id for case in found}) == 271
    assert {row["id"] for row in lines(kernel.ROWS)} <= {case.id for case in found}


def test_a_case_is_a_scenario() -> None:
    blast = {"law": "udp", "count": 1, "rate_mbit": 30}
    case = Case("x", "fq_codel", 20, 40, 30, 10, ({"law": "cubic", "count": 4, "ecn": True}, blast))
    text = case.toml()
    assert 'duration = "40 s"' in text
    assert 'rate = "30.856 Mbit/s"' in text  # 30 Mbit/s of 1472 B, 1514 B on the link
    scenario = case.scenario
    assert scenario.link("bottleneck").buffer == 10240  # what Linux holds unless told otherwise
    assert [scenario.group(name).ecn for name in ("g1", "g2")] == [True, False]
    assert (case.scheme, case.laws) == ("fq-codel", ("cubic", "udp"))


def test_a_web_client_has_sizes_in_segments() -> None:
    web = {"law": "cubic", "count": 8, "bytes": [20000, 200000], "think": 1.0}
    text = Case("x", "pfifo limit 66", 20, 40, 30, 10, (web,)).toml()
    assert 'size = { uniform = ["14 packets", "139 packets"] }' in text  # of 1448 B


@pytest.mark.parametrize(
    ("theirs", "ours", "agrees"),
    [
        # Ten packets of queue: 1 packet is allowed at least, 2 at most.
        ((9.9, 10.0, 10.1), 10.9, True),
        ((9.9, 10.0, 10.1), 11.1, False),
        # Runs 0.5 apart: three deviations are 1.5.
        ((9.5, 10.0, 10.5), 11.4, True),
        ((9.5, 10.0, 10.5), 11.6, False),
        # However far they lie apart.
        ((5.0, 10.0, 15.0), 11.9, True),
        ((5.0, 10.0, 15.0), 12.1, False),
    ],
)
def test_a_cell_agrees(theirs: tuple[float, ...], ours: float, agrees: bool) -> None:
    assert Cell("queue_mean", theirs, (ours,)).agrees is agrees


def test_the_tolerance_grows_with_the_value() -> None:
    assert Cell("queue_mean", (100.0, 100.0), (0,)).tolerance == pytest.approx(5)  # 5 %, half of what is allowed
    assert Cell("rate of 2", (8.0, 8.0), (0,)).tolerance == pytest.approx(1)


def held(wanted: list[Case]) -> None:
    names = {case.id for case in wanted}
    faults = [each for each in exceptions.faults("kernel", differing(check(wanted))) if each.split(":")[0] in names]
    assert not faults


def test_some_cases_agree_with_their_rows() -> None:
    held([case for case in cases()[::SOME] if case.rate_mbit <= 20])


@pytest.mark.nightly
def test_all_cases_agree_with_their_rows() -> None:
    held(cases())
