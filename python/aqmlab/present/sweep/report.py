"""The report of a sweep: one self-contained page with what was done, the ranking, and each case on demand."""

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any

from aqmlab import _core
from aqmlab._core import InputError
from aqmlab.present import pages, plots
from aqmlab.present.sweep import figures as sweep_figures
from aqmlab.present.sweep import interactive
from aqmlab.present.sweep import plots as sweep_plots
from aqmlab.present.sweep import tables as sweep_tables
from aqmlab.present.sweep.figures import DELAY, GOODPUT, JAIN, SETTLING, Stored
from aqmlab.present.sweep.tables import Entry
from aqmlab.runs.findings import MEASURES, Case, Findings, chosen, label, ranked
from aqmlab.runs.metrics import definitions
from aqmlab.runs.statistics import Paired, Ranking
from aqmlab.runs.store import TIMING

P99 = "link.queue_delay_p99"

MOST_FAILURES = 20
"""Failed runs that a page names."""

CAPTIONS = {
    "delay-throughput": "Goodput against mean queue delay (RFC 7928, section 2.7): small marks are runs, large ones "
    "means. The ellipse is the 95 % confidence region of the mean (Hotelling's T²), drawn from "
    f"{sweep_figures.FEWEST} seeds on. Up and to the left is better.",
    P99: "99 % of the packets wait at most this long: seeds, and mean with its 95 % interval.",
    JAIN: "Jain's index of the flows' goodput, 1 if all have the same: seeds, and mean with its 95 % interval.",
    SETTLING: "Settling time of the runs that settle; the table says how many do.",
    "queue": "Packets waiting against time, one run a scheme; the dashed line is the target.",
    "cdf": "Share of the packets that waited at most so long, one run a scheme.",
}

Runs = Mapping[tuple[Case, str], Stored]


@dataclass(frozen=True)
class Plot:
    """An interactive figure: its caption, the figure as JSON, and whether it takes the whole width."""

    caption: str
    figure: str
    wide: bool


@dataclass(frozen=True)
class Section:
    """What the page shows of one case."""

    case: Case
    title: str
    rows: Mapping[str, Sequence[Entry]]
    notes: Sequence[str]
    differences: Mapping[str, Sequence[Paired | None]]
    plots: Sequence[Plot]
    parameters: Mapping[str, str]


@dataclass(frozen=True)
class Ranked:
    """The ranking by one measure, and its critical-difference diagram as SVG."""

    measure: str
    ranking: Ranking
    diagram: str


def page(found: Findings, measures: Sequence[str] | None = None) -> str:
    """Return the report of a sweep as one HTML page that loads nothing.

    `measures` are those of the tables and rankings, by default the usual ones. InputError for an unknown one.
    """
    shown = chosen(found, measures)
    rankings = ranked(found, shown, every=measures is not None)
    cases = list(found.cases.values())
    series, delays = (sweep_figures.stored(found, *what, cases) for what in (sweep_plots.SERIES, sweep_plots.DELAYS))
    return pages.template("sweep.html").render(
        title=found.title,
        summary=_summary(found, rankings),
        facts=_facts(found),
        failures=found.failures[:MOST_FAILURES],
        failed=len(found.failures),
        schemes={scheme: label(scheme) for scheme in found.schemes},
        ranked=[Ranked(name, ranking, _diagram(ranking)) for name, ranking in rankings.items()],
        metrics={measure: MEASURES[measure] for measure in MEASURES},
        measures=shown,
        definitions=definitions([MEASURES[measure] for measure in shown]),
        several=len(found.seeds) > 1,
        sections=[_section(found, case, shown, series, delays) for case in cases],
        missing="" if series and delays else sweep_plots.how_to_store(found),
        library=interactive.library(),
    )


def _section(found: Findings, case: Case, measures: Sequence[str], series: Runs, delays: Runs) -> Section:
    world = found.world(case)
    return Section(
        case,
        world.title if world else "",
        sweep_tables.entries(found, case, measures),
        sweep_tables.notes(found, case),
        {scheme: [found.difference(case, scheme, measure) for measure in measures] for scheme in found.schemes[1:]},
        list(_plots(found, case, series, delays)),
        {label(scheme): _parameters(world, scheme) for scheme in found.schemes},
    )


def _plots(found: Findings, case: Case, series: Runs, delays: Runs) -> list[Plot]:
    """The figures of a case, without those of which nothing was measured."""
    drawn = {}
    cloud = sweep_figures.scatter(found, case, DELAY, GOODPUT)
    if cloud.clouds:
        drawn["delay-throughput"] = interactive.scatter(found, cloud)
    for measure in (P99, JAIN, SETTLING):
        dots = sweep_figures.dots(found, case, measure)
        if dots.values:
            drawn[measure] = interactive.dots(found, dots)
    if any(at == case for at, _ in delays):
        drawn["cdf"] = interactive.cdf(found, case, delays)
    if any(at == case for at, _ in series):
        drawn["queue"] = interactive.queue(sweep_plots.queue(found, case, series))
    return [Plot(CAPTIONS[name], figure, name not in (P99, JAIN, SETTLING)) for name, figure in drawn.items()]


