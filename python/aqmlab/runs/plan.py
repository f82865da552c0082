"""The experiment file: scenarios, schemes, overrides and seeds, and the runs that they make together."""

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import cache
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from aqmlab import _core, own
from aqmlab import scenario as worlds
from aqmlab._core import InputError
from aqmlab.names import unknown
from aqmlab.runs import grid
from aqmlab.runs.experiments import MOST_SEEDS, check_schemes
from aqmlab.runs.task import Task

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KEYS = ("schema", "title", "scenarios", "aqms", "set", "seeds", "warmup")
MSER = "mser"
MOST_RUNS = 1_000_000
LARGEST_SEED = 2**63 - 1

Pairs = tuple[tuple[str, str], ...]
"""Names with their values as text, such as ("w", "85 Hz")."""

Block = tuple[str, Pairs]
"""What schemes are compared in: the name of a scenario, and what is set of it."""


@dataclass(frozen=True)
class World:
    """A scenario of the experiment: its name, the text of its file, and whether it is built in."""

    name: str
    text: str
    builtin: bool


@dataclass(frozen=True)
class Arm:
    """A scheme with its parameters: `aqm` as the catalogue calls it, `given` as `own.spec` reads it anywhere."""

    aqm: str
    given: str
    code: str
    """The text of the Python file of one's own scheme; empty for any other."""

    def parameters(self) -> dict[str, str]:
        """Return what is set of the scheme: {"pi.w": "85 Hz"}."""
        name, _, given = self.aqm.partition(":")
        pairs = (pair.partition("=") for pair in given.split(",") if pair)
        return {f"{name}.{key.strip()}": value.strip() for key, _, value in pairs}

    @property
    def portable(self) -> str:
        """`given`, the file of one's own scheme being in schemes/."""
        file = _file(self.given)
        return self.given.replace(file, f"schemes/{Path(file).name}", 1) if self.code else self.given


@dataclass(frozen=True)
class Cell:
    """What seeds repeat: a scenario with overrides under a scheme. `content` is all that decides the result."""

    world: World
    overrides: Pairs
    arm: Arm
    link: str
    """The first link of the scenario, which summaries are about."""
    duration: float
    """Of a run, s."""
    content: str
    scenario: _core.Scenario = field(compare=False)

    @property
    def name(self) -> str:
        """What people call it."""
        return ", ".join([self.world.name, *(f"{path}={value}" for path, value in self.overrides), self.arm.aqm])

    @property
    def block(self) -> Block:
        """What the schemes are compared in: the scenario with its overrides."""
        return self.world.name, self.overrides


