"""The studio in a browser, as people use it: with mouse, with keys, on a phone, along a lesson."""

import base64
import json
import re
import statistics
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By

from browser import Browser, needs_chromium, served

pytest.importorskip("uvicorn", reason="the studio's packages are not installed (pip install 'aqmlab[studio]')")
pytestmark = needs_chromium

AXE = Path(__file__).parents[1] / "studio" / "node_modules" / "axe-core" / "axe.min.js"
WIDE, PHONE = 1280, 360
CLOCK = "parseFloat(document.querySelector('.clock')?.textContent)"
PLAYING = "document.querySelector('#transport .first')?.textContent === 'Pause'"
MADE = "[...document.querySelectorAll('.made li:not(.soft)')].map((item) => item.textContent)"
SCHEMES = "[...document.querySelectorAll('.scheme .name')].map((name) => name.textContent)"
ARIA = "document.querySelector('[aria-label=\"{}\"]')"
DIALOG = "document.querySelector('dialog[open][aria-label=\"{}\"]')"

DRAWN = (
    "const { prototype } = CanvasRenderingContext2D, fill = prototype.fillText; window.drawn = new Set();"
    "prototype.fillText = function (text, ...where) { drawn.add(text); fill.call(this, text, ...where); }"
)
"""Collects the words that are drawn from then on."""

REPRODUCED = {
    "study": "paper",
    "coverage": {"match": 1, "near": 1, "cells": 2},
    "cells": [
        {"table": "1", "scheme": "pi", "metric": "queue_mean", "unit": "packets", "why": ""}
        | {"published": published, "ours": ours, "verdict": verdict}
        for published, ours, verdict in ((299.0, 301.2, "match"), (-3.0, None, "near"))
    ],
    "claims": [],
}
"""A table with three columns of text beside the schemes."""

Studio = tuple[Browser, str]
"""A browser that has been let in, and the address of the studio."""


PAGE = Path(__file__).parents[1] / "target" / "studio"


@contextmanager
def by_a_server(folder: Path) -> Iterator[Studio]:
    """The studio that the command line starts, with a folder of results."""
    (folder / "results.json").write_text(json.dumps(REPRODUCED))
    command = [sys.executable, "-m", "aqmlab", "studio", "--no-browser", "--results", str(folder)]
    log = folder.with_suffix(".log")
    with log.open("w") as errors, subprocess.Popen(command, stderr=errors) as server, Browser() as browser:
        try:
            while not (found := re.search(r"http://\S+(?=\n)", log.read_text())):
                assert server.poll() is None, log.read_text()
                time.sleep(0.03)
            browser.open(found[0], WIDE)
            yield browser, found[0].partition("?")[0]
        finally:
            server.terminate()
            sys.stderr.write(log.read_text())


@contextmanager
def as_a_page(_: Path) -> Iterator[Studio]:
    """The page that needs no server, below the root of one that has files only."""
    if not PAGE.exists():
        pytest.skip("make page builds it")
    with served(PAGE.parent) as address, Browser() as browser:
        yield browser, f"{address}/studio/"


@pytest.fixture(scope="module", params=[by_a_server, pytest.param(as_a_page, marks=pytest.mark.nightly)])
def entered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    with request.param(tmp_path_factory.mktemp("reproduced")) as found:
        yield found


@pytest.fixture
def studio(entered: Studio) -> Iterator[Studio]:
    """Check that no test leaves an error, and that nothing came from elsewhere."""
    yield entered
    browser, address = entered
    assert browser.console() == []
    loaded = browser.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert [name for name in loaded if not name.startswith((address, address.replace("http", "ws")))] == []


def test_a_curve_runs_at_once_and_follows_a_change_of_the_rate(studio: Studio) -> None:
    browser = _start(studio, "li2014/table-1")
    _until(browser, f"{CLOCK} > 3")
    assert "token" not in browser.run("return location.href")
    before = _goodput(browser, 1)
    _type(browser, "Rate", "9 Mbit/s")
    _until(browser, f"{MADE}.length === 1")
    changed = browser.run(f"return {CLOCK}")
    _until(browser, f"{CLOCK} > {changed + 5}")
    _press(browser, " ")
    _until(browser, f"!({PLAYING})")
    assert "links.bottleneck.rate = 9 Mbit/s" in browser.run(f"return {MADE}[0]")
    assert before > 25
    assert _goodput(browser, changed + 1) < 12  # 9 and, where a hole was filled, what had arrived before


