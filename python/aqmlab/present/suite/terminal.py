"""A suite in the terminal: every experiment with its measures, then which scheme is best where."""

from rich.text import Text

from aqmlab import catalogue
from aqmlab.present.suite.text import LEGEND, link, mark, rows, seeds, sentence, totals
from aqmlab.present.terminal import console, plain_table
from aqmlab.study.suite import Suite
from aqmlab.study.suite_result import DELAY, GOODPUT, SuiteResult


def page(suite: Suite) -> None:
    """Print a suite: its source and its experiments."""
    out = console()
    out.print(Text(f"{suite.title}\n{suite.source}\n", style="bold"))
    base = suite.base
    out.print(f"Base case: {base['rate']}, {base['rtt']}. Run it with: aqmlab compare --study {suite.name}")
    table = plain_table("Experiments")
    for head in ("Section", "What it is", "Scenario"):
        table.add_column(head)
    for experiment in suite.experiments:
        table.add_row(experiment.section, experiment.title, experiment.scenario)
    out.print(table)


def show(result: SuiteResult) -> None:
    """Print the measures of every experiment, which scheme is best where, the ranks, and the caveats."""
    out = console()
    out.print(Text(result.suite.title, style="bold"))
    out.print(f"{link(result)}; {seeds(result)}")
    table = plain_table("")
    table.add_column("Experiment", style="bold")
    table.add_column("Measure")
    for spec in result.schemes:
        table.add_column(catalogue.title(spec), justify="right")
    for trial in result.trials:
        name = trial.experiment.name
        for head, cells in rows(trial).items():
            table.add_row(name, head, *cells)
            name = ""
    out.print(table)
    _matrix(result)


def _matrix(result: SuiteResult) -> None:
    out = console()
    table = plain_table(f"Which one for this link: {LEGEND}")
    table.add_column("Experiment", style="bold")
    for spec in result.schemes:
        table.add_column(catalogue.title(spec), justify="center")
    for trial in result.trials:
        table.add_row(trial.experiment.name, *(mark(trial, spec) for spec in result.schemes))
    table.add_section()
    for head, cells in totals(result).items():
        table.add_row(head, *cells)
    out.print(table)
    for measure in (DELAY, GOODPUT):
        out.print(sentence(measure, result.ranking(measure)))
    for caveat in result.caveats:
        out.print(Text(f"Note: {caveat}", style="yellow"))