def _parameters(world: _core.Scenario | None, scheme: str) -> str:
    """The parameters of a scheme as they were used; of one's own only what it was given."""
    if world:
        with suppress(InputError):
            return pages.parameters(world, scheme)
    given = scheme.partition(":")[2] or "none given"
    return f"{given}; the others are known to its own code or version only"


def _diagram(ranking: Ranking) -> str:
    return plots.inline(plots.encode(sweep_plots.ranking(ranking), "svg"))


def _summary(found: Findings, rankings: Mapping[str, Ranking]) -> list[str]:
    """What was done and what came out of it, in sentences."""
    failed = f"{len(found.failures):,} failed" if found.failures else "none failed"
    return [f"{_runs(found)}; {failed}.", *(_best(found, *pair) for pair in rankings.items())]


def _runs(found: Findings) -> str:
    """How many runs there are of what; a sweep under way, or one that added seeds, is no full grid."""
    counts = {"scenario": len(found.cases), "scheme": len(found.schemes), "seed": len(found.seeds)}
    scenarios, schemes, seeds = (f"{n} {name}{'s' if n > 1 else ''}" for name, n in counts.items())
    if len(found.rows) == found.asked == prod(counts.values()):
        return f"{found.asked:,} runs: {scenarios} × {schemes} × {seeds}"
    return f"{len(found.rows):,} of {found.asked:,} runs are done: {scenarios}, {schemes}, up to {seeds}"


def _best(found: Findings, measure: str, ranking: Ranking) -> str:
    """What a ranking says, in a sentence."""
    [first, *others] = sorted(ranking.ranks, key=ranking.ranks.__getitem__)
    near = [name for name in others if ranking.ranks[name] - ranking.ranks[first] <= ranking.critical]
    alike = f"not told apart from {_names(near)}" if near else "told apart from all others"
    p = "p < 0.001" if ranking.p < 0.001 else f"p = {ranking.p:.2g}"
    over = f"{ranking.blocks} of {len(found.cases)} scenarios"
    difference = (
        f"{label(first)} ranks best, with mean rank {ranking.ranks[first]:.2f} over {over}; "
        f"by the Nemenyi test it is {alike}"
        if ranking.p < 0.05
        else "the schemes are not told apart"
    )
    return f"{MEASURES[measure].title}: {difference} (Friedman {p})."


def _names(names: Sequence[str]) -> str:
    titles = [label(name) for name in names[:3]]
    more = [f"{len(names) - 3} more"] if len(names) > 3 else []
    *first, last = [*titles, *more]
    return f"{', '.join(first)} and {last}" if first else last


def _facts(found: Findings) -> dict[str, Any]:
    """What one needs to repeat the work, and where it was done."""
    sessions = found.sessions
    facts = {
        "Command": shlex.join(["aqmlab", "sweep", str(found.folder / "experiment.toml"), "--out", "again"]),
        "Version": _distinct(f"aqmlab {entry.get('aqmlab', '?')} ({entry.get('build', '?')})" for entry in sessions),
        "Machine": _distinct(
            f"{entry.get('cpu', '?')}, {entry.get('cores', '?')} cores, {entry.get('system', '?')}"
            for entry in sessions
        ),
        "Executor": _distinct(str(entry.get("executor", "?")) for entry in sessions),
        "Sessions": ", ".join(str(entry.get("started", "?")) for entry in sessions),
        "Seeds": f"{', '.join(map(str, found.seeds[:20]))}{' and more' if len(found.seeds) > 20 else ''}",
    }
    fixed = {pair for case in found.cases.values() for pair in case.overrides if f"set.{pair[0]}" not in found.varied}
    if fixed:
        facts["Set for all"] = ", ".join(f"{path} = {value}" for path, value in sorted(fixed))
    if found.varied:
        facts["Varied"] = "; ".join(f"{name}: {', '.join(values)}" for name, values in found.varied.items())
    if seconds := _seconds(found):
        facts["Cost"] = f"{seconds:.0f} s of simulation on one core"
    return facts


def _seconds(found: Findings) -> float:
    """The time that all runs took, 0 while it is not known."""
    from pyarrow import ArrowException, parquet

    with suppress(OSError, ArrowException):
        return float(sum(parquet.read_table(found.folder / TIMING)["wall"].to_pylist()))
    return 0.0


def _distinct(texts: Any) -> str:
    return "; ".join(dict.fromkeys(texts))
