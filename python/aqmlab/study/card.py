"""The evaluation card of a congestion controller: the points of RFC 9743 (BCP 133), also measured for Reno and CUBIC.

`card_points.py` contains the points and the scenarios of their cells. docs/card.md describes the card.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median
from typing import Any

from aqmlab import _core, laws
from aqmlab._core import Scenario
from aqmlab.names import unknown
from aqmlab.notebook import Result, Sheet
from aqmlab.problems import InputError
from aqmlab.runs import check_seeds
from aqmlab.runs.checks import check_engine, check_newest
from aqmlab.runs.executor import Outcome, Progress, run_many
from aqmlab.runs.metrics import PERCENT, Shown, find
from aqmlab.runs.results import RunResult
from aqmlab.runs.statistics import Summary, summarise
from aqmlab.runs.task import LINUX, SIM, Failure, Task
from aqmlab.study.card_points import CardCells, CardPath, CardPoint, load_rfc, scenario
from aqmlab.study.response import response
from aqmlab.study.response_result import ControllerResponse

STANDARDS = ("reno", "cubic")
"""The IETF's controllers, which every card also measures."""

EVENTS_PER_PACKET = 20
"""Maximum number of events per packet that the links can carry; built-in controllers need at most a fifth of it."""

LEAST_EVENTS = 1_000_000
"""Number of events that every run may have."""

WITHOUT_RESPONSE = 0.9
"""The share of the work of a card that its points take, about."""

CHANGE = Shown(100, "%", 0)
"""The format of a relative change."""


@dataclass(frozen=True)
class CardColumn:
    """A column of the card: a congestion controller and the engine that runs it."""

    law: str
    engine: str = SIM

    @property
    def title(self) -> str:
        """The head of the column."""
        return f"{_title(self.law)}, on Linux" if self.engine == LINUX else _title(self.law)


def _title(law: str) -> str:
    name, _, given = law.partition(":")
    return f"{_known()[name]} ({given})" if given else _known()[name]


def _known() -> dict[str, str]:
    """Return the titles of all controllers by name, including the user's."""
    return {each["name"]: each["title"] for each in _core.laws()}


@dataclass(frozen=True)
class CardCell:
    """A number of a cell by column and seed, None where a run has none; a change is relative to `by_seed_alone`."""

    path: CardPath
    by_seed: Mapping[CardColumn, Sequence[float | None]]
    by_seed_alone: Mapping[CardColumn, Sequence[float | None]]

    @cached_property
    def values(self) -> Mapping[CardColumn, float | None]:
        """By column, the mean over the seeds, or None."""
        return {column: _mean(found) for column, found in self.by_seed.items()}

    @cached_property
    def alone(self) -> Mapping[CardColumn, float | None]:
        """The same of the victim alone."""
        return {column: _mean(found) for column, found in self.by_seed_alone.items()}

    def change(self, column: CardColumn) -> float | None:
        """Return the change of the victim in a column."""
        return change(self.values[column], self.alone[column])

    def seeds(self, column: CardColumn, *, is_harm: bool) -> list[float | None]:
        """Return the value of each seed, or its change under the same seed; nothing where no run is possible."""
        values = list(self.by_seed[column])
        if not is_harm:
            return values
        return [change(value, alone) for value, alone in zip(values, self.by_seed_alone[column], strict=False)]


def change(value: float | None, alone: float | None) -> float | None:
    """Return the relative change of a victim's value from its value alone; None if one is unknown or `alone` is 0."""
    return None if value is None or not alone else value / alone - 1


@dataclass(frozen=True)
class CardRange:
    """The range of the cells of a row in a column: median, minimum, maximum, and the paths of the extremes.

    `interval` is the 95 % interval of the median over the seeds; None with one seed.
    """

    middle: float
    interval: tuple[float, float] | None
    least: float
    most: float
    least_at: CardPath
    most_at: CardPath
    count: int


