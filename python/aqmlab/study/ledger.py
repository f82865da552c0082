"""A paper's ledger: each of its sentences about what a scheme does, as data.

`ledgers/<name>.toml` holds it. docs/studies.md describes the format; `aqmlab.study.claims` judges the sentences.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from math import inf
from typing import Any

from aqmlab.entries import insert, read_file, varied
from aqmlab.runs.metrics import Shown
from aqmlab.study.readings import READ, SeriesReading


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper: shown by `tables` and `figures`, checked, or `background` or `untestable` for a reason.

    A check uses the mean over the seeds, or the median for settling times and where `median` is set. It must pass in
    each scenario of `groups` and in each of the times `during`. If `per` names another measure, the value is divided by
    it. If `target` is set, the value is the distance from it. The kinds of checks:

    - The value of each of `schemes` is `within` two ends.
    - It is `below` or `above` the values of other schemes, by at least `margin` and `factor` and at most the factor
      `up_to`. If `rank` is 2, one of these schemes is exempt.
    - The values of `schemes` differ by at most the factor `alike`.

    `most` allows failures in fewer than half of the places. `average` takes the mean over each group. From group to
    group the mean follows `trend` ("rises", "falls") or changes by at most the factor `steady`. The check is weak if a
    scheme of `control`, which the sentence does not mention, passes in the place of `schemes`. `band` and `between`
    (packets) belong to values read from the series (`aqmlab.study.readings`). `worded` are the keys whose number
    replaces a vague word. `shown` formats a value that only a suite defines. `alternatives` are other checks that the
    text allows (`aqmlab.study.sensitivity`). `contradicted` names the part of the paper that says otherwise.
    """

    section: str
    text: str
    tables: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    background: str | None = None
    untestable: str | None = None
    groups: tuple[tuple[str, ...], ...] = ()
    link: str = "bottleneck"
    value: str = ""
    per: str | None = None
    schemes: tuple[str, ...] = ()
    during: tuple[tuple[float, float], ...] = ()
    band: float | None = None
    between: tuple[float, float] | None = None
    within: tuple[float, float] | None = None
    below: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    margin: float = 0.0
    factor: float = 1.0
    up_to: float | None = None
    rank: int = 1
    target: float | None = None
    alike: float | None = None
    most: bool = False
    average: bool = False
    trend: str | None = None
    steady: float | None = None
    control: tuple[str, ...] = ()
    worded: tuple[str, ...] = ()
    why: str | None = None
    shown: Shown | None = None
    median: bool = False
    contradicted: str | None = field(default=None, repr=False)
    alternatives: tuple["Alternative", ...] = field(default=(), repr=False)

    @property
    def unmeasured(self) -> str | None:
        """The reason why nothing is measured for the sentence; None if it is checked or shown."""
        return self.background or self.untestable

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The scenarios of all groups."""
        return tuple(dict.fromkeys(chain.from_iterable(self.groups)))

    @property
    def readings(self) -> tuple[SeriesReading | None, ...]:
        """The readings of the series, for each of the times; None for a value that each run reports."""
        if not self.during and self.value not in {metric.name for metric in READ}:
            return (None,)
        return tuple(SeriesReading(self.value, *time, self.band, self.between) for time in self.during or ((0.0, inf),))


@dataclass(frozen=True)
class Alternative:
    """Another check that the text of a sentence allows; `name` says how it reads the text."""

    name: str
    claim: Claim


IDLE = "droptail"
"""The scheme that does nothing: the control of a check without other schemes."""

NUMBERS = ("within", "factor", "up_to", "margin", "alike", "steady")
"""Keys of a check that may name a vague word instead of a number."""


def load_ledger(name: str, schemes: Iterable[str], *, idle: bool) -> tuple[Mapping[str, str], list[Claim]]:
    """Return the meanings of the vague words of a paper or suite, and the sentences; "all" means these `schemes`.

    Where `schemes` is "each", there is a sentence for each of them, whose name is <scheme> in the text. `idle` says
    whether `IDLE` is the control of checks that name none.
    """
    data = read_ledger(name)
    numbers, known = _numbers(data["words"]), list(schemes)

    def claim(entry: Mapping[str, Any]) -> Claim:
        return _claim(_counted(entry, numbers), known, idle)

    entries = chain.from_iterable(_for_each(entry, known) for entry in data["claims"])
    return _meanings(data["words"]), [_with_alternatives(entry, claim) for entry in entries]


def read_ledger(name: str) -> dict[str, Any]:
    """Return the contents of a ledger, with the claims of all sections in one list and what they name filled in."""
    data = read_file("aqmlab.study", "ledgers", f"{name}.toml")
    places, readings = data.get("places", {}), data.get("readings", {})

    def placed(entry: Mapping[str, Any]) -> dict[str, Any]:
        return {**entry, **places[entry["scenarios"]]} if isinstance(entry.get("scenarios"), str) else {**entry}

    def alternative(entry: str | Mapping[str, Any]) -> dict[str, Any]:
        named = {"name": entry} if isinstance(entry, str) else entry
        return placed(named if len(named) > 1 else {**named, **readings[named["name"]]})

    def claim(section: str, entry: Mapping[str, Any]) -> dict[str, Any]:
        found = {"section": section, **placed(entry)}
        return found | {"alternatives": list(map(alternative, entry.get("alternatives", ())))}

    entries = ((each["name"], whole) for each in data["sections"] for whole in each["claims"])
    return data | {"claims": [claim(section, entry) for section, whole in entries for entry in _varied(whole)]}


def _varied(whole: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a claim for each value that an entry varies; a table `why` lists the reasons by the names of the values."""
    for entry, names in varied(whole, "text"):
        entry.pop("vary", None)
        if isinstance(entry.get("why"), dict):
            entry["why"] = entry["why"][", ".join(names.values())]
        yield entry


