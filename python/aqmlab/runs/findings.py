"""A stored sweep as its folder has it: its runs by case, scheme and seed, whatever version made them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from aqmlab import _core, catalogue, files, scenario, untrusted
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.runs.measures import expand, of_first_link
from aqmlab.runs.metrics import PLACES, PROGRAM, find
from aqmlab.runs.statistics import Paired, Ranking, holm
from aqmlab.runs.store import LARGEST_FILE, PLAN, Store, held
from aqmlab.runs.table import Case, Table
from aqmlab.runs.task import SIM

USUAL = (
    "link.utilisation",
    "link.drop_ratio",
    "link.mark_ratio",
    "link.queue_mean",
    "link.queue_std",
    "link.queue_delay_mean",
    "link.queue_delay_p99",
    "link.settling_time",
    "total.goodput",
    "total.jain",
    "total.fct_p50",
    "total.fct_p99",
)
"""The measures that are shown by default; link is the first link of a scenario."""

DETAILS = (
    "link.mark_ratio",
    "link.queue_std",
    "link.queue_delay_p99",
    "link.settling_time",
    "total.fct_p50",
    "total.fct_p99",
)
"""The usual measures that reports show, and summaries do not."""

SCHEME = "set.aqm"
"""The column of the schemes where something else is compared."""

CONTROLLER = "tcp.congestion_control"
"""The end of a path to a congestion controller."""

UNTOLD = "no reason is stored"
"""Why a run has failed, where its row does not say."""

LONGEST_TITLE = 80
"""Characters of the title of a user's scheme."""

UNRANKED = ("link.utilisation", "link.settling_time", "total.fct_p50")
"""They add little to other measures, or few runs have them: ranked only on request."""


