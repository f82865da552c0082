"""The documentation as a site: no dead link, nothing from elsewhere, and every page as it should be in a browser."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from browser import Browser, served

ROOT = Path(__file__).parent.parent
MKDOCS = ROOT / ".venv-docs" / "bin" / "mkdocs"
SCRIPT = "axe_core_python/axe.min.js"
FAULTS = """
const callback = arguments[arguments.length - 1];
axe.run({resultTypes: ["violations"]}).then(found => callback(found.violations
  .filter(each => ["serious", "critical"].includes(each.impact))
  .map(each => each.id + ": " + each.nodes.map(node => node.html.slice(0, 120)).slice(0, 3).join(" | "))));
"""

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not MKDOCS.exists(), reason="make site installs mkdocs"),
]


PHONE = 400
"""Width of a window, pixels."""


def build(folder: Path) -> "subprocess.CompletedProcess[str]":
    """Build the site of the pages in `folder`, which has them as the repository has."""
    command = [MKDOCS, "build", "--strict", "--site-dir", folder / "site", "-f", folder / "mkdocs.yml"]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={"NO_MKDOCS_2_WARNING": "1"})


def copy(folder: Path) -> Path:
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy(tmp_path_factory.mktemp("site"))
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.copytree(ROOT / "target" / "studio", folder / "site" / "studio")  # make site builds it
    return folder / "site"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with served(site) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("chromium and chromedriver are not installed")
    with Browser() as opened:
        yield opened


def test_dead_links_are_errors(tmp_path: Path) -> None:
    folder = copy(tmp_path)
    links = ("no-such-page.md", "metrics.md#no-such-part", "../no-such-file.txt")
    with (folder / "docs" / "install.md").open("a") as page:
        page.writelines(f"\n[dead]({link})\n" for link in links)
    done = build(folder)
    assert done.returncode != 0
    for link in links:
        assert f"'{link}'" in done.stdout + done.stderr


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|iframe|source)[^>]*\bsrc="([^"]+)"', text)
        loaded += re.findall(r'<link[^>]*rel="(?:stylesheet|preconnect|icon)"[^>]*href="([^"]+)"', text)
        assert loaded
        assert not [each for each in loaded if re.match(r"(?:https?:)?//", each)], page


@pytest.mark.parametrize("width", [PHONE, 1400])
def test_every_page_is_as_it_should_be(width: int, site: Path, address: str, browser: Browser) -> None:
    """A phone has the same pages: there axe, which takes most of the time, looks at the first of each folder."""
    [axe] = (MKDOCS.parent.parent / "lib").glob(f"python*/site-packages/{SCRIPT}")
    check = axe.read_text(encoding="utf-8")
    faults, looked_at = [], set[Path]()
    for page in sorted(site.rglob("*.html")):
        name = page.relative_to(site).as_posix()
        browser.open(f"{address}/{name}", width)
        if width > PHONE or page.parent.parent not in looked_at:
            browser.run("document.querySelectorAll('details').forEach(folded => folded.open = true)")
            browser.run(check)
            faults += [f"{name}: {line}" for line in browser.execute_async_script(FAULTS)]
            looked_at.add(page.parent.parent)
        faults += [f"{name}: {line}" for line in browser.console()]
        if browser.run("return document.documentElement.scrollWidth > window.innerWidth + 1"):
            faults.append(f"{name}: is wider than the window")
    assert not faults, "\n".join(faults)


SEARCHES = {
    "access link": "advise.html",
    "congestion control algorithm": "tcp.html",
    "how to plot": "reports.html",
    "latex table": "reports.html",
    "starlink": "autorate.html",
    "bufferbloat": "lessons/01-bufferbloat.html",
    "dualpi2": "schemes/dualpi2.html",
}
"""What a reader types, and the page that is among the first three."""
RESULTS = """
return [...document.querySelectorAll(".md-search-result__list > .md-search-result__item")]
  .map(result => new URL(result.querySelector("a").href).pathname.slice(1));
"""


@pytest.mark.parametrize(("words", "page"), SEARCHES.items())
def test_search_finds_a_page(words: str, page: str, address: str, browser: Browser) -> None:
    browser.open(f"{address}/index.html?q={quote(words)}", 1400)
    browser.run("document.querySelector('[data-md-component=search-query]').focus()")
    found = []
    for _ in range(150):
        if found := browser.run(RESULTS):
            break
        browser.execute_async_script("setTimeout(arguments[0], 200)")
    assert page in found[:3]


ROWS = "return [...document.querySelectorAll('.board-cells tbody tr')].map(row => row.children[2].innerText)"
SORT = "document.querySelector('.board-cells th[data-sort=sim0] button').click()"
SELECT = """
const [, scheme] = document.querySelectorAll(".board-filters select");
scheme.value = "codel";
scheme.dispatchEvent(new Event("change"));
"""


def test_the_board_can_be_sorted_and_filtered(address: str, browser: Browser) -> None:
    browser.open(f"{address}/board.html", 1400)
    for _ in range(100):
        if found := browser.run(ROWS):
            break
        browser.execute_async_script("setTimeout(arguments[0], 100)")
    delays = [float(each.split()[0]) for each in found if each[0].isdigit()]
    assert len(found) == 14 * 12
    assert delays == sorted(delays)
    browser.run(SELECT)
    browser.run(SORT)
    chosen = [float(each.split()[0]) for each in browser.run(ROWS) if each[0].isdigit()]
    assert 0 < len(chosen) <= 14
    assert chosen == sorted(chosen, reverse=True)


COPY = """
const [done, copied] = [arguments[0], []];
document.execCommand = () => copied.push(document.activeElement.value);
document.querySelector("pre:has(.gp)").scrollIntoView();
const wait = setInterval(() => {
  const button = document.querySelector("pre:has(.gp) button[data-clipboard-target]");
  if (!button) return;
  clearInterval(wait);
  button.click();
  done(copied);
}, 50);
"""


def test_the_button_of_commands_copies_neither_prompts_nor_outputs(address: str, browser: Browser) -> None:
    browser.open(f"{address}/first-comparison.html", 1400)
    copied = browser.execute_async_script(COPY)
    assert copied == ["aqmlab show uplink.toml\naqmlab run uplink.toml --aqm codel"]
