"""The recommendation for a link: candidates compared in every condition, and ranked by needs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from math import exp, log
from statistics import fmean

from aqmlab import own
from aqmlab._core import Scenario
from aqmlab.advise.candidates import candidates
from aqmlab.advise.needs import NEEDS, Sign, filled_links, signs, sparse_groups
from aqmlab.advise.scenarios import INCOMING
from aqmlab.advise.ties import ALIKE, WORTH, is_tested, preferred
from aqmlab.catalogue import halves
from aqmlab.laws import calls
from aqmlab.notebook import Result, Sheet
from aqmlab.problems import InputError
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.executor import Progress
from aqmlab.runs.simulate import compare_many
from aqmlab.runs.statistics import Summary, summarise
from aqmlab.runs.table import Table
from aqmlab.runs.task import Failure, RunError

BASELINE = "droptail"
"""The baseline of gains and costs: a link without an AQM."""

NOTABLE = 1.05
"""Gains and costs below this ratio are not reported."""

PACED = "codel"
"""The scheme that a part of a link does not represent: its drop rate does not scale with the link rate."""

PICTURE = ("media.frame_delay_p95", "media.freeze_ratio", "goodput")
"""Measures of the quality of a video call."""

FELT = ("rpm", "qoo_web", "qoo_conferencing", "qoo_gaming", "qoo_backup")
"""Measures of user experience, by the scores of the IETF."""

LEAST = 1e-3
"""Replaces a value of 0, which has no logarithm."""


@dataclass(frozen=True)
class Score:
    """A scheme as a multiple of another one, with the ends of the 95 % interval over the seeds."""

    ratio: float
    interval: tuple[float, float] | None

    @property
    def sure(self) -> bool:
        """True if the interval leaves out 1."""
        return self.interval is not None and not self.interval[0] <= 1 <= self.interval[1]


@dataclass(frozen=True)
class Seen:
    """A measure in a condition, and the score of a scheme by it relative to another one."""

    condition: int
    sign: Sign
    score: Score


@dataclass(frozen=True, repr=False)
class Advice(Result):
    """Candidates in the conditions of a link, ranked by needs.

    The score of a scheme is a geometric mean over the needs. The value of a need is the geometric mean of its measures
    in all conditions; a lower delay counts as better. Scores are multiples of another scheme's under the same seeds.
    The order of two schemes does not depend on the other candidates.
    """

    comparisons: tuple[Comparison, ...]
    needs: tuple[str, ...]
    seeds: Sequence[int]
    """The seeds of the runs."""
    of: Scenario | None = None
    """The first condition for the whole link, if a part of it was simulated."""

    @property
    def headline(self) -> str:
        """The recommended scheme, and the needs."""
        return f"{self.advised}, for {', '.join(self.needs)}, in {len(self.conditions)} conditions"

    def sheets(self) -> Iterator[Sheet]:
        """Return the ranking: scores as multiples of the first scheme's."""
        needs = [need.capitalize() for need in self.measured_needs]
        yield Sheet("Ranking", ["Scheme", "Score", "Interval", *needs], [self._row(scheme) for scheme in self.schemes])

    def _row(self, scheme: str) -> list[str]:
        score = self.score(scheme)
        ends = "–" if scheme == self.first or not score.interval else "{:.3f} to {:.3f}".format(*score.interval)
        return [
            scheme,
            f"{score.ratio:.3f}",
            ends,
            *(f"{self.score(scheme, need=n).ratio:.2f}" for n in self.measured_needs),
        ]

    def among(self, seeds: Sequence[int]) -> "Advice":
        """Return the recommendation by some of the seeds."""
        return replace(self, seeds=seeds)

    @property
    def conditions(self) -> list[Scenario]:
        """The scenarios that the schemes were compared in."""
        return [compared.scenario for compared in self.comparisons]

    @property
    def whole(self) -> Scenario:
        """The first condition for the whole link; commands are written for it."""
        return self.of or self.conditions[0]

    @property
    def parts(self) -> int:
        """The number of equal parts of the link, one of which was simulated."""
        return parts(self.whole, self.conditions[0])

    @property
    def failures(self) -> list[Failure]:
        """The runs that failed; a scheme with one is not ranked."""
        return [failure for compared in self.comparisons for failure in compared.failures]

    @cached_property
    def schemes(self) -> list[str]:
        """The candidates, best first."""
        failed = {failure.task.aqm for failure in self.failures}
        sound = [scheme for scheme in self.comparisons[0].schemes if scheme not in failed]
        return sorted(sound, key=lambda scheme: -fmean(self._logs(scheme, self._signs)))

    @property
    def first(self) -> str:
        """The candidate with the best score."""
        return self.schemes[0]

    @cached_property
    def advised(self) -> str:
        """The recommended candidate: of the best and those tied with it, the one that is tested, shipped and simple.

        If none of these is tested, and the best is less than 10 % better than the best tested candidate, it is the
        best tested candidate, or one tied with that.
        """
        equals, tested = [self.first, *self.ties], self.best_tested
        if tested and tested not in equals and self.score(self.first, tested).ratio < WORTH:
            equals = [each for each in self._equals(tested) if is_tested(each)]
        return preferred(equals, is_access=INCOMING in self.conditions[0].links)

    @property
    def best_tested(self) -> str | None:
        """The best candidate whose commands are tested on a kernel, None if there is none."""
        return next((scheme for scheme in self.schemes if is_tested(scheme)), None)

    @property
    def baseline(self) -> str:
        """The baseline of gains and costs: DropTail if it is a candidate, or else the last one."""
        return BASELINE if BASELINE in self.schemes else self.schemes[-1]

    @cached_property
    def ties(self) -> list[str]:
        """The candidates tied with the first: the difference is not significant, or too small.

        None follows a candidate that is significantly worse: a larger variance does not improve a scheme.
        """
        return self._equals(self.first)[1:]

    def _equals(self, best: str) -> list[str]:
        """Return a candidate, and the following ones that are tied with it."""

        def alike(scheme: str) -> bool:
            score = self.score(scheme, best)
            return not score.sure or score.ratio > ALIKE

        return list(takewhile(alike, self.schemes[self.schemes.index(best) :]))

    def score(self, scheme: str, other: str | None = None, *, need: str | None = None) -> Score:
        """Return the score of a scheme as a multiple of another's, by default the first; of all needs or one."""
        return self._score(scheme, other or self.first, [each for each in self._signs if need in (None, each[1].need)])

    def score_in(self, scheme: str, condition: int) -> Score:
        """Return the score in one condition, as a multiple of the first scheme's."""
        return self._score(scheme, self.first, [each for each in self._signs if each[0] == condition])

    def seen(self, scheme: str) -> list[Seen]:
        """Return each measure's own score against the baseline, condition by condition."""
        return [Seen(*each, self._score(scheme, self.baseline, [each])) for each in self._signs]

    def gains(self, scheme: str) -> list[Seen]:
        """Return for each need the measure in which a scheme significantly gains most over the baseline."""
        seen = [each for each in self.seen(scheme) if each.score.sure and each.score.ratio > NOTABLE]
        return _one_a_need(sorted(seen, key=lambda each: -each.score.ratio))

    def costs(self, scheme: str) -> list[Seen]:
        """Return for each need the measure in which a scheme significantly loses most to the baseline."""
        seen = [each for each in self.seen(scheme) if each.score.sure and each.score.ratio < 1 / NOTABLE]
        return _one_a_need(sorted(seen, key=lambda each: each.score.ratio))

    def turns(self) -> list[tuple[str, str, Score]]:
        """Return where another candidate is significantly better than the first: need or condition, scheme, score."""
        found = []
        for need in self.measured_needs:
            best = max(self.schemes, key=lambda scheme: self.score(scheme, need=need).ratio)
            found.append((f"for {need} alone", best, self.score(best, need=need)))
        for i in dict.fromkeys(condition for condition, _ in self._signs):
            best = max(self.schemes, key=lambda scheme: self.score_in(scheme, i).ratio)
            found.append((f"in {self.names[i]}", best, self.score_in(best, i)))
        return [each for each in found if each[2].sure and each[2].ratio > NOTABLE]

    def unused(self) -> dict[str, dict[str, float]]:
        """Return for each variable-rate link the share of its capacity that each scheme leaves unused, lowest first.

        It is the mean over the conditions in which long transfers could fill the link.
        """
        found: dict[str, dict[str, float]] = {}
        for link in self.conditions[0].links:
            filled = [
                (compared.scenario.name, compared.measured)
                for compared in self.comparisons
                if link in filled_links(compared.scenario) and compared.scenario.link(link).rate_changes
            ]
            shares = {scheme: fmean(_unused(link, scheme, filled)) for scheme in self.schemes if filled}
            if shares:
                found[link] = dict(sorted(shares.items(), key=lambda each: each[1]))
        return found

    def felt(self, scheme: str) -> dict[str, float]:
        """Return the user experience under a scheme: round trips per minute, and Quality of Outcome.

        Means over the packets of calls, games and pings, conditions and seeds; empty where there are no such flows.
        """
        return self._means(scheme, FELT, sparse_groups)

    def picture(self, scheme: str) -> dict[str, float]:
        """Return the quality of video calls under a scheme: frame delay, share of the time frozen, and rate.

        Means over the video calls, conditions and seeds; empty where there are none.
        """
        return self._means(scheme, PICTURE, calls)

    @cached_property
    def names(self) -> list[str]:
        """The conditions by name; those with longer round trips say so."""
        names = [scenario.name for scenario in self.conditions]
        return [f"{name}, long round trips" if name in names[:i] else name for i, name in enumerate(names)]

    def _means(
        self, scheme: str, measures: Iterable[str], groups: Callable[[Scenario], Sequence[str]]
    ) -> dict[str, float]:
        """Return measures of groups of flows as means over these, conditions and seeds, as far as there are any."""
        found = {
            measure: [
                value
                for compared in self.comparisons
                for group in groups(compared.scenario)
                for value in compared.measured.values(
                    compared.scenario.name, scheme, f"flows.{group}.{measure}"
                ).values()
            ]
            for measure in measures
        }
        return {measure: fmean(values) for measure, values in found.items() if values}

    @property
    def measured_needs(self) -> list[str]:
        """The needs that these scenarios measure."""
        return [need for need in NEEDS if any(sign.need == need for _, sign in self._signs)]

    def summary(self, scheme: str, seen: Seen) -> Summary | None:
        """Return the mean of a measure."""
        values = self._measured(seen.condition, seen.sign)[scheme]
        return summarise(list(values.values())) if values else None

    @cached_property
    def _signs(self) -> list[tuple[int, Sign]]:
        """The signs of the needs, condition by condition, as far as any run has a value."""
        found = [(i, sign) for i, each in enumerate(self.conditions) for sign in signs(each, self.needs)]
        return [(i, sign) for i, sign in found if any(self._measured(i, sign).values())]

    def _measured(self, condition: int, sign: Sign) -> Mapping[str, Mapping[int, float]]:
        compared = self.comparisons[condition]
        table, name = compared.measured, compared.scenario.name
        return {
            scheme: _added_up([table.values(name, scheme, measure) for measure in sign.measures])
            for scheme in compared.schemes
        }

    @cached_property
    def _values(self) -> Mapping[tuple[int, Sign], Mapping[str, Sequence[float]]]:
        """The logarithm of each measure by scheme, one per seed, signed so that more is better.

        A run without a value, such as one in which no transfer ended, is taken as the worst that another run had.
        """
        found = {}
        for condition, sign in self._signs:
            measured = self._measured(condition, sign)
            signed = {
                scheme: {seed: (1 if sign.more else -1) * log(value or LEAST) for seed, value in values.items()}
                for scheme, values in measured.items()
            }
            worst = min(value for values in signed.values() for value in values.values())
            found[condition, sign] = {
                scheme: [values.get(seed, worst) for seed in self.seeds] for scheme, values in signed.items()
            }
        return found

    def _logs(self, scheme: str, wanted: Iterable[tuple[int, Sign]]) -> list[float]:
        """Return the logarithm of a scheme's score by seed: the mean over needs of the mean over their measures."""
        by_need: dict[str, list[Sequence[float]]] = {}
        for each in wanted:
            by_need.setdefault(each[1].need, []).append(self._values[each][scheme])
        means = [[fmean(of_seed) for of_seed in zip(*columns, strict=True)] for columns in by_need.values()]
        return [fmean(of_seed) for of_seed in zip(*means, strict=True)]

    def _score(self, scheme: str, other: str, wanted: Sequence[tuple[int, Sign]]) -> Score:
        ours, theirs = self._logs(scheme, wanted), self._logs(other, wanted)
        summary = summarise([our - their for our, their in zip(ours, theirs, strict=True)])
        ends = summary.interval and (exp(summary.interval[0]), exp(summary.interval[1]))
        return Score(exp(summary.mean), ends)


