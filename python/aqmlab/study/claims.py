"""What a paper says in words, held against what was measured."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from statistics import fmean
from typing import Any

from aqmlab.runs.metrics import LINK_METRICS
from aqmlab.study.measured import Measured
from aqmlab.study.paper import TRANSIENT, Claim, Study, built

VERDICTS = {"holds": "✓", "fails": "✗", "missing": "–"}
"""Every verdict on a claim, with its mark."""

MOST_TOLD = 4
"""Schemes and scenarios that are listed one by one."""


@dataclass(frozen=True)
class Checked:
    """A claim with its verdict, what was measured in words, and the reason if it does not hold."""

    claim: Claim
    verdict: str
    measured: str
    why: str | None

    def entry(self) -> dict[str, Any]:
        """Return the claim as it stands in JSON."""
        return {
            "section": self.claim.section,
            "claim": self.claim.text,
            "scenarios": list(self.claim.scenarios),
            "verdict": self.verdict,
            "measured": self.measured,
            "why": self.why,
        }


def check(paper: Study, claim: Claim, measured: Measured) -> Checked:
    """Judge a claim; it holds if it does in each of its scenarios."""
    absent = [name for name in claim.schemes if not built(paper.spec(name))]
    others = [*claim.below, *claim.above]
    present = [name for name in others if built(paper.spec(name))]
    if absent or (others and not present):
        return Checked(claim, "missing", "", f"{', '.join(absent or others)}: not built yet")
    found = {
        scenario: {name: _mean(paper, claim, measured, scenario, name) for name in [*claim.schemes, *present]}
        for scenario in claim.scenarios
    }
    failing = {scenario: values for scenario, values in found.items() if not _holds(claim, values)}
    left_out = [name for name in others if name not in present]
    return Checked(
        claim,
        "fails" if failing else "holds",
        _told(claim, found, failing) + (f" ({', '.join(left_out)} not built yet)" if left_out else ""),
        claim.why if failing else None,
    )


def _told(claim: Claim, found: Mapping[str, Mapping[str, float]], failing: Mapping[str, Mapping[str, float]]) -> str:
    """Say what was measured; of many scenarios, where the claim fails, or else how far the values range."""
    if len(found) == 1:
        return _words(claim, next(iter(found.values())))
    if failing:
        told = list(failing)[:MOST_TOLD]
        more = f"; and in {len(failing) - len(told)} more" if len(failing) > len(told) else ""
        where = "; ".join(f"{scenario}: {_words(claim, found[scenario])}" for scenario in told)
        return f"not in {len(failing)} of {len(found)} scenarios: {where}{more}"
    values = [values[name] for values in found.values() for name in claim.schemes]
    schemes = ", ".join(claim.schemes)
    return f"in {len(found)} scenarios: {schemes} {_text(claim, min(values))} to {_text(claim, max(values))}"


def _mean(paper: Study, claim: Claim, measured: Measured, scenario: str, name: str) -> float:
    """Return the mean over the seeds; a value that a run does not have, such as a settling time, counts as endless."""
    by_seed = measured.values([scenario], paper.spec(name), claim.link, claim.value)
    values = [inf if value is None else value for [value] in by_seed.values()]
    mean = fmean(values) if values else inf
    return mean if claim.target is None else abs(mean - claim.target)


def _holds(claim: Claim, values: Mapping[str, float]) -> bool:
    of = [values[name] for name in claim.schemes]
    below = [values[name] for name in claim.below if name in values]
    above = [values[name] for name in claim.above if name in values]
    if claim.within and not all(claim.within[0] <= value <= claim.within[1] for value in of):
        return False
    return all(value + claim.margin < other for value in of for other in below) and all(
        value > other + claim.margin for value in of for other in above
    )


def _words(claim: Claim, values: Mapping[str, float]) -> str:
    """Say what was measured: of the schemes the claim is about, and the ends of what the others show."""
    distance = f"distance from {claim.target:g}: " if claim.target is not None else ""
    about = {name: values[name] for name in claim.schemes}
    others = {name: value for name, value in values.items() if name not in about}
    parts = [_list(claim, part) for part in (about, others) if part]
    return distance + " against ".join(parts)


def _list(claim: Claim, values: Mapping[str, float]) -> str:
    if len(values) <= MOST_TOLD:
        return ", ".join(f"{name} {_text(claim, value)}" for name, value in values.items())
    low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    return f"{low} {_text(claim, values[low])} to {high} {_text(claim, values[high])}"


def _text(claim: Claim, value: float) -> str:
    if value == inf:
        return "never"
    known = {metric.name: metric for metric in LINK_METRICS}
    if claim.value == TRANSIENT:
        return f"{value:.1f} s"
    if claim.value not in known:
        return f"{value:.4g}"
    metric = known[claim.value]
    return f"{metric.show(value)} {metric.shown.unit}"
