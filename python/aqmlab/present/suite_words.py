"""The words and cells of a suite, in the terminal and in the report."""

import re
from collections.abc import Iterator, Sequence

from aqmlab.notebook import Sheet
from aqmlab.present.labels import label
from aqmlab.present.text import ranking_sentence
from aqmlab.runs.metrics import Shown
from aqmlab.runs.statistics import Ranking
from aqmlab.study.suite_result import DELAY, GOODPUT, SuiteResult, Trial

LEGEND = "D: lowest delay (p95); G: highest goodput; both also mark ties with the best"

DELAYS = ("Delay p50", "Delay p95", "Delay p99")
"""Shown in one row."""

PERCENTILE = r" p[\d.]+$"
"""The end of the name of a measure; measures with the same beginning share a table."""


def link(result: SuiteResult) -> str:
    """Return the link in words, and the congestion controller if it is not the default."""
    given, law = result.link, result.suite.given_law
    flows = f"{given.flows} long flows" if given.flows else "the RFC's numbers of flows"
    up = f" ({given.up / 1e6:g} Mbit/s uplink)" if given.up else ""
    buffer = given.given or f"{given.buffer()} packets"
    senders = f" of {law} in place of {result.suite.law}" if law else ""
    return f"{given.rate / 1e6:g} Mbit/s{up}, {given.rtt * 1e3:g} ms, buffer {buffer}, {flows}{senders}"


def rows(trial: Trial) -> dict[str, list[str]]:
    """Return the measures of an experiment as people read them, a row each, the percentiles of the delay in one."""
    schemes = trial.comparison.schemes
    found: dict[str, list[str]] = {}
    of = {GOODPUT: trial.experiment.goodput, "Jitter": trial.experiment.delay}
    for measure in trial.measures:
        shown = trial.shown(measure)
        unit = f" ({shown.unit})" if shown.unit else ""
        if measure not in DELAYS:
            group = f" of {of[measure]}" if of.get(measure) else ""
            found[f"{measure}{group}{unit}"] = [_text(trial, spec, measure, shown) for spec in schemes]
        elif measure == DELAYS[0]:
            group = f" of {trial.experiment.delay}" if trial.experiment.delay else ""
            found[f"Delay{group} p50 / p95 / p99{unit}"] = [
                " / ".join(_text(trial, spec, each, shown, interval=False) for each in DELAYS) for spec in schemes
            ]
    return found


def _text(trial: Trial, spec: str, measure: str, shown: Shown, *, interval: bool = True) -> str:
    summary = trial.summary(spec, measure)
    if summary is None:
        return "–"
    text = f"{summary.mean * shown.scale:.{shown.digits}f}"
    if not interval or summary.half_width is None:
        return text
    return f"{text} ± {summary.half_width * shown.scale:.{shown.digits}f}"


def sheets(result: SuiteResult) -> Iterator[Sheet]:
    """Yield the tables of a suite: its claims' measures, or the measures of every experiment and the best schemes."""
    if result.suite.claims:
        yield from grids(result)
        return
    schemes = [label(spec) for spec in result.schemes]
    measured = [[trial.experiment.name, head, *cells] for trial in result.trials for head, cells in rows(trial).items()]
    title = f"{result.suite.title}: {link(result)}"
    yield Sheet(title, ["Experiment", "Measure", *schemes], measured, names=2, grouped=True)
    marks = [[trial.experiment.name, *(mark(trial, spec) for spec in result.schemes)] for trial in result.trials]
    counts = [[head, *cells] for head, cells in totals(result).items()]
    yield Sheet(f"Best schemes. {LEGEND}", ["Experiment", *schemes], marks, foot=counts)


def mark(trial: Trial, spec: str) -> str:
    """Return D, G, both or a dot: by which measures a scheme is best, or as good as the best."""
    return "".join(letter for letter, name in (("D", DELAY), ("G", GOODPUT)) if spec in trial.best[name]) or "·"


def totals(result: SuiteResult) -> dict[str, list[str]]:
    """Return in how many experiments each scheme is best, and its mean ranks."""
    found = {}
    for letter, measure in (("D", DELAY), ("G", GOODPUT)):
        wins = [f"{result.wins(spec, measure)} of {len(result.trials)}" for spec in result.schemes]
        found[f"{letter} in experiments"] = wins
        if ranking := result.ranking(measure):
            found[f"Mean rank, {measure}"] = [f"{ranking.ranks[spec]:.2f}" for spec in result.schemes]
    return found


def sentence(measure: str, ranking: Ranking | None) -> str:
    """Return the ranking by a measure in a sentence."""
    if ranking is None:
        return f"{measure}: ranks need three schemes."
    return ranking_sentence(measure, ranking, f"{ranking.blocks} experiments", label)


def grids(result: SuiteResult) -> list[Sheet]:
    """Return the tables of a suite whose claims are judged, percentiles of one measure in one.

    There is one for each measure and kind of experiment: a row per experiment, a column per scheme or varied value.
    """
    found = []
    for kind in dict.fromkeys(trial.experiment.kind for trial in result.trials):
        trials = [trial for trial in result.trials if trial.experiment.kind == kind]
        measures: dict[str, list[str]] = {}
        for measure in trials[0].measures:
            measures.setdefault(re.sub(PERCENTILE, "", measure), []).append(measure)
        found += [_grid(result, trials, f"{kind}: {name}", parts) for name, parts in measures.items()]
    return found


def _grid(result: SuiteResult, trials: Sequence[Trial], title: str, parts: Sequence[str]) -> Sheet:
    rows: dict[str, dict[str, str]] = {}
    for trial in trials:
        for spec in trial.comparison.schemes:
            row, column = cell(result, trial, spec)
            shown = trial.shown(parts[0])
            texts = [_text(trial, spec, part, shown, interval=len(parts) == 1) for part in parts]
            rows.setdefault(row, {})[column] = " / ".join(texts)
    heads = list(dict.fromkeys(head for row in rows.values() for head in row))
    percentiles = [part.rpartition(" ")[2] for part in parts] if len(parts) > 1 else []
    units = [" / ".join(percentiles), f"({shown.unit})" if shown.unit else ""]
    full = " ".join([title, *(unit for unit in units if unit)])
    return Sheet(full, ["", *heads], [[row, *(cells.get(head, "–") for head in heads)] for row, cells in rows.items()])


def cell(result: SuiteResult, trial: Trial, spec: str) -> tuple[str, str]:
    """Return the row and the column of a grid for a scheme of a trial."""
    names = {known: name for name, known in result.suite.schemes.items()}
    scheme = names.get(spec) or label(spec)
    if not trial.experiment.column:
        return trial.row, scheme
    row = trial.row if trial.experiment.schemes else ", ".join(part for part in (trial.row, scheme) if part)
    return row, trial.experiment.column
