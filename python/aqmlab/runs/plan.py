"""The plan of a sweep: an experiment file with all its grids expanded, and its runs.

A plan is scenario files × overrides × arms × seeds. A condition is all of these but the seed.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatch
from functools import cache, cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from aqmlab import _core, catalogue, files, laws, own, scenario
from aqmlab.kernel import images
from aqmlab.names import unknown
from aqmlab.problems import InputError, Problem, located
from aqmlab.runs import MOST_SEEDS, grid
from aqmlab.runs.checks import check_engine, check_newest, check_schemes, check_set
from aqmlab.runs.program import Program, read_program
from aqmlab.runs.schemas import KEYS, LARGEST_SEED, MSER, REQUIRED
from aqmlab.runs.table import Case, Pairs
from aqmlab.runs.task import ENGINES, LINUX, SIM, Task

MOST_CONDITIONS = 50_000
"""Of an experiment: each takes some 90 microseconds to read."""
MOST_RUNS = 1_000_000


@dataclass(frozen=True)
class ScenarioFile:
    """A scenario before its values are set: its name, the text of its file, and the file unless it is built in."""

    name: str
    text: str
    path: str | None = field(default=None, compare=False)

    @property
    def builtin(self) -> bool:
        """It is one of the package's."""
        return self.path is None

    def parsed(self, overrides: Pairs) -> _core.Scenario:
        """The scenario with values set."""
        return scenario.parse(self.text, self.name, overrides, self.path)


@dataclass(frozen=True)
class Arm:
    """A scheme with its parameters: `aqm` as the catalogue calls it, `given` as `own.spec` reads it anywhere."""

    aqm: str
    given: str
    code: str
    """The text of the Python file of the user's own scheme; empty for any other."""

    @property
    def names(self) -> str | dict[str, str]:
        """The scheme without its parameters, or the schemes of single links."""
        at = catalogue.by_link(self.aqm)
        return {link: catalogue.halves(each)[0] for link, each in at.items()} or catalogue.halves(self.aqm)[0]

    def parameters(self) -> dict[str, str]:
        """Return what is set of the scheme: {"pi.w": "85 Hz"}; nothing of schemes for single links."""
        name, given = catalogue.halves(self.aqm)
        pairs = (pair.partition("=") for pair in given.split(",") if pair)
        return {f"{name}.{key.strip()}": value.strip() for key, _, value in pairs}

    @property
    def portable(self) -> str:
        """`given`, the file of the user's own scheme being in schemes/."""
        file = _file(self.given)
        return self.given.replace(file, f"schemes/{Path(file).name}", 1) if self.code else self.given


@dataclass(frozen=True)
class ChosenLaw:
    """The congestion control of all TCP flows: its name with parameters, and the digest of the user's code."""

    name: str
    digest: str | None

    @classmethod
    def of(cls, law: laws.Law | None) -> "ChosenLaw | None":
        """Return what `laws.law_spec` reads; None for none."""
        return None if law is None else cls(laws.law_spec(law), laws.digest(law))


@dataclass(frozen=True)
class Condition:
    """A case under a scheme, which the seeds repeat. `content` is everything that decides the result but the seed."""

    case: Case
    arm: Arm
    content: str
    scenario: _core.Scenario = field(compare=False)
    engine: str = SIM
    program: Program | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """Its name for people."""
        return f"{self.case.name}, {self.arm.aqm}"

    @cached_property
    def hashed(self) -> "hashlib._Hash":
        """The beginning of each seed's key, hashed."""
        return hashlib.sha256(self.content.encode())

    @cached_property
    def labels(self) -> Mapping[str, Any]:
        """Its columns in a table."""
        return {
            "scenario": self.case.scenario,
            "link": self.case.link,
            **_with_numbers({f"set.{path}": value for path, value in self.case.overrides}),
            "aqm": self.arm.aqm,
            **_with_numbers(self.arm.parameters()),
            "engine": self.engine,
        }


@dataclass(frozen=True)
class PlannedRun:
    """One run of the plan."""

    condition: Condition
    seed: int

    @cached_property
    def key(self) -> str:
        """Hash of all that decides the result: scenario, scheme, parameters, seed, and the code that runs them."""
        found = self.condition.hashed.copy()
        found.update(f"\n{self.seed}".encode())
        return found.hexdigest()[:32]

    def task(self, *, series: bool = False) -> Task:
        """Return the run as workers take it."""
        condition = self.condition
        return Task(
            condition.scenario,
            condition.arm.given,
            self.seed,
            series,
            engine=condition.engine,
            program=condition.program,
        )

    def labels(self) -> dict[str, Any]:
        """Return what the columns of a table say about the run before it is done."""
        return {"key": self.key, **self.condition.labels, "seed": self.seed}


