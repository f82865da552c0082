"""The report on a comparison by several engines: its tables with the differences, and each link over time."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from aqmlab.notebook import Sheet
from aqmlab.present import text
from aqmlab.present.figures.runs import engines_figure
from aqmlab.present.html import page
from aqmlab.present.html.page import Drawings, Files
from aqmlab.present.html.setup import setup
from aqmlab.present.labels import label
from aqmlab.present.parts import Part, Section
from aqmlab.present.plots.style import PAGE, Size
from aqmlab.present.reports import comparison as of_one
from aqmlab.runs.comparison import View
from aqmlab.runs.engines import EngineComparison
from aqmlab.runs.executor import Progress
from aqmlab.runs.metrics import find

CAPTION = (
    "Packets waiting against time, seed 1, mean over 1 s: a colour for each scheme, a kind of line for each engine."
)


def parts(comparisons: Sequence[EngineComparison]) -> list[Part]:
    """Return a table per view of each comparison, with the engines' differences."""
    return [_part(each) for each in comparisons]


def _part(compared: EngineComparison) -> Part:
    sections = [_section(compared, view) for view in compared.views]
    return Part(compared.scenario.name, text.titled(compared.scenario), "\n".join(_versions(compared)), sections)


def _versions(compared: EngineComparison) -> list[str]:
    """Return the version of each kernel."""
    return [f"{name} is Linux {version}" for name, each in compared.by_engine.items() for version in each.linux]


def _section(compared: EngineComparison, view: View) -> Section:
    rows = [
        [label(row.scheme) + compared.first.row(row.scheme, view.link), row.what, *row.texts]
        for row in compared.rows(view)
    ]
    title = f"{compared.scenario.name}: {view.title}"
    return Section(
        title=view.title,
        subtitle=text.seeds(compared.seeds),
        sheet=Sheet(title, ["Scheme", "Engine", *view.columns], rows, names=2, grouped=True),
        metrics=list(map(find, view.columns.values())),
        warnings=compared.warnings[view.link],
    )


def files(
    comparisons: Sequence[EngineComparison], command: str, progress: Progress | None = None, size: Size = PAGE
) -> Files:
    """Return report.html and the figures; `progress` receives the number of drawn figures."""
    drawings: Drawings = {}
    first = comparisons[0]
    several = len(comparisons) > 1
    shown = [_on_page(each, drawings, several=several) for each in comparisons]
    facts = of_one.provenance(
        (each for compared in comparisons for each in compared.by_engine.values()), first.seeds, command
    )
    engines = f"{' and '.join(first.engines)}, side by side"
    facts["Engine"] = f"{'; '.join([engines, *_versions(first)])}, in virtual time"
    title = f"{' and '.join(first.engines)} in {len(shown)} scenarios" if several else first.scenario.title
    subject = ", ".join(each.scenario.name for each in comparisons)
    return page.report(subject, title, shown, drawings, facts, progress, size)


def _on_page(compared: EngineComparison, drawings: Drawings, *, several: bool) -> Part:
    """Return a part as its page shows it: also the setup, and each link over time."""
    scenario = compared.scenario
    stem = f"{scenario.name.replace('/', '-')}-" if several else ""
    first = Section("Setup", setup=setup(scenario, compared.schemes))
    part = _part(compared)
    sections = [first, *part.sections, *_over_time(compared, stem, drawings)]
    return replace(part, title=scenario.title, source=f"Scenario {scenario.name}", sections=sections)


def _over_time(compared: EngineComparison, stem: str, drawings: Drawings) -> Iterator[Section]:
    """Yield a section for each link with the schemes under which every engine's first run succeeded."""
    runs = {
        spec: {name: each.runs[spec, 1] for name, each in compared.by_engine.items()}
        for spec in compared.schemes
        if all((spec, 1) in each.runs for each in compared.by_engine.values())
    }
    links = compared.scenario.links if runs else []
    for link in links:
        name = f"{stem}{link}-queue" if len(links) > 1 else f"{stem}queue"
        drawings[name] = engines_figure(runs, compared.scenario, link)
        yield Section(f"Link {link} over time", text.seeds(1), figures={CAPTION: name})
