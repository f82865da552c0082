"""The weight of RED's average as tc makes it from the burst that is to pass, and back."""

import math

from aqmlab.problems import InputError

OPTIONS_OF_RED = {"bandwidth": "rate", "ewma": "number", "Plog": "number", "Scell_log": "number", "avpkt": "bytes"}
"""Options of RED and related schemes that are not parameters of aqmlab by themselves, with their units."""


def weight(burst: float, min_th: float) -> int:
    """Return n where tc sets the weight to 2**-n for a burst and a lower threshold in packets."""
    excess = burst + 1 - min_th
    if excess < 1:
        raise InputError("burst", f"tc refuses {burst:g} packets, fewer than min ({min_th:g} packets)")
    found = next((n for n in range(1, 32) if excess <= (1 - (1 - 0.5**n) ** burst) * 2**n), None)
    if found is None:
        raise InputError("burst", f"tc finds no weight for {burst:g} packets")
    return found


def burst_for(share: float, min_th: float) -> float:
    """Return the largest burst for which tc sets the weight to the power of two nearest to `share`."""
    wanted = round(-math.log2(share)) if share > 0 else 32
    low, high = math.ceil(min_th), 10_000_000
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _is_at_most(middle, min_th, wanted) else (low, middle - 1)
    if not 1 <= wanted < 32 or weight(max(low, 1), min_th) != wanted:
        raise InputError("q_weight", f"{share:g}: tc makes it from a burst, and no burst gives 2**-{wanted}")
    return float(max(low, 1))


def _is_at_most(burst: int, min_th: float, wanted: int) -> bool:
    try:
        return weight(max(burst, 1), min_th) <= wanted
    except InputError:
        return False
