"""A live run, alone or with its simulation: links, directions, and whether the machine kept up."""

from collections.abc import Mapping
from typing import IO, Any

from aqmlab import catalogue
from aqmlab.present.terminal.console import aside, console, note, table, title
from aqmlab.runs.live import View
from aqmlab.runs.results import RunResult

REFRESH = 0.1
"""Seconds between two looks of a `Dial`."""

LINK = {"utilisation": "Utilisation (%)", "drop_ratio": "Drops (%)", "mark_ratio": "Marks (%)"}
DELAYS = {"queue_delay_mean": "Queueing delay (ms)", "queue_delay_p99": "Delay p99 (ms)"}

REPEATABLE = "Repeatable: a second run under the same seed gave the same result."

CALL = {"frame_delay_mean": "Frame delay (ms)", "frame_delay_p95": "Frame delay p95 (ms)"}


def live(document: Mapping[str, Any], simulated: RunResult | None) -> None:
    """Print what a live run has measured, with each link and direction of the simulation below, if there is one."""
    out = console()
    out.print(title(f"Live: {document['scenario']}\n{catalogue.title(document['aqm'])}, seed {document['seed']}"))
    links = table("", "Link", numbers=[*LINK.values(), *DELAYS.values()])
    flows = table("", "From", numbers=["Flows", "Goodput (Mbit/s)", "Jain", "Packet delay (ms)", "Retransmits"])
    for name, link in document["links"].items():
        _add_link(links, name, link)
        if simulated is not None:
            _add_link(links, f"{name}, simulated", vars(simulated.links[name]))
    sides = {"up": "command", "down": "far end"}
    for name, group in document["flows"].items():
        _add_group(flows, sides[name], group)
        if simulated is not None and name in simulated.flows:
            _add_group(flows, f"{sides[name]}, simulated", vars(simulated.flows[name]))
    of = document["live"]
    p50, p99 = (_milliseconds(of[key]) for key in ("lateness_p50", "lateness_p99"))
    late = f"Packets were written late by {p50} ms (p50), {p99} ms (p99)"
    calls = table("", "Call", numbers=[*CALL.values(), "Freezes", "Loss (%)"])
    for stream in of["streams"]:
        _add_call(calls, stream)
    out.print(links, flows, *([calls] if of["streams"] else []), aside(f"{late}; {of['duration']:.1f} s."))
    if simulated is not None:
        out.print(aside("Simulated flows send at once; --set warmup=3s excludes the start of the command."))
    for why in of["why"]:
        out.print(note(f"Not valid: {why}"))
    if repeat := of.get("repeat"):
        out.print(aside(REPEATABLE) if repeat["repeatable"] else note(f"Not repeatable: {repeat['first_difference']}"))


class Dial:
    """One row of a terminal while a command runs: queue, rate, p, drops and marks per second of each direction."""

    def __init__(self, out: IO[str], schemes: Mapping[str, str]) -> None:
        """`schemes` are the schemes of the directions, "up" and "down"."""
        self.out = out
        self.places = {name: _place_of_p(scheme) for name, scheme in schemes.items()}
        self.before: tuple[float, dict[str, View]] = (0.0, {})

    def __call__(self, seconds: float, up: View, down: View) -> None:
        """Show the present; rates are over the time since the last one."""
        then, before = self.before
        now = {"up": up, "down": down}
        if seconds - then < REFRESH:
            return
        parts = [
            self._part(name, view, before.get(name, (0, 0, 0, 0, [])), seconds - then) for name, view in now.items()
        ]
        self.out.write(f"\r\x1b[K{seconds:6.1f} s  {'   '.join(parts)}")
        self.out.flush()
        self.before = (seconds, now)

    def _part(self, name: str, now: View, before: View, span: float) -> str:
        queue, *counts, shown = now
        _, *counted, _ = before
        sent, dropped, marked = ((count - then) / span for count, then in zip(counts, counted, strict=True))
        place = self.places.get(name)
        p = "" if place is None or place >= len(shown) else f", p {shown[place]:.4f}"
        return f"{name}: {queue} packets, {8e-6 * sent:.2f} Mbit/s{p}, {dropped:.0f} drops/s, {marked:.0f} marks/s"

    def close(self) -> None:
        """Clear the row."""
        self.out.write("\r\x1b[K")
        self.out.flush()


def _place_of_p(scheme: str) -> int | None:
    """The place of a scheme's drop probability among what it shows."""
    names = [shown.name for shown in catalogue.find(catalogue.halves(scheme)[0]).observables]
    return names.index("p") if "p" in names else None


def _add_link(shown: Any, name: str, link: Mapping[str, Any]) -> None:
    shown.add_row(name, *(f"{100 * link[key]:.2f}" for key in LINK), *(_milliseconds(link[key]) for key in DELAYS))


def _add_group(shown: Any, name: str, group: Mapping[str, Any]) -> None:
    jain = "–" if group["jain"] is None else f"{group['jain']:.3f}"
    goodput, delay = f"{group['goodput'] / 1e6:.2f}", _milliseconds(group["packet_delay_mean"])
    shown.add_row(name, str(group["count"]), goodput, jain, delay, f"{group['retransmits']:,}")


def _add_call(shown: Any, stream: Mapping[str, Any]) -> None:
    media, loss = stream["media"], stream["rtp"]["loss_ratio"]
    delays = (_milliseconds(media[key]) for key in CALL)
    shown.add_row(stream["flow"], *delays, str(media["freezes"]), "–" if loss is None else f"{100 * loss:.2f}")


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1000 * seconds:.3f}"
