"""Simulate: one run, or schemes compared over seeds."""

import os
import time
from collections.abc import Collection, Sequence
from dataclasses import replace

from aqmlab import own
from aqmlab._core import Scenario, SchemeError
from aqmlab.problems import InputError
from aqmlab.runs import check_seed, check_seeds, metrics
from aqmlab.runs.checks import check_engine, check_schemes, check_set
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.executor import Progress, run_many
from aqmlab.runs.measures import every, expand
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import LINUX, SIM, Failure, RunError, Task
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
    engine: str = SIM,
    progress: Progress | None = None,
) -> RunResult:
    """Simulate one scenario once, or run it on Linux.

    `aqm` ("pi", "pi:a=1e-5,b=9e-6", or a subclass of `aqmlab.Aqm` or an instance of one) replaces what the scenario
    says, `set` replaces values of the scenario, `series` asks for time series, `trace` names a link whose packets are
    traced, `progress` is called now and then with the part done, and 1. Up to `threads` threads simulate at once, by
    default one per core; the result is the same, and a small run takes one. `engine` "linux" is a real Linux in virtual
    time (`aqmlab kernel build`), which traces no packets. Raises InputError for bad input,
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
    check_engine(engine, loaded, [scheme])
    if engine == LINUX and trace is not None:
        raise InputError("trace", 'packets are traced by the engine "sim" only')
    task = Task(loaded, scheme, seed, series, trace, threads or os.cpu_count() or 1, engine)
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
    engine: str = SIM,
    progress: Progress | None = None,
) -> Comparison:
    """Simulate a scenario under each of `aqms` (see `own.select`) with the seeds 1 to `seeds`.

    `set` replaces values of the scenario; `measures` are shown instead of the usual ones: names, with globs
    ("flows.*.goodput"); `jobs` runs go on at the same time, by default one per core; `engine` as of `run`. A run that
    fails is listed in `failures` and affects no other. Raises InputError for bad input, before anything runs.
    """
    [compared] = compare_all(
        [scenario], aqms, seeds, set=set, measures=measures, jobs=jobs, engine=engine, progress=progress
    )
    return compared


def compare_all(
    scenarios: Sequence[Source],
    aqms: own.Scheme | Sequence[own.Scheme] = "seed-papers",
    seeds: int = 1,
    *,
    set: Values | None = None,
    measures: Sequence[str] = (),
    jobs: int | None = None,
    engine: str = SIM,
    progress: Progress | None = None,
) -> list[Comparison]:
    """Return the comparison of each scenario, all runs in one batch; arguments as of `compare`.

    A measure must be known in one of the scenarios, and is shown in those that have it.
    """
    specs = own.select(aqms)  # first, because a scenario may set parameters of a user's scheme
    loaded = [load(scenario, set) for scenario in scenarios]
    for each in loaded:
        check_set(each, specs)
        check_engine(engine, each, specs)
    asked = [_expanded(each, measures, loaded) for each in loaded]
    found = compare_many([(each, specs) for each in loaded], seeds, jobs=jobs, engine=engine, progress=progress)
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
    engine: str = SIM,
    progress: Progress | None = None,
) -> list[Comparison]:
    """Return one comparison for each scenario and its schemes, all runs in one batch.

    Seed 1 comes with `series` if wanted, every seed in the scenarios that `every_series` names.
    """
    check_seeds(seeds)
    for scenario, specs in grid:
        check_schemes(scenario, specs)
    tasks = [
        Task(scenario, spec, seed, (series and seed == 1) or scenario.name in every_series, engine=engine)
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