@dataclass(frozen=True)
class CardRow:
    """A row of the card: one measure over its cells, a change if `is_harm`; `refused` are columns without cells."""

    cells: CardCells
    by: str
    measure: str
    is_harm: bool
    shown: Shown
    found: Sequence[CardCell]
    refused: Mapping[CardColumn, str]

    @property
    def place(self) -> str:
        """The name of the cells, and of the row if there are several."""
        return ", ".join(part for part in (self.cells.name, self.by) if part)

    @property
    def title(self) -> str:
        """The name of the cells, and the measure with its unit."""
        unit = "" if self.shown.unit in ("1", "ratio") else f" ({self.shown.unit})"
        kind = ", change" if self.is_harm else ""
        return f"{self.place}: {self.measure}{kind}{unit}"

    def value(self, cell: CardCell, column: CardColumn) -> float | None:
        """Return the number of a cell that the row shows."""
        return cell.change(column) if self.is_harm else cell.values[column]

    def range(self, column: CardColumn) -> CardRange | None:
        """Return the range over the cells with a number, None if there are none."""
        known = [(value, cell.path) for cell in self.found if (value := self.value(cell, column)) is not None]
        if not known:
            return None
        least, most = (best(known, key=lambda each: each[0]) for best in (min, max))
        middle = median(value for value, _ in known)
        interval = self._interval(column, middle)
        return CardRange(middle, interval, least[0], most[0], least[1], most[1], len(known))

    def summary(self, cell: CardCell, column: CardColumn) -> Summary | None:
        """Return the number of a cell with its interval over the seeds, None without one."""
        value = self.value(cell, column)
        known = [each for each in cell.seeds(column, is_harm=self.is_harm) if each is not None]
        return None if value is None or not known else Summary(value, summarise(known).half_width, len(known))

    def _interval(self, column: CardColumn, middle: float) -> tuple[float, float] | None:
        """Return the 95 % interval of the median over the cells, from its value under each seed."""
        found = [cell.seeds(column, is_harm=self.is_harm) for cell in self.found]
        by_seed = zip(*filter(None, found), strict=True)
        medians = [median(known) for values in by_seed if (known := [each for each in values if each is not None])]
        width = summarise(medians).half_width if medians else None
        return None if width is None else (middle - width, middle + width)


@dataclass(frozen=True)
class MeasuredPoint:
    """A point with its rows; none if it does not apply."""

    point: CardPoint
    rows: Sequence[CardRow]


@dataclass(frozen=True, repr=False)
class Card(Result):
    """The card of a controller: every point of RFC 9743 with its rows, a column per controller."""

    law: str
    columns: Sequence[CardColumn]
    seeds: int
    points: Sequence[MeasuredPoint]
    runs: int
    failures: Sequence[Failure]
    response: ControllerResponse | None
    """The controller's response, without `only`."""
    silent: int
    """Number of the controller's runs without a received packet of it."""
    of_law: int
    """Number of the controller's runs with a result."""
    wall: float
    """Seconds that all of it took."""

    @property
    def title(self) -> str:
        """The controller and the document."""
        return f"{_title(self.law)} by the points of RFC 9743"

    @property
    def headline(self) -> str:
        """The controller, and the numbers of points and rows."""
        return f"{self.title}: {len(self.points)} points, {sum(len(each.rows) for each in self.points)} rows"

    @property
    def breakdowns(self) -> list[str]:
        """The number of runs without a result, and the reasons."""
        reasons: dict[str, int] = {}
        for failure in self.failures:
            reasons[failure.reason] = reasons.get(failure.reason, 0) + 1
        # A controller fails at different times in different cells: one sentence if only numbers differ.
        alike: dict[str, list[str]] = {}
        for reason in reasons:
            alike.setdefault(re.sub(r"\d+(\.\d+)?", "", reason), []).append(reason)
        return [
            f"{sum(reasons[each] for each in same)} of {self.runs} runs have no result: {same[0]}"
            + (", and alike" if len(same) > 1 else "")
            for same in alike.values()
        ]

    @property
    def remarks(self) -> list[str]:
        """The notes above the numbers: runs without a result, and runs in which nothing of the controller arrives."""
        silent = f"nothing of {_title(self.law)} arrives in {self.silent} of its {self.of_law} runs"
        return [*self.breakdowns, *([silent] if self.silent else [])]

    def sheets(self) -> Iterator[Sheet]:
        """Return a table of the medians."""
        rows = [
            [each.point.section, row.title, *(shown(row, column) for column in self.columns)]
            for each in self.points
            for row in each.rows
        ]
        yield Sheet("", ["", "", *(column.title for column in self.columns)], rows, names=2)

    def rows(self, id: str, measure: str) -> list[CardRow]:
        """Return the rows of a measure of the cells with an identifier."""
        every = (row for each in self.points for row in each.rows)
        return [row for row in every if row.cells.id == id and row.measure == measure]

    def document(self) -> dict[str, Any]:
        """Return the card as a JSON document."""
        rfc = load_rfc()
        return {
            "schema": 1,
            "card": self.law,
            "source": rfc.source,
            "seeds": self.seeds,
            "columns": [{"law": each.law, "engine": each.engine} for each in self.columns],
            "points": [_entry(each, self.columns) for each in self.points],
            "response": self.response.document() if self.response else None,
            "remarks": self.remarks,
            "failures": [str(failure) for failure in self.failures],
        }


