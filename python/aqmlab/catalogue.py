"""Schemes, congestion controllers and TCP constants: the declarations of Rust, and the format of a list of schemes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isclose
from statistics import fmean
from typing import Any, NamedTuple

from aqmlab import _core
from aqmlab._core import Scenario
from aqmlab.problems import InputError

DEPLOYED = ("droptail", "codel", "pie", "fq-codel", "fq-pie", "cake", "dualpi2")
"""The schemes that Linux, routers and modems ship and that suit any link: those compared unless others are named."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a scheme; `default` and the two ends of `range` are texts that carry their unit.

    `tc` is what Linux's tc calls it, which we read as well, and the unit that tc gives it.
    """

    name: str
    unit: str
    default: str
    range: tuple[str, str] | None
    choices: tuple[str, ...] | None
    doc: str
    source: str
    tc: tuple[str, str] | None

    @property
    def legal(self) -> str:
        """The legal values, in words."""
        return " to ".join(self.range or ()) or ", ".join(self.choices or ()) or "any"


@dataclass(frozen=True)
class TcpConstant(Parameter):
    """A constant of TCP: `default` belongs to the profile rfc, `ns2` and `linux` to the profiles of that name."""

    ns2: str
    linux: str


@dataclass(frozen=True)
class Observable:
    """A value a scheme shows of its state, recorded as a time series."""

    name: str
    unit: str
    doc: str


@dataclass(frozen=True)
class Exempt:
    """A clause of the contract that a scheme by its nature does not satisfy, and why."""

    clause: str
    why: str


@dataclass(frozen=True)
class Standing:
    """The source of a scheme's algorithm; `why` says which part is not as its source prints it.

    `kind` is "published"; it is "fitted" if a constant or a reading was fitted to printed results. It is
    "reconstructed" if the source of a part is silent or was not available, and nothing was fitted.
    """

    kind: str
    why: str


@dataclass(frozen=True)
class Tc:
    """The Linux queueing discipline of the same kind as a scheme, and how the two differ."""

    kind: str
    note: str

    def __str__(self) -> str:
        return f"{self.kind} ({self.note})" if self.note else self.kind


OWN = "own"
"""The family of users' schemes."""

SIGNALS = {
    "never": "it never signals",
    "tail": "it signals arriving packets",
    "head": "it signals departing packets",
}
"""The place at which a scheme signals."""


@dataclass(frozen=True)
class Scheme:
    """One scheme as it declares itself; `page` is Markdown, `papers` the studies that measured it.

    `target` are the parameters whose mean is the queue that it steers to, the link's target where they are "auto" or
    there are none; None if it steers to no length. `signal` is where its signals fall in the fluid model: "tail",
    "head" or "never"; if it is excluded there, `no_signal` says why. `has_law` says whether `aqmlab analyse` knows it.
    `tc` is None if Linux does not have it.
    """

    name: str
    title: str
    family: str
    year: int
    source: str
    confidence: str
    standing: Standing
    papers: tuple[str, ...]
    summary: str
    page: str
    parameters: tuple[Parameter, ...]
    observables: tuple[Observable, ...]
    target: tuple[str, ...] | None
    signal: str | None
    no_signal: str | None
    has_law: bool
    exceptions: tuple[Exempt, ...]
    tc: Tc | None

    def __repr__(self) -> str:
        return f"<Scheme {self.name}: {', '.join(self.about)}>"

    @property
    def about(self) -> list[str]:
        """Its title, its family and the year of its source; a user's own scheme has no year."""
        return [self.title, self.family, *([] if self.is_own else [str(self.year)])]

    @property
    def is_own(self) -> bool:
        """It is a user's, which no source publishes and no study measures."""
        return self.family == OWN

    def facts(self) -> list[tuple[str, str]]:
        """Return further facts about the scheme in words: fluid model, linear control law, contract, Linux."""
        fluid = SIGNALS[self.signal] if self.signal else f"not supported: the scheme {self.no_signal}"
        law = f"aqmlab analyse {self.name}" if self.has_law else "none"
        known = [("Fluid model", fluid), ("Linear control law", law), ("Linux", str(self.tc) if self.tc else "none")]
        options = [f"{tc_name(each)} ({each.tc[1]})" for each in self.parameters if each.tc]
        known += [("Options of tc", ", ".join(options))] if self.tc and options else []
        return known + [("Contract", f"not satisfied: {each.clause}; {each.why}") for each in self.exceptions]


def tc_name(parameter: Parameter) -> str:
    """Return what tc calls a parameter, and what we do if that is something else."""
    name = parameter.tc[0] if parameter.tc else "none"
    return name if name == parameter.name else f"{name} for {parameter.name}"


