"""The figures of a sweep as journals print them: clouds, dots, lines, the critical-difference diagram."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from aqmlab._core import InputError
from aqmlab.names import unknown
from aqmlab.present.plots import (
    COLOURS,
    DASHES,
    MARKERS,
    STYLE,
    THIRDS,
    WIDTH,
    Curve,
    Frame,
    Multiples,
    Panel,
    label_below,
    queue_frame,
    small_multiples,
    target,
)
from aqmlab.present.sweep import figures as sweep_figures
from aqmlab.present.sweep.figures import Dots, Lines, Scatter, Stored
from aqmlab.runs.findings import BETTER, Case, Findings, check_measure, label
from aqmlab.runs.statistics import Ranking

PALETTE = (*COLOURS, "#7f7f7f")
"""With grey as the eighth: as many as the schemes of the larger papers."""

ROW, BAR = 0.19, 0.11
"""Inches from a name to the next in a critical-difference diagram, and from a bar to the next."""

LETTER = 0.062
"""Inches that a letter of a name takes, about."""


def look(i: int) -> tuple[str, str, Any]:
    """Return colour, marker and dashes of the i-th scheme: 56 different pairs of colour and marker."""
    turn = i // len(PALETTE)
    return PALETTE[i % len(PALETTE)], MARKERS[(i + turn) % len(MARKERS)], DASHES[(i + turn) % len(DASHES)]


def looks(found: Findings) -> dict[str, tuple[str, str, Any]]:
    """Return the look of each scheme, the same in all figures of a sweep."""
    return {scheme: look(i) for i, scheme in enumerate(found.schemes)}


def scatter(found: Findings, drawn: Scatter) -> Figure:
    """Draw the runs as small marks, their means as large ones, and the ellipses around the means."""
    with _page(WIDTH, 3.6) as (figure, [[axes]]):
        for scheme, cloud in drawn.clouds.items():
            colour, marker, dashes = looks(found)[scheme]
            axes.scatter(*cloud.points.T, s=9, color=colour, marker=marker, alpha=0.5, linewidths=0)
            axes.scatter(*cloud.mean, s=24, color=colour, marker=marker, label=label(scheme))
            if cloud.ellipse is not None:
                axes.plot(*cloud.ellipse.T, color=colour, linestyle=dashes, linewidth=0.9, zorder=3)
        axes.set_xlabel(drawn.x.heading)
        axes.set_ylabel(drawn.y.heading)
        figure.legend(loc="outside right upper", fontsize=7, frameon=False)
    return figure


def dots(found: Findings, drawn: Dots) -> Figure:
    """Draw a measure: the seeds as small marks, beside them the mean and its 95 % interval."""
    with _page(WIDTH, 2.8) as (figure, [[axes]]):
        for i, (scheme, values) in enumerate(drawn.values.items()):
            colour, marker, _ = looks(found)[scheme]
            summary = drawn.summaries[scheme]
            axes.scatter([i - 0.12] * len(values), values.values(), s=9, color=colour, marker=marker, alpha=0.5, lw=0)
            axes.errorbar(
                i + 0.12, summary.mean, summary.half_width, color=colour, marker=marker, markersize=5, capsize=3, lw=1.0
            )
        names = [label(scheme) for scheme in drawn.values]
        turned = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if len(", ".join(names)) > 80 else {}
        axes.set_xticks(range(len(names)), names, **turned)
        axes.set_ylabel(drawn.metric.heading)
    return figure


def lines(drawn: Lines) -> Figure:
    """Draw a measure against what was varied: means with their 95 % intervals, one panel a case, the same axes."""
    columns = min(2, len(drawn.panels))
    rows = -(-len(drawn.panels) // columns)
    names = list(dict.fromkeys(name for panel in drawn.panels.values() for name in panel))
    with _page(WIDTH, 0.6 + 2.2 * rows, rows, columns) as (figure, grid):
        for axes, (title, panel) in zip(grid.flat, drawn.panels.items(), strict=False):
            for name, line in panel.items():
                colour, marker, dashes = look(names.index(name))
                xs = sorted(line)
                axes.errorbar(
                    xs,
                    [line[x].mean for x in xs],
                    [line[x].half_width or 0 for x in xs],
                    color=colour,
                    marker=marker,
                    linestyle=dashes,
                    markersize=3.5,
                    linewidth=1.0,
                    capsize=2,
                    label=name,
                )
            axes.set_title(title, loc="left", fontweight="bold", pad=3)
        label_below(grid, len(drawn.panels), drawn.label)
        for axes in grid[:, 0]:
            axes.set_ylabel(drawn.metric.heading)
        for axes in grid.flat[len(drawn.panels) :]:
            axes.set_visible(False)
        found = {name: mark for axes in grid.flat for mark, name in zip(*axes.get_legend_handles_labels(), strict=True)}
        figure.legend(found.values(), found.keys(), loc="outside right upper", fontsize=7, frameon=False)
    return figure


def cdf(found: Findings, case: Case, delays: Mapping[tuple[Case, str], Stored]) -> Figure:
    """Draw the share of packets that waited at most so long, a line for each scheme."""
    with _page(WIDTH, 3.2) as (figure, [[axes]]):
        for scheme, (colour, _, dashes) in looks(found).items():
            if run := delays.get((case, scheme)):
                x, y = steps(run)
                axes.plot(x, y, color=colour, linestyle=dashes, linewidth=1.1, label=label(scheme))
        axes.set_xlabel("Queue delay (ms)")
        axes.set_ylabel("Share of packets")
        axes.set_xlim(left=0)
        axes.set_ylim(0, 1.02)
        figure.legend(loc="outside right upper", fontsize=7, frameon=False)
    return figure


def steps(run: Stored) -> tuple[Any, Any]:
    """Return the distribution of the queue delay as a line from share 0: ms, share."""
    delay, share = 1e3 * run.columns["queue_delay"], run.columns["share"]
    return np.concatenate([delay[:1], delay]), np.concatenate([[0.0], share])


def queue(found: Findings, case: Case, series: Mapping[tuple[Case, str], Stored]) -> Multiples:
    """Return the panels of the packets waiting, one a scheme, with the target."""
    world = found.world(case)
    panels = []
    for scheme in found.schemes:
        if run := series.get((case, scheme)):
            row = found.runs(case, scheme)[run.seed]
            mean, std = (row[f"links.{case.link}.{name}"] for name in ("queue_mean", "queue_std"))
            curve = Curve(label(scheme), run.columns["time"], run.columns["queue"])
            at = target(world, case.link) if world else None
            panels.append(Panel(label(scheme), f"mean {mean:.0f}, std {std:.0f}", [curve], target=at))
    if world:
        return Multiples(panels, queue_frame(panels, [(world, case.link)]))
    end = max(float(panel.curves[0].time[-1]) for panel in panels)
    top = max(float(panel.curves[0].values.max()) for panel in panels)
    return Multiples(panels, Frame("Queue (packets)", end, top or 1.0, THIRDS))


def ranking(found: Ranking) -> Figure:
    """Draw a critical-difference diagram (Demšar 2006, figure 1a): the best rank is on the right.

    Names hang from an axis of mean ranks; bars join schemes that the Nemenyi test does not tell apart at 5 %.
    """
    order = sorted(found.ranks, key=found.ranks.__getitem__)
    groups = sweep_figures.cliques(found)
    half = (len(order) + 1) // 2
    below = 0.16 + BAR * len(groups)  # inches from the axis to the first name
    height = 0.75 + below + ROW * half
    margin = 0.15 + LETTER * max(len(label(name)) for name in order)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height))
        axes = figure.add_axes((margin / WIDTH, 0, 1 - 2 * margin / WIDTH, 1 - 0.62 / height))
        axes.set_xlim(len(order), 1)
        axes.set_ylim(-(height - 0.62), 0)  # inches
        axes.set_axis_off()
        _scale(axes, len(order), found.critical)
        for i, names in enumerate(groups):
            ends = [found.ranks[names[0]] - 0.04, found.ranks[names[-1]] + 0.04]
            axes.plot(ends, [-0.12 - BAR * i] * 2, color="black", linewidth=2.6, solid_capstyle="butt")
        for i, name in enumerate(order):
            best = i < half
            y = -below - ROW * ((i if best else len(order) - 1 - i) + 0.5)
            edge, side = (1, "left") if best else (len(order), "right")
            x = found.ranks[name]
            axes.plot([x, x, edge], [0, y, y], color="black", linewidth=0.6, clip_on=False)
            place = (5 if best else -5, 0)
            axes.annotate(
                label(name),
                (edge, y),
                place,
                textcoords="offset points",
                annotation_clip=False,
                ha=side,
                va="center",
                fontsize=7.5,
            )
    return figure


def _scale(axes: Any, last: int, critical: float) -> None:
    """Draw the axis of mean ranks, and the critical difference above it."""
    axes.plot([1, last], [0, 0], color="black", linewidth=0.8, clip_on=False)
    every = -(-last // 20)
    for rank in range(1, last + 1):
        axes.plot([rank, rank], [0, 0.06], color="black", linewidth=0.8, clip_on=False)
        if (rank - 1) % every == 0:
            axes.annotate(
                f"{rank}", (rank, 0.06), (0, 2), textcoords="offset points", annotation_clip=False, ha="center"
            )
    width = min(critical, last - 1)
    y = 0.33
    axes.plot([last, last - width], [y, y], color="black", linewidth=1.4, clip_on=False)
    for x in (last, last - width):
        axes.plot([x, x], [y - 0.04, y + 0.04], color="black", linewidth=1.0, clip_on=False)
    beyond = "" if critical < last - 1 else ", more than all ranks"
    text = f"critical difference {critical:.2f}{beyond}"
    axes.annotate(text, (last, y), (0, 5), textcoords="offset points", annotation_clip=False)


FIGURES = {
    "queue": "packets waiting against time, a panel for each scheme (needs series)",
    "cdf": "distribution of the queue delay (needs series)",
    "delay-throughput": "goodput against mean queue delay, a point for each run, with 95 % ellipses",
    "fairness": "Jain's index of the goodput, by scheme",
    "settling": "settling time, by scheme, of the runs that settle",
    "measure": "a measure by scheme, or --against a value that was varied",
    "ranking": "critical-difference diagram of the schemes by a measure",
}
"""What can be drawn of a sweep."""

MEASURE_OF = {"fairness": sweep_figures.JAIN, "settling": sweep_figures.SETTLING}
"""What the figures show that are a measure by scheme under a name of their own."""

SERIES, DELAYS = ("series", ("time", "queue")), ("delays", ("queue_delay", "share"))
"""What is read for the figures of single runs: the folder and its columns."""


@dataclass(frozen=True)
class Wanted:
    """A figure to draw: one of `FIGURES`, the name of a case, a measure, and what to draw it against."""

    figure: str
    scenario: str | None = None
    measure: str | None = None
    against: str | None = None


def draw(found: Findings, wanted: Wanted) -> Figure:
    """Draw a figure. InputError for what the sweep does not have, and for what the figure does not take."""
    figure = wanted.figure
    measure = check_measure(found, wanted.measure or MEASURE_OF.get(figure, sweep_figures.DELAY))
    if wanted.measure and figure not in ("measure", "ranking"):
        raise InputError(f"measure: {wanted.measure}: {figure} has its own; use the figure measure")
    if wanted.against and figure != "measure":
        raise InputError(f"against: {wanted.against}: only the figure measure is drawn against a value")
    if figure == "ranking":
        return _ranking(found, measure)
    if wanted.against:
        return lines(sweep_figures.lines(found, measure, wanted.against, wanted.scenario))
    case = _case(found, wanted.scenario)
    if figure in ("queue", "cdf"):
        what, columns = SERIES if figure == "queue" else DELAYS
        runs = sweep_figures.stored(found, what, columns, [case])
        if not runs:
            raise InputError(f"figure: {figure}: no {what} of {case.name} are stored; {how_to_store(found)}")
        return small_multiples(queue(found, case, runs)) if figure == "queue" else cdf(found, case, runs)
    if figure == "delay-throughput":
        return scatter(found, sweep_figures.scatter(found, case))
    return dots(found, sweep_figures.dots(found, case, measure))


def _case(found: Findings, name: str | None) -> Case:
    """The case of that name, or the only one."""
    if name is None and len(found.cases) > 1:
        raise InputError(f"scenario: missing; --scenario is one of: {'; '.join(found.cases)}")
    if name is not None and name not in found.cases:
        raise unknown("scenario", "no scenario", name, found.cases)
    return found.cases[name] if name is not None else next(iter(found.cases.values()))


def _ranking(found: Findings, measure: str) -> Figure:
    if measure not in BETTER:
        raise unknown("measure", "neither more nor less is better of", measure, BETTER)
    ranks = found.ranking(measure)
    if ranks is None:
        raise InputError("figure: ranking: needs three schemes, and two scenarios in which each has a value")
    return ranking(ranks)


def how_to_store(found: Findings) -> str:
    """Return the command that adds time series to a sweep."""
    return f"get them by: aqmlab sweep {found.folder / 'experiment.toml'} --out {found.folder} --resume --series first"


@contextmanager
def _page(width: float, height: float, rows: int = 1, columns: int = 1) -> Iterator[tuple[Figure, Any]]:
    """Give a figure and the grid of its axes, laid out at the end once for every format."""
    layout = ConstrainedLayoutEngine(w_pad=0.05, h_pad=0.04)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout=layout)
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        yield figure, grid
        layout.execute(figure)
        figure.set_layout_engine("none")
