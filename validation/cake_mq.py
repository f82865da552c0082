"""Compare cake-mq with cake_mq of Linux 7.3 in virtual time: the rates of a full queue and of a stream in another.

`kernel/cake_mq.jsonl` contains the kernel's rates. Run as a program, it measures them again, in a minute, if a kernel
is built. The rates are chosen so that packets of the two queues do not synchronize.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kernel_guest

import aqmlab
from aqmlab import _core
from aqmlab.tc import netlink

HERE = Path(__file__).parent
ROWS = HERE / "kernel" / "cake_mq.jsonl"
PACKET = 1000
"""Bytes with all headers, 42 of them."""
TOLERANCE = 0.01
"""Of the bandwidth."""
FULL = 1.23
"""The load of the full queue, in bandwidths."""


@dataclass(frozen=True)
class Case:
    """A bandwidth (Mbit/s), and what of it the stream sends."""

    rate: float
    share: float

    @property
    def name(self) -> str:
        """The name of the case."""
        return f"{100 * self.share:g} % of {self.rate:g} Mbit/s"

    @property
    def times(self) -> tuple[float, float]:
        """When bytes count, s: of so many packets that the mean is steady."""
        return 0.5, 0.5 + max(1.0, 4000 * 8e-3 * PACKET / 1000 / self.rate)

    @property
    def offered(self) -> tuple[float, float]:
        """Mbit/s of the full queue and of the stream."""
        return FULL * self.rate, self.share * self.rate

    def ours(self) -> list[float]:
        """Return what each is given here, Mbit/s on the wire."""
        begin, end = self.times
        lines = ["schema = 1", f'duration = "{end} s"', f'warmup = "{begin} s"', "[[links]]", 'name = "card"']
        lines += ['rate = "100 Gbit/s"', 'buffer = "4 MB"', 'aqm = "cake-mq"']
        for i, rate in enumerate(self.offered):
            lines += ["[[flows]]", f'name = "{i}"', 'kind = "udp-cbr"', f'rate = "{rate} Mbit/s"', f"class = {i}"]
            lines += [f'packet = "{PACKET - 42} B"', 'header = "42 B"', 'rtt = "10 ms"']
        spec = f"cake-mq:queues=2,steering=classes,bandwidth={self.rate} Mbit/s"
        flows = aqmlab.run(_core.Scenario.parse("\n".join(lines), self.name, []), spec).flows
        return [flows[name].goodput * PACKET / (PACKET - 42) / 1e6 for name in ("0", "1")]

    def order(self) -> dict[str, Any]:
        """Return it as the guest reads it."""
        options = netlink.queue(f"cake:bandwidth={self.rate} Mbit/s", 1e11, "4 MB", True, 1514).options
        begin, end = self.times
        return {"name": self.name, "options": options.hex(), "offered": self.offered, "begin": begin, "end": end}


CASES = [Case(rate, share) for rate in (5, 20, 100, 500) for share in (0.011, 0.093, 0.207, 0.391)]


def rows() -> dict[str, list[float]]:
    """Return what the kernel gave each, Mbit/s, by case."""
    return kernel_guest.given(ROWS)


def differing(case: Case, given: list[float]) -> list[str]:
    """Say which of the two is given another rate here than in the kernel."""
    pairs = zip(("full queue", "stream"), given, case.ours(), strict=True)
    return [
        f"{case.name}, {name}: {theirs:.3f} / {ours:.3f} Mbit/s"
        for name, theirs, ours in pairs
        if abs(ours - theirs) > TOLERANCE * case.rate
    ]


if __name__ == "__main__":
    kernel_guest.measure("cake_mq_guest.py", [case.order() for case in CASES], ROWS)
    for each in CASES:
        print(*(differing(each, rows()[each.name]) or [f"{each.name}: agrees"]), sep="\n")