@dataclass(frozen=True)
class Cost:
    """The cost of a scheme with its default parameters; times in s, as measured on this machine.

    `memory` is what its parameters and its state take, bytes: per queue in flow queueing; None for a scheme written in
    Python. `packet` is the time to enqueue and dequeue a packet, the discipline included. `update` is the time of a
    periodic update, None if there is none. `second` is the time for a second of the link. The queue is from Li et
    al. (2014), Table 1, which sends 5,625 packets/s.
    """

    parameters: int
    memory: int | None
    packet: float
    update: float | None
    update_every: float | None
    second: float


@dataclass(frozen=True)
class Law:
    """One congestion controller as it declares itself; `page` is Markdown.

    `asks` is what it requires beyond the state of every sender, `settings` the constants of TCP that it sets.
    """

    name: str
    title: str
    year: int
    source: str
    summary: str
    page: str
    parameters: tuple[Parameter, ...]
    asks: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]

    def facts(self) -> list[tuple[str, str]]:
        """Return further facts about the controller in words."""
        settings = ", ".join(f"{name} = {value}" for name, value in self.settings)
        return [("Requires", ", ".join(self.asks) or "nothing special"), ("Sets", settings or "nothing")]


@cache
def schemes() -> tuple[Scheme, ...]:
    """Return every published scheme, in the order of the catalogue."""
    return tuple(_scheme(entry) for entry in _core.catalogue())


def with_law() -> tuple[str, ...]:
    """Return the names of the schemes with a linear control law, in alphabetical order."""
    return tuple(sorted(scheme.name for scheme in schemes() if scheme.has_law))


def laws() -> tuple[Law, ...]:
    """Return every congestion controller that a scenario can name, under `tcp` of its flows; own ones included."""
    return tuple(
        Law(
            **entry
            | {
                "parameters": tuple(Parameter(**_tuples(item)) for item in entry["parameters"]),
                "asks": tuple(entry["asks"]),
                "settings": tuple((name, value) for name, value in entry["settings"]),
            }
        )
        for entry in _core.laws()
    )


@cache
def tcp_constants() -> tuple[TcpConstant, ...]:
    """Return every constant of TCP that a scenario can set, under `tcp` of its flows."""
    return tuple(TcpConstant(**_tuples(entry)) for entry in _core.tcp())


def find(name: str) -> Scheme:
    """Return the scheme of that name: a listed one, or `fq-` and the name of any scheme of a single queue.

    InputError with the nearest names if there is none.
    """
    return _scheme(_core.scheme(name))


def cost(name: str) -> Cost:
    """Measure what the scheme of that name costs. InputError with the nearest names if there is none."""
    return Cost(**_core.cost(name))


def title(spec: str) -> str:
    """Return the title of a scheme written `name` or `name:k=v,...`, with the parameters it was given.

    Schemes for single links, written "cake@up+codel@down", are "up: CAKE, down: CoDel".
    """
    if at := by_link(spec):
        return ", ".join(f"{link}: {title(each)}" for link, each in at.items())
    name, parameters = halves(spec)
    return find(name).title + (f" ({parameters})" if parameters else "")


def course(schemes: Sequence[tuple[str, str]]) -> str:
    """Return the schemes that a link had, with times as a result has them, in words: "DropTail, then CoDel at 30 s"."""
    (_, first), *later = schemes
    return ", then ".join([title(first), *(f"{title(scheme)} at {time}" for time, scheme in later)])


def departs(spec: str, link: str, schemes: Sequence[tuple[str, str]]) -> str:
    """Return what the schemes that a link had in a run under `spec` add to its title.

    Nothing if there was that one alone; ", then CoDel at 30 s" after a change; " (DropTail here)" at a link that keeps
    its own.
    """
    there, asked = course(schemes), title(by_link(spec).get(link, spec))
    if there == asked or there.startswith(f"{asked}, then "):
        return there.removeprefix(asked)
    return f" ({there} here)"


_AT = re.compile(r"@([\w-]+)(?:\+|$)")


def by_link(spec: str) -> dict[str, str]:
    """Return the schemes of "cake@up+codel:target=8ms@down" by link; nothing of a scheme for all links."""
    *pairs, rest = _AT.split(spec)
    if pairs and (rest or len(set(pairs[1::2])) < len(pairs[1::2])):
        raise InputError("aqm", f"{spec}: each link has one scheme; write it as in cake@up+codel:target=8ms@down")
    return dict(zip(map(str.strip, pairs[1::2]), map(str.strip, pairs[::2]), strict=True))


def halves(spec: str) -> tuple[str, str]:
    """Return name and parameters of a scheme; of schemes for single links the whole is the name."""
    name, _, parameters = (spec, "", "") if by_link(spec) else spec.partition(":")
    return name, parameters


