"""The test cases of draft-ietf-ccwg-bbr: which hold, how they are asked for, what is refused."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aqmlab.cli import app
from aqmlab.present.figures.draft import phases
from aqmlab.present.reports.draft import MARKS
from aqmlab.problems import InputError
from aqmlab.study.draft import CaseChange, CasePath, CaseRun, judge
from aqmlab.study.draft_cases import (
    BASE,
    CASES,
    GRID,
    NAME,
    SOURCE,
    TITLE,
    chosen,
    compare_draft,
    compare_grid,
)
from aqmlab.study.draft_phases import UP
from aqmlab.study.suite import load_suite

OF_THE_DRAFT = {6}
"""Fail by the draft's own pseudocode."""


def test_quick_cases_hold_and_the_one_that_the_draft_contradicts_fails() -> None:
    judged = compare_draft(only="1,2,3,6,17")
    assert {each.case.number: (each.verdict, each.whose) for each in judged} == {
        1: ("holds", ""),
        2: ("holds", ""),
        3: ("holds", ""),
        6: ("fails", "draft"),
        17: ("holds", ""),
    }
    drawn = phases(judged[0].records[-1])
    assert [panel.title for panel in drawn.panels] == ["Phase", "Segments", "Rates"]


def test_bbr_has_the_cases_that_its_first_version_shares() -> None:
    judged = compare_draft("bbr")
    found = {verdict: [each.case.number for each in judged if each.verdict == verdict] for verdict in MARKS}
    assert found == {
        "holds": [1, 3, 10, 11, 12, 13, 14, 20],
        "fails": [],
        "not applicable": [2, 4, 5, 6, 7, 8, 9, 15, 16, 17, 18, 19, 21, 22],
        "skipped": [],
    }
    assert judged[3].explanation == "BBR's drain has no bound in time"
    assert phases(judged[0].records[-1]).frames[0].names == ("startup", "drain", "probe_bw", "probe_rtt")


def test_the_report_shows_each_case_with_its_phases(tmp_path: Path) -> None:
    arguments = ["compare", "--study", "bbr-draft", "--only", "1,14", "--rate", "64 kbit/s", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "14 Correctly Managing Sub-Packet BDPs" in page
    assert "compare --study bbr-draft --rate &#39;64 kbit/s&#39; --only 1,14" in page
    assert {path.name for path in tmp_path.iterdir()} >= {"results.json", "case-01.svg", "case-14.svg"}


def test_the_study_is_listed_shown_and_cited() -> None:
    listed = CliRunner().invoke(app, ["list", "studies", "--json"])
    assert {"name": NAME, "title": TITLE, "source": SOURCE} in json.loads(listed.output)
    assert "Correctly Managing Sub-Packet BDPs" in CliRunner().invoke(app, ["show", NAME]).output
    assert "editor's copy" in CliRunner().invoke(app, ["cite", NAME]).output
    with pytest.raises(InputError, match='did you mean "bbr-draft"'):
        load_suite("bbr-drat")


@pytest.mark.nightly
def test_every_case_has_its_verdict() -> None:
    judged = compare_draft()
    assert [each.case.number for each in judged] == list(range(1, 23))
    assert {each.case.number for each in judged if each.verdict != "holds"} == OF_THE_DRAFT


def test_a_path_that_cannot_have_a_case_says_why() -> None:
    [judged] = compare_draft(only="21", rate="64 kbit/s", rtt="1 ms")
    assert judged.verdict == "not applicable"
    assert judged.explanation == "the path holds 0.0053 segments: a lost segment is more than 2 % of it"
    assert judge(CASES[13], BASE, "bbr3").reason == "the path holds 167 segments, not less than one"


def test_a_change_waits_for_a_phase_and_some_time() -> None:
    setup = CaseRun(9.0, changes=[CaseChange("links.line.rate", "1 Mbit/s", UP, 2.0, 0.5)])
    assert setup.values(BASE, "bbr3", [(1.0, UP), (3.0, UP)])["changes"][0]["at"] == "3.500000000000 s"
    [change] = setup.values(BASE, "bbr3")["changes"]
    assert change["when"]["after"] == "1000000.000000000000 s", "not before the phases are known"


def test_the_document_is_that_of_the_command() -> None:
    done = CliRunner().invoke(app, ["compare", "--study", "bbr-draft", "--only", "1,3", "--json"])
    assert done.exit_code == 0, done.output
    cases = json.loads(done.output)["cases"]
    assert [(case["case"], case["verdict"], case["rate"]) for case in cases] == [(1, "holds", 50e6), (3, "holds", 50e6)]
    assert cases[0]["phases"][0][0] == [0.0, "startup"]
    assert "schema = 1" in cases[0]["scenarios"][0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"only": "1,23"}, "only: 23: no case of bbr-draft; expected numbers from 1 to 22, as in 1,9,14"),
        ({"law": "cubic"}, "law: cubic: does not show the variables of bbr-draft; expected bbr3, bbr"),
        ({"rate": "1 bit/s"}, "rate: 1 bit/s: out of range; 1 kbit/s to 100 Gbit/s"),
        ({"rtt": "20 s"}, "rtt: 20 s: out of range; 10 us to 10 s"),
    ],
)
def test_bad_input_is_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as refused:
        compare_draft(**options)  # type: ignore[arg-type]
    assert str(refused.value) == said


def test_cases_are_chosen_by_number_and_a_cell_says_its_path() -> None:
    assert [case.number for case in chosen("9, 2")] == [9, 2]
    assert len(chosen(None)) == 22
    assert [str(place) for place in (CasePath(10e9, 1.0), CasePath(64e3, 0.0005))] == [
        "10 Gbit/s, 1000 ms",
        "64 kbit/s, 0.5 ms",
    ]


@pytest.mark.nightly
def test_the_grid_is_judged_and_what_does_not_hold_is_known() -> None:
    judged = compare_grid()
    assert len(judged) == len(GRID) * len(CASES)
    assert all(each.reason for each in judged if each.verdict in ("not applicable", "skipped"))
    assert all(not each.records for each in judged), "memory is bounded by the cases that run at the same time"
    failed = [each for each in judged if each.verdict == "fails" and each.case.number not in OF_THE_DRAFT]
    assert failed == []
