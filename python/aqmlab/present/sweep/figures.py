"""The numbers behind the figures of a sweep, however they are drawn: clouds of runs, dots, lines, curves over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import pi, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aqmlab._core import InputError
from aqmlab.names import unknown
from aqmlab.runs.columns import StoreError
from aqmlab.runs.findings import MEASURES, Case, Findings, check_measure, label
from aqmlab.runs.grid import number
from aqmlab.runs.metrics import Metric
from aqmlab.runs.statistics import Ranking, Summary, summarise

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

DELAY, GOODPUT, JAIN, SETTLING = "link.queue_delay_mean", "total.goodput", "total.jain", "link.settling_time"

FEWEST = 4
"""Runs from which on an ellipse is drawn: that of three runs is 16 standard deviations wide."""


@dataclass(frozen=True)
class Cloud:
    """The runs of one scheme in a plane, their mean, and the ellipse around it as a closed line, None for few runs."""

    points: "Array"
    seeds: Sequence[int]
    mean: "Array"
    ellipse: "Array | None"


@dataclass(frozen=True)
class Scatter:
    """One measure against another, a cloud for each scheme, in the units people read."""

    x: Metric
    y: Metric
    clouds: Mapping[str, Cloud]


@dataclass(frozen=True)
class Dots:
    """One measure: the value of each seed by scheme, with mean and interval, in the units people read."""

    metric: Metric
    values: Mapping[str, Mapping[int, float]]
    summaries: Mapping[str, Summary]


@dataclass(frozen=True)
class Lines:
    """A measure against what was varied: means by scheme and x, one panel for each case that is otherwise alike."""

    metric: Metric
    label: str
    panels: Mapping[str, Mapping[str, Mapping[float, Summary]]]


@dataclass(frozen=True)
class Stored:
    """What is stored of one run beside its row: columns by name; `seed` says which run it was."""

    seed: int
    columns: Mapping[str, "Array"] = field(repr=False)


def ellipse(points: "Array", share: float = 0.95, corners: int = 72) -> "Array | None":
    """Return the confidence ellipse of the mean of independent points as a closed line of (x, y).

    Under a normal distribution it covers the true mean with probability `share`: the m with
    n (x̄ - m)ᵀ S⁻¹ (x̄ - m) ≤ 2 (n - 1) / (n - 2) F(2, n - 2), S being the covariance of the n points (Hotelling's T²;
    Johnson & Wichern, Applied Multivariate Statistical Analysis, section 5.4). In two dimensions it is what the
    t-interval is in one. None for fewer than `FEWEST` points.
    """
    n = len(points)
    if n < FEWEST:
        return None
    from scipy.stats import f

    radius = sqrt(2 * (n - 1) / (n * (n - 2)) * float(f.ppf(share, 2, n - 2)))
    variances, axes = np.linalg.eigh(np.cov(points, rowvar=False))
    angles = np.linspace(0, 2 * pi, corners + 1)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    # Rounding may leave a variance just below 0 where one measure does not vary at all.
    spread: Array = axes @ (np.sqrt(np.maximum(variances, 0.0))[:, None] * circle)
    line: Array = points.mean(axis=0) + radius * spread.T
    return line


def scatter(found: Findings, case: Case, x: str = DELAY, y: str = GOODPUT) -> Scatter:
    """Return the runs of a case in the plane of two measures; without the schemes that lack one of them."""
    clouds = {}
    for scheme in found.schemes:
        across, up = (_shown(found, case, scheme, measure) for measure in (x, y))
        seeds = [seed for seed in across if seed in up]
        if seeds:
            points = np.array([(across[seed], up[seed]) for seed in seeds])
            clouds[scheme] = Cloud(points, seeds, points.mean(axis=0), ellipse(points))
    return Scatter(MEASURES[x], MEASURES[y], clouds)


def dots(found: Findings, case: Case, measure: str) -> Dots:
    """Return a measure of each run of a case; without the schemes that have no value."""
    values = {scheme: got for scheme in found.schemes if (got := _shown(found, case, scheme, measure))}
    return Dots(MEASURES[measure], values, {scheme: summarise(list(got.values())) for scheme, got in values.items()})


def lines(found: Findings, measure: str, against: str, scenario: str | None = None) -> Lines:
    """Return a measure against a value that was varied: "set.PATH", or "SCHEME.PARAMETER".

    Schemes are told apart by what else they were given, panels by scenario and what else was set. `scenario` leaves
    those panels only whose name begins with it. InputError for what was not varied or is no number.
    """
    check_measure(found, measure)
    xs = _positions(found, against)
    panels: dict[str, dict[str, dict[float, Summary]]] = {}
    for case in found.cases.values():
        rest = ", ".join([case.scenario, *_others(found, case, against)])
        for scheme in found.schemes:
            row = next(iter(found.runs(case, scheme).values()), {})
            summary = found.summary(case, scheme, measure)
            if row.get(against) is not None and summary:
                line = panels.setdefault(rest, {}).setdefault(_without(scheme, against), {})
                line[xs[str(row[against])][0]] = summary.scaled(MEASURES[measure].shown.scale)
    if scenario is not None:
        panels = {name: panel for name, panel in panels.items() if f"{name}, ".startswith(f"{scenario}, ")}
        if not panels:
            raise unknown("scenario", "nothing is drawn of", scenario, {case.scenario for case in found.cases.values()})
    unit = next(iter(xs.values()))[1]
    return Lines(MEASURES[measure], f"{against.removeprefix('set.')}{f' ({unit})' if unit else ''}", panels)


def cliques(ranking: Ranking) -> list[list[str]]:
    """Return the largest groups of schemes whose mean ranks lie within the critical difference: not told apart.

    Each from the best to the worst; a scheme alone is no group (Demšar 2006, figure 1).
    """
    order = sorted(ranking.ranks, key=ranking.ranks.__getitem__)
    groups: list[list[str]] = []
    for i, first in enumerate(order):
        group = [name for name in order[i:] if ranking.ranks[name] - ranking.ranks[first] <= ranking.critical]
        if len(group) > 1 and not (groups and group[-1] == groups[-1][-1]):
            groups.append(group)
    return groups


def stored(found: Findings, what: str, columns: Sequence[str], cases: Sequence[Case]) -> dict[tuple[Case, str], Stored]:
    """Return what is stored in the folder `what` (series or delays) of the first link, by case and scheme.

    Of several stored runs of a scheme in a case, the one of the lowest seed. Empty if nothing is stored. Raises
    StoreError for a file that is damaged.
    """
    runs = {row["key"]: (case, scheme, seed) for case, scheme, seed, row in _done(found, cases)}
    kept: dict[tuple[Case, str], Stored] = {}
    for path in sorted((found.folder / what).glob("[!.]*.parquet")):
        for (key, link), part in _read(path, ["key", "link", *columns]).groupby(["key", "link"], sort=False):
            case, scheme, seed = runs.get(key, (None, "", 0))
            if case and link == case.link and ((case, scheme) not in kept or seed < kept[case, scheme].seed):
                kept[case, scheme] = Stored(seed, {name: part[name].to_numpy(float) for name in columns})
    return kept


def _read(path: Path, columns: Sequence[str]) -> "pd.DataFrame":
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(path).read(columns=columns).to_pandas()[columns]  # type: ignore[no-any-return]
    except (OSError, KeyError, pa.ArrowException) as error:
        why = str(error).splitlines()[0]
        raise StoreError(
            f"{path}: cannot be read ({why}); delete it, and get it again by: aqmlab sweep --resume --series"
        ) from error


def _done(found: Findings, cases: Sequence[Case]) -> list[tuple[Case, str, int, Mapping[str, Any]]]:
    return [
        (case, scheme, seed, row)
        for case in cases
        for scheme in found.schemes
        for seed, row in found.runs(case, scheme).items()
    ]


def _shown(found: Findings, case: Case, scheme: str, measure: str) -> dict[int, float]:
    """A measure by seed in the unit people read."""
    scale = MEASURES[measure].shown.scale
    return {seed: scale * value for seed, value in found.values(case, scheme, measure).items()}


def _positions(found: Findings, against: str) -> dict[str, tuple[float, str]]:
    """Return where each value lies on the abscissa, with its unit; InputError unless all are numbers in one unit."""
    if against not in found.varied:
        if not found.varied:
            raise InputError(f"against: {against}: this sweep varies nothing but scenarios, schemes and seeds")
        raise unknown("against", "was not varied:", against, found.varied)
    read = {text: number(text) for text in found.varied[against]}
    xs = {text: position for text, position in read.items() if position}
    if len(xs) < len(read) or len({unit for _, unit in xs.values()}) > 1:
        raise InputError(f"against: {against}: {', '.join(read)}: expected numbers in one unit")
    return xs


def _others(found: Findings, case: Case, against: str) -> list[str]:
    """What else is varied of a case."""
    return [
        f"{path}={value}"
        for path, value in case.overrides
        if f"set.{path}" in found.varied and f"set.{path}" != against
    ]


def _without(scheme: str, against: str) -> str:
    """The title of a scheme without the parameter on the abscissa."""
    name, _, given = scheme.partition(":")
    kept = [pair for pair in given.split(",") if pair and f"{name}.{pair.partition('=')[0].strip()}" != against]
    return label(name + (f":{','.join(kept)}" if kept else ""))
