"""A live run: links, directions, and whether the machine kept up."""

from typing import Any

from aqmlab import catalogue
from aqmlab.present.terminal.console import aside, console, note, table, title


def live(document: dict[str, Any]) -> None:
    """Print what a live run has measured."""
    out = console()
    out.print(title(f"Live: {document['scenario']}\n{catalogue.title(document['aqm'])}, seed {document['seed']}"))
    links = table(
        "", "Link", numbers=["Utilisation (%)", "Drops (%)", "Marks (%)", "Queueing delay (ms)", "Delay p99 (ms)"]
    )
    for name, link in document["links"].items():
        shares = [f"{100 * link[key]:.2f}" for key in ("utilisation", "drop_ratio", "mark_ratio")]
        delays = [_milliseconds(link[key]) for key in ("queue_delay_mean", "queue_delay_p99")]
        links.add_row(name, *shares, *delays)
    flows = table("", "Direction", numbers=["Flows", "Goodput (Mbit/s)", "Jain", "Packet delay (ms)", "Resent"])
    for name, group in document["flows"].items():
        jain = "–" if group["jain"] is None else f"{group['jain']:.3f}"
        delay = _milliseconds(group["packet_delay_mean"])
        flows.add_row(
            name, str(group["count"]), f"{group['goodput'] / 1e6:.2f}", jain, delay, f"{group['retransmits']:,}"
        )
    of = document["live"]
    p50, p99 = (_milliseconds(of[key]) for key in ("lateness_p50", "lateness_p99"))
    late = f"Packets were written late by {p50} ms (p50), {p99} ms (p99)"
    out.print(links, flows, aside(f"{late}; {of['duration']:.1f} s."))
    for why in of["why"]:
        out.print(note(f"Not valid: {why}"))


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1000 * seconds:.3f}"
