"""The command `list`."""

from dataclasses import asdict
from enum import Enum
from typing import Annotated, Any

import typer

from aqmlab import catalogue
from aqmlab import scenario as scenarios
from aqmlab._core import InputError
from aqmlab.cli.common import Json, print_json
from aqmlab.study import paper, suite


class Kind(str, Enum):
    """What `list` lists."""

    aqms = "aqms"
    tcps = "tcps"
    scenarios = "scenarios"
    studies = "studies"


def list_(
    kind: Annotated[Kind | None, typer.Argument(metavar="KIND", help="aqms, tcps, scenarios or studies.")] = None,
    cost: Annotated[
        bool, typer.Option("--cost", help="Of schemes: parameters, memory, and the time they take on this machine.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List schemes, congestion-control laws, scenarios and studies."""
    if cost:
        _costs(kind, as_json)
        return
    kinds = [kind] if kind else list(Kind)
    if as_json:
        found = {each.value: _entries(each) for each in kinds}
        print_json(found[kind.value] if kind else found)
        return
    from aqmlab.present.terminal import catalogue as pages
    from aqmlab.present.terminal.console import console

    for each in kinds:
        if each is Kind.aqms:
            shown = pages.schemes(catalogue.schemes())
        elif each is Kind.tcps:
            shown = pages.names("Tcps", [(law.name, f"{law.summary} ({law.source})") for law in catalogue.laws()])
        else:
            rows = [(entry["name"], entry["title"]) for entry in _entries(each)]
            shown = pages.names(each.value.capitalize(), rows)
        console().print(shown)


def _costs(kind: Kind | None, as_json: bool) -> None:
    if kind not in (None, Kind.aqms):
        raise InputError(f"--cost: only schemes have a cost here; write: aqmlab list {Kind.aqms.value} --cost")
    from aqmlab.present.terminal import catalogue as pages
    from aqmlab.present.terminal.console import console
    from aqmlab.present.terminal.progress import progress

    names = [scheme.name for scheme in catalogue.schemes()]
    costs = {}
    with progress("Schemes") as told:
        for name in names:
            costs[name] = catalogue.cost(name)
            told(len(costs), len(names))
    if as_json:
        print_json([{"name": name, **asdict(each)} for name, each in costs.items()])
    else:
        console().print(pages.costs(costs))


def _entries(kind: Kind) -> list[dict[str, Any]]:
    if kind is Kind.aqms:
        return [asdict(scheme) for scheme in catalogue.schemes()]
    if kind is Kind.tcps:
        return [asdict(law) for law in catalogue.laws()]
    if kind is Kind.scenarios:
        return [{"name": name, "title": scenarios.load(name).title} for name in scenarios.scenarios()]
    known = [paper.load_study(name) for name in paper.studies()] + [suite.load_suite(name) for name in paper.suites()]
    return [{"name": each.name, "title": each.title, "source": each.source} for each in known]
