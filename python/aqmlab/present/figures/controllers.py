"""The figures of controllers side by side: measures by scheme in groups, and trade-offs as small multiples."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from aqmlab.present.figures import words
from aqmlab.present.figures.ellipses import FEWEST_FOR_MEAN
from aqmlab.present.figures.sweep import scatter
from aqmlab.present.labels import label
from aqmlab.present.plots.data import Drawing, LineChart, LinePanel, Scatter
from aqmlab.present.text import runs, some
from aqmlab.runs.controllers import ControllerComparison, scheme_of
from aqmlab.runs.metrics import find
from aqmlab.runs.statistics import Summary
from aqmlab.runs.table import Case

MOST_NAMES = 6
"""Controllers that a caption names."""


class Drawn(NamedTuple):
    """A figure with the stem of its file and a caption that can be printed."""

    stem: str
    caption: str
    drawing: Drawing


def figures(compared: ControllerComparison, scenario: str) -> Iterator[Drawn]:
    """Yield the figures of a scenario: each measure by scheme, and goodput against delay in a panel per scheme."""
    cases = compared.of_scenario(scenario)
    counts = {len(compared.runs(case, law)) for case in cases for law in compared.schemes} - {0}
    if not counts:
        return
    of = some([label(law) for law in compared.schemes], MOST_NAMES)
    n = runs(counts, compared.seeds)
    [links] = [each.links for each in compared.scenarios if each.name == scenario]
    link = f" of link {cases[0].link}" if len(links) > 1 else ""
    interval = ": mean and 95 % interval" if len(compared.seeds) > 1 else ""
    for measure in compared.measures:
        chart = by_scheme(compared, cases, measure)
        if chart.names:
            where = link.replace(" of", ",") if measure.startswith("link.") else ""
            caption = f"{words.measure(measure)} of {of} under each scheme{where}{interval}, {n}."
            yield Drawn(stem_of(measure), caption, chart)
    clouds = trade_off(compared, cases)
    if all(panel.clouds for panel in clouds.panels):
        ellipse = (
            ". Large marks are means, ellipses their 95 % regions" if len(compared.seeds) >= FEWEST_FOR_MEAN else ""
        )
        clouds_of = f"Goodput of all flows of {of} against the mean queueing delay{link}"
        caption = f"{clouds_of}, a panel for each scheme{ellipse}; {n}."
        yield Drawn("trade-off", caption, clouds)


def stem_of(measure: str) -> str:
    """Return the name of the file of a measure's figure: "link-queue-delay-mean"."""
    return measure.replace(".", "-").replace("_", "-")


def by_scheme(compared: ControllerComparison, cases: Sequence[Case], measure: str) -> LineChart:
    """Return a measure with the schemes on the axis: the controllers next to each other over each name."""
    lines: dict[str, dict[float, Summary]] = {}
    for law in compared.schemes:
        found = {float(i): compared.measured.summary(case, law, measure) for i, case in enumerate(cases)}
        scale = find(measure).shown.scale
        if line := {x: summary.scaled(scale) for x, summary in found.items() if summary}:
            lines[label(law)] = line
    names = [label(scheme_of(case)) for case in cases]
    return LineChart("", [LinePanel("", words.measure(measure), lines)], columns=1, names_of_x=names)


def trade_off(compared: ControllerComparison, cases: Sequence[Case]) -> Scatter:
    """Return goodput against delay, a panel per scheme on its own axes."""
    charts = [scatter(compared, case) for case in cases]
    panels = [replace(chart.panels[0], title=label(scheme_of(case))) for chart, case in zip(charts, cases, strict=True)]
    return replace(charts[0], panels=panels, columns=3)
