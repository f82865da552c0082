"""What one run measured, as typed objects that mirror its JSON; seconds, bit/s and packets."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aqmlab._core import Run
from aqmlab.metrics import LINK_METRICS, Metric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Series = Mapping[str, Mapping[str, NDArray[np.float64]]]
    """Time series by link and column: "time" (s), "queue" (packets waiting), one column per observable."""


@dataclass(frozen=True)
class LinkResult:
    """One link after the warm-up: ratios, queues in packets, delays in seconds, counts of packets."""

    utilisation: float
    drop_ratio: float
    mark_ratio: float
    queue_mean: float
    queue_std: float
    queue_p95: int
    queue_delay_mean: float | None
    queue_delay_std: float | None
    queue_delay_p99: float | None
    settling_time: float | None
    arrived: int
    departed: int
    dropped: int
    marked: int
    drops: Mapping[str, int]


def columns(links: Iterable[LinkResult]) -> list[Metric]:
    """Return the metrics worth a column: no mark ratio where nothing is marked, and of the tails p99 only."""
    unwanted = {"queue_p95"} if any(link.marked for link in links) else {"queue_p95", "mark_ratio"}
    return [metric for metric in LINK_METRICS if metric.name not in unwanted]


@dataclass(frozen=True)
class FlowResult:
    """One flow group: goodput of all its flows in bit/s, Jain's index of it, delay of packets in seconds."""

    count: int
    goodput: float
    jain: float | None
    packet_delay_mean: float | None
    packet_delay_std: float | None
    retransmits: int
    timeouts: int


@dataclass(frozen=True)
class EngineResult:
    """What the run cost: events handled and seconds of wall time (which alone differs between repeats)."""

    events: int
    wall: float


@dataclass(frozen=True)
class RunResult:
    """One run of a scenario under a scheme and a seed; `series` is empty unless it was asked for."""

    scenario: str
    aqm: str
    seed: int
    links: Mapping[str, LinkResult]
    flows: Mapping[str, FlowResult]
    engine: EngineResult
    series: "Series" = field(repr=False)
    text: str = field(repr=False)

    @classmethod
    def of(cls, run: Run) -> "RunResult":
        """Return the typed view of what Rust measured."""
        text = run.json()
        data = json.loads(text)
        return cls(
            scenario=data["scenario"],
            aqm=data["aqm"],
            seed=data["seed"],
            links={name: LinkResult(**link) for name, link in data["links"].items()},
            flows={name: FlowResult(**group) for name, group in data["flows"].items()},
            engine=EngineResult(**data["engine"]),
            series=run.series(),
            text=text,
        )

    def json(self) -> str:
        """Return the result as JSON, the very text `aqmlab run --json` prints."""
        return self.text
