"""Episodes: a scenario for each, drawn from a distribution; some are held out for evaluation."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aqmlab import _core
from aqmlab._core import Scenario
from aqmlab.problems import InputError
from aqmlab.quantities import real, written
from aqmlab.scenario import load

Source = str | os.PathLike[str] | Scenario
Range = tuple[str | int | float, str | int | float] | Sequence[str | int | float]
"""A pair (minimum, maximum) as a tuple, drawn evenly in the logarithm if both are above zero; or a list of choices."""

HELD_OUT = 0x48454C44
"""Begins the random streams of held-out episodes, which no seed of a training run begins."""
HALF = 2**31
"""Training draws its simulations' seeds below this, evaluation from it on."""


@dataclass(frozen=True)
class Episodes:
    """One scenario or several, with values that are set and values that are drawn for each episode.

    >>> Episodes("li2014/table-1", draw={"flows.ftp.count": (100, 900), "flows.ftp.rtt": ["20 ms", "200 ms"]})
    """

    scenario: Source | Sequence[Source]
    set: Mapping[str, str] = field(default_factory=dict)
    draw: Mapping[str, Range] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path, values in self.draw.items():
            _check(path, values)
        self.first()

    @property
    def sources(self) -> list[Source]:
        """The scenarios, as they were given."""
        return [self.scenario] if isinstance(self.scenario, str | os.PathLike | Scenario) else list(self.scenario)

    def first(self) -> Scenario:
        """Return a scenario as it is at the lower ends, having tried each; InputError if one is refused."""
        if not self.sources:
            raise InputError("scenario", "the list is empty")
        ends = [{path: _text(values, share) for path, values in self.draw.items()} for share in (0.0, 1.0)]
        tried = [self._load(source, end) for source in self.sources for end in ends]
        return tried[0]

    def document(self) -> dict[str, Any]:
        """Return the distribution as JSON can hold it; scenarios by name."""
        names = [each.name if isinstance(each, Scenario) else str(each) for each in self.sources]
        draw = {path: list(values) for path, values in self.draw.items()}
        ranges = [path for path, values in self.draw.items() if isinstance(values, tuple)]
        return {"scenario": names, "set": dict(self.set), "draw": draw, "ranges": ranges}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Episodes":
        """Return the distribution that a document holds."""
        draw = {path: tuple(v) if path in document["ranges"] else v for path, v in document["draw"].items()}
        return cls(document["scenario"], document["set"], draw)

    def training(self, stream: np.random.Generator) -> tuple[Scenario, int]:
        """Draw an episode: its scenario and the seed of its simulation."""
        return self._drawn(stream), int(stream.integers(1, HALF))

    def held_out(self, index: int) -> tuple[Scenario, int]:
        """Return the episode `index` of the endless evaluation set, always the same; training has none of them."""
        stream = np.random.default_rng([HELD_OUT, index])
        return self._drawn(stream), int(stream.integers(HALF, 2 * HALF))

    def _drawn(self, stream: np.random.Generator) -> Scenario:
        sources = self.sources
        source = sources[int(stream.integers(len(sources)))] if len(sources) > 1 else sources[0]
        return self._load(source, {path: _text(values, float(stream.random())) for path, values in self.draw.items()})

    def _load(self, source: Source, drawn: Mapping[str, str]) -> Scenario:
        if not (self.set or drawn):
            key = str(source) if not isinstance(source, Scenario) else source
            return _LOADED.setdefault(key, load(source)) if isinstance(key, str) else key
        return load(source, {**self.set, **drawn})


_LOADED: dict[str, Scenario] = {}
"""Scenarios without a value of their own, which many environments share."""


def _check(path: str, values: Range) -> None:
    if len(values) == 0:
        raise InputError(f"draw.{path}", "is empty; give (minimum, maximum) or a list of choices")
    if not isinstance(values, tuple):
        return
    if len(values) != 2:
        raise InputError(f"draw.{path}", f"expected a pair (minimum, maximum) or a list of choices; found {values!r}")
    (least, unit), (most, other) = (_quantity(path, value) for value in values)
    if unit != other:
        raise InputError(f"draw.{path}", f"{values[0]} and {values[1]} differ in their units")
    if not least < most:
        raise InputError(f"draw.{path}", f"the range {values[0]} to {values[1]} is empty; give the minimum first")


def _quantity(path: str, value: str | float) -> tuple[float, str]:
    found = (real(value), "") if isinstance(value, int | float) else _core.quantity(value)
    if found is None:
        raise InputError(f"draw.{path}", f'"{value}" is not a quantity; choices are given as a list')
    return found


def _text(values: Range, share: float) -> str:
    """The value at a share of the range, as text."""
    if not isinstance(values, tuple):
        return str(values[min(int(share * len(values)), len(values) - 1)])
    (least, unit), (most, _) = (_quantity("", value) for value in values)
    value = least * (most / least) ** share if least > 0 else least + share * (most - least)
    if all(isinstance(end, int) for end in values):
        return str(round(value))
    return written(value, {"s": "time"}.get(unit, unit))