def _entry(measured: MeasuredPoint, columns: Sequence[CardColumn]) -> dict[str, Any]:
    point = measured.point
    return {
        "section": point.section,
        "title": point.title,
        "word": point.word or None,
        "asks": point.asks,
        "not_applicable": point.because or None,
        "note": point.note or None,
        "rows": [
            {
                "what": row.place,
                "measure": row.measure,
                "harm": row.is_harm,
                "unit": "ratio" if row.is_harm else _unit(row),
                "refused": [row.refused.get(column) for column in columns],
                "cells": [
                    {
                        "rate": cell.path.rate,
                        "rtt": cell.path.rtt,
                        "buffer": cell.path.buffer,
                        "values": [cell.values[column] for column in columns],
                        **({"alone": [cell.alone[column] for column in columns]} if row.is_harm else {}),
                        **({"change": [cell.change(column) for column in columns]} if row.is_harm else {}),
                        "half_widths": [_half_width(row, cell, column) for column in columns],
                    }
                    for cell in row.found
                ],
            }
            for row in measured.rows
        ],
    }


def _half_width(row: CardRow, cell: CardCell, column: CardColumn) -> float | None:
    """The half-width of the interval of a cell; for a victim, of its change."""
    summary = row.summary(cell, column)
    return summary.half_width if summary else None


def _unit(row: CardRow) -> str:
    path = row.cells.measures[row.measure]
    return "ratio" if " / " in path else find(path).unit


def shown(row: CardRow, column: CardColumn) -> str:
    """Return the range of a row in a column as text: the median with its interval, and the minimum to the maximum."""
    if column in row.refused:
        return "not applicable"
    found = row.range(column)
    if found is None:
        return "–"
    middle, least, most = (text(row, value) for value in (found.middle, found.least, found.most))
    if found.interval:
        half = (found.interval[1] - found.interval[0]) / 2
        middle += f" ±\N{NO-BREAK SPACE}{half * row.shown.scale:.{row.shown.digits}f}"
    return middle if found.count == 1 or least == most else f"{middle} ({least} to {most})"


def text(row: CardRow, value: float | None) -> str:
    """Return a number of a row as text, a dash for None; a change has a sign."""
    if value is None:
        return "–"
    number = f"{value * row.shown.scale:{'+' if row.is_harm else ''}.{row.shown.digits}f}"
    return number if float(number) else number.lstrip("+-")


def with_interval(row: CardRow, cell: CardCell, column: CardColumn) -> str:
    """Return the number of a cell as text, with the half-width of its interval over the seeds."""
    summary = row.summary(cell, column)
    if summary is None or summary.half_width is None:
        return text(row, row.value(cell, column))
    return f"{text(row, summary.mean)} ±\N{NO-BREAK SPACE}{summary.half_width * row.shown.scale:.{row.shown.digits}f}"


@dataclass(frozen=True)
class _Want:
    """A wanted run: its scenario and engine, or the reason why it is not possible."""

    scenario: Scenario | None
    engine: str
    refused: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        assert self.scenario is not None
        return self.scenario.text, str(self.scenario.overrides), self.engine


@dataclass(frozen=True)
class _Place:
    """One cell of a row before it is run: the wanted run of each column, and of its victim alone."""

    path: CardPath
    columns: Mapping[CardColumn, _Want]
    alone: Mapping[CardColumn, _Want]

    @property
    def wants(self) -> list[_Want]:
        """The possible runs."""
        return [want for want in (*self.columns.values(), *self.alone.values()) if want.scenario]


