"""The fit of one direction: kinds that explain the measurement badly are given up step by step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp

from aqmlab.fit.features import Scale
from aqmlab.fit.observation import Observation
from aqmlab.fit.regression import Estimate, parameters, step
from aqmlab.fit.search import TwinSearch, TwinTrial
from aqmlab.fit.twin import KINDS, TwinLink

MATCHES = 3
"""Simulations with which every kind is first matched to the measurement."""
KEPT = (4, 2)
"""Kinds that the first and the second regression refine."""
WORSE, MORE = 3.0, 1.0
"""A kind is given up if its score is above so many times the best one, and so much more."""
RUNS, FEWER, LARGE = 20, 14, 300_000
"""Simulations of a regression; of a load of more than `LARGE` packets fewer."""
MOST_STEPS, CONVERGED = 4, 2.0
"""Regressions in a row at most, of a large load two, and the move in widths after which another one is not needed."""
SEEDS = (901, 902, 903)
"""Seeds of the final score."""
ALIKE = 1.1
"""Two candidates are alike if they differ by no more than this many times the difference between two seeds."""
DEVIATIONS, LEAST = 1.96, 0.003
"""Half-width of an interval in standard deviations, and the relative deviation below which nothing is known."""
FIRST_SEED = {"match": 10, "regression": 100}


@dataclass(frozen=True)
class KindCandidate:
    """A link that may explain the measurement: its score (0 is perfect), and intervals of identified parameters."""

    link: TwinLink
    score: float
    intervals: Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class DirectionFit:
    """The fit of one direction: the first `alike` candidates explain the measurement equally, the simplest first.

    If the other direction was loaded at the same time, only the rate is identified, and all candidates are alike.
    """

    seen: Observation
    scale: Scale
    candidates: tuple[KindCandidate, ...]
    alike: int
    runs: int

    @property
    def best(self) -> KindCandidate:
        """The simplest of the candidates that explain the measurement best."""
        return self.candidates[0]


def fit_direction(search: TwinSearch) -> DirectionFit:
    """Match every kind of queue, refine the best by regression, and compare them under fresh seeds."""
    links = search.starts()
    for i in range(MATCHES):
        links = [search.matched(trial) for trial in search.trials(links, [FIRST_SEED["match"] + i])]
    ranked = _best_of_kinds(_ranked(search, search.trials(links, SEEDS[:2])))
    runs = FEWER if search.packets > LARGE else RUNS
    seed = FIRST_SEED["regression"]
    found: list[Estimate] = []
    for narrower, kept in enumerate(KEPT, 1):
        found = [_refined(search, trial.link, runs, narrower, seed) for trial in _kept(search, ranked, kept)]
        seed += MOST_STEPS * (runs + 1)
        trials = search.trials([each.link for each in found], SEEDS)
        spread = _spread(search, trials, found)
        ranked = sorted(trials, key=lambda trial: search.score(trial, spread))
    by_link = {id(each.link): each for each in found}
    own = search.apart(ranked[0], ranked[0], spread)
    alike = [trial for trial in ranked if search.apart(ranked[0], trial, spread) <= ALIKE * own]
    alike.sort(key=lambda trial: KINDS.index(trial.link.kind))  # the simplest first: its queue explains as much
    ordered = [*alike, *(trial for trial in ranked if trial not in alike)]
    scores = [search.score(trial, spread) for trial in ordered]
    candidates = tuple(
        KindCandidate(trial.link, score, _intervals(by_link[id(trial.link)], score))
        for trial, score in zip(ordered, scores, strict=True)
    )
    if search.load.opposite:
        return DirectionFit(search.seen, search.scale, tuple(map(_of_rate, candidates)), len(candidates), search.runs)
    return DirectionFit(search.seen, search.scale, candidates, len(alike), search.runs)


def _refined(search: TwinSearch, link: TwinLink, runs: int, narrower: int, seed: int) -> Estimate:
    """Return the candidate after steps of a regression, until it hardly moves."""
    found = step(search, link, runs, narrower, seed)
    for i in range(1, MOST_STEPS if search.packets <= LARGE else 2):
        if found.moved <= CONVERGED:
            break
        found = step(search, found.link, runs, narrower, seed + i * (runs + 1))
    return found


def _best_of_kinds(ranked: Sequence[TwinTrial]) -> list[TwinTrial]:
    """Return the best candidate of each kind."""
    found: dict[str, TwinTrial] = {}
    for trial in ranked:
        found.setdefault(trial.link.kind, trial)
    return [*found.values()]


def _of_rate(candidate: KindCandidate) -> KindCandidate:
    """Return a candidate of which only the rate is identified: under both loads a delay does not show its direction."""
    return replace(candidate, intervals={name: ends for name, ends in candidate.intervals.items() if name == "rate"})


def _ranked(search: TwinSearch, trials: Sequence[TwinTrial]) -> list[TwinTrial]:
    spread = search.spread(trials)
    return sorted(trials, key=lambda trial: search.score(trial, spread))


def _spread(search: TwinSearch, trials: Sequence[TwinTrial], found: Sequence[Estimate]) -> dict[str, float]:
    """Return the standard deviation of each feature between seeds: of the trials, or of the regressions if larger.

    Few seeds do not show a feature that has two usual values, such as the rate at the start.
    """
    return {
        name: max(deviation, *(each.scatter.get(name, 0.0) for each in found))
        for name, deviation in search.spread(trials).items()
    }


def _kept(search: TwinSearch, ranked: Sequence[TwinTrial], count: int) -> list[TwinTrial]:
    """Return the best candidates, those given up left out; also the simplest kind, which others may only imitate."""
    spread = search.spread(ranked)
    limit = WORSE * search.score(ranked[0], spread) + MORE
    promising = [trial for trial in ranked if search.score(trial, spread) <= limit]
    return promising[:count] + [trial for trial in promising[count:] if trial.link.kind == KINDS[0]]


def _intervals(estimate: Estimate, score: float) -> dict[str, tuple[float, float]]:
    """Return the 95 % interval of each identified parameter, in its own unit.

    A candidate that explains the measurement worse than noise would (score above 1) has wider ones, by the root of the
    score: the scale factor of the Particle Data Group.
    """
    found, wider = {}, DEVIATIONS * max(1.0, score) ** 0.5
    for name, value in parameters(estimate.link).items():
        if name in estimate.deviations:
            if name == "loss":
                half = wider * estimate.deviations[name]
                found[name] = (max(0.0, value - half), value + half)
            else:
                half = wider * max(LEAST, estimate.deviations[name])
                found[name] = (exp(value - half), exp(value + half))
    return found
