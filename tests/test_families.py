"""Built-in scenarios that differ from another one in a few values."""

from importlib.resources import files
from typing import Any

import pytest

import aqmlab
from aqmlab.entries import insert, loads, of_family

FILES = sorted((files("aqmlab") / "families").iterdir(), key=lambda item: item.name)
FAMILIES = [family for item in FILES for family in loads(item.read_text(encoding="utf-8"))["families"]]


@pytest.mark.parametrize("family", FAMILIES, ids=[family["of"] for family in FAMILIES])
def test_the_first_row_is_the_original(family: dict[str, Any]) -> None:
    text = aqmlab.load(family["of"]).text
    first = dict(zip(family["columns"], family["rows"][0], strict=True))
    assert family["of"].partition("/")[2] == insert(family["name"], first)
    assert [place for place in family["places"] if insert(place, first) not in text] == []
    assert of_family(family, family["rows"][0]) == text


def test_each_row_is_a_scenario() -> None:
    first, second = (aqmlab.load(f"li2014/table-{table}").resolved() for table in (1, 6))
    assert (first["links"][0]["rate"], second["links"][0]["rate"]) == ("45 Mbit/s", "115 Mbit/s")
    assert second["title"] == "800 Reno flows on 115 Mbit/s (Li et al. 2014, Table 6)"
