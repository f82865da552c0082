"""The report on a comparison: its tables, and the figures of each link."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from aqmlab import _core
from aqmlab.notebook import Sheet
from aqmlab.present import text
from aqmlab.present.figures import comparison as figures_of_measures
from aqmlab.present.figures import runs as figures_of_runs
from aqmlab.present.html import glance, page
from aqmlab.present.html.page import Drawings, Files
from aqmlab.present.html.setup import setup
from aqmlab.present.labels import label
from aqmlab.present.parts import Part, Section
from aqmlab.present.plots.style import PAGE, Size
from aqmlab.runs.comparison import Comparison, View, document
from aqmlab.runs.engines import EngineComparison
from aqmlab.runs.executor import Progress
from aqmlab.runs.metrics import find
from aqmlab.runs.results import RunResult

CAPTIONS = {
    "queue": "Packets waiting against time, n = 1 (seed 1). A dashed line is the target of a scheme that has one.",
    "p": "Drop probability against time, n = 1 (seed 1): pale as sampled, dark the mean over 1 s.",
}
"""By the kind of figure."""


PER_GROUP = [
    find(f"total.{name}")
    for name in (
        "count",
        "goodput",
        "goodput_min",
        "goodput_p50",
        "goodput_max",
        "jain",
        "packet_delay_p50",
        "packet_delay_p99",
        "retransmits",
        "timeouts",
    )
]
"""The measures shown of each group of flows of one run."""


def records(comparisons: Sequence[Comparison] | Sequence[EngineComparison]) -> Files:
    """Return results.json, and each scenario that has a trace."""
    traced = [each.scenario for each in comparisons if _traces(each.scenario)]
    scenarios: Files = {f"{scenario.name.replace('/', '-')}.toml": scenario.text for scenario in traced}
    return {"results.json": document(comparisons) + "\n", **scenarios}


def parts(comparisons: Sequence[Comparison]) -> list[Part]:
    """Return a table per view of each comparison."""
    return [_part(each) for each in comparisons]


def _part(comparison: Comparison) -> Part:
    scenario = comparison.scenario
    *tables, last = (_section(comparison, view) for view in comparison.views)
    sections = [*tables, replace(last, warnings=[*last.warnings, *comparison.notes])]
    on = "\n".join(f"on Linux {version}" for version in comparison.linux)
    return Part(scenario.name, text.titled(scenario), on, sections)


def _section(comparison: Comparison, view: View) -> Section:
    measures = view.columns.values()
    rows = [
        [label(spec) + comparison.row(spec, view.link), *(comparison.text(spec, name) for name in measures)]
        for spec in comparison.schemes
    ]
    return Section(
        title=view.title,
        subtitle=text.seeds(comparison.seeds),
        sheet=Sheet(f"{comparison.scenario.name}: {view.title}", ["Scheme", *view.columns], rows),
        metrics=list(map(find, measures)),
        warnings=comparison.warnings(view.link),
    )


def files(
    comparisons: Sequence[Comparison], command: str, progress: Progress | None = None, size: Size = PAGE
) -> Files:
    """Return report.html and the figures; `progress` receives the number of drawn figures."""
    drawings: Drawings = {}
    first = comparisons[0]
    several = len(comparisons) > 1
    shown = [_on_page(each, drawings, several=several) for each in comparisons]
    facts = provenance(comparisons, first.seeds, command)
    if first.scenario.overrides:
        facts = {"Set": ", ".join(f"{path} = {value}" for path, value in first.scenario.overrides), **facts}
    schemes = {scheme for each in comparisons for scheme in each.schemes}
    title = f"{len(schemes)} schemes in {len(shown)} scenarios" if several else first.scenario.title
    if len(schemes) > 1 and several:
        shown.insert(0, Part("glance", "At a glance", "", list(_glance(comparisons))))
    subject = ", ".join(each.scenario.name for each in comparisons)
    return page.report(subject, title, shown, drawings, facts, progress, size)


def _glance(comparisons: Sequence[Comparison]) -> Iterator[Section]:
    """Yield the section with the measures of users, unless there is nothing to compare."""
    table = glance.glance(comparisons)
    if table.rows:
        findings = list(glance.sentences(comparisons))
        subtitle = text.seeds(comparisons[0].seeds).partition(", mean")[0]
        shown = f"What users of each group of flows notice, means over the runs; {subtitle}"
        yield Section("At a glance" if len(comparisons) == 1 else "", shown, table, findings=findings)


def _on_page(comparison: Comparison, drawings: Drawings, *, several: bool) -> Part:
    """Return a part as its page shows it: also a glance, the setup, the groups of flows, and the figures."""
    scenario = comparison.scenario
    stem = f"{scenario.name.replace('/', '-')}-" if several else ""
    part = _part(comparison)
    *tables, last = part.sections
    groups = {"Each group of flows, seed 1": _groups(comparison)}
    last = replace(last, metrics=[*last.metrics, *PER_GROUP], folded=groups)
    sections = [Section("Setup", setup=setup(scenario, comparison.schemes)), *tables, last]
    if len(comparison.schemes) > 1:
        sections.append(_measures(comparison, stem, drawings))
    sections += [_over_time(comparison, link, stem, drawings) for link in scenario.links]
    if not several and len(comparison.schemes) > 1:
        sections = [*_glance([comparison]), *sections]
    return replace(part, title=scenario.title, source=f"Scenario {part.name}", sections=sections)


def _measures(comparison: Comparison, stem: str, drawings: Drawings) -> Section:
    """Return a figure per measure with all seeds."""
    found = list(figures_of_measures.figures(comparison))
    drawings.update({f"{stem}{each.stem}": each.drawing for each in found})
    figures = {each.caption: f"{stem}{each.stem}" for each in found}
    return Section("Measures", text.seeds(comparison.seeds), figures=figures)


def _groups(comparison: Comparison) -> Sheet:
    """Return the groups of flows of seed 1 under each scheme."""
    first = comparison.scenario.links[0]
    rows = [
        [
            label(spec) + comparison.row(spec, first),
            name,
            *(metric.show(getattr(group, metric.name)) for metric in PER_GROUP),
        ]
        for spec, run in _first_runs(comparison).items()
        for name, group in run.flows.items()
    ]
    return Sheet("", ["Scheme", "Group", *(metric.heading for metric in PER_GROUP)], rows, names=2, grouped=True)


def _over_time(comparison: Comparison, link: str, stem: str, drawings: Drawings) -> Section:
    prefix = f"{stem}{link}-" if len(comparison.scenario.links) > 1 else stem
    return Section(
        title=f"Link {link} over time",
        subtitle=text.seeds(1),
        figures=figures(comparison, comparison.schemes, link, prefix, drawings),
    )


def figures(comparison: Comparison, specs: Sequence[str], link: str, prefix: str, drawings: Drawings) -> dict[str, str]:
    """Add a link's figures of these schemes to `drawings`, return their names by caption."""
    runs = {spec: run for spec, run in _first_runs(comparison).items() if spec in specs}
    drawn = figures_of_runs.figures(runs, comparison.scenario, link)
    drawings.update({f"{prefix}{name}": drawing for name, drawing in drawn.items()})
    place = f"Link {link} of {comparison.scenario.name}"
    return {f"{place}. {CAPTIONS[name]}": f"{prefix}{name}" for name in drawn}


