"""A simulation that can be stepped, inspected, changed and copied from Python."""

from collections.abc import Mapping
from typing import Any

from aqmlab import _core, own
from aqmlab._core import Probe
from aqmlab.runs.results import RunResult
from aqmlab.runs.simulate import Source
from aqmlab.scenario import load


class Simulation:
    """A scenario at one instant; times are seconds.

    Arguments are those of `aqmlab.run`. `causal` computes no departure ahead, so that a link's rate, delay and scheme
    and a group's round trip can be changed; results are the same, and the simulation takes longer. Raises InputError
    for bad input.

    >>> simulation = Simulation("li2014/table-1", "pi")
    >>> simulation.step_until(10)
    >>> simulation.probe().links["bottleneck"]["queue"]
    >>> simulation.set("links.bottleneck.target", "100 packets")
    >>> simulation.finish().links["bottleneck"].queue_mean
    """

    def __init__(
        self,
        scenario: Source,
        aqm: own.Scheme | None = None,
        seed: int = 1,
        *,
        causal: bool = False,
        series: bool = False,
        trace: str | None = None,
        set: Mapping[str, str] | None = None,
    ) -> None:
        scheme = None if aqm is None else own.spec(aqm)
        loaded = load(scenario, set)
        self._engine = _core.Simulation(loaded, scheme, seed, series=series, causal=causal, trace=trace)

    def __repr__(self) -> str:
        return f"<Simulation: at {self.now:g} s of {self.end:g} s>"

    @property
    def now(self) -> float:
        """The present: everything up to and including this time has happened."""
        return self._engine.now

    @property
    def end(self) -> float:
        """When the scenario ends."""
        return self._engine.end

    def step_until(self, time: float) -> None:
        """Let everything happen up to and including `time`, at most until the end of the scenario.

        Raises SchemeError if a user's scheme breaks down.
        """
        self._engine.step_until(time)

    def probe(self) -> Probe:
        """Return what has happened since the last probe (or the start), and what is now; this changes no result."""
        return self._engine.probe()

    def set(self, path: str, value: str) -> None:
        """Change what `path` names to `value` now; both are written as in a scenario's `[[changes]]`.

        Paths are `links.NAME.rate`, `.delay`, `.buffer`, `.target`, `.aqm` (another scheme) and `.aqm.PARAMETER`, and
        `flows.NAME.count`, `.rtt` and `.stop`. Raises InputError for anything else, and nothing has changed then.
        """
        self._engine.set(path, value)

    def flow(self, group: str, i: int = 0) -> dict[str, Any]:
        """Return `cwnd` (segments), `srtt` (s), `retransmits` and `timeouts` of the `i`-th TCP flow of a group."""
        return self._engine.flow(group, i)

    def content(self, link: str) -> dict[str, int]:
        """Return how many packets of each group wait at a link now, ACKs included."""
        return self._engine.content(link)

    def clone(self) -> "Simulation":
        """Return a copy that is independent from now on; SchemeError if a user's scheme cannot be copied."""
        copy = object.__new__(Simulation)
        copy._engine = self._engine.clone()
        return copy

    def to_toml(self) -> str:
        """Return the scenario with everything that was changed by hand; it repeats this simulation to the byte."""
        return self._engine.to_toml()

    def finish(self) -> RunResult:
        """Go on to the end and return what was measured, as if the simulation had never been stopped."""
        return RunResult.of(self._engine.finish())
