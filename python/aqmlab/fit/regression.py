"""A step of the search: features as a linear function of the parameters, from simulations around a candidate.

The measured features then give the parameters by weighted regression, and the scatter of the simulations around the
linear function gives their covariance (regression adjustment in approximate Bayesian computation, Beaumont 2002).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, isfinite, log
from typing import TYPE_CHECKING

from aqmlab.fit.search import TwinSearch, TwinTrial
from aqmlab.fit.twin import BUCKETS, TwinLink, bucket

if TYPE_CHECKING:
    from aqmlab.fit.measurement import Floats

WIDTHS = {"rate": 0.02, "buffer": 0.12, "burst": 0.25, "peak": 0.25, "step": 0.04}
"""Standard deviation of each parameter's logarithm in the first step."""
FEW_LOSSES = 4
"""Lost packets of a load: the width of a random loss near 0."""
LOOSE = 2.0
"""The prior of a parameter, in widths: how far one step may move it."""
SIGNIFICANT = 2.0
"""Standard errors from which a slope narrows intervals: others would identify a parameter that has no effect."""
SURE = 0.7
"""Part of the prior's deviation above which a parameter is not identified."""


@dataclass(frozen=True)
class Estimate:
    """A candidate after a step, with the standard deviations of the identified parameters.

    `moved` is the largest move of a parameter in widths: after a long one, the linear function holds elsewhere.
    `scatter` is the standard deviation of each feature around that function, over as many seeds as simulations.
    """

    link: TwinLink
    deviations: Mapping[str, float]
    moved: float
    scatter: Mapping[str, float]


def parameters(link: TwinLink) -> dict[str, float]:
    """Return the free parameters of a candidate: logarithms, and the loss as a probability."""
    found = {"rate": log(link.rate), "buffer": log(link.buffer)}
    if link.kind in BUCKETS:
        found |= {"burst": log(link.burst), "peak": log(link.peak)}
    found |= {f"step {i}": log(by) for i, (_, by) in enumerate(link.steps) if i}
    return found | {"loss": link.loss}


def with_parameters(link: TwinLink, values: Mapping[str, float]) -> TwinLink:
    """Return a candidate with other parameters."""
    steps = tuple((at, exp(values[f"step {i}"]) if i else by) for i, (at, by) in enumerate(link.steps))
    rate = exp(values["rate"])
    found = replace(link, rate=rate, buffer=max(1.0, exp(values["buffer"])), loss=max(0.0, values["loss"]), steps=steps)
    if "burst" in values:
        burst, peak = bucket(exp(values["burst"])), max(1.1 * rate, exp(values["peak"]))
        found = replace(found, burst=burst, peak=peak)
    return found


def step(search: TwinSearch, link: TwinLink, runs: int, narrower: float, seed: int) -> Estimate:
    """Return the candidate that a linear function of its neighbourhood prefers; `runs` simulations, one seed each."""
    import numpy as np

    center = parameters(link)
    names = list(center)
    widths = np.asarray([_width(search, link, name) / narrower for name in names])
    draws = np.random.default_rng(seed).standard_normal((runs, len(names))).clip(-2, 2)
    points = np.asarray(list(center.values())) + draws * widths
    points[:, -1] = np.abs(points[:, -1])
    links = [with_parameters(link, dict(zip(names, point, strict=True))) for point in points]
    trials = search.each(links, seed + 1)
    actual = np.asarray([list(parameters(each).values()) for each in links])
    offsets = (actual - np.asarray(list(center.values()))) / widths
    moved, covariance, scatter = _solve(search, trials, offsets)
    values = {name: center[name] + float(moved[i] * widths[i]) for i, name in enumerate(names)}
    sure = {
        name: float(np.sqrt(covariance[i, i])) * float(widths[i])
        for i, name in enumerate(names)
        if covariance[i, i] ** 0.5 < SURE * LOOSE
    }
    return Estimate(with_parameters(link, values), sure, float(np.abs(moved).max()), scatter)


def _width(search: TwinSearch, link: TwinLink, name: str) -> float:
    if name == "loss":
        return max(link.loss / 2, FEW_LOSSES / search.packets)
    return WIDTHS[name.partition(" ")[0]]


def _solve(
    search: TwinSearch, trials: Sequence[TwinTrial], offsets: "Floats"
) -> "tuple[Floats, Floats, dict[str, float]]":
    """Return the offsets that explain the measurement best, their covariance, both in widths, and the scatter."""
    import numpy as np

    names = [name for name, value in search.wanted.items() if isfinite(value) and _known(trials, name)]
    found = np.asarray([[trial.mean(name) for name in names] for trial in trials])
    wanted = np.asarray([search.wanted[name] for name in names])
    found = np.where(np.isfinite(found), found, wanted)
    design = np.hstack([np.ones((len(offsets), 1)), offsets])
    coefficients, *_ = np.linalg.lstsq(design, found, rcond=None)
    scatter = found - design @ coefficients
    freedom = max(1, len(offsets) - design.shape[1])
    noise = scatter.T @ scatter / freedom
    tolerance = np.asarray([search.tolerance(name) for name in names])
    weights = 1 / (np.diag(noise) + tolerance**2)
    slopes, residual = coefficients[1:].T, wanted - coefficients[0]
    gain = _gain(slopes, weights)
    for _ in range(5):  # a feature that no candidate meets does not pull
        off = np.abs(residual - slopes @ (gain @ residual)) * np.sqrt(weights)
        robust = weights * np.minimum(1.0, 2.0 / np.maximum(off, 1e-9))
        gain = _gain(slopes, robust)
    moved = gain @ residual
    errors = np.sqrt(np.outer(np.diag(noise), np.diag(np.linalg.inv(design.T @ design))[1:]))
    known = np.where(np.abs(slopes) > SIGNIFICANT * errors, slopes, 0.0)
    gain = _gain(known, robust)
    shrunk = np.eye(len(moved)) - gain @ known  # the part that only the prior decides
    covariance = gain @ (noise + np.diag(tolerance**2)) @ gain.T + shrunk @ shrunk.T * LOOSE**2
    deviations = dict(zip(names, np.sqrt(np.diag(noise)).tolist(), strict=True))
    return np.clip(moved, -2 * LOOSE, 2 * LOOSE), covariance, deviations


def _gain(slopes: "Floats", weights: "Floats") -> "Floats":
    """Return the matrix that makes offsets of differences of features, with the prior."""
    import numpy as np

    weighted = slopes.T * weights
    gain: Floats = np.linalg.inv(weighted @ slopes + np.eye(slopes.shape[1]) / LOOSE**2) @ weighted
    return gain


def _known(trials: Sequence[TwinTrial], name: str) -> bool:
    values = [isfinite(trial.mean(name)) for trial in trials]
    return sum(values) > 0.9 * len(values)
