"""A comparison at a glance: one measure of each group of flows, and where the schemes differ most."""

from collections.abc import Iterator, Mapping, Sequence

from aqmlab.notebook import Item, Row, Sheet
from aqmlab.present.labels import label
from aqmlab.present.text import some
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.measures import heading, usual
from aqmlab.runs.metrics import Metric, find, split

TELLING = ("media.frame_delay_p95", "call.mos", "fct_p95", "video.bitrate_mean", "packet_delay_p99", "goodput")
"""The measures of a group that users notice first, the most telling first."""

GOOD, POOR = 4.0, 3.0
"""Mean opinion scores from which on a call is good, and below which it is hard to bear."""

ALIKE = 1.1
"""Schemes whose ratio is below this count as equal."""

BLUR = 1e-3
"""Seconds added to times before they are compared: nobody notices less, and an empty queue has no delay."""

LEGEND = (
    "Bold: the best, or within 1 % of it, unless all are; it says nothing about significance. n× and +n %: "
    "relative to the minimum; n %: relative to the maximum. "
    f"A call is good at a mean opinion score (MOS) above {GOOD:g} and hard to bear below {POOR:g}."
)


def glance(comparisons: Sequence[Comparison]) -> Sheet:
    """Return a row for each scenario and group of flows, a column for each scheme of any of them."""
    several = len(comparisons) > 1
    schemes = list(dict.fromkeys(spec for each in comparisons for spec in each.schemes))
    rows: list[Row] = [
        [(f"{_short(each)}: " if several else "") + heading(measure), *_cells(schemes, find(measure), means)]
        for each in comparisons
        for measure, means in _measured(each)
    ]
    corner = "Scenario and flows" if several else "Flows"
    return Sheet("", [corner, *(label(spec) for spec in schemes)], rows, about=LEGEND)


def sentences(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Yield, for each scenario, in which of these measures the schemes differ most, and by how much."""
    for each in comparisons:
        found = dict(_measured(each))
        ratios = {measure: _ratio(find(measure), means) for measure, means in found.items()}
        measure = max(ratios, key=ratios.__getitem__, default="")
        if measure and ratios[measure] >= ALIKE:
            yield f"{each.scenario.title}: {_sentence(measure, found[measure])}"
        elif measure:
            yield f"{each.scenario.title}: no user measure differs by 10 % between the schemes."


def _sentence(measure: str, means: Mapping[str, float]) -> str:
    metric = find(measure)
    best = _best(metric, means)
    worst = (max if _less(metric) else min)(means, key=means.__getitem__)
    winners = some([label(spec) for spec, mean in means.items() if _is_best(mean, best)])
    place = split(measure)[0].partition(".")[2]
    return (
        f"{metric.title} of {place} is {_value(metric, means[worst])} under {label(worst)}, "
        f"{_value(metric, best)} under {winners}."
    )


def _value(metric: Metric, mean: float) -> str:
    if metric.name == "call.mos":
        return f"{metric.show(mean)} ({_quality(mean)})"
    return f"{metric.show(mean)} {metric.unit_shown}".rstrip()


def _quality(mos: float) -> str:
    return "good" if mos > GOOD else "hard to bear" if mos < POOR else "fair"


def _measured(comparison: Comparison) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield the measures with their means by scheme; without those that no scheme or only one has."""
    for measure in _telling(comparison):
        summaries = {spec: comparison.summary(spec, measure) for spec in comparison.schemes}
        means = {spec: summary.mean for spec, summary in summaries.items() if summary}
        if len(means) > 1:
            yield measure, means


def _telling(comparison: Comparison) -> list[str]:
    """Return what was asked for, or a measure of each group; with goodput alone the delay of the queues, too.

    Flows that send as fast as they can share the same rate under almost any scheme; what differs is how long others
    wait.
    """
    if comparison.asked:
        return [measure for measure in comparison.asked if find(measure).better]
    found: dict[str, str] = {}
    for measure in sorted(usual(comparison.scenario), key=_rank):
        found.setdefault(split(measure)[0], measure)
    order = [f"flows.{name}" for name in comparison.scenario.flows]
    telling = [found[place] for place in order if place in found]
    if all(split(measure)[1] == "goodput" for measure in telling):
        telling += [f"links.{link}.queue_delay_mean" for link in comparison.scenario.links]
    return telling


def _rank(measure: str) -> int:
    name = split(measure)[1]
    return TELLING.index(name) if name in TELLING else len(TELLING)


def _cells(schemes: Sequence[str], metric: Metric, means: Mapping[str, float]) -> list[Item]:
    best = _best(metric, means)
    alike = all(_is_best(mean, best) for mean in means.values())
    return [_cell(metric, means[spec], best, alike) if spec in means else Item("–") for spec in schemes]


def _cell(metric: Metric, mean: float, best: float, alike: bool) -> Item:
    """Return a mean and what it is to the best one, which is bold unless all are `alike`."""
    is_best = _is_best(mean, best)
    if metric.name == "call.mos":
        small = _quality(mean)
    elif is_best or not best:
        small = ""
    else:
        ratio = mean / best
        more = f"+{100 * (ratio - 1):.0f} %" if ratio < 2 else f"{ratio:.1f}×"
        small = more if _less(metric) else f"{100 * ratio:.0f} %"
    return Item(metric.show(mean), bold=is_best and not alike, small=small)


def _best(metric: Metric, means: Mapping[str, float]) -> float:
    return (min if _less(metric) else max)(means.values())


def _is_best(mean: float, best: float) -> bool:
    return abs(mean - best) <= 0.01 * abs(best)


def _less(metric: Metric) -> bool:
    """Return whether less is better: percentiles of delays are not ranked elsewhere, but users want them short."""
    return metric.better == "less" or metric.unit == "s"


def _ratio(metric: Metric, means: Mapping[str, float]) -> float:
    """Return the ratio of the maximum mean to the minimum; times within a fraction of a millisecond are equal."""
    blurred = BLUR if metric.unit == "s" else 0.0
    least, most = min(means.values()) + blurred, max(means.values()) + blurred
    return most / least if least > 0 else 1.0


def _short(comparison: Comparison) -> str:
    return comparison.scenario.name.rpartition("/")[2]
