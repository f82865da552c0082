"""Draw the small picture on each scheme's page: queue and state while the load quadruples and falls again.

`python docs/pictures.py [NAME ...]` draws those of the schemes named, or all.
"""

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

import aqmlab
from aqmlab import catalogue
from aqmlab.catalogue import Scheme
from aqmlab.present.plots import style
from aqmlab.present.plots.data import envelope
from aqmlab.present.plots.paper import DASHED

FOLDER = Path(__file__).parent / "schemes" / "pictures"
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


def draw(axes: Any, time: Any, values: Any, label: str, top: float | None) -> None:
    """One curve over time; the axis begins at 0 and ends at `top`, if that is given."""
    axes.plot(*envelope(time, values), color=style.LINE, linewidth=0.7)
    axes.set_xlabel("Time (s)")
    axes.set_ylabel(label)
    axes.set_xlim(0, 60)
    axes.set_ylim(0, None if top is None else 1.05 * top)


def main() -> None:
    """Draw the schemes named, or all."""
    FOLDER.mkdir(exist_ok=True)
    names = sys.argv[1:] or [scheme.name for scheme in catalogue.schemes()]
    for scheme in map(catalogue.find, names):
        picture(scheme).savefig(FOLDER / f"{scheme.name}.png", dpi=110)


if __name__ == "__main__":
    main()
