"""Models and packet simulation compared: operating point, fluid trajectory and simulation of one scenario."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from aqmlab._core import Scenario, fluid
from aqmlab.analysis.loop import Loop
from aqmlab.analysis.op import OperatingPoint
from aqmlab.notebook import Sheet
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

    def sheet(self) -> Sheet:
        """Return each quantity at the operating point, in the fluid model and in the packets."""
        heads = ["", "Operating point", "Fluid, classic", "Fluid, refined", "Packets", "Refined vs packets"]
        rows = [
            ["Queue (packets)", *self._texts("queue_mean", self.point.queue)],
            ["Queue, standard deviation (packets)", *self._texts("queue_std")],
            ["Signalled (ratio)", *self._texts("p_mean", self.point.p)],
            ["Period of the queue (s)", *self._texts("period")],
        ]
        return Sheet(f"From {self.since:g} s on", heads, rows)

    def _texts(self, name: str, at_rest: float | None = None) -> list[str]:
        """Return a quantity as people read it: operating point, classic and refined fluid, packets, and their ratio."""
        classic, fluid, packets = (getattr(motion, name) for motion in (self.classic, self.fluid, self.packets))
        ratio = "–" if fluid is None or not packets or fluid < packets / 10 else f"{100 * (fluid / packets - 1):+.1f} %"
        return [*("–" if v is None else f"{v:.4g}" for v in (at_rest, classic, fluid, packets)), ratio]

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
