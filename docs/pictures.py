"""Draw the pictures of schemes (queue and state while the load quadruples and falls again) and those of lessons.

`python docs/pictures.py [NAME ...]` draws those of the schemes and lessons named, or all.
"""

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import aqmlab
from aqmlab import catalogue
from aqmlab.catalogue import Scheme
from aqmlab.present.labels import label
from aqmlab.present.plots import style
from aqmlab.present.plots.data import envelope
from aqmlab.present.plots.paper import DASHED, GUIDE
from aqmlab.quantities import quantity
from aqmlab.studio.lessons import Lesson, lessons
from aqmlab.studio.lessons.play import play

COLUMNS = {
    "queue": ("Queue (packets)", 1.0),
    "delay": ("Queueing delay (ms)", 1e3),
    "packet_delay": ("Packet delay (ms)", 1e3),
    "goodput": ("Goodput (Mbit/s)", 1e-6),
    "utilisation": ("Utilisation (%)", 100.0),
    "drops": ("Drops (packets/s)", 1.0),
    "avg": ("Average (packets)", 1.0),
}
"""What the columns of lessons are called, and their scale; all others are ratios, called as they are."""

FOLDER = Path(__file__).parent / "schemes" / "pictures"
LESSONS = Path(__file__).parent / "lessons" / "pictures"
SCENARIO, LINK, SEED = "catalogue/load-step", "bottleneck", 1


def picture(scheme: Scheme) -> Figure:
    """Queue over time and, where the scheme shows any state, the first of it."""
    run = aqmlab.run(SCENARIO, aqm=scheme.name, seed=SEED, series=True)
    series = run.series[LINK]
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(style.WIDTH, 1.7), layout="constrained")
        panels = figure.subplots(1, 1 + bool(scheme.observables), squeeze=False)[0]
        draw(panels[0], series["time"], series["queue"], "Queue (packets)", 300)
        panels[0].axhline(100, linewidth=1.0, **DASHED)
        if scheme.observables:
            [state, *_] = scheme.observables
            unit = "" if state.unit in ("1", "ratio") else f" ({state.unit})"
            draw(panels[1], series["time"], series[state.name], state.name + unit, None)
    return figure


def draw(axes: Any, time: Any, values: Any, name: str, top: float | None) -> None:
    """One curve over time; the axis begins at 0 and ends at `top`, if that is given."""
    axes.plot(*envelope(time, values), color=style.LINE, linewidth=0.7)
    axes.set_xlabel("Time (s)")
    axes.set_ylabel(name)
    axes.set_xlim(0, 60)
    axes.set_ylim(0, None if top is None else 1.05 * top)


def lesson_picture(lesson: Lesson) -> Figure:
    """What is to be watched in the pictured try, with its changes as dotted lines."""
    each = lesson.pictured
    lanes = {aqm: play(lesson, each, lane) for lane, aqm in enumerate(each.aqms)}
    of = style.looks(lanes)
    several, panels = len(lanes) > 1, len(lesson.watch)
    legend: dict[str, Any] = {}
    names = [label(aqm) for aqm in lanes] if several else []
    with style.page(panels, 2 if panels == 4 else 3, 1.3, names=names) as (figure, grid):
        for axes, curve in zip(grid.flat, lesson.watch, strict=False):
            kind, place, column = curve.split(".")
            name, scale = COLUMNS.get(column, (column, 1.0))
            for aqm, curves in lanes.items():
                time, values = np.array(curves[curve]).T
                [line] = axes.plot(time, scale * values, linewidth=0.8, **of[aqm].line)
                legend[label(aqm)] = line
            for step in each.steps:
                axes.axvline(step.at, color=style.GREY, linewidth=0.8, linestyle=":")
            for overlay in lesson.overlays:
                if overlay.curve == curve:
                    axes.axhline(scale * quantity(overlay.value), **(GUIDE if several else DASHED), linewidth=0.8)
            axes.set_xlim(0, each.until)
            axes.set_ylim(0, None)
            axes.set_xlabel("Time (s)")
            axes.set_ylabel(name)
            if kind == "flows":
                style.heading(axes, place)
        style.legend(figure, legend if several else {})
    return figure


def main() -> None:
    """Draw what is named, or all."""
    FOLDER.mkdir(exist_ok=True)
    LESSONS.mkdir(exist_ok=True, parents=True)
    found = {lesson.id: lesson for lesson in lessons()}
    for name in sys.argv[1:] or [*(scheme.name for scheme in catalogue.schemes()), *found]:
        if name in found:
            lesson_picture(found[name]).savefig(LESSONS / f"{name}.png", dpi=110)
        else:
            picture(catalogue.find(name)).savefig(FOLDER / f"{name}.png", dpi=110)


if __name__ == "__main__":
    main()
