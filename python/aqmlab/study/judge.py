"""Verdicts on checks under conditions of their own, from runs that are done once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from aqmlab._core import Scenario
from aqmlab.runs.executor import Progress
from aqmlab.study.claims import check
from aqmlab.study.evidence import centres, decide, gather
from aqmlab.study.ledger import Claim
from aqmlab.study.measured import original, scenario_of
from aqmlab.study.narrow import witnesses
from aqmlab.study.paper import Study
from aqmlab.study.run_cache import CachedSource, RunCache, WantedRun, WantedValues, condition
from aqmlab.study.variations import PLAIN

Change = Callable[[Scenario], Scenario]

WITNESSES = 3
"""Narrower checks that are tried before the whole one."""


@dataclass(frozen=True)
class VariedCheck:
    """A check in scenarios that are changed; where a narrower one, of `witnesses`, fails, it fails."""

    claim: Claim
    change: Change | None = None
    witnesses: Sequence[Claim] = ()


@dataclass
class Judge:
    """Runs the scenarios of sentences and judges them."""

    paper: Study
    seeds: int
    jobs: int | None
    progress: Progress | None
    runs: RunCache
    _wanted_values: dict[str, WantedValues] = field(default_factory=dict)
    _scenarios: dict[tuple[Change | None, str], tuple[Scenario, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Collect the values of each place that any reading of any sentence needs."""
        by_place: dict[str, list[Claim]] = {}
        for claim in self.paper.claims:
            for each in (claim, *(other.claim for other in claim.alternatives)):
                for name in map(original, each.scenarios):
                    by_place.setdefault(name, []).extend(readings(each))
        self._wanted_values.update({name: WantedValues.of(claims) for name, claims in by_place.items()})

    def verdicts(self, cases: Sequence[VariedCheck]) -> list[str]:
        """Return the verdict of each case."""
        found: dict[int, str] = {}
        for step in range(max((len(case.witnesses) for case in cases), default=0)):
            narrow = {
                at: VariedCheck(case.witnesses[step], case.change)
                for at, case in enumerate(cases)
                if at not in found and step < len(case.witnesses)
            }
            decided = zip(narrow, self._verdicts([*narrow.values()]), strict=True)
            found |= {at: verdict for at, verdict in decided if verdict == "fails"}
        left = [at for at in range(len(cases)) if at not in found]
        whole = self._verdicts([cases[at] for at in left])
        return [(found | dict(zip(left, whole, strict=True)))[at] for at in range(len(cases))]

    def witnesses(self, claim: Claim) -> list[Claim]:
        """Return narrower checks of a claim that fails, which fail too."""
        source = self._source(claim, None)

        def fails(narrow: Claim) -> bool:
            names = [*narrow.schemes, *narrow.below, *narrow.above]
            return decide(narrow, centres(narrow, gather(self.paper, narrow, source, names)))[0] is False

        def cost(narrow: Claim) -> int:
            return sum(source.events(name, spec) for name in narrow.scenarios for spec in self.paper.compared(narrow))

        return witnesses(claim, fails, cost, WITNESSES)

    def same(self, claim: Claim, change: Change) -> bool:
        """Say whether a change leaves all scenarios of a claim as they are."""
        return all(self._at(name, None)[1] == self._at(name, change)[1] for name in claim.scenarios)

    def _verdicts(self, cases: Sequence[VariedCheck]) -> list[str]:
        """Judge whole checks; their controls run only where the checks hold."""
        found = self._checked([replace(case, claim=replace(case.claim, control=())) for case in cases])
        left = [at for at, case in enumerate(cases) if found[at] == "holds" and case.claim.control]
        again = self._checked([cases[at] for at in left])
        return [dict(zip(left, again, strict=True)).get(at, verdict) for at, verdict in enumerate(found)]

    def _checked(self, cases: Sequence[VariedCheck]) -> list[str]:
        self.runs.do([each for case in cases for each in self._wanted(case)], self.seeds, self.jobs, self.progress)
        return [check(self.paper, case.claim, self._source(case.claim, case.change)).verdict for case in cases]

    def _wanted(self, case: VariedCheck) -> Iterator[WantedRun]:
        for name, specs in self.paper.needed((), (), [case.claim]).items():
            wanted_values = self._wanted_values[original(name)]
            yield from (WantedRun(*self._at(name, case.change), spec, wanted_values) for spec in specs)

    def _source(self, claim: Claim, change: Change | None) -> CachedSource:
        return CachedSource(self.runs, {name: self._at(name, change)[1] for name in claim.scenarios}, self.seeds)

    def _at(self, name: str, change: Change | None) -> tuple[Scenario, str]:
        """Return the scenario of a place, changed, and its condition."""
        key = change, original(name)
        if key not in self._scenarios:
            scenario = scenario_of(original(name))
            scenario = change(scenario) if change else scenario
            self._scenarios[key] = scenario, condition(scenario)
        return self._scenarios[key]


def readings(claim: Claim) -> Iterable[Claim]:
    """Return a claim, and its checks under the variations that need no other runs."""
    return claim, *(other for each in PLAIN if (other := each.check(claim)) is not None)
