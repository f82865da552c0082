"""The command `show`."""

from pathlib import Path
from typing import Annotated

import typer

from aqmlab import catalogue, own
from aqmlab import scenario as scenarios
from aqmlab.names import unknown
from aqmlab.study import paper, suite


def show(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="A scheme or a scenario (name or file), a law, a study, or tcp."),
    ],
) -> None:
    """Show a scheme, a congestion-control law, a scenario, a study, or the constants of TCP."""
    from aqmlab.present import terminal

    known = [scheme.name for scheme in catalogue.schemes()]
    laws = {law.name: law for law in catalogue.laws()}
    if name.partition(":")[0].endswith(".py"):
        terminal.scheme_page(catalogue.find(own.spec(name).partition(":")[0]))
    elif name in known:
        terminal.scheme_page(catalogue.find(name))
    elif name in laws:
        terminal.law_page(laws[name])
    elif name == "tcp":
        terminal.tcp_page()
    elif name in paper.studies():
        terminal.study_page(paper.load_study(name))
    elif name in paper.suites():
        from aqmlab.present.suite import terminal as suite_terminal

        suite_terminal.page(suite.load_suite(name))
    elif name in scenarios.scenarios() or name.endswith(".toml") or Path(name).exists():
        terminal.scenario_page(scenarios.load(name), scenarios.read(name)[1])
    else:
        choices = [*known, *laws, "tcp", *paper.studies(), *paper.suites(), *scenarios.scenarios()]
        raise unknown("name", "no scheme, law, scenario or study", name, choices)