def test_eight_schemes_run_side_by_side_and_no_more(studio: Studio) -> None:
    browser = _start(studio, "li2014/table-1")
    for count, name in enumerate(["red", "ared", "pi", "rem", "codel", "pie", "blue"], 2):
        browser.run(
            f"const list = document.querySelector('#add-scheme'); list.value = '{name}';"
            "list.dispatchEvent(new Event('change'))"
        )
        _until(browser, f"{SCHEMES}.length === {count}")
    assert browser.run("return document.querySelector('#add-scheme').disabled")
    _until(browser, f"{CLOCK} > 2")
    panels = "document.querySelector('.quantity').querySelectorAll('.panel canvas').length"
    assert browser.run(f"return {panels}") == 8
    head, *rows = _data(browser, "Queue")
    assert (head[0], len(head)) == ("Time", 9)
    first = [float(cell.replace(",", "")) for cell in rows[0][1:]]
    assert len(set(first)) < len(first)  # before a scheme signals, all queues are the same
    assert browser.run("return document.querySelectorAll('#measures tbody tr').length") == 8


def test_from_a_mark_another_way_is_taken(studio: Studio) -> None:
    browser = _start(studio, "li2014/table-1")
    _until(browser, f"{CLOCK} > 2")
    _press(browser, " ")
    _until(browser, f"!({PLAYING})")
    marked = browser.run(f"return {CLOCK}")
    _press(browser, "m")
    _until(browser, "document.querySelector('[aria-label^=Rewind]').length === 2")
    _press(browser, " ")
    _until(browser, f"{CLOCK} > {marked + 3}")
    _press(browser, "r")
    _until(browser, f"!({PLAYING}) && {CLOCK} === {marked}")
    assert float(_data(browser, "Queue")[-1][0].split()[0]) <= marked + 0.1
    _click(browser, "Stop half")
    _until(browser, f"{MADE}.length === 1")
    assert "flows.ftp.count = 250" in browser.run(f"return {MADE}[0]")


def test_a_link_holds_the_whole_state(studio: Studio) -> None:
    browser = _start(studio, "li2014/table-1")
    _until(browser, f"{CLOCK} > 2")
    _type(browser, "Target", "100 packets")
    _until(browser, f"{MADE}.length === 1")
    _press(browser, " ")
    _until(browser, f"!({PLAYING})")
    state = f"[document.querySelector('.clock').firstChild.textContent, ...{MADE}, ...{SCHEMES}]"
    before, queue = browser.run(f"return {state}"), _data(browser, "Queue")[-1]
    _press(browser, "l")
    _until(browser, f"{DIALOG.format('Link')}")
    link = browser.run("return document.querySelector('dialog input').value")
    assert link.startswith(studio[1] + "#")
    browser.open("about:blank", WIDE)
    browser.open(link, WIDE)
    _until(browser, f"document.querySelector('.clock')?.firstChild.textContent === '{before[0]}' && !({PLAYING})")
    assert browser.run(f"return {state}") == before
    end = time.monotonic() + 30
    while _data(browser, "Queue")[-1:] != [queue]:  # the page draws again once it has arrived
        assert time.monotonic() < end
        time.sleep(0.03)


def _linked(state: object) -> str:
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(json.dumps(state).encode()) + packer.flush()
    return "#s=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


@pytest.mark.parametrize(
    ("fragment", "told"),
    [
        ("#s=AAAA", "This link cannot be read"),
        (_linked({"opening": {"aqms": ["red"], "fill": " " * (1 << 21)}}), "more than 1 MiB"),
        (
            _linked({"opening": {"scenario": "nowhere", "aqms": ["red"]}, "changes": [], "quantities": [], "now": 0}),
            "nowhere",
        ),
    ],
    ids=["no state", "too large", "unknown scenario"],
)
def test_a_link_that_cannot_be_opened_says_so_above_a_run(studio: Studio, fragment: str, told: str) -> None:
    browser, address = studio
    browser.open("about:blank", WIDE)
    browser.open(address + fragment, WIDE)
    _until(browser, f"document.querySelector('#notice').textContent.includes({json.dumps(told)})")
    assert browser.run("return document.querySelectorAll('.scheme').length > 0")


