"""A published and a measured number, with a verdict."""

from dataclasses import dataclass
from statistics import fmean
from typing import Any

from aqmlab.runs.statistics import Summary, parts, summarise
from aqmlab.runs.table import State
from aqmlab.study.measured import OVER, StudyRuns
from aqmlab.study.paper import PaperTable, Published, StudyMetric, built


@dataclass(frozen=True)
class Verdict:
    """The meaning of a verdict, and its mark, so that colour is not the only sign."""

    mark: str
    meaning: str


VERDICTS = {
    "match": Verdict("✓", "the measured number is within the tolerance of the printed one"),
    "near": Verdict("≈", "within twice the tolerance"),
    "off": Verdict("✗", "beyond twice the tolerance"),
    "unreproducible": Verdict("≠", "beyond twice the tolerance; a note gives the reason, or says that it is not known"),
    "missing": Verdict("–", "not measured"),
}
"""Every verdict a cell can have, by its name in JSON."""

LIMITS = {"min": "at least", "max": "at most"}
"""The words for a published number that is a limit."""


@dataclass(frozen=True)
class Cell:
    """One published number and the measured one, in the metric's unit; `row` is the paper's name of `scheme`.

    `bound` is "min" or "max" if the paper states a limit.
    """

    table: str
    row: str
    scheme: str
    metric: StudyMetric
    published: float
    bound: str | None
    ours: Summary | None
    verdict: str
    why: str | None

    @property
    def column(self) -> str:
        """The metric of its column, and the limit if the published number is one."""
        return self.metric.metric.name + (f"_{self.bound}" if self.bound else "")

    @property
    def heading(self) -> str:
        """The head of its column: title and unit of the metric, and whether the number is a limit."""
        limit = self.bound or self.metric.bound
        return self.metric.metric.heading + (f", {LIMITS[limit]}" if limit else "")

    @property
    def printed(self) -> str:
        """The published number, formatted."""
        return self.metric.metric.show(self.published)

    @property
    def measured(self) -> str:
        """The measured number, formatted; empty if there is none."""
        return self.metric.metric.show(self.ours.mean, self.ours.half_width) if self.ours else ""

    def entry(self) -> dict[str, Any]:
        """Return the cell in the form of the JSON document."""
        return {
            "table": self.table,
            "scheme": self.scheme,
            "metric": self.metric.metric.name,
            "unit": self.metric.metric.unit,
            "published": self.published,
            "bound": self.bound or self.metric.bound,
            "ours": self.ours.mean if self.ours else None,
            "interval": self.ours.interval if self.ours else None,
            "verdict": self.verdict,
            "tolerance": self.metric.tolerance,
            "why": self.why,
        }


def verdict(ours: float, published: float, limit: float, why: str | None, bound: str | None = None) -> str:
    """Judge a value: match within `limit`, near within twice; beyond, unreproducible if there is a note.

    If the paper gives a bound ("min" or "max"), a value on its good side has no distance.
    """
    distance = {"min": published - ours, "max": ours - published}.get(bound or "", abs(ours - published))
    distance *= 1 - 1e-9  # a value exactly at the limit is within
    if distance <= limit:
        return "match"
    if distance <= 2 * limit:
        return "near"
    return "unreproducible" if why else "off"


def judge(table: PaperTable, cell: Published, measured: StudyRuns) -> Cell:
    """Return a published number with the measured one and the verdict."""
    metric, spec = table.metrics[cell.metric], table.schemes.get(cell.scheme, cell.scheme)
    missing = _why_missing(table, cell)
    state = None if missing else _state(table, cell, measured)
    ours = None if missing else _ours(table, cell, measured, state)
    if ours is None:
        judged, said = "missing", [missing or "no run reported a value"]
    else:
        judged = verdict(ours.mean, cell.value, metric.limit(cell.value), cell.why, cell.bound or metric.bound)
        said = [state.remark] if state else []
        if judged != "match":
            said.append(cell.why or _no_reason(ours, metric, judged))
    return Cell(table.number, cell.scheme, spec, metric, cell.value, cell.bound, ours, judged, "; ".join(said) or None)


def _no_reason(ours: Summary, metric: StudyMetric, judged: str) -> str:
    """The remark on a cell that does not match and has no written reason: the spread over the seeds."""
    if judged == "off":
        return "no reason is known"
    if ours.half_width is None:
        return "within twice the tolerance in this single run; more seeds show the spread"
    low, high = (metric.metric.show(end) for end in ours.interval or ())
    return f"within twice the tolerance; the mean over {ours.n} seeds lies between {low} and {high}"


def _why_missing(table: PaperTable, cell: Published) -> str | None:
    metric = table.metrics[cell.metric]
    if metric.ours is None or not (table.scenarios or table.analysis):
        return f"{metric.metric.title.lower()} is not compared yet"
    if table.analysis:
        return None
    names = table.parts(cell.scheme)
    absent = [name for name in names if not built(table.schemes[name])]
    if not absent:
        return None
    return "the scheme is not implemented" if absent == [cell.scheme] else f"{', '.join(absent)}: not implemented"


def _ours(table: PaperTable, cell: Published, measured: StudyRuns, state: "Chosen | None") -> Summary | None:
    metric = table.metrics[cell.metric]
    if table.analysis:
        from aqmlab.analysis.stability import BOUNDS

        return summarise([BOUNDS[(metric.ours or "").removeprefix("stability.")](**table.analysis)])
    first, *others = [_by_seed(table, metric, table.schemes[name], measured) for name in table.parts(cell.scheme)]
    if cell.scheme in table.together:
        shared = set(first).intersection(*others)
        first = {seed: OVER[metric.over]([first[seed], *(other[seed] for other in others)]) for seed in shared}
    elif others:
        first = {
            seed: value - fmean(other[seed] for other in others)
            for seed, value in first.items()
            if all(seed in other for other in others)
        }
    values = [value for seed, value in first.items() if state is None or seed in state.chosen.seeds]
    return summarise([metric.count(value) for value in values]) if values else None


def _by_seed(table: PaperTable, metric: StudyMetric, spec: str, measured: StudyRuns) -> dict[int, float]:
    scenarios = [metric.scenario] if metric.scenario else table.scenarios
    return measured.together(scenarios, spec, table.link, metric.ours or "", metric.over)


@dataclass(frozen=True)
class Chosen:
    """The two states of the seeds: `chosen` is nearer to the paper's single run."""

    chosen: State
    other: State

    @property
    def remark(self) -> str:
        """The remark that names both states, and the one that is compared."""
        n, mean, rest, other = self.chosen.n, self.chosen.mean, self.other.n, self.other.mean
        return (
            f"two states: mean queue {mean:.0f} packets in {n} of {n + rest} seeds, {other:.0f} in {rest}; "
            f"the first, nearer to the published run, is compared"
        )


def _state(table: PaperTable, cell: Published, measured: StudyRuns) -> Chosen | None:
    """Return the state to compare with the paper's single run; None if all seeds have one state."""
    printed = [other.value for other in table.published if (other.scheme, other.metric) == (cell.scheme, "queue_mean")]
    if len(table.scenarios) != 1 or not printed:
        return None
    spec = table.schemes[cell.scheme]
    two = measured.table.states(table.scenarios[0], spec, table.link, told_apart=parts)
    if two is None:
        return None
    return Chosen(*sorted(two, key=lambda state: abs(state.mean - printed[0])))
