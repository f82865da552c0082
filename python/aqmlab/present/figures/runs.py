"""A link over time: packets waiting, drop probability and utilisation of runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from aqmlab._core import Scenario
from aqmlab.catalogue import departs, target
from aqmlab.present.labels import label
from aqmlab.present.plots.data import Curve, Frame, OverTime, Panel
from aqmlab.present.plots.style import THIRDS
from aqmlab.runs.metrics import LinkResult
from aqmlab.runs.results import RunResult

if TYPE_CHECKING:
    from aqmlab.runs.results import Series


class DrawnRun(Protocol):
    """A run as figures show it, simulated or live."""

    @property
    def links(self) -> Mapping[str, LinkResult]:
        """Metrics by link."""

    @property
    def series(self) -> "Series":
        """Time series by link and column."""


FEW = 12
"""Panels up to which two in a row are wide enough to read and high enough for a page."""


def figures(runs: Mapping[str, RunResult], scenario: Scenario, link: str) -> dict[str, OverTime]:
    """Return the figures of one link: "queue", and "p" for the schemes that expose a drop probability.

    `runs` are runs with series by scheme; each gives one panel. Without runs there are no figures.
    """
    shown = {
        "queue": [
            queue_panel(_of(spec, run, link), {label(spec): run}, link, target(scenario, link, spec))
            for spec, run in runs.items()
        ],
        "p": [
            p_panel(_of(spec, run, link), {label(spec): run}, link)
            for spec, run in runs.items()
            if "p" in run.series[link]
        ],
    }
    frames = {"queue": queue_frame(shown["queue"], [(scenario, link)]), "p": p_frame(shown["p"])}
    columns = 2 if len(runs) <= FEW else 3
    return {
        name: OverTime(panels, scenario.duration, [frames[name]], columns) for name, panels in shown.items() if panels
    }


def engines_figure(runs: Mapping[str, Mapping[str, RunResult]], scenario: Scenario, link: str) -> OverTime:
    """Return the queue of one link by scheme and engine: one panel per scheme, its engines distinguished by dashes."""
    panels = [
        replace(
            queue_panel(_of(spec, next(iter(by_engine.values())), link), by_engine, link, target(scenario, link, spec)),
            colour=i,
        )
        for i, (spec, by_engine) in enumerate(runs.items())
    ]
    frames = [queue_frame(panels, [(scenario, link)])]
    return OverTime(panels, scenario.duration, frames, 2 if len(runs) <= FEW else 3)


def _of(spec: str, run: RunResult, link: str) -> str:
    """Return the title of a panel: the scheme, and others that the link had."""
    return label(spec) + departs(spec, link, run.links[link].schemes)


def queue_panel(name: str, runs: Mapping[str, DrawnRun], link: str, target: float | None) -> Panel:
    """Return a panel of the packets waiting in `runs` (by scheme), with the target if there is one."""
    results = [run.links[link] for run in runs.values()]
    remark = f"mean {results[0].queue_mean:.0f}, std {results[0].queue_std:.0f}" if len(results) == 1 else ""
    shown = "sampled" if len(results) == 1 else "mean"
    return Panel(name, remark, _curves(runs, link, "queue"), shown, target)  # type: ignore[arg-type]


def p_panel(name: str, runs: Mapping[str, RunResult], link: str) -> Panel:
    """Return a panel of the drop probability in `runs`, by scheme."""
    ratios = [100 * run.links[link].drop_ratio for run in runs.values()]
    remark = f"drop ratio {ratios[0]:.1f} %" if len(ratios) == 1 else ""
    return Panel(name, remark, _curves(runs, link, "p"), "both" if len(ratios) == 1 else "mean")


def utilisation_panel(name: str, runs: Mapping[str, RunResult], link: str) -> Panel:
    """Return a panel of the utilisation of a link in `runs`, by scheme."""
    shares = [100 * run.links[link].utilisation for run in runs.values()]
    remark = f"mean {shares[0]:.1f} %" if len(shares) == 1 else ""
    return Panel(name, remark, _curves(runs, link, "utilisation"), "both" if len(shares) == 1 else "mean")


def queue_frame(panels: Sequence[Panel], places: Sequence[tuple[Scenario, str]]) -> Frame:
    """Return an axis for the packets waiting at links: up to the largest buffer, unless most of it is never used."""
    links = [scenario.link(name) for scenario, name in places]
    buffer = max((link.buffer for link in links if link.buffer_bytes is None), default=0.0)
    highest = _highest(panels)
    return Frame("Queue (packets)", buffer if 0 < buffer < 3 * highest else highest, THIRDS)


def p_frame(panels: Sequence[Panel]) -> Frame:
    """Return an axis for the drop probability: up to the highest."""
    return Frame("Drop probability", _highest(panels))


def utilisation_frame() -> Frame:
    """Return an axis for the utilisation: up to 1."""
    return Frame("Utilisation", 1.0)


def _highest(panels: Sequence[Panel]) -> float:
    """Return the highest value of any curve, 1 without one; NaN is where a scheme shows nothing."""
    return (
        max((float(np.fmax.reduce(curve.values, initial=0)) for panel in panels for curve in panel.curves), default=0)
        or 1.0
    )


def _curves(runs: Mapping[str, DrawnRun], link: str, column: str) -> list[Curve]:
    return [
        Curve(name, run.series[link]["time"], run.series[link][column])
        for name, run in runs.items()
        if column in run.series[link]
    ]
