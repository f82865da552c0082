"""The report on a sweep: one page with the setup, the ranking, and each case on demand."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod

from aqmlab import untrusted
from aqmlab.notebook import Item, Row, Sheet
from aqmlab.present import tables, text
from aqmlab.present.figures import sweep as figures_of_sweep
from aqmlab.present.figures.ellipses import FEWEST_FOR_MEAN
from aqmlab.present.figures.stored import DELAYS, SERIES, Runs, how_to_store, stored
from aqmlab.present.figures.sweep import JAIN, SETTLING
from aqmlab.present.html import page
from aqmlab.present.html.setup import Setup, setup
from aqmlab.present.labels import footnote, label
from aqmlab.present.plots import browser, files
from aqmlab.present.reports.sweep import difference, ranks
from aqmlab.runs.findings import Findings, chosen, ranked, rankings
from aqmlab.runs.measures import heading
from aqmlab.runs.metrics import PROGRAM, definitions, find
from aqmlab.runs.statistics import Ranking
from aqmlab.runs.store import TIMING
from aqmlab.runs.table import Case

P99 = "link.queue_delay_p99"

MOST_FAILURES = 20
"""Failed runs that a page names."""

CAPTIONS = {
    "delay-throughput": "Goodput against mean queueing delay (RFC 7928, section 2.7): small marks are runs, large ones "
    "means. The ellipse is the 95 % confidence region of the mean (Hotelling's T²), drawn from "
    f"{FEWEST_FOR_MEAN} seeds on. Up and to the left is better.",
    P99: "99 % of the packets wait at most this long: seeds, and mean with its 95 % interval.",
    JAIN: "Jain's index of the flows' goodput, 1 if all have the same: seeds, and mean with its 95 % interval.",
    SETTLING: "Settling time of the runs that settle; the table says how many do.",
    "queue": "Packets waiting against time, one run per scheme; a dashed line is the target of a scheme that has one.",
    "cdf": "Cumulative fraction of the packets by queueing delay, one run per scheme.",
}


@dataclass(frozen=True)
class Plot:
    """An interactive figure: its caption, the figure as JSON, and whether it takes the whole width."""

    caption: str
    figure: str
    wide: bool


@dataclass(frozen=True)
class CaseSection:
    """One case on the page: means, differences from the first scheme, figures, the setup."""

    case: Case
    title: str
    means: Sheet
    notes: Sequence[str]
    differences: Sheet
    plots: Sequence[Plot]
    setup: Setup


def subject(found: Findings) -> str:
    """Return what a sweep's report is about; a report replaces another one on the same only."""
    return f"the sweep {found.title}"


def report(found: Findings, measures: Sequence[str] | None = None) -> str:
    """Return the report of a sweep as one HTML page that loads nothing.

    `measures` names the measures of the tables and rankings, by default the usual ones. InputError for an unknown one.
    """
    shown = chosen(found, measures)
    by_measure = rankings(found, ranked(shown, every=measures is not None))
    series, delays = (stored(found, *what, found.cases) for what in (SERIES, DELAYS))
    return page.render(
        "sweep.html",
        subject=subject(found),
        title=found.title,
        summary=_summary(found, by_measure),
        facts=_facts(found),
        failures=found.failures[:MOST_FAILURES],
        failed=len(found.failures),
        ranks=ranks(found, by_measure),
        diagrams={find(name).title: _diagram(ranking) for name, ranking in by_measure.items()},
        first=label(found.schemes[0]),
        marks=footnote(map(label, found.schemes)),
        definitions=definitions([find(measure) for measure in shown]),
        several=len(found.seeds) > 1,
        sections=[_section(found, case, shown, series, delays) for case in found.cases],
        missing="" if series and delays else how_to_store(found),
        library=browser.library(),
    )


def _section(found: Findings, case: Case, measures: Sequence[str], series: Runs, delays: Runs) -> CaseSection:
    scenario = found.scenario(case)
    heads = [found.head, *map(heading, measures)]
    means: list[Row] = [
        [tables.named(found, case, scheme), *map(_mean, row)]
        for scheme, row in tables.entries(found, case, measures).items()
    ]
    differences: list[Row] = [
        [
            tables.named(found, case, scheme),
            *(difference(find(measure), found.difference(case, scheme, measure)) for measure in measures),
        ]
        for scheme in found.schemes[1:]
    ]
    return CaseSection(
        case,
        text.titled(scenario) if scenario else "",
        Sheet("", heads, means, sortable=True),
        tables.notes(found, case),
        Sheet("", heads, differences, sortable=True),
        list(_plots(found, case, series, delays)),
        setup(scenario, found.schemes, has_flows=not found.programs),
    )


