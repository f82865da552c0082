"""The model of an access link: two directions, each a rate, a queue of some kind, and a buffer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aqmlab.fit.measurement import LinkDirection
from aqmlab.quantities import written

KINDS = ("drop-tail", "codel", "pie", "fq-codel", "dualpi2", "shaper", "policer")
"""Kinds of queues: five schemes, a token bucket before a drop-tail queue, and a token bucket without a queue."""
BUCKETS = ("shaper", "policer")
"""Kinds with a token bucket."""
SCHEMES = {"drop-tail": "droptail", "shaper": "droptail", "policer": "droptail"}
"""The scheme of a kind, if it is called otherwise."""
FULL = 1500
"""Bytes of a full packet."""
LARGEST_BUCKET = 1e8
"""Bytes of tokens; scenarios accept no more."""


def bucket(size: float) -> float:
    """Return the bytes of a bucket within its limits: two full packets, and LARGEST_BUCKET."""
    return min(LARGEST_BUCKET, max(2.0 * FULL, size))


@dataclass(frozen=True)
class TwinLink:
    """One direction of a link.

    `rate` in bit/s, of a shaper and a policer the rate of their tokens; `buffer` in packets; `burst` in bytes of tokens
    and `peak` in bit/s, the rate of the wire, of these two only. `loss` is the probability of a random loss. `steps`
    are changes of the rate: pairs of the time in s from which it holds and the factor of `rate`.
    """

    kind: str
    rate: float
    buffer: float
    burst: float = 0.0
    peak: float = 0.0
    loss: float = 0.0
    steps: tuple[tuple[float, float], ...] = ()

    @property
    def scheme(self) -> str:
        """The name of its scheme."""
        return SCHEMES.get(self.kind, self.kind)

    @property
    def wire(self) -> float:
        """The rate of the wire, bit/s."""
        return max(self.peak, self.rate) if self.kind in BUCKETS else self.rate

    def lines(self, name: str, begin: float) -> Iterator[str]:
        """Yield the lines of its table in a scenario; its `steps` count from `begin`, s."""
        yield f'[[links]]\nname = "{name}"'
        yield f"rate = {self._rate(begin)}"
        yield f'buffer = "{max(1, round(self.buffer))} packets"'
        yield f'aqm = "{self.scheme}"'
        if self.loss:
            yield f"loss = {self.loss:.3g}"
        if self.kind == "policer":
            yield f'policer = {{ rate = "{_rounded(self.rate)}", burst = "{self._burst} B" }}'

    def classes(self) -> Iterator[str]:
        """Yield the token bucket of a shaper, which follows the link in the file."""
        if self.kind == "shaper":
            yield f'[[links.classes]]\nname = "shaper"\nrate = "{_rounded(self.rate)}"'
            yield f'burst = "{self._burst} B"\ncburst = "{self._burst} B"'

    @property
    def _burst(self) -> int:
        return max(2 * FULL, round(self.burst))

    def _rate(self, begin: float) -> str:
        if not self.steps:
            return f'"{_rounded(self.wire)}"'
        times = [0.0, *(begin + time for time, _ in self.steps[1:])]
        rows = (
            f'["{written(at, "time")}", "{_rounded(self.rate * by)}"]'
            for at, (_, by) in zip(times, self.steps, strict=True)
        )
        return f"[{', '.join(rows)}]"


@dataclass(frozen=True)
class Twin:
    """An access link: both directions, the round-trip propagation `rtt` in s, and the noise of the delay.

    `jitter` is a cumulative distribution: pairs of an extra delay in s and the share of packets that do not exceed it.
    """

    links: Mapping[LinkDirection, TwinLink]
    rtt: float
    jitter: tuple[tuple[float, float], ...] = ()

    def tables(self, begin: float = 0.0) -> Iterator[str]:
        """Yield the links of a scenario; changes of their rates count from `begin`, s."""
        for direction, link in self.links.items():
            yield from link.lines(direction, begin)
            if self.jitter and direction is LinkDirection.down:
                pairs = ", ".join(f'["{written(round(time, 7), "time")}", {share:.3g}]' for time, share in self.jitter)
                yield f"jitter = {{ cdf = [{pairs}] }}"
            yield from link.classes()
            yield ""


def _rounded(rate: float) -> str:
    return written(float(f"{rate:.5g}"), "bit/s")
