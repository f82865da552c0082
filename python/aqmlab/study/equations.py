"""Published equations of congestion controllers: the mean window over loss or marks, and the mean queue over flows."""

from collections.abc import Callable, Mapping
from math import sqrt
from typing import NamedTuple


class Equation(NamedTuple):
    """A published equation: its source, and the mean window in segments for p, RTT in s, and the link's product."""

    source: str
    window: Callable[[float, float, float], float | None]


def reno(p: float) -> float:
    """Independent losses, an ACK for each segment (Ott, Kemperman & Mathis 1996); equal distances give sqrt(1.5/p)."""
    return 1.3098 / sqrt(p)


def cubic(p: float, rtt: float) -> float:
    """RFC 9438, eq. 5, or Reno's function if that is larger (4.3): for equal distances between losses."""
    return max(1.0538 * float((rtt / p) ** 0.75), sqrt(1.5 / p))


def scalable(p: float) -> float:
    """A reduction of p/2 every W + 1/p segments, and (1 - p)/W for each segment in between; see docs/tcp/dctcp.md."""
    return ((1 - p) + sqrt((1 - p) ** 2 + 2 * (1 - p))) / p


RENO = Equation("1.31/sqrt(p), Ott, Kemperman & Mathis 1996", lambda p, _rtt, _full: reno(p))
CUBIC = Equation("RFC 9438, eq. 5", lambda p, rtt, _full: cubic(p, rtt))
SCALABLE = Equation("scalable: docs/tcp/dctcp.md", lambda p, _rtt, _full: scalable(p))

EQUATIONS: Mapping[str, Equation] = {
    "reno": RENO,
    "cubic": CUBIC,
    "dctcp": SCALABLE,
    "prague": SCALABLE,
    "bbr": Equation(
        "(1 - p) of the link up to 20 %, Cardwell et al. 2017",
        lambda p, _rtt, full: (1 - p) * full if p <= 0.2 else None,
    ),
    "bbr3": Equation(
        "(1 - p) of the link below the loss threshold of 2 %, Cardwell et al. 2017",
        lambda p, _rtt, full: (1 - p) * full if p < 0.02 else None,
    ),
}
"""By controller, with its default parameters."""

QUEUES: Mapping[str, tuple[str, Callable[[int], float]]] = {
    "copa": ("1/delta packets per flow, Arun & Balakrishnan 2018, section 3", lambda flows: 2.0 * flows)
}
"""By controller: the source of the mean queue in packets, and the queue of a number of flows."""
