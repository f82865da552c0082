"""Steps of a rate over time, found in the goodput."""

from itertools import pairwise
from typing import TYPE_CHECKING

from aqmlab.fit.features import Scale, mode, rates
from aqmlab.fit.observation import Observation

if TYPE_CHECKING:
    from aqmlab.fit.measurement import Floats

PIECE = 0.5
"""Time over which a rate is a mean, s."""
FEWEST = 4
"""Pieces between two steps."""
APART = 0.1
"""The smallest relative change that is a step."""
PRICE = 8.0
"""The square root of the price of a level, in standard deviations of the noise."""
MOST = 8
"""The maximum number of levels."""


def steps(seen: Observation, scale: Scale) -> tuple[tuple[float, float], ...]:
    """Return the levels of the goodput: the time from which each holds, s, and bit/s. Empty if it is constant."""
    load = seen.load
    begin, width = scale.settled / 2, max(1, round(PIECE / load.report))
    fine = rates(seen.goodput, load.report, begin, load.duration)
    pieces = fine[: len(fine) // width * width].reshape(-1, width).mean(axis=1)
    if len(pieces) < 2 * FEWEST:
        return ()
    edges = _edges(_smoothed(pieces))
    levels = [mode(pieces[a:b]) for a, b in pairwise(edges)]
    kept = [(0.0, levels[0])]
    for edge, level in zip(edges[1:-1], levels[1:], strict=True):
        if abs(level - kept[-1][1]) > APART * max(level, kept[-1][1]):
            kept.append((begin + edge * width * load.report, level))
    return tuple(kept) if 1 < len(kept) <= MOST and min(levels) > 0 else ()


def _smoothed(pieces: "Floats") -> "Floats":
    """Return medians of three: data that waited for a retransmission arrive at once."""
    import numpy as np

    padded = np.concatenate([pieces[:1], pieces, pieces[-1:]])
    return np.asarray(np.median(np.stack([padded[:-2], padded[1:-1], padded[2:]]), axis=0), dtype=np.float64)


def _edges(pieces: "Floats") -> list[int]:
    """Return the ends of the levels that explain the pieces with the smallest squares, with a price for each level."""
    import numpy as np

    count = len(pieces)
    noise = max(float(np.median(np.abs(np.diff(pieces)))) / 0.954, 0.01 * float(np.mean(pieces)))
    first, second = (np.concatenate([[0.0], np.cumsum(pieces**power)]) for power in (1, 2))
    best, before = np.full(count + 1, np.inf), np.zeros(count + 1, dtype=int)
    best[0] = 0.0
    for end in range(FEWEST, count + 1):
        begin = np.arange(0, end - FEWEST + 1)
        squares = second[end] - second[begin] - (first[end] - first[begin]) ** 2 / (end - begin)
        total = best[begin] + squares + (PRICE * noise) ** 2
        before[end], best[end] = int(np.argmin(total)), float(np.min(total))
    edges = [count]
    while edges[-1]:
        edges.append(int(before[edges[-1]]))
    return edges[::-1]
