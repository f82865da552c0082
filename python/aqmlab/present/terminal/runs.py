"""Runs: one with its links and flows, or schemes side by side."""

from collections.abc import Callable

from rich.table import Table

from aqmlab._core import Scenario
from aqmlab.present.terminal.console import aside, console, note, table, title
from aqmlab.present.text import titled
from aqmlab.runs.metrics import OF_STATION, FlowResult, find
from aqmlab.runs.results import EngineResult, RunResult, columns

BITRATE = find("total.video.bitrate_mean")
FROZEN = find("total.media.freeze_ratio")
SLOWDOWN = find("total.slowdown.p99")


def run(result: RunResult, scenario: Scenario) -> None:
    """Print one run: each link's metrics and each flow group's."""
    out = console()
    out.print(title(f"{titled(scenario)}\n{result.schemes}, seed {result.seed}"))
    metrics = columns(result.links.values())
    links = table("", "Link", numbers=[metric.heading for metric in metrics])
    for name, link in result.links.items():
        links.add_row(name, *(metric.show(getattr(link, metric.name)) for metric in metrics))
    out.print(links)
    if result.spreads:
        out.print(_spreads(result))
    if result.stations:
        out.print(_stations(result))
    out.print(_flows(result))
    for text in result.notes:
        out.print(note(text))
    out.print(aside(_engine(result.engine)))


def _spreads(result: RunResult) -> Table:
    """Percentiles over links that are alike."""
    shown = {"utilisation": "Utilisation", "queue_delay_p99": "Delay p99"}
    percentiles = ("p50", "p95", "max")
    headings = [f"{title} {percentile}" for title in shown.values() for percentile in percentiles]
    over = table("Over links", "Links", numbers=["Count", *headings])
    for name, spread in result.spreads.items():
        cells = [
            find(f"link.{measure}").show(None if spread[measure] is None else spread[measure][percentile])
            for measure in shown
            for percentile in percentiles
        ]
        over.add_row(name, str(spread["count"]), *cells)
    return over


def _stations(result: RunResult) -> Table:
    """Shares of the air that stations of a Wi-Fi cell have."""
    of = table("Stations", "Station", numbers=["Count", *(metric.heading for metric in OF_STATION)])
    for name, station in result.stations.items():
        of.add_row(name, str(station.count), *(metric.show(getattr(station, metric.name)) for metric in OF_STATION))
    return of


def _engine(engine: EngineResult) -> str:
    """Name and time of the engine of a run."""
    if engine.is_real:
        return f"Linux {engine.version}, in {engine.wall:.1f} s"
    return f"{engine.events:,} events in {engine.wall:.3f} s"


def _flows(result: RunResult) -> Table:
    """Return the table of the flow groups; marks, completion times and failures only where there are any."""
    groups = dict(result.flows) if len(result.flows) == 1 else {**result.flows, "all": result.total}
    shown: dict[str, Callable[[FlowResult], str]] = {
        "Count": lambda group: str(group.count),
        "Goodput (Mbit/s)": lambda group: f"{group.goodput / 1e6:.2f}",
        "Jain": lambda group: "–" if group.jain is None else f"{group.jain:.3f}",
        "Packet delay (ms)": lambda group: _milliseconds(group.packet_delay_mean),
        "Delay p99 (ms)": lambda group: _milliseconds(group.packet_delay_p99),
        "Retransmits": lambda group: f"{group.retransmits:,}",
        "Timeouts": lambda group: f"{group.timeouts:,}",
    }
    if result.total.marked:
        shown["Marked"] = lambda group: f"{group.marked:,}"
    if result.total.transfers:
        shown["Transfers"] = lambda group: f"{group.transfers:,}"
        shown["FCT p50 (ms)"] = lambda group: _milliseconds(group.fct_p50)
        shown["FCT p95 (ms)"] = lambda group: _milliseconds(group.fct_p95)
    if result.total.slowdown:
        shown["Slowdown p50"] = lambda group: SLOWDOWN.show(group.slowdown.p50 if group.slowdown else None)
        shown["Slowdown p99"] = lambda group: SLOWDOWN.show(group.slowdown.p99 if group.slowdown else None)
    if result.total.failed:
        shown["Failed"] = lambda group: f"{group.failed:,}"
    if any(group.video for group in groups.values()):
        shown["Bitrate (Mbit/s)"] = lambda group: BITRATE.show(group.video.bitrate_mean if group.video else None)
        shown["Stalled (s)"] = lambda group: "–" if group.video is None else f"{group.video.stall_time:.1f}"
    if any(group.media for group in groups.values()):
        shown["Frame p95 (ms)"] = lambda group: _milliseconds(group.media.frame_delay_p95 if group.media else None)
        shown["Freezes"] = lambda group: "–" if group.media is None else f"{group.media.freezes:,}"
        shown["Frozen (%)"] = lambda group: FROZEN.show(group.media.freeze_ratio if group.media else None)
    flows = table("", "Flows", numbers=shown)
    for name, group in groups.items():
        flows.add_row(name, *(show(group) for show in shown.values()))
    return flows


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1000 * seconds:.1f}"
