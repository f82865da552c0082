"""The report on a comparison: its tables, and the figures of each link."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from aqmlab import _core
from aqmlab.present import text
from aqmlab.present.figures import runs as figures_of_runs
from aqmlab.present.html import page
from aqmlab.present.html.page import Drawings, Files, Item, Part, Section, Table
from aqmlab.present.labels import label
from aqmlab.runs.comparison import Comparison, View, document
from aqmlab.runs.metrics import definitions, find

CAPTIONS = {
    "queue": "Packets waiting against time, seed 1. The dashed line is the target.",
    "p": "Drop probability against time, seed 1: pale as sampled, dark the mean over 1 s.",
}
"""By the kind of figure."""


def files(comparisons: Sequence[Comparison], command: str) -> Files:
    """Return what comparisons leave: report.html, results.json and the figures."""
    drawings: Drawings = {}
    parts = [_part(each, drawings, several=len(comparisons) > 1) for each in comparisons]
    facts = provenance(comparisons, comparisons[0].seeds, command)
    title = parts[0].title if len(parts) == 1 else f"{len(parts)} scenarios"
    traced = [each.scenario for each in comparisons if _traces(each.scenario)]
    scenarios: Files = {f"{scenario.name.replace('/', '-')}.toml": scenario.text for scenario in traced}
    return {"results.json": document(comparisons) + "\n", **scenarios, **page.report(title, parts, drawings, facts)}


def _part(comparison: Comparison, drawings: Drawings, *, several: bool) -> Part:
    name = comparison.scenario.name
    stem = f"{name.replace('/', '-')}-" if several else ""
    sections = [_section(comparison, view) for view in comparison.views]
    sections[0] = replace(sections[0], warnings=[*comparison.notes, *sections[0].warnings])
    sections += [_over_time(comparison, link, stem, drawings) for link in comparison.scenario.links]
    return Part(name, text.titled(comparison.scenario), f"Scenario {name}", sections)


def _section(comparison: Comparison, view: View) -> Section:
    rows = {
        label(spec): [Item(comparison.text(spec, measure)) for measure in view.columns.values()]
        for spec in comparison.schemes
    }
    return Section(
        title=view.title,
        subtitle=text.seeds(comparison.seeds),
        table=Table("Scheme", list(view.columns), rows),
        definition=definitions(dict.fromkeys(map(find, view.columns.values()))),
        warnings=comparison.warnings(view.link),
    )


def _over_time(comparison: Comparison, link: str, stem: str, drawings: Drawings) -> Section:
    prefix = f"{stem}{link}-" if len(comparison.scenario.links) > 1 else stem
    return Section(
        title=f"Link {link} over time",
        subtitle=text.seeds(1),
        figures=figures(comparison, comparison.schemes, link, prefix, drawings),
        parameters=parameters(comparison, comparison.schemes) if link == comparison.scenario.links[0] else {},
    )


def figures(comparison: Comparison, specs: Sequence[str], link: str, prefix: str, drawings: Drawings) -> dict[str, str]:
    """Add a link's figures of these schemes to `drawings`, return their names by caption."""
    runs = {spec: comparison.runs[spec, 1] for spec in specs if (spec, 1) in comparison.runs}
    drawn = figures_of_runs.figures(runs, comparison.scenario, link)
    drawings.update({f"{prefix}{name}": drawing for name, drawing in drawn.items()})
    return {CAPTIONS[name]: f"{prefix}{name}" for name in drawn}


def parameters(comparison: Comparison, specs: Iterable[str]) -> dict[str, str]:
    """Return the parameters of schemes as they were used, with their units."""
    return {label(spec): page.parameters(comparison.scenario, spec) for spec in specs}


def provenance(comparisons: Iterable[Comparison], seeds: int, command: str) -> dict[str, str]:
    """Return what one needs to repeat the work, and what it cost."""
    batches = list({id(comparison): comparison for comparison in comparisons}.values())
    runs = [run for comparison in batches for run in comparison.runs.values()]
    failures = [failure for comparison in batches for failure in comparison.failures]
    facts = {"Command": command, "Version": f"aqmlab {_core.version()}", "Seeds": text.seeds(seeds)}
    if runs:
        busy = sum(run.engine.wall for run in runs)
        departed = sum(link.departed for run in runs for link in run.links.values())
        wall = sum({batch.wall for batch in batches})  # all scenarios of a study share theirs
        facts["Cost"] = (
            f"{len(runs)} runs in {wall:.2f} s of wall time; {departed:,} packets sent, "
            f"{departed / max(busy, 1e-9) / 1e6:.1f} million a second and core"
        )
    if traces := [trace for comparison in batches for trace in _traces(comparison.scenario)]:
        facts["Traces"] = "; ".join(dict.fromkeys(traces))
    if failures:
        facts["Failed runs"] = "; ".join(map(str, failures))
    return facts


def _traces(scenario: _core.Scenario) -> list[str]:
    """The traces that rates follow; the scenario that is left beside a report has their text."""
    rates = [(link["name"], link["rate"]) for link in scenario.resolved()["links"]]
    return [
        f"{name} follows {rate['trace']}, {rate['opportunities']:,} opportunities in {rate['period']}, "
        f"mean {rate['mean']}, FNV-1a {rate['checksum']}"
        for name, rate in rates
        if isinstance(rate, dict) and "trace" in rate
    ]