def card(
    law: laws.Law,
    *,
    only: str | None = None,
    seeds: int = 5,
    jobs: int | None = None,
    engine: str = SIM,
    progress: Progress | None = None,
) -> Card:
    """Measure a congestion controller by the points of RFC 9743, and Reno and CUBIC in the same cells.

    `law` is a name ("bbr3", "cubic:beta=0.8"), a file or a class (see `laws.law_spec`). `only` lists sections, with
    globs ("5.1.*,7.9"); without it the card has the controller's response (see `response`), too. A value is the mean
    over `seeds` seeds, 1 to N, with its 95 % interval. `jobs` is the number of parallel runs, by
    default one per core. `engine` "linux" also runs the controller on a real Linux kernel (`aqmlab kernel build`), in
    one cell of each row. `failures` contains failed runs. Raises InputError for bad input, before anything runs.
    """
    started = time.perf_counter()
    check_seeds(seeds)
    spec = laws.law_spec(law)
    points = load_rfc().only(only)
    columns = _columns(spec, engine)
    planned = [
        (point, [(cells, by, list(_places(cells, by, columns))) for cells, by in _rows(point)]) for point in points
    ]
    places = [place for _, rows in planned for *_, found in rows for place in found]
    single = {want.key: want for place in places for want in place.wants}
    tasks = [_task(want, seed) for want in single.values() for seed in range(1, seeds + 1)]
    done = iter(run_many(tasks, jobs, progress and _share(progress, 0, WITHOUT_RESPONSE)))
    outcomes = {key: [next(done) for _ in range(seeds)] for key in single}
    measured = [
        MeasuredPoint(
            point, [row for cells, by, found in rows for row in _measured(cells, by, found, columns, outcomes)]
        )
        for point, rows in planned
    ]
    every = [outcome for found in outcomes.values() for outcome in found]
    mine = dict.fromkeys(place.columns[columns[0]].key for place in places if place.columns[columns[0]].scenario)
    own = [outcome for key in mine for outcome in outcomes[key] if isinstance(outcome, RunResult)]
    failures = [outcome for outcome in every if isinstance(outcome, Failure)]
    share = progress and _share(progress, WITHOUT_RESPONSE, 1)
    responded = None if only is not None else response(law, seeds=seeds, jobs=jobs, progress=share)
    silent, wall = sum(map(_is_silent, own)), time.perf_counter() - started
    return Card(spec, columns, seeds, measured, len(every), failures, responded, silent, len(own), wall)


def _share(progress: Progress, start: float, end: float) -> Progress:
    """Progress of a part of the work, from one share of it to another."""
    return lambda done, total: progress(start + (end - start) * done / total, 1)


def _columns(law: str, engine: str) -> list[CardColumn]:
    """Return the columns; InputError for an unknown controller, parameter or engine."""
    name = law.partition(":")[0]
    if name not in _known():
        raise unknown("law", "no congestion controller is called", name, _known())
    tcp = {"profile": "linux", "congestion_control": law}
    probe = {"links": [{"rate": "1 Mbit/s", "buffer": "9 packets"}], "flows": [{"rtt": "9 ms", "tcp": tcp}]}
    check_newest(engine)
    check_engine(engine, Scenario.of({"schema": 1, "duration": "1 s", **probe}, "card"), [None])
    simulated = [CardColumn(each) for each in dict.fromkeys([law, *STANDARDS])]
    return simulated if engine == SIM else [simulated[0], CardColumn(law, engine), *simulated[1:]]


def _rows(point: CardPoint) -> Iterator[tuple[CardCells, str]]:
    return ((cells, by) for cells in point.cells for by in cells.by)


def _places(cells: CardCells, by: str, columns: Sequence[CardColumn]) -> Iterator[_Place]:
    """Yield the cells of a row: all of its range, or only the middle one if a kernel also runs them."""
    for path in cells.paths(every=all(column.engine == SIM for column in columns)):
        own = {column: _want(column, cells, by, path, column.law) for column in columns}
        alone = {}
        if cells.harm:
            victim = cells.victim or STANDARDS[0]
            alone = {column: _want(column, cells, by, path, victim, cells.alone) for column in columns}
        yield _Place(path, own, alone)


