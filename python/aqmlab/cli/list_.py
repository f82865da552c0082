"""The command `list`."""

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

import typer

from aqmlab import scenario as scenarios
from aqmlab.cli.common import Json, print_json
from aqmlab.problems import InputError

EPILOG = "Example: aqmlab list aqms"


class Kind(StrEnum):
    """The kinds of names that `list` knows."""

    aqms = "aqms"
    ccs = "ccs"
    tcps = "tcps"
    """As `ccs`, which the JSON of all kinds still calls so."""
    scenarios = "scenarios"
    studies = "studies"
    presets = "presets"
    measures = "measures"


def list_(
    kind: Annotated[
        Kind | None,
        typer.Argument(metavar="KIND", help="aqms, ccs, scenarios, studies, presets or measures."),
    ] = None,
    scenario: Annotated[
        str | None, typer.Argument(metavar="SCENARIO", help="Whose measures; a built-in name or a TOML file.")
    ] = None,
    cost: Annotated[
        bool, typer.Option("--cost", help="Of schemes: parameters, memory, and the time they take on this machine.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List schemes, congestion controllers, scenarios, studies and presets, or the measures of a scenario."""
    kind = Kind.tcps if kind is Kind.ccs else kind
    if cost:
        _costs(kind, as_json)
        return
    if kind is Kind.measures or scenario is not None:
        _measures(kind, scenario, as_json)
        return
    kinds = [kind] if kind else [each for each in Kind if each not in (Kind.measures, Kind.ccs)]
    if as_json:
        found = {each.value: _entries(each) for each in kinds}
        print_json(found[kind.value] if kind else found)
        return
    from aqmlab import catalogue
    from aqmlab.present.terminal import catalogue as pages
    from aqmlab.present.terminal.console import console

    for each in kinds:
        if each is Kind.aqms:
            shown = pages.schemes(catalogue.schemes())
        elif each is Kind.tcps:
            shown = pages.names(
                "Congestion controllers", [(law.name, f"{law.summary} ({law.source})") for law in catalogue.laws()]
            )
        else:
            rows = [(entry["name"], entry["title"]) for entry in _entries(each)]
            shown = pages.names(each.value.capitalize(), rows)
        console().print(shown)


def _measures(kind: Kind | None, scenario: str | None, as_json: bool) -> None:
    from aqmlab.runs import measures, metrics

    if kind is not Kind.measures:
        raise InputError("scenario", f"{scenario}: only measures depend on a scenario: list measures SCENARIO")
    if scenario is None:
        raise InputError("scenario", "missing; the measures depend on it: list measures SCENARIO")
    found = {name: metrics.find(name) for name in measures.every(scenarios.load(scenario))}
    if as_json:
        print_json(
            [{"name": name, "unit": m.unit, "better": m.better, "doc": m.definition} for name, m in found.items()]
        )
        return
    from aqmlab.present.terminal import catalogue as pages
    from aqmlab.present.terminal.console import console

    rows = [(name, f"{m.definition}{'' if m.unit == '1' else f' ({m.unit})'}") for name, m in found.items()]
    console().print(pages.names("Measures", rows))


def _costs(kind: Kind | None, as_json: bool) -> None:
    if kind not in (None, Kind.aqms):
        raise InputError("--cost", f"only schemes have a cost; write: aqmlab list {Kind.aqms.value} --cost")
    from aqmlab import catalogue
    from aqmlab.present.terminal import catalogue as pages
    from aqmlab.present.terminal.console import console
    from aqmlab.present.terminal.progress import progress

    names = [scheme.name for scheme in catalogue.schemes()]
    costs = {}
    with progress("Schemes") as advance:
        for name in names:
            costs[name] = catalogue.cost(name)
            advance(len(costs), len(names))
    if as_json:
        print_json([{"name": name, **asdict(each)} for name, each in costs.items()])
    else:
        console().print(pages.costs(costs))


def _entries(kind: Kind) -> list[dict[str, Any]]:
    from aqmlab import catalogue, presets
    from aqmlab.study import draft_cases, paper, suite

    if kind is Kind.aqms:
        return [asdict(scheme) for scheme in catalogue.schemes()]
    if kind is Kind.tcps:
        return [asdict(law) for law in catalogue.laws()]
    if kind is Kind.scenarios:
        return [{"name": name, "title": scenarios.load(name).title} for name in scenarios.scenarios()]
    if kind is Kind.presets:
        return [{"name": each.name, "title": each.title} for each in presets.presets()]
    known = [paper.load_study(name) for name in paper.studies()] + [suite.load_suite(name) for name in paper.suites()]
    found = [{"name": each.name, "title": each.title, "source": each.source} for each in known]
    return [*found, {"name": draft_cases.NAME, "title": draft_cases.TITLE, "source": draft_cases.SOURCE}]
