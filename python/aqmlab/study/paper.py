"""A study: a paper's tables, figures and claims as data, so that they can be run again and compared.

`papers/<name>.toml` names the paper and maps its schemes and metrics to the simulator. It also gives the
tolerances, the scenarios of each table and figure, and the reasons why a cell may not be reproducible.
`papers/<name>.csv` holds the printed numbers, `ledgers/<name>.toml` the sentences. docs/studies.md describes the files.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, NamedTuple

from aqmlab import catalogue
from aqmlab.entries import filled, read_file
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.runs.metrics import SHOWN, Metric, Shown
from aqmlab.study.ledger import Claim, load_ledger


@dataclass(frozen=True)
class StudyMetric:
    """A metric as the paper defines it: (`ours` - `minus`) x `factor`, `over` the scenarios of its table.

    `ours` names a field of the table's link ("queue_mean"), a path into the result ("total.jain") or a bound of
    the stability analysis ("stability.kp_upper"); it is None if the simulator does not measure it. `scenario` replaces
    the scenario of the table.
    """

    metric: Metric
    absolute: float
    tolerance: str
    ours: str | None = None
    minus: float = 0.0
    factor: float = 1.0
    over: str = "mean"
    scenario: str | None = None
    bound: str | None = None
    relative: float = 0.0

    def count(self, value: float) -> float:
        """Return a measured value as the paper counts it."""
        return (value - self.minus) * self.factor

    def uncount(self, published: float) -> float:
        """Return the measured value that corresponds to a published one."""
        return published / self.factor + self.minus

    def limit(self, published: float) -> float:
        """Return the largest distance from a published value that is a match, in the metric's unit."""
        return max(self.absolute, self.relative * abs(published))


@dataclass(frozen=True)
class Published:
    """One printed number, under the paper's names; `bound` is "min" or "max" where the paper gives a limit.

    `why` is the written reason for a deviation, None if there is none.
    """

    table: str
    scheme: str
    metric: str
    value: float
    bound: str | None = None
    why: str | None = None


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper: its scenarios and link, or the values for which the analysis is computed.

    `published` are its numbers in their order. `differences` are rows that subtract the mean of several schemes from
    one scheme. `together` are rows that combine several schemes by the metric's `over`.
    """

    number: str
    title: str
    scenarios: tuple[str, ...]
    schemes: Mapping[str, str]
    metrics: Mapping[str, StudyMetric]
    published: Sequence[Published]
    link: str = "bottleneck"
    figure: str | None = None
    analysis: Mapping[str, float] = field(default_factory=dict)
    differences: Mapping[str, Sequence[str]] = field(default_factory=dict)
    together: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def parts(self, row: str) -> Sequence[str]:
        """Return the schemes, by the paper's names, that a row is made of."""
        return self.differences.get(row) or self.together.get(row) or [row]


@dataclass(frozen=True)
class PaperPanel:
    """One panel of a figure: which schemes (by the paper's names), in which scenarios, at which link, which metric.

    `law` is one of `aqmlab.analysis.fuzzy.LAWS`; `analysis` holds the parameters of the stability analysis.
    """

    title: str
    scenarios: tuple[str, ...] = ()
    link: str = "bottleneck"
    schemes: tuple[str, ...] = ()
    metric: str | None = None
    analysis: Mapping[str, float] = field(default_factory=dict)
    law: str = ""


@dataclass(frozen=True)
class Figure:
    """One figure of the paper; `kind` says what its panels show.

    - `"queue"`, `"p"` and `"utilisation"`: packets waiting, drop probability and utilisation against time, one panel
      per scenario.
    - `"sweep"`: a metric against `x`, which replaces {x} in the scenarios; `"bars"`: a metric over all these scenarios.
    - `"sensitivity"`: a metric of one scheme whose `parameters` are multiplied, one at a time, by `x`.
    - `"range"`: a bound of the stability analysis against its value `varied`.
    - `"law"`: the parts of a controller against their input; `"surface"`: its output over `x` and `y_label`.
    """

    number: str
    title: str
    kind: str
    panels: tuple[PaperPanel, ...]
    columns: int = 2
    x: tuple[float, ...] = ()
    x_label: str = ""
    y_label: str = ""
    logarithmic: bool = False
    parameters: Mapping[str, float] = field(default_factory=dict)
    varied: str = ""


