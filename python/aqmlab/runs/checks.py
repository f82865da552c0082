"""Checks of schemes in a scenario, before anything runs."""

from collections.abc import Sequence

from aqmlab import catalogue, control
from aqmlab._core import Scenario
from aqmlab.names import unknown
from aqmlab.problems import InputError, Problem
from aqmlab.runs import quic
from aqmlab.runs.task import ENGINES, is_linux, kernel_of


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
                    f"{path}={value}: the requested schemes replace it; "
                    f"add it to them, or set links.{link}.fixed=true too",
                )


def _meant(link: str, names: Sequence[str]) -> set[str]:
    """The links that a path calls so: by name, by index, or all of them."""
    if link == "*":
        return {*names}
    return {link} if link in names else {names[int(link)]}


def check_schemes(scenario: Scenario, specs: Sequence[str]) -> None:
    """Raise one InputError with the problems of every scheme that cannot be used in this scenario.

    What is wrong with several schemes alike is said of the first, but each name that is not known is named.
    """
    problems: dict[Problem, Problem] = {}
    for spec in specs:
        for problem in _problems(scenario, spec):
            alike = problem.reason if problem.kind == "unknown" else problem.reason.replace(spec, "")
            problems.setdefault(problem._replace(reason=alike), problem)
    if problems:
        raise InputError(*problems.values())


def _problems(scenario: Scenario, spec: str) -> Sequence[Problem]:
    try:
        scenario.check_scheme(spec)
    except InputError as error:
        return error.problems
    return ()


def check_newest(engine: str) -> None:
    """Raise InputError for an engine on a kernel other than the newest."""
    if kernel := kernel_of(engine):
        raise InputError("engine", f"{engine}: {kernel} cannot be chosen here; expected {' or '.join(ENGINES)}")


def check_engine(engine: str, scenario: Scenario, specs: Sequence[str | None]) -> None:
    """Raise InputError for an unknown engine or kernel, and for parts of a scenario or schemes it does not support."""
    if is_linux(engine):
        from aqmlab.runs import linux

        for spec in specs:
            linux.check(scenario, spec, kernel_of(engine))
    elif engine not in ENGINES:
        raise unknown("engine", "no engine is called", engine, ENGINES)
    else:
        quic.check(scenario)
        control.check(scenario)
