"""The report of several papers: one page with its contents, and every file it names."""

import json
import re

import pytest

import aqmlab
from aqmlab.notebook import Item, Sheet
from aqmlab.present.html import page as pages
from aqmlab.present.html.page import Files
from aqmlab.present.html.setup import Setup
from aqmlab.present.parts import Part, Section
from aqmlab.present.reports import reproduction as report
from aqmlab.present.text import ranking_sentence, some
from aqmlab.runs.statistics import Ranking
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
    assert ("Not implemented: " in str(files["report.html"])) == bool(unbuilt)
    assert all(name in str(files["report.html"]) for name in unbuilt)


def test_every_cell_that_does_not_match_says_why(several: list[Reproduction]) -> None:
    cells = [cell for reproduction in several for cell in reproduction.cells]
    assert [cell for cell in cells if cell.verdict != "match" and not cell.why] == []


def test_an_svg_keeps_its_letters() -> None:
    """Only the lines lose digits: letters are placed by matrices and drawn in whole units."""
    from aqmlab.present.plots.files import _shorter

    assert _shorter(b"M 10.123456 20.987654 \nL 11.5 3.14159265") == b"M 10.12 20.98 \nL 11.5 3.14159265"
    assert _shorter(b'scale(0.00123 -0.00123)"') == b'scale(0.00123 -0.00123)"'


def test_texts_of_a_page_are_escaped() -> None:
    table = Sheet("", ["<i>", "<i>"], [["<i>", Item("<i>", "off", note=1, hint="<i>", small="<i>")]], about="<i>")
    setup = Setup(table, {"<i>": "<i>"}, text="<i>")
    section = Section("<i>", "<i>", table, (), ["<i>"], ["<i>"], setup=setup, findings=["<i>"])
    part = Part("name", "<i>", "<i>", [section], warnings=["<i>"])
    page = str(pages.report("<i>", "<i>", [part], {}, {"Command": "<i>"})["report.html"])
    assert "<i>" not in page
    assert page.count("&lt;i&gt;") == 27
    assert 'href="#note-name-1-1"' in page
    assert 'id="note-name-1-1"' in page


def test_a_list_of_names_says_how_many_more() -> None:
    assert [some(list("abcde"[:n])) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert some(list("abcde")) == "a, b, c and 2 more"


def test_ranks_in_a_sentence() -> None:
    ranks = {"c": 2.9, "a": 1.0, "b": 1.8}
    sure = ranking_sentence("Delay", Ranking(ranks, 10, 0.0001, 1.2), "10 scenarios", str.upper)
    assert sure.startswith("Delay: A ranks best, with mean rank 1.00 over 10 scenarios (Friedman p < 0.001); by ")
    assert sure.endswith("critical difference 1.20 it is not significantly better than B.")
    assert "better than all others" in ranking_sentence("Delay", Ranking(ranks, 10, 0.01, 0.5), "", str.upper)
    unsure = ranking_sentence("Delay", Ranking(ranks, 10, 0.4, 1.2), "10 scenarios", str.upper)
    assert unsure == "Delay: no significant difference between the schemes over 10 scenarios (Friedman p = 0.4)."
