"""The sentences of a paper, compared with the measurements."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isnan
from typing import Any

from aqmlab.runs.metrics import OF_FLOWS, OF_LINK
from aqmlab.study.cells import Cell, Verdict
from aqmlab.study.evidence import Found, Judged, Source, Values, centres, decide, gather, holds_in_print, of_each_seed
from aqmlab.study.ledger import Claim
from aqmlab.study.paper import built
from aqmlab.study.readings import READ

VERDICTS = {
    "holds": Verdict("✓", "the runs show it"),
    "weak": Verdict("~", "the runs show it, but also for a scheme that the sentence does not mention"),
    "fails": Verdict("✗", "the runs do not show it; a reason is given if one is known"),
    "undecided": Verdict(
        "?", "the check needs a ratio to 0, a value below 0, or the order of queues that never settle"
    ),
    "shown": Verdict("→", "a table or a figure shows it"),
    "background": Verdict("○", "a result of other authors, a definition or a statement about proofs"),
    "untestable": Verdict("∅", "not testable; the reason is given"),
    "missing": Verdict("–", "not measured"),
}
"""Every verdict a sentence can have, by its name in JSON."""

MOST_NAMED = 4
"""Schemes and scenarios that are listed one by one."""

CONTRADICTED = "the paper's own tables contradict the sentence"
"""The reason if no other is given and the sentence does not hold in print either."""

METRICS = {metric.name: metric for metric in (*OF_LINK, *READ)} | {f"total.{of.name}": of for of in OF_FLOWS}


@dataclass(frozen=True)
class Checked:
    """A claim with its verdict, the measured values in words, and the reason if it does not hold.

    `alone` says for each seed whether the claim holds under it alone. `printed` says whether it holds for the printed
    numbers; None if the paper does not print them all. `whose` is the origin of a failure with its variations.
    """

    claim: Claim
    verdict: str
    measured: str = ""
    why: str | None = None
    alone: Mapping[int, bool] = field(default_factory=dict)
    printed: bool | None = None
    whose: str | None = None

    @property
    def explanation(self) -> str:
        """The measured values, and the reason."""
        return ". Reason: ".join(part for part in (self.measured, self.why) if part)

    def entry(self) -> dict[str, Any]:
        """Return the claim in the form of the JSON document."""
        return {
            "section": self.claim.section,
            "claim": self.claim.text,
            "scenarios": list(self.claim.scenarios),
            "verdict": self.verdict,
            "measured": self.measured,
            "why": self.why,
            "seeds": [seed for seed, holds in self.alone.items() if holds],
            "printed": self.printed,
            "whose": self.whose,
        }


def tally(claims: Iterable[Checked]) -> dict[str, int]:
    """Return how many sentences there are, and how many of each verdict."""
    verdicts = [checked.verdict for checked in claims]
    return {"claims": len(verdicts), **{name: verdicts.count(name) for name in VERDICTS}}


def check(paper: Judged, claim: Claim, measured: Source, cells: Sequence[Cell] = ()) -> Checked:
    """Judge a claim on the mean over the seeds; `cells` are the study's, for the sentences that tables show."""
    if claim.unmeasured:
        return Checked(claim, "background" if claim.background else "untestable", why=claim.unmeasured)
    if claim.tables or claim.figures:
        return Checked(claim, "shown", _shown(claim, cells))
    others = [*claim.below, *claim.above]
    absent = [name for name in claim.schemes if not _built(paper, name)]
    present = [name for name in others if _built(paper, name)]
    if absent or (others and not present):
        return Checked(claim, "missing", why=f"{', '.join(absent or others)}: not implemented")
    by_seed = gather(paper, claim, measured, [*claim.schemes, *present])
    found = centres(claim, by_seed)
    holds, against = decide(claim, found)
    alone = {seed: bool(decide(claim, values)[0]) for seed, values in of_each_seed(claim, by_seed).items()}
    printed = holds_in_print(paper, claim)
    idle = _passing(paper, claim, measured) if holds else []
    left_out = [name for name in others if name not in present]
    remarks = [
        f" ({', '.join(left_out)} not implemented)" if left_out else "",
        f"; under {sum(alone.values())} of {len(alone)} seeds alone" if len(set(alone.values())) > 1 else "",
        f". The check passes as well under {'; '.join(idle)}" if idle else "",
    ]
    return Checked(
        claim,
        ("weak" if idle else "holds") if holds else "undecided" if holds is None else "fails",
        _told(claim, found, against) + "".join(remarks),
        None if holds else claim.why or (CONTRADICTED if printed is False else None),
        alone,
        printed,
    )


