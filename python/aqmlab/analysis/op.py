"""The operating point: the queue, the windows and the share of signalled packets in equilibrium.

Misra, Gong & Towsley (SIGCOMM 2000): if a share p of the packets is signalled and each signal halves a window,

    `0 = 1/R_i - W_i^2/(2 R_i) p          W_i = sqrt(2/p)`, in each class i
    `0 = (1 - d p) sum_i N_i W_i/R_i - C  R_i = T_i + q/C`

d is 1 where signals are drops, whose packets do not join the queue, and 0 where they are marks. These windows are
"classic".

Windows of different flows differ, though, and a large one meets more signals than a small one; none grows in the round
trip of its recovery; and a sender sends whole segments. "refined" windows follow the fluid model: they grow by
`W/(W + 1/2)` per round trip and lose `SPREAD/2 (W + 1/2) + 1` at a signal.
"""

from dataclasses import dataclass
from math import isinf

from aqmlab._core import Law, Windows
from aqmlab.analysis.network import Network
from aqmlab.problems import InputError

LEAST_P = 1e-9

LEAST_AFTER_HALVING = {False: 4.0, True: 2.0}
"""Packets that a halved window must have, by ECN.

A drop is repaired without a timeout if three packets after it arrive (RFC 5681, section 3.2; Padhye et al., SIGCOMM
1998, section II-B). A mark is answered as the model has it while the halved window is two packets or more
(RFC 3168, section 6.1.2).
"""

MOST_P = {ecn: 2 / (2 * least) ** 2 for ecn, least in LEAST_AFTER_HALVING.items()}
"""The same as a share of signalled packets: 3.1 % of drops, 12.5 % of marks."""


CLASSIC, REFINED = Windows("classic"), Windows("refined")
"""How windows move."""


@dataclass(frozen=True)
class OperatingPoint:
    """Operating point: share signalled, queue (packets), window (packets), round-trip time of each class (s)."""

    network: Network
    p: float
    queue: float
    window: float
    rtts: tuple[float, ...]
    windows: Windows = CLASSIC

    @property
    def lost(self) -> float:
        """Share of offered packets that does not join the queue."""
        return 0.0 if self.network.ecn else self.p

    @property
    def offered(self) -> float:
        """Packets per second that ask to join."""
        return self.network.capacity / (1 - self.lost)

    @property
    def rtt(self) -> float:
        """Round-trip time, mean over the flows, s."""
        pairs = zip(self.network.classes, self.rtts, strict=True)
        return sum(each.flows * rtt for each, rtt in pairs) / self.network.flows

    def doubts(self) -> list[str]:
        """Return why the model does not hold here; nothing if it does."""
        least = LEAST_AFTER_HALVING[self.network.ecn]
        if self.window / 2 >= least:
            return []
        limit = f"p = {100 * self.p:.3g} % is above {100 * MOST_P[self.network.ecn]:.1f} %"
        halved = f"a halved window has {self.window / 2:.2g} packets"
        if self.network.ecn:
            return [f"{limit}: {halved}, too few to be halved again; senders then wait for their timers"]
        return [
            f"{limit}: {halved}, and three duplicate ACKs take {least:.0f}; "
            "losses then end in timeouts, which are not modelled"
        ]


def solve(network: Network, law: Law, windows: Windows = CLASSIC) -> OperatingPoint:
    """Return the operating point of a scheme in a network, by Brent's method over p.

    InputError where there is none: the flows cannot fill the link, no p is enough, or the queue does not fit.
    """
    from scipy.optimize import brentq

    def arrivals(p: float) -> float:
        """Packets per second that join."""
        queue = law.queue(p, network)
        window = windows.at(p)
        rates = (each.flows * window / (each.rtt + queue / network.capacity) for each in network.classes)
        return 0.0 if isinf(queue) else sum(rates) * (1 if network.ecn else 1 - p)

    if arrivals(LEAST_P) < network.capacity:
        raise InputError("operating point", "none, the flows cannot fill the link; nothing needs to be signalled")
    if arrivals(1.0) > network.capacity:
        raise InputError(
            "operating point",
            f"none, with every packet marked the {network.flows:g} flows still offer "
            f"{arrivals(1.0) / network.capacity:.2f} of the capacity; fewer flows, or drops",
        )
    p = brentq(lambda p: arrivals(p) - network.capacity, LEAST_P, 1.0, xtol=1e-15, rtol=1e-12)
    if isinf(law.queue(p * (1 + 1e-6), network)):
        raise InputError(
            "operating point",
            f"none, {law.name} signals {100 * p:.3g} % at most before it drops everything, and more "
            "is needed; raise max_p",
        )
    return _point(network, law, p, windows)


def _point(network: Network, law: Law, p: float, windows: Windows) -> OperatingPoint:
    queue, window = law.queue(p, network), windows.at(p)
    if not 0 < queue <= network.buffer:
        raise InputError(
            "operating point",
            f"none, {law.name} settles at {queue:.4g} packets; "
            f"the queue has 0 to {network.buffer:g}; change the target, the thresholds or the buffer",
        )
    if window > network.window:
        raise InputError(
            "operating point",
            f"none, the flows need windows of {window:.4g} packets and the receivers' have "
            f"{network.window:g}; nothing needs to be signalled",
        )
    rtts = tuple(each.rtt + queue / network.capacity for each in network.classes)
    return OperatingPoint(network, p, queue, window, rtts, windows)
