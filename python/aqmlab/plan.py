"""The experiment file: scenarios, schemes, overrides and seeds, and the runs that they make together."""

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from aqmlab import _core, own
from aqmlab import scenario as worlds
from aqmlab._core import InputError
from aqmlab.experiments import MOST_SEEDS, check_schemes
from aqmlab.names import unknown

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KEYS = ("schema", "title", "scenarios", "aqms", "set", "seeds")
RANGE = ("from", "to", "steps", "scale")
SCALES = ("linear", "log")
MOST_STEPS = 1_000
MOST_RUNS = 1_000_000
LARGEST_SEED = 2**63 - 1
QUANTITY = re.compile(r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(.*?)\s*")

Pairs = tuple[tuple[str, str], ...]
"""Names with their values as text, such as ("w", "85 Hz")."""


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
    content: str

    @property
    def name(self) -> str:
        """What people call it."""
        return ", ".join([self.world.name, *(f"{path}={value}" for path, value in self.overrides), self.arm.aqm])

    @property
    def block(self) -> tuple[str, Pairs]:
        """What the schemes are compared in: the scenario with its overrides."""
        return self.world.name, self.overrides


@dataclass(frozen=True)
class Run:
    """One run of the experiment."""

    cell: Cell
    seed: int

    @property
    def key(self) -> str:
        """Hash of all that decides the result: scenario, scheme, parameters, seed and version."""
        return hashlib.sha256(f"{self.cell.content}\n{self.seed}".encode()).hexdigest()[:32]

    def labels(self) -> dict[str, Any]:
        """Return what the columns of a table say about the run before it is done."""
        cell = self.cell
        return {
            "key": self.key,
            "scenario": cell.world.name,
            "link": cell.link,
            **{f"set.{path}": value for path, value in cell.overrides},
            "aqm": cell.arm.aqm,
            **cell.arm.parameters(),
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
                "",
                "[set]",
                *(f"{_quoted(path)} = {_list(values)}" for path, values in self.overrides.items()),
                "",
            ]
        )


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
    overrides = {name: tuple(_values(f"set.{name}", value)) for name, value in _flat(data.get("set", {}))}
    seeds = _seeds(data.get("seeds", 1))
    runs = len(found) * len(arms) * len(seeds) * prod(map(len, overrides.values()))
    if runs > MOST_RUNS:
        raise InputError(f"experiment: {runs:,} runs; at most {MOST_RUNS:,}")
    title = data.get("title", path.stem)
    return Experiment(title, found, arms, overrides, seeds, tuple(_cells(found, arms, overrides)))


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


def _cells(found: Sequence[World], arms: Sequence[Arm], overrides: Mapping[str, tuple[str, ...]]) -> list[Cell]:
    """Return each scenario with each combination of overrides under each scheme, or raise all that is wrong."""
    problems: dict[str, str] = {}  # each with the first scenario that has it

    def block(world: World, values: Sequence[str]) -> list[Cell]:
        try:
            return _block(world, tuple(zip(overrides, values, strict=True)), arms)
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
    body = json.loads(parsed.resolved_json())
    del body["name"], body["title"]  # they decide nothing
    return [
        Cell(
            world,
            overrides,
            arm,
            parsed.links[0],
            json.dumps([_core.version(), body, parsed.scheme(arm.aqm), arm.code]),
        )
        for arm in arms
    ]


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
    grid = {name: _values(f"{path}.{name}", value) for name, value in entry.items() if name != "name"}
    if prod(map(len, grid.values())) > MOST_RUNS:
        raise InputError(f"experiment.{path}: more than {MOST_RUNS:,} combinations")
    return [_arm(entry["name"], tuple(zip(grid, values, strict=True)), folder) for values in product(*grid.values())]


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


def _flat(entry: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the paths and values of [set]; links.bottleneck.rate may be written with quotes or without."""
    if not isinstance(entry, dict):
        raise InputError(f"experiment.set: {entry!r}: expected a table of paths and values")
    for name, value in entry.items():
        if isinstance(value, dict) and "from" not in value:
            yield from _flat(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def _values(path: str, value: Any) -> list[str]:
    """Return the values of a dimension as texts: of a list, of a range, or the one value."""
    if isinstance(value, dict):
        return _range(f"experiment.{path}", value)
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(each, str | int | float) for each in values):
        raise InputError(f"experiment.{path}: {value!r}: expected a text, a number, or a list of them")
    return list(dict.fromkeys(str(each).lower() if isinstance(each, bool) else str(each) for each in values))


def _range(path: str, entry: Mapping[str, Any]) -> list[str]:
    """Return the values of { from = "50 Hz", to = "400 Hz", steps = 4, scale = "log" }, both ends included."""
    for key in entry.keys() - set(RANGE):
        raise unknown(path, "unknown key", key, RANGE)
    (low, unit), (high, other) = (_quantity(f"{path}.{end}", entry.get(end)) for end in ("from", "to"))
    steps, scale = entry.get("steps"), entry.get("scale", "linear")
    if unit != other:
        raise InputError(f'{path}: from is in "{unit}", to in "{other}"; write both in one unit')
    if not isinstance(steps, int) or isinstance(steps, bool) or not 2 <= steps <= MOST_STEPS:
        raise InputError(f"{path}.steps: {steps!r}: expected a number of values, 2 to {MOST_STEPS}")
    if scale not in SCALES:
        raise unknown(f"{path}.scale", "unknown scale", str(scale), SCALES)
    if scale == "log" and not low * high > 0:
        raise InputError(f"{path}: {low:g} to {high:g}: both ends of a log range have one sign and are not 0")
    parts = [i / (steps - 1) for i in range(steps)]
    numbers = [low * (high / low) ** part if scale == "log" else low + (high - low) * part for part in parts]
    return [f"{number:.6g} {unit}".strip() for number in numbers]


def _quantity(path: str, value: Any) -> tuple[float, str]:
    match = None if isinstance(value, bool) else QUANTITY.fullmatch(str(value))
    try:
        return (float(match[1]), match[2]) if match else _no_quantity(path, value)
    except ValueError:
        return _no_quantity(path, value)


def _no_quantity(path: str, value: Any) -> tuple[float, str]:
    raise InputError(f'{path}: {value!r}: expected a number with its unit, such as "50 Hz"')


def _seeds(seeds: Any) -> tuple[int, ...]:
    wanted = f"expected how many (1 to {MOST_SEEDS}) or a list of different numbers from 0"
    given = list(range(1, min(seeds, MOST_SEEDS + 1) + 1)) if type(seeds) is int else seeds
    if not isinstance(given, list) or not all(type(each) is int and 0 <= each <= LARGEST_SEED for each in given):
        raise InputError(f"experiment.seeds: {seeds!r}: {wanted}")
    if not 1 <= len(given) <= MOST_SEEDS or len(set(given)) < len(given):
        raise InputError(f"experiment.seeds: {seeds!r}: {wanted}")
    return tuple(given)


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
