"""An advice in words, and as a document."""

from typing import Any

from aqmlab.advise.advice import ALIKE, NOTABLE, Advice, Score, Seen
from aqmlab.advise.lines import Typed, linux
from aqmlab.catalogue import title
from aqmlab.runs.metrics import find, split

AT_REST = 300
"""Round trips after which long transfers may be expected to share a link as they will."""


def sentences(advice: Advice) -> list[str]:
    """Return what was found: the first, what it gains and costs, how sure that is, and where it turns."""
    return [_first(advice), *_against_baseline(advice), *_turns(advice), *_doubts(advice)]


def _first(advice: Advice) -> str:
    seeds = len(advice.seeds)
    where = f"over {len(advice.conditions)} conditions and {seeds} seeds"
    ties = [f"{title(each)} ({percent(advice.score(each))})" for each in advice.ties]
    alike = f" Not surely behind, or by less than {100 - 100 * ALIKE:.0f} %: {', '.join(ties)}." if ties else ""
    others = [each for each in advice.schemes[1:] if each not in advice.ties]
    behind = f" {title(others[0])} is next ({percent(advice.score(others[0]))})." if others else ""
    return f"{title(advice.first)} comes first {where}.{alike}{behind}"


def _against_baseline(advice: Advice) -> list[str]:
    baseline = title(advice.baseline)
    if advice.first == advice.baseline:
        return []
    told = {"Gains": advice.gains(advice.first), "Costs": advice.costs(advice.first)}
    return [
        f"{word} over {baseline}: {'; '.join(instead(advice, advice.first, each) for each in seen)}."
        if seen
        else f"{word} over {baseline}: none above {100 * NOTABLE - 100:.0f} % that these seeds can show."
        for word, seen in told.items()
    ]


def instead(advice: Advice, scheme: str, seen: Seen) -> str:
    """Say what a measure is under a scheme, and what it was under the baseline."""
    metric = find(seen.sign.measure)
    values = [advice.summary(each, seen) for each in (scheme, advice.baseline)]
    ours, theirs = (metric.show(value.mean if value else None) for value in values)
    of = split(seen.sign.measure)[0].partition(".")[2]
    told = f"{metric.title} of {of} {ours} instead of {theirs} {metric.unit_shown}".rstrip()
    return f"{told} ({advice.names[seen.condition]})"


def _turns(advice: Advice) -> list[str]:
    turns = [
        f"{where}, {title(scheme)} is better by {100 * score.ratio - 100:.0f} %"
        for where, scheme, score in advice.turns()
    ]
    return [f"Where it turns: {'; '.join(turns)}."] if turns else []


def _doubts(advice: Advice) -> list[str]:
    found = [f"Not ranked, as runs failed: {failure}." for failure in advice.failures]
    for name, scenario in zip(advice.names, advice.conditions, strict=True):
        rtts = [scenario.group(each).rtt for each in scenario.flows]
        longest = max((rtt for rtt in rtts if rtt), default=0.0)
        measured = scenario.duration - scenario.warmup
        if measured < AT_REST * longest:
            found.append(
                f"{name} measures {measured:.3g} s, {measured / longest:.0f} round trips: "
                "its long transfers do not yet share the link as they will."
            )
    return found[:3]


def percent(score: Score) -> str:
    """Return a score as people read it: 98.6 %, 98.3 to 99.0."""
    low, high = score.interval or (score.ratio, score.ratio)
    return f"{100 * score.ratio:.1f} %, {100 * low:.1f} to {100 * high:.1f}"


def document(advice: Advice, dev: str) -> dict[str, Any]:
    """Return an advice for JSON."""
    return {
        "schema": 1,
        "ranking": [_entry(advice, scheme, linux(scheme, advice.conditions[0], dev)) for scheme in advice.schemes],
        "why": " ".join(sentences(advice)),
        "conditions": [
            {"name": name, "scenario": scenario.name, "set": dict(scenario.overrides)}
            for name, scenario in zip(advice.names, advice.conditions, strict=True)
        ],
        "for": list(advice.needs),
        "seeds": len(advice.seeds),
        "failures": [str(failure) for failure in advice.failures],
    }


def _entry(advice: Advice, scheme: str, typed: Typed) -> dict[str, Any]:
    score = advice.score(scheme)
    return {
        "aqm": scheme,
        "parameters": advice.conditions[0].parameters(scheme),
        "score": score.ratio,
        "interval": score.interval,
        "needs": {need: advice.score(scheme, need=need).ratio for need in advice.told},
        "gains": [_seen(advice, scheme, each) for each in advice.gains(scheme)],
        "costs": [_seen(advice, scheme, each) for each in advice.costs(scheme)],
        "tc": list(typed.commands),
        "notes": list(typed.notes) if typed.commands else [typed.why_not],
        "tested": typed.tested,
    }


def _seen(advice: Advice, scheme: str, seen: Seen) -> dict[str, Any]:
    values = [advice.summary(each, seen) for each in (scheme, advice.baseline)]
    value, baseline = (each.mean if each else None for each in values)
    return {
        "need": seen.sign.need,
        "condition": advice.names[seen.condition],
        "measure": seen.sign.measure,
        "value": value,
        "baseline": baseline,
        "ratio": seen.score.ratio,
    }
