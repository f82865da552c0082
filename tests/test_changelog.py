"""CHANGELOG.md has the form of Keep a Changelog 1.1.0, in short entries; docs/changes/ has their details."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
VERSION = re.compile(r"\[Unreleased\]|\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}( \[YANKED\])?")
DETAILS = re.compile(r" \(\[details\]\((docs/changes/[\w.]+)#([\w-]+)\)\)$")
WORDS = 25
"""Of an entry, at most."""


def faults(text: str) -> list[str]:
    """The parts of a changelog that are not of its form."""
    found = [f"version: {head}" for head in re.findall(r"^## (.*)$", text, re.MULTILINE) if not VERSION.fullmatch(head)]
    for version in re.split(r"^## .*\n", text, flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.*)$", version, re.MULTILINE)
        found += [f"kind: {kind}" for kind in kinds if kind not in KINDS or kinds.count(kind) > 1]
        for section in re.split(r"^### .*\n", version, flags=re.MULTILINE)[1:]:
            found += [f"entry: {line}" for line in section.splitlines() if line and not line.startswith("- ")]
            found += [f"words: {line}" for line in entries(section) if words(line) > WORDS]
            others = [i for i, line in enumerate(entries(section)) if not line.startswith("Numbers: ")]
            last = [line for line in entries(section)[min(others, default=0) :] if line.startswith("Numbers: ")]
            found += [f"order: {line}" for line in last]
    return found


def entries(section: str) -> list[str]:
    """The entries of a section."""
    return [line.removeprefix("- ") for line in section.splitlines() if line.startswith("- ")]


def words(entry: str) -> int:
    """The words of an entry, without its link to details; inline code is one word."""
    text = re.sub(r"`[^`]+`", "CODE", DETAILS.sub("", entry))
    return len(re.sub(r"\]\([^)]*\)", "]", text).split())


def anchors(page: Path, level: str) -> list[str]:
    """The anchors of a page's headings of a level, such as "###"."""
    heads = re.findall(rf"^{level} (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads]


def test_the_changelog_has_its_form() -> None:
    assert faults((ROOT / "CHANGELOG.md").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("## 0.3.0, unreleased\n", "version"),
        ("## [Unreleased]\n### Numbers that move\n", "kind"),
        ("## [Unreleased]\n### Fixed\n- a\n### Fixed\n- b\n", "kind"),
        ("## [Unreleased]\n### Fixed\n- a\n  b\n", "entry"),
        (f"## [0.1.0] - 2026-11-30\n### Fixed\n- {'a ' * 26}\n", "words"),
        ("## [Unreleased]\n### Changed\n- a\n- Numbers: b\n", "order"),
    ],
)
def test_another_form_is_a_fault(text: str, fault: str) -> None:
    assert {found.partition(":")[0] for found in faults(text)} == {fault}


def test_links_to_details_lead_to_a_heading_and_every_heading_has_an_entry() -> None:
    linked: dict[str, set[str]] = {}
    for entry in entries((ROOT / "CHANGELOG.md").read_text(encoding="utf-8")):
        if found := DETAILS.search(entry):
            linked.setdefault(found[1], set()).add(found[2])
    for page in sorted((ROOT / "docs" / "changes").glob("*.md")):
        assert linked.pop(f"docs/changes/{page.name}") == set(anchors(page, "###"))
        every = anchors(page, "#+")
        assert [anchor for anchor in every if every.count(anchor) > 1] == []
    assert linked == {}


def test_a_page_of_changes_ranks_below_others_in_the_search() -> None:
    for page in (ROOT / "docs" / "changes").glob("*.md"):
        assert page.read_text(encoding="utf-8").startswith("---\nsearch:\n  boost: 0.3\n---\n")
