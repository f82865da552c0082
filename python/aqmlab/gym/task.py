"""The task of an agent: its actions on a link and its observations, from the arguments of an environment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aqmlab import _core, catalogue
from aqmlab.gym.actuator import SCALES, Actuator, Move
from aqmlab.names import unknown
from aqmlab.problems import InputError, blamed_on
from aqmlab.quantities import real

Ends = tuple[str | float, str | float] | tuple[str | float, str | float, str]
"""Minimum and maximum, with a unit if there is one, and perhaps the scale of the action between them."""

OBSERVE = ("error", "trend", "arrival_rate", "p")
"""The default observations of an agent: the state that a real queue knows."""


@dataclass(frozen=True)
class Gauge:
    """A quantity that an agent may observe.

    Scaled, it is x/(|x| + reference), and the root of x where it is a ratio, which has no `reference`.
    """

    name: str
    unit: str
    doc: str
    reference: str | None
    signed: bool


GAUGES = {name: Gauge(name, *rest) for name, *rest in _core.gauges()}  # type: ignore[arg-type]


def seconds(every: str | float) -> float:
    """Return the time between actions; InputError for anything but a time above zero."""
    if not isinstance(every, str):
        every = real(every)
    found = (every, "s") if isinstance(every, float) else _core.quantity(every)
    if found is None or found[1] != "s" or not 0 < found[0] < float("inf"):
        raise InputError("every", f'"{every}" is not a time above 0 s; write e.g. "10 ms"')
    return found[0]


def observed(observe: Sequence[str], act: Actuator) -> tuple[str, ...]:
    """Return the names of the observations; InputError for an unknown one."""
    names = (observe,) if isinstance(observe, str) else tuple(observe)
    if not names:
        raise InputError("observe", f"is empty; known: {', '.join(GAUGES)}")
    for name in names:
        if name not in GAUGES:
            raise unknown("observe", "unknown observation", name, GAUGES)
    if len(set(names)) < len(names):
        raise InputError("observe", "names an observation twice")
    shown = [each.name for each in catalogue.find(act.scheme).observables]
    if "p" in names and "p" not in shown:
        raise InputError("observe", f"{act.scheme} has no p; it shows {', '.join(shown) or 'nothing'}")
    return names


def actuator(act: str, ranges: Mapping[str, Ends] | None) -> Actuator:
    """Return what an action does: "p", "increment", "increment:0.02", or "pi:w=100Hz,a,b" (moves a and b)."""
    kind, _, rest = act.partition(":")
    parts = [part.strip() for part in rest.split(",") if part.strip()]
    given = dict(ranges or {})
    if kind == "p":
        moves = [_move("p", given.pop("p", (0.0, 1.0)), "square")]
    elif kind == "increment":
        moves = [_move("p", given.pop("p", (0.0, 1.0)), "linear", _number("act", parts[0]) if parts else 0.01)]
    else:
        names = [part for part in parts if "=" not in part]
        if not names:
            raise InputError(
                "act", f'"{act}" moves nothing; write "p", "increment" or SCHEME:PARAMETER,..., e.g. "pi:a,b"'
            )
        moves = [_move(name, given.pop(name, None)) for name in names]
    if given:
        raise unknown("ranges", "nothing moves", next(iter(given)), [move.name for move in moves])
    fixed = [part for part in parts if "=" in part] if kind not in ("p", "increment") else []
    scheme = "fixed-p" if kind in ("p", "increment") else kind
    with blamed_on("act"):
        catalogue.find(scheme)
    return Actuator(scheme, tuple(fixed), tuple(moves))


def _move(name: str, ends: Ends | None, scale: str | None = None, step: float | None = None) -> Move:
    if ends is None:
        return Move(name, None, scale, step)
    if len(ends) not in (2, 3):
        raise InputError(f"ranges.{name}", f"expected (minimum, maximum) or (minimum, maximum, scale); found {ends!r}")
    if len(ends) == 3:
        scale = ends[2]
        if scale not in SCALES:
            raise unknown(f"ranges.{name}", "unknown scale", str(scale), SCALES)
    return Move(name, (_number(f"ranges.{name}", ends[0]), _number(f"ranges.{name}", ends[1])), scale, step)


def _number(path: str, value: str | float) -> float:
    """A quantity in its base unit."""
    found = (real(value), "") if isinstance(value, int | float) else _core.quantity(value)
    if found is None:
        raise InputError(str(path), f'"{value}" is not a quantity')
    return found[0]
