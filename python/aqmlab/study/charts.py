"""The numbers of figures that are not time series: a metric against a varied value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from aqmlab.runs.statistics import Summary, summarise
from aqmlab.study.measured import StudyRuns
from aqmlab.study.paper import Figure, PaperPanel, Study, StudyMetric


@dataclass(frozen=True)
class ChartPanel:
    """One panel: the curves of one metric, by name and x."""

    panel: PaperPanel
    metric: StudyMetric
    lines: Mapping[str, Mapping[float, Summary]]


@dataclass(frozen=True)
class Chart:
    """A figure as numbers."""

    figure: Figure
    panels: Sequence[ChartPanel]

    @property
    def heads(self) -> list[str]:
        """The values of x; "mean" for bars."""
        return ["mean"] if self.figure.kind == "bars" else [f"{x:g}" for x in self.figure.x]

    @property
    def x(self) -> Sequence[float]:
        """The values of x of a curve; a single 0 for bars."""
        return (0.0,) if self.figure.kind == "bars" else self.figure.x

    def entry(self) -> dict[str, Any]:
        """Return the means in the form of the JSON document: by panel, curve and x."""
        return {
            panel.panel.title: {
                name: {f"{x:g}": point.mean for x, point in line.items()} for name, line in panel.lines.items()
            }
            for panel in self.panels
        }


def chart(paper: Study, figure: Figure, measured: StudyRuns) -> Chart:
    """Return the numbers of a figure."""
    panels = []
    for panel in figure.panels:
        metric = paper.metrics[panel.metric or ""]
        if figure.kind == "range":
            lines = _bound(figure, panel, metric)
        elif panel.law:
            lines = _law(figure, panel)
        else:
            lines = _lines(paper, figure, panel, measured)
        panels.append(ChartPanel(panel, metric, lines))
    return Chart(figure, panels)


def _lines(paper: Study, figure: Figure, panel: PaperPanel, measured: StudyRuns) -> dict[str, dict[float, Summary]]:
    metric = paper.metrics[panel.metric or ""]
    lines: dict[str, dict[float, Summary]] = {}
    for name, wanted in paper.points(figure, panel).items():
        for point in wanted:
            found = measured.together(point.scenarios, point.spec, panel.link, metric.ours or "", metric.over)
            if found:
                values = [metric.count(value) for value in found.values()]
                lines.setdefault(name, {})[point.x] = summarise(values)
    return lines


def _law(figure: Figure, panel: PaperPanel) -> dict[str, dict[float, Summary]]:
    from aqmlab.analysis.fuzzy import LAWS

    lines = LAWS[panel.law](figure.x).items()
    return {name: {x: Summary(value, None, 1) for x, value in line.items()} for name, line in lines}


def _bound(figure: Figure, panel: PaperPanel, metric: StudyMetric) -> dict[str, dict[float, Summary]]:
    from aqmlab.analysis.stability import BOUNDS

    bound = BOUNDS[(metric.ours or "").removeprefix("stability.")]
    values = {x: bound(**{**panel.analysis, figure.varied: x}) for x in figure.x}
    return {"": {x: Summary(value, None, 1) for x, value in values.items() if not isnan(value)}}
