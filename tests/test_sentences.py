"""Every sentence of a paper is in its ledger, or is listed with the reason why it is not.

`ledgers/sentences/NAME.csv` lists the sentences of a paper in their order. `row` names the claims of a sentence by the
words that their texts begin with, several divided by " | "; `why` is the reason where there is none. The ledger says in
`[paragraphs]` how many paragraphs each section has.
"""

import csv
from collections.abc import Iterator, Mapping
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from typing import Any

import pytest

from aqmlab.study.ledger import read_ledger

LEDGERS = files("aqmlab.study") / "ledgers"
PAPERS = sorted(
    item.name.removesuffix(".csv") for item in (LEDGERS / "sentences").iterdir() if item.name.endswith(".csv")
)
FEWEST_WORDS = 3
"""Words that name a claim, and those that find a sentence; whole ones may be shorter."""

Sentence = Mapping[str, str]


@pytest.fixture(params=PAPERS)
def paper(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def sentences(paper: str) -> list[Sentence]:
    text = (LEDGERS / "sentences" / f"{paper}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), strict=True))


@pytest.fixture
def ledger(paper: str) -> Mapping[str, Any]:
    return read_ledger(paper)


@pytest.fixture
def claims(ledger: Mapping[str, Any]) -> list[str]:
    return [claim["text"] for claim in ledger["claims"]]


def names(sentence: Sentence) -> Iterator[str]:
    """Yield the first words of the claims that a sentence names."""
    yield from sentence["row"].split(" | ") if sentence["row"] else ()


def place(sentence: Sentence) -> tuple[str, int, int]:
    return sentence["section"], int(sentence["paragraph"]), int(sentence["sentence"])


def test_a_list_has_its_columns(sentences: list[Sentence]) -> None:
    assert list(sentences[0]) == ["section", "paragraph", "sentence", "begins", "row", "why"]
    assert [each for each in sentences if None in each or None in each.values()] == []


def test_a_sentence_has_a_claim_or_the_reason_why_not(sentences: list[Sentence]) -> None:
    assert [place(each) for each in sentences if bool(each["row"]) == bool(each["why"])] == []


def test_a_sentence_names_claims_that_exist(sentences: list[Sentence], claims: list[str]) -> None:
    named = {name for sentence in sentences for name in names(sentence)}
    assert sorted(name for name in named if not any(text.startswith(name) for text in claims)) == []
    assert sorted(name for name in named if len(name.split()) < FEWEST_WORDS and name not in claims) == []


def test_every_claim_is_of_a_sentence(sentences: list[Sentence], claims: list[str]) -> None:
    named = {name for sentence in sentences for name in names(sentence)}
    assert [text for text in claims if not any(text.startswith(name) for name in named)] == []


def test_paragraphs_are_numbered_without_gaps_and_are_as_many_as_stated(
    sentences: list[Sentence], ledger: Mapping[str, Any]
) -> None:
    found = {}
    for section, several in groupby(sentences, itemgetter("section")):
        assert section not in found, "a section is in one piece"
        numbers = [number for number, _ in groupby(int(each["paragraph"]) for each in several)]
        assert numbers == list(range(1, len(numbers) + 1)), section
        found[section] = len(numbers)
    assert list(found.items()) == list(ledger["paragraphs"].items())


def test_sentences_are_numbered_without_gaps(sentences: list[Sentence]) -> None:
    for paragraph, several in groupby(map(place, sentences), itemgetter(0, 1)):
        numbers = [number for *_, number in several]
        assert numbers == list(range(1, len(numbers) + 1)), paragraph


def test_the_first_words_find_a_sentence(sentences: list[Sentence]) -> None:
    short = [place(each) for each in sentences if len(each["begins"].split()) < FEWEST_WORDS]
    assert short == []
    for paragraph, several in groupby(sentences, lambda each: place(each)[:2]):
        begins = [each["begins"] for each in several]
        assert len(begins) == len(set(begins)), paragraph
