"""A paper's ledger: each of its sentences about what a scheme does, as data.

`ledgers/<name>.toml` holds it. docs/studies.md describes the format; `aqmlab.study.claims` judges the sentences.
"""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from math import inf
from typing import Any

from aqmlab.runs.metrics import Shown
from aqmlab.study.readings import READ, SeriesReading

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper: shown by `tables` and `figures`, checked, or `background` or `untestable` for a reason.

    It is checked on the mean over the seeds, in each scenario of its `groups` and in each of the times `during`. With
    `per`, another measure, the value counts as its share of that. The value of each of `schemes` (with a `target` its
    distance from it) lies `within` two ends; or is `below` or `above` that of other schemes, by `margin` and `factor`
    at least, of all but one with a `rank` of 2; or the greatest is at most `alike` times the least. `most` allows that
    to fail in less than half of the places, `average` takes the mean over each group. From group to group the mean goes
    where `trend` says ("rises", "falls"), or changes by a factor of `steady` at most. `band` and `between` (packets)
    belong to values read off the series (`aqmlab.study.readings`). `shown` is how people read a value that only a suite
    knows.
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
    rank: int = 1
    target: float | None = None
    alike: float | None = None
    most: bool = False
    average: bool = False
    trend: str | None = None
    steady: float | None = None
    why: str | None = None
    shown: Shown | None = None

    @property
    def unmeasured(self) -> str | None:
        """Why nothing is measured for the sentence, where that is so."""
        return self.background or self.untestable

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The scenarios of all groups."""
        return tuple(dict.fromkeys(chain.from_iterable(self.groups)))

    @property
    def readings(self) -> tuple[SeriesReading | None, ...]:
        """The readings of the series, for each of the times; None for a value that runs have themselves."""
        if not self.during and self.value not in {metric.name for metric in READ}:
            return (None,)
        return tuple(SeriesReading(self.value, *time, self.band, self.between) for time in self.during or ((0.0, inf),))


def load_ledger(name: str, schemes: Iterable[str]) -> tuple[Mapping[str, str], list[Claim]]:
    """Return what the vague words of a paper or suite are taken for, and the sentences; "all" means these `schemes`."""
    data = tomllib.loads((files("aqmlab.study") / "ledgers" / f"{name}.toml").read_text(encoding="utf-8"))
    return data["words"], [_claim(entry, list(schemes)) for entry in data["claims"]]


def _claim(entry: Mapping[str, Any], schemes: Iterable[str]) -> Claim:
    known: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    about = known.get("schemes", ())
    others = tuple(name for name in schemes if name not in about)
    known |= {side: others for side in ("below", "above") if known.get(side) == "all"}
    if "during" in known:
        times = known["during"] if isinstance(known["during"][0], list) else [known["during"]]
        known["during"] = tuple(tuple(time) for time in times)
    patterns, xs = known.pop("scenarios", ()), known.pop("x", ("",))
    return Claim(groups=tuple(tuple(dict.fromkeys(name.format(x=x) for x in xs)) for name in patterns), **known)
