"""The space of a search: the parameters of a scheme, each from a lowest to a highest value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aqmlab import catalogue, quantities
from aqmlab._core import Scenario
from aqmlab.catalogue import Parameter
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.runs.grid import number

SPAN = 30.0
"""A range that is not given goes from the value in use divided by this to the value times this."""

DECADE = 10.0
"""A range that spans as much, and does not touch 0, is searched by its logarithm."""

FIXED_UNITS = ("B",)
"""Units of parameters that describe packets, which are searched only if they are named."""

DIGITS = 6
"""Significant digits of a value; people type it."""


@dataclass(frozen=True)
class Dimension:
    """One parameter that is searched: numbers in base units from `low` to `high`, or words."""

    name: str
    unit: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[str, ...] = ()

    def text(self, value: float | str) -> str:
        """Return a value as it is written after the name of a scheme."""
        if isinstance(value, str):
            return value
        rounded = float(f"{value:.{DIGITS}g}")
        return quantities.written(rounded, self.unit).replace(" ", "")

    def document(self) -> dict[str, Any]:
        """Return it for JSON, in base units."""
        if self.choices:
            return {"choices": list(self.choices)}
        return {"low": self.low, "high": self.high, "unit": self.unit, "log": self.log}


def space(
    scheme: str, scenarios: Sequence[Scenario], names: Sequence[str] | None, ranges: Mapping[str, str]
) -> tuple[Dimension, ...]:
    """Return what is searched of a scheme: the parameters `names`, or all that have a range or a positive number.

    What is written with the scheme ("pi:w=85Hz") stays as it is. InputError for unknown names and empty ranges.
    """
    if catalogue.by_link(scheme):
        raise InputError("aqm", f"{scheme}: tune one scheme, which all links use")
    name, given = catalogue.halves(scheme)
    declared = {each.name: each for each in catalogue.find(name).parameters}
    if not declared:
        raise InputError("tune", f'"{name}" has no parameters; nothing can be tuned')
    for asked in [*(names or ()), *ranges]:
        if asked not in declared:
            raise unknown("parameters", f"{name} has no parameter", asked, declared)
    fixed = {pair.partition("=")[0].strip() for pair in given.split(",")}
    for asked in fixed & {*(names or ()), *ranges}:
        raise InputError("parameters", f"{asked}: is set in {scheme}; leave it out there to tune it")
    used = scenarios[0].parameters(scheme)
    usual = [each for each in declared if each not in fixed and _usual(declared[each], used)]
    wanted = [*(usual if names is None else names), *ranges]
    found = [
        _dimension(declared[each], used[each], ranges.get(each), scheme, scenarios[0]) for each in dict.fromkeys(wanted)
    ]
    if not found:
        raise InputError(
            "tune",
            f'no parameter of "{name}" has a positive number here; give --range {next(iter(declared))}=LOW..HIGH',
        )
    return tuple(found)


def _usual(parameter: Parameter, used: Mapping[str, str]) -> bool:
    """Return whether a parameter is searched without being named."""
    value = quantities.number(used[parameter.name])
    return not isinstance(value, str) and value > 0 and parameter.unit not in FIXED_UNITS


def _dimension(parameter: Parameter, used: str, given: str | None, scheme: str, scenario: Scenario) -> Dimension:
    if parameter.choices:
        return Dimension(parameter.name, parameter.unit, choices=_choices(parameter, given))
    low, high = _ends(parameter, used, given)
    log = low > 0 and high / low >= DECADE
    unit = parameter.unit if (found := number(used)) is None or found[1] else ""  # some say theirs, and take none
    whole = _whole(parameter.name, unit, low, high, scheme, scenario)
    return Dimension(parameter.name, unit, low, high, log, whole)


def _choices(parameter: Parameter, given: str | None) -> tuple[str, ...]:
    words = tuple(given.split("|")) if given else parameter.choices or ()
    for word in words:
        if word not in (parameter.choices or ()):
            raise unknown(f"range.{parameter.name}", "no choice", word, parameter.choices or ())
    return words


def _ends(parameter: Parameter, used: str, given: str | None) -> tuple[float, float]:
    legal = (
        tuple(quantities.quantity(end) for end in parameter.range) if parameter.range else (float("-inf"), float("inf"))
    )
    if given is None:
        value = quantities.number(used)
        if isinstance(value, str) or value <= 0:
            raise InputError("parameters", f"{parameter.name}: is {used} here; give --range {parameter.name}=LOW..HIGH")
        return max(legal[0], value / SPAN), min(legal[1], value * SPAN)
    ends = [quantities.number(end.strip()) for end in given.split("..")]
    if len(ends) != 2 or isinstance(ends[0], str) or isinstance(ends[1], str):
        raise InputError("range", f"{parameter.name}={given}: write LOW..HIGH, such as {parameter.name}={used}..{used}")
    low, high = float(ends[0]), float(ends[1])
    if low >= high:
        raise InputError("range", f"{parameter.name}={given}: is empty; the lower end comes first")
    if low < legal[0] or high > legal[1]:
        raise InputError("range", f"{parameter.name}={given}: outside the range of {parameter.name}, {parameter.legal}")
    return low, high


def _whole(name: str, unit: str, low: float, high: float, scheme: str, scenario: Scenario) -> bool:
    """Return whether a parameter takes whole numbers only: one in its range, and nothing between it and the next."""
    if high < 1 or high - low < 1:
        return False
    least = float(int(max(low, 1)))
    texts = (quantities.written(value, unit) for value in (least, least + 0.5))
    return [_taken(scheme, name, text, scenario) for text in texts] == [True, False]


def _taken(scheme: str, name: str, value: str, scenario: Scenario) -> bool:
    try:
        scenario.parameters(with_values(scheme, {name: value}))
    except InputError:
        return False
    return True


def with_values(scheme: str, values: Mapping[str, str]) -> str:
    """Return a scheme with parameters added."""
    pairs = ",".join(f"{name}={value}" for name, value in values.items())
    if not pairs:
        return scheme
    return f"{scheme}{',' if catalogue.halves(scheme)[1] else ':'}{pairs}"
