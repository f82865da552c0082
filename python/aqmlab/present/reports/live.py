"""The parts of a live run, alone or with its simulation, and of its replay."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from aqmlab import catalogue
from aqmlab.notebook import Row, Sheet
from aqmlab.present.parts import Part, Section
from aqmlab.runs.live import Replay
from aqmlab.runs.metrics import Metric, find
from aqmlab.runs.results import RunResult

LINK = [
    find(f"link.{name}") for name in ("utilisation", "drop_ratio", "mark_ratio", "queue_delay_mean", "queue_delay_p99")
]
FLOWS = [find(f"total.{name}") for name in ("count", "goodput", "jain", "packet_delay_mean", "retransmits")]
CALL = [find(f"total.media.{name}") for name in ("frame_delay_mean", "frame_delay_p95", "freezes")]
"""The measures of links, groups of flows, and calls."""

SIDES = {"up": "command", "down": "far end"}
"""The senders of each direction."""


def parts(document: Mapping[str, Any], simulated: RunResult | None = None) -> list[Part]:
    """Return what a live run has measured, with each link and direction of the simulation below, if there is one."""
    of = document["live"]
    late = (of["lateness_p50"], of["lateness_p99"])
    p50, p99 = ("–" if seconds is None else f"{1000 * seconds:.3f}" for seconds in late)
    about = [f"Packets were written late by {p50} ms (p50), {p99} ms (p99); {of['duration']:.1f} s."]
    if simulated is not None:
        about.append("Simulated flows send at once; --set warmup=3s excludes the start of the command.")
    warnings = [f"Not valid: {why}" for why in of["why"]]
    if repeat := of.get("repeat"):
        if repeat["repeatable"]:
            about.append("Repeatable: a second run under the same seed gave the same result.")
        else:
            warnings.append(f"Not repeatable: {repeat['first_difference']}")
    sheets = {"Links": _links(document, simulated), "Flows": _flows(document, simulated)}
    sheets |= {"Calls": _calls(of["streams"])} if of["streams"] else {}
    sections = [
        Section("", sheet=replace(sheet, title=f"{document['scenario']}: {name}")) for name, sheet in sheets.items()
    ]
    title = f"Live: {document['scenario']}\n{catalogue.title(document['aqm'])}, seed {document['seed']}"
    return [Part("live", title, "", sections, about=about, warnings=warnings)]


def replay(found: Mapping[str, Replay]) -> list[Part]:
    """Return how many decisions of each direction are the same again, and the first that is not."""
    findings = []
    for name, each in found.items():
        findings.append(f"{name}: {each.same:,} of {each.decisions:,} decisions agree ({each.arrived:,} packets)")
        if each.first_difference:
            findings.append("  first difference: live {}, replayed {}".format(*each.first_difference))
    return [Part("replay", "", "", [Section("", findings=findings)])]


def _links(document: Mapping[str, Any], simulated: RunResult | None) -> Sheet:
    rows = []
    for name, link in document["links"].items():
        rows.append(_row(name, LINK, link))
        rows += [] if simulated is None else [_row(f"{name}, simulated", LINK, vars(simulated.links[name]))]
    return Sheet("", ["Link", *(metric.heading for metric in LINK)], rows)


def _flows(document: Mapping[str, Any], simulated: RunResult | None) -> Sheet:
    rows = []
    for name, group in document["flows"].items():
        rows.append(_row(SIDES[name], FLOWS, group))
        if simulated is not None and name in simulated.flows:
            rows.append(_row(f"{SIDES[name]}, simulated", FLOWS, vars(simulated.flows[name])))
    return Sheet("", ["From", *(metric.heading for metric in FLOWS)], rows)


def _calls(streams: Sequence[Mapping[str, Any]]) -> Sheet:
    lost = find("total.call.loss_ratio")
    rows = [[*_row(each["flow"], CALL, each["media"]), lost.show(each["rtp"]["loss_ratio"])] for each in streams]
    return Sheet("", ["Call", *(metric.heading for metric in CALL), lost.heading], rows)


def _row(name: str, metrics: Sequence[Metric], values: Mapping[str, Any]) -> Row:
    return [name, *(metric.show(values[metric.name.split(".")[-1]]) for metric in metrics)]
