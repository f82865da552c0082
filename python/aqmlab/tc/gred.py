"""GRED: a command to set it up, and one for each of its virtual queues, aqmlab's classes."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise

from aqmlab.problems import InputError
from aqmlab.tc import numbers
from aqmlab.tc.averages import OPTIONS_OF_RED, burst_for, weight
from aqmlab.tc.link import Link, ReadOptions, Said, Values, packet_size, packets, read_limit, shortest
from aqmlab.tc.qdiscs import of_kind

VIRTUAL_QUEUES = 8
DEFAULT_PRIO = 8
OPTIONS = OPTIONS_OF_RED | {
    "vqs": "number",
    "default": "number",
    "vq": "number",
    "prio": "number",
    "burst": "packets",
    "min": "bytes",
}
"""Options that are not parameters of aqmlab by themselves, with their units."""
MODES: Mapping[str, tuple[bool, Callable[[int], int]]] = {
    "all": (True, lambda _: 1),
    "rio": (True, lambda i: VIRTUAL_QUEUES - i),
    "own": (False, lambda _: 1),
}
"""How Linux averages: whether there is `grio`, and the prio of a virtual queue; equal ones share an average (WRED)."""


def lows(values: Values) -> list[float]:
    """Return the lower thresholds of GRED's classes, packets."""
    high, share, step = (float(values[name]) for name in ("max_th", "min_share", "step"))
    return [high * min(share + i * step, 0.99) for i in range(VIRTUAL_QUEUES)]


def say(values: Values, link: Link) -> list[list[str]]:
    """Return the options of the command that sets it up, and of one for each virtual queue."""
    grio, prio = MODES[str(values["average"])]
    limit, full = round(link.bytes("gred")), link.packet
    setup = ["setup", "vqs", str(VIRTUAL_QUEUES), "default", "0", *(["grio"] if grio else []), "limit", str(limit)]
    rate = numbers.write(link.rate or 0, "rate", "bandwidth")
    if not link.rate:
        raise InputError("rate", "gred needs the rate of the link in Linux; give --rate, such as 50Mbit/s")
    high = round(float(values["max_th"]) * full)
    queues = [
        ["vq", str(i), "prio", str(prio(i)), "limit", str(limit), "min", str(round(low * full)), "max", str(high)]
        + ["avpkt", str(full), "burst", f"{burst_for(float(values['q_weight']), round(low * full) / full):.0f}"]
        + ["probability", numbers.write(float(values["max_p"]), "probability", "probability"), "bandwidth", rate]
        + (["ecn"] if link.ecn else [])  # the kernel takes no queue where setup has it
        for i, low in enumerate(lows(values))
    ]
    return [setup, *queues]


def read_options(said: Said, link: Link, shown: bool) -> ReadOptions:
    """Read `setup` and the virtual queues after it, which are to rise evenly as aqmlab's do."""
    starts = [i for i, (word, _) in enumerate(said) if word == "vq"]
    setup = dict(said[: starts[0]] if starts else said)
    queues = [dict(said[start:end]) for start, end in pairwise([*starts, len(said)])]
    if setup.get("vqs") != str(VIRTUAL_QUEUES) or [queue["vq"] for queue in queues] != list("01234567"):
        raise InputError(
            "tc", f"gred: the simulator has {VIRTUAL_QUEUES} classes; give setup and the vq 0 to 7 in order"
        )
    if not all({"limit", "min", "max"} <= queue.keys() for queue in queues):
        raise InputError("tc", "gred: each vq needs limit, min and max")
    found = [
        {
            word: numbers.read(text, kind, word, shown=shown)
            for word, text in queue.items()
            if (kind := _gred_kind(word))
        }
        for queue in queues
    ]
    packet = packet_size(found[0].get("avpkt", link.packet))
    rate = found[0].get("bandwidth", link.rate)
    link = replace(link, packet=packet, rate=rate, ecn="ecn" in setup or "ecn" in queues[0])
    link = read_limit(of_kind("gred"), {"limit": queues[0]["limit"]}, link, shown)
    prios = [queue.get("prio", DEFAULT_PRIO) for queue in found]
    average = "own" if "grio" not in setup else "all" if len(set(prios)) < VIRTUAL_QUEUES else "rio"
    values: Values = {"max_th": packets(found[0]["max"], packet, shown), "average": average}
    weights = {
        queue["ewma"] if "ewma" in queue else weight(queue.get("burst", 0), queue["min"] / packet) for queue in found
    }
    same = [len({queue.get(word, 0.02) for queue in found}) == 1 for word in ("max", "probability", "limit")]
    if not all(same) or len(weights) > 1:
        raise InputError("tc", "gred: max, probability, limit and weight are the same for all classes here")
    values |= {"max_p": found[0].get("probability", 0.02), "q_weight": 0.5 ** weights.pop()}
    values |= _even([queue["min"] for queue in found], float(values["max_th"]), packet, 16 if shown else 0.6)
    return ReadOptions(values, frozenset(values), link)


def _gred_kind(word: str) -> str | None:
    return {**OPTIONS, "max": "bytes", "probability": "probability", "limit": "bytes"}.get(word)


def _even(found: list[float], high: float, packet: int, within: float) -> Values:
    """Return the two numbers that give these lower thresholds, in bytes."""
    share = found[0] / packet / high
    rising = [i for i in range(1, VIRTUAL_QUEUES) if found[i] < 0.985 * high * packet]
    step = (found[rising[-1]] - found[0]) / packet / high / rising[-1] if rising else 0.0

    def fits(share: float, step: float) -> bool:
        computed = lows({"max_th": high, "min_share": share, "step": step})
        return all(abs(low * packet - low_found) <= within for low, low_found in zip(computed, found, strict=True))

    share = shortest(share, lambda rounded: abs(rounded * high * packet - found[0]) <= within)
    step = shortest(step, lambda rounded: fits(share, rounded))
    if not fits(share, step):
        raise InputError("tc", "gred: the lower thresholds of the simulator's classes rise evenly from class to class")
    return {"min_share": share, "step": step}
