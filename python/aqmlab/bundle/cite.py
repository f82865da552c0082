"""Whom to cite: the tool, and the sources of schemes, congestion controllers and studies, as BibTeX."""

import re
from collections.abc import Iterable, Mapping
from functools import cache

from aqmlab import _core, catalogue
from aqmlab.entries import read_file
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.study import draft_cases
from aqmlab.study.paper import DRAFTS, load_study, studies, suites
from aqmlab.study.suite import load_suite

Entry = Mapping[str, str]

TOOL = "aqmlab"
_KEPT_APART = ("is", "study", "type")


def references(names: Iterable[str]) -> list[str]:
    """Return the BibTeX entries of the tool and of the sources of schemes, controllers and studies, each once.

    A scheme may have parameters ("pi:w=85Hz"). InputError with the nearest name for any other name.
    """
    found: dict[str, Entry] = {TOOL: {**_entries()[TOOL], "version": _core.version()}}
    for name in names:
        found |= _of(name)
    return [_bibtex(key, entry) for key, entry in found.items()]


def _of(name: str) -> dict[str, Entry]:
    """Return the entries of a scheme, a controller or a study by their keys."""
    if at := catalogue.by_link(name):
        return {key: entry for spec in at.values() for key, entry in _of(spec).items()}
    bare = catalogue.halves(name)[0].strip()
    sources = _sources(bare)
    own = {key: entry for key, entry in _entries().items() if entry.get("study") == bare}
    return own or {key: entry for source in sources for key, entry in _in(source, bare).items()}


def _sources(name: str) -> list[str]:
    """Return the sources that a scheme, a controller or a study names; several things may have one name."""
    found = [law.source for law in catalogue.laws() if law.name == name]
    if name in studies():
        found.append(load_study(name).source)
    if name in suites():
        found.append(load_suite(name).source)
    if name == draft_cases.NAME:
        found.append(draft_cases.SOURCE)
    try:
        scheme = catalogue.find(name)
    except InputError:
        if not found:
            known = [*(each.name for each in catalogue.schemes()), *(law.name for law in catalogue.laws())]
            raise unknown(
                "cite", "no scheme, controller or study", name, [*known, *studies(), *suites(), *DRAFTS]
            ) from None
        return found
    return [scheme.source, *found]


def _in(source: str, name: str) -> dict[str, Entry]:
    """Return what a source names, and the source in its own words where the first thing it names is not known."""
    first, _, _ = source.partition(";")
    known = _known(source)
    own_entry = {"type": "misc", "title": _words(name), "note": _words(source)}
    return known if _known(first) else {f"{TOOL}-{name}": own_entry, **known}


def _known(source: str) -> dict[str, Entry]:
    papers = {key: entry for key, entry in _entries().items() if "is" in entry and entry["is"] in source}
    rfcs = [f"rfc{number}" for number in re.findall(r"RFC (\d+)", source)]
    return papers | {key: _entries()[key] for key in rfcs if key in _entries()}


def _words(text: str) -> str:
    """Plain words as BibTeX takes them."""
    return re.sub(r"([&%$#_{}])", r"\\\1", text)


def _bibtex(key: str, entry: Entry) -> str:
    fields = {name: text for name, text in entry.items() if name not in _KEPT_APART}
    kind = entry.get("type", "techreport")
    if key.startswith("rfc"):
        number = key.removeprefix("rfc")
        doi = f"10.17487/RFC{int(number):04d}"
        fields |= {"institution": "RFC Editor", "type": "RFC", "number": number, "doi": doi}
    lines = "".join(f"  {name} = {{{text}}},\n" for name, text in fields.items())
    return f"@{kind}{{{key},\n{lines}}}\n"


@cache
def _entries() -> dict[str, Entry]:
    return read_file("aqmlab.bundle", "references.toml")
