"""The command `list`."""

from dataclasses import asdict
from enum import Enum
from typing import Annotated, Any

import typer

from aqmlab import catalogue
from aqmlab import scenario as scenarios
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
    as_json: Json = False,
) -> None:
    """List schemes, congestion-control laws, scenarios and studies."""
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


def _entries(kind: Kind) -> list[dict[str, Any]]:
    if kind is Kind.aqms:
        return [asdict(scheme) for scheme in catalogue.schemes()]
    if kind is Kind.tcps:
        return [asdict(law) for law in catalogue.laws()]
    if kind is Kind.scenarios:
        return [{"name": name, "title": scenarios.load(name).title} for name in scenarios.scenarios()]
    known = [paper.load_study(name) for name in paper.studies()] + [suite.load_suite(name) for name in paper.suites()]
    return [{"name": each.name, "title": each.title, "source": each.source} for each in known]