@dataclass(frozen=True)
class Findings:
    """The finished runs of a sweep in `folder`, in order; `planned` is how many runs were asked for."""

    folder: Path
    rows: Sequence[Mapping[str, Any]]
    planned: int
    compared: str = field(default="aqm", kw_only=True)
    """The schemes are compared, or the values of the column "set.PATH" (see `across`)."""

    @property
    def head(self) -> str:
        """The head of the column of a table that names what is compared."""
        if self.compared == "aqm":
            return "Scheme"
        return "Controller" if self.compared.endswith(CONTROLLER) else self.compared.removeprefix("set.")

    @cached_property
    def title(self) -> str:
        """The title of the experiment, or the name of the folder."""
        with suppress(FileNotFoundError):
            data = untrusted.read(self.folder / "experiment.toml", LARGEST_FILE, within=self.folder)
            with suppress(ValueError, KeyError):
                return str(_core.read_toml(data.decode(), "experiment")["title"])
        return self.folder.name

    @cached_property
    def sessions(self) -> list[dict[str, Any]]:
        """The sessions in which the runs were done: time, machine, version."""
        return Store(self.folder).sessions()

    @cached_property
    def kernels(self) -> list[str]:
        """The Linuxes that did the runs, by version and digest; none if the simulator did them."""
        if all(row.get("engine", SIM) == SIM for row in self.rows):
            return []
        return list(dict.fromkeys(str(each["kernel"]) for each in self.sessions if "kernel" in each))

    @cached_property
    def programs(self) -> list[str]:
        """The programs that were run, with those at the far end and next to them; none if flows were simulated."""
        found = (each.get("program") for each in self.sessions)
        return list(dict.fromkeys(str(line) for lines in found if isinstance(lines, list) for line in lines))

    @cached_property
    def varied(self) -> dict[str, list[str]]:
        """The columns that say what was varied besides scenario, scheme and seed, with their values in order."""
        names = {scheme.partition(":")[0] for scheme in self.schemes}
        columns = dict.fromkeys(
            name for row in self.rows for name in row if _is_text(name) and name.partition(".")[0] in {"set", *names}
        )
        values = {name: {str(row[name]): None for row in self.rows if row.get(name) is not None} for name in columns}
        return {name: list(found) for name, found in values.items() if len(found) > 1}

    @cached_property
    def schemes(self) -> list[str]:
        """The schemes as the sweep calls them, in order."""
        return list(dict.fromkeys(row["aqm"] for row in self.rows))

    @cached_property
    def cases(self) -> list[Case]:
        """The cases that schemes are compared in, in order; the name of a case has only those values that vary."""
        return list(dict.fromkeys(self._cases))

    @cached_property
    def seeds(self) -> list[int]:
        """All seeds, in order."""
        return sorted({row["seed"] for row in self.rows})

    @property
    def failures(self) -> list[str]:
        """The runs that failed, and why."""
        return self._failures({})

    def _failures(self, lost: Mapping[str, str]) -> list[str]:
        """Return the runs that failed, and why; by key, `lost` names others."""
        return [
            f"{case.name}, {row['aqm']}, seed {row['seed']}: {row['error'] or lost.get(row['key'], UNTOLD)}"
            for case, row in zip(self._cases, self.rows, strict=True)
            if row["state"] == "failed" or row["key"] in lost
        ]

    @cached_property
    def known(self) -> list[str]:
        """The measures of all runs; measures of the scenarios' first links also as "link.METRIC"."""
        names = dict.fromkeys(name for row in self.rows for name, value in row.items() if _is_number(name, value))
        links = dict.fromkeys(case.link for case in self.cases)
        return [*dict.fromkeys(name for link in links for name in of_first_link(names, link)), *names]

    def runs(self, case: Case, scheme: str) -> Mapping[int, Mapping[str, Any]]:
        """Return the rows of a scheme in a case that are done, by seed."""
        return self.measured.runs.get((case, scheme), {})

    def departs(self, case: Case, scheme: str) -> str:
        """Return the addition to a scheme's title for the schemes of the first link in a case.

        Nothing where an earlier version did the runs, or a scheme is not known here.
        """
        of_runs = (row.get(f"links.{case.link}.schemes") for row in self.runs(case, scheme).values())
        schemes = next(filter(None, of_runs), None)
        with suppress(InputError):
            return catalogue.departs(scheme, case.link, schemes) if schemes else ""
        return ""

    def difference(self, case: Case, scheme: str, measure: str) -> Paired | None:
        """Return by how much a scheme exceeds the first one under the seeds they share; None if they share none."""
        return self.measured.difference(case, scheme, self.schemes[0], measure)

    def entry(self, case: Case, scheme: str, measure: str) -> dict[str, Any]:
        """Return mean and interval of a scheme, and its paired difference from the first one, for JSON."""
        summary = self.measured.summary(case, scheme, measure)
        than = None if scheme == self.schemes[0] else self.difference(case, scheme, measure)
        more = than and {
            "mean": than.difference.mean,
            "interval": than.difference.interval,
            "p": than.p,
            "p_holm": None,
            "effect": than.effect,
        }
        return {
            "unit": find(measure).unit,
            "n": summary.n if summary else 0,
            "mean": summary.mean if summary else None,
            "interval": summary.interval if summary else None,
            "more_than_first": more,
        }

    def ranking(self, measure: str) -> Ranking | None:
        """Rank the schemes over the cases in which each has a value; None if there are too few."""
        cases = dict.fromkeys(self.cases, measure)
        return self.measured.ranking(self.schemes, cases, more_is_better=more_is_better(measure) is True)

    def scenario(self, case: Case) -> _core.Scenario | None:
        """Return the scenario of a case with its overrides, None if this version cannot read it.

        Results may be a stranger's: nothing outside of their folder is read but scenarios that are built in.
        """
        stored = self.folder / "scenarios" / f"{case.scenario}.toml"
        with suppress(InputError, OSError):
            if stored.exists() and files.is_within(self.folder, stored):
                text = scenario.read_file(stored)
            elif case.scenario in scenario.scenarios():
                text = scenario.read(case.scenario)[1]
            else:
                return None
            return _core.Scenario.parse(text, case.scenario, list(case.overrides))
        return None

    def target(self, case: Case, scheme: str) -> float | None:
        """Return the queue that a scheme steers the link of a case to, packets; None if there is none.

        A scheme unknown to this version is assumed to use the link's target.
        """
        read = self.scenario(case)
        if read is None:
            return None
        try:
            return catalogue.target(read, case.link, scheme)
        except InputError:
            return read.link(case.link).target

    @cached_property
    def _cases(self) -> list[Case]:
        """The case of each row."""
        return [self._case(row) for row in self.rows]

    @cached_property
    def measured(self) -> Table[Case]:
        """The table of the runs."""
        found: dict[tuple[Case, str], dict[int, Mapping[str, Any]]] = {}
        for case, row in zip(self._cases, self.rows, strict=True):
            rows = found.setdefault((case, row["aqm"]), {})
            if row["state"] == "done":
                rows[row["seed"]] = row
        runs = {place: {seed: rows[seed] for seed in sorted(rows)} for place, rows in found.items()}
        return Table(runs, {case: case.link for case in self.cases})

    def _case(self, row: Mapping[str, Any]) -> Case:
        overrides = tuple(
            (name.removeprefix("set."), str(value))
            for name, value in row.items()
            if name.startswith("set.") and _is_text(name) and value is not None
        )
        shown = [f"{path}={value}" for path, value in overrides if f"set.{path}" in self.varied]
        return Case(row["scenario"], row["link"], overrides, ", ".join([row["scenario"], *shown]))


def findings(folder: str | os.PathLike[str]) -> Findings:
    """Return what a sweep has found so far. InputError for a folder without one, StoreError for a damaged file."""
    store = Store(folder)
    if not os.path.exists(store.folder / PLAN):
        raise InputError("sweep", f"{folder}: {held(store.folder)}; expected a results folder of aqmlab sweep")
    store.check()
    rows = store.rows(store.results())
    if not rows:
        raise InputError("sweep", f"{folder}: no run is done yet; continue with aqmlab sweep --resume")
    found = Findings(store.folder, rows, len(store.planned()))
    catalogue.NOTED.update(_noted(found.sessions))
    return found


