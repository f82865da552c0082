"""The parts of one run: its links and groups of flows."""

from dataclasses import replace
from typing import Any

from aqmlab._core import Scenario
from aqmlab.notebook import Sheet
from aqmlab.present.parts import Part, Section
from aqmlab.present.text import titled
from aqmlab.runs.metrics import OF_STATION, FlowResult, find
from aqmlab.runs.results import EngineResult, RunResult, of_links

OF_FLOWS = {
    "Count": "count",
    "Goodput (Mbit/s)": "goodput",
    "Jain": "jain",
    "Packet delay (ms)": "packet_delay_mean",
    "Delay p99 (ms)": "packet_delay_p99",
    "Retransmits": "retransmits",
    "Timeouts": "timeouts",
}
"""The measures of every group of flows, by their heads."""

OF_SOME_FLOWS = {
    "marked": {"Marked": "marked"},
    "transfers": {"Transfers": "transfers", "FCT p50 (ms)": "fct_p50", "FCT p95 (ms)": "fct_p95"},
    "slowdown": {"Slowdown p50": "slowdown.p50", "Slowdown p99": "slowdown.p99"},
    "failed": {"Failed": "failed"},
    "video": {"Bitrate (Mbit/s)": "video.bitrate_mean", "Stalled (s)": "video.stall_time"},
    "media": {
        "Frame p95 (ms)": "media.frame_delay_p95",
        "Freezes": "media.freezes",
        "Frozen (%)": "media.freeze_ratio",
    },
}
"""Further measures, which are shown if a group has the one that names them."""


def parts(result: RunResult, scenario: Scenario) -> list[Part]:
    """Return the links' metrics and each flow group's."""
    sheets = {"": of_links(result.links)}
    sheets |= {"Over links": _spreads(result)} if result.spreads else {}
    sheets |= {"Stations": _stations(result)} if result.stations else {}
    sections = [Section(name, sheet=_named(scenario, name or "Links", sheet)) for name, sheet in sheets.items()]
    sections.append(Section("", sheet=_named(scenario, "Flows", _flows(result)), warnings=result.notes))
    title = f"{titled(scenario)}\n{result.schemes}, seed {result.seed}"
    return [Part(scenario.name, title, "", sections, about=[_engine(result.engine)])]


def _named(scenario: Scenario, name: str, sheet: Sheet) -> Sheet:
    return replace(sheet, title=f"{scenario.name}: {name}")


def _spreads(result: RunResult) -> Sheet:
    """Percentiles over links that are alike."""
    shown = {"utilisation": "Utilisation", "queue_delay_p99": "Delay p99"}
    percentiles = ("p50", "p95", "max")
    heads = [f"{title} {percentile}" for title in shown.values() for percentile in percentiles]
    rows = []
    for name, spread in result.spreads.items():
        cells = [
            find(f"link.{measure}").show(None if spread[measure] is None else spread[measure][percentile])
            for measure in shown
            for percentile in percentiles
        ]
        rows.append([name, str(spread["count"]), *cells])
    return Sheet("", ["Links", "Count", *heads], rows)


def _stations(result: RunResult) -> Sheet:
    """Shares of the air that stations of a Wi-Fi cell have."""
    rows = [
        [name, str(station.count), *(metric.show(getattr(station, metric.name)) for metric in OF_STATION)]
        for name, station in result.stations.items()
    ]
    return Sheet("", ["Station", "Count", *(metric.heading for metric in OF_STATION)], rows)


def _flows(result: RunResult) -> Sheet:
    groups = dict(result.flows) if len(result.flows) == 1 else {**result.flows, "all": result.total}
    shown = dict(OF_FLOWS)
    for name, more in OF_SOME_FLOWS.items():
        shown |= more if any(getattr(group, name) for group in groups.values()) else {}
    rows = [[name, *(_text(group, measure) for measure in shown.values())] for name, group in groups.items()]
    return Sheet("", ["Flows", *shown], rows)


def _text(group: FlowResult, measure: str) -> str:
    value: Any = group
    for name in measure.split("."):
        value = None if value is None else getattr(value, name)
    return f"{value:,}" if isinstance(value, int) else find(f"total.{measure}").show(value)


def _engine(engine: EngineResult) -> str:
    """Name and time of the engine of a run."""
    if engine.is_real:
        return f"Linux {engine.version}, in {engine.wall:.1f} s"
    return f"{engine.events:,} events in {engine.wall:.3f} s"