def _for_each(entry: Mapping[str, Any], schemes: Iterable[str]) -> list[Mapping[str, Any]]:
    if entry.get("schemes") != "each":
        return [entry]
    return [{**entry, "schemes": [name], "text": insert(entry["text"], {"scheme": name})} for name in schemes]


def _with_alternatives(entry: Mapping[str, Any], claim: Callable[[Mapping[str, Any]], Claim]) -> Claim:
    """Return a claim with its alternatives, each of which replaces some keys; false leaves a key out."""
    own = {key: value for key, value in entry.items() if key != "alternatives"}
    alternatives = []
    for other in entry.get("alternatives", ()):
        changed = {key: value for key, value in {**own, **other}.items() if value is not False and key != "name"}
        alternatives.append(Alternative(other["name"], claim(changed)))
    return replace(claim(own), alternatives=tuple(alternatives))


def _meanings(words: Mapping[str, Any]) -> dict[str, str]:
    """Return the meaning of each word, with its number."""
    return {
        word: entry
        if isinstance(entry, str)
        else re.sub(r"(?<=\d)%", " %", entry["means"].format(number=entry["number"]))
        for word, entry in words.items()
    }


def _numbers(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the number of each vague word that has one; an entry may be for several words."""
    return {
        word.strip(): entry["number"]
        for several, entry in words.items()
        if not isinstance(entry, str)
        for word in several.split(",")
    }


def _counted(entry: Mapping[str, Any], numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return a claim's entry with numbers in the place of words; ValueError for a word without a number."""

    def number(word: str) -> Any:
        if word not in numbers:
            raise ValueError(f"{entry['text']}: {word!r} has no number; those of [words]: {', '.join(numbers)}")
        return numbers[word]

    counted = {}
    for key in NUMBERS:
        match entry.get(key):
            case str(word):
                counted[key] = number(word)
            case {"around": middle, "word": word}:
                counted[key] = [middle * (1 - number(word)), middle * (1 + number(word))]
    return {**entry, **counted, "worded": list(counted)}


def _claim(entry: Mapping[str, Any], schemes: Iterable[str], idle: bool) -> Claim:
    known: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    about = known.get("schemes", ())
    others = tuple(name for name in schemes if name not in about)
    known |= {side: others for side in ("below", "above") if known.get(side) == "all"}
    if "during" in known:
        times = known["during"] if isinstance(known["during"][0], list) else [known["during"]]
        known["during"] = tuple(tuple(time) for time in times)
    if (
        idle
        and IDLE not in about
        and known.keys() & {"within", "trend", "steady"}
        and not known.keys() & {"below", "above"}
    ):
        known.setdefault("control", (IDLE,))
    patterns, xs = known.pop("scenarios", ()), known.pop("x", ("",))
    return Claim(groups=tuple(tuple(dict.fromkeys(name.format(x=x) for x in xs)) for name in patterns), **known)
