"""Controllers of shapers: a class that sees pings and loads, and sets rates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from aqmlab import _core
from aqmlab.names import unknown
from aqmlab.own import Param, as_text, dashed, spelled
from aqmlab.problems import InputError

UNITS = {"s": "time", "bit/s": "rate", "B": "size"}
"""What the units of parameters are called in messages."""


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
        """The share of its rate that it has carried."""
        return self.achieved / self.rate


@dataclass(frozen=True)
class Observed:
    """Pings and time since the last decision; s.

    `delay` is the mean of the pings that came back, None without one.
    """

    now: float
    span: float
    delay: float | None


class RateController:
    """A controller of shapers. Declare parameters (`Param`), set `every` and override `decide`.

    Each run has an instance. A class has a `name` (by default its own, in small letters: MyController is
    "my-controller"), which scenarios name as `law`. `every` is the time between decisions, text or seconds.
    InputError if the class cannot be used.
    """

    name: ClassVar[str]
    every: str | float = "100 ms"

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Add the class to those that a scenario may name, where it replaces an earlier one of the same name."""
        super().__init_subclass__(**kwargs)
        cls.name = str(cls.__dict__.get("name", dashed(cls.__name__)))
        for name, param in _params(cls).items():
            _value(cls.name, name, param, as_text(param.default))
        _CLASSES[cls.name] = cls

    def __init__(self, **parameters: str | float | bool) -> None:
        params = _params(type(self))
        for name in parameters.keys() - params.keys():
            raise unknown(f"{self.name}.{name}", "no parameter is called", name, params)
        self._given = {name: as_text(value) for name, value in parameters.items()}
        for name, param in params.items():
            text = self._given.get(name, as_text(param.default))
            self.__dict__[name] = _value(self.name, name, param, text)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def __str__(self) -> str:
        """Return it as a scenario names it: "cake-autorate:delay_thr=20ms"."""
        return spelled(self.name, self._given)

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
"""The class that each name stands for."""


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


def _params(cls: type) -> Mapping[str, Param]:
    named = dict.fromkeys(name for base in reversed(cls.__mro__) for name in base.__dict__)
    return {name: param for name in named if isinstance(param := getattr(cls, name, None), Param)}


def _value(law: str, name: str, param: Param, text: str) -> Any:
    """The value of a parameter in base units; InputError for text that is none, or is out of its range."""
    field = f"{law}.{name}"
    if isinstance(param.default, bool):
        if text not in ("true", "false"):
            raise InputError(field, f'"{text}": expected true or false')
        return text == "true"
    if param.choices:
        if text not in param.choices:
            raise unknown(field, "no choice is", text, param.choices)
        return text
    wanted, found = _core.quantity(as_text(param.default)), _core.quantity(text)
    if wanted is None:
        raise InputError(field, f'the default "{param.default}" is no quantity')
    if found is None or found[1] != wanted[1]:
        what = UNITS.get(wanted[1], "number")
        raise InputError(field, f'"{text}": expected a {what}, such as {as_text(param.default)}')
    if param.range:
        ends = [_core.quantity(as_text(end)) for end in param.range]
        if any(end is None for end in ends) or not ends[0][0] <= found[0] <= ends[1][0]:  # type: ignore[index]
            raise InputError(field, f'"{text}" is out of range: must lie in {param.range[0]} ..= {param.range[1]}')
    return found[0]
