"""The fit of a link: from files to a twin with its intervals, its rivals, and its quality on what was left out."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab.fit import captures, readers
from aqmlab.fit.direction import DirectionFit, fit_direction
from aqmlab.fit.features import Scale, between
from aqmlab.fit.measurement import LinkDirection, Measurement
from aqmlab.fit.observation import Observation, Observations
from aqmlab.fit.observe import observed, unused
from aqmlab.fit.result import Fit, HeldOut
from aqmlab.fit.search import TwinSearch
from aqmlab.fit.segments import steps
from aqmlab.fit.trial import simulated
from aqmlab.fit.twin import Twin, TwinLink
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.runs.task import RunError

if TYPE_CHECKING:
    from aqmlab.fit.measurement import Floats

Progress = Callable[[float, int], None]

USED = 2 / 3
"""The part of a load that the fit uses; the rest tests the twin."""
MOST_PACKETS, LEAST_TIME = 600_000, 10.0
"""A fit uses at most so many packets of a load, but at least so many seconds."""
SHORTEST, FEWEST = 10.0, 20
"""The shortest load in s, and the fewest idle probes, from which a link is fitted."""
SHARES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Shares at which the distribution of the noise is kept."""
PASSES = 2
"""Fits of each direction if both are loaded at the same time: each needs the other."""
EXPECTED_RUNS = 150
"""About how many simulations a direction takes, for the progress."""


def fit(files: Iterable[str | os.PathLike[str]], *, jobs: int | None = None, progress: Progress | None = None) -> Fit:
    """Return the twin of the link that `files` measure, with `jobs` parallel simulations (default: one per core).

    Two captures of both ends are joined on one clock. If both directions are loaded at the same time, only their rates
    are identified. InputError for a file that is no measurement, FileNotFoundError if there is none. RunError if the
    measurement is too short or has no load; its message names the command that measures what is missing.
    """
    paths = [Path(each) for each in files]
    if not paths:
        raise InputError("file", "none given; expected at least one measurement")
    measurements = captures.together([readers.read(path) for path in paths])
    seen = observed(measurements)
    loads = _checked(seen)
    measurements = tuple(replace(each, unused=unused(each)) for each in measurements)
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        return _fitted(seen, loads, measurements, pool, progress or (lambda *_: None))


def _checked(seen: Observations) -> dict[LinkDirection, Observation]:
    """Return the longest load of each direction, if possible one alone. RunError if they do not suffice for a fit."""
    if not seen.loads:
        raise RunError("the files contain no transfer; measure one with probes around it (aqmlab fit --plan)")
    found: dict[LinkDirection, Observation] = {}
    for each in sorted(seen.loads, key=lambda each: (each.load.opposite is None, each.load.duration)):
        found[each.load.direction] = each
    for way, each in found.items():
        name = f"the {way}load"
        if each.load.duration < SHORTEST:
            raise RunError(
                f"{name} lasts {each.load.duration:.3g} s; a fit needs {SHORTEST:g} s, better 30 s (iperf3 -t 30)"
            )
        if len(between(each.probes, 0, each.load.duration)) < 2 * FEWEST:
            raise RunError(f"there are no round-trip times during {name}; run ping -D -i 0.02 at the same time")
    _check_senders(list(found.values()))
    if len(seen.idle) < FEWEST:
        count = len(seen.idle)
        raise RunError(f"{count} round-trip times of the idle line, not {FEWEST}; start ping 5 s before the transfer")
    return found


def _check_senders(loads: Sequence[Observation]) -> None:
    """InputError for senders that the simulator does not know."""
    from aqmlab.catalogue import laws

    known = [law.name for law in laws()]
    for each in loads:
        if each.load.controller not in known:
            raise unknown("file", "its senders use the congestion controller", each.load.controller, known)