@dataclass(frozen=True)
class Run:
    """One run of the experiment."""

    cell: Cell
    seed: int

    @property
    def key(self) -> str:
        """Hash of all that decides the result: scenario, scheme, parameters, seed, and the code that runs them."""
        return hashlib.sha256(f"{self.cell.content}\n{self.seed}".encode()).hexdigest()[:32]

    def task(self, *, series: bool = False) -> Task:
        """Return the run as workers take it."""
        return Task(self.cell.scenario, self.cell.arm.given, self.seed, series)

    def labels(self) -> dict[str, Any]:
        """Return what the columns of a table say about the run before it is done."""
        cell = self.cell
        return {
            "key": self.key,
            "scenario": cell.world.name,
            "link": cell.link,
            **_with_numbers({f"set.{path}": value for path, value in cell.overrides}),
            "aqm": cell.arm.aqm,
            **_with_numbers(cell.arm.parameters()),
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Experiment:
    """An experiment, all grids expanded."""

    title: str
    worlds: tuple[World, ...]
    arms: tuple[Arm, ...]
    overrides: Mapping[str, tuple[str, ...]]
    seeds: tuple[int, ...]
    cells: tuple[Cell, ...]
    warmup: "Mapping[str, str] | str"
    """Warm-up by scenario, where another than its own is asked for; or "mser", until pilot runs have told."""

    def first_seeds(self, n: int) -> tuple[int, ...]:
        """Return `n` seeds: those of the experiment, then the next higher numbers."""
        after = max(self.seeds) + 1
        return (*self.seeds, *range(after, after + n))[:n]

    def runs(self, seeds: Mapping[Cell, int] | None = None) -> list[Run]:
        """Return the runs in their order: by cell, then by seed; `seeds` says how many a cell has if not all alike."""
        return [
            Run(cell, seed)
            for cell in self.cells
            for seed in self.first_seeds((seeds or {}).get(cell, len(self.seeds)))
        ]

    def files(self) -> dict[str, str]:
        """Return the files that repeat the experiment: experiment.toml, and the scenarios and schemes of one's own."""
        own_worlds = {f"scenarios/{world.name}.toml": world.text for world in self.worlds if not world.builtin}
        own_arms = {_file(arm.portable): arm.code for arm in self.arms if arm.code}
        return {"experiment.toml": self._toml(), **own_worlds, **own_arms}

    def _toml(self) -> str:
        lists = {
            "scenarios": [world.name if world.builtin else f"scenarios/{world.name}.toml" for world in self.worlds],
            "aqms": [arm.portable for arm in self.arms],
        }
        return "\n".join(
            [
                "schema = 1",
                f"title = {_quoted(self.title)}",
                *(f"{key} = {_list(values)}" for key, values in lists.items()),
                f"seeds = {list(self.seeds)}",
                *([f"warmup = {_quoted(self.warmup)}"] if isinstance(self.warmup, str) else []),
                "",
                "[set]",
                *(f"{_quoted(path)} = {_list(values)}" for path, values in self.overrides.items()),
                "",
                *self._warmup_table(),
            ]
        )

    def _warmup_table(self) -> list[str]:
        if isinstance(self.warmup, str) or not self.warmup:
            return []
        return ["[warmup]", *(f"{_quoted(name)} = {_quoted(value)}" for name, value in self.warmup.items()), ""]


def with_warmup(asked: Experiment, warmup: Mapping[str, str]) -> Experiment:
    """Return the experiment with these warm-ups, by scenario."""
    cells = _cells(asked.worlds, asked.arms, asked.overrides, warmup)
    return replace(asked, warmup=dict(warmup), cells=tuple(cells))


def read(path: str | os.PathLike[str]) -> Experiment:
    """Return the experiment of a TOML file; docs/sweeps.md describes it.

    Paths in it are relative to its folder. Raises InputError with the first mistake of the file, or with every mistake
    that its values make in its scenarios and schemes.
    """
    path = Path(path)
    data = _parse(path)
    _check(data)
    found = _worlds(data["scenarios"], path.parent)
    arms = _arms(data["aqms"], path.parent)
    overrides = {name: tuple(grid.values_of(f"set.{name}", value)) for name, value in grid.flat(data.get("set", {}))}
    seeds = _seeds(data.get("seeds", 1))
    runs = len(found) * len(arms) * len(seeds) * prod(map(len, overrides.values()))
    if runs > MOST_RUNS:
        raise InputError(f"experiment: {runs:,} runs; at most {MOST_RUNS:,}")
    warmup = _warmup(data.get("warmup", {}), found, overrides)
    cells = _cells(found, arms, overrides, {} if isinstance(warmup, str) else warmup)
    return Experiment(data.get("title", path.stem), found, arms, overrides, seeds, tuple(cells), warmup)


def _check(data: Mapping[str, Any]) -> None:
    for key in data.keys() - set(KEYS):
        raise unknown("experiment", "unknown key", key, KEYS)
    for key in ("schema", "scenarios", "aqms"):
        if key not in data:
            raise InputError(f"experiment.{key}: missing; an experiment has schema = 1, scenarios and aqms")
    if type(data["schema"]) is not int or data["schema"] != 1:
        raise InputError(f"experiment.schema: {data['schema']!r}: this version reads schema 1")
    if not isinstance(data.get("title", ""), str):
        raise InputError(f"experiment.title: {data['title']!r}: expected a text")


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(worlds.read_file(path, "experiment"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"experiment: {path}: no TOML ({error})") from error


def _cells(
    found: Sequence[World], arms: Sequence[Arm], overrides: Mapping[str, tuple[str, ...]], warmup: Mapping[str, str]
) -> list[Cell]:
    """Return each scenario with each combination of overrides under each scheme, or raise all that is wrong."""
    problems: dict[str, str] = {}  # each with the first scenario that has it

    def block(world: World, values: Sequence[str]) -> list[Cell]:
        try:
            more = {"warmup": warmup[world.name]} if world.name in warmup else {}
            return _block(world, (*zip(overrides, values, strict=True), *more.items()), arms)
        except InputError as error:
            for line in str(error).splitlines():
                problems.setdefault(line, world.name)
            return []

    cells = [cell for world in found for values in product(*overrides.values()) for cell in block(world, values)]
    if problems:
        raise InputError("\n".join(f"{name}: {problem}" for problem, name in problems.items()))
    return cells


def _block(world: World, overrides: Pairs, arms: Sequence[Arm]) -> list[Cell]:
    """Return a scenario with its overrides under each scheme."""
    parsed = _core.Scenario.parse(world.text, world.name, list(overrides))
    check_schemes(parsed, [arm.aqm for arm in arms])
    body = parsed.resolved()
    del body["name"], body["title"]  # they decide nothing
    return [
        Cell(
            world,
            overrides,
            arm,
            parsed.links[0],
            parsed.duration,
            json.dumps([*_engine(), body, parsed.parameters(arm.aqm), arm.aqm.partition(":")[0], arm.code]),
            parsed,
        )
        for arm in arms
    ]


@cache
def _engine() -> list[str]:
    """What runs the experiment: the version, the Rust sources, and the file of an engine with schemes of one's own."""
    extended = _core.__name__ != "aqmlab._core"
    more = [hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()] if extended else []
    return [_core.version(), _core.source(), *more]


def _with_numbers(given: Mapping[str, str]) -> dict[str, str | float]:
    """Return what is given, each text followed by its number: {"pi.w": "1 kHz", "pi.w (Hz)": 1000.0}."""
    found: dict[str, str | float] = {}
    for name, text in given.items():
        found[name] = text
        if number := _core.quantity(text):
            found[f"{name} ({number[1]})"] = number[0]
    return found


def _worlds(names: Any, folder: Path) -> tuple[World, ...]:
    found: dict[str, World] = {}
    for name in _texts("scenarios", names):
        for world in _world(name, folder):
            if found.setdefault(world.name, world) != world:
                raise InputError(f"experiment.scenarios: {name}: two scenarios are called {world.name}; rename a file")
    return tuple(found.values())


def _world(name: str, folder: Path) -> list[World]:
    """Return the scenario of a name or file, or all built-in ones that a pattern such as "li2014/*" fits."""
    known = worlds.scenarios()
    if "*" in name:
        chosen = [each for each in known if fnmatch(each, name) and worlds.original(each) == each]
        if not chosen:
            raise InputError(f"experiment.scenarios: {name}: no built-in scenario is called so")
        return [World(each, worlds.read(each)[1], builtin=True) for each in chosen]
    if not name.endswith(".toml"):
        if name not in known:
            raise unknown("experiment.scenarios", "no built-in scenario and no TOML file", name, known)
        return [World(*worlds.read(name), builtin=True)]
    return [World(*worlds.read(folder / name), builtin=False)]


def _arms(aqms: Any, folder: Path) -> tuple[Arm, ...]:
    if isinstance(aqms, str):
        aqms = list(own.select(aqms))
    if not isinstance(aqms, list) or not aqms:
        raise InputError(f"experiment.aqms: {aqms!r}: expected a list of schemes, or seed-papers, or all")
    expanded = [arm for i, entry in enumerate(aqms) for arm in _expand(f"aqms.{i}", entry, folder)]
    return tuple({arm.aqm: arm for arm in expanded}.values())


def _expand(path: str, entry: Any, folder: Path) -> list[Arm]:
    """Return the schemes of an entry: one for a text, each combination of its parameters for a table."""
    if isinstance(entry, str):
        return [_arm(entry, (), folder)]
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise InputError(f'experiment.{path}: {entry!r}: expected "pi:w=85Hz" or {{ name = "pi", w = ["85 Hz"] }}')
    axes = {name: grid.values_of(f"{path}.{name}", value) for name, value in entry.items() if name != "name"}
    if prod(map(len, axes.values())) > MOST_RUNS:
        raise InputError(f"experiment.{path}: more than {MOST_RUNS:,} combinations")
    return [_arm(entry["name"], tuple(zip(axes, values, strict=True)), folder) for values in product(*axes.values())]


def _arm(name: str, parameters: Pairs, folder: Path) -> Arm:
    file = _file(name)
    path = (folder / file).resolve() if file.endswith(".py") else None
    given = name if path is None else name.replace(file, str(path), 1)
    if parameters:
        joint = "," if "=" in name else ":"
        given += joint + ",".join(f"{key}={value}" for key, value in parameters)
    spec = own.spec(given)
    return Arm(spec, given, path.read_text(encoding="utf-8") if path else "")


def _file(name: str) -> str:
    return name.partition(":")[0].strip()


def _seeds(seeds: Any) -> tuple[int, ...]:
    wanted = f"expected how many (1 to {MOST_SEEDS}) or a list of different numbers from 0"
    given = list(range(1, min(seeds, MOST_SEEDS + 1) + 1)) if type(seeds) is int else seeds
    if not isinstance(given, list) or not all(type(each) is int and 0 <= each <= LARGEST_SEED for each in given):
        raise InputError(f"experiment.seeds: {seeds!r}: {wanted}")
    if not 1 <= len(given) <= MOST_SEEDS or len(set(given)) < len(given):
        raise InputError(f"experiment.seeds: {seeds!r}: {wanted}")
    return tuple(given)


def _warmup(given: Any, found: Sequence[World], overrides: Mapping[str, object]) -> Mapping[str, str] | str:
    """Return "mser", or the warm-ups by scenario."""
    wanted = f'expected "{MSER}", or a table of scenarios and times, such as {{ "{found[0].name}" = "10 s" }}'
    if given != MSER and not (isinstance(given, dict) and all(isinstance(each, str) for each in given.values())):
        raise InputError(f"experiment.warmup: {given!r}: {wanted}")
    if given and "warmup" in overrides:
        raise InputError("experiment.warmup: set.warmup is given too; leave out one of them")
    for name in () if given == MSER else given:
        if name not in (known := [world.name for world in found]):
            raise unknown("experiment.warmup", "no scenario of the experiment", name, known)
    return given  # type: ignore[no-any-return]


def _texts(key: str, values: Any) -> list[str]:
    values = [values] if isinstance(values, str) else values
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        raise InputError(f"experiment.{key}: {values!r}: expected a list of names or files")
    return values


def _list(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, values))}]"


def _quoted(text: str) -> str:
    """A TOML string; JSON's escapes are a subset of TOML's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
