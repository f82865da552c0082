"""Levels of congestion (RFC 7928, section 8.2): how many flows make DropTail lose a given share."""

import os
from statistics import fmean

from aqmlab.runs.simulate import compare
from aqmlab.scenario import load


def find_flows(
    source: str | os.PathLike[str], loss: float, *, group: str = "ftp", seeds: int = 3, precision: float = 0.02
) -> int:
    """Return the number of flows of `group` for which DropTail loses the share `loss` at the first link.

    This is how RFC 7928, section 8.2, sets the level of congestion: 0.1 % is mild, 0.5 % medium, 1 % heavy. Found by
    bisection to one flow or to `precision`, whichever is coarser, on the mean over the seeds, as flows that overflow a
    buffer together make the loss of one run uneven. The source's own count is not used.
    """

    def drop_ratio(count: int) -> float:
        scenario = load(source, {f"flows.{group}.count": str(count)})
        runs = compare(scenario, ["droptail"], seeds).runs.values()
        return fmean(run.links[scenario.links[0]].drop_ratio for run in runs)

    low, high = 0, 1
    while drop_ratio(high) < loss:
        low, high = high, 2 * high
    while high - low > max(1, precision * high):
        middle = (low + high) // 2
        low, high = (middle, high) if drop_ratio(middle) < loss else (low, middle)
    return high