def _mean(entry: tables.Entry) -> Item:
    mean = entry.summary.mean if entry.summary else None
    return Item(entry.text, value=mean, bold=entry.best, small=entry.some)


def _plots(found: Findings, case: Case, series: Runs, delays: Runs) -> list[Plot]:
    """The figures of a case, without figures that have no data."""
    drawn = {}
    cloud = figures_of_sweep.scatter(found, case)
    if cloud.panels[0].clouds:
        drawn["delay-throughput"] = browser.scatter(cloud)
    printed = [measure for measure in found.known if measure.startswith(PROGRAM)]
    for measure in (*printed, P99, JAIN, SETTLING):
        dots = figures_of_sweep.dots(found, case, measure)
        if dots.values:
            drawn[measure] = browser.dots(dots)
    if any(at == case for at, _ in delays):
        drawn["cdf"] = browser.distributions(figures_of_sweep.cdf(found, case, delays))
    if any(at == case for at, _ in series):
        drawn["queue"] = browser.over_time(figures_of_sweep.queue(found, case, series))
    narrow = (*printed, P99, JAIN, SETTLING)
    return [Plot(_caption(name), figure, name not in narrow) for name, figure in drawn.items()]


def _caption(name: str) -> str:
    """Return the caption of a figure."""
    if name.startswith(PROGRAM):
        return f"{find(name).title}, which the program prints: seeds, and mean with its 95 % interval."
    return CAPTIONS[name]


def _diagram(ranking: Ranking) -> str:
    return files.inline(files.encode(files.draw(figures_of_sweep.ranking(ranking)), "svg"))


def _summary(found: Findings, ranks: Mapping[str, Ranking]) -> list[str]:
    """The work and its outcome, in sentences."""
    failed = f"{len(found.failures):,} failed" if found.failures else "none failed"
    sentences = [
        text.ranking_sentence(find(measure).title, each, f"{each.blocks} of {len(found.cases)} scenarios", label)
        for measure, each in ranks.items()
    ]
    return [f"{_runs(found)}; {failed}.", *sentences]


def _runs(found: Findings) -> str:
    """The number of runs, scenarios, schemes and seeds; a sweep under way, or with added seeds, is not a full grid."""
    counts = {"scenario": len(found.cases), "scheme": len(found.schemes), "seed": len(found.seeds)}
    scenarios, schemes, seeds = (f"{n} {name}{'s' if n > 1 else ''}" for name, n in counts.items())
    if len(found.rows) == found.planned == prod(counts.values()):
        return f"{found.planned:,} runs: {scenarios} × {schemes} × {seeds}"
    return f"{len(found.rows):,} of {found.planned:,} runs are done: {scenarios}, {schemes}, up to {seeds}"


def _facts(found: Findings) -> dict[str, str]:
    """The facts that repeat the work, and where it was done."""
    sessions = found.sessions
    facts = {
        "Command": shlex.join(["aqmlab", "sweep", str(found.folder / "experiment.toml"), "--out", "again"]),
        "Version": _distinct(
            f"aqmlab {entry.get('aqmlab', '?')}, commit {entry.get('commit', '?')} ({entry.get('build', '?')})"
            for entry in sessions
        ),
        "Machine": _distinct(
            f"{entry.get('cpu', '?')}, {entry.get('cores', '?')} cores, {entry.get('system', '?')}"
            for entry in sessions
        ),
        "Executor": _distinct(str(entry.get("executor", "?")) for entry in sessions),
        "Sessions": ", ".join(str(entry.get("started", "?")) for entry in sessions),
        "Seeds": f"{', '.join(map(str, found.seeds[:20]))}{' and more' if len(found.seeds) > 20 else ''}",
    }
    if found.kernels:
        facts["Engine"] = f"Linux {_distinct(found.kernels)}, in virtual time, instead of the simulator"
    fixed = {pair for case in found.cases for pair in case.overrides if f"set.{pair[0]}" not in found.varied}
    if found.programs:
        facts["Programs"] = "; ".join(found.programs)
    if fixed:
        facts["Set for all"] = ", ".join(f"{path} = {value}" for path, value in sorted(fixed))
    if found.varied:
        facts["Varied"] = "; ".join(f"{name}: {', '.join(values)}" for name, values in found.varied.items())
    if seconds := _seconds(found):
        facts["Cost"] = f"{seconds:.0f} s of simulation on one core"
    return facts


def _seconds(found: Findings) -> float:
    """The time that all runs took, 0 while it is not known."""
    from pyarrow import ArrowException

    with suppress(OSError, ArrowException, KeyError, TypeError):
        return float(sum(untrusted.read_parquet(found.folder / TIMING, within=found.folder)["wall"].to_pylist()))
    return 0.0


def _distinct(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(texts))