CALCULATED = ("range", "law", "surface")
"""The kinds of figures that need no run."""

CHARTS = ("sweep", "bars", "sensitivity", *CALCULATED)
"""The kinds of figures that are charts: numbers against what is varied, and no time series."""


class Point(NamedTuple):
    """A point of a curve: the value of x, and the scheme and scenarios to run."""

    x: float
    spec: str
    scenarios: tuple[str, ...]


@dataclass(frozen=True)
class Note:
    """A written reason why cells deviate.

    It covers the `cells` ("table/scheme/metric"), or the cells whose table, scheme and metric are all listed. An empty
    list means all.
    """

    why: str
    cells: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    def covers(self, cell: "Published") -> bool:
        """Say whether the note is about this cell."""
        if self.cells:
            return f"{cell.table}/{cell.scheme}/{cell.metric}" in self.cells
        pairs = ((self.tables, cell.table), (self.schemes, cell.scheme), (self.metrics, cell.metric))
        return all(not allowed or value in allowed for allowed, value in pairs)


UNSTATED = ("length", "flows", "load", "marking")
"""Properties of its runs that a paper may leave open."""


@dataclass(frozen=True)
class Study:
    """A paper as data. `differences` are rows of the paper that subtract the mean of several schemes from one scheme.

    `words` gives the number that its claims use for each vague word of the paper. `unstated` lists the members of
    UNSTATED that the paper leaves open. `open` lists other parameter values of schemes, by the paper's names, where the
    paper does not print the constants. For the schemes in `exhausted` these are all values that the text allows.
    """

    name: str
    title: str
    source: str
    schemes: Mapping[str, str]
    differences: Mapping[str, Sequence[str]]
    metrics: Mapping[str, StudyMetric]
    tables: Sequence[PaperTable]
    figures: Sequence[Figure]
    words: Mapping[str, str]
    unstated: Sequence[str]
    open: Mapping[str, Sequence[str]]
    exhausted: Sequence[str]
    claims: Sequence[Claim]
    notes: Sequence[Note]
    published: Sequence[Published]

    def __repr__(self) -> str:
        return f"<Study {self.name}: {self.title}>"

    def spec(self, name: str) -> str:
        """Return the scheme for the paper's name of it; any other name is already a scheme."""
        return self.schemes.get(name, name)

    def select(
        self, tables: Iterable[str] | None, figures: Iterable[str] | None
    ) -> tuple[list[PaperTable], list[Figure]]:
        """Return the tables and figures of these numbers, all if neither is given.

        A figure that shows a table of the paper selects that table.
        """
        if tables is None and figures is None:
            return list(self.tables), list(self.figures)
        of_table = {table.figure: table for table in self.tables if table.figure}
        known = {**{figure.number: figure for figure in self.figures}, **of_table}
        chosen = [
            self._find("table", number, {table.number: table for table in self.tables}) for number in tables or ()
        ]
        chosen += [self._find("figure", number, known) for number in figures or ()]
        return [table for table in self.tables if table in chosen], [item for item in self.figures if item in chosen]

    def compared(self, claim: Claim) -> list[str]:
        """Return the schemes that a claim compares, with its control, and that exist."""
        rows = [*claim.schemes, *claim.below, *claim.above, *claim.control]
        names = [part for row in rows for part in self.differences.get(row, [row])]
        return [spec for spec in dict.fromkeys(self.spec(name) for name in names) if built(spec)]

    def asked(self, tables: Iterable[str] | None, figures: Iterable[str] | None) -> "Asked":
        """Return these tables and figures, the claims about their scenarios, and the runs for them; by default, all."""
        chosen, drawn = self.select(tables, figures)
        scenarios = self.needed(chosen, drawn, ()).keys()
        every = tables is None and figures is None
        claims = [claim for claim in self.claims if every or (claim.groups and scenarios >= set(claim.scenarios))]
        return Asked(chosen, drawn, claims, self.needed(chosen, drawn, claims))

    def needed(
        self, tables: Iterable[PaperTable], figures: Iterable[Figure], claims: Iterable[Claim]
    ) -> dict[str, list[str]]:
        """Return which schemes must be run, in order, by scenario."""
        found: dict[str, dict[str, None]] = {}
        for scenario, spec in chain(
            chain.from_iterable(map(self._in_table, tables)),
            chain.from_iterable(map(self._in_figure, figures)),
            ((name, spec) for claim in claims for name in claim.scenarios for spec in self.compared(claim)),
        ):
            found.setdefault(scenario, {})[spec] = None
        return {scenario: list(specs) for scenario, specs in found.items()}

    def _in_table(self, table: PaperTable) -> Iterator[tuple[str, str]]:
        rows = dict.fromkeys(cell.scheme for cell in table.published)
        names = [part for row in rows for part in table.parts(row)]
        specs = dict.fromkeys(spec for name in names if built(spec := table.schemes[name]))
        others = [metric.scenario for metric in table.metrics.values() if metric.scenario]
        for scenario in (*table.scenarios, *(others if table.scenarios else ())):
            yield from ((scenario, spec) for spec in specs)

    def _in_figure(self, figure: Figure) -> Iterator[tuple[str, str]]:
        for panel in figure.panels:
            if figure.kind in CHARTS:
                for wanted in self.points(figure, panel).values() if figure.kind not in CALCULATED else ():
                    yield from ((name, point.spec) for point in wanted for name in point.scenarios)
            else:
                specs = [self.spec(name) for name in panel.schemes]
                yield from ((name, spec) for name in panel.scenarios for spec in specs if built(spec))

    def points(self, figure: Figure, panel: PaperPanel) -> dict[str, list[Point]]:
        """Return the points of each curve of a chart's panel, without the schemes that are not implemented."""
        schemes = {name: spec for name in panel.schemes if built(spec := self.spec(name))}
        filled = {x: tuple(name.format(x=f"{x:g}") for name in panel.scenarios) for x in figure.x}
        if figure.kind == "sweep":
            return {name: [Point(x, spec, filled[x]) for x in figure.x] for name, spec in schemes.items()}
        if figure.kind == "bars":
            every = tuple(name for names in filled.values() for name in names)
            return {name: [Point(0, spec, every)] for name, spec in schemes.items()}
        return {
            parameter: [Point(x, f"{spec}:{parameter}={usual * x:g}", panel.scenarios) for x in figure.x]
            for spec in schemes.values()
            for parameter, usual in figure.parameters.items()
        }

    def _find(self, kind: str, number: str | int, known: Mapping[str, Any]) -> Any:
        if str(number) not in known:
            valid = ", ".join(known) or "none"
            raise InputError(kind, f"{number}: {self.name} has no such {kind}; valid: {valid}")
        return known[str(number)]


