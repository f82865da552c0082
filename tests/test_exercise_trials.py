"""Each sheet tried on the studio's page as three students do, with nothing but the page."""

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from aqmlab.entries import loads
from aqmlab.exercise import Answers, ExerciseSheet, check, sheets
from browser import PAGE, Browser, on_the_page, served
from exercise_words import oddly, wrongly

LOG = Path(__file__).parents[1] / "docs" / "exercise-trials.md"
MARK = "<!-- trials -->\n"

pytestmark = on_the_page


class Student:
    """Somebody in front of the page, with the number 4711 and 90 minutes."""

    def __init__(self, browser: Browser, address: str, sheet: ExerciseSheet) -> None:
        self.browser, self.sheet = browser, sheet
        self.entries = {entry["id"]: entry for entry in loads(sheet.text)["tasks"]}
        browser.open("about:blank", 1280)
        browser.open(f"{address}/studio/#lesson={sheet.id}", 1280)
        self.until("document.querySelector('.exercises')")
        self.write("[aria-label=Speed]", "", "change")
        browser.run("document.querySelector('.exercises').open = true")
        self.write(".exercises form input", "4711")
        self.write(".exercises form select", "90")
        browser.run("document.querySelector('.exercises form').requestSubmit()")
        self.until(f"document.querySelectorAll('.tasks > li').length === {len(sheet.of(90))}")

    def until(self, condition: str) -> None:
        end = time.monotonic() + 60
        while not self.browser.run(f"return Boolean({condition})"):
            assert time.monotonic() < end, f"{self.sheet.id}: still not {condition}"
            time.sleep(0.02)

    def write(self, field: str, text: str, event: str = "input") -> None:
        found = f"document.querySelector({json.dumps(field)})"
        self.browser.run(
            f"const it = {found}; it.value = {json.dumps(text)}; it.dispatchEvent(new Event({json.dumps(event)}))"
        )

    def measure(self, at: int) -> str:
        """Do what the task at this place asks for, and return the number that the page shows, with its unit."""
        entry = [*self.entries.values()][at]
        steps, (start, end) = entry.get("steps", []), entry["between"]
        item = f"document.querySelectorAll('.tasks > li')[{at}]"
        for stop in [*(step["at"] for step in steps), end]:
            self.browser.run(f"{item}.querySelector('button').click()")
            self.until(f"{item}.textContent.includes('Paused at {stop} s')")
            for step in steps:
                if step["at"] == stop:
                    self.change(step["path"], self.filled(step["value"]))
        self.browser.run("document.querySelector('.quantity .data').open = true")
        for label, value in (("Mean from, s", start), ("Mean to, s", end)):
            self.write(f".quantity [aria-label='{label}']", str(value))
        place, column = entry["curve"].split(".")[1:]
        column = {"drops": "dropped", "marks": "marked"}.get(column, column)
        lines = self.browser.run(
            "return [...document.querySelectorAll('.means output')[0].children].map((e) => e.innerText)"
        )
        [line] = [each for each in lines if len(lines) == 1 or f": {place}: " in each or f": {column}: " in each]
        return _shown(line, entry.get("measure", "mean"))

    def filled(self, value: str) -> str:
        values = self.sheet.ask("show", "4711", 15)["values"]
        return re.sub(r"\{([\w.]+)\}", lambda found: values[found[1]], value)

    def change(self, path: str, value: str) -> None:
        made = "document.querySelector('.made:not(.exercises .made)').textContent"
        self.write("[aria-label=Path]", path)
        self.write("[aria-label=Value]", value)
        self.browser.run("document.querySelector('[aria-label=Value]').form.requestSubmit()")
        self.until(f"{made}.includes({json.dumps(f'{path} = {value}')})")

    def right(self) -> dict[str, str]:
        """Return what a student answers who has done everything."""
        found: dict[str, str] = {}
        for at, task in enumerate(self.sheet.tasks):
            if task.kind == "predict":
                found[task.id] = f"1 {self.sheet.task(task.of).unit}".strip()
            elif task.kind == "explain":
                found[task.id] = self.entries[task.id]["solution"].strip()
            elif task.kind == "compare":
                first, second = (float(found[of].replace(",", "").split()[0]) for of in self.entries[task.id]["over"])
                found[task.id] = f"{first / second:.2f}"
            else:
                found[task.id] = self.measure(at)
        return found

    def check(self, given: Mapping[str, str]) -> dict[str, tuple[bool, str]]:
        """Return what the page says of each answer."""
        for task, text in given.items():
            self.write(f'[aria-describedby="told-{task}"]', text)
        self.browser.run("document.querySelectorAll('.tasks > li').forEach((each) => (each.className = ''))")
        self.browser.run(
            "[...document.querySelectorAll('.exercises button')].find((e) => e.textContent.startsWith('Check')).click()"
        )
        self.until(f"document.querySelectorAll('.tasks > li[class]:not([class=\"\"])').length === {len(given)}")
        shown: list[Any] = self.browser.run(
            "return [...document.querySelectorAll('.tasks > li')].map((each) =>"
            " [each.className === 'taken', each.querySelector('.told').textContent])"
        )
        return {task.id: (taken, told) for task, (taken, told) in zip(self.sheet.tasks, shown, strict=True)}


def _shown(line: str, measure: str) -> str:
    """Return what a line below a curve says of a measure: "CoDel: mean 24.1 ms (9.32 to 40, standard deviation 5)"."""
    patterns = {"mean": r"mean (\S+(?: [^\s(]+)?)", "sd": r"deviation ([\d.,]+)", "zero": r"0 for (\S+ %)"}
    found = re.search(patterns[measure], line)
    assert found, line
    return found[1]


@pytest.fixture(scope="module")
def place() -> Iterator[tuple[Browser, str]]:
    with served(PAGE.parent) as address, Browser() as browser:
        yield browser, address


def test_three_students_try_each_sheet_on_the_page_alone(place: tuple[Browser, str]) -> None:
    rows, stumbled = [], []
    for sheet in sheets():
        student = Student(*place, sheet)
        right = student.right()
        trials = {"right": right, "wrong": wrongly(sheet, right), "odd": oddly(sheet, right)}
        found = {name: student.check(given) for name, given in trials.items()}
        stumbled += [
            f"{sheet.id}, {name}, {task}: {trials[name][task]}: {told}"
            for name, verdicts in found.items()
            for task, (taken, told) in verdicts.items()
            if taken == (name == "wrong") or (not taken and len(told) < 15)
        ]
        natively = check(sheet, Answers(sheet.id, "4711", 90, trials["wrong"]))
        assert [told for _, told in found["wrong"].values()] == [f"Not yet: {each.told}" for each in natively]
        taken = {name: sum(taken for taken, _ in verdicts.values()) for name, verdicts in found.items()}
        refused = len(right) - taken["wrong"]
        rows.append(f"| {sheet.title} | {len(right)} | {taken['right']} | {taken['odd']} | {refused} |")
    assert place[0].console() == []
    if "AQMLAB_WRITE_TRIALS" in os.environ:
        head, _, rest = LOG.read_text(encoding="utf-8").partition(MARK)
        table = "| sheet | tasks | correct: accepted | in other words: accepted | wrong: rejected |\n"
        table += "| --- | --: | --: | --: | --: |\n"
        end = rest[rest.index("\n<!-- end -->") :]
        LOG.write_text(head + MARK + "\n" + table + "\n".join(rows) + "\n" + end, encoding="utf-8")
    assert stumbled == []
