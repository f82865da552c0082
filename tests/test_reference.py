"""Stored results of other simulators (docs/validation.md).

The stock schemes in profile ns2 against ns-2.35; CoDel, PIE, COBALT, FQ-CoDel and RED in profile rfc against ns-3.37;
queueing disciplines and senders in profile linux against Linux 6.1 (docs/validation-linux.md).
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

VALIDATION = Path(__file__).parent.parent / "validation"
sys.path.insert(0, str(VALIDATION))

import balance  # noqa: E402
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
def test_at_least_nine_rows_in_ten_agree(checked: list[ns2.Checked]) -> None:
    agreeing = sum(all(row.agrees) for row in checked)
    assert len(checked) >= 130
    assert agreeing >= 0.9 * len(checked)


@pytest.mark.nightly
@pytest.mark.parametrize("scheme", ["DropTail", "RED", "PI", "REM"])
def test_every_row_of_a_scheme_with_one_state_agrees(checked: list[ns2.Checked], scheme: str) -> None:
    off = [
        (ns2.setting(row.row), row.theirs, row.ours)
        for row in checked
        if row.row["scheme"] == scheme and not all(row.agrees)
    ]
    assert off == []


@pytest.mark.nightly
def test_changing_a_tcp_constant_moves_our_loss_as_it_moves_that_of_ns2(checked: list[ns2.Checked]) -> None:
    moved = {row.row["scenario"].get("tcp_overrides"): row for row in checked}
    for override in ["minrto_,1.0", "tcpTick_,0.1", "singledup_,0", "windowInit_,1", "packetSize_,960"]:
        assert moved[override].ours[0] == pytest.approx(moved[override].theirs[0], abs=0.5), override


@pytest.mark.nightly
def test_other_traffic_and_topologies_agree_but_for_web_sessions_on_a_full_link_and_the_rate_that_rem_knows(
    other: list[traffic.TrafficRow],
) -> None:
    assert len(other) >= 43
    differing = {(row.row["setting"], row.row["aqm"]) for row in other if not row.agrees}
    web = {("WebTraf, 400 sessions, 15 Mbit/s", aqm) for aqm in ("pi", "droptail")}
    # ns-2's REM keeps the first rate of the link.
    rates = {(f"45 Mbit/s for 50 s, then {rate}: after", "rem") for rate in (15, 115)}
    assert differing <= web | rates


@pytest.mark.nightly
def test_the_page_tells_these_numbers(
    checked: list[ns2.Checked], other: list[traffic.TrafficRow], against_ns3: list[ns3.Ns3Row]
) -> None:
    assert ns2.PAGE.read_text(encoding="utf-8") == ns2.page(checked, ns2.settings_of_rows()[1], other, against_ns3)


@pytest.mark.parametrize("ecn", [False, True], ids=["dropping", "marking"])
@pytest.mark.parametrize("aqm", ns3.SCHEMES)
def test_signals_and_mean_queue_lie_within_a_tenth_of_those_of_ns3(
    against_ns3: list[ns3.Ns3Row], aqm: str, ecn: bool
) -> None:
    (row,) = [row for row in against_ns3 if row.law == "newreno" and (row.row["aqm"], row.row["ecn"]) == (aqm, ecn)]
    assert row.row["seeds"] == len(row.row["runs"]) >= 3
    assert row.differences == (pytest.approx(0, abs=0.1), pytest.approx(0, abs=0.1))


@pytest.mark.parametrize("law", ["cubic", "dctcp"])
def test_other_laws_agree_with_ns3_or_the_page_says_why_not(against_ns3: list[ns3.Ns3Row], law: str) -> None:
    rows = {row.row["aqm"]: row for row in against_ns3 if row.law == law}
    assert len(rows) == 5
    differing = {aqm for aqm, row in rows.items() if not row.agrees}
    assert differing <= {aqm for of, aqm in ns3.EXCEPTIONS if of == law}
    for aqm in differing - {"pie"}:
        assert rows[aqm].differences == (pytest.approx(0, abs=0.15), pytest.approx(0, abs=0.15)), aqm


def test_no_queue_but_that_of_droptail_is_near_its_buffer(against_ns3: list[ns3.Ns3Row]) -> None:
    # A mean of 100 of 1000 packets: the scheme holds the queue, not the buffer.
    assert [row for row in against_ns3 if row.row["aqm"] != "droptail" and row.theirs[1].mean > 100] == []


@pytest.fixture(scope="module")
def against_linux() -> tuple[list[linux.Checked], Mapping[str, int]]:
    return linux.checked_cases()


def test_nine_cells_in_ten_agree_with_linux(against_linux: tuple[list[linux.Checked], Mapping[str, int]]) -> None:
    checked, left_out = against_linux
    cells = [cell for each in checked for cell in each.cells]
    assert (len(cells) >= 400, left_out) == (True, {})
    assert sum(cell.agrees for cell in cells) >= 0.9 * len(cells)


@pytest.mark.parametrize("kind", ["pfifo", "codel", "pie", "fq_codel", "red", "choke", "sfb", "cake"])
def test_every_discipline_has_the_mean_queue_of_linux(
    against_linux: tuple[list[linux.Checked], Mapping[str, int]], kind: str
) -> None:
    means = [each.cells[1] for each in linux.by_kind(against_linux[0])[kind]]
    assert {cell.name for cell in means} == {"queue_mean"}
    assert sum(cell.agrees for cell in means) >= 0.6 * len(means)


def test_the_page_about_linux_tells_these_numbers(
    against_linux: tuple[list[linux.Checked], Mapping[str, int]],
) -> None:
    assert linux.PAGE.read_text(encoding="utf-8") == linux.page(*against_linux)
    cells = [cell for each in against_linux[0] for cell in each.cells]
    agree = sum(cell.agrees for cell in cells)
    readme = (VALIDATION.parent / "README.md").read_text(encoding="utf-8")
    assert f"{agree} of {len(cells)} measures of Linux 6.1" in " ".join(readme.split())


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
    assert [each for each in balance.balance() if not each.agrees] == []
    text = balance.PAGE.read_text(encoding="utf-8")
    assert balance.filled(text) == text


@pytest.mark.parametrize("setting", [each for each in shares.settings() if each.flows == 1 and each.buffer in (1, 4)])
def test_bbr3_shares_with_cubic_as_googles_does(setting: shares.Setting) -> None:
    assert setting.agrees(setting.shares((1, 2)))


@pytest.mark.nightly
def test_the_page_about_bbr_tells_of_measured_shares() -> None:
    text = shares.PAGE.read_text(encoding="utf-8")
    assert shares.filled(text) == text
    assert text.count("| no |") <= len(shares.settings()) // 8
