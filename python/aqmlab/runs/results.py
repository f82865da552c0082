"""The result of one run, as typed objects that mirror its JSON; seconds, bit/s and packets."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from aqmlab._core import Run, Trace
from aqmlab.catalogue import course
from aqmlab.names import Named
from aqmlab.notebook import Result, Sheet
from aqmlab.runs.columns import measures
from aqmlab.runs.metrics import (
    LINK_METRICS,
    CallResult,
    FlowResult,
    LinkResult,
    MediaResult,
    Metric,
    SlowdownResult,
    StationResult,
    VideoResult,
    find,
)
from aqmlab.traces import Capture

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Series = Mapping[str, Mapping[str, NDArray[np.float64]]]
    """Time series by link and column: "time" (s), "queue" (packets waiting), one column per observable."""

    Columns = Mapping[str, NDArray[np.float64]]
    """A table as arrays of equal length, by column."""


def columns(links: Iterable[LinkResult]) -> list[Metric]:
    """Return the metrics worth a column: marks, losses and settling where there are any, and of the tails p99 only."""
    shown = list(links)
    present = {
        "mark_ratio": any(link.marked for link in shown),
        "lost": any(link.lost for link in shown),
        "settling_time": any(link.settling_time is not None for link in shown),
    }
    unwanted = {"queue_p95", *(name for name, is_there in present.items() if not is_there)}
    return [metric for metric in LINK_METRICS if metric.name not in unwanted]


def _arrays(columns: Mapping[str, Any]) -> "Columns":
    """Return lists of numbers as arrays; what is null is no number."""
    import numpy as np

    return {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}


def _by_link(field: str, found: "Series") -> "Series":
    """Return what was recorded of each link; the field says so if nothing was."""
    label = field if found else f"{field} (recorded with series=True only)"
    return Named(label, {link: Named(f"{field} of {link}", columns) for link, columns in found.items()})


OF_FLOWS = ("goodput", "jain", "packet_delay_mean", "packet_delay_p99", "retransmits", "timeouts")
"""The columns that a notebook shows of groups of flows."""


def of_links(links: Mapping[str, LinkResult]) -> Sheet:
    """Return the metrics of links as a table."""
    shown = columns(links.values())
    rows = [[name, *(metric.show(getattr(link, metric.name)) for metric in shown)] for name, link in links.items()]
    return Sheet("", ["Link", *(metric.heading for metric in shown)], rows)


PARTS: Mapping[str, type[CallResult] | type[VideoResult] | type[MediaResult] | type[SlowdownResult]] = {
    "call": CallResult,
    "video": VideoResult,
    "media": MediaResult,
    "slowdown": SlowdownResult,
}
"""The parts of a group of flows that only some kinds have."""


def _group(values: Mapping[str, Any]) -> FlowResult:
    parts = {name: of(**values[name]) for name, of in PARTS.items() if name in values}
    return FlowResult(**{**values, **parts})


@dataclass(frozen=True)
class EngineResult:
    """Name of the engine, events handled, and seconds of wall time; only these differ between repeats."""

    events: int | None
    """None on Linux, which does not count them."""
    wall: float
    name: str = "sim"
    """"sim", the simulator, or "linux"."""
    version: str = ""
    """Version of the Linux kernel."""

    @property
    def is_real(self) -> bool:
        """It is a Linux, not the simulator."""
        return self.events is None


@dataclass(frozen=True, repr=False)
class RunResult(Result):
    """One run of a scenario under a scheme and a seed.

    `text` is its JSON, which is read when a measure is asked for. `series`, `delays` (the distribution of the sojourn
    time by link: "queue_delay" in s, ascending, and "share"), `flow_table` (a row for each flow: "group", an index,
    "rtt" in s, "goodput" in bit/s, "dropped" in packets) and `transfer_table` ("group", "start" and "completion_time"
    in s, "size" in packets) are empty unless series were asked for. `trace` is there if a link was to be traced (see
    `aqmlab.traces`).
    """

    text: str
    series: "Series"
    delays: "Series"
    flow_table: "Columns"
    transfer_table: "Columns"
    trace: Trace | Capture | None

    @classmethod
    def of(cls, run: Run) -> "RunResult":
        """Return what Rust measured."""
        return cls(
            text=run.json(),
            series=_by_link("series", run.series()),
            delays=_by_link("delays", run.delays()),
            flow_table=Named("flow_table", run.flow_table()),
            transfer_table=Named("transfer_table", run.transfer_table()),
            trace=run.trace(),
        )

    @classmethod
    def read(cls, document: Mapping[str, Any], trace: Capture | None = None) -> "RunResult":
        """Return what another program has measured: its output as JSON (`Output::json` in crates/sim)."""
        series, delays = (
            {link: _arrays(columns) for link, columns in document.get(name, {}).items()}
            for name in ("series", "delays")
        )
        return cls(
            text=json.dumps(document["result"]),
            series=_by_link("series", series),
            delays=_by_link("delays", delays),
            flow_table=Named("flow_table", _arrays(document.get("flow_table", {}))),
            transfer_table=Named("transfer_table", _arrays(document.get("transfer_table", {}))),
            trace=trace,
        )

    @property
    def headline(self) -> str:
        """Scenario, scheme and seed."""
        return f"{self.scenario}, {self.aqm}, seed {self.seed}"

    def sheets(self) -> Iterator[Sheet]:
        """Return the links and the groups of flows."""
        yield of_links(self.links)
        shown = [find(f"total.{name}") for name in OF_FLOWS]
        groups = dict(self.flows) if len(self.flows) == 1 else {**self.flows, "all": self.total}
        rows = [[name, *(metric.show(getattr(of, metric.name)) for metric in shown)] for name, of in groups.items()]
        yield Sheet("", ["Flows", *(metric.heading for metric in shown)], rows)

    @property
    def notes(self) -> list[str]:
        """Remarks on links that deliver nothing, whose measures are then of an empty queue."""
        return [
            f"Link {name} delivers nothing: all {link.arrived:,} packets that arrived after the warm-up are dropped."
            for name, link in self.links.items()
            if link.arrived and not link.departed and link.dropped == link.arrived
        ]

    @cached_property
    def measured(self) -> Mapping[str, Any]:
        """The content of its JSON."""
        return json.loads(self.text)  # type: ignore[no-any-return]

    @property
    def scenario(self) -> str:
        """Name of the scenario."""
        return self.measured["scenario"]  # type: ignore[no-any-return]

    @property
    def aqm(self) -> str:
        """The scheme with its parameters."""
        return self.measured["aqm"]  # type: ignore[no-any-return]

    @property
    def schemes(self) -> str:
        """The schemes that the links had, in words: "DropTail, then CoDel at 30 s", or "up: CAKE, down: CoDel"."""
        courses = {name: course(link.schemes) for name, link in self.links.items()}
        if len({*courses.values()}) == 1:
            return next(iter(courses.values()))
        return ", ".join(f"{name}: {there}" for name, there in courses.items())

    @property
    def seed(self) -> int:
        """Of the random numbers."""
        return self.measured["seed"]  # type: ignore[no-any-return]

    @property
    def spreads(self) -> Mapping[str, Mapping[str, Any]]:
        """On a tree, percentiles (p5, p50, p95, p99, max) over the links of each list and the lines of each site.

        By measure: "utilisation", "drop_ratio", "mark_ratio", "queue_delay_mean" and "queue_delay_p99", None where no
        link has a value; "count" is the number of links. Empty without a tree.
        """
        return self.measured.get("spreads", {})  # type: ignore[no-any-return]

    @cached_property
    def stations(self) -> Mapping[str, StationResult]:
        """The measures of each station of a Wi-Fi cell, those that are alike on average; empty without a cell."""
        found = self.measured.get("stations", {})
        return Named("stations", {name: StationResult(**station) for name, station in found.items()})

    @cached_property
    def engine(self) -> EngineResult:
        """The cost of the run."""
        return EngineResult(**self.measured["engine"])

    @cached_property
    def links(self) -> Mapping[str, LinkResult]:
        """The measures of each link."""
        return Named("links", {name: LinkResult(**link) for name, link in self.measured["links"].items()})

    @cached_property
    def flows(self) -> Mapping[str, FlowResult]:
        """The measures of each group of flows."""
        return Named("flows", {name: _group(group) for name, group in self.measured["flows"].items()})

    @cached_property
    def total(self) -> FlowResult:
        """The measures of all flows together."""
        return _group(self.measured["total"])

    @cached_property
    def values(self) -> Mapping[str, float | None]:
        """Every measure by its full name, such as "links.bottleneck.queue_mean"."""
        found = measures(self.measured)
        return Named("values", {name: value for name, value in found.items() if not isinstance(value, list)})

    def json(self) -> str:
        """Return the result as JSON, the same text that `aqmlab run --json` prints."""
        return self.text
