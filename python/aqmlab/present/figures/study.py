"""The figures of a paper: over time, or a measure against what is varied."""

import numpy as np

from aqmlab.catalogue import target
from aqmlab.present.figures import runs as of_runs
from aqmlab.present.labels import in_figure, of_panel
from aqmlab.present.plots.data import (
    BarPanel,
    Bars,
    Drawing,
    HeatMaps,
    HeatPanel,
    LineChart,
    LinePanel,
    OverTime,
    Panel,
)
from aqmlab.runs.statistics import Summary
from aqmlab.scenario import load
from aqmlab.study.charts import Chart, ChartPanel
from aqmlab.study.paper import Figure, PaperPanel, Study, built
from aqmlab.study.reproduction import Reproduction


def figure(reproduction: Reproduction, wanted: Figure) -> Drawing:
    """Return a figure of a paper."""
    found = reproduction.charts.get(wanted.number)
    return over_time(reproduction, wanted) if found is None else chart(reproduction.study, found)


def chart(study: Study, found: Chart) -> LineChart | Bars | HeatMaps:
    """Return a measure against what is varied, a panel for each of the chart's: lines, bars or colours."""
    wanted = found.figure
    if wanted.kind == "bars":
        panels = [
            BarPanel(panel.panel.title, panel.metric.metric.heading, {name: line[0.0] for name, line in shown.items()})
            for panel, shown in ((panel, _shown(study, panel)) for panel in found.panels)
        ]
        return Bars(panels, wanted.columns)
    if wanted.kind == "surface":
        return _surface(found)
    lines = [
        LinePanel(of_panel(study, panel.panel), panel.metric.metric.heading, _shown(study, panel))
        for panel in found.panels
    ]
    return LineChart(wanted.x_label, lines, wanted.columns, wanted.logarithmic)


def _surface(found: Chart) -> HeatMaps:
    """Return the lines of each panel as rows of colours."""
    wanted, first = found.figure, found.panels[0]
    panels = [
        HeatPanel(
            panel.panel.title, np.array([[point.mean for point in line.values()] for line in panel.lines.values()])
        )
        for panel in found.panels
    ]
    y = [float(name) for name in first.lines]
    return HeatMaps(wanted.x_label, wanted.y_label, first.metric.metric.heading, wanted.x, y, panels, wanted.columns)


def over_time(reproduction: Reproduction, wanted: Figure) -> OverTime:
    """Return the queue, the drop probability or the utilisation against time, in the paper's panels."""
    panels = [_panel(reproduction, wanted.kind, panel) for panel in wanted.panels]
    places = [(load(panel.scenarios[0]), panel.link) for panel in wanted.panels]
    end = places[0][0].duration
    if wanted.kind == "queue":
        frame = of_runs.queue_frame(panels, places)
        end = max(scenario.duration for scenario, _ in places)
    else:
        frame = of_runs.utilisation_frame() if wanted.kind == "utilisation" else of_runs.p_frame(panels)
    return OverTime(panels, end, [frame], wanted.columns)


def _shown(study: Study, panel: ChartPanel) -> dict[str, dict[float, Summary]]:
    """The lines of a panel in the unit people read."""
    scale = panel.metric.metric.shown.scale
    return {
        in_figure(study, name): {x: point.scaled(scale) for x, point in line.items()}
        for name, line in panel.lines.items()
    }


def _panel(reproduction: Reproduction, kind: str, panel: PaperPanel) -> Panel:
    study = reproduction.study
    schemes = {name: study.spec(name) for name in panel.schemes}
    comparison = reproduction.comparisons.get(panel.scenarios[0])
    runs = {
        in_figure(study, name): comparison.runs[spec, 1]
        for name, spec in schemes.items()
        if comparison and (spec, 1) in comparison.runs
    }
    if not runs:
        absent = [name for name, spec in schemes.items() if not built(spec)]
        return Panel(panel.title, f"{', '.join(absent)} not implemented" if absent else "the run failed", [])
    if kind == "queue":
        scenario = load(panel.scenarios[0])
        aims = [target(scenario, panel.link, spec) for spec in schemes.values() if built(spec)]
        aim = next((aim for aim in aims if aim is not None), None)
        return of_runs.queue_panel(of_panel(study, panel), runs, panel.link, aim)
    draw = of_runs.utilisation_panel if kind == "utilisation" else of_runs.p_panel
    return draw(of_panel(study, panel), runs, panel.link)
