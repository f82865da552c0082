"""An advice as a document."""

from typing import Any

from aqmlab.advise.advice import Advice, Seen
from aqmlab.advise.commands import Typed, Writer
from aqmlab.advise.words import sentences


def document(advice: Advice, write: Writer, dev: str) -> dict[str, Any]:
    """Return an advice for JSON, with the lines that `write` gives for an interface."""
    return {
        "schema": 1,
        "advised": advice.advised,
        "ranking": [_entry(advice, scheme, write(scheme, advice.whole, dev)) for scheme in advice.schemes],
        "why": " ".join(sentences(advice)),
        "parts": advice.parts,
        "best_tested": advice.best_tested,
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
        "parameters": advice.whole.parameters(scheme),
        "score": score.ratio,
        "interval": score.interval,
        "equal": scheme in (advice.first, *advice.ties),
        "needs": {need: advice.score(scheme, need=need).ratio for need in advice.measured_needs},
        "felt": advice.felt(scheme),
        "picture": advice.picture(scheme),
        "gains": [_seen(advice, scheme, each) for each in advice.gains(scheme)],
        "costs": [_seen(advice, scheme, each) for each in advice.costs(scheme)],
        "tc": list(typed.commands),
        "autorate": list(typed.autorate),
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
