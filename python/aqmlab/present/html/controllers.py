"""The report on controllers side by side: the ranking, and per scenario its tables, differences and figures."""

import json

from aqmlab.notebook import Item, Row, Sheet
from aqmlab.present import text
from aqmlab.present.controller_words import GroupedTable, grouped
from aqmlab.present.controller_words import text as text_of
from aqmlab.present.figures import controllers as figures_of_controllers
from aqmlab.present.figures.controllers import stem_of
from aqmlab.present.figures.sweep import ranking
from aqmlab.present.html import page
from aqmlab.present.html.comparison import provenance
from aqmlab.present.html.page import Drawings, Files
from aqmlab.present.html.setup import setup
from aqmlab.present.html.sweep import difference
from aqmlab.present.html.sweep import ranks as ranks_table
from aqmlab.present.labels import label
from aqmlab.present.parts import Part, Section
from aqmlab.present.plots.style import PAGE, Size
from aqmlab.runs.controllers import ControllerComparison
from aqmlab.runs.executor import Progress
from aqmlab.runs.findings import CONTROLLER
from aqmlab.runs.metrics import find


def records(compared: ControllerComparison) -> Files:
    """Return results.json."""
    return {"results.json": json.dumps(compared.document(), indent=1, ensure_ascii=False) + "\n"}


def subject(scenarios: list[str]) -> str:
    """Return the subject of the report."""
    return f"controllers in {', '.join(scenarios)}"


def files(compared: ControllerComparison, command: str, told: Progress | None = None, size: Size = PAGE) -> Files:
    """Return report.html and the figures; `told` hears how many are drawn."""
    drawings: Drawings = {}
    names = [scenario.name for scenario in compared.scenarios]
    parts = [_part(compared, i, drawings) for i in range(len(names))]
    if compared.ranks:
        parts.insert(0, _ranking(compared, drawings))
    facts = provenance(
        (each for found in compared.by_controller.values() for each in found), len(compared.seeds), command
    )
    title = f"{len(compared.schemes)} controllers: {compared.title}"
    return page.report(subject(names), title, parts, drawings, facts, told, size)


def _ranking(compared: ControllerComparison, drawings: Drawings) -> Part:
    """Return the ranking over all scenarios and schemes, with a diagram per measure."""
    figures = {}
    for measure, found in compared.ranks.items():
        title = find(measure).title
        stem = f"ranking-{stem_of(measure)}"
        drawings[stem] = ranking(found)
        figures[f"Mean rank by {title} over {found.blocks} cases. A bar joins controllers that do not differ."] = stem
    over = f"{len(compared.cases)} schemes in scenarios"
    sentences = [
        text.ranking_sentence(find(measure).title, each, f"{each.blocks} of {over}", label)
        for measure, each in compared.ranks.items()
    ]
    table = ranks_table(compared, compared.ranks)
    return Part("ranking", "Ranking", "", [Section("", _seeds(compared), table, findings=sentences, figures=figures)])


def _part(compared: ControllerComparison, i: int, drawings: Drawings) -> Part:
    scenario = compared.scenarios[i]
    before = f"{scenario.name.replace('/', '-')}-" if len(compared.scenarios) > 1 else ""
    figures = {}
    for drawn in figures_of_controllers.figures(compared, scenario.name):
        drawings[f"{before}{drawn.stem}"] = drawn.drawing
        figures[drawn.caption] = f"{before}{drawn.stem}"
    sections = [
        Section("Setup", "", setup=setup(scenario, compared.first[i].schemes)),
        *(_section(compared, each) for each in grouped(compared, scenario.name)),
        Section("Figures", _seeds(compared), figures=figures),
    ]
    return Part(scenario.name, text.titled(scenario, CONTROLLER), f"Scenario {scenario.name}", sections)


def _section(compared: ControllerComparison, table: GroupedTable) -> Section:
    """Return a table with the paired differences from the first controller."""
    means: list[Row] = [
        [group.scheme, label(law), *(Item(text_of(entry), bold=entry.best) for entry in row)]
        for group in table.groups
        for law, row in group.rows.items()
    ]
    metrics = {measure: find(measure) for measure in table.columns.values()}
    differences: list[Row] = [
        [
            group.scheme,
            label(law),
            *(difference(each, compared.difference(group.case, law, name)) for name, each in metrics.items()),
        ]
        for group in table.groups
        for law in compared.schemes[1:]
    ]
    heads = ["Scheme", "Controller", *table.columns]
    return Section(
        table.name,
        " ".join(table.remarks),
        Sheet("", heads, means, names=2, grouped=True),
        list(dict.fromkeys(metrics.values())),
        warnings=compared.notes,
        folded={
            f"Paired differences from {label(compared.schemes[0])}": Sheet(
                "", heads, differences, names=2, grouped=True
            )
        },
    )


def _seeds(compared: ControllerComparison) -> str:
    return text.seeds(len(compared.seeds))
