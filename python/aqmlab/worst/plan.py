"""The plan of a search for the worst case, read and checked before anything runs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path as File
from typing import Any, Literal

from aqmlab import catalogue, laws, own
from aqmlab._core import Scenario
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.runs.task import ENGINES, LINUX, SIM
from aqmlab.tune.plan import Budget
from aqmlab.worst import score, spaces
from aqmlab.worst.document import Document, Path, groups, leaves, written
from aqmlab.worst.score import Criterion
from aqmlab.worst.spaces import MAIN, Space

Kind = Literal["scheme", "controller"]

PEERS: Mapping[Kind, tuple[str, ...]] = {"scheme": ("codel", "pie", "fq-codel"), "controller": ("reno", "cubic")}
"""The peers by default; the target is left out."""

OTHER_STREAM = 1_000_000
"""Added to the seed of a peer that is the target itself: its random streams differ."""

MOST_EVENTS = 40_000_000
"""Of a run, which then counts as failed: a search stops for no scenario."""


@dataclass(frozen=True)
class Contender:
    """The target or a peer: a scheme or a controller, the engine, and what is added to its seeds."""

    name: str
    spec: str
    kind: Kind
    engine: str = SIM
    shift: int = 0

    def overrides(self, document: Document) -> list[tuple[str, str]]:
        """Return what it sets in a scenario."""
        if self.kind == "scheme":
            return []
        return [(f"flows.{name}.tcp.congestion_control", self.spec) for name in searched(document)]

    def scenario(self, document: Document, name: str = "worst") -> Scenario:
        """Return a scenario for it; InputError if the document is none."""
        return Scenario.parse(written(document), name, self.overrides(document))

    @property
    def aqm(self) -> str | None:
        """The scheme of all links; None for the scenario's own."""
        return self.spec if self.kind == "scheme" else None


def searched(document: Document) -> list[str]:
    """Return the groups of flows that use a controller that is searched: the main one, or all TCP flows without one."""
    names = [str(each["name"]) for each in groups(document) if "name" in each]
    if MAIN in names:
        return [MAIN]
    scenario = Scenario.parse(written(document), "worst")
    return [name for name in scenario.flows if scenario.group(name).is_tcp]


@dataclass(frozen=True)
class WorstPlan:
    """A search: the target, its peers, the measures, the space and the budget."""

    target: Contender
    peers: tuple[Contender, ...]
    criteria: tuple[Criterion, ...]
    space: Space
    budget: Budget
    seed: int
    either_way: bool
    about: str
    """The space as it was asked for."""
    codes: Mapping[str, str]
    """Digests of the user's code by contender."""

    def __repr__(self) -> str:
        return f"<WorstPlan: {self.target.name} against {', '.join(each.name for each in self.peers)}, {self.budget}>"

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """The target, then its peers."""
        return (self.target, *self.peers)

    def document(self) -> dict[str, Any]:
        """Return the inputs that determine the runs of the search, for JSON."""
        return {
            "schema": 1,
            "target": self.target.spec,
            "kind": self.target.kind,
            "engine": self.target.engine,
            "against": [f"{each.spec} on {each.engine}" for each in self.peers],
            "by": [each.name for each in self.criteria],
            "space": sha256(repr(self.space).encode()).hexdigest()[:16],
            "seed": self.seed,
            "codes": dict(self.codes),
        }


def plan(
    target: str,
    *,
    space: Sequence[str] = (),
    around: str | None = None,
    by: Sequence[str] = (),
    against: Sequence[str] = (),
    between: Sequence[str] = (),
    budget: str = "300 s",
    seed: int = 1,
) -> WorstPlan:
    """Read and check everything that a search is asked for.

    `target` is a scheme or a controller, or a user's file with either. `between` is ("sim", "linux") for the largest
    difference of the engines, or another scheme or controller for the largest difference in either direction.
    InputError for an unknown name, a space in which nothing varies, and a target that cannot run in the space.
    """
    kind, spec = _target(target)
    if against and between:
        raise InputError("between", "cannot be combined with --against; leave out one of the two")
    contender = Contender(target, spec, kind)
    is_of_engines = set(between) == set(ENGINES)
    peers = _between(contender, between) if between else _against(contender, against)
    usual = score.OF_ENGINES if between else score.OF_SCHEMES if kind == "scheme" else score.OF_CONTROLLERS
    names = tuple(space) or (() if around else spaces.BUILT_IN)
    read = _without_own(spaces.read(names, around), kind)
    found = WorstPlan(
        contender,
        peers,
        score.criteria(by, usual),
        read,
        Budget.read(budget),
        seed,
        bool(between),
        around or ",".join(names),
        _codes([target, *against, *(() if is_of_engines else between)]),
    )
    if found.budget.runs is not None and found.budget.runs < 100 * len(found.contenders):
        raise InputError("runs", f"{found.budget.runs}: a search takes at least {100 * len(found.contenders)} runs")
    return found


def _target(text: str) -> tuple[Kind, str]:
    """Return whether a name or a file is a scheme or a controller, and its specification."""
    name = text.strip().partition(":")[0]
    if name.endswith((".py", *laws.LIBRARIES)):
        return ("controller", laws.law_spec(text)) if laws.defines(text) else ("scheme", own.spec(text))
    if name in {law.name for law in catalogue.laws()}:
        return "controller", text
    try:
        catalogue.find(name)
    except InputError as error:
        known = {*(law.name for law in catalogue.laws()), *(scheme.name for scheme in catalogue.schemes())}
        raise unknown("target", "no scheme and no controller", name, known) from error
    return "scheme", text


def _against(target: Contender, given: Sequence[str]) -> tuple[Contender, ...]:
    """Return the peers; one that is the target itself has other random streams."""
    names = given or [name for name in PEERS[target.kind] if name != target.spec]
    return tuple(_peer(target, name) for name in dict.fromkeys(names))


def _peer(target: Contender, name: str) -> Contender:
    kind, spec = _target(name)
    if kind != target.kind:
        raise InputError("against", f"{name}: is a {kind}, and {target.name} is a {target.kind}; compare two of a kind")
    is_same = spec == target.spec
    return Contender(f"{name} with other random numbers" if is_same else name, spec, kind, shift=OTHER_STREAM * is_same)


def _between(target: Contender, between: Sequence[str]) -> tuple[Contender, ...]:
    if set(between) == set(ENGINES):
        from aqmlab.kernel.images import newest

        newest()  # InputError if no kernel is built
        return (replace(target, name=f"{target.name} on Linux", engine=LINUX),)
    if len(between) != 1:
        raise InputError("between", f"{','.join(between)}: expected sim,linux, or one other scheme or controller")
    return (_peer(target, between[0]),)


def _without_own(space: Space, kind: Kind) -> Space:
    """Return the space without the values that the contenders set themselves."""
    if kind == "scheme":
        return spaces.without(
            space, [each.path for each in space.choices if each.path[0] == "links" and each.path[-1] == "aqm"]
        )
    names = [each.get("name") for each in groups(space.document)]
    at: list[Path] = []
    for path, _ in leaves(space.document):
        if path[0] == "flows" and path[-1] == "congestion_control" and names[int(path[1])] == MAIN:
            at.append(path)
    return spaces.without(space, at)


def _codes(names: Sequence[str]) -> dict[str, str]:
    """Return the digests of the user's files among the names."""
    found = {}
    for name in names:
        file = re.match(r"(.+?\.(?:py|so|dylib|dll))(?::|$)", name)
        if file:
            found[name] = sha256(File(file[1]).read_bytes()).hexdigest()
    return found
