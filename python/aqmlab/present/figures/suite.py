"""The figures of a suite: delay and goodput, and distributions, a panel per experiment (RFC 7928, section 2)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np

from aqmlab.present.figures.ellipses import FEWEST_FOR_SPREAD, of_spread
from aqmlab.present.labels import label
from aqmlab.present.plots.data import (
    Cloud,
    DistributionPanel,
    Distributions,
    LineChart,
    LinePanel,
    Scatter,
    ScatterPanel,
    extent,
)
from aqmlab.present.suite_words import cell
from aqmlab.runs.statistics import Summary
from aqmlab.study.suite import Curves
from aqmlab.study.suite_result import SuiteResult, Trial
from aqmlab.study.suite_trace import Traced

Traces = Mapping[tuple[str, str], Traced]
"""By scenario and scheme."""

LEAST = 0.1
"""The minimum width of an axis, as a share of its largest value."""

LABELS = {"delay": ("Queueing delay (ms)", 1e3), "goodput": ("Goodput (Mbit/s)", 1e-6)}
"""The label of an axis, and the factor of its values."""


def trade_off(result: SuiteResult, trials: Sequence[Trial]) -> Scatter:
    """Return goodput over queueing delay in some of the experiments, a panel per class of flows.

    All panels of a class share their axes, so that the points of a scheme can be compared between experiments.
    """
    panels = [_clouds(trial, result, name) for trial in trials for name in trial.experiment.graphs]
    panels = _on_shared_axes(panels, [name for trial in trials for name in trial.experiment.graphs])
    names = [label(spec) for spec in result.schemes]
    return Scatter(LABELS["delay"][0], LABELS["goodput"][0], names, panels, centre="median")


def curves(result: SuiteResult) -> LineChart:
    """Return the suite's picture: a measure over the number at the start of its rows, a curve per column."""
    wanted = result.suite.picture
    panels = [_curves(result, panel) for panel in wanted.panels]
    return LineChart(wanted.x, panels, wanted.columns, logarithmic=wanted.logarithmic, marks=wanted.marks)


def _curves(result: SuiteResult, panel: Curves) -> LinePanel:
    """Return a panel of the rows that match its pattern, or of all rows if none does, as on a link of the user."""
    trials = [trial for trial in result.trials if trial.experiment.kind == panel.kind]
    about = [trial for trial in trials if fnmatchcase(trial.row, panel.rows)]
    lines: dict[str, dict[float, Summary]] = {}
    for trial in about or trials:
        for spec in trial.comparison.schemes:
            row, column = cell(result, trial, spec)
            if summary := trial.summary(spec, panel.value):
                lines.setdefault(column, {})[float(row.split()[0])] = summary.scaled(trial.shown(panel.value).scale)
    where = panel.rows.removeprefix("*, ") if about and panel.rows != "*" else ""
    title = ", ".join(part for part in (panel.title, where) if part)
    return LinePanel(title, panel.label, lines, panel.logarithmic)


def distributions(result: SuiteResult, traced: Traces, what: str) -> Distributions:
    """Return the distributions of "delay" or "goodput" in the experiments that were traced."""
    axis, scale = LABELS[what]
    panels = []
    for trial in result.trials:
        found = {spec: traced.get((trial.experiment.scenario, spec)) for spec in result.schemes}
        quantiles = {label(spec): scale * getattr(each, what) for spec, each in found.items() if each}
        if quantiles:
            curves = {name: (values, np.linspace(0, 1, len(values))) for name, values in quantiles.items()}
            limits = extent(list(quantiles.values()), 0.05, LEAST)
            panels.append(DistributionPanel(trial.experiment.name, curves, limits))
    return Distributions(axis, "Cumulative fraction", [label(spec) for spec in result.schemes], panels)


def _clouds(trial: Trial, result: SuiteResult, name: str) -> ScatterPanel:
    x, y = trial.experiment.graphs[name]
    clouds = {}
    for spec in result.schemes:
        delay, goodput = trial.values(spec, x), trial.values(spec, y)
        seeds = sorted(delay.keys() & goodput.keys())
        if seeds:
            points = np.array([(1e3 * delay[seed], 1e-6 * goodput[seed]) for seed in seeds])
            centre = np.median(points, axis=0) if len(points) >= FEWEST_FOR_SPREAD else None
            clouds[label(spec)] = Cloud(points, seeds, centre, of_spread(points))
    title = f"{trial.experiment.name}\n{name}" if name else trial.experiment.name
    return ScatterPanel(title, clouds)


def _on_shared_axes(panels: Sequence[ScatterPanel], classes: Sequence[str]) -> list[ScatterPanel]:
    """Return the panels, with common axes for all panels of a class."""
    ranges = {}
    for name in dict.fromkeys(classes):
        clouds = [
            cloud for panel, of in zip(panels, classes, strict=True) if of == name for cloud in panel.clouds.values()
        ]
        shown = [each for cloud in clouds for each in (cloud.points, cloud.ellipse) if each is not None]
        ranges[name] = [extent([each[:, axis] for each in shown], 0.12, LEAST) for axis in (0, 1)]
    return [
        replace(panel, x_range=ranges[name][0], y_range=ranges[name][1])
        for panel, name in zip(panels, classes, strict=True)
    ]
