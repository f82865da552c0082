"""Simulate: one run, or schemes compared over seeds."""

import os
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import overload

from aqmlab import catalogue, laws, own
from aqmlab._core import Scenario, SchemeError
from aqmlab.problems import InputError
from aqmlab.quantities import whole
from aqmlab.runs import MOST_AT_ONCE, check_seed, check_seeds, metrics
from aqmlab.runs.checks import check_engine, check_schemes, check_set
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.engines import EngineComparison, check_engines
from aqmlab.runs.executor import Progress, run_many
from aqmlab.runs.measures import every, expand
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import SIM, Failure, RunError, Task
from aqmlab.scenario import Values

Source = str | os.PathLike[str] | Scenario


def run(
    scenario: Source,
    aqm: own.Scheme | None = None,
    seed: int = 1,
    *,
    series: bool = False,
    trace: str | None = None,
    set: Values | None = None,
    law: laws.Law | None = None,
    threads: int | None = None,
    engine: str = SIM,
    progress: Progress | None = None,
) -> RunResult:
    """Simulate one scenario once, or run it on Linux.

    `aqm` ("pi", "pi:a=1e-5,b=9e-6", or a subclass of `aqmlab.Aqm` or an instance of one) replaces the scenario's
    scheme. `set` replaces values of the scenario. `law` is the congestion controller of all TCP flows
    ("cubic:beta=0.8", a subclass of `aqmlab.CongestionControl` or an instance of one, "./libmine.so" or "mine.py").
    `series` records time series, and `trace` names a link whose packets are traced. `progress` periodically
    receives the finished part and 1. Up to `threads` threads simulate at once, by default one per core; the result is
    the same, and a small run takes one. `engine` "linux" is a real Linux in virtual time (`aqmlab kernel build`), whose
    trace is a capture only. Raises InputError for bad input, SchemeError if a user's scheme breaks down, and RunError
    if the run fails otherwise.
    """
    if threads is not None:
        whole("threads", threads, 1, MOST_AT_ONCE)
    check_seed(seed)
    scheme = None if aqm is None else own.spec(aqm)
    loaded = laws.load_with(scenario, set, law)
    if scheme is not None:
        if set:
            check_set(loaded, [scheme])
        loaded.check_scheme(scheme)
    check_engine(engine, loaded, [scheme])
    task = Task(loaded, scheme, seed, series, trace, threads or os.cpu_count() or 1, engine)
    [outcome] = run_many([task], on_progress=progress)
    if isinstance(outcome, Failure):
        if isinstance(outcome.error, SchemeError):
            raise outcome.error
        raise RunError(str(outcome))
    return outcome


@overload
def compare(
    scenario: Source,
    aqms: own.Scheme | Sequence[own.Scheme] | None = ...,
    seeds: int = ...,
    *,
    set: Values | None = ...,
    law: laws.Law | None = ...,
    measures: Sequence[str] = ...,
    jobs: int | None = ...,
    engine: str = ...,
    engines: None = ...,
    progress: Progress | None = ...,
) -> Comparison: ...


@overload
def compare(
    scenario: Source,
    aqms: own.Scheme | Sequence[own.Scheme] | None = ...,
    seeds: int = ...,
    *,
    set: Values | None = ...,
    law: laws.Law | None = ...,
    measures: Sequence[str] = ...,
    jobs: int | None = ...,
    engine: str = ...,
    engines: Sequence[str],
    progress: Progress | None = ...,
) -> EngineComparison: ...


def compare(
    scenario: Source,
    aqms: own.Scheme | Sequence[own.Scheme] | None = None,
    seeds: int = 1,
    *,
    set: Values | None = None,
    law: laws.Law | None = None,
    measures: Sequence[str] = (),
    jobs: int | None = None,
    engine: str = SIM,
    engines: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Comparison | EngineComparison:
    """Simulate a scenario under each of `aqms` (see `own.select`) with the seeds 1 to `seeds`.

    `aqms` are by default the deployed schemes, in a paper's scenario the papers' (`catalogue.usual`).
    `set` replaces values of the scenario. `law` and `engine` work as in `run`. `measures` replace the usual ones:
    names, with globs ("flows.*.goodput"). `jobs` runs execute at the same time, by default one per core.
    `engines` (["sim", "linux"]) runs it in each of them and compares their results. A run that fails is
    listed in `failures` and affects no other. Raises InputError for bad input, before anything runs.
    """
    if engines is not None:
        if engine != SIM:
            raise InputError("engine", f"{engine}: cannot be combined with engines; leave out one of the two")
        check_engines(engines)
    asked = engines or [engine]
    [found] = compare_engines(
        [scenario], aqms, seeds, engines=asked, set=set, law=law, measures=measures, jobs=jobs, progress=progress
    )
    return found.first if engines is None else found


def compare_engines(
    scenarios: Sequence[Source],
    aqms: own.Scheme | Sequence[own.Scheme] | None = None,
    seeds: int = 1,
    *,
    engines: Sequence[str] = (SIM,),
    set: Values | None = None,
    law: laws.Law | None = None,
    measures: Sequence[str] = (),
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[EngineComparison]:
    """Return the comparison of each scenario by one engine or several, all runs in one batch; see `compare`.

    A measure must be known in one of the scenarios, and is shown in those that have it.
    """
    given = None if aqms is None else own.select(aqms)  # first, as a scenario may set parameters of a user's scheme
    loaded = [laws.load_with(scenario, set, law) for scenario in scenarios]
    grid = [(each, given or catalogue.usual(each.name)) for each in loaded]
    for each, specs in grid:
        check_set(each, specs)
        for engine in engines:
            check_engine(engine, each, specs)
    asked = [expanded(each, measures, loaded) for each in loaded]
    by_engine = {}
    for i, engine in enumerate(engines):
        share = _part(progress, i, len(engines))
        found = compare_many(grid, seeds, jobs=jobs, engine=engine, progress=share)
        by_engine[engine] = [replace(each, asked=names) for each, names in zip(found, asked, strict=True)]
    return [EngineComparison(dict(zip(by_engine, each, strict=True))) for each in zip(*by_engine.values(), strict=True)]


def _part(progress: Progress | None, i: int, parts: int) -> Progress | None:
    """Progress of the i-th of several parts of the same number of runs."""
    return progress and (lambda done, total: progress(i * total + done, parts * total))


def expanded(scenario: Scenario, patterns: Sequence[str], among: Sequence[Scenario]) -> tuple[str, ...]:
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
