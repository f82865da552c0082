"""Reports in a browser: no error, nothing cut off on a phone, and everything on paper."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import aqmlab
from aqmlab.present.html import sweep as sweep_report
from aqmlab.present.reports import comparison
from aqmlab.runs import findings
from browser import Browser

pytestmark = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")),
    reason="chromium and chromedriver are not installed (Debian: apt install chromium chromium-driver)",
)

SEEN = "return [...document.querySelectorAll('article, details > :not(summary)')].map((part) => part.checkVisibility())"
"""Of each part that may be folded or that is chosen from a list, whether it is shown."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as started:
        yield started


@pytest.fixture(scope="module", params=["comparison", "sweep"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    if request.param == "comparison":
        line = {"duration": "4 s", "warmup": "1 s"}
        both = [aqmlab.compare(name, ["droptail", "cake"], set=line) for name in ("home/call", "home/rrul")]
        path.write_text(str(comparison.files(both, "aqmlab compare")["report.html"]), encoding="utf-8")
    else:
        found = findings.findings(request.getfixturevalue("with_series"))
        path.write_text(sweep_report.report(found), encoding="utf-8")
    return path


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_report_opens_without_errors_and_fits(browser: Browser, page: Path, width: int, dark: bool) -> None:
    browser.open(page, width, dark=dark)
    assert browser.console() == []
    wide, window = browser.run("return [document.scrollingElement.scrollWidth, innerWidth]")
    assert (wide <= window, window) == (True, width)
    ink, paper = (browser.run(f"return getComputedStyle(document.body).{of}") for of in ("color", "backgroundColor"))
    assert (_light(paper), _light(ink)) == (not dark, dark)


def test_folded_parts_are_open_on_paper(browser: Browser, page: Path) -> None:
    browser.open(page, 1280)
    assert set(browser.run(SEEN)) == {True, False}
    browser.emulate("print", dark=True)
    assert set(browser.run(SEEN)) == {True}
    assert _light(browser.run("return getComputedStyle(document.body).backgroundColor"))
    assert browser.printed().startswith(b"%PDF")


def _light(colour: str) -> bool:
    """Whether "rgb(r, g, b)" is light."""
    return sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(","))) > 3 * 128
