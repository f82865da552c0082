"""The lessons of the studio: what they tell is what is seen, under any seed."""

import json
import re
from math import isclose, isnan
from pathlib import Path

import pytest

import aqmlab
from aqmlab.studio.lessons import Lesson, Try, html, lesson, lessons, read
from aqmlab.studio.lessons.play import play, seen

PAGES = Path(__file__).parent.parent / "docs" / "lessons"

TRIES = [pytest.param(each, try_, id=f"{each.id}: {try_.title}") for each in lessons() for try_ in each.tries]


@pytest.mark.parametrize("seed", [6])  # the texts were written with seeds 1 to 5
@pytest.mark.parametrize(("lesson", "each"), TRIES)
def test_a_try_shows_what_the_text_tells(lesson: Lesson, each: Try, seed: int) -> None:
    runs = {lane: play(lesson, each, lane, seed) for lane in {told.lane for told in each.expected}}
    for told in each.expected:
        measured = seen(told, runs[told.lane][told.curve])
        assert isclose(measured, told.value, rel_tol=told.within), f"{told}: {measured:.4g}"


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.id)
def test_what_is_to_be_watched_is_there(lesson: Lesson) -> None:
    curves = play(lesson, lesson.tries[0], 0)
    for name in [*lesson.watch, *(line.curve for line in lesson.overlays)]:
        assert not all(isnan(value) for _, value in curves[name]), name


@pytest.mark.parametrize(("lesson", "each"), TRIES)
def test_the_text_of_a_try_has_the_numbers_that_are_held(lesson: Lesson, each: Try) -> None:
    words = re.sub(r"(?<=\d),(?=\d{3})", "", " ".join(each.text.split()))
    assert [told.about for told in each.expected if not re.search(rf"\b{re.escape(told.about)}", words)] == []


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.id)
def test_a_page_folds_results_until_the_reader_has_predicted(lesson: Lesson) -> None:
    page = (PAGES / f"{lesson.id}.md").read_text(encoding="utf-8")
    folded = re.findall(r"<details[^>]*>\n<summary>Result</summary>\n(.*?)</details>", page, re.DOTALL)
    assert len(folded) == len(lesson.tries)
    for each, result in zip(lesson.tries, folded, strict=True):
        assert each.text in result
        assert page.count(each.text) == 1
    assert sum(result.count("](pictures/") for result in folded) == page.count("](pictures/") == 1


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.id)
def test_a_lesson_is_short_and_complete(lesson: Lesson) -> None:
    assert 150 <= len(lesson.text.split()) <= 300
    assert len(lesson.tries) == 3
    assert lesson.question.endswith("?")
    for each in lesson.tries:
        assert each.expected
        assert [step.at for step in each.steps] == sorted(step.at for step in each.steps)
        assert all(told.start < told.end <= each.until for told in each.expected)


def test_the_document_of_a_lesson_is_json_in_base_units() -> None:
    document = json.loads(json.dumps(lesson("01-bufferbloat").document(), allow_nan=False))
    assert document["open"]["aqms"] == ["droptail"]
    assert document["overlays"] == [{"curve": "flows.call.packet_delay", "value": 0.15, "label": "good for a call"}]
    first = document["tries"][0]
    assert first["steps"] == [{"at": 30.0, "path": "links.up.aqm", "value": "codel", "lane": None}]
    assert first["expect"][1]["value"] == 0.024
    assert document["tries"][2]["open"]["aqms"] == ["droptail", "codel"]
    assert document["answer"].startswith("<p>Each time")


def test_an_unknown_lesson_is_refused_with_the_nearest() -> None:
    with pytest.raises(aqmlab.InputError, match='did you mean "08-l4s"'):
        lesson("08-l4")


@pytest.mark.parametrize(
    "markdown",
    [
        "<script>alert(1)</script>",
        "a <img src=x onerror=alert(1)> b",
        "<div onclick=alert(1)>\n\nx\n\n</div>",
        "[x](javascript:alert(1))",
        "[x](https://example.org)",
        "![x](https://example.org/x.png)",
        "<https://example.org>",
        "[x]\n\n[x]: https://example.org",
        "```<script>\n<script>alert(1)</script>\n```",
        "`<b>`",
    ],
)
def test_texts_bring_no_tag_link_or_picture_of_their_own(markdown: str) -> None:
    tags = re.findall(r"<[^>]*>", html(markdown))
    assert all(re.fullmatch(r'</?(p|pre|code)( class="language-[^"<>]*")?>', tag) for tag in tags), tags


def test_markdown_becomes_what_it_says() -> None:
    assert html("a *b* `c`\n\n1 < 2") == "<p>a <em>b</em> <code>c</code></p>\n<p>1 &lt; 2</p>\n"
    assert "<td>1</td>" in html("| a |\n| --- |\n| 1 |")


def test_a_text_without_as_many_tries_as_its_data_is_refused() -> None:
    front = 'title = "t"\nsummary = "s"\naqms = ["pi"]\nspeed = 1\nwatch = []\ntries = []\n'
    with pytest.raises(ValueError, match="zip"):
        read("x", f"+++\n{front}+++\nText\n\n## Try\nx\n\n## Question\nq?\n\n## Answer\na\n", "")
