"""Measure docs/analysis.md: PI's stability predicted and simulated over flows, RTT and gain (some minutes).

`python docs/analysis.py` writes the table between `<!-- grid -->` and `<!-- end -->`, the map, and the
picture of NPD-RED's gains for docs/xiong2010.md.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import aqmlab
from aqmlab._core import Law, Scenario
from aqmlab.analysis.loop import close
from aqmlab.analysis.network import network
from aqmlab.present.figures.runs import queue_frame, queue_panel
from aqmlab.present.plots import style
from aqmlab.present.plots.data import OverTime
from aqmlab.present.plots.files import draw, encode
from aqmlab.runs.executor import run_many
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import Task

PAGE = Path(__file__).parent / "analysis.md"
A, B = 1.822e-5, 1.816e-5
"""PI's default gains, the unit of the gain in the map."""

GAINS = {
    "Called stable": "npd-red:base=recursive,k_p=2e-10,k_d=-3.59e-11",
    "Called unstable": "npd-red:base=recursive,k_p=10,k_d=-3.59e-7",
    "Range in packets": "npd-red",
}
"""NPD-RED with the gains that Xiong et al. print, and as reconstructed."""

RTTS = (60, 90, 120, 160, 240, 320)
FACTORS = (0.4, 0.55, 0.7, 0.8, 0.9, 1.1, 1.25, 1.5, 1.8, 2.5)
"""Gains of the grid, as factors on the gain at which the loop is predicted to become unstable."""

AWAY = 0.2
"""Points whose gain differs from the boundary by a smaller share are not counted."""

AT_ZERO = 0.015
"""A queue oscillates if p is 0 for more than this share of the time.

An unstable loop grows until it reaches a bound, which for PI is p = 0. The queue is then no longer at rest. The noise
of a stable loop does not reach this bound.
"""

LENGTH, SETTLED = 80, 30
"""Length of a run, and start of the period in which p is observed, in seconds."""


@dataclass(frozen=True)
class Case:
    """A grid: rate (Mbit/s), target (packets), numbers of flows, marks or drops."""

    name: str
    title: str
    rate: float
    target: int
    flows: Sequence[int]
    ecn: bool


CASES = [
    Case("marks", "marks, 200 to 900 flows", 312, 1500, (200, 300, 450, 650, 900), ecn=True),
    Case("drops", "drops, 200 to 900 flows", 312, 1500, (200, 300, 450, 650, 900), ecn=False),
    Case("tens", "marks, 20 to 90 flows", 31.2, 150, (20, 30, 45, 65, 90), ecn=True),
]


@dataclass(frozen=True)
class Dot:
    """A point of the grid: gain relative to the default and to the predicted boundary, and the simulated result."""

    flows: int
    rtt: int
    gain: float
    factor: float
    holds: bool
    at_zero: float

    @property
    def agrees(self) -> bool:
        """Prediction and simulation agree."""
        return (self.factor > 1) == (self.at_zero > AT_ZERO)

    @property
    def counts(self) -> bool:
        """The model is valid at this point, and the boundary is far."""
        return self.holds and abs(self.factor - 1) > AWAY - 1e-9


def built(case: Case, flows: int, rtt: int) -> Scenario:
    """Return a scenario with one link and flows that start within ten seconds."""
    text = f"""
schema = 1
title = "PI over a grid"
duration = "{LENGTH} s"
[[links]]
name = "bottleneck"
rate = "{case.rate} Mbit/s"
buffer = "{10 * case.target} packets"
target = "{case.target} packets"
[[flows]]
name = "ftp"
count = {flows}
rtt = "{rtt} ms"
start = {{ uniform = ["0 s", "10 s"] }}
ecn = {str(case.ecn).lower()}
tcp = {{ variant = "sack" }}
"""
    return Scenario.parse(text, "grid", [])


def pi(scenario: Scenario) -> Law:
    """Return PI with its default gains."""
    return scenario.law("pi")


def boundary(scenario: Scenario) -> float:
    """Return the predicted gain at the boundary, relative to the default."""
    gain = close(network(scenario), pi(scenario)).judge().gain
    assert gain is not None
    return gain


def grid(case: Case, rtts: Sequence[int] = RTTS, factors: Sequence[float] = FACTORS) -> list[Dot]:
    """Predict and simulate every point."""
    tasks, places = [], []
    for flows in case.flows:
        for rtt in rtts:
            scenario = built(case, flows, rtt)
            edge = boundary(scenario)
            holds = not close(network(scenario), pi(scenario)).point.doubts()
            for factor in factors:
                gain = factor * edge
                tasks.append(Task(scenario, f"pi:a={A * gain:.9g},b={B * gain:.9g}", 1, True, None))
                places.append((flows, rtt, gain, factor, holds))
    runs = run_many(tasks)
    return [Dot(*place, at_zero(run)) for place, run in zip(places, runs, strict=True) if isinstance(run, RunResult)]


