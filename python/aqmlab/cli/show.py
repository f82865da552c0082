"""The command `show`."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab import scenario as scenarios
from aqmlab.problems import InputError

if TYPE_CHECKING:
    from aqmlab.catalogue import Scheme

EPILOG = "Example: aqmlab show pi"


def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A scheme, scenario or controller (name or file), a study, a preset, or tcp.",
        ),
    ],
) -> None:
    """Show a scheme, a congestion controller, a scenario, a study, a preset of links, or the constants of TCP."""
    from aqmlab import catalogue, laws, own, presets
    from aqmlab.names import unknown
    from aqmlab.present.terminal import catalogue as pages
    from aqmlab.study import paper

    if laws.defines(name):
        name = laws.law_spec(name).partition(":")[0]
    known = {law.name: law for law in catalogue.laws()}
    if name.partition(":")[0].endswith(".py"):
        pages.scheme_page(catalogue.find(own.spec(name).partition(":")[0]))
    elif (scheme := _scheme(name)) is not None:
        pages.scheme_page(scheme)
    elif name in known:
        pages.law_page(known[name])
        if name in paper.suites():  # the study of a law has its name
            _study_page(name)
    elif name == "tcp":
        pages.tcp_page()
    elif name in (*paper.studies(), *paper.suites(), *paper.DRAFTS):
        _study_page(name)
    elif found := presets.kind(name).links:
        pages.presets_page(found.values())
    elif name in scenarios.scenarios() or name.endswith(".toml") or os.path.lexists(name):
        pages.scenario_page(scenarios.load(name), scenarios.read(name)[1])
    else:
        schemes = [scheme.name for scheme in catalogue.schemes()]
        choices = [*schemes, *known, "tcp", *paper.studies(), *paper.suites(), *paper.DRAFTS, *scenarios.scenarios()]
        choices += [each.name for each in presets.presets()]
        raise unknown("name", "no scheme, controller, scenario, study or preset", name, choices)


def _study_page(name: str) -> None:
    from aqmlab.present.terminal import catalogue as pages
    from aqmlab.study import draft_cases, paper, suite

    if name in paper.studies():
        pages.study_page(paper.load_study(name))
    elif name in paper.suites():
        pages.suite_page(suite.load_suite(name))
    else:
        pages.draft_page(draft_cases.TITLE, draft_cases.SOURCE, draft_cases.CASES)


def _scheme(name: str) -> "Scheme | None":
    """Return the scheme of that name, None if there is none."""
    from aqmlab import catalogue

    with suppress(InputError):
        return catalogue.find(name)
    return None
