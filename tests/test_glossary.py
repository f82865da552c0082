"""The glossary has each term once, in alphabetical order, with the document that defines it."""

import re
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "glossary.md"
FIELD = {
    *("2697", "3168", "5681", "6298", "6390", "7567", "7661", "7928", "8033", "8289", "8290", "8836", "8985"),
    *("9331", "9332", "9438", "9743", "9956", "9957"),
}
"""The RFCs whose terms aqmlab uses."""


def rows() -> list[list[str]]:
    """The cells of the table."""
    lines = re.findall(r"^\| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)[1:]
    return [[cell.strip() for cell in line.split(" |")] for line in lines]


def names(term: str) -> list[str]:
    """The terms of a row, and their abbreviations."""
    return [name.strip().casefold() for name in re.split(r"[,()]", term) if name.strip(" †‡")]


def test_a_term_is_there_once() -> None:
    found = [name for term, *_ in rows() for name in names(term)]
    assert [name for name in found if found.count(name) > 1] == []


def test_terms_are_in_alphabetical_order() -> None:
    keys = [re.sub("[^a-z0-9 ]", "", term.casefold()) for term, *_ in rows()]
    assert keys == sorted(keys)


def test_every_row_has_a_meaning_and_a_source_is_a_document() -> None:
    assert {len(row) for row in rows()} == {3}
    assert [term for term, meaning, _ in rows() if not meaning] == []
    source = re.compile(r"RFC \d{4}|IEEE 802\.11|DOCSIS 3\.1|draft-[a-z-]+|W3C `\w+`|[a-z-]+\(8\)|Linux `tc`")
    assert [text for *_, text in rows() for part in text.split(", ") if text and not source.fullmatch(part)] == []


def test_the_terms_of_the_field_name_their_rfc() -> None:
    assert FIELD - set(re.findall(r"RFC (\d+)", " ".join(source for *_, source in rows()))) == set()
