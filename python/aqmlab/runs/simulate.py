"""Simulate: one run, or schemes compared over seeds."""

import os
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from statistics import fmean

from aqmlab import catalogue, own
from aqmlab._core import Scenario, SchemeError
from aqmlab.problems import InputError, Problem
from aqmlab.runs import check_seed, check_seeds, metrics
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.executor import Progress, run_many
from aqmlab.runs.measures import every, expand
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import Failure, RunError, Task
from aqmlab.scenario import Values, load

Source = str | os.PathLike[str] | Scenario


def run(
    scenario: Source,
    aqm: own.Scheme | None = None,
    seed: int = 1,
    *,
    series: bool = False,
    trace: str | None = None,
    set: Values | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Simulate one scenario once.

    `aqm` ("pi", "pi:a=1e-5,b=9e-6", or a subclass of `aqmlab.Aqm` or an instance of one) replaces what the scenario
    says, `set` replaces values of the scenario, `series` asks for time series, `trace` names a link whose packets are
    traced, `progress` is called now and then with the part done, and 1. Up to `threads` threads simulate at once, by
    default one per core; the result is the same, and a small run takes one. Raises InputError for bad input,
    SchemeError if a user's scheme breaks down, and RunError if the run fails otherwise.
    """
    if threads is not None and threads < 1:
        raise InputError("threads", f"{threads}: at least one")
    check_seed(seed)
    scheme = None if aqm is None else own.spec(aqm)
    loaded = load(scenario, set)
    if scheme is not None:
        if set:
            check_set(loaded, [scheme])
        loaded.parameters(scheme)
    task = Task(loaded, scheme, seed, series, trace, threads or os.cpu_count() or 1)
    [outcome] = run_many([task], on_progress=progress)
    if isinstance(outcome, Failure):
        if isinstance(outcome.error, SchemeError):
            raise outcome.error
        raise RunError(str(outcome))
    return outcome


def compare(
    scenario: Source,
    aqms: own.Scheme | Sequence[own.Scheme] = "seed-papers",
    seeds: int = 1,
    *,
    set: Values | None = None,
    measures: Sequence[str] = (),
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Simulate a scenario under each of `aqms` (see `own.select`) with the seeds 1 to `seeds`.

    `set` replaces values of the scenario; `measures` are shown instead of the usual ones: names, with globs
    ("flows.*.goodput"); `jobs` runs go on at the same time, by default one per core. A run that fails is listed in
    `failures` and affects no other. Raises InputError for bad input, before anything runs.
    """
    [compared] = compare_all([scenario], aqms, seeds, set=set, measures=measures, jobs=jobs, progress=progress)
    return compared


def compare_all(
    scenarios: Sequence[Source],
    aqms: own.Scheme | Sequence[own.Scheme] = "seed-papers",
    seeds: int = 1,
    *,
    set: Values | None = None,
    measures: Sequence[str] = (),
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Comparison]:
    """Return the comparison of each scenario, all runs in one batch; arguments as of `compare`.

    A measure must be known in one of the scenarios, and is shown in those that have it.
    """
    specs = own.select(aqms)  # first, because a scenario may set parameters of a user's scheme
    loaded = [load(scenario, set) for scenario in scenarios]
    for each in loaded:
        check_set(each, specs)
    asked = [_expanded(each, measures, loaded) for each in loaded]
    found = compare_many([(each, specs) for each in loaded], seeds, jobs=jobs, progress=progress)
    return [replace(compared, asked=names) for compared, names in zip(found, asked, strict=True)]


def _expanded(scenario: Scenario, patterns: Sequence[str], among: Sequence[Scenario]) -> tuple[str, ...]:
    """Return the measures of a scenario that are asked for; InputError for one that none of the scenarios has."""
    known = list(dict.fromkeys(name for each in among for name in every(each)))
    mine = {*every(scenario)}
    names = expand(patterns, known, scenario.links[0])
    return tuple(name for name in names if name in mine or metrics.DROPS in name)


def compare_many(
    grid: Sequence[tuple[Scenario, Sequence[str]]],
    seeds: int,
    *,
    series: bool = True,
    every_series: Collection[str] = (),
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Comparison]:
    """Return one comparison for each scenario and its schemes, all runs in one batch.

    Seed 1 comes with `series` if wanted, every seed in the scenarios that `every_series` names.
    """
    check_seeds(seeds)
    for scenario, specs in grid:
        check_schemes(scenario, specs)
    tasks = [
        Task(scenario, spec, seed, series=(series and seed == 1) or scenario.name in every_series)
        for scenario, specs in grid
        for spec in specs
        for seed in range(1, seeds + 1)
    ]
    started = time.perf_counter()
    outcomes = iter(run_many(tasks, jobs, progress))
    grouped = [[next(outcomes) for _ in range(len(specs) * seeds)] for _, specs in grid]
    wall = time.perf_counter() - started
    return [
        Comparison(scenario, tuple(specs), seeds, tuple(found), wall)
        for (scenario, specs), found in zip(grid, grouped, strict=True)
    ]


def find_flows(
    source: str | os.PathLike[str], loss: float, *, group: str = "ftp", seeds: int = 3, precision: float = 0.02
) -> int:
    """Return the number of flows of `group` for which DropTail loses the share `loss` at the first link.

    This is how RFC 7928, section 8.2, sets the level of congestion: 0.1 % is mild, 0.5 % medium, 1 % heavy. Found by
    bisection to one flow or to `precision`, whichever is coarser, on the mean over the seeds, as flows that overflow a
    buffer together make the loss of one run uneven. The source's own count is not used.
    """

    def drop_ratio(count: int) -> float:
        scenario = load(source, {f"flows.{group}.count": str(count)})
        runs = compare(scenario, ["droptail"], seeds).runs.values()
        return fmean(run.links[scenario.links[0]].drop_ratio for run in runs)

    low, high = 0, 1
    while drop_ratio(high) < loss:
        low, high = high, 2 * high
    while high - low > max(1, precision * high):
        middle = (low + high) // 2
        low, high = (middle, high) if drop_ratio(middle) < loss else (low, middle)
    return high


def check_set(scenario: Scenario, specs: Sequence[str]) -> None:
    """Raise InputError if a scheme was set at a link where every scheme asked for takes its place."""
    links = scenario.resolved()["links"]
    names = [link["name"] for link in links]
    movable = {link["name"] for link in links if not link["fixed"]}
    replaced = [catalogue.by_link(spec).keys() or movable for spec in specs]
    for path, value in scenario.overrides:
        match path.split("."):
            case ["links", link, "aqm"] if all(each & _meant(link, names) for each in replaced):
                raise InputError(
                    "set",
                    f"{path}={value}: the schemes asked for replace it; "
                    f"name it among them, or set links.{link}.fixed=true too",
                )


def _meant(link: str, names: Sequence[str]) -> set[str]:
    """The links that a path calls so: by name, by index, or all of them."""
    if link == "*":
        return {*names}
    return {link} if link in names else {names[int(link)]}


def check_schemes(scenario: Scenario, specs: Sequence[str]) -> None:
    """Raise one InputError with the problems of every scheme that cannot be used in this scenario."""
    problems = [problem for spec in specs for problem in _problems(scenario, spec)]
    if problems:
        raise InputError(*dict.fromkeys(problems))


def _problems(scenario: Scenario, spec: str) -> Sequence[Problem]:
    try:
        scenario.parameters(spec)
    except InputError as error:
        return error.problems
    return ()
