"""Draw the picture of fabrics in docs/scenarios.md: slowdown by flow size (a minute).

`python docs/fabric.py` writes docs/fabric.png.
"""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

import aqmlab
from aqmlab.present.plots import style
from aqmlab.runs.metrics import SlowdownResult

PICTURE = Path(__file__).with_suffix(".png")
SHOWN = {"web": "DCTCP", "cubic": "CUBIC"}
LEAST = 20
"""Transfers that a class needs to be drawn."""


def picture(slowdowns: dict[str, SlowdownResult]) -> Figure:
    """Median, 95 % and 99 % over the size of transfers, a panel for each group."""
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(style.WIDTH, 2.2), layout="constrained")
        panels = figure.subplots(1, len(slowdowns), sharey=True, squeeze=False)[0]
        for axes, (name, of) in zip(panels, slowdowns.items(), strict=True):
            many = [size for size, count in of.count_by_size if count and count >= LEAST]
            curves = {"median": of.p50_by_size, "95 %": of.p95_by_size, "99 %": of.p99_by_size}
            for dashes, (label, points) in zip(("-", "--", ":"), curves.items(), strict=True):
                shown = [(size, value) for size, value in points if size in many]
                axes.plot(
                    *zip(*shown, strict=True), color=style.LINE, linestyle=dashes, marker="o", ms=2.5, label=label
                )
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_title(name)
            axes.set_xlabel("Size up to (B)")
        panels[0].set_ylim(bottom=1)
        panels[0].yaxis.set_major_locator(FixedLocator([1, 2, 5, 10, 20, 50, 100]))
        panels[0].yaxis.set_major_formatter("{x:g}")
        panels[0].set_ylabel("Slowdown")
        panels[0].legend()
    return figure


def main() -> None:
    """Run the scenario and write the picture."""
    flows = aqmlab.run("networks/leaf-spine-1k").flows
    slowdowns = {title: slowdown for name, title in SHOWN.items() if (slowdown := flows[name].slowdown)}
    picture(slowdowns).savefig(PICTURE, dpi=200)


if __name__ == "__main__":
    main()