def used(scenario: Scenario, link: str, spec: str | None) -> str:
    """Return the scheme of a link in a run under `spec`.

    The scenario's own counts at a link that "cake@up+codel@down" does not name, and at one whose scheme is fixed unless
    it is named so.
    """
    return used_at(next(each for each in scenario.resolved()["links"] if each["name"] == link), spec)


def used_at(link: Mapping[str, Any], spec: str | None) -> str:
    """Return the same; the link is one of `Scenario.resolved`."""
    at, name = by_link(spec or ""), link["name"]
    is_own = spec is None or (name not in at if at else link["fixed"])
    return str(link["aqm"]) if is_own else at.get(name, str(spec))


class Noted(NamedTuple):
    """A user's scheme as results describe it, its code not loaded: its title, and whether it uses a target."""

    title: str
    target: bool


NOTED: dict[str, Noted] = {}
"""By name, of the results that were read."""


def target(scenario: Scenario, link: str, spec: str) -> float | None:
    """Return the queue that a scheme steers a link of a scenario to, packets; None if it steers to no length."""
    scheme = used(scenario, link, spec)
    name = halves(scheme)[0]
    try:
        names = find(name).target
    except InputError:
        if name not in NOTED:
            raise
        names = () if NOTED[name].target else None
    if names is None:
        return None
    lengths = [found[0] for name in names if (found := _core.quantity(scenario.parameters(scheme)[name]))]
    return fmean(lengths) if lengths else scenario.link(link).target


def steers(scenario: Scenario, link: str, spec: str) -> bool:
    """Return whether a scheme steers to the target of a link."""
    aim = target(scenario, link, spec)
    return aim is not None and isclose(aim, scenario.link(link).target, rel_tol=1e-3)


def select(aqms: str | Sequence[str]) -> tuple[str, ...]:
    """Return the schemes meant by `aqms`, each once, in the order given.

    `aqms` is "deployed" (those that Linux, routers and modems ship), "seed-papers" (every scheme a paper of our studies
    measured), "all", a list such as "ared,pi:a=1e-5,b=9e-6,rem", or a sequence of single schemes. The scenario checks
    them.
    """
    if aqms == "all":
        return tuple(scheme.name for scheme in schemes())
    if aqms == "deployed":
        return DEPLOYED
    if aqms == "seed-papers":
        return tuple(scheme.name for scheme in schemes() if scheme.papers)
    specs = split(aqms) if isinstance(aqms, str) else list(aqms)
    return tuple(dict.fromkeys(specs))


def usual(scenario: str) -> tuple[str, ...]:
    """Return the schemes that are compared in a scenario unless others are named.

    In the scenario of a paper, such as li2014/table-1, they are the "seed-papers", and else the deployed ones.
    """
    studies = {paper for scheme in schemes() for paper in scheme.papers}
    folder, is_built_in, _ = scenario.partition("/")
    return select("seed-papers" if is_built_in and folder in studies else "deployed")


def split(text: str, field: str = "aqms", what: str = "scheme") -> list[str]:
    """Split a list of schemes, or of `what`, at its commas; `k=v` without a name belongs to the name before it."""
    specs: list[str] = []
    for item in (part.strip() for part in text.split(",")):
        if "=" not in item or ":" in item.partition("=")[0]:
            specs.append(item)
        elif specs and ":" in specs[-1]:
            specs[-1] += f",{item}"
        else:
            before = specs[-1] if specs else "NAME"
            for_a_link = "; a scheme for one link is written cake@up" if field == "aqms" else ""
            reason = f"{item}: a parameter needs its {what} before it; write {before}:{item}{for_a_link}"
            raise InputError(field, reason)
    example, every = ("pi,codel", ", or 'all'") if field == "aqms" else ("cubic,bbr3", "")
    if not text.strip():
        raise InputError(field, f"{text!r}: no {what}; expected names separated by commas, such as {example}{every}")
    if "" in specs:
        raise InputError(field, f"{text!r}: an empty name; write names separated by commas without spaces{every}")
    return specs


def _scheme(entry: dict[str, Any]) -> Scheme:
    return Scheme(
        **entry
        | {
            "standing": Standing(**entry["standing"]),
            "papers": tuple(entry["papers"]),
            "parameters": tuple(Parameter(**_tuples(item)) for item in entry["parameters"]),
            "observables": tuple(Observable(**item) for item in entry["observables"]),
            "target": None if entry["target"] is None else tuple(entry["target"]),
            "exceptions": tuple(Exempt(**item) for item in entry["exceptions"]),
            "tc": entry["tc"] and Tc(**entry["tc"]),
        }
    )


def _tuples(entry: dict[str, Any]) -> dict[str, Any]:
    limits, choices, tc = entry["range"], entry["choices"], entry["tc"]
    return entry | {
        "tc": (tc[0], tc[1]) if tc else None,
        "range": (limits[0], limits[1]) if limits else None,
        "choices": tuple(choices) if choices else None,
    }
