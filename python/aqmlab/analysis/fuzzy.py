"""The fuzzy controllers of FuzzyRTT as functions: Figures 1 to 4 of Boudi & Loudini, and the control surface.

The figures themselves were not available. Drawn are the terms of `fuzzy-rtt` by the text: evenly spaced, and of
the output's only the peaks count for the centre of gravity.
"""

from collections.abc import Callable, Mapping, Sequence

from aqmlab._core import fuzzy_answer, fuzzy_terms

Line = Mapping[float, float]
"""Values by x."""

INPUTS = ("NB", "NM", "NS", "Z", "PS", "PM", "PB")
OUTPUTS = ("NH", *INPUTS, "PH")
ROUND_TRIPS = (40, 80, 160, 320, 640)
"""Milliseconds, by category."""


def inputs(xs: Sequence[float]) -> dict[str, Line]:
    """Return how far a scaled input belongs to each of its terms, Figure 1."""
    return {term: {x: fuzzy_terms(x)[i] for x in xs} for i, term in enumerate(INPUTS)}


def outputs(xs: Sequence[float]) -> dict[str, Line]:
    """Return the terms of the scaled change of p, Figure 2."""
    peaks = {term: i / 4 - 1 for i, term in enumerate(OUTPUTS)}
    return {term: {x: max(0.0, 1 - 4 * abs(x - peak)) for x in xs} for term, peak in peaks.items()}


def categories(xs: Sequence[float]) -> dict[str, Line]:
    """Return how far a round trip (ms) belongs to each category, Figure 3 and the weights of eq. (8)."""
    return {f"Cat {i + 1}": {x: _membership(x, i) for x in xs} for i in range(len(ROUND_TRIPS))}


def _membership(rtt: float, i: int) -> float:
    held = min(max(rtt, ROUND_TRIPS[0]), ROUND_TRIPS[-1])
    own = ROUND_TRIPS[i]
    neighbour = ROUND_TRIPS[i + 1 if held > own else i - 1] if held != own else own
    return 1.0 if held == own else max(0.0, 1 - (held - own) / (neighbour - own))


def probabilities(xs: Sequence[float]) -> dict[str, Line]:
    """Return the terms of p between the probabilities of the two categories around a round trip, Figure 4."""
    return {"p_i": {x: 1 - x for x in xs}, "p_i+1": {x: x for x in xs}}


def surface(xs: Sequence[float]) -> dict[str, Line]:
    """Return what the rules of Table I answer, by error and change of the error, all scaled."""
    return {f"{error:g}": {change: fuzzy_answer(error, change) for change in xs} for error in xs}


LAWS: Mapping[str, Callable[[Sequence[float]], Mapping[str, Line]]] = {
    each.__name__: each for each in (inputs, outputs, categories, probabilities, surface)
}
"""The functions by the name that a study gives them."""
