"""Models and packet simulation compared: operating point, fluid trajectory and simulation of one scenario."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from aqmlab._core import Scenario, fluid
from aqmlab.analysis.loop import Loop
from aqmlab.analysis.op import OperatingPoint
from aqmlab.runs import simulate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Real = NDArray[np.float64]


@dataclass(frozen=True)
class Motion:
    """A trajectory (s, packets, ratio) and its summary over the time that counts.

    Mean and standard deviation of the queue in packets, share of offered packets that were signalled, period of the
    queue's strongest oscillation in s.
    """

    time: "Real"
    queue: "Real"
    p: "Real"
    queue_mean: float
    queue_std: float
    p_mean: float
    period: float | None

    def document(self) -> dict[str, float | None]:
        """Return the numbers for JSON."""
        names = ("queue_mean", "queue_std", "p_mean", "period")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Beside:
    """Packets and fluid of a scenario under a scheme, from `since` (s) on, and the predicted operating point.

    `fluid` uses refined windows, `classic` the published ones.
    """

    scheme: str
    point: OperatingPoint
    since: float
    packets: Motion
    fluid: Motion
    classic: Motion

    @property
    def remark(self) -> str:
        """The remark that the figure's reader needs."""
        error = 100 * (self.fluid.queue_mean / self.packets.queue_mean - 1)
        return f"mean queue from {self.since:g} s on: the fluid model differs by {error:+.1f} % from the packets"

    def rows(self) -> list[tuple[str, str, list[float | None]]]:
        """Return each quantity's name, unit and values: operating point, classic fluid, refined fluid, packets."""
        return [
            ("queue", "packets", [self.point.queue, *self._of("queue_mean")]),
            ("queue, standard deviation", "packets", [None, *self._of("queue_std")]),
            ("signalled", "ratio", [self.point.p, *self._of("p_mean")]),
            ("period of the queue", "s", [None, *self._of("period")]),
        ]

    def _of(self, name: str) -> tuple[float | None, ...]:
        return tuple(getattr(motion, name) for motion in (self.classic, self.fluid, self.packets))

    def document(self) -> dict[str, Any]:
        """Return the numbers for JSON, with the fluid's differences from the packets as ratios."""
        packets, refined = self.packets, self.fluid
        return {
            "since": self.since,
            "packets": packets.document(),
            "fluid": refined.document(),
            "fluid_classic": self.classic.document(),
            "difference": {
                "queue_mean": refined.queue_mean / packets.queue_mean - 1,
                "p_mean": refined.p_mean / packets.p_mean - 1 if packets.p_mean else None,
            },
        }


def beside(scenario: Scenario, aqm: str, loop: Loop, seed: int = 1) -> Beside:
    """Simulate a scenario whose warm-up is set, and solve its fluid model, under the scheme of a loop."""
    run = simulate.run(scenario, aqm, seed, series=True)
    [link] = run.links.values()
    [series] = run.series.values()
    since = scenario.warmup
    late = series["time"] >= since
    packets = Motion(
        series["time"],
        series["queue"],
        series["p"] / loop.law.spacing,
        link.queue_mean,
        link.queue_std,
        link.drop_ratio + link.mark_ratio,
        period(series["queue"][late], scenario.sample),
    )
    return Beside(aqm, loop.point, since, packets, _fluid(scenario, aqm, "refined"), _fluid(scenario, aqm, "classic"))


def _fluid(scenario: Scenario, aqm: str, windows: str) -> Motion:
    found = fluid(scenario, aqm, series=True, windows=windows)
    summary, series = found.document()["summary"], found.series()
    moves = not summary["oscillation"]["settles"]
    return Motion(
        series["time"],
        series["queue"],
        series["p"],
        summary["queue_mean"],
        summary["queue_std"],
        summary["p_mean"],
        summary["oscillation"]["period"] if moves else None,
    )


def period(queue: "Real", sample: float) -> float | None:
    """Return the period at which a queue has most power an octave, s; None if it does not move.

    By Welch's method over windows of a quarter of the time; per octave, as slow noise has most power per hertz.
    """
    from scipy.signal import welch

    if np.ptp(queue) == 0:
        return None
    frequencies, power = welch(queue, fs=1 / sample, nperseg=max(16, len(queue) // 4))
    return float(1 / frequencies[1:][np.argmax(frequencies[1:] * power[1:])])
