"""A suite: the measures of every experiment, and the best schemes in each."""

from aqmlab.present.labels import label
from aqmlab.present.suite_words import LEGEND, grids, link, mark, rows, sentence, totals
from aqmlab.present.terminal.console import console, marks, note, table, title
from aqmlab.present.terminal.reproduction import claims_table
from aqmlab.present.text import seeds
from aqmlab.study.suite_result import DELAY, GOODPUT, SuiteResult


def suite(result: SuiteResult) -> None:
    """Print the measures of every experiment, then the claims or the best schemes."""
    out = console()
    out.print(title(result.suite.title))
    if result.suite.claims:
        _judged(result)
        return
    out.print(f"{link(result)}; {seeds(result.seeds)}")
    measures = table("", "Experiment", "Measure", numbers=map(label, result.schemes))
    for trial in result.trials:
        name = trial.experiment.name
        for head, cells in rows(trial).items():
            measures.add_row(name, head, *cells)
            name = ""
    out.print(measures)
    _matrix(result)


def _judged(result: SuiteResult) -> None:
    out = console()
    out.print(seeds(result.seeds))
    for grid in grids(result):
        shown = table(grid.title, "", numbers=grid.heads)
        for row, cells in grid.rows.items():
            shown.add_row(row, *cells)
        out.print(shown, *marks(grid.heads), sep="\n")
    claims_table(out, "Published claims", result.claims)


def _matrix(result: SuiteResult) -> None:
    out = console()
    schemes = [label(spec) for spec in result.schemes]
    matrix = table(f"Comparison on this link ({LEGEND})", "Experiment", numbers=schemes)
    for trial in result.trials:
        matrix.add_row(trial.experiment.name, *(mark(trial, spec) for spec in result.schemes))
    matrix.add_section()
    for head, cells in totals(result).items():
        matrix.add_row(head, *cells)
    out.print(matrix, *marks(schemes), sep="\n")
    for measure in (DELAY, GOODPUT):
        out.print(sentence(measure, result.ranking(measure)))
    for caveat in result.caveats:
        out.print(note(caveat))
