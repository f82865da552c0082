"""A simple controller by delay: less rate while pings are late, more while they are not and the link is busy."""

from collections import deque
from collections.abc import Sequence

from aqmlab.control.controller import Observed, RateController, Shaper
from aqmlab.own import Param


class Delay(RateController):
    """Steers the delay of pings above the minimum of the last minute to a target, by a share of the rate per step."""

    name = "delay"
    every = "100 ms"

    target = Param("15 ms", ("1 us", "10 s"), doc="target delay of a round trip above its minimum")
    gain = Param(0.05, (0, 1), doc="maximum change per step, as a share of the rate")
    memory = Param("60 s", ("1 s", "10000 s"), doc="time for which a minimum round trip is valid")
    busy = Param(0.75, (0, 1), doc="load from which a rate is raised")

    def start(self, shapers: Sequence[Shaper]) -> None:  # noqa: ARG002
        """Begin without a ping."""
        self.delays: deque[tuple[float, float]] = deque()

    def decide(self, seen: Observed, shapers: Sequence[Shaper]) -> None:
        """Change each rate by `gain` times how far the delay is from the target, as a share of it, 1 at most."""
        if seen.delay is None:
            return
        self.delays.append((seen.now, seen.delay))
        while self.delays[0][0] < seen.now - self.memory:
            self.delays.popleft()
        late = seen.delay - min(delay for _, delay in self.delays)
        error = min(1.0, (late - self.target) / self.target)
        for shaper in shapers:
            if error > 0 or shaper.load > self.busy:
                shaper.rate *= 1 - self.gain * error
