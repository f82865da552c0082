"""A run with controllers: the simulation advances from one decision to the next."""

import time
from dataclasses import dataclass, field

from aqmlab import _core
from aqmlab._core import ControllerSpecs, Probe, Run, Scenario, Watch
from aqmlab.control.controller import Observed, RateController, Shaper, build


@dataclass
class Counts:
    """Pings and bytes since the last decision of a controller."""

    pings: int = 0
    delays: float = 0.0
    sizes: dict[str, int] = field(default_factory=dict)


class ControlLoop:
    """A controller at work: the shapers that it sees, and what has happened since it decided last."""

    def __init__(self, spec: ControllerSpecs) -> None:
        self.spec, self.law = spec, _built(spec)
        self.period, self.steps, self.decided = self.law.period, 0, 0.0
        self.counts = Counts()
        self.shapers = [Shaper(each.link, each.base, 0.0, each.min, each.base, each.max) for each in spec.shapers]
        self.law.start(self.shapers)

    @property
    def next(self) -> float:
        """The time of the next decision."""
        return (self.steps + 1) * self.period

    def count(self, probe: Probe) -> None:
        """Process all events since the last probe."""
        pings, counts = probe.flows[self.spec.pings], self.counts
        if (mean := pings["packet_delay_mean"]) is not None:
            counts.pings += pings["received"]
            counts.delays += pings["received"] * mean
        for shaper in self.shapers:
            counts.sizes[shaper.link] = counts.sizes.get(shaper.link, 0) + probe.links[shaper.link]["bytes"]

    def decide(self, simulation: "_core.Simulation", now: float) -> None:
        """Ask the controller, and set the changed rates."""
        counts, span = self.counts, now - self.decided
        for shaper in self.shapers:
            shaper.achieved = 8 * counts.sizes.get(shaper.link, 0) / span
        before = [shaper.rate for shaper in self.shapers]
        self.law.decide(Observed(now, span, counts.delays / counts.pings if counts.pings else None), self.shapers)
        for shaper, spec, rate in zip(self.shapers, self.spec.shapers, before, strict=True):
            shaper.rate = min(shaper.max, max(shaper.min, shaper.rate))
            if shaper.rate != rate:
                simulation.set(spec.path, _written(shaper.rate))
        self.steps, self.decided, self.counts = self.steps + 1, now, Counts()


def _written(rate: float) -> str:
    return f"{rate:.0f} bit/s"


def _built(spec: ControllerSpecs) -> RateController:
    return build(spec.law, f"controllers.{spec.name}.law")


def check(scenario: Scenario) -> None:
    """Raise InputError if a scenario has a controller with an unknown algorithm."""
    for spec in scenario.controllers:
        _ = _built(spec).period


def run(
    scenario: Scenario,
    aqm: str | None,
    seed: int,
    *,
    series: bool = False,
    trace: str | None = None,
    watch: Watch | None = None,
) -> Run:
    """Simulate a scenario from start to end with its controllers. InputError for an unknown algorithm."""
    started = time.perf_counter()
    loops = [ControlLoop(spec) for spec in scenario.controllers]
    simulation = _core.Simulation(scenario, aqm, seed, series=series, trace=trace, watch=watch, controlled=True)
    for spec in scenario.controllers:
        for shaper in spec.shapers:
            simulation.set(shaper.path, _written(shaper.base))
    while (now := min(loop.next for loop in loops)) < simulation.end:
        simulation.step_until(now)
        probe = simulation.probe()
        for loop in loops:
            loop.count(probe)
        for loop in loops:
            if loop.next <= now:
                loop.decide(simulation, now)
    return simulation.finish(time.perf_counter() - started)