def _noted(sessions: Sequence[Mapping[str, Any]]) -> dict[str, catalogue.Noted]:
    """The notes of a sweep's sessions on the user's schemes, as far as they have the form that a sweep writes."""
    lists = [session.get("schemes") for session in sessions]
    pairs = [pair for each in lists if isinstance(each, dict) for pair in each.items()]
    return {
        name: catalogue.Noted(about["title"][:LONGEST_TITLE], about.get("target") is True)
        for name, about in pairs
        if isinstance(about, dict) and isinstance(about.get("title"), str)
    }


def at_link(found: Findings, link: str) -> Findings:
    """Return the runs of the scenarios with this link, which "link." then means. InputError if none has."""
    rows = [{**row, "link": link} for row in found.rows if any(name.startswith(f"links.{link}.") for name in row)]
    if not rows:
        named = {name.split(".")[1] for row in found.rows for name in row if name.startswith("links.")}
        raise unknown("link", "no link of the sweep", link, named)
    return replace(found, rows=rows)


def only(found: Findings, aqms: Sequence[str]) -> Findings:
    """Return the runs of some schemes, in this order; a name without parameters means the scheme with any."""
    order: dict[str, int] = {}
    for wanted in aqms:
        bare = wanted.replace(" ", "")
        fits = [each for each in found.schemes if bare in (each.replace(" ", ""), catalogue.halves(each)[0])]
        if not fits:
            raise unknown("aqms", "no scheme of the sweep", wanted, found.schemes)
        for scheme in fits:
            order.setdefault(scheme, len(order))
    rows = [row for row in found.rows if row["aqm"] in order]
    return replace(found, rows=sorted(rows, key=lambda row: order[row["aqm"]]))


def across(found: Findings, column: str) -> Findings:
    """Return the same runs with the values of a column compared instead of the schemes, which become part of the cases.

    `column` is "set.PATH". InputError unless it was varied.
    """
    if not column.startswith("set.") or column not in found.varied:
        varied = [name for name in found.varied if name.startswith("set.")]
        raise unknown("compare", "no value that was varied:", column, varied)
    rows = [
        {**{name: value for name, value in row.items() if name != column}, "aqm": row[column], SCHEME: row["aqm"]}
        for row in found.rows
        if row.get(column) is not None
    ]
    return replace(found, rows=rows, compared=column)


def chosen(found: Findings, wanted: Sequence[str] | None) -> list[str]:
    """Return the measures to show: those wanted, or the usual ones that the sweep has; InputError for unknown ones."""
    if wanted:
        return _expanded(found, wanted)
    marks = any(row.get(f"links.{case.link}.marked") for row, case in zip(found.rows, found._cases, strict=True))
    printed = [name for name in found.known if name.startswith(PROGRAM)]
    return printed + [name for name in USUAL if name in found.known and (marks or "mark" not in name)]


def check_measure(found: Findings, measure: str) -> str:
    """Return the measure if some run has it, else raise InputError."""
    [only, *others] = _expanded(found, [measure])
    if others:
        raise InputError("measure", f"{measure}: matches {1 + len(others)} measures; expected one")
    return only


def _expanded(found: Findings, wanted: Sequence[str]) -> list[str]:
    """Return the measures that are asked for; InputError for those that no run has."""
    try:
        return expand(wanted, found.known)
    except InputError:
        for measure in wanted:
            if measure not in found.known and not set(measure) & set("*?["):
                find(measure)
                raise InputError("measure", f"{measure}: no run has a value; see aqmlab plot {found.folder}") from None
        raise


def more_is_better(measure: str) -> bool | None:
    """Return whether more of a measure is better; None where neither is."""
    better = find(measure).better
    return None if better is None else better == "more"


def ranked(measures: Sequence[str], *, every: bool) -> dict[str, bool]:
    """Return the measures that schemes are ranked by, and whether more is better; `every` keeps all of them."""
    better = {measure: more_is_better(measure) for measure in measures if every or measure not in UNRANKED}
    return {measure: more for measure, more in better.items() if more is not None}


def adjusted(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return entries (see `Findings.entry`) with the p-values of Holm, over all differences in a measure."""
    for measure in dict.fromkeys(entry["measure"] for entry in entries):
        found = [entry["more_than_first"] for entry in entries if entry["measure"] == measure]
        tested = [than for than in found if than and than["p"] is not None]
        for than, p in zip(tested, holm([than["p"] for than in tested]), strict=True):
            than["p_holm"] = p
    return entries


def rankings(found: Findings, measures: Iterable[str]) -> dict[str, Ranking]:
    """Return the rankings by each measure for which there are enough schemes and scenarios."""
    return {measure: ranking for measure in measures if (ranking := found.ranking(measure))}


def _is_number(name: str, value: Any) -> bool:
    """Return whether a column holds a measure, and a row has a value in it."""
    return name.startswith(PLACES) and isinstance(value, int | float)


def _is_text(column: str) -> bool:
    """Return whether a column has values as they were given; "pi.w (Hz)" has the numbers of "pi.w"."""
    return not column.endswith(")")
