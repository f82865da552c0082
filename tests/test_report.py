"""The report of several papers: one page with its contents, and every file it names."""

import json
import re

import pytest

import aqmlab
from aqmlab.present.html import reproduction as report
from aqmlab.present.html.page import Files
from aqmlab.study.reproduction import Reproduction, all_json


@pytest.fixture(scope="module")
def several() -> list[Reproduction]:
    return [
        aqmlab.reproduce("sun2007", tables=["1"], figures=["12"]),
        aqmlab.reproduce("xiong2010", tables=["4", "4.1-range"], figures=["6", "9", "11"]),
    ]


@pytest.fixture(scope="module")
def files(several: list[Reproduction]) -> Files:
    return report.files_of_all(several, "aqmlab reproduce --all")


def test_one_document_holds_all_studies(several: list[Reproduction]) -> None:
    document = json.loads(all_json(several))
    assert document["schema"] == 1
    assert [study["study"] for study in document["studies"]] == ["sun2007", "xiong2010"]
    for name, count in document["coverage"].items():
        assert count == sum(study["coverage"][name] for study in document["studies"])
    assert document["coverage"]["cells"] == 8 + 10 + 2


def test_the_page_leads_to_every_table_and_figure(files: Files) -> None:
    page = re.sub(r"<svg.*?</svg>", "", str(files["report.html"]), flags=re.DOTALL)
    targets = set(re.findall(r'href="#([^"]+)"', page))
    assert targets <= set(re.findall(r'id="([^"]+)"', page))
    assert {"sun2007", "xiong2010", "sun2007-1", "xiong2010-claims"} <= targets
    assert not re.search(r'(src|href)="(?!#)', page)


def test_figures_are_left_under_the_name_of_their_study(files: Files) -> None:
    assert {"report.html", "results.json", "sun2007-figure-12.svg", "xiong2010-figure-9.png"} <= set(files)


def test_what_is_not_built_is_said(files: Files, several: list[Reproduction]) -> None:
    unbuilt = several[1].unbuilt
    assert ("Not built yet: " in str(files["report.html"])) == bool(unbuilt)
    assert all(name in str(files["report.html"]) for name in unbuilt)


def test_every_cell_that_does_not_match_says_why(several: list[Reproduction]) -> None:
    cells = [cell for reproduction in several for cell in reproduction.cells]
    assert [cell for cell in cells if cell.verdict != "match" and not cell.why] == []


def test_an_svg_keeps_its_letters() -> None:
    """Only the lines lose digits: letters are placed by matrices and drawn in whole units."""
    from aqmlab.present.plots.files import _shorter

    assert _shorter(b"M 10.123456 20.987654 \nL 11.5 3.14159265") == b"M 10.12 20.98 \nL 11.5 3.14159265"
    assert _shorter(b'scale(0.00123 -0.00123)"') == b'scale(0.00123 -0.00123)"'
