"""Citations: every scheme, law and study has one, and BibTeX can read it."""

import re
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab import catalogue
from aqmlab.bundle import cite
from aqmlab.study.paper import DRAFTS, studies, suites
from conftest import Aqmlab

ROOT = Path(__file__).parent.parent
NAMES = [
    *(s.name for s in catalogue.schemes()),
    *(law.name for law in catalogue.laws()),
    *studies(),
    *suites(),
    *DRAFTS,
]


@pytest.mark.parametrize("name", NAMES)
def test_everything_can_be_cited(name: str) -> None:
    tool, *entries = cite.references([name])
    assert tool.startswith("@software{aqmlab,\n")
    assert entries
    for entry in (tool, *entries):
        assert re.fullmatch(r"@\w+\{[\w-]+,\n(  \w+ = \{.*\},\n)+\}\n", entry), entry
        depth = [0]
        for each in re.sub(r"\\.", "", entry):
            depth.append(depth[-1] + {"{": 1, "}": -1}.get(each, 0))
        assert (min(depth), depth[-1]) == (0, 0), entry


def test_what_a_scheme_rests_on() -> None:
    keys = [re.search(r"\{(.*),", entry)[1] for entry in cite.references(["pie", "pi:w=85Hz", "pie"])]  # type: ignore[index]
    assert keys == ["aqmlab", "pan2013pie", "rfc8033", "hollot2001pi"]
    [_, rfc] = [entry for entry in cite.references(["pie"]) if "techreport" in entry or "software" in entry]
    assert "doi = {10.17487/RFC8033}" in rfc
    assert "number = {8033}" in rfc


def test_every_rfc_and_every_entry_is_used() -> None:
    sources = [scheme.source for scheme in catalogue.schemes()] + [law.source for law in catalogue.laws()]
    named = {f"rfc{number}" for source in sources for number in re.findall(r"RFC (\d+)", source)}
    assert named <= {*cite._entries()}
    unused = {
        key for key, entry in cite._entries().items() if "is" in entry and not any(entry["is"] in s for s in sources)
    }
    assert {key for key in unused if "study" not in cite._entries()[key]} == set()
    assert {entry["study"] for entry in cite._entries().values() if "study" in entry} == {*studies(), "rfc7928"}


NEEDED = {
    "article": {"author", "title", "journal", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "techreport": {"author", "title", "year"},
    "misc": {"author", "title", "note"},
    "software": {"author", "title"},
}


@pytest.mark.parametrize(("key", "entry"), cite._entries().items())
def test_an_entry_is_complete_and_of_what_the_catalogue_names(key: str, entry: cite.Entry) -> None:
    kind = entry.get("type", "techreport")
    assert NEEDED[kind] <= {*entry}
    assert all(re.fullmatch(r"\d+--\d+", pages) for name, pages in entry.items() if name == "pages")
    assert all(re.fullmatch(r"10\.\d{4,}/\S+", doi) for name, doi in entry.items() if name == "doi")
    named = entry.get("is", "")
    assert set(re.findall(r"\b(?:19|20)\d\d\b", named)) <= {entry.get("year")}
    if issue := re.search(r"\b(\d+)\((\d+)\)", named):
        assert issue.groups() == (entry["volume"], entry["number"])


def test_an_unknown_name_is_refused(aqmlab: Aqmlab) -> None:
    refused = aqmlab("cite", "pe")
    assert refused.returncode == 2
    assert "did you mean" in refused.stderr


def test_the_citation_file_has_the_version_of_the_package() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {lab.__version__}\n" in text
