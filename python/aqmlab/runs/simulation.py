"""A simulation that can be stepped, inspected, changed and copied from Python."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from aqmlab import _core, laws, own
from aqmlab._core import Probe
from aqmlab.quantities import real, whole
from aqmlab.runs import check_seed
from aqmlab.runs.results import RunResult
from aqmlab.runs.simulate import Source
from aqmlab.scenario import Values, written

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Flow = tuple[str, int]
"""A TCP flow: its group, and its number in it."""


LARGEST_NUMBER = 2**32 - 1
"""No group has as many flows."""


class SampleColumn(NamedTuple):
    """A column of `Simulation.sample_until`.

    `of` is "time", "link", "scheme" (for the observables of a link's scheme), "group" or "flow", `place` the name of
    the link or group, `number` the flow's number.
    """

    of: str
    place: str
    number: int | None
    name: str
    unit: str


class Simulation:
    """A scenario at one instant; times are seconds.

    Arguments are as of `aqmlab.run`, and so are results. Raises InputError for bad input. `causal` is deprecated: it
    has no effect, since everything can be changed in every simulation.

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
        causal: bool | None = None,
        series: bool = False,
        trace: str | None = None,
        set: Values | None = None,
        law: laws.Law | None = None,
    ) -> None:
        check_seed(seed)
        if causal is not None:
            warnings.warn("causal has no effect: leave it out", DeprecationWarning, stacklevel=2)
        scheme = None if aqm is None else own.spec(aqm)
        loaded = laws.load_with(scenario, set, law)
        self._engine = _core.Simulation(loaded, scheme, seed, series=series, trace=trace)

    def __repr__(self) -> str:
        return f"<Simulation: at {self.now:g} s of {self.end:g} s>"

    @property
    def now(self) -> float:
        """The present: everything up to and including this time has happened."""
        return self._engine.now

    @property
    def end(self) -> float:
        """The end of the scenario."""
        return self._engine.end

    @property
    def held(self) -> int:
        """Bytes of memory that it holds now."""
        return self._engine.held

    def step_until(self, time: float) -> None:
        """Let everything happen up to and including `time`, at most until the end of the scenario.

        Raises SchemeError if a user's scheme breaks down.
        """
        self._engine.step_until(real(time))

    def sample_until(self, time: float, every: float, flows: Sequence[Flow] = ()) -> "NDArray[np.float32]":
        """Step like `step_until`; return a row of numbers for each multiple of `every` on the way, and for the end.

        A row is what `probe` shows since the row before, and the present of these TCP flows, each a group and a number.
        `sample_columns` says what its columns are. Missing values are NaN. This changes no result.
        """
        return self._engine.sample_until(real(time), real(every), _checked(flows))

    def sample_columns(self, flows: Sequence[Flow] = ()) -> list[SampleColumn]:
        """Return the columns of `sample_until`; those that a scheme adds change with the scheme."""
        return [SampleColumn(*column) for column in self._engine.sample_columns(_checked(flows))]

    def so_far(self) -> RunResult | None:
        """Return what was measured until now, as if the scenario ended here; None before the warm-up is over.

        A packet that has left its last queue counts as received. SchemeError if a user's scheme cannot be copied.
        """
        run = self._engine.so_far()
        return None if run is None else RunResult.of(run)

    def count(self, group: str) -> int:
        """Return how many flows, sources or clients of a group have not been stopped."""
        return self._engine.count(group)

    def probe(self) -> Probe:
        """Return what has happened since the last probe (or the start), and what is now; this changes no result."""
        return self._engine.probe()

    def set(self, path: str, value: str | float) -> None:
        """Change what `path` names to `value` now; both are written as in a scenario's `[[changes]]`.

        Paths are `links.NAME.rate`, `.delay`, `.buffer`, `.target`, `.aqm` (another scheme) and `.aqm.PARAMETER`, and
        `flows.NAME.count`, `.rtt`, `.rate` and `.stop`. Raises InputError for anything else; nothing has changed then.
        """
        self._engine.set(path, written({path: value})[path])

    def flow(self, group: str, i: int = 0) -> dict[str, Any]:
        """Return the state of the `i`-th TCP flow of a group.

        `cwnd` and `in_flight` (segments), `srtt` (s), `retransmits`, `timeouts`, `pacing_rate` (segments per second,
        None without pacing), `phase` (docs/phases.md), and `variables`, the variables that its controller shows by
        name.
        """
        return self._engine.flow(group, whole("i", i, 0, LARGEST_NUMBER))

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
        """Continue to the end and return the result, as if the simulation had never been stopped."""
        return RunResult.of(self._engine.finish())


def _checked(flows: Sequence[Flow]) -> list[Flow]:
    return [(group, whole("flows", number, 0, LARGEST_NUMBER)) for group, number in flows]