@dataclass(frozen=True)
class Plan:
    """The runs that a sweep is to do; `conditions` are in the order of the experiment file."""

    title: str
    scenarios: tuple[ScenarioFile, ...]
    arms: tuple[Arm, ...]
    overrides: Mapping[str, tuple[str, ...]]
    seeds: tuple[int, ...]
    conditions: tuple[Condition, ...]
    warmup: "Mapping[str, str] | str"
    """Warm-up by scenario, for those that do not keep their own; or "mser", until the pilot runs are done."""
    engine: str = SIM
    """Name of the engine, one of `ENGINES`."""
    law: ChosenLaw | None = None
    """The congestion control of all TCP flows, where the scenarios' own is not wanted."""
    program: Program | None = None
    """The program that sends over the scenarios' links, instead of their flows."""

    def __repr__(self) -> str:
        return f"<Plan: {self.title}, {len(self.conditions)} conditions, {len(self.seeds)} seeds>"

    def first_seeds(self, n: int) -> tuple[int, ...]:
        """Return `n` seeds: the plan's seeds, then the next higher numbers."""
        after = max(self.seeds) + 1
        return (*self.seeds, *range(after, after + n))[:n]

    def runs(self, seeds: Mapping[Condition, int] | None = None) -> list[PlannedRun]:
        """Return the runs by condition, then by seed; `seeds` says how many seeds a condition has if not the usual."""
        return [
            PlannedRun(condition, seed)
            for condition in self.conditions
            for seed in self.first_seeds((seeds or {}).get(condition, len(self.seeds)))
        ]

    def files(self) -> dict[str, str]:
        """Return the files that repeat the sweep: experiment.toml, and the user's scenarios and schemes."""
        scenarios = {f"scenarios/{file.name}.toml": file.text for file in self.scenarios if not file.builtin}
        schemes = {_file(arm.portable): arm.code for arm in self.arms if arm.code}
        return {"experiment.toml": self._toml(), **scenarios, **schemes}

    def session(self) -> dict[str, Any]:
        """Return what environment.json says of this plan: captions of own schemes; kernel, controller, program."""
        own = {catalogue.halves(arm.aqm)[0] for arm in self.arms if arm.code}
        schemes = {name: {"title": (at := catalogue.find(name)).title, "target": at.target is not None} for name in own}
        kernel = {"kernel": images.newest().name} if self.engine == LINUX else {}
        law = {"law": asdict(self.law)} if self.law and self.law.digest else {}
        program = {"program": self.program.command_lines()} if self.program else {}
        return ({"schemes": schemes} if schemes else {}) | kernel | law | program

    def _toml(self) -> str:
        lists = {
            "scenarios": [file.name if file.builtin else f"scenarios/{file.name}.toml" for file in self.scenarios],
            "aqms": [arm.portable for arm in self.arms],
        }
        return "\n".join(
            [
                "schema = 1",
                f"title = {_quoted(self.title)}",
                *(f"{key} = {_list(values)}" for key, values in lists.items()),
                f"seeds = {list(self.seeds)}",
                *([f"engine = {_quoted(self.engine)}"] if self.engine != SIM else []),
                *([f"law = {_quoted(self.law.name)}"] if self.law else []),
                *(_of_program(self.program) if self.program else []),
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


def _of_program(program: Program) -> list[str]:
    """Return the lines of an experiment file with a program; the folder of its files is not part of it."""
    lists = {"command": program.command, **{key: program.options[key] for key in ("serve", "also")}}
    measures = ", ".join(f"{_quoted(each.name)} = {_quoted(each.source)}" for each in program.measures)
    spread = program.options["start_spread"]
    return [
        *(f"{key} = {_list(texts)}" for key, texts in lists.items() if texts),
        f"measure = {{ {measures} }}",
        *([f'start_spread = "{spread} s"'] if spread else []),
    ]


def with_warmup(plan: Plan, warmup: Mapping[str, str]) -> Plan:
    """Return the plan with these warm-ups, by scenario."""
    by = (plan.engine, plan.law, plan.program)
    conditions = _conditions(plan.scenarios, plan.arms, plan.overrides, warmup, *by)
    return replace(plan, warmup=dict(warmup), conditions=tuple(conditions))


def read(
    path: str | os.PathLike[str],
    more: Pairs = (),
    engine: str | None = None,
    law: laws.Law | None = None,
    traces: Path | None = None,
) -> Plan:
    """Return the plan of an experiment file, with more values set if it does not set them; docs/sweeps.md describes it.

    `engine` does the runs and `law` (as of `aqmlab.run`) controls all TCP flows instead of those that the file names.
    Paths in it are relative to its folder; traces must be in the folder of their scenario, or below `traces`. Raises
    InputError with the first mistake of the file, or with every mistake that its values make in its scenarios and
    schemes.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError("experiment", f"{path!r}: expected the path of an experiment file, or a Plan")
    path = Path(path)
    text = scenario.read_file(path, "experiment")
    with located("experiment.", text, str(path)):
        return _read(path, _core.read_toml(text, str(path)), more, engine, ChosenLaw.of(law), traces)


def _read(
    path: Path, data: Mapping[str, Any], more: Pairs, engine: str | None, law: ChosenLaw | None, traces: Path | None
) -> Plan:
    _check(data, path)
    overrides = {name: tuple(grid.values_of(f"set.{name}", value)) for name, value in grid.flat(data.get("set", {}))}
    overrides = {name: (value,) for name, value in more if name not in overrides} | overrides
    values = [value for given in overrides.values() for value in given]
    scenarios = _scenarios(data["scenarios"], path.parent, values, traces)
    arms = _arms(data["aqms"], path.parent)
    seeds = _seeds(data.get("seeds", 1))
    conditions = len(scenarios) * len(arms) * prod(map(len, overrides.values()))
    for number, most, of in ((conditions * len(seeds), MOST_RUNS, "runs"), (conditions, MOST_CONDITIONS, "conditions")):
        if number > most:
            raise InputError("experiment", f"{number:,} {of}; at most {most:,}")
    warmup = _warmup(data.get("warmup", {}), scenarios, overrides)
    given = {} if isinstance(warmup, str) else warmup
    law = law or _law(data.get("law"))
    found = read_program(data, path.parent)
    engine = engine or data.get("engine", LINUX if found else SIM)
    check_newest(engine)
    if found:
        _check_program(engine, law, warmup)
    each = tuple(_conditions(scenarios, arms, overrides, given, engine, law, found))
    return Plan(data.get("title", path.stem), scenarios, arms, overrides, seeds, each, warmup, engine, law, found)


def _check_program(engine: str, law: ChosenLaw | None, warmup: Mapping[str, str] | str) -> None:
    """Refuse what only simulated flows have."""
    if engine != LINUX:
        raise InputError("engine", f"{engine}: a command runs on {LINUX} only; leave out the engine")
    if law:
        raise InputError("law", f"{law.name}: a command has the kernel's TCP; leave out the controller")
    if isinstance(warmup, str):
        raise InputError("experiment.warmup", f'{warmup!r}: a command has no pilot runs; set it, such as "2 s"')


def _check(data: Mapping[str, Any], path: Path) -> None:
    if "links" in data and "scenarios" not in data:
        raise InputError("experiment", f'{path}: is a scenario; an experiment names it: scenarios = ["{path.name}"]')
    for key in data:
        if key not in KEYS:
            reason = f"unknown key; {_core.hint(key, sorted(KEYS))}"
            raise InputError(Problem(f"experiment.{key}", reason, "key"))
    for key in REQUIRED:
        if key not in data:
            raise InputError(
                f"experiment.{key}", "missing; an experiment has schema = 1, scenarios and aqms", "missing"
            )
    if type(data["schema"]) is not int or data["schema"] != 1:
        raise InputError("experiment.schema", f"{data['schema']!r}: this version reads schema 1")
    if not isinstance(data.get("title", ""), str):
        raise InputError("experiment.title", f"{data['title']!r}: expected a text")
    if not isinstance(data.get("engine", ""), str):
        raise InputError("experiment.engine", f"{data['engine']!r}: expected one of {', '.join(ENGINES)}")


def _conditions(
    scenarios: Sequence[ScenarioFile],
    arms: Sequence[Arm],
    overrides: Mapping[str, tuple[str, ...]],
    warmup: Mapping[str, str],
    engine: str,
    law: ChosenLaw | None,
    program: Program | None,
) -> list[Condition]:
    """Return each scenario with each combination of overrides under each scheme, or raise everything that is wrong."""
    problems: dict[Problem, str] = {}  # each with the first scenario that has it

    def of_case(file: ScenarioFile, values: Sequence[str]) -> list[Condition]:
        try:
            more = {"warmup": warmup[file.name]} if file.name in warmup else {}
            return _of_case(file, (*zip(overrides, values, strict=True), *more.items()), arms, engine, law, program)
        except InputError as error:
            for problem in error.problems:
                problems.setdefault(problem, file.name)
            return []

    found = [each for file in scenarios for values in product(*overrides.values()) for each in of_case(file, values)]
    if problems:
        raise InputError(*(_of_scenario(name, problem) for problem, name in problems.items()))
    return found


def _of_scenario(name: str, problem: Problem) -> Problem:
    """Say which scenario a problem is of, unless its location does."""
    return problem if problem.location else problem._replace(path=f"{name}: {problem.path}")


def _of_case(
    file: ScenarioFile,
    overrides: Pairs,
    arms: Sequence[Arm],
    engine: str,
    law: ChosenLaw | None,
    program: Program | None,
) -> list[Condition]:
    """Return a scenario with its overrides under each scheme, by an engine that can do all of them."""
    parsed = scenario.with_warnings(file.parsed(overrides))
    named = ", ".join([file.name, *map("=".join, overrides), *([f"law={law.name}"] if law else [])])
    if law:
        overrides = (*overrides, *laws.of_law(parsed, law.name).items())
        parsed = file.parsed(overrides)
    specs = [arm.aqm for arm in arms]
    check_set(parsed, specs)
    check_schemes(parsed, specs)
    if program:
        program.check(specs)
    else:
        check_engine(engine, parsed, specs)
    body = parsed.resolved()
    del body["name"], body["title"]  # they decide nothing
    case = Case(file.name, parsed.links[0], overrides, named)
    code = [law.digest] if law and law.digest else program.content() if program else []
    return [
        Condition(
            case,
            arm,
            json.dumps([*_made_by(engine), body, parsed.parameters(arm.aqm), arm.names, arm.code, *code]),
            parsed,
            engine,
            program,
        )
        for arm in arms
    ]


@cache
def _made_by(engine: str) -> list[str]:
    """The code that does the runs: version, Rust sources, the file of an engine with the user's schemes; the kernel."""
    extended = _core.__name__ != "aqmlab._core"
    more = [hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()] if extended else []
    kernel = [LINUX, images.newest().digest] if engine == LINUX else []
    return [_core.version(), _core.source(), *more, *kernel]


def _with_numbers(given: Mapping[str, str]) -> dict[str, str | float]:
    """Return what is given, each text followed by its number: {"pi.w": "1 kHz", "pi.w (Hz)": 1000.0}."""
    found: dict[str, str | float] = {}
    for name, text in given.items():
        found[name] = text
        if number := _core.quantity(text):
            found[f"{name} ({number[1]})"] = number[0]
    return found


def _scenarios(names: Any, folder: Path, values: Sequence[str], traces: Path | None) -> tuple[ScenarioFile, ...]:
    """Return the scenarios with the traces that they, or values to be set, name."""
    found: dict[str, ScenarioFile] = {}
    for name in _texts("scenarios", names):
        for file in _files(name, folder, values, traces):
            if found.setdefault(file.name, file) != file:
                raise InputError("experiment.scenarios", f"{name}: two scenarios are called {file.name}; rename a file")
    return tuple(found.values())


def _files(name: str, folder: Path, values: Sequence[str], traces: Path | None) -> list[ScenarioFile]:
    """Return the scenario of a name or file, or all built-in ones that a pattern such as "li2014/*" fits."""
    known = scenario.scenarios()
    if "*" in name:
        chosen = [each for each in known if fnmatch(each, name) and scenario.original(each) == each]
        if not chosen:
            raise InputError("experiment.scenarios", f"{name}: no built-in scenario has this name")
        return [ScenarioFile(each, scenario.read(each)[1]) for each in chosen]
    if not name.endswith(".toml"):
        if name not in known:
            raise unknown("experiment.scenarios", "no built-in scenario and no TOML file", name, known)
        return [ScenarioFile(*scenario.read(name))]
    path = folder / name
    called, text = scenario.read(path)
    text = scenario.with_traces(text, path.parent, values, traces, values_are_free=False)
    return [ScenarioFile(called, text, str(path))]


def _arms(aqms: Any, folder: Path) -> tuple[Arm, ...]:
    if isinstance(aqms, str):
        aqms = list(own.select(aqms))
    if not isinstance(aqms, list) or not aqms:
        raise InputError("experiment.aqms", f"{aqms!r}: expected a list of schemes, or deployed, seed-papers or all")
    expanded = [arm for i, entry in enumerate(aqms) for arm in _expand(f"aqms.{i}", entry, folder)]
    return tuple({arm.aqm: arm for arm in expanded}.values())


def _expand(path: str, entry: Any, folder: Path) -> list[Arm]:
    """Return the schemes of an entry: one for a text, each combination of its parameters for a table."""
    if isinstance(entry, str):
        return [_arm(entry, (), folder)]
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise InputError(f"experiment.{path}", f'{entry!r}: expected "pi:w=85Hz" or {{ name = "pi", w = ["85 Hz"] }}')
    axes = {name: grid.values_of(f"{path}.{name}", value) for name, value in entry.items() if name != "name"}
    if prod(map(len, axes.values())) > MOST_RUNS:
        raise InputError(f"experiment.{path}", f"more than {MOST_RUNS:,} combinations")
    return [_arm(entry["name"], tuple(zip(axes, values, strict=True)), folder) for values in product(*axes.values())]


def _arm(name: str, parameters: Pairs, folder: Path) -> Arm:
    at = catalogue.by_link(name)
    if parameters and at:
        raise InputError("experiment.aqms", f"{name}: schemes of single links have no ranges; write each as a text")
    if any(_file(each).endswith(".py") for each in at.values()):
        raise InputError(
            "experiment.aqms", f"{name}: a file cannot be the scheme of a single link here; aqmlab compare supports it"
        )
    file = _file(name)
    path = files.resolved(folder / file) if file.endswith(".py") else None
    given = name if path is None else name.replace(file, str(path), 1)
    if parameters:
        joint = "," if "=" in name else ":"
        given += joint + ",".join(f"{key}={value}" for key, value in parameters)
    spec = own.spec(given)
    return Arm(spec, given, path.read_text(encoding="utf-8") if path else "")


def _law(name: Any) -> ChosenLaw | None:
    """Return the controller that an experiment file names, which is one of the catalogue's: no file has code loaded."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise InputError("experiment.law", f'{name!r}: expected a congestion controller, such as "cubic"')
    called, known = catalogue.halves(name)[0], [law.name for law in catalogue.laws()]
    if called not in known:
        reason = f"{name}: unknown congestion controller; {_core.hint(called, known)}; --cc FILE loads your own"
        raise InputError("experiment.law", reason)
    return ChosenLaw(name, None)


def _file(name: str) -> str:
    return name.partition(":")[0].strip()


def _seeds(seeds: Any) -> tuple[int, ...]:
    wanted = f"expected a number of seeds (1 to {MOST_SEEDS}) or a list of distinct numbers from 0"
    given = list(range(1, min(seeds, MOST_SEEDS + 1) + 1)) if type(seeds) is int else seeds
    if not isinstance(given, list) or not all(type(each) is int and 0 <= each <= LARGEST_SEED for each in given):
        raise InputError("experiment.seeds", f"{seeds!r}: {wanted}")
    if not 1 <= len(given) <= MOST_SEEDS or len(set(given)) < len(given):
        raise InputError("experiment.seeds", f"{seeds!r}: {wanted}")
    return tuple(given)


def _warmup(given: Any, scenarios: Sequence[ScenarioFile], overrides: Mapping[str, object]) -> Mapping[str, str] | str:
    """Return "mser", or the warm-ups by scenario."""
    wanted = f'expected "{MSER}", or a table of scenarios and times, such as {{ "{scenarios[0].name}" = "10 s" }}'
    if given != MSER and not (isinstance(given, dict) and all(isinstance(each, str) for each in given.values())):
        raise InputError("experiment.warmup", f"{given!r}: {wanted}")
    if given and "warmup" in overrides:
        raise InputError("experiment.warmup", "set.warmup is given too; leave out one of them")
    for name in () if given == MSER else given:
        if name not in (known := [file.name for file in scenarios]):
            raise unknown("experiment.warmup", "no scenario of the experiment", name, known)
    return given  # type: ignore[no-any-return]


def _texts(key: str, values: Any) -> list[str]:
    values = [values] if isinstance(values, str) else values
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        raise InputError(f"experiment.{key}", f"{values!r}: expected a list of names or files")
    return values


def _list(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, values))}]"


def _quoted(text: str) -> str:
    """A TOML string; JSON's escapes are a subset of TOML's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
