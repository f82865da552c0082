"""The result of `aqmlab.analyse`, as typed objects and as one JSON document."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from aqmlab.analysis.design import Design
from aqmlab.analysis.loop import Loop, LoopVerdict, Margins
from aqmlab.analysis.maps import Map
from aqmlab.analysis.network import Network
from aqmlab.analysis.op import OperatingPoint
from aqmlab.notebook import Result, Sheet

if TYPE_CHECKING:
    from aqmlab.analysis.beside import Beside

MODELS = {
    "exact": "the fluid model, linearised exactly",
    "refined": "the same with refined windows",
    "hollot": "Hollot et al.'s P(s)",
}
"""The linear models, the one that verdicts rest on first."""


@dataclass(frozen=True)
class Model:
    """One linear model: operating point, verdict, margins."""

    loop: Loop
    verdict: LoopVerdict
    margins: Margins

    @property
    def point(self) -> OperatingPoint:
        """Operating point."""
        return self.loop.point

    def texts(self) -> list[str]:
        """Return its numbers as people read them, and the verdict; a missing margin is –."""
        point, margins = self.point, self.margins
        return [
            f"{100 * point.p:.3g}",
            f"{point.window:.3g}",
            f"{point.queue:.4g}",
            f"{1e3 * point.rtt:.4g}",
            "–" if margins.gain is None else f"{margins.gain:.3g}",
            _number(margins.phase, 1),
            _number(None if margins.delay is None else 1e3 * margins.delay, 0),
            _number(margins.gain_crossover or margins.phase_crossover, 2),
            "stable" if self.verdict.stable else "unstable",
        ]

    def document(self) -> dict[str, Any]:
        """Return it for JSON: packets, seconds, rad/s, degrees; gain margins are ratios."""
        point = self.point
        return {
            "p": point.p,
            "queue": point.queue,
            "window": point.window,
            "rtt": point.rtt,
            "stable": self.verdict.stable,
            "unstable_poles": self.verdict.poles,
            "margins": asdict(self.margins),
        }


@dataclass(frozen=True, repr=False)
class Analysis(Result):
    """A scheme in a network: linear models by name, and what else was asked for."""

    scheme: str
    network: Network
    models: dict[str, Model]
    design: Design | None = None
    map: Map | None = None
    beside: "Beside | None" = None

    @property
    def stable(self) -> bool:
        """The loop is stable by the exact linearisation."""
        return self.models["exact"].verdict.stable

    @property
    def disputed(self) -> bool:
        """Refined windows give the other verdict."""
        return self.models["refined"].verdict.stable != self.stable

    @property
    def doubts(self) -> list[str]:
        """The reasons why the model does not hold here; none if it does."""
        return self.models["exact"].point.doubts()

    @property
    def headline(self) -> str:
        """The scheme, its verdict, and why it may not hold."""
        doubts = f" (the model does not hold: {'; '.join(self.doubts)})" if self.doubts else ""
        return f"{self.scheme}: {'stable' if self.stable else 'unstable'}{doubts}"

    def sheets(self) -> Iterator[Sheet]:
        """Return the linear models, and the fluid model and the packets where they were simulated."""
        heads = ["Model", "p (%)", "Window", "Queue", "R (ms)", "Gain margin", "Phase (°)", "Delay (ms)", "At (rad/s)"]
        rows = [[MODELS[name], *model.texts()] for name, model in self.models.items()]
        yield Sheet("Linear models", [*heads, "Loop"], rows)
        if self.beside is not None:
            yield self.beside.sheet()

    def document(self) -> dict[str, Any]:
        """Return everything for JSON."""
        network = asdict(self.network) | {"capacity": self.network.capacity}
        return {
            "schema": 1,
            "scheme": self.scheme,
            "network": network,
            "holds": not self.doubts,
            "doubts": self.doubts,
            "stable": self.stable,
            "disputed": self.disputed,
            "models": {name: model.document() for name, model in self.models.items()},
            "design": None if self.design is None else asdict(self.design) | {"spec": self.design.spec},
            "map": None if self.map is None else _map(self.map),
            "beside": None if self.beside is None else self.beside.document(),
        }

    def json(self) -> str:
        """Return what `aqmlab analyse --json` prints."""
        return json.dumps(self.document(), indent=1)


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _map(found: Map) -> dict[str, Any]:
    """Return a map for JSON: gain margins by row, null without operating point or crossing."""
    import numpy as np

    rows = [[value if np.isfinite(value) else None for value in row] for row in found.margin.tolist()]
    return {
        "x": {"name": found.x.name, "values": found.x.values.tolist()},
        "y": {"name": found.y.name, "values": found.y.values.tolist()},
        "gain_margin": rows,
        "holds": found.holds.tolist(),
        "stable": found.stable,
    }
