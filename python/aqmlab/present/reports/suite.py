"""The report on a suite: the schemes for the link, trade-offs, distributions, every experiment with its numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from aqmlab.notebook import Sheet
from aqmlab.present.figures.ellipses import FEWEST_FOR_SPREAD
from aqmlab.present.figures.suite import Traces, curves, distributions, trade_off
from aqmlab.present.html import page
from aqmlab.present.html.page import Drawings, Files
from aqmlab.present.labels import label
from aqmlab.present.parts import Part, Section
from aqmlab.present.plots.style import PAGE, Size
from aqmlab.present.reports.comparison import provenance
from aqmlab.present.suite_words import LEGEND, link, sentence, sheets
from aqmlab.present.text import runs, seeds
from aqmlab.runs.executor import Progress
from aqmlab.study.suite_result import DELAY, GOODPUT, SuiteResult, Trial
from aqmlab.study.suite_trace import EVENT, WINDOW, K, Traced, is_small, traces


def parts(result: SuiteResult) -> list[Part]:
    """Return the claims with the measures of each kind of experiment, or all measures with the best schemes."""
    suite = result.suite
    if suite.claims:
        tables = [Section(sheet.title, sheet=sheet) for sheet in sheets(result)]
        return [Part(suite.name, suite.title, seeds(result.seeds), tables, claims=result.claims, words=suite.words)]
    measured, best = sheets(result)
    ranks = "\n".join(sentence(measure, result.ranking(measure)) for measure in (DELAY, GOODPUT))
    sections = [
        Section("", sheet=measured),
        Section(f"Comparison on this link ({LEGEND})", sheet=replace(best, about=ranks)),
        Section("Limits of the comparison", warnings=result.caveats),
    ]
    return [Part(suite.name, suite.title, f"{link(result)}; {seeds(result.seeds)}", sections)]


def files(result: SuiteResult, command: str, progress: Progress | None = None, size: Size = PAGE) -> Files:
    """Return report.html and the figures; `progress` receives the number of drawn figures.

    May trace a run of each experiment. A suite with claims has curves; one that ranks schemes has trade-offs,
    distributions, losses and phases.
    """
    drawings: Drawings
    [part] = parts(result)
    if result.suite.claims:
        title, drawings = part.title, {"curves": curves(result)}
        interval = "means over the seeds with 95 % intervals" if result.seeds > 1 else "single runs without intervals"
        caption = f"{result.suite.title}: {interval}, {n_of(result)}."
        sections = [Section("Curves", seeds(result.seeds), figures={caption: "curves"}), *part.sections]
    else:
        title, traced = f"{result.suite.name}: which scheme for {link(result)}?", traces(result)
        drawings = {
            "trade-off": trade_off(result, result.trials),
            "delay": distributions(result, traced, "delay"),
            "goodput": distributions(result, traced, "goodput"),
        }
        measured, best, limits = part.sections
        experiments = replace(measured, title="Measures", folded={"The experiments": _experiments(result)})
        more = [*_figures(result), _losses(result, traced), _phases(result, traced)]
        sections = [replace(best, subtitle=f"{seeds(result.seeds)}."), limits, *more, experiments]
    facts = provenance([trial.comparison for trial in result.trials], result.seeds, command)
    part = replace(part, title=title, source=result.suite.source, sections=sections)
    return page.report(part.name, title, [part], drawings, facts, progress, size)


def _table(corner: str, schemes: Sequence[str], rows: Mapping[str, Sequence[str]], about: str) -> Sheet:
    """Return a table with a column per scheme."""
    return Sheet("", [corner, *map(label, schemes)], [[name, *texts] for name, texts in rows.items()], about=about)


def _experiments(result: SuiteResult) -> Sheet:
    rows = [[each.experiment.name, each.scenario.title, each.experiment.scenario] for each in result.trials]
    return Sheet("", ["Experiment", "Scenario", "Built in at its base case as"], rows, words=True)


def _figures(result: SuiteResult) -> list[Section]:
    left_out = [trial.experiment.name for trial in result.trials if not is_small(trial)]
    skipped = [f"Too many packets to trace each: {', '.join(left_out)}."] if left_out else []
    centres = (
        "The large open mark is the median and the ellipse the 1-sigma contour of the Gaussian of maximum likelihood. "
        if result.seeds >= FEWEST_FOR_SPREAD
        else ""
    )
    clouds = (
        "Goodput over the mean packet delay minus the propagation, a point per run; up and to the left "
        f"is better, {n_of(result)}. {centres}Each class of flows has a panel."
    )
    window = f"n = 1 (seed 1), {WINDOW} s after the warm-up"
    return [
        Section("Trade-off", "Delay and goodput together, RFC 7928, section 2.7.", figures={clouds: "trade-off"}),
        Section(
            "Distributions",
            "Queueing delay and goodput at the first link, RFC 7928, section 2.",
            warnings=skipped,
            figures={
                f"Queueing delay of the packets. {window}.": "delay",
                f"Goodput over {K} round-trip times. {window}.": "goodput",
            },
        ),
    ]


def n_of(result: SuiteResult) -> str:
    """Return the number of runs of each scheme in an experiment, and their seeds."""
    return runs({result.seeds}, range(1, result.seeds + 1))


def _losses(result: SuiteResult, traced: Traces) -> Section:
    rows = {trial.experiment.name: _each(trial, result, traced, _loss) for trial in result.trials}
    return Section(
        title="Losses",
        subtitle="Loss pattern at the first link, RFC 7928, sections 2.3 and 2.4; seed 1.",
        sheet=_table(
            "Experiment",
            result.schemes,
            rows,
            "Mean time between losses (ms) / loss synchronisation: the mean share of the flows seen that lose "
            f"packets in the same event, which lasts {EVENT} round-trip times of the link from its first loss.",
        ),
    )


def _each(trial: Trial, result: SuiteResult, traced: Traces, text: Callable[[Traced], str]) -> list[str]:
    """Return the text for the traced run of each scheme, a dash if there is none."""
    found = [traced.get((trial.experiment.scenario, spec)) for spec in result.schemes]
    return ["–" if each is None else text(each) for each in found]


def _loss(traced: Traced) -> str:
    if traced.losses.gap is None:
        return "–"
    shared = traced.losses.synchronisation
    return f"{1000 * traced.losses.gap:.0f} / " + ("–" if shared is None else f"{shared:.2f}")


def _phases(result: SuiteResult, traced: Traces) -> Section:
    rows = {}
    for trial in result.trials:
        for i, name in enumerate(trial.experiment.phases.names if trial.experiment.phases else ()):
            rows[f"{trial.experiment.name}: {name}"] = _each(trial, result, traced, partial(_phase, i))
    return Section(
        title="Phases",
        subtitle="Results by phase at the first link, RFC 7928, sections 8.2.5 and 8.2.6; seed 1.",
        sheet=_table(
            "Experiment and phase",
            result.schemes,
            rows,
            "Goodput (Mbit/s) / mean queueing delay (ms), over all rounds, with the start of each phase.",
        ),
    )


def _phase(i: int, traced: Traced) -> str:
    phase = traced.phases[i]
    delay = "–" if phase.delay is None else f"{1e3 * phase.delay:.1f}"
    return f"{1e-6 * phase.goodput:.2f} / {delay}"
