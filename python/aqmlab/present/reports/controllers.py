"""The report on controllers side by side: the ranking, and per scenario its tables, differences and figures."""

from dataclasses import replace

from aqmlab._core import Scenario
from aqmlab.notebook import Item, Row, Sheet
from aqmlab.present import text
from aqmlab.present.figures import controllers as figures_of_controllers
from aqmlab.present.figures.controllers import stem_of
from aqmlab.present.figures.sweep import ranking
from aqmlab.present.html import page
from aqmlab.present.html.page import Drawings, Files
from aqmlab.present.html.setup import setup
from aqmlab.present.labels import label
from aqmlab.present.parts import Part, Section
from aqmlab.present.plots.style import PAGE, Size
from aqmlab.present.reports.comparison import provenance
from aqmlab.present.reports.sweep import RANKING, difference, ranks
from aqmlab.present.tables import DIFFERS, Entry, entries, remarks
from aqmlab.runs.comparison import View
from aqmlab.runs.controllers import ControllerComparison, scheme_of
from aqmlab.runs.executor import Progress
from aqmlab.runs.findings import CONTROLLER
from aqmlab.runs.metrics import find


def subject(scenarios: list[str]) -> str:
    """Return the subject of the report."""
    return f"controllers in {', '.join(scenarios)}"


def parts(compared: ControllerComparison) -> list[Part]:
    """Return the tables of each scenario, then the ranking over all scenarios and schemes."""
    found = [_part(compared, scenario) for scenario in compared.scenarios]
    *before, last = found[-1].sections
    found[-1] = replace(found[-1], sections=[*before, replace(last, warnings=compared.notes)])
    rank = Section(RANKING, sheet=ranks(compared, compared.ranks)) if compared.ranks else None
    return [*found, *([Part("ranking", "", "", [rank])] if rank else [])]


def _part(compared: ControllerComparison, scenario: Scenario) -> Part:
    first = next(each for each in compared.first if each.scenario.name == scenario.name)
    sections = []
    for view in compared.views(scenario.name):
        measures = list(view.columns.values())
        rows: list[Row] = [
            [label(scheme_of(case)) + first.row(scheme_of(case), view.link), label(law), *map(_mean, row)]
            for case in compared.of_scenario(scenario.name)
            for law, row in entries(compared, case, measures).items()
        ]
        heads = ["Scheme", "Controller", *view.columns]
        sheet = Sheet(f"{scenario.name}: {view.title}", heads, rows, names=2, grouped=True)
        sections.append(Section(view.title, sheet=sheet, metrics=list(map(find, measures))))
    shown = [list(view.columns.values()) for view in compared.views(scenario.name)]
    about = dict.fromkeys(remark for measures in shown for remark in remarks(compared, measures))
    return Part(scenario.name, text.titled(scenario, CONTROLLER), "", sections, about=list(about))


def _mean(entry: Entry) -> Item:
    """Return a mean with its mark, and the number of seeds if not all have a value."""
    some = f" ({entry.some})" if entry.some else ""
    return Item(f"{entry.text}{DIFFERS if entry.differs else ''}{some}", bold=entry.best)


def files(compared: ControllerComparison, command: str, progress: Progress | None = None, size: Size = PAGE) -> Files:
    """Return report.html and the figures; `progress` receives the number of drawn figures."""
    drawings: Drawings = {}
    names = [scenario.name for scenario in compared.scenarios]
    found = parts(compared)
    shown = [_on_page(compared, i, found[i], drawings) for i in range(len(names))]
    shown = [*(_ranking(compared, part, drawings) for part in found[len(names) :]), *shown]
    facts = provenance(
        (each for found in compared.by_controller.values() for each in found), len(compared.seeds), command
    )
    title = f"{len(compared.schemes)} controllers: {compared.title}"
    return page.report(subject(names), title, shown, drawings, facts, progress, size)


def _ranking(compared: ControllerComparison, part: Part, drawings: Drawings) -> Part:
    """Return the ranking over all scenarios and schemes, with a diagram per measure."""
    figures = {}
    for measure, found in compared.ranks.items():
        title = find(measure).title
        stem = f"ranking-{stem_of(measure)}"
        drawings[stem] = ranking(found)
        n = text.runs({len(compared.seeds)}, compared.seeds)
        figures[
            f"Mean ranks by {title} over {found.blocks} cases, 1 the best. "
            f"A bar joins controllers that do not differ (Nemenyi, 5 %); {n}."
        ] = stem
    over = f"{len(compared.cases)} schemes in scenarios"
    sentences = [
        text.ranking_sentence(find(measure).title, each, f"{each.blocks} of {over}", label)
        for measure, each in compared.ranks.items()
    ]
    [section] = part.sections
    section = replace(section, subtitle=_seeds(compared), findings=sentences, figures=figures)
    return replace(part, title="Ranking", sections=[section])


def _on_page(compared: ControllerComparison, i: int, part: Part, drawings: Drawings) -> Part:
    """Return a part as its page shows it: also the setup, paired differences from the first controller, figures."""
    scenario = compared.scenarios[i]
    before = f"{scenario.name.replace('/', '-')}-" if len(compared.scenarios) > 1 else ""
    figures = {}
    for drawn in figures_of_controllers.figures(compared, scenario.name):
        drawings[f"{before}{drawn.stem}"] = drawn.drawing
        figures[drawn.caption] = f"{before}{drawn.stem}"
    folded = f"Paired differences from {label(compared.schemes[0])}"
    views = zip(part.sections, compared.views(scenario.name), strict=True)
    sections = [
        Section("Setup", setup=setup(scenario, compared.first[i].schemes)),
        *(replace(section, folded={folded: _differences(compared, scenario, view)}) for section, view in views),
        Section("Figures", _seeds(compared), figures=figures),
    ]
    return replace(part, source=f"Scenario {scenario.name}", sections=sections)


def _differences(compared: ControllerComparison, scenario: Scenario, view: View) -> Sheet:
    metrics = {measure: find(measure) for measure in view.columns.values()}
    rows: list[Row] = [
        [
            label(scheme_of(case)),
            label(law),
            *(difference(metric, compared.difference(case, law, measure)) for measure, metric in metrics.items()),
        ]
        for case in compared.of_scenario(scenario.name)
        for law in compared.schemes[1:]
    ]
    return Sheet("", ["Scheme", "Controller", *view.columns], rows, names=2, grouped=True)


def _seeds(compared: ControllerComparison) -> str:
    return text.seeds(len(compared.seeds))
