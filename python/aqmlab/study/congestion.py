"""Levels of congestion (RFC 7928, section 8.2): the number of flows at which a scheme signals a given share."""

import os
from statistics import fmean

from aqmlab.runs.simulate import compare
from aqmlab.scenario import load


def find_flows(
    source: str | os.PathLike[str],
    loss: float,
    *,
    aqm: str = "droptail",
    group: str = "ftp",
    seeds: int = 3,
    precision: float = 0.02,
) -> int:
    """Return the minimum number of flows of `group` for which `aqm` drops or marks the share `loss` at the first link.

    RFC 7928, section 8.2, defines the level of congestion by DropTail's loss: 0.1 % is mild, 0.5 % medium, 1 % heavy.
    If `group` is "*", every group gets that number. The search is a bisection to one flow or to `precision`, whichever
    is coarser. It uses the mean over the seeds, since flows that overflow a buffer together make the loss of a single
    run uneven. The counts in the source are not used.
    """

    def signalled(count: int) -> float:
        scenario = load(source, {f"flows.{group}.count": str(count)})
        runs = compare(scenario, [aqm], seeds).runs.values()
        links = [run.links[scenario.links[0]] for run in runs]
        return fmean(link.drop_ratio + link.mark_ratio for link in links)

    low, high = 0, 1
    while signalled(high) < loss:
        low, high = high, 2 * high
    while high - low > max(1, precision * high):
        middle = (low + high) // 2
        low, high = (middle, high) if signalled(middle) < loss else (low, middle)
    return high
