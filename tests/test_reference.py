"""Stored results of other simulators (docs/validation.md, docs/validation-ns3.md).

The stock schemes in profile ns2 against ns-2.35; CoDel, PIE, COBALT, FQ-CoDel and RED in profile rfc against ns-3.37;
queueing disciplines and senders in profile linux against Linux 6.1 (docs/validation-linux.md). What differs is what
`validation/exceptions.toml` lists, neither more nor less.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

VALIDATION = Path(__file__).parent.parent / "validation"
sys.path.insert(0, str(VALIDATION))

import balance  # noqa: E402
import exceptions  # noqa: E402
import linux  # noqa: E402
import models  # noqa: E402
import ns2  # noqa: E402
import ns3  # noqa: E402
import response  # noqa: E402
import shares  # noqa: E402
import traffic  # noqa: E402


@pytest.fixture(scope="module")
def checked() -> list[ns2.Checked]:
    return ns2.check(ns2.settings_of_rows()[0])


@pytest.fixture(scope="module")
def other() -> list[traffic.TrafficRow]:
    return traffic.check_traffic(ns2.SEEDS)


@pytest.fixture(scope="module")
def against_ns3() -> list[ns3.Ns3Row]:
    return ns3.check_ns3()


@pytest.mark.nightly
def test_ns2_differs_where_it_is_accepted_and_nowhere_else(checked: list[ns2.Checked]) -> None:
    assert len(checked) >= 130
    assert exceptions.faults("ns2", ns2.differing(checked)) == []


@pytest.mark.nightly
def test_changing_a_tcp_constant_moves_our_loss_as_it_moves_that_of_ns2(checked: list[ns2.Checked]) -> None:
    moved = {row.row["scenario"].get("tcp_overrides"): row for row in checked}
    for override in ["minrto_,1.0", "tcpTick_,0.1", "singledup_,0", "windowInit_,1", "packetSize_,960"]:
        assert moved[override].ours[0] == pytest.approx(moved[override].theirs[0], abs=0.5), override


@pytest.mark.nightly
def test_other_traffic_and_topologies_differ_from_ns2_where_it_is_accepted_and_nowhere_else(
    other: list[traffic.TrafficRow],
) -> None:
    assert len(other) >= 43
    assert exceptions.faults("traffic", traffic.differing(other)) == []


@pytest.mark.nightly
def test_the_pages_contain_these_numbers(
    checked: list[ns2.Checked], other: list[traffic.TrafficRow], against_ns3: list[ns3.Ns3Row]
) -> None:
    assert ns2.PAGE.read_text(encoding="utf-8") == ns2.page(checked, ns2.settings_of_rows()[1], other)
    assert ns3.PAGE.read_text(encoding="utf-8") == ns3.page(against_ns3)


@pytest.mark.nightly
def test_ns3_differs_where_it_is_accepted_and_nowhere_else(against_ns3: list[ns3.Ns3Row]) -> None:
    assert [(each.row["aqm"], each.row["ecn"], each.law) for each in against_ns3] == [
        (each["aqm"], each["ecn"], each["law"]) for each in ns3.settings()
    ]
    assert [row.name for row in against_ns3 if not row.row["seeds"] == len(row.row["runs"]) >= 3] == []
    assert exceptions.faults("ns3", ns3.differing(against_ns3)) == []


@pytest.mark.nightly
def test_no_queue_but_that_of_droptail_is_near_its_buffer(against_ns3: list[ns3.Ns3Row]) -> None:
    # A mean of 100 of 1000 packets: the scheme holds the queue, not the buffer.
    assert [row for row in against_ns3 if row.row["aqm"] != "droptail" and row.theirs[1].mean > 100] == []


@pytest.fixture(scope="module")
def against_linux() -> tuple[list[linux.Checked], Mapping[str, int]]:
    return linux.checked_cases()


@pytest.mark.nightly
def test_linux_differs_where_it_is_accepted_and_nowhere_else(
    against_linux: tuple[list[linux.Checked], Mapping[str, int]],
) -> None:
    checked, left_out = against_linux
    assert (linux.counts(checked)[1] >= 400, left_out) == (True, {})
    assert exceptions.faults("linux", linux.differing(checked)) == []


def test_an_exception_that_does_not_differ_is_a_fault_as_is_a_difference_that_is_no_exception() -> None:
    listed = {row: cells for each in exceptions.accepted("linux") for row, cells in each.cells.items()}
    (row, cells), *others = listed.items()
    assert exceptions.faults("linux", listed) == []
    assert exceptions.faults("linux", dict(others)) == [
        f"{row}: {cell} is in exceptions.toml and does not differ" for cell in sorted(cells)
    ]
    assert exceptions.faults("linux", {**listed, "2-30-codel-cubic-1": ["queue_mean"]}) == [
        "2-30-codel-cubic-1: queue_mean differs and is not in exceptions.toml"
    ]


@pytest.mark.nightly
def test_the_page_about_linux_tells_these_numbers(
    against_linux: tuple[list[linux.Checked], Mapping[str, int]],
) -> None:
    assert linux.PAGE.read_text(encoding="utf-8") == linux.page(*against_linux)
    cells = [cell for each in against_linux[0] for cell in each.cells]
    agree = sum(cell.agrees for cell in cells)
    readme = (VALIDATION.parent / "README.md").read_text(encoding="utf-8")
    assert f"| Linux 6.1, real time | {agree} of {len(cells)} cells agree" in readme


@pytest.mark.nightly
def test_windows_go_with_the_share_of_losses_and_marks_as_the_laws_say() -> None:
    rows = [(response.Setting(row["law"], row["p"], row["rtt"]), row["window"]) for row in response.rows()]
    assert {(each.law, each.p) for each, _ in rows} == {(each.law, each.p) for each in response.settings()}
    assert [(each, window) for each, window in rows if abs(window / response.counted(each) - 1) > 0.1] == []
    short = [(each, window) for each, window in rows if each.segments <= response.SHORT]
    assert len(short) >= 15
    assert response.measure([each for each, _ in short]) == pytest.approx([window for _, window in short], rel=0.1)


def test_cubic_takes_k_to_its_plateau_and_bbr_keeps_the_pipe_full_as_written() -> None:
    rows = models.all_rows()
    assert len(rows) >= 40
    assert [row for row in rows if not row.agrees] == []


@pytest.mark.nightly
def test_the_page_about_response_functions_tells_these_numbers() -> None:
    assert response.PAGE.read_text(encoding="utf-8") == response.page(response.rows())


@pytest.mark.parametrize("rtt", [0.02, 0.04])
def test_prague_and_cubic_share_a_dual_queue_as_their_response_functions_make_of_the_p_that_was_there(
    rtt: float,
) -> None:
    shares = balance.shares(1, rtt)
    assert shares.ratio == pytest.approx(shares.predicted, rel=0.2)
    assert 1.5 < shares.ratio < 2
    assert shares.by_one_p < 1.5 < shares.predicted  # it is the wandering that tips the scales


@pytest.mark.parametrize("rtt", [10, 20, 80])
def test_prague_and_cubic_share_a_dual_queue_as_in_a_real_kernel(rtt: int) -> None:
    theirs = balance.PUBLISHED[50, rtt]
    assert balance.kernel(50, rtt, (1,)) == pytest.approx(sum(theirs) / 2, rel=balance.TOLERANCE_KERNEL)


@pytest.mark.nightly
def test_the_page_about_l4s_tells_how_prague_and_cubic_share() -> None:
    assert {(each.flows, each.rtt) for each in balance.balance() if not each.agrees} == balance.APART
    text = balance.PAGE.read_text(encoding="utf-8")
    assert balance.filled(text) == text


@pytest.mark.parametrize("setting", [each for each in shares.settings() if each.flows == 1 and each.buffer in (1, 4)])
def test_bbr3_shares_with_cubic_as_googles_does(setting: shares.Setting) -> None:
    assert setting.agrees(setting.shares((1, 2)))


@pytest.mark.nightly
def test_bbr3_shares_as_googles_does_but_where_it_is_accepted_and_the_page_tells_it() -> None:
    checked = shares.check()
    assert exceptions.faults("bbr", shares.differing(checked)) == []
    text = shares.PAGE.read_text(encoding="utf-8")
    assert shares.filled(text, checked) == text