def _want(column: CardColumn, *cell: Any) -> _Want:
    """Return the run of a cell by the engine of a column; the other arguments are those to `scenario`."""
    try:
        found = scenario(*cell)
        check_engine(column.engine, found, [None])
    except InputError as error:
        return _Want(None, column.engine, str(error))
    return _Want(found, column.engine)


def _task(want: _Want, seed: int) -> Task:
    assert want.scenario is not None
    return Task(want.scenario, None, seed, engine=want.engine, most_events=most_events(want.scenario))


def most_events(scenario: Scenario) -> int:
    """Return the number of events after which a run is aborted: a controller may never stop sending."""
    bits = sum(scenario.link(name).rate for name in scenario.links) * scenario.duration
    return LEAST_EVENTS + round(EVENTS_PER_PACKET * bits / 8 / 1500)


Outcomes = Mapping[tuple[str, str, str], Sequence[Outcome]]


def _measured(
    cells: CardCells, by: str, places: Sequence[_Place], columns: Sequence[CardColumn], outcomes: Outcomes
) -> Iterator[CardRow]:
    """Yield the rows of some cells: changes of the victim, then other measures."""
    refused = {
        column: places[0].columns[column].refused
        for column in columns
        if all(place.columns[column].refused for place in places)
    }
    wanted = [(title, name, True) for title, name in cells.harm.items()]
    wanted += [(title, path, False) for title, path in cells.measures.items()]
    for title, path, is_harm in wanted:
        found = [_cell(cells, path, place, outcomes, is_harm=is_harm) for place in places]
        form = CHANGE if is_harm else PERCENT if " / " in path else find(path).shown
        yield CardRow(cells, by, title, is_harm, form, found, refused)


def _cell(cells: CardCells, measure: str, place: _Place, outcomes: Outcomes, *, is_harm: bool) -> CardCell:
    """Return a measure of a cell, or a measure of its victim, with the controller and alone."""

    def of(want: _Want, law: str) -> list[float | None]:
        if not is_harm:
            return _by_seed(want, outcomes, lambda run: _value(run, measure, place.path))
        return _by_seed(want, outcomes, lambda run: _of_victims(run, want, measure, law == cells.victim))

    values = {column: of(want, column.law) for column, want in place.columns.items()}
    alone = {column: of(want, cells.victim) for column, want in place.alone.items()} if is_harm else {}
    return CardCell(place.path, values, alone)


def _by_seed(want: _Want, outcomes: Outcomes, value: Callable[[RunResult], float | None]) -> list[float | None]:
    """Return a value by seed, None for a run that failed; nothing where no run is possible."""
    if want.scenario is None:
        return []
    return [value(outcome) if isinstance(outcome, RunResult) else None for outcome in outcomes[want.key]]


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean over the seeds with a value."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _of_victims(run: RunResult, want: _Want, measure: str, is_alike: bool) -> float | None:
    """Return a measure of the victim, goodput per flow.

    If controller and victim are the same, flows of the same kind in the controller's place are victims too. The result
    is the mean over all of them, since one of two equal flows may get more by chance.
    """
    assert want.scenario is not None
    of = want.scenario.group
    mine = [name for name in run.flows if name == "victim" or (is_alike and of(name).kind == of("victim").kind)]
    count = {name: run.values[f"flows.{name}.count"] or 0 for name in mine}
    values = {name: run.values[f"flows.{name}.{measure}"] for name in mine if count[name]}
    if measure == "goodput":
        return sum(value or 0 for value in values.values()) / (sum(count.values()) or 1)
    known = {name: value for name, value in values.items() if value is not None}
    weight = sum(count[name] for name in known)
    return sum(count[name] * value for name, value in known.items()) / weight if weight else None


def _value(run: RunResult, measure: str, at: CardPath) -> float | None:
    """Return a measure of a run, perhaps divided by another one or by a share of the path's rate."""
    path, _, over = measure.partition(" / ")
    above = run.values[path]
    if not over:
        return above
    below = float(over.split()[0]) * at.link.rate if over.endswith(" rate") else run.values[over]
    return None if above is None or not below else above / below


def _is_silent(run: RunResult) -> bool:
    """Return whether nothing of the controller arrives, although no link loses it."""
    received = any(flow.received for name, flow in run.flows.items() if name.startswith("law"))
    return not received and not any(link.lost for link in run.links.values())
