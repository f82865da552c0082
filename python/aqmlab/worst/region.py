"""The region of a finding: from where to where each number may go, and how much of the space that is."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from aqmlab import quantities
from aqmlab.problems import InputError
from aqmlab.runs.grid import number
from aqmlab.worst.document import Document, Path, get, named, put
from aqmlab.worst.score import RATIO, Criterion
from aqmlab.worst.search import WorstSearch
from aqmlab.worst.shrink import SHRINKING_SEEDS
from aqmlab.worst.spaces import Range, Space, scaled
from aqmlab.worst.trials import CommonCase, case_of

SEEDS = SHRINKING_SEEDS[:3]
HALVINGS = 3
"""Bisections of each end, after the end of the range itself was tried."""


@dataclass(frozen=True)
class Extent:
    """The values of one number for which a finding holds, the others being the same.

    `share` is the part of the range of the space; an end is `open` if it is the range's.
    """

    name: str
    low: str
    high: str
    share: float
    open_below: bool
    open_above: bool

    def texts(self) -> list[str]:
        """Return its name, both ends and its share as people read them."""
        low, high = f"{self.low}{' or less' * self.open_below}", f"{self.high}{' or more' * self.open_above}"
        return [self.name, low, high, f"{100 * self.share:.0f} %"]


@dataclass
class _End:
    """One end under search: positions at which the finding holds and does not."""

    of: Range
    value: float
    holds: float
    fails: float
    is_open: bool = False
    is_done: bool = False


def region(search: WorstSearch, document: Document, criterion: Criterion) -> list[Extent]:
    """Return the extent of each number of a document that the space varies; none if the budget is spent before."""
    if not search.has_time(1.0):
        return []
    ends = [end for each in search.plan.space.ranges for end in _ends(document, each)]
    for step in range(HALVINGS + 1):
        asked = [end for end in ends if not end.is_done]
        if not asked:
            break
        tried = [end.fails if step == 0 else (end.holds + end.fails) / 2 for end in asked]
        found = _hold(search, [_moved(document, end, at) for end, at in zip(asked, tried, strict=True)], criterion)
        for end, at, holds in zip(asked, tried, found, strict=True):
            if step == 0:
                end.is_open = end.is_done = holds
            if holds:
                end.holds = at
            else:
                end.fails = at
    return [_extent(document, low, high) for low, high in zip(ends[::2], ends[1::2], strict=True)]


def _ends(document: Document, each: Range) -> list[_End]:
    """Return both ends of the region of a range; none if the document has another value there."""
    position = _position(document, each)
    if position is None or not -1e-9 <= position <= 1 + 1e-9:
        return []
    return [_End(each, position, position, end) for end in (0.0, 1.0)]


def _position(document: Document, each: Range) -> float | None:
    value = get(document, each.path)
    found = number(value)
    if found is None:
        return None
    if each.of is not None:
        base, part = quantities.number(str(get(document, each.of))), quantities.number(str(value))
        return None if isinstance(base, str) or isinstance(part, str) else each.position(part / base)
    try:
        unit = quantities.quantity(f"1 {each.unit}") if each.unit not in ("", "bdp", "packets") else 1.0
        base_value = quantities.quantity(str(value)) if each.unit not in ("", "bdp", "packets") else found[0]
    except ValueError:
        return None
    return each.position(base_value / unit)


def _moved(document: Document, end: _End, position: float) -> Document:
    each = end.of
    value = each.at(position)
    text = scaled(get(document, each.of), value) if each.of else each.text(value)
    return put(document, each.path, text)


def _hold(search: WorstSearch, documents: Sequence[Document], criterion: Criterion) -> list[bool]:
    cases: list[CommonCase | None] = []
    for document in documents:
        try:
            cases.append(case_of(search.plan, document))
        except InputError:
            cases.append(None)
    trials = iter(search.trials([case for case in cases if case], SEEDS))
    regrets = [next(trials).of(criterion.name) if case else None for case in cases]
    return [regret is not None and regret.mean >= RATIO for regret in regrets]


def _extent(document: Document, low: _End, high: _End) -> Extent:
    texts = [str(get(_moved(document, end, end.holds), end.of.path)) for end in (low, high)]
    at_value = str(get(document, low.of.path))
    if low.holds == low.value:
        texts[0] = at_value
    if high.holds == high.value:
        texts[1] = at_value
    share = min(1.0, max(0.0, high.holds - low.holds))
    return Extent(named(document, low.of.path), texts[0], texts[1], share, low.is_open, high.is_open)


def likelihood(space: Space, document: Document, extents: Sequence[Extent]) -> float:
    """Return about how likely the space draws such a scenario: the extents, the parts that are there and the choices.

    Numbers are taken as independent, and parts that the finding does not need as free.
    """
    parts = [share for path, share in space.odds.items() if _is_there(document, path)]
    chosen = [
        each.values.count(value) / len(each.values)
        for each in space.choices
        if (value := get(document, each.path)) in each.values
    ]
    return prod([*(each.share for each in extents), *parts, *chosen])


def _is_there(document: Document, path: Path) -> bool:
    found = get(document, path)
    return found is not None
