"""The setup of a simulation: the scenario drawn, its links and flows, the schemes' parameters, and its text."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isclose
from typing import Any

from aqmlab import _core, catalogue
from aqmlab._core import Scenario
from aqmlab.catalogue import Parameter, steers
from aqmlab.notebook import Item, Row, Sheet
from aqmlab.present.html.topology import kind, topology
from aqmlab.present.labels import label
from aqmlab.present.text import some
from aqmlab.problems import InputError


@dataclass(frozen=True)
class Setup:
    """The setup of a simulation; of a scenario that cannot be read, only the parameters that schemes were given."""

    parameters: Sheet
    facts: Mapping[str, str]
    topology: str = ""
    tables: Sequence[Sheet] = ()
    text: str = ""


def setup(scenario: Scenario | None, specs: Sequence[str], *, has_flows: bool = True) -> Setup:
    """Return what was simulated of a scenario under these schemes; only its links unless its flows were."""
    used = Sheet("", ["Parameter", "Value", "Default", "Meaning"], list(_parameters(scenario, specs)), words=True)
    if scenario is None:
        return Setup(used, {})
    resolved = scenario.resolved()
    texts = {link["name"]: _link(scenario, link) for link in resolved["links"]}
    until = f"to {scenario.duration:g} s" if has_flows else "until the command ends"
    facts = {
        "Measured": f"from {scenario.warmup:g} s, when the warm-up ends, {until}",
        "Set": ", ".join(f"{path} = {value}" for path, value in scenario.overrides),
    }
    under = {
        name: [link["rate"], f"delay {link['delay']}", f"buffer {link['buffer']}", link["scheme"]]
        for name, link in texts.items()
    }
    return Setup(
        used,
        {name: fact for name, fact in facts.items() if fact},
        topology(resolved, under) if has_flows else "",
        [_links(texts, target=_any_steers(scenario, specs)), *([_flows(resolved)] if has_flows else [])],
        scenario.text if has_flows else "",
    )


def _link(scenario: Scenario, link: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts about a link, by their names."""
    there = scenario.link(link["name"])
    room = f"{1e3 * 8 * there.buffer_bytes / there.rate:.4g} ms" if there.buffer_bytes else f"{there.buffer:g} packets"
    wire = [f"{name} {link[name]}" for name in _core.wire_keys() if link.get(name) is not None]
    return {
        "rate": _rate(scenario, link),
        "delay": link["delay"],
        "buffer": room,
        "bytes": f"{there.buffer_bytes:,} B" if there.buffer_bytes else "",
        "target": f"{there.target:,.0f} packets",
        "ecn": "marks" if there.ecn else "drops",
        "scheme": label(link["aqm"]) if link["fixed"] else "as compared",
        "wire": "; ".join(wire) or "–",
    }


def _rate(scenario: Scenario, link: Mapping[str, Any]) -> str:
    """Return the rate of a link, and what changes it."""
    name = link["name"]
    text = link["rate"] if isinstance(link["rate"], str) else f"{scenario.link(name).rate / 1e6:g} Mbit/s, changes"
    laws = [each.law for each in scenario.controllers for shaper in each.shapers if shaper.link == name]
    return ", by ".join([text, *laws])


def _any_steers(scenario: Scenario, specs: Sequence[str]) -> bool:
    for spec in specs:
        with suppress(InputError):  # of a scheme that this version does not know
            if any(steers(scenario, link, spec) for link in scenario.links):
                return True
    return False


def _links(texts: Mapping[str, Mapping[str, str]], *, target: bool) -> Sheet:
    """Return the table of the links, with their targets if a scheme has one."""
    heads = {"rate": "Rate", "delay": "Delay", "buffer": "Buffer", "target": "Target", "ecn": "ECN"}
    heads |= {"scheme": "Scheme", "wire": "Wire"}
    shown = [key for key in heads if target or key != "target"]
    rows: list[Row] = [
        [name, *(Item(link[key], small=link["bytes"] if key == "buffer" else "") for key in shown)]
        for name, link in texts.items()
    ]
    return Sheet("", ["Link", *(heads[key] for key in shown)], rows, words=True)


def _flows(resolved: Mapping[str, Any]) -> Sheet:
    links = [link["name"] for link in resolved["links"]]

    def through(path: Sequence[int]) -> str:
        return " → ".join(links[i] for i in path) or "–"

    rows: list[Row] = [
        [
            group["name"],
            str(sum(part["count"] for part in group["groups"])),
            kind(group),
            through(group["path"]),
            through(group.get("ack_path", [])),
            group["rtt"],
            f"{group['packet']} + {group['header']}",
            "yes" if group["ecn"] else "no",
            some([_when(part) for part in group["groups"]]),
        ]
        for group in resolved["flows"]
    ]
    heads = ["Group", "Flows", "Traffic", "Path", "ACKs queue at", "RTT", "Packet + header", "ECN", "Start"]
    return Sheet("", heads, rows, words=True)


def _when(part: Mapping[str, Any]) -> str:
    return f"{part['start']}, until {part['stop']}" if part["stop"] else str(part["start"])


def _parameters(scenario: Scenario | None, specs: Sequence[str]) -> Iterator[Row]:
    """Yield every parameter of the schemes as they were used, bold where it is not the default.

    Of a scheme that this version does not know there is only what it was given.
    """
    for spec in specs:
        given = catalogue.halves(spec)[1]
        try:
            values = scenario.parameters(spec) if scenario else None
            declared = _declared(spec)
        except InputError:
            values = None
        if not values:
            other = "" if values == {} else "; the others are known only to its own code or version"
            yield [label(spec), f"{given or 'none'}{other}", "", ""]
            continue
        for name, parameter in declared.items():
            value, default = values[name], parameter.default
            texts = [_with_unit(text, parameter.unit) for text in (value, default)]
            used = Item(texts[0], bold=not _same(value, default))
            yield [f"{label(spec)}: {name}", used, texts[1], parameter.doc]


def _declared(spec: str) -> dict[str, Parameter]:
    """Return the parameters of a scheme by their names in a scenario: "up.target" of one for a single link."""
    at = {f"{link}.": each for link, each in catalogue.by_link(spec).items()} or {"": spec}
    schemes = {link: catalogue.find(catalogue.halves(each)[0]) for link, each in at.items()}
    return {f"{link}{each.name}": each for link, scheme in schemes.items() for each in scheme.parameters}


def _same(value: str, default: str) -> bool:
    """Return whether two texts are the same quantity, which 100 us and 0.1 ms are."""
    found, wanted = _core.quantity(value), _core.quantity(default)
    return isclose(found[0], wanted[0], rel_tol=1e-9) if found and wanted else value == default


def _with_unit(value: str, unit: str) -> str:
    found = _core.quantity(value)
    return f"{value} {unit}" if found and found[1] == "1" and unit not in ("", "1", "ratio") else value
