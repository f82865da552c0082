"""The result of a suite: values of schemes, the best ones, ranks, and verdicts on claims."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from statistics import fmean
from typing import Any

from aqmlab import laws, own
from aqmlab._core import Scenario
from aqmlab.catalogue import title
from aqmlab.notebook import Result, Sheet
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.executor import Progress
from aqmlab.runs.metrics import COUNT, PERCENT, Shown, at, find, split
from aqmlab.runs.results import RunResult
from aqmlab.runs.simulate import compare_many
from aqmlab.runs.statistics import Ranking, Summary, paired
from aqmlab.runs.table import Table, Values
from aqmlab.runs.task import Failure
from aqmlab.study.claims import Checked, check, tally
from aqmlab.study.ledger import Claim
from aqmlab.study.suite import TAKE, Experiment, LinkSetting, Measure, Suite, load_suite

PLAIN = Shown(1, "", 3)
SECONDS = Shown(1, "s", 2)
SHORT = 1e-3
"""Seconds; round-trip times below this value are a data centre's."""
IN_DATA_CENTRES = {"ms": Shown(1e6, "us", 0), "Mbit/s": Shown(1e-9, "Gbit/s", 1)}
"""Formats of delays and rates there, by the usual unit."""

GOODPUT, DELAY = "Goodput", "Delay p95"
"""The two measures that schemes are ranked by."""

NO_BASE = "RFC 7928, section 8.2.6, requires a comparison with DropTail if the capacity changes; add it to --aqms."

MARGIN = 0.01
"""A mean within this share of the best ties with it, whatever the interval over the seeds."""


