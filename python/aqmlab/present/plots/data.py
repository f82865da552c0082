"""The kinds of pictures as plain data, drawn alike on paper and in a browser. Values are in the units of labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from aqmlab.present.plots.style import QUARTERS
from aqmlab.runs.statistics import Ranking, Summary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Complex = NDArray[np.complexfloating[Any, Any]]

Range = tuple[float, float] | None
"""Both ends of an axis; None leaves them to the renderer."""


@dataclass(frozen=True)
class Curve:
    """Values against seconds; `pale` for the background of another curve."""

    name: str
    time: "Array"
    values: "Array"
    pale: bool = False


@dataclass(frozen=True)
class Panel:
    """One panel of curves over time.

    `shown` says what is drawn of each curve: its values as sampled, its mean over 1 s, or both, the values pale.
    A dashed line is drawn at `target`.
    """

    title: str
    remark: str
    curves: Sequence[Curve]
    shown: Literal["sampled", "mean", "both"] = "sampled"
    target: float | None = None
    colour: int | None = None
    """Number of the colour that all curves share, distinguished by dashes; each has its own otherwise."""

    def strokes(self, points: int) -> list[Curve]:
        """Return the lines to draw, each with about `points` points for each of its extremes."""
        sampled = [] if self.shown == "mean" else self.curves
        means = [] if self.shown == "sampled" else self.curves
        return [
            *(
                Curve(each.name, *envelope(each.time, each.values, points), each.pale or self.shown == "both")
                for each in sampled
            ),
            *(Curve(each.name, *envelope(*seconds_mean(each.time, each.values), points)) for each in means),
        ]


@dataclass(frozen=True)
class Frame:
    """The vertical axis of panels over time: `bottom` to `top`, with steps of 1, 2, 5, ... times a power of ten.

    If values are not numbers, `names` contains the labels at 0, 1, 2, ..., and there are no steps.
    """

    label: str
    top: float
    steps: Sequence[float] = QUARTERS
    bottom: float = 0.0
    names: Sequence[str] = ()

    @property
    def range(self) -> tuple[float, float]:
        """The ends of the axis, with a little room above."""
        return self.bottom, 1.05 * self.top


@dataclass(frozen=True)
class OverTime:
    """Panels over 0 to `end` seconds, `columns` in a row; `frames` contains one for all panels, or one for each."""

    panels: Sequence[Panel]
    end: float
    frames: Sequence[Frame]
    columns: int = 2
    line: str = "target"
    """The name of the dashed line."""

    def frame(self, i: int) -> Frame:
        """Return the vertical axis of the i-th panel."""
        return self.frames[i % len(self.frames)]

    @property
    def names(self) -> list[str]:
        """The names of the curves if some panel has several: then there is a legend."""
        several = any(len({curve.name for curve in panel.curves}) > 1 for panel in self.panels)
        return list(dict.fromkeys(curve.name for panel in self.panels for curve in panel.curves)) if several else []


@dataclass(frozen=True)
class Cloud:
    """The runs of one scheme in a plane, with their centre and the ellipse around it as a closed line, if any."""

    points: "Array"
    seeds: Sequence[int]
    centre: "Array | None"
    ellipse: "Array | None"


@dataclass(frozen=True)
class ScatterPanel:
    """One measure against another, a cloud for each scheme."""

    title: str
    clouds: Mapping[str, Cloud]
    x_range: Range = None
    y_range: Range = None


@dataclass(frozen=True)
class Scatter:
    """Panels of clouds, each on the axes that it says; `names` are the schemes in order, `centre` what it is."""

    x: str
    y: str
    names: Sequence[str]
    panels: Sequence[ScatterPanel]
    centre: str
    columns: int = 3


@dataclass(frozen=True)
class DistributionPanel:
    """Cumulative distributions by scheme: values, and the share that is at most that large."""

    title: str
    curves: Mapping[str, tuple["Array", "Array"]]
    x_range: Range = None


@dataclass(frozen=True)
class Distributions:
    """Panels of cumulative distributions, each on its own axes; `names` are the schemes, in their order."""

    x: str
    y: str
    names: Sequence[str]
    panels: Sequence[DistributionPanel]
    columns: int = 3


@dataclass(frozen=True)
class Dots:
    """One measure by scheme: the value of each seed, with mean and interval; `names` are all schemes, in order."""

    label: str
    names: Sequence[str]
    values: Mapping[str, Mapping[int, float]]
    summaries: Mapping[str, Summary]


@dataclass(frozen=True)
class Boxes:
    """One measure by scheme: the values of all seeds; `names` are all schemes, in order."""

    label: str
    names: Sequence[str]
    values: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class HeatPanel:
    """A mean over two numbers: `values` contains a row for each y, nan if there is no run."""

    title: str
    values: "Array"


@dataclass(frozen=True)
class HeatMaps:
    """Panels of a measure over the same two values, with one scale of colours; `label` is the measure's."""

    x_label: str
    y_label: str
    label: str
    x: Sequence[float] | Sequence[str]
    y: Sequence[float] | Sequence[str]
    panels: Sequence[HeatPanel]
    columns: int = 3


