"""Twelve short lessons: a scenario, a text, three experiments with their results, and a question.

`NAME.toml` is the scenario of a lesson. `NAME.md` contains the rest: data between two lines of `+++` in TOML, then
Markdown with a section "Try" for each of the data's `tries`, "Question" and "Answer". tests/test_lessons.py plays every
try.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from markdown_it import MarkdownIt

from aqmlab._core import Scenario
from aqmlab.entries import loads
from aqmlab.names import unknown
from aqmlab.quantities import quantity

FORBIDDEN = ["html_block", "html_inline", "link", "image", "autolink", "reference"]
"""HTML that Markdown may not bring into the page."""


@dataclass(frozen=True)
class Step:
    """A change at a time (s), of the scheme number `lane` or of all."""

    at: float
    path: str
    value: str
    lane: int | None


@dataclass(frozen=True)
class Expected:
    """The expected mean of a curve between two times (s), and how far off it may be.

    `of` says what of the curve: "mean", "min", "max", "sd" (standard deviation) or "zero" (share of the samples).
    """

    lane: int
    curve: str
    start: float
    end: float
    of: str
    about: str
    within: float

    @property
    def value(self) -> float:
        """The value that is seen, in base units."""
        return quantity(self.about)


@dataclass(frozen=True)
class Try:
    """Something to do under some schemes, and what comes of it; `text` is Markdown."""

    title: str
    text: str
    aqms: tuple[str, ...]
    steps: tuple[Step, ...]
    until: float
    expected: tuple[Expected, ...]


@dataclass(frozen=True)
class Overlay:
    """A horizontal line drawn with a curve."""

    curve: str
    value: str
    label: str


@dataclass(frozen=True)
class Lesson:
    """A lesson; `text`, `question` and `answer` are Markdown, `scenario` is TOML.

    Curves are "links.LINK.COLUMN" and "flows.GROUP.COLUMN". `speed` is the clock's, in simulated seconds per second.
    The picture in the documentation is of the try `pictured`.
    """

    id: str
    title: str
    summary: str
    text: str
    scenario: str
    aqms: tuple[str, ...]
    speed: float
    watch: tuple[str, ...]
    overlays: tuple[Overlay, ...]
    tries: tuple[Try, ...]
    pictured: Try
    question: str
    answer: str

    def load(self) -> Scenario:
        """Return the scenario, as `aqmlab.Simulation` and `aqmlab.run` take it."""
        return Scenario.parse(self.scenario, self.id)

    def document(self) -> dict[str, Any]:
        """Return all that a page shows; texts are safe HTML, numbers in base units."""
        return {
            "id": self.id,
            "title": self.title,
            "summary": self.summary,
            "html": html(self.text),
            "open": self.opening(self.aqms),
            "speed": self.speed,
            "watch": list(self.watch),
            "overlays": [
                {"curve": line.curve, "value": quantity(line.value), "label": line.label} for line in self.overlays
            ],
            "tries": [self._document(each) for each in self.tries],
            "question": html(self.question),
            "answer": html(self.answer),
        }

    def opening(self, aqms: tuple[str, ...]) -> dict[str, Any]:
        """Return the message that opens the scenario under some schemes."""
        return {"type": "open", "name": self.id, "text": self.scenario, "aqms": list(aqms), "seed": 1}

    def _document(self, each: Try) -> dict[str, Any]:
        steps = [vars(step) for step in each.steps]
        expected = [
            {
                "lane": seen.lane,
                "curve": seen.curve,
                "from": seen.start,
                "to": seen.end,
                "of": seen.of,
                "about": seen.about,
                "value": seen.value,
            }
            for seen in each.expected
        ]
        opening = self.opening(each.aqms)
        described = {"title": each.title, "html": html(each.text), "open": opening}
        return described | {"steps": steps, "until": each.until, "expect": expected}


def html(markdown: str) -> str:
    """Return Markdown as HTML that is safe for any author: without tags in the text, links and pictures."""
    return str(MarkdownIt("commonmark").enable("table").disable(FORBIDDEN).render(markdown))


@cache
def lessons() -> tuple[Lesson, ...]:
    """Return all lessons, in the order of a course."""
    folder = files(__name__)
    names = sorted(item.name.removesuffix(".md") for item in folder.iterdir() if item.name.endswith(".md"))
    return tuple(
        read(
            name,
            folder.joinpath(f"{name}.md").read_text(encoding="utf-8"),
            folder.joinpath(f"{name}.toml").read_text(encoding="utf-8"),
        )
        for name in names
    )


def lesson(name: str) -> Lesson:
    """Return a lesson; InputError for an unknown one."""
    found = {each.id: each for each in lessons()}
    if name not in found:
        raise unknown("lesson", "no lesson", name, found)
    return found[name]


def read(name: str, text: str, scenario: str) -> Lesson:
    """Return the lesson that a text and a scenario make."""
    _, front, body = text.split("+++\n", 2)
    data = loads(front)
    introduction, *sections = re.split(r"^## (Try|Question|Answer)\n", body, flags=re.MULTILINE)
    parts = list(zip(sections[::2], sections[1::2], strict=True))
    aqms = tuple(data["aqms"])
    texts = [part.strip() for heading, part in parts if heading == "Try"]
    [question] = [part.strip() for heading, part in parts if heading == "Question"]
    [answer] = [part.strip() for heading, part in parts if heading == "Answer"]
    tries = tuple(_try(each, text, aqms) for each, text in zip(data["tries"], texts, strict=True))
    return Lesson(
        name,
        data["title"],
        data["summary"],
        introduction.strip(),
        scenario,
        aqms,
        data["speed"],
        tuple(data["watch"]),
        tuple(Overlay(**line) for line in data.get("overlays", [])),
        tries,
        tries[data.get("pictured", 1) - 1],
        question,
        answer,
    )


def _try(data: Mapping[str, Any], text: str, aqms: tuple[str, ...]) -> Try:
    steps = [Step(quantity(step["at"]), step["path"], step["value"], step.get("lane")) for step in data["steps"]]
    return Try(
        data["title"],
        text,
        tuple(data.get("aqms", aqms)),
        tuple(steps),
        quantity(data["until"]),
        tuple(_expected(each) for each in data["expect"]),
    )


def _expected(data: Mapping[str, Any]) -> Expected:
    return Expected(
        data.get("lane", 0),
        data["curve"],
        quantity(data["from"]),
        quantity(data["to"]),
        data.get("of", "mean"),
        data["about"],
        data.get("within", 0.15),
    )