@dataclass(frozen=True)
class Asked:
    """The selected parts of a study, and the schemes to run for them, in order, by scenario."""

    tables: Sequence[PaperTable]
    figures: Sequence[Figure]
    claims: Sequence[Claim]
    needed: Mapping[str, Sequence[str]]

    @property
    def read(self) -> set[str]:
        """The scenarios whose time series claims read."""
        return {name for claim in self.claims if any(claim.readings) for name in claim.scenarios}


def built(spec: str) -> bool:
    """Say whether the scheme of `spec` ("pi:w=160Hz") is in the catalogue."""
    return spec.partition(":")[0] in {scheme.name for scheme in catalogue.schemes()}


@cache
def studies() -> tuple[str, ...]:
    """Return the names of the studies."""
    return _names("papers")


@cache
def suites() -> tuple[str, ...]:
    """Return the names of the suites: experiments without published numbers, see `aqmlab.study.suite`."""
    return _names("suites")


DRAFTS = ("bbr-draft",)
"""The names of the studies that judge a congestion controller by the test cases of a draft (`aqmlab.study.draft`)."""


def _names(folder: str) -> tuple[str, ...]:
    items = [item.name for item in (files("aqmlab.study") / folder).iterdir()]
    return tuple(sorted(name.removesuffix(".toml") for name in items if name.endswith(".toml")))