def _first_runs(comparison: Comparison) -> dict[str, RunResult]:
    """Return the runs of seed 1 that succeeded, by scheme."""
    return {spec: run for (spec, seed), run in comparison.runs.items() if seed == 1}


def version() -> str:
    """Return the version and the commit that it was built from, as far as it is known."""
    commit = _core.commit()
    return f"aqmlab {_core.version()}, " + (f"commit {commit}" if commit != "unknown" else f"source {_core.source()}")


def provenance(comparisons: Iterable[Comparison], seeds: int, command: str, *, timed: bool = True) -> dict[str, str]:
    """Return what one needs to repeat the work, and if `timed` what it cost."""
    batches = list({id(comparison): comparison for comparison in comparisons}.values())
    runs = [run for comparison in batches for run in comparison.runs.values()]
    failures = [failure for comparison in batches for failure in comparison.failures]
    facts = {"Command": command, "Version": version(), "Seeds": text.seeds(seeds)}
    if kernels := list(dict.fromkeys(kernel for comparison in batches for kernel in comparison.linux)):
        facts["Engine"] = f"Linux {', '.join(kernels)}, in virtual time, instead of the simulator"
    if runs and timed:
        busy = sum(run.engine.wall for run in runs)
        departed = sum(link.departed for run in runs for link in run.links.values())
        wall = sum({batch.wall for batch in batches})  # all scenarios of a study share theirs
        facts["Cost"] = (
            f"{len(runs)} runs in {wall:.2f} s of wall time; {departed:,} packets sent, "
            f"{departed / max(busy, 1e-9) / 1e6:.1f} million per second and core"
        )
    if traces := [trace for comparison in batches for trace in _traces(comparison.scenario)]:
        facts["Traces"] = "; ".join(dict.fromkeys(traces))
    if failures:
        facts["Failed runs"] = "; ".join(map(str, failures))
    return facts


def _traces(scenario: _core.Scenario) -> list[str]:
    """The traces that rates follow; the scenario written with a report contains their text."""
    rates = [(link["name"], link["rate"]) for link in scenario.resolved()["links"]]
    return [
        f"{name} follows {rate['trace']}, {rate['opportunities']:,} opportunities in {rate['period']}, "
        f"mean {rate['mean']}, FNV-1a {rate['checksum']}"
        for name, rate in rates
        if isinstance(rate, dict) and "trace" in rate
    ]
