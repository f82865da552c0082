"""The ellipse of a cloud of points: the region of the mean, or the spread of the runs."""

from math import pi, sqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FEWEST_FOR_MEAN, FEWEST_FOR_SPREAD = 4, 3
"""Points from which on an ellipse is drawn. The region of the mean of three points is 16 standard deviations wide."""


def of_mean(points: "Array", share: float = 0.95) -> "Array | None":
    """Return the confidence ellipse of the mean of independent points, a closed line of (x, y).

    Under a normal distribution it covers the true mean with probability `share`. It contains each m with
    `n (x̄ - m)ᵀ S⁻¹ (x̄ - m) ≤ 2 (n - 1) / (n - 2) F(2, n - 2)`, S being the covariance of the n points (Hotelling's T²;
    Johnson & Wichern, Applied Multivariate Statistical Analysis, section 5.4). It is the t-interval in two dimensions.
    None for fewer than `FEWEST_FOR_MEAN` points.
    """
    n = len(points)
    if n < FEWEST_FOR_MEAN:
        return None
    from scipy.special import fdtri

    radius = sqrt(2 * (n - 1) / (n * (n - 2)) * float(fdtri(2, n - 2, share)))
    return _contour(points, np.cov(points, rowvar=False), radius)


def of_spread(points: "Array") -> "Array | None":
    """Return the 1-sigma ellipse of a sample, a closed line of (x, y); None for fewer than `FEWEST_FOR_SPREAD` points.

    The contour at one standard deviation of the maximum-likelihood Gaussian (RFC 7928, section 2.7), after Winstein,
    Transport architectures for an evolving Internet, PhD thesis, MIT 2014. Its covariance is the sample covariance with
    n in the denominator.
    """
    if len(points) < FEWEST_FOR_SPREAD:
        return None
    return _contour(points, np.cov(points, rowvar=False, bias=True), 1.0)


def _contour(points: "Array", covariance: "Array", radius: float, corners: int = 72) -> "Array":
    """Return the points at `radius` standard deviations from the mean, as a closed line."""
    variances, axes = np.linalg.eigh(covariance)
    angles = np.linspace(0, 2 * pi, corners + 1)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    # Rounding may leave a variance just below 0 where one measure does not vary at all.
    spread: Array = axes @ (np.sqrt(np.maximum(variances, 0.0))[:, None] * circle)
    line: Array = points.mean(axis=0) + radius * spread.T
    return line
