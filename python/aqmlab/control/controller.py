"""Controllers of shapers: a class that sees pings and loads, and sets rates."""

from collections.abc import Sequence
from dataclasses import dataclass

from aqmlab import _core
from aqmlab.names import unknown
from aqmlab.own import Declared, dashed, declared, params_of
from aqmlab.problems import InputError


@dataclass
class Shaper:
    """A rate that a controller sets; bit/s.

    `rate` is the present one: set it to another, which is held within the bounds. `achieved` is what the link has
    carried since the last decision, headers included.
    """

    link: str
    rate: float
    achieved: float
    min: float
    base: float
    max: float

    @property
    def load(self) -> float:
        """The used share of its rate."""
        return self.achieved / self.rate


@dataclass(frozen=True)
class Observed:
    """Pings and time since the last decision; s.

    `delay` is the mean of the pings that came back, None without one.
    """

    now: float
    span: float
    delay: float | None


class RateController(Declared):
    """A controller of shapers. Declare parameters (`Param`), set `every` and override `decide`.

    Each run has an instance. A class has a `name` (by default its own, in small letters: MyController is
    "my-controller"), which scenarios name as `law`. `every` is the time between decisions, text or seconds.
    InputError if the class cannot be used.
    """

    every: str | float = "100 ms"

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Add the class to those that a scenario may name, where it replaces an earlier one of the same name."""
        super().__init_subclass__(**kwargs)
        cls.name = str(cls.__dict__.get("name", dashed(cls.__name__)))
        cls._parameters = _core.Parameters(cls.name, [declared(name, param) for name, param in params_of(cls).items()])
        _CLASSES[cls.name] = cls

    @property
    def period(self) -> float:
        """The time between decisions, s; InputError for one that is no time, or shorter than 1 ms."""
        found = _core.quantity(self.every) if isinstance(self.every, str) else (float(self.every), "s")
        if found is None or found[1] != "s" or found[0] < 1e-3:
            raise InputError(
                f"{self.name}.every", f'"{self.every}": expected a time of at least 1 ms, such as "100 ms"'
            )
        return found[0]

    def start(self, shapers: Sequence[Shaper]) -> None:
        """Prepare for these shapers, before anything has happened; they have their base rates."""

    def decide(self, seen: Observed, shapers: Sequence[Shaper]) -> None:
        """Set the rates of the shapers, each `every`."""


_CLASSES: dict[str, type[RateController]] = {}
"""The class of each name."""


def build(law: str, field: str = "law") -> RateController:
    """Return a controller from text such as "cake-autorate:delay_thr=20ms"; InputError about `field` if it is none."""
    name, _, pairs = law.partition(":")
    if name not in _CLASSES:
        raise unknown(field, "unknown controller", name, _CLASSES)
    given: dict[str, str] = {}
    for pair in filter(None, pairs.split(",")):
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(field, f'"{pair}": no value; write name=value')
        given[key.strip()] = value.strip()
    return _CLASSES[name](**given)
