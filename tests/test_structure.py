"""The structure of the documentation: tabs, short titles, and pages and words that a reader can take in.

A change that adds pages or words outside of FREE may raise PAGES by two and WORDS by 2,500.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
TABS = ("Start", "Tutorials", "How-to", "Reference", "Explanation", "Studies", "Evidence")
FREE = ("Reference", "Studies", "Evidence")
"""Tabs that readers look things up in: without limits."""
PAGES, WORDS = 46, 40_700
"""Of the other tabs together, at most."""
WORDS_OF_A_PAGE = 1500
LONGER = {"architecture.md": 1800}
WORDS_OF_A_TITLE = 5
DETAILS = "changes/"
"""Folder of what the changelog links to: outside of the tabs."""
EVIDENCE = "---\nsearch:\n  boost: 0.3\n---\n"
"""The start of a page that the site's search ranks low."""


def navigation() -> dict[str, dict[str, str]]:
    """The title of each page by its path, for each tab."""
    _, _, text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")
    tabs: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        if tab := re.fullmatch(r"  - ([^:]+):", line):
            tabs[tab[1]] = {}
        elif page := re.fullmatch(r" {6,}- (?:(.+): )?(\S+\.md)", line):
            path = page[2]
            assert path not in {known for pages in tabs.values() for known in pages}, f"{path} is listed twice"
            tabs[[*tabs][-1]][path] = page[1] or ""
        else:
            assert re.fullmatch(r" {6,}- [^:]+:", line), line
    return tabs


def words(markdown: str) -> int:
    """The number of words outside of metadata, comments and blocks of code; rules of tables are no words."""
    text = re.sub(r"\A---\n.*?^---\n", "", markdown, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^( *)(```+|~~~+).*?^ *\2 *$", "", text, flags=re.MULTILINE | re.DOTALL)
    return len(re.findall(r"\S*\w\S*", text))


def words_of(page: str) -> int:
    return words((DOCS / page).read_text(encoding="utf-8"))


def limited() -> list[str]:
    return [page for tab, pages in navigation().items() if tab not in FREE for page in pages]


def test_words_are_counted_outside_of_code() -> None:
    page = "---\nsearch:\n  boost: 2\n---\n\n# A title\n\n<!-- note -->\n```sh\naqmlab run\n```\n"
    page += "| a | 5 |\n|---|--:|\n\n- `--aqm pi`\n"
    assert words(page) == len(["A", "title", "a", "5", "`--aqm", "pi`"])


def test_every_page_is_in_one_tab() -> None:
    tabs = navigation()
    assert tuple(tabs) == TABS
    listed = {page for pages in tabs.values() for page in pages}
    found = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert listed == {page for page in found if not page.startswith(DETAILS)}


def test_titles_are_short() -> None:
    titles = {page: title for pages in navigation().values() for page, title in pages.items()}
    assert not [page for page, title in titles.items() if not 1 <= len(title.split()) <= WORDS_OF_A_TITLE]


def test_a_newcomer_has_few_pages_to_read() -> None:
    assert len(navigation()["Start"]) <= 4
    assert len(limited()) <= PAGES
    assert sum(map(words_of, limited())) <= WORDS


def test_pages_are_short() -> None:
    counts = {page: words_of(page) for page in limited()}
    assert not {page: count for page, count in counts.items() if count > LONGER.get(page, WORDS_OF_A_PAGE)}


def test_search_ranks_evidence_low() -> None:
    """And no other page."""
    low = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md") if path.read_text().startswith(EVIDENCE)}
    assert {page for page in low if not page.startswith(DETAILS)} == set(navigation()["Evidence"])
