"""The parts of a sweep: its means and ranking."""

from collections.abc import Mapping

from aqmlab.notebook import Item, Row, Sheet
from aqmlab.present.labels import label
from aqmlab.present.parts import Part, Section
from aqmlab.present.tables import named
from aqmlab.runs.findings import Findings, rankings
from aqmlab.runs.measures import heading
from aqmlab.runs.metrics import Metric, find
from aqmlab.runs.plan import Condition
from aqmlab.runs.statistics import Paired, Ranking
from aqmlab.runs.sweep import Sweep

MOST_ROWS = 60
"""Rows of a sweep's summary that are still read in a terminal."""

RANKING = "Mean rank over the scenarios, 1 the best"


def parts(swept: Sweep) -> list[Part]:
    """Return means and intervals of each scenario and scheme, then the ranking of the schemes."""
    conditions = swept.plan.conditions
    heads = ["Scenario", "Scheme", *map(heading, swept.measures)]
    rows = [_row(swept, condition) for condition in conditions[:MOST_ROWS]]
    left = f"The first {MOST_ROWS} of {len(conditions):,} rows; all of them: --json, or runs.parquet"
    means = Sheet("", heads, rows, 2, left if len(conditions) > MOST_ROWS else "")
    sections = [Section(swept.plan.title, sheet=means, warnings=swept.notes)]
    if table := ranks(swept, rankings(swept, swept.ranked)):
        sections.append(Section(RANKING, sheet=table))
    count = f"{len(swept.rows):,} runs, {swept.done_now:,} of them done now; {len(swept.failures):,} failed"
    return [Part("sweep", "", "\n".join(f"on Linux {kernel}" for kernel in swept.kernels), sections, about=[count])]


def _row(swept: Sweep, condition: Condition) -> list[str]:
    case, scheme = condition.case, condition.arm.aqm
    found = ((metric, swept.measured.summary(case, scheme, measure)) for measure, metric in swept.measures.items())
    shown = (metric.show(x.mean, x.half_width) if x else metric.show(None) for metric, x in found)
    varied = (f"{path} = {value}" for path, value in case.overrides if len(swept.plan.overrides.get(path, ())) != 1)
    return ["\n".join([case.scenario, *varied]), named(swept, case, scheme), *shown]


def ranks(found: Findings, by_measure: Mapping[str, Ranking]) -> Sheet | None:
    """Return the mean ranks, in bold the best of a measure if no other is as good.

    That is, if all others are further away than the critical difference.
    """
    if not by_measure:
        return None
    each = by_measure.values()
    rows: list[Row] = [
        [
            label(scheme),
            *(
                Item(f"{ranking.ranks[scheme]:.2f}", value=ranking.ranks[scheme], bold=_is_alone(ranking, scheme))
                for ranking in each
            ),
        ]
        for scheme in found.schemes
    ]
    foot = [
        ["critical difference", *(f"{ranking.critical:.2f}" for ranking in each)],
        ["p (Friedman)", *(f"{ranking.p:.2g}" for ranking in each)],
    ]
    return Sheet("", [found.head, *(find(name).title for name in by_measure)], rows, foot=foot, sortable=True)


def _is_alone(ranking: Ranking, scheme: str) -> bool:
    """Return whether every other scheme ranks significantly below this one."""
    others = (rank for name, rank in ranking.ranks.items() if name != scheme)
    return all(rank - ranking.ranks[scheme] > ranking.critical for rank in others)


def difference(metric: Metric, pair: Paired | None) -> Item:
    """Return a paired difference, bold where its interval does not contain 0."""
    if pair is None:
        return Item("–")
    mean, width = pair.difference.mean, pair.difference.half_width
    hint = "" if pair.p is None or pair.effect is None else f"p = {pair.p:.2g}, effect {pair.effect:.2g}"
    return Item(metric.show(mean, width), value=mean, bold=width is not None and abs(mean) > width, hint=hint)