@dataclass(frozen=True)
class LinePanel:
    """A measure against a number: means with intervals, by name and x."""

    title: str
    label: str
    lines: Mapping[str, Mapping[float, Summary]]
    logarithmic: bool = False


@dataclass(frozen=True)
class LineChart:
    """Panels of means against what is varied; panels of the same measure share their axes.

    If values are names, `names_of_x` contains the names at 0, 1, 2, ... `marks` are points to mark in each panel, by
    their names in the legend: name and x of a curve.
    """

    x: str
    panels: Sequence[LinePanel]
    columns: int = 2
    logarithmic: bool = False
    names_of_x: Sequence[str] = ()
    marks: Mapping[str, tuple[str, float]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names of the lines, in their order."""
        return list(dict.fromkeys(name for panel in self.panels for name in panel.lines if name))


@dataclass(frozen=True)
class BarPanel:
    """A measure by scheme."""

    title: str
    label: str
    bars: Mapping[str, Summary]


@dataclass(frozen=True)
class Bars:
    """Panels of bars."""

    panels: Sequence[BarPanel]
    columns: int = 2


@dataclass(frozen=True)
class CriticalDifference:
    """Mean ranks of schemes, with the names to print."""

    ranking: Ranking
    names: Mapping[str, str]

    @property
    def order(self) -> list[str]:
        """The schemes from the best to the worst."""
        return sorted(self.ranking.ranks, key=self.ranking.ranks.__getitem__)

    @property
    def cliques(self) -> list[list[str]]:
        """The largest groups of schemes whose mean ranks differ by at most the critical difference.

        Each from the best to the worst; a scheme alone is not a group (Demšar 2006, figure 1).
        """
        ranks, order = self.ranking.ranks, self.order
        groups: list[list[str]] = []
        for i, first in enumerate(order):
            group = [name for name in order[i:] if ranks[name] - ranks[first] <= self.ranking.critical]
            if len(group) > 1 and not (groups and group[-1] == groups[-1][-1]):
                groups.append(group)
        return groups


@dataclass(frozen=True)
class Response:
    """The open loop over frequency (rad/s); the phase (degrees) is unwrapped."""

    name: str
    frequency: "Array"
    values: "Complex"
    phase: "Array"


@dataclass(frozen=True)
class Bode:
    """Gain and phase against frequency, with the frequencies of the crossovers."""

    title: str
    remark: str
    responses: Sequence[Response]
    crossovers: Sequence[float]


@dataclass(frozen=True)
class Nyquist:
    """The open loop in the complex plane, positive frequencies."""

    title: str
    responses: Sequence[Response]


@dataclass(frozen=True)
class StabilityMap:
    """Gain margins over two quantities: `margin` contains a row for each y, nan if there is no operating point.

    `holds` says where the model holds; `present` is where the parameters are now.
    """

    x_label: str
    y_label: str
    x: "Array"
    y: "Array"
    margin: "Array"
    holds: "NDArray[np.bool_]"
    present: tuple[float, float]


Drawing = (
    OverTime
    | Scatter
    | Distributions
    | Dots
    | Boxes
    | HeatMaps
    | LineChart
    | Bars
    | CriticalDifference
    | Bode
    | Nyquist
    | StabilityMap
)


def envelope(time: "Array", values: "Array", bins: int = 800) -> tuple["Array", "Array"]:
    """Return the lowest and highest value of each of `bins` stretches: the same picture, far fewer points."""
    size = len(values) // bins
    if size < 3:
        return time, values
    whole = size * bins
    blocks = values[:whole].reshape(bins, size)
    ends = np.sort(np.stack([blocks.argmin(axis=1), blocks.argmax(axis=1)], axis=1), axis=1)
    picked = (ends + size * np.arange(bins)[:, None]).ravel()
    rest = np.arange(whole, len(values))
    chosen = np.concatenate([picked, rest])
    return time[chosen], values[chosen]


def seconds_mean(time: "Array", values: "Array") -> tuple["Array", "Array"]:
    """Return the sliding mean over 1 s, nothing for a series shorter than that."""
    window = max(1, round(1 / (time[1] - time[0])))
    if window > len(values):
        return time[:0], values[:0]
    return time[window // 2 :][: len(values) - window + 1], np.convolve(values, np.ones(window) / window, "valid")


def extent(arrays: Sequence["Array"], margin: float, least: float) -> Range:
    """Return the range of all values with a margin, a share of it; at least `least` of the largest value wide.

    A minimum width prevents a panel from exaggerating a small difference.
    """
    values = np.concatenate([*map(np.ravel, arrays), np.array([])])
    if not len(values):
        return None
    low, high = float(values.min()), float(values.max())
    low, high = low - margin * (high - low), high + margin * (high - low)
    middle, half = (low + high) / 2, max(high - low, least * high) / 2
    return middle - half, middle + half
