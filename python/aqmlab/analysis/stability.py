"""The stability ranges of NPD-RED's two gains, by the Routh array of Xiong et al. 2010, section 3.2.

The paper linearises the fluid model of N TCP flows over a link of capacity C with round trip R and buffer B, closes the
loop with its eq. (3) and takes e^-x as `1 - x + x^2/2`, for the round trip and for the controller's step "t - 1", which
it counts as one unit of time. The rest is a polynomial of fourth order, eqs. (12) to (18), stable where all
elements of the Routh array's first column are positive, eq. (19). C and B may be in any unit, packets or bits, as long
as it is the same; the gains are then in that unit too.
"""

from collections.abc import Callable
from math import nan

import numpy as np
from numpy.polynomial import Polynomial


def coefficients(kp: Polynomial, kd: float, n: float, r: float, c: float, b: float) -> list[Polynomial]:
    """Return a0 to a4 of eqs. (13) to (17), as polynomials in K_p."""
    g = r * c**2 / (2 * n**2 * b)
    return [
        g * kp,
        2 / (r**2 * c) + g * kd - g * r * kp,
        1 / n + 2 / (r * c) - g * kd * (1 / 2 + r) + g * r**2 / 2 * kp,
        r / n + g * r / 2 * (1 + r) * kd + 0 * kp,
        -g * r**2 / 4 * kd + 0 * kp,
    ]


def kd_lower(n: float, r: float, c: float, b: float, **_: float) -> float:
    """Return the lower bound of K_d, eq. (22); the upper one is 0, eq. (20). A K_d given along is ignored."""
    return -4 * n * b / (r * c**2 * (1 + r))


def kp_range(n: float, r: float, c: float, b: float, kd: float) -> tuple[float, float] | None:
    """Return the ends between which K_p is stable for a given K_d, by eq. (19); None where no positive K_p is.

    The paper has eq. (33), K_p > 0, for the lower end. Close to K_d's lower bound it is above 0.
    """
    terms = coefficients(Polynomial([0, 1]), kd, n, r, c, b)
    a0, a1, a2, a3, a4 = terms
    needed = [*terms, a1 * a2 * a3 - a1**2 * a4 - a0 * a3**2]
    roots = np.concatenate([each.roots() for each in needed])
    ends = np.unique([0.0, *(root.real for root in roots if root.imag == 0 and root.real > 0)])
    middles = zip(ends, [*ends[1:], 2 * ends[-1] + 1], strict=True)
    stable = [(low, high) for low, high in middles if all(each((low + high) / 2) > 0 for each in needed)]
    return (float(stable[0][0]), float(stable[-1][1])) if stable else None


def kp_upper(n: float, r: float, c: float, b: float, kd: float) -> float:
    """Return the upper bound of K_p for a given K_d, eqs. (28) to (31); not a number where no K_p > 0 is stable."""
    found = kp_range(n, r, c, b, kd)
    return nan if found is None else found[1]


BOUNDS: dict[str, Callable[..., float]] = {"kd_lower": kd_lower, "kp_upper": kp_upper}
"""The bounds by the name a study gives them."""