@cache
def load_study(name: str) -> Study:
    """Return a study by name; InputError with the nearest names if there is none."""
    if name in DRAFTS:
        raise InputError("study", f"{name} has no published numbers; use: aqmlab compare --study {name}")
    if name in suites():
        raise InputError("study", f"{name} has no published numbers; use: aqmlab compare --study {name} --aqms a,b,...")
    if name not in studies():
        raise unknown("study", "unknown study", name, studies())
    data = read_file("aqmlab.study", "papers", f"{name}.toml")
    words, claims = load_ledger(name, data["schemes"], idle=True)
    rows = (files("aqmlab.study") / "papers" / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    notes = [filled(Note, entry) for entry in data.get("notes", ())]
    published = [_published(row, notes) for row in csv.DictReader(rows)]
    return Study(
        name=name,
        title=data["title"],
        source=data["source"],
        schemes=data["schemes"],
        differences=data.get("differences", {}),
        metrics={key: _metric(key, entry) for key, entry in data["metrics"].items()},
        tables=[_table(entry, data, published) for entry in data["tables"]],
        figures=[_figure(entry) for entry in data.get("figures", ())],
        words=words,
        unstated=data.get("unstated", ()),
        open=data.get("open", {}),
        exhausted=data.get("exhausted", ()),
        claims=claims,
        notes=notes,
        published=published,
    )


def _metric(name: str, entry: Mapping[str, Any]) -> StudyMetric:
    unit = entry["unit"]
    shown = Shown(1, unit, entry["digits"], entry.get("exponent", False)) if "digits" in entry else SHOWN[unit]
    return filled(StudyMetric, {**entry, "metric": Metric(name, entry["title"], unit, entry["definition"], shown)})


def _table(entry: Mapping[str, Any], study: Mapping[str, Any], published: Iterable[Published]) -> PaperTable:
    changed = entry.get("metrics", {})
    own = {
        "scenarios": _scenarios(entry),
        "schemes": study["schemes"] | entry.get("schemes", {}),
        "metrics": {name: _metric(name, common | changed.get(name, {})) for name, common in study["metrics"].items()},
        "published": [cell for cell in published if cell.table == entry["number"]],
    }
    shared = {key: study[key] for key in ("differences", "together") if key in study}
    return filled(PaperTable, {**shared, **entry, **own})


def _figure(entry: Mapping[str, Any]) -> Figure:
    """Return a figure; its panels have what it says of all of them."""
    return filled(Figure, {**entry, "panels": [filled(PaperPanel, entry | panel) for panel in entry["panels"]]})


def _scenarios(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of an entry's `scenarios` with each value of `x` in the place of {x}."""
    return tuple(dict.fromkeys(name.format(x=x) for name in entry.get("scenarios", ()) for x in entry.get("x", ("",))))


def _published(row: Mapping[str, str], notes: Iterable[Note]) -> Published:
    """Return a row of the file; its unit ends in _min or _max where the paper states a limit."""
    limit = row["unit"].rpartition("_")[2]
    bound = limit if limit in ("min", "max") else None
    cell = Published(row["table"], row["scheme"], row["metric"], float(row["value"]), bound)
    return replace(cell, why=next((note.why for note in notes if note.covers(cell)), None))