def _passing(paper: Judged, claim: Claim, measured: Source) -> list[str]:
    """Return the measured values of each control that passes the check in the place of the claim's schemes."""
    passing = []
    for name in claim.control:
        below, above = ([other for other in side if other != name] for side in (claim.below, claim.above))
        same = replace(claim, schemes=(name,), below=tuple(below), above=tuple(above))
        found = centres(same, gather(paper, same, measured, [name, *below, *above]))
        if decide(same, found)[0]:
            passing.append(_told(same, found, {}))
    return passing


def _shown(claim: Claim, cells: Iterable[Cell]) -> str:
    """Say which tables and figures show the sentence, and how many of its numbers match."""
    about = [
        cell.verdict
        for cell in cells
        if cell.table in claim.tables
        and cell.row in (claim.schemes or (cell.row,))
        and cell.metric.metric.name == (claim.value or cell.metric.metric.name)
    ]
    places = [*(f"Table {number}" for number in claim.tables), *(f"Figure {number}" for number in claim.figures)]
    return ", ".join(places) + (f": {about.count('match')} of {len(about)} numbers match" if about else "")


def _built(paper: Judged, name: str) -> bool:
    return all(built(paper.spec(part)) for part in paper.differences.get(name, [name]))


def _told(claim: Claim, found: Found, against: Found) -> str:
    """Describe the measured values; of many places, those that contradict the claim, or else the range."""
    distance = f"distance from {claim.target:g}: " if claim.target is not None else ""
    if len(found) == 1:
        return distance + _words(claim, next(iter(found.values())))
    if claim.trend or claim.steady:
        return "; ".join(f"{name}: {_along(claim, [at[name] for at in found.values()])}" for name in claim.schemes)
    places = "scenarios" if list(found) == list(claim.scenarios) else "places"
    if against:
        named = list(against)[:MOST_NAMED]
        more = f"; and in {len(against) - len(named)} more" if len(against) > len(named) else ""
        where = "; ".join(f"{place}: {distance}{_words(claim, found[place])}" for place in named)
        return f"not in {len(against)} of {len(found)} {places}: {where}{more}"
    values = [values[name] for values in found.values() for name in claim.schemes]
    schemes = ", ".join(claim.schemes)
    return f"in {len(found)} {places}: {distance}{schemes} {_text(claim, min(values))} to {_text(claim, max(values))}"


def _along(claim: Claim, values: Sequence[float]) -> str:
    if len(values) <= MOST_NAMED:
        return ", ".join(_text(claim, value) for value in values)
    return f"{_text(claim, min(values))} to {_text(claim, max(values))}"


def _words(claim: Claim, values: Values) -> str:
    """Describe the measured values of the claim's schemes, and the range of the others."""
    about = {name: values[name] for name in claim.schemes}
    others = {name: value for name, value in values.items() if name not in about}
    return " against ".join(_list(claim, part) for part in (about, others) if part)


def _list(claim: Claim, values: Values) -> str:
    if len(values) <= MOST_NAMED:
        return ", ".join(f"{name} {_text(claim, value)}" for name, value in values.items())
    low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    return f"{low} {_text(claim, values[low])} to {high} {_text(claim, values[high])}"


def _text(claim: Claim, value: float) -> str:
    if value == inf:
        return "never"
    if isnan(value):
        return "a share of none"
    if claim.shown:
        return f"{value * claim.shown.scale:.{claim.shown.digits}f}{f' {claim.shown.unit}' if claim.shown.unit else ''}"
    if claim.per:
        return f"{100 * value:.1f} %"
    if claim.value not in METRICS:
        return f"{value:.4g}"
    metric = METRICS[claim.value]
    return metric.show(value) + ("" if metric.shown.unit == "1" else f" {metric.shown.unit}")