def test_a_link_of_another_studio_opens_when_it_is_pasted(studio: Studio) -> None:
    browser = _start(studio, "li2014/table-1")
    state = {"opening": {"scenario": "li2014/table-2", "aqms": ["pi"]}, "changes": [], "now": 1}
    more = {"quantities": ["queue"], "link": "bottleneck", "together": False, "window": None}
    _press(browser, "l")
    _until(browser, DIALOG.format("Link"))
    link = "http://127.0.0.1:1/" + _linked(state | more)
    browser.run(f"document.querySelector('#given-link').value = {json.dumps(link)}")
    _click(browser, "Open")
    _until(browser, f"{CLOCK} === 1 && !({PLAYING}) && document.querySelectorAll('.scheme').length === 1")


def test_what_a_lesson_points_at_is_drawn(studio: Studio) -> None:
    browser, address = studio
    browser.open("about:blank", WIDE)
    browser.open(f"{address}#lessons", WIDE)
    _until(browser, "document.querySelectorAll('.cards button').length === 12")
    browser.run(DRAWN)
    browser.run("document.querySelector('.cards button').click()")
    _until(browser, "[...drawn].some((text) => text.startsWith('good for a call'))")


WARNS = (
    "const event = new Event('beforeunload', {cancelable: true}); dispatchEvent(event); return event.defaultPrevented"
)


def test_a_reload_warns_only_where_changes_would_be_lost(studio: Studio) -> None:
    browser = _start(studio, "li2014/table-1")
    browser.find_element(By.CSS_SELECTOR, "header").click()  # browsers ask nobody who has not touched the page
    assert not browser.run(WARNS)
    _type(browser, "Rate", "9 Mbit/s")
    _until(browser, f"{MADE}.length === 1")
    assert browser.run(WARNS)


def test_what_was_changed_is_written_at_its_time(studio: Studio) -> None:
    browser = _start(studio, "li2014/table-1")
    browser.run(DRAWN)
    _until(browser, f"{CLOCK} > 1")
    _type(browser, "Rate", "9 Mbit/s")
    _until(browser, "drawn.has('rate 9 Mbit/s')")


def test_on_a_phone_what_can_be_changed_comes_before_the_curves(studio: Studio) -> None:
    browser, address = studio
    place = (
        "const live = [...document.querySelectorAll('details')].find((each) => "
        "each.querySelector('summary').textContent === 'Change while it runs');"
        "return live.getBoundingClientRect().top < document.querySelector('#curves').getBoundingClientRect().top"
        " && !document.querySelector('#setup').contains(live)"
    )
    for width, first in ((PHONE, True), (WIDE, False)):
        browser.open("about:blank", width)
        browser.open(address, width)
        _until(browser, "document.querySelectorAll('.scheme').length")
        assert browser.run(place) is first