def _fitted(
    seen: Observations,
    loads: Mapping[LinkDirection, Observation],
    measurements: tuple[Measurement, ...],
    pool: ThreadPoolExecutor,
    progress: Progress,
) -> Fit:
    base, interval = _base(seen.idle)
    scales = {way: _scale(each, base) for way, each in loads.items()}
    jitter = _jitter(seen.idle, base)
    links: dict[LinkDirection, TwinLink] = {}
    turns = [*loads] * (PASSES if any(each.load.opposite for each in loads.values()) else 1)
    total, done = EXPECTED_RUNS * len(turns), 0

    def place(way: LinkDirection, link: TwinLink) -> Twin:
        both = {each: link if each is way else links[each] for each in LinkDirection}
        return Twin(both, _propagation(base, both.values(), seen.size), jitter)

    searches = {
        way: TwinSearch(
            each, scales[way], partial(place, way), pool, lambda runs: progress(done + min(runs, EXPECTED_RUNS), total)
        )
        for way, each in loads.items()
    }
    for way in LinkDirection:
        links[way] = searches[way if way in searches else next(iter(searches))].starts()[0]
    found = {}
    for way in turns:
        _check_filled(searches[way], way)
        found[way] = fit_direction(searches[way])
        links[way] = found[way].best.link
        done += EXPECTED_RUNS
    twin = place(LinkDirection.down, links[LinkDirection.down])
    held = {way: _held_out(twin, each) for way, each in found.items() if each.scale.until < each.seen.load.duration}
    progress(total, total)
    return Fit(twin, base, interval, found, held, measurements)


def _scale(seen: Observation, base: float) -> Scale:
    """Return the scale of the part that the fit uses: all of a load whose rate changes, else the first two thirds."""
    whole = Scale.of(seen, base)
    if steps(seen, whole):
        return whole
    bounded = max(LEAST_TIME, 40 * base, MOST_PACKETS * 8 * 1500 / whole.rate)
    return Scale.of(seen, base, min(USED * seen.load.duration, bounded))


def _check_filled(search: TwinSearch, way: LinkDirection) -> None:
    """RunError if the transfers met neither a queue nor a loss, so that they say nothing about the link."""
    want = search.wanted
    waited = max(each for each in (want["probe 99"], want["srtt 95"], want["start delay"], 0.0) if isfinite(each))
    if waited < 0.02 * search.scale.base + 5e-4 and want.get("losses", 1.0) + want.get("start losses", 1.0) == 0:
        raise RunError(
            f"the {way}load filled no queue and lost nothing: it was limited elsewhere, such as by a window or the "
            "other end; use more streams (iperf3 -P 8)"
        )


def _base(idle: "Floats") -> tuple[float, tuple[float, float]]:
    """Return the smallest idle round-trip time and an interval: as far below as the next ones are above, and digits."""
    import numpy as np

    ordered = np.sort(idle)
    base = float(ordered[0])
    gap = float(ordered[min(len(ordered) - 1, 3)] - base)
    digit = 10 ** np.floor(np.log10(max(base * 1e3, 1e-2))) * 1e-3 / 200
    return base, (base - gap - digit, base + digit)


def _jitter(idle: "Floats", base: float) -> tuple[tuple[float, float], ...]:
    """Return the distribution of the noise; none if it is within the digits of the probes."""
    import numpy as np

    extra = np.quantile(idle - base, SHARES)
    if extra[-2] < max(2 * 10 ** np.floor(np.log10(max(base * 1e3, 1e-2))) * 1e-5, 2e-5):
        return ()
    last = {round(float(time), 7): share for time, share in zip(extra, SHARES, strict=True)}
    return tuple(last.items())


def _propagation(base: float, links: Iterable[TwinLink], size: int) -> float:
    """Return the round-trip propagation: without the time that a probe takes on both wires."""
    return max(1e-4, base - sum(8 * size / link.wire for link in links))


def _held_out(twin: Twin, found: DirectionFit) -> HeldOut:
    """Compare the last part of a load with a simulation of all of it."""
    import numpy as np

    load = replace(found.seen.load, lead=1.0)
    begin, end = max(found.scale.until, USED * load.duration), load.duration
    again = simulated(twin, load, 1)

    def seen(each: Observation) -> tuple[float, float, float]:
        delays = between(each.probes, begin, end) - found.scale.base
        inside = (each.goodput.start >= begin) & (each.goodput.end <= end)
        middle, high = np.percentile(delays, (50, 95)) if len(delays) else (np.nan, np.nan)
        return float(middle), float(high), float(np.mean(each.goodput.value[inside]))

    measured, predicted = seen(found.seen), seen(again)
    return HeldOut(*zip(measured, predicted, strict=True))
