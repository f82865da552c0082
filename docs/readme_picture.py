"""Draw the picture of README.md: the delay of a call alongside four uploads; writes docs/call.png.

The runs are those of `aqmlab compare home/call --aqms droptail,codel,fq-codel`.
"""

from pathlib import Path

import aqmlab
from aqmlab.present.labels import label
from aqmlab.present.plots import style

PICTURE = Path(__file__).parent / "call.png"
SCENARIO, SCHEMES, GROUP, EVERY = "home/call", ("droptail", "codel", "fq-codel"), "call-up", 0.2
WIDTH, HEIGHT = 5.2, 2.5
"""Inches: letters stay legible on a phone, and text below fits on the first screen."""


def main() -> None:
    """Run the scenario under each scheme, and draw the one-way delay of the call's packets over time."""
    of = style.looks({scheme: scheme for scheme in SCHEMES})
    with style.page(1, 1, 2.2, names=[label(scheme) for scheme in SCHEMES], width=WIDTH) as (figure, grid):
        figure.set_figheight(HEIGHT)
        axes, legend = grid.flat[0], {}
        for scheme in SCHEMES:
            run = aqmlab.Simulation(SCENARIO, scheme)
            places = {(column.place, column.name): at for at, column in enumerate(run.sample_columns([]))}
            rows = run.sample_until(run.end, EVERY)
            delay = 1e3 * rows[:, places[GROUP, "packet_delay"]]
            [legend[label(scheme)]] = axes.plot(rows[:, 0], delay, linewidth=1.4, **of[scheme].line)
        axes.set(xlim=(0, run.end), ylim=(0, None), xlabel="Time (s)", ylabel="One-way delay of the call (ms)")
        style.legend(figure, legend)
        figure.savefig(PICTURE, dpi=200)


if __name__ == "__main__":
    main()