def test_nothing_can_be_done_when_the_server_has_ended() -> None:
    command = [sys.executable, "-m", "aqmlab", "studio", "li2014/table-1", "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server, Browser() as browser:
        try:
            assert server.stderr
            browser.open(server.stderr.readline().split()[-1], WIDE)
            _until(browser, f"{PLAYING} && {CLOCK} > 0.1")
        finally:
            server.terminate()
        _until(browser, "document.querySelector('#notice').textContent.startsWith('The server has stopped')")
        controls = "[...document.querySelectorAll('#transport button, #transport select')]"
        assert browser.run(f"return {controls}.filter((each) => !each.disabled).length") == 0


def test_errors_of_a_scenario_stand_at_their_line(studio: Studio) -> None:
    browser = _start(studio, "li2014/table-1")
    browser.run("document.querySelector('#scenario-text').closest('details').open = true")
    _edit(browser, "text.replace('45 Mbit/s', '45 Mbit')")
    _until(browser, "document.querySelector('.gutter b')")
    line = (
        1
        + browser.run("return document.querySelector('#scenario-text').value.split('45 Mbit')[0].split('\\n').length")
        - 1
    )
    assert browser.run("return document.querySelector('.gutter b').textContent") == str(line)
    assert f"Line {line}" in browser.run("return document.querySelector('.problems').textContent")
    _edit(browser, "text.replace('45 Mbit', '20 Mbit/s')")
    _until(browser, "!document.querySelector('.problems li')")
    _click(browser, "Use this scenario")
    _until(browser, f"{ARIA.format('Rate')}.closest('.knob').querySelector('.value').value.startsWith('20')")


def test_everything_can_be_done_with_keys(studio: Studio) -> None:
    browser = _start(studio, "li2014/table-1")
    _until(browser, f"{CLOCK} > 1")
    seen = (
        "const at = document.activeElement; const it = at.closest('.editor') ?? at.closest('.chip')?.lastChild ?? at;"
        "return at.tagName === 'BODY' || getComputedStyle(it).outlineStyle !== 'none'"
    )
    reached = set()
    for _ in range(45):
        _press(browser, Keys.TAB)
        assert browser.run(seen), browser.run("return document.activeElement.outerHTML")
        reached.add(
            browser.run("const at = document.activeElement; return at.getAttribute('aria-label') ?? at.textContent")
        )
    assert {"Skip to the curves", "Lessons", "Save", "Add a scheme", "Stop half"} <= reached
    browser.run("document.activeElement.blur()")
    _press(browser, " ")
    _until(browser, f"!({PLAYING})")
    now = browser.run(f"return {CLOCK}")
    _press(browser, "s")
    _until(browser, f"{CLOCK} > {now}")
    browser.run("document.querySelector('.quantity').focus()")
    _press(browser, Keys.ARROW_LEFT)
    _until(browser, "document.querySelector('#spoken').textContent.startsWith('Queue')")
    _press(browser, "?")
    _until(browser, f"{DIALOG.format('Keys')}")
    _press(browser, Keys.ESCAPE)
    _until(browser, "!document.querySelector('dialog')")


@pytest.mark.parametrize("view", ["live", "lessons", "results"])
def test_a_phone_shows_everything_in_its_width(studio: Studio, view: str) -> None:
    browser, address = studio
    browser.open("about:blank", PHONE)
    browser.open(f"{address}#{view}", PHONE, height=740)
    _until(browser, f"!document.querySelector('#view-{view}')?.hidden && {CLOCK} > 0.5")
    browser.run("for (const each of document.querySelectorAll('.scheme button[aria-expanded=false]')) each.click()")
    browser.run("for (const each of document.querySelectorAll('details')) each.open = true")
    assert browser.run("return [document.scrollingElement.scrollWidth, innerWidth]") == [PHONE, PHONE]


def test_a_lesson_goes_from_its_first_sentence_to_the_next_lesson(studio: Studio) -> None:
    browser, address = studio
    browser.open("about:blank", WIDE)
    browser.open(f"{address}#lessons", WIDE)
    _until(browser, "document.querySelectorAll('.cards button').length === 12")
    browser.run("document.querySelector('.cards button').click()")
    _until(browser, f"document.querySelectorAll('#lesson .go').length === 3 && {PLAYING}")
    folded = "return [...document.querySelectorAll('.tries > li details.seen')].map((each) => each.open)"
    assert browser.run(folded) == [False] * 3, "the reader predicts first"
    browser.run(f"const speed = {ARIA.format('Speed')}; speed.value = ''; speed.dispatchEvent(new Event('change'))")
    for i in range(3):
        browser.run(f"document.querySelectorAll('#lesson .go')[{i}].click()")
        _until(browser, f"document.querySelectorAll('.tries > li')[{i}].matches('.done')")
    browser.run("document.querySelector('#lesson > details').open = true")
    title = browser.run("return document.querySelector('#lesson h2').textContent")
    browser.run("document.querySelector('#lesson a.button').click()")
    _until(browser, f"document.querySelector('#lesson h2').textContent !== {json.dumps(title)}")


def test_exercises_are_checked_where_the_queue_is(studio: Studio) -> None:
    browser, _ = studio
    _open_lesson(studio, WIDE)
    browser.run("document.querySelector('.exercises > summary').focus()")
    for key in (Keys.ENTER, Keys.TAB, "4711", Keys.TAB, "15", Keys.TAB, Keys.ENTER):
        _press(browser, key)
    _until(browser, "document.activeElement.textContent === 'Your parameters'")
    words = browser.run("return document.querySelector('.tasks').textContent")
    assert "an uplink of 10 Mbit/s whose buffer holds 950 ms" in words
    browser.run(f"const speed = {ARIA.format('Speed')}; speed.value = ''; speed.dispatchEvent(new Event('change'))")
    _click(browser, "Run it under droptail")
    _until(browser, "document.querySelector('.tasks').textContent.includes('Paused at 40 s')")
    assert browser.run(f"return {CLOCK}") == 40
    browser.run(
        "document.querySelector('.data').open = true; const [from, to] = document.querySelectorAll('.means input');"
        "[from.value, to.value] = ['20', '40']; to.dispatchEvent(new Event('input'))"
    )
    _until(browser, "document.querySelector('.means output').textContent.includes('call: mean 856 ms')")
    given = {"guess": "none", "standing": "0,86 s", "managed": "50 ms", "why": "TCP fills the buffer"}
    _answer(browser, given)
    assert browser.run("return [...document.querySelectorAll('.tasks > li')].map((each) => each.className)") == [
        *("refused", "taken", "refused", "taken")
    ]
    assert "2 of 4 accepted." in browser.run("return document.querySelector('.exercises').textContent")
    assert "too large. Choose CoDel" in browser.run("return document.querySelector('#told-managed').textContent")
    browser.refresh()
    _open_lesson(studio, PHONE)
    _show_sheet(browser)  # what was written is still there
    assert browser.run("return document.querySelector('.exercises textarea').value") == given["why"]
    browser.run("document.querySelector('#lesson h2').scrollIntoView()")
    assert browser.run("return [document.scrollingElement.scrollWidth, innerWidth]") == [PHONE, PHONE]
    _write(browser, ".exercises form input", " ")
    browser.run("document.querySelector('.exercises form').requestSubmit()")
    _until(browser, "document.querySelector('.exercises .problem')?.textContent.startsWith('student: is empty')")


@pytest.mark.parametrize("entered", [by_a_server], indirect=True)
def test_a_column_of_text_is_aligned_left_and_numbers_right(studio: Studio) -> None:
    browser, address = studio
    browser.open("about:blank", WIDE)
    browser.open(f"{address}#results", WIDE)
    _until(browser, "document.querySelector('#view-results tbody td')")
    for cells in ("thead th", "tbody tr:last-child > *"):
        shown = (
            f"[...document.querySelectorAll('#view-results {cells}')].map((cell) => getComputedStyle(cell).textAlign)"
        )
        assert browser.run(f"return {shown}") == ["left", "left", "left", "right", "right", "left"]


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed (make studio; needs npm)")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(studio: Studio, dark: bool) -> None:
    browser = _start(studio, "li2014/table-1", dark=dark)
    _until(browser, f"{CLOCK} > 1")
    _press(browser, " ")
    browser.run("for (const each of document.querySelectorAll('#view-live details')) each.open = true")
    browser.run("for (const each of document.querySelectorAll('.scheme button[aria-expanded=false]')) each.click()")
    browser.run(AXE.read_text(encoding="utf-8") + "; window.axe = axe")
    for place, view in (
        ("live", "live"),
        ("lessons", "lessons"),
        ("lesson=01-bufferbloat", "live"),
        ("results", "results"),
    ):
        browser.run(f"location.hash = {json.dumps(place)}")
        _until(browser, f"!document.querySelector('#view-{view}').hidden")
        if "=" in place:
            _until(browser, "document.querySelector('#lesson .go')")
            _show_sheet(browser)
        assert _violations(browser) == []
    browser.run("location.hash = 'live'")
    _press(browser, "e")
    _until(browser, f"{DIALOG.format('Save')}")
    assert _violations(browser) == []


def _start(studio: Studio, scenario: str, *, dark: bool = False) -> Browser:
    """Open a scenario on a fresh page; it begins to run."""
    browser, address = studio
    browser.open("about:blank", WIDE)
    browser.open(f"{address}?scenario={scenario}", WIDE, dark=dark)
    _until(browser, f"document.querySelectorAll('.scheme').length && {PLAYING}")
    return browser


def _open_lesson(studio: Studio, width: int) -> None:
    """Open the first lesson, which has exercises."""
    browser, address = studio
    browser.open("about:blank", width)
    browser.open(f"{address}#lesson=01-bufferbloat", width)
    _until(browser, "document.querySelector('.exercises')")


def _show_sheet(browser: Browser) -> None:
    """Show the sheet of student 4711, 15 minutes."""
    browser.run("document.querySelector('.exercises').open = true")
    _write(browser, ".exercises form input", "4711")
    _write(browser, ".exercises form select", "15")
    browser.run("document.querySelector('.exercises form').requestSubmit()")
    _until(browser, "document.querySelectorAll('.tasks > li').length === 4")


def _answer(browser: Browser, given: dict[str, str]) -> None:
    for task, text in given.items():
        _write(browser, f'[aria-describedby="told-{task}"]', text)
    _click(browser, "Check my answers")
    _until(browser, "/ of \\d+ accepted/.test(document.querySelector('.exercises').textContent)")


def _write(browser: Browser, field: str, text: str) -> None:
    found = f"document.querySelector({json.dumps(field)})"
    browser.run(f"const it = {found}; it.value = {json.dumps(text)}; it.dispatchEvent(new Event('input'))")


def _until(browser: Browser, condition: str, within: float = 30) -> None:
    """Wait until a condition holds on the page."""
    end = time.monotonic() + within
    while not browser.run(f"return Boolean({condition})"):
        notice = browser.run("return document.querySelector('#notice')?.textContent")
        state = browser.run(f"return [{CLOCK}, {PLAYING}]")
        assert time.monotonic() < end, f"still not: {condition}; clock and playing: {state}; the page says: {notice}"
        time.sleep(0.03)


def _press(browser: Browser, key: str) -> None:
    ActionChains(browser).send_keys(key).perform()


def _click(browser: Browser, text: str) -> None:
    browser.find_element(By.XPATH, f"//button[.='{text}']").click()


def _type(browser: Browser, knob: str, text: str) -> None:
    field = f"{ARIA.format(knob)}.closest('.knob').querySelector('.value')"
    browser.run(f"const field = {field}; field.value = {json.dumps(text)}; field.dispatchEvent(new Event('change'))")


def _edit(browser: Browser, changed: str) -> None:
    area = "const area = document.querySelector('#scenario-text'); const text = area.value"
    browser.run(f"{area}; area.value = {changed}; area.dispatchEvent(new Event('input'))")


def _data(browser: Browser, quantity: str) -> list[list[str]]:
    """Return the table behind the curves of a quantity: the head, then the rows."""
    has = f"(each) => each.querySelector('h3').textContent.startsWith('{quantity}')"
    section = f"[...document.querySelectorAll('.quantity')].find({has})"
    browser.run(f"const data = {section}.querySelector('.data'); data.open = false; data.open = true")
    _until(browser, f"{section}.querySelector('tbody tr')")
    rows: list[list[str]] = browser.run(
        f"return [...{section}.querySelectorAll('tr')].map((row) => [...row.children].map((cell) => cell.textContent))"
    )
    return rows


def _goodput(browser: Browser, since: float) -> float:
    """Return the mean goodput of the first scheme since then, Mbit/s."""
    rows = _data(browser, "Goodput")[1:]
    return statistics.fmean(float(value) for time, value, *_ in rows if float(time.split()[0]) >= since)


def _violations(browser: Browser) -> list[str]:
    """Return what axe finds, each rule once."""
    browser.run(
        "window.found = null;"
        "axe.run(document, {resultTypes: ['violations']}).then((found) => (window.found = found.violations))"
    )
    _until(browser, "window.found")
    return list(browser.run("return window.found.map((each) => `${each.id}: ${each.nodes[0].html}`)"))
