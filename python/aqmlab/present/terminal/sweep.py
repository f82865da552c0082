"""A sweep: what it is to run, its means and ranking, and what can be drawn of it."""

from collections.abc import Mapping

from rich.console import Console

from aqmlab.present.labels import label
from aqmlab.present.tables import named
from aqmlab.present.terminal.catalogue import names
from aqmlab.present.terminal.console import aside, console, marks, note, table, title
from aqmlab.present.text import some
from aqmlab.runs.findings import Findings, rankings
from aqmlab.runs.measures import heading
from aqmlab.runs.metrics import find
from aqmlab.runs.plan import Plan
from aqmlab.runs.statistics import Ranking
from aqmlab.runs.sweep import Sweep

MOST_ROWS = 60
"""Rows of a sweep's summary that are still read in a terminal."""


def plan(asked: Plan, runs: int, done: int) -> None:
    """Print what a sweep is to run, and how many runs of it, or of a shard, there are and are done."""
    out = console()
    out.print(title(asked.title))
    dimensions = [
        ("scenarios", [file.name for file in asked.scenarios]),
        ("schemes", [arm.aqm for arm in asked.arms]),
        *asked.overrides.items(),
        ("seeds", [str(seed) for seed in asked.seeds]),
    ]
    shown = table("", "Dimension", "Values", "Which")
    for name, values in dimensions:
        shown.add_row(name, str(len(values)), some(list(values)))
    out.print(shown)
    out.print(f"{runs:,} runs, {done:,} of them done")


def sweep(swept: Sweep) -> None:
    """Print means and intervals of each scenario and scheme, then the ranking of the schemes."""
    out = console()
    for kernel in swept.kernels:
        out.print(aside(f"on Linux {kernel}"))
    heads = [heading(measure) for measure in swept.measures]
    means = table(swept.plan.title, "Scenario", "Scheme", numbers=heads)
    for condition in swept.plan.conditions[:MOST_ROWS]:
        case, scheme = condition.case, condition.arm.aqm
        found = ((metric, swept.measured.summary(case, scheme, measure)) for measure, metric in swept.measures.items())
        shown = (metric.show(x.mean, x.half_width) if x else metric.show(None) for metric, x in found)
        varied = (f"{path} = {value}" for path, value in case.overrides if len(swept.plan.overrides.get(path, ())) != 1)
        where = "\n".join([case.scenario, *varied])
        means.add_row(where, named(swept, case, scheme), *shown)
    out.print(means, *marks(map(label, swept.schemes)), sep="\n")
    if len(swept.plan.conditions) > MOST_ROWS:
        out.print(f"The first {MOST_ROWS} of {len(swept.plan.conditions):,} rows; all of them: --json, or runs.parquet")
    for text in swept.notes:
        out.print(note(text))
    ranking(out, swept, rankings(swept, swept.ranked))
    out.print(f"{len(swept.rows):,} runs, {swept.done_now:,} of them done now; {len(swept.failures):,} failed")


def ranking(out: Console, found: Findings, ranks: Mapping[str, Ranking]) -> None:
    """Print the mean ranks by measure, if there are schemes and scenarios enough for them."""
    if not ranks:
        return
    heads = [find(measure).title for measure in ranks]
    shown = table("Mean rank over the scenarios, 1 the best", found.head, numbers=heads)
    for scheme in found.schemes:
        shown.add_row(label(scheme), *(f"{each.ranks[scheme]:.2f}" for each in ranks.values()))
    shown.add_section()
    shown.add_row("critical difference", *(f"{each.critical:.2f}" for each in ranks.values()))
    shown.add_row("p (Friedman)", *(f"{each.p:.2g}" for each in ranks.values()))
    out.print(shown)


def what_to_draw(found: Findings, figures: Mapping[str, str]) -> None:
    """Print the figures, scenarios, measures and varied values of a stored sweep."""
    out = console()
    out.print(names("Figures", list(figures.items())))
    out.print(names("Scenarios", [(case.name, f"link {case.link}") for case in found.cases]))
    out.print(
        names("Measures", [(name, find(name).definition) for name in found.known if not name.startswith("links.")])
    )
    if found.varied:
        out.print(names("Varied values", [(name, ", ".join(values)) for name, values in found.varied.items()]))
