"""The metrics of a link: name in the result, unit, how a number is shown, and the definition in one line."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """How people read a value: times `scale`, in `unit`, so many digits after the point, perhaps a power of ten."""

    scale: float
    unit: str
    digits: int
    exponent: bool = False


PERCENT = Shown(100, "%", 2)
MILLISECONDS = Shown(1000, "ms", 1)
SHOWN = {
    "ratio": PERCENT,
    "packets": Shown(1, "packets", 1),
    "s": Shown(1, "s", 1),
    "ms": Shown(1, "ms", 2),
}
"""By the unit a value is stored in."""


@dataclass(frozen=True)
class Metric:
    """One metric, stored in `unit` (SI or packets) and read as `shown`."""

    name: str
    title: str
    unit: str
    definition: str
    shown: Shown

    @property
    def heading(self) -> str:
        """Title and unit if it has one, for the head of a column."""
        return self.title if self.shown.unit in ("1", "ratio") else f"{self.title} ({self.shown.unit})"

    def show(self, value: float | None, half_width: float | None = None) -> str:
        """Return the value as people read it, with its half-width if there is one; a dash for None."""
        if value is None:
            return "–"
        text = self._text(value)
        return text if half_width is None else f"{text} ±\N{NO-BREAK SPACE}{self._text(half_width)}"

    def _text(self, value: float) -> str:
        return f"{value * self.shown.scale:.{self.shown.digits}{'e' if self.shown.exponent else 'f'}}"


LINK_METRICS = (
    Metric("utilisation", "Utilisation", "ratio", "bits sent, headers included, over rate × time", PERCENT),
    Metric("drop_ratio", "Drop ratio", "ratio", "packets dropped over packets that arrived", PERCENT),
    Metric("mark_ratio", "Mark ratio", "ratio", "packets marked over packets that arrived", PERCENT),
    Metric("queue_mean", "Queue mean", "packets", "time-weighted mean of the packets waiting", SHOWN["packets"]),
    Metric(
        "queue_std",
        "Queue std",
        "packets",
        "time-weighted standard deviation of the packets waiting",
        SHOWN["packets"],
    ),
    Metric(
        "queue_p95",
        "Queue p95",
        "packets",
        "95 % of the time the queue is at most this long",
        SHOWN["packets"],
    ),
    Metric("queue_delay_mean", "Delay mean", "s", "mean time from arrival to start of service", MILLISECONDS),
    Metric("queue_delay_p99", "Delay p99", "s", "99 % of the packets wait at most this long", MILLISECONDS),
    Metric(
        "settling_time",
        "Settling",
        "s",
        "from then on the mean queue over 1 s stays within 10 % of the buffer around the target",
        SHOWN["s"],
    ),
)
"""The metrics of a link in tables, in their order. The packet in service is not waiting."""


def definitions(metrics: Iterable[Metric]) -> str:
    """Return the line of definitions that belongs under a table of these metrics."""
    return "; ".join(f"{metric.title}: {metric.definition}" for metric in metrics) + "."