def at_zero(run: RunResult) -> float:
    """Return the share of the time after the start in which p is 0."""
    series = run.series["bottleneck"]
    return float(np.mean(series["p"][series["time"] >= SETTLED] <= 0))


def table(grids: dict[str, list[Dot]]) -> str:
    """Return the agreement of each case."""
    lines = ["| | points | model holds | counted | agree | stable, but oscillates | unstable, but rests |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    for case in CASES:
        dots = grids[case.name]
        counted = [dot for dot in dots if dot.counts]
        agree = sum(dot.agrees for dot in counted)
        wrong = [sum(not dot.agrees and (dot.factor < 1) == low for dot in counted) for low in (True, False)]
        share = f"{agree} ({100 * agree / len(counted):.1f} %)"
        holds = sum(dot.holds for dot in dots)
        lines.append(f"| {case.title} | {len(dots)} | {holds} | {len(counted)} | {share} | {wrong[0]} | {wrong[1]} |")
    return "\n".join(lines)


def picture(case: Case, dots: Sequence[Dot]) -> Figure:
    """Draw the simulated points over the predicted boundary, one panel per number of flows."""
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(style.WIDTH, 4.4), layout="constrained")
        panels = figure.subplots(2, 3, sharex=True, sharey=True)
        for axes, flows in zip(panels.flat, case.flows, strict=False):
            panel(axes, case, flows, [dot for dot in dots if dot.flows == flows])
        for axes in (*panels[-1], panels[0, -1]):
            axes.set_xlabel("Round-trip propagation (ms)")
            axes.set_xticks(RTTS, [str(rtt) for rtt in RTTS])
        for axes in panels[:, 0]:
            axes.set_ylabel("Gain / default gain")
        panels[0, 2].tick_params(labelbottom=True)
        panels[-1, -1].set_axis_off()
        panels[-1, -1].legend(*panels[0, 0].get_legend_handles_labels(), loc="center", frameon=False, fontsize=8)
    return figure


def panel(axes: Any, case: Case, flows: int, dots: Sequence[Dot]) -> None:
    """Draw one number of flows."""
    rtts = np.geomspace(55, 350, 30)
    edge = [boundary(built(case, flows, round(rtt))) for rtt in rtts]
    axes.plot(rtts, edge, color="black", linewidth=1.2, label="predicted boundary")
    axes.fill_between(rtts, 0.8 * np.array(edge), 1.2 * np.array(edge), color="#dddddd", label="within 20 %")
    for name, moves, look in (
        ("simulated: at rest", False, {"marker": "o", "markerfacecolor": "none", "color": style.LINE}),
        ("simulated: oscillating", True, {"marker": "x", "color": style.TARGET}),
    ):
        chosen = [dot for dot in dots if (dot.at_zero > AT_ZERO) == moves]
        places = [dot.rtt for dot in chosen], [dot.gain for dot in chosen]
        axes.plot(*places, linestyle="none", markersize=4, label=name, **look)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.set_title(f"{flows} flows", loc="left", fontweight="bold", pad=3)


def gains() -> Figure:
    """Draw the queue of Xiong et al.'s link under the gains called stable and unstable, and as reconstructed."""
    scenario = aqmlab.load("xiong2010/table-4")
    runs = [(name, aqmlab.run(scenario, spec, series=True)) for name, spec in GAINS.items()]
    panels = [queue_panel(name, {name: run}, "bottleneck", scenario.link("bottleneck").target) for name, run in runs]
    frame = queue_frame(panels, [(scenario, "bottleneck")])
    return draw(OverTime(panels, scenario.duration, [frame]))


def main() -> None:
    """Write the table into the page, and the pictures."""
    grids = {case.name: grid(case) for case in CASES}
    page = PAGE.read_text(encoding="utf-8")
    before, after = re.split(r"<!-- grid -->.*?<!-- end -->", page, flags=re.DOTALL)
    PAGE.write_text(f"{before}<!-- grid -->\n\n{table(grids)}\n\n<!-- end -->{after}", encoding="utf-8")
    PAGE.with_name("xiong2010-gains.png").write_bytes(encode(gains(), "png"))
    PAGE.with_name("analysis-map.png").write_bytes(encode(picture(CASES[0], grids["marks"]), "png"))


if __name__ == "__main__":
    main()
