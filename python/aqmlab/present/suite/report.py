"""The report on a suite: which scheme for the link, trade-offs, distributions, every experiment with its numbers."""

import json
from collections.abc import Mapping, Sequence

from aqmlab import catalogue
from aqmlab.present.report import Drawings, Files, Item, Part, Section, page, provenance
from aqmlab.present.suite.plots import Cloud, Distribution, Distributions, TradeOff
from aqmlab.present.suite.text import LEGEND, link, mark, rows, seeds, sentence, totals
from aqmlab.study.suite_result import DELAY, GOODPUT, SuiteResult, Trial
from aqmlab.study.suite_trace import EVENT, WINDOW, K, Traced, is_small, traces

Traces = Mapping[tuple[str, str], Traced]


def files_of(result: SuiteResult, command: str) -> Files:
    """Return what a suite leaves: report.html, results.json and the figures. Traces a run of each experiment."""
    traced = traces(result)
    drawings: Drawings = {
        "trade-off": trade_off(result, result.trials),
        "delay": _distributions(result, traced, "delay"),
        "goodput": _distributions(result, traced, "goodput"),
    }
    part = Part(
        name=result.suite.name,
        title=f"{result.suite.name}: which scheme for {link(result)}?",
        source=result.suite.source,
        sections=[
            _matrix(result),
            *_figures(result),
            _losses(result, traced),
            _phases(result, traced),
            *map(_experiment, result.trials),
        ],
    )
    told = provenance([trial.comparison for trial in result.trials], result.seeds, command)
    written: Files = {"results.json": json.dumps(result.document(), indent=1, ensure_ascii=False) + "\n"}
    return written | page(part.title, [part], drawings, told)


def trade_off(result: SuiteResult, trials: Sequence[Trial]) -> TradeOff:
    """Return goodput against queueing delay in some of the experiments, a panel for each class of their flows."""
    panels = [_cloud(trial, result, name) for trial in trials for name in trial.experiment.graphs]
    return TradeOff(panels, [catalogue.title(spec) for spec in result.schemes])


def _matrix(result: SuiteResult) -> Section:
    names = [catalogue.title(spec) for spec in result.schemes]
    marks = {trial.experiment.name: [mark(trial, spec) for spec in result.schemes] for trial in result.trials}
    return Section(
        title="Which one",
        subtitle=f"{LEGEND}; {seeds(result)}.",
        heads=names,
        rows={name: [Item(text) for text in cells] for name, cells in (marks | totals(result)).items()},
        corner="Experiment",
        definition=" ".join(sentence(measure, result.ranking(measure)) for measure in (DELAY, GOODPUT)),
        warnings=result.caveats,
    )


def _figures(result: SuiteResult) -> list[Section]:
    left_out = [trial.experiment.name for trial in result.trials if not is_small(trial)]
    skipped = [f"Too many packets to trace each: {', '.join(left_out)}."] if left_out else []
    clouds = (
        "Goodput against the mean packet delay in excess of the propagation, a point each run; up and to the left is "
        "better. From three seeds on, the circle is the median and the ellipse the 1-sigma contour of the Gaussian of "
        "maximum likelihood. Where an experiment has classes of flows, each has a panel."
    )
    window = f"Seed 1, {WINDOW} s after the warm-up"
    return [
        Section("Trade-off", "Delay and goodput together, RFC 7928, section 2.7.", figures={clouds: "trade-off"}),
        Section(
            "Distributions",
            "Of the queueing delay and of the goodput at the first link, RFC 7928, section 2.",
            warnings=skipped,
            figures={
                f"Queueing delay of the packets. {window}.": "delay",
                f"Goodput in each {K} round-trip times. {window}.": "goodput",
            },
        ),
    ]


def _losses(result: SuiteResult, traced: Traces) -> Section:
    table = {}
    for trial in result.trials:
        found = [traced.get((trial.experiment.scenario, spec)) for spec in result.schemes]
        table[trial.experiment.name] = [Item(_loss(each)) for each in found]
    return Section(
        title="Losses",
        subtitle="How they fall at the first link, RFC 7928, sections 2.3 and 2.4; seed 1.",
        heads=[catalogue.title(spec) for spec in result.schemes],
        rows=table,
        corner="Experiment",
        definition="Mean time between losses (ms) / loss synchronisation: the mean share of the flows seen that lose "
        f"packets in the same event, which lasts {EVENT} round-trip times of the link from its first loss.",
    )


def _loss(traced: Traced | None) -> str:
    if traced is None or traced.losses.gap is None:
        return "–"
    shared = traced.losses.synchronisation
    return f"{1000 * traced.losses.gap:.0f} / " + ("–" if shared is None else f"{shared:.2f}")


def _phases(result: SuiteResult, traced: Traces) -> Section:
    table = {}
    for trial in result.trials:
        found = [traced.get((trial.experiment.scenario, spec)) for spec in result.schemes]
        for i, name in enumerate(trial.experiment.phases.names if trial.experiment.phases else ()):
            table[f"{trial.experiment.name}: {name}"] = [Item(_phase(each, i)) for each in found]
    return Section(
        title="Phases",
        subtitle="What each has at the first link, RFC 7928, sections 8.2.5 and 8.2.6; seed 1.",
        heads=[catalogue.title(spec) for spec in result.schemes],
        rows=table,
        corner="Experiment and phase",
        definition="Goodput (Mbit/s) / mean queueing delay (ms), over all rounds; the start of a phase is in it.",
    )


def _phase(traced: Traced | None, i: int) -> str:
    if traced is None:
        return "–"
    phase = traced.phases[i]
    delay = "–" if phase.delay is None else f"{1e3 * phase.delay:.1f}"
    return f"{1e-6 * phase.goodput:.2f} / {delay}"


def _experiment(trial: Trial) -> Section:
    schemes = trial.comparison.schemes
    return Section(
        title=trial.experiment.name,
        subtitle=f"{trial.world.title}. Built in at its base case as {trial.experiment.scenario}.",
        heads=[catalogue.title(spec) for spec in schemes],
        rows={head: [Item(text) for text in cells] for head, cells in rows(trial).items()},
        corner="Measure",
        definition=f"Best, or as good: delay {_titles(trial, DELAY)}; goodput {_titles(trial, GOODPUT)}.",
    )


def _titles(trial: Trial, measure: str) -> str:
    return ", ".join(catalogue.title(spec) for spec in trial.best[measure]) or "–"


def _cloud(trial: Trial, result: SuiteResult, name: str) -> Cloud:
    x, y = trial.experiment.graphs[name]
    points = {}
    for spec in result.schemes:
        delay, goodput = trial.values(spec, x), trial.values(spec, y)
        seeds_ = sorted(delay.keys() & goodput.keys())
        points[catalogue.title(spec)] = [(1e3 * delay[seed], 1e-6 * goodput[seed]) for seed in seeds_]
    return Cloud(f"{trial.experiment.name}\n{name}" if name else trial.experiment.name, points)


def _distributions(result: SuiteResult, traced: Traces, what: str) -> Distributions:
    scale, label = (1e3, "Queueing delay (ms)") if what == "delay" else (1e-6, "Goodput (Mbit/s)")
    panels = []
    for trial in result.trials:
        found = {spec: traced.get((trial.experiment.scenario, spec)) for spec in result.schemes}
        if any(found.values()):
            drawn = {catalogue.title(spec): scale * getattr(each, what) for spec, each in found.items() if each}
            panels.append(Distribution(trial.experiment.name, drawn))
    return Distributions(panels, [catalogue.title(spec) for spec in result.schemes], label)
