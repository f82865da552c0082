"""Rules that every ledger keeps, and how its text becomes checks."""

import re
from collections.abc import Mapping
from importlib.resources import files
from math import inf
from typing import Any

import pytest

from aqmlab.study import ledger
from aqmlab.study.ledger import NUMBERS, read_ledger
from aqmlab.study.paper import load_study, studies

FOLDER = files("aqmlab.study") / "ledgers"
LEDGERS = sorted(item.name.removesuffix(".toml") for item in FOLDER.iterdir() if item.name.endswith(".toml"))

DEGREES = r"\b(much|significant(ly)?|slightly|considerably|substantially|hardly|roughly|negligible|similar|mostly)\b"
"""Words that say how much: a check of such a sentence takes a number for it."""

VAGUE = DEGREES[:-3] + r"|quickly|fast|largely|massively|little|around|close to (the|each))\b"
"""Words that may have a number, which is not a check's own."""


def checked(name: str, words: str) -> list[Mapping[str, Any]]:
    return [
        entry
        for entry in read_ledger(name)["claims"]
        if "value" in entry and "scenarios" in entry and re.search(words, entry["text"])
    ]


@pytest.mark.parametrize("name", LEDGERS)
def test_a_vague_word_has_its_number_once(name: str) -> None:
    """No check of a sentence with a vague word has a number of its own, and one that says how much has a number."""
    own = [entry["text"] for entry in checked(name, VAGUE) if any(own_number(entry, key) for key in NUMBERS)]
    assert own == []
    none = [entry["text"] for entry in checked(name, DEGREES) if not any(key in entry for key in NUMBERS)]
    assert none == []


def own_number(entry: Mapping[str, Any], key: str) -> bool:
    return key in entry and not isinstance(entry[key], str | dict)


@pytest.mark.parametrize("name", LEDGERS)
def test_every_word_with_a_number_is_used_and_is_listed_once(name: str) -> None:
    data = read_ledger(name)
    several = [words for words, entry in data["words"].items() if not isinstance(entry, str)]
    listed = [word.strip() for words in several for word in words.split(",")]
    assert len(listed) == len(set(listed))
    given = [entry[key] for entry in data["claims"] for key in NUMBERS if key in entry]
    used = {value["word"] if isinstance(value, dict) else value for value in given if isinstance(value, str | dict)}
    unused = [words for words in several if not used & {word.strip() for word in words.split(",")}]
    assert unused == []


@pytest.mark.parametrize("name", studies())
def test_what_compares_with_no_scheme_has_a_control(name: str) -> None:
    """A check of `within`, `trend` or `steady` alone may say of a scheme what any queue does."""
    for claim in load_study(name).claims:
        alone = (claim.within or claim.trend or claim.steady) and not (claim.below or claim.above)
        if alone and "droptail" not in claim.schemes:
            assert claim.control, claim.text
        assert not set(claim.control) & set(claim.schemes), claim.text


@pytest.mark.parametrize("name", studies())
def test_a_transient_is_that_of_the_ledger_s_own_band(name: str) -> None:
    """10 % of the target, the default; Xiong's target is 50 packets."""
    bands = {claim.band for claim in load_study(name).claims if claim.value in ("transient", "stabilisation")}
    assert bands <= {None, 5}


def counted(**entry: Any) -> dict[str, Any]:
    words = {
        "much, greatly": {"means": "by a factor of {number}", "number": 2},
        "around": {"means": "within {number:.0%}", "number": 0.1},
        "quickly": {"means": "within {number[1]} s", "number": [0, 10]},
        "robust": "no word with a number",
    }
    return ledger._counted({"text": "a sentence", **entry}, ledger._numbers(words))


def test_a_word_stands_for_its_number() -> None:
    assert counted(factor="greatly")["factor"] == 2
    assert counted(within="quickly")["within"] == [0, 10]
    assert counted(within={"around": 300, "word": "around"})["within"] == pytest.approx([270, 330])
    assert counted(factor="much", within=[1, inf])["worded"] == ["factor"]


def test_a_word_without_a_number_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"a sentence: 'robust' has no number; those of \[words\]: much, greatly, around"
    ):
        counted(factor="robust")


def test_a_meaning_has_the_number_of_its_word() -> None:
    assert ledger._meanings(
        {"near": {"means": "within {number:.0%} of it, 5 % or less", "number": 0.1}, "far": "not near"}
    ) == {
        "near": "within 10 % of it, 5 % or less",
        "far": "not near",
    }
