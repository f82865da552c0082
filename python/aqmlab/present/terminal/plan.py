"""A sweep: what it is to run, and what can be drawn of it."""

from collections.abc import Mapping

from aqmlab.present.terminal.catalogue import names
from aqmlab.present.terminal.console import console, table, title
from aqmlab.present.text import some
from aqmlab.runs.findings import Findings
from aqmlab.runs.metrics import find
from aqmlab.runs.plan import Plan


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