@dataclass(frozen=True)
class Trial:
    """One experiment at a link: its scenario, the measures by title, and the runs.

    `at` names the link if the base case of the suite has several.
    """

    experiment: Experiment
    scenario: Scenario
    measures: Mapping[str, Measure]
    comparison: Comparison
    link: LinkSetting | None = None
    at: str = ""

    @property
    def row(self) -> str:
        """The name within its kind, without the value in the columns of a table."""
        return ", ".join(part for part in (self.experiment.title, self.at) if part)

    @property
    def place(self) -> str:
        """The name in claims."""
        column = f"{self.experiment.column}: " if self.experiment.column else ""
        return column + ", ".join(part for part in (self.experiment.kind, self.row) if part)

    @cached_property
    def measured(self) -> Table[str]:
        """The table of the runs, the measures of the experiment under their titles."""
        runs: dict[tuple[str, str], dict[int, Values]] = {}
        for (spec, seed), run in self.comparison.runs.items():
            derived = {title: self._value(run, measure) for title, measure in self.measures.items()}
            runs.setdefault((self.experiment.scenario, spec), {})[seed] = {**run.values, **derived}
        return Table(runs, {self.experiment.scenario: self.scenario.links[0]})

    def values(self, spec: str, measure: str) -> dict[int, float]:
        """Return a measure by seed, for the runs with a value."""
        return self.measured.values(self.experiment.scenario, spec, measure)

    def _value(self, run: RunResult, measure: Measure) -> float | None:
        if measure.window:
            return self._of_windows(run, measure)
        if measure.phase:
            return of_phases(run.flows[measure.path.split(".")[1]].phases or (), measure)
        if measure.queueing:
            place, _ = split(measure.path)
            return queueing_delay(run, self._propagation, None if place == "total" else place.removeprefix("flows."))
        if measure.waiting:
            delay = run.values[measure.path]
            return None if delay is None else delay - self._empty_path(measure.path.split(".")[1])
        parts = [run.values[path] for path in measure.paths]
        above = sum(part for part in parts if part is not None) if None not in parts else None
        below = run.values[measure.over] if measure.over else 1.0
        return above / below if above is not None and below else None

    def _of_windows(self, run: RunResult, measure: Measure) -> float | None:
        """Return a rate in windows divided by the rate of the suite's link; None for a run without time series."""
        name = measure.path.split(".")[1]
        if name not in run.series or self.link is None:
            return None
        columns = run.series[name]
        used = columns["utilisation"][columns["time"] > self.scenario.warmup + self.scenario.sample / 2]
        several = round(measure.window / self.scenario.sample)
        windows = used[: len(used) // several * several].reshape(-1, several).mean(axis=1)
        rate = self.link.rate * float(measure.over or 1)
        return float(TAKE[measure.take](windows)) * self.scenario.link(name).rate / rate

    @cached_property
    def _propagation(self) -> dict[str, float]:
        """The one-way propagation of each group of flows (s), which is equal for all flows of a group."""
        return {name: (self.scenario.group(name).rtt or 0.0) / 2 for name in self.scenario.flows}

    def _empty_path(self, name: str) -> float:
        """Return the one-way delay of a packet of a group without queueing (s)."""
        group = self.scenario.group(name)
        bits = 8 * (group.payload + group.header)
        rates = [self.scenario.link(link).rate for link in self.scenario.links]
        return self._propagation[name] + sum(bits / rate for rate in (*rates, group.access_rate) if rate)

    def summary(self, spec: str, measure: str) -> Summary | None:
        """Return mean and 95 % interval over the seeds, None if no run has a value."""
        return self.measured.summary(self.experiment.scenario, spec, measure)

    def shown(self, measure: str) -> Shown:
        """Return the format of a measure."""
        if self.measures[measure].window:
            return PERCENT
        if self.measures[measure].phase:
            return PERCENT if self.measures[measure].then else SECONDS
        path, over = self.measures[measure].paths[0], self.measures[measure].over
        if over:
            return PERCENT if path.endswith(".retransmits") or over.startswith("total.") else PLAIN
        shown = PLAIN if path.endswith(".jain") else find(path).shown
        if self.link and self.link.rtt < SHORT:
            shown = IN_DATA_CENTRES.get(shown.unit, shown)
        return replace(shown, unit="") if shown.unit == COUNT.unit else shown

    @cached_property
    def best(self) -> dict[str, tuple[str, ...]]:
        """Return the schemes that are best, or as good as the best, by goodput and by delay."""
        return {measure: self._best(measure) for measure in (GOODPUT, DELAY)}

    def _best(self, measure: str) -> tuple[str, ...]:
        means = {spec: summary.mean for spec in self.comparison.schemes if (summary := self.summary(spec, measure))}
        if not means:
            return ()
        leader = (max if measure == GOODPUT else min)(means, key=means.__getitem__)
        return tuple(spec for spec in means if self._as_good(spec, leader, measure))

    def _as_good(self, spec: str, leader: str, measure: str) -> bool:
        values, best_values = self.values(spec, measure), self.values(leader, measure)
        seeds = sorted(values.keys() & best_values.keys())
        if not seeds:
            return False
        difference = paired([values[seed] for seed in seeds], [best_values[seed] for seed in seeds]).difference
        best = sum(best_values[seed] for seed in seeds) / len(seeds)
        return abs(difference.mean) <= max(MARGIN * abs(best), difference.half_width or 0.0)


def queueing_delay(run: RunResult, propagation: Mapping[str, float], group: str | None = None) -> float | None:
    """Return the mean packet delay (s) minus the one-way propagation, for a group or for all received packets.

    RFC 7928, section 2.7. Transmission time is included. None if no packet was received.
    """
    of = {group: run.flows[group]} if group else run.flows
    excess = {
        name: flows.received * (flows.packet_delay_mean - propagation[name])
        for name, flows in of.items()
        if flows.packet_delay_mean is not None
    }
    packets = sum(of[name].received for name in excess)
    return sum(excess.values()) / packets if packets else None


def of_phases(flows: Iterable[Sequence[tuple[float, str]]], measure: Measure) -> float | None:
    """Return a measure of phases over flows, each with its phases and their times (s); None without a value."""
    begun = [(i, phases) for phases in flows for i in _first(phases, measure.phase)]
    ended = [(phases[i + 1][1], phases[i + 1][0] - phases[i][0]) for i, phases in begun if i + 1 < len(phases)]
    if measure.then:
        return sum(name == measure.then for name, _ in ended) / len(begun) if begun else None
    return fmean(lasted for _, lasted in ended) if ended else None


def _first(phases: Sequence[tuple[float, str]], name: str) -> list[int]:
    """Return the index of the first phase of a name, if there is one."""
    return [i for i, (_, each) in enumerate(phases) if each == name][:1]


@dataclass(frozen=True)
class Places:
    """The runs of a suite by the names of their places in claims."""

    trials: Mapping[str, Trial]

    def values(self, places: Iterable[str], spec: str, link: str, path: str) -> dict[int, list[float | None]]:
        """Return by seed the values in each place, for the seeds that all places have."""
        found = []
        for place in places:
            trial = self.trials[place]
            name = path if path in trial.measures else at(path, link)
            found.append(trial.measured.measured(trial.experiment.scenario, spec, name))
        seeds = sorted(set[int].intersection(*map(set, found)))
        return {seed: [values[seed] for values in found] for seed in seeds}

    def read(self, *_: object) -> dict[int, float | None]:
        """Return no readings of time series, since a suite keeps none."""
        return {}

    def judge(self, suite: Suite, claim: Claim) -> Checked:
        """Judge a claim; it is missing if its places were not run under its schemes."""
        groups = tuple(tuple(self.matching(patterns)) for patterns in claim.groups)
        places = {place for group in groups for place in group}
        specs = {suite.spec(name) for name in (*claim.schemes, *claim.below, *claim.above)}
        are_run = all(specs <= set(self.trials[place].comparison.schemes) for place in places)
        if not claim.unmeasured and not (all(groups) and are_run):
            return Checked(claim, "missing", why="not among the links and schemes of this comparison")
        return check(suite, replace(claim, groups=groups, shown=self._shown(claim, places)), self)

    def matching(self, patterns: Iterable[str]) -> list[str]:
        """Return the places that match the patterns of a claim."""
        return [place for pattern in patterns for place in self.trials if fnmatchcase(place, pattern)]

    def _shown(self, claim: Claim, places: Iterable[str]) -> Shown | None:
        of = [trial for trial in map(self.trials.__getitem__, places) if claim.value in trial.measures]
        return of[0].shown(claim.value) if of else None


@dataclass(frozen=True, repr=False)
class SuiteResult(Result):
    """Schemes in every experiment of a suite at one link, or at all links of the base case."""

    suite: Suite
    links: Sequence[LinkSetting]
    schemes: tuple[str, ...]
    seeds: int
    trials: Sequence[Trial]

    @property
    def link(self) -> LinkSetting:
        """The link, or the first of several."""
        return self.links[0]

    @cached_property
    def claims(self) -> list[Checked]:
        """Published claims about the suite's subject, compared with the runs."""
        places = Places({trial.place: trial for trial in self.trials})
        return [places.judge(self.suite, claim) for claim in self.suite.claims]

    @property
    def failures(self) -> list[Failure]:
        """The runs that failed."""
        return [failure for trial in self.trials for failure in trial.comparison.failures]

    @property
    def headline(self) -> str:
        """The suite, and the numbers of experiments and seeds."""
        return f"{self.suite.title}, {len(self.trials)} experiments, seeds 1 to {self.seeds}"

    def sheets(self) -> Iterator[Sheet]:
        """Return the number of experiments in which each scheme is best or ties with the best."""
        measures = list(dict.fromkeys(measure for trial in self.trials for measure in trial.best))
        best = [[title(spec), *(str(self._best_in(spec, measure)) for measure in measures)] for spec in self.schemes]
        yield Sheet("Experiments in which a scheme is best or tied", ["Scheme", *measures], best)

    def _best_in(self, spec: str, measure: str) -> int:
        return sum(spec in trial.best.get(measure, ()) for trial in self.trials)

    def wins(self, spec: str, measure: str) -> int:
        """Return the number of experiments in which a scheme is best or ties with the best."""
        return sum(spec in trial.best[measure] for trial in self.trials)

    def ranking(self, measure: str) -> Ranking | None:
        """Rank the schemes over the experiments in which all have a value; None for fewer than three schemes."""
        runs = {key: found for trial in self.trials for key, found in trial.measured.runs.items()}
        links = {trial.experiment.scenario: trial.scenario.links[0] for trial in self.trials}
        return Table(runs, links).ranking(
            self.schemes, dict.fromkeys(links, measure), more_is_better=measure == GOODPUT
        )

    @property
    def caveats(self) -> list[str]:
        """Return notes for the choice of a scheme; empty for a suite with claims."""
        if self.suite.claims:
            return []
        few = "One seed gives no interval: a difference may be chance; use --seeds 5."
        wide = f"{self.seeds} seeds give wide intervals, so many schemes tie with the best; use --seeds 5."
        seeds = [few] if self.seeds == 1 else [wide] if self.seeds < 4 else []
        base = [] if any(spec.partition(":")[0] == "droptail" for spec in self.schemes) else [NO_BASE]
        return [
            *seeds,
            *base,
            "Read D and G together: a scheme can keep the delay low by leaving the link idle.",
            "Ranks weight all experiments equally; look at those that resemble your traffic.",
            "Experiments of one section are similar, so the test of the ranks is too confident.",
            "Schemes use default parameters unless you give others; a lower target trades goodput for delay.",
        ]

    def document(self) -> dict[str, Any]:
        """Return the result as a JSON document."""
        return {
            "schema": 1,
            "study": self.suite.name,
            **({} if self.suite.claims else {"rate": self.link.rate, "rtt": self.link.rtt}),
            "flows": self.link.flows,
            **({"buffer": self.link.given} if self.link.given else {}),
            **({"up": self.link.up} if self.link.up else {}),
            **({"law": self.suite.given_law} if self.suite.given_law else {}),
            "seeds": self.seeds,
            "aqms": list(self.schemes),
            "experiments": [self._entry(trial) for trial in self.trials],
            **(self._judged() if self.suite.claims else self._ranked()),
            "failures": [str(failure) for failure in self.failures],
        }

    def _judged(self) -> dict[str, Any]:
        return {"tally": tally(self.claims), "claims": [checked.entry() for checked in self.claims]}

    def _ranked(self) -> dict[str, Any]:
        return {
            "ranking": {name: _ranks(self.ranking(name)) for name in (GOODPUT, DELAY)},
            "caveats": self.caveats,
        }

    def _entry(self, trial: Trial) -> dict[str, Any]:
        return {
            "section": trial.experiment.section,
            "title": trial.place if self.suite.claims else trial.experiment.title,
            "scenario": trial.experiment.scenario,
            "set": trial.experiment.changes(trial.link or self.link),
            "measures": [
                {"measure": name, "path": str(measure), "aqm": spec, **_numbers(trial.summary(spec, name))}
                for name, measure in trial.measures.items()
                for spec in trial.comparison.schemes
            ],
            **({} if self.suite.claims else {"best": {name: list(trial.best[name]) for name in (GOODPUT, DELAY)}}),
        }


def _numbers(summary: Summary | None) -> dict[str, Any]:
    if summary is None:
        return {"mean": None, "interval": None, "n": 0}
    return {"mean": summary.mean, "interval": summary.interval, "n": summary.n}


def _ranks(ranking: Ranking | None) -> dict[str, Any] | None:
    if ranking is None:
        return None
    return {
        "ranks": dict(ranking.ranks),
        "experiments": ranking.blocks,
        "p": ranking.p,
        "critical_difference": ranking.critical,
    }


def compare_suite(
    name: str,
    aqms: own.Scheme | Sequence[own.Scheme] | None = None,
    *,
    rate: str | None = None,
    rtt: str | None = None,
    flows: int | None = None,
    buffer: str | None = None,
    up: str | None = None,
    only: str | None = None,
    law: laws.Law | None = None,
    seeds: int = 1,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> SuiteResult:
    """Simulate every experiment of a suite under each of `aqms` (see `own.select`), seeds 1 to `seeds`.

    `aqms` are by default the schemes of the suite, or the deployed ones if it names none. `rate` ("20 Mbit/s") and
    `rtt` ("50 ms", round-trip propagation) describe the link. The default is the base case, which may be several links.
    `flows` replaces the number of long flows in experiments with few of them.

    Three arguments are not for suites with claims. `buffer` ("1000 ms", "2 bdp") is the buffer of all links instead of
    the bandwidth-delay product. `up` is the uplink rate in experiments with two directions. `only` lists sections and
    scenarios, with globs ("8.2.*,9.1-mix").

    `law`, as in `run`, replaces NewReno in rfc7928; other suites are defined for specific controllers. Raises
    InputError for bad input, before anything runs.
    """
    suite = load_suite(name).only(only).with_law(law)
    links = suite.links(rate, rtt, flows, buffer, up)
    specs = own.select(aqms if aqms is not None else list(suite.schemes.values()) or "deployed")
    placed = [(experiment, link, experiment.scenario_at(link)) for experiment in suite.experiments for link in links]
    grid = [(at, experiment.schemes or specs) for experiment, _, at in placed]
    sampled = {at.name for experiment, _, at in placed if any(each.window for each in experiment.measures.values())}
    compared = compare_many(grid, seeds, series=False, every_series=sampled, jobs=jobs, progress=progress)
    trials = [
        Trial(experiment, at, experiment.measures_in(at), comparison, link, suite.at(link))
        for (experiment, link, at), comparison in zip(placed, compared, strict=True)
    ]
    return SuiteResult(suite, links, specs, seeds, trials)