def _added_up(measures: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Return the sum of measures by seed, of the seeds that have them all."""
    seeds = [seed for seed in measures[0] if all(seed in values for values in measures)]
    return {seed: sum(values[seed] for values in measures) for seed in seeds}


def _unused(link: str, scheme: str, filled: Sequence[tuple[str, Table[str]]]) -> Iterator[float]:
    """Yield the share of a link's capacity that a scheme left unused in each run."""
    for name, table in filled:
        unused, capacity = (table.values(name, scheme, f"links.{link}.{of}") for of in ("capacity_unused", "capacity"))
        yield from (unused[seed] / capacity[seed] for seed in unused)


def _one_a_need(seen: Iterable[Seen]) -> list[Seen]:
    found: dict[str, Seen] = {}
    for each in seen:
        found.setdefault(each.sign.need, each)
    return list(found.values())


def parts(whole: Scenario, part: Scenario) -> int:
    """Return the rate of the whole link as a multiple of a part's."""
    link = part.links[0]
    return round(whole.link(link).rate / part.link(link).rate)


def advise(
    conditions: Sequence[Scenario],
    needs: Sequence[str] = tuple(NEEDS),
    aqms: own.Scheme | Sequence[own.Scheme] | None = None,
    seeds: int = 5,
    *,
    whole: Scenario | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Advice:
    """Compare schemes in some scenarios, and rank them by needs.

    `conditions` describe a link (`conditions(LineSpec(...))`), or are your scenarios. `aqms` are by default the
    deployed schemes, configured for these scenarios. `whole` is the first condition of the whole link if the
    conditions simulate a part of it; then CoDel is not a default candidate.

    Raises InputError for bad input, fewer than two seeds or schemes, and needs that no scenario measures; RunError if
    every scheme failed in some run.
    """
    schemes = candidates(conditions) if aqms is None else own.select(aqms)
    if aqms is None and whole is not None and parts(whole, conditions[0]) > 1:
        schemes = [scheme for scheme in schemes if halves(scheme)[0] != PACED]
    if seeds < 2 or len(schemes) < 2:
        what, value = ("seeds", seeds) if seeds < 2 else ("aqms", ", ".join(schemes))
        raise InputError(what, f"{value}: expected at least two, because a recommendation compares schemes over seeds")
    if not any(signs(scenario, needs) for scenario in conditions):
        raise InputError("for", f"{', '.join(needs)}: these scenarios do not measure it")
    found = compare_many([(each, schemes) for each in conditions], seeds, series=False, jobs=jobs, progress=progress)
    advice = Advice(tuple(found), tuple(needs), range(1, seeds + 1), whole)
    if not advice.schemes:
        raise RunError(f"every scheme failed in some run, first: {advice.failures[0]}")
    return advice
