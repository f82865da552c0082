"""The figures of schemes side by side: a measure of each scheme, over all seeds."""

from collections.abc import Iterator
from typing import NamedTuple

from aqmlab.present.figures import words
from aqmlab.present.labels import label
from aqmlab.present.plots.data import Dots
from aqmlab.present.text import runs
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.metrics import find
from aqmlab.runs.statistics import summarise

GOODPUT = "total.goodput"


class MeasureFigure(NamedTuple):
    """A figure of a measure with the stem of its file and a caption that can be printed."""

    stem: str
    caption: str
    drawing: Dots


def figures(compared: Comparison) -> Iterator[MeasureFigure]:
    """Yield a figure per measure with values: those that were asked for, or each link's mean delay and the goodput."""
    usual = [*(f"links.{link}.queue_delay_mean" for link in compared.scenario.links), GOODPUT]
    for measure in compared.asked or usual:
        drawing = of_measure(compared, measure)
        if drawing.values:
            n = runs({len(values) for values in drawing.values.values()}, range(1, compared.seeds + 1))
            shown = "small marks are seeds, large ones means with 95 % intervals, " if compared.seeds > 1 else ""
            caption = f"{drawing.label} under each scheme in {compared.scenario.name}: {shown}{n}."
            yield MeasureFigure(measure.replace(".", "-").replace("_", "-"), caption, drawing)


def of_measure(compared: Comparison, measure: str) -> Dots:
    """Return a measure of each run; without the schemes that have no value."""
    scale = find(measure).shown.scale
    values = {}
    for spec in compared.schemes:
        found = compared.measured.values(compared.scenario.name, spec, measure)
        if found:
            values[label(spec)] = {seed: scale * value for seed, value in found.items()}
    summaries = {name: summarise(list(each.values())) for name, each in values.items()}
    return Dots(words.measure(measure), [*map(label, compared.schemes)], values, summaries)
