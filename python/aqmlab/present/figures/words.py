"""The words at axes and over panels: the field's terms for paths such as flows.0.count."""

from collections.abc import Iterable

from aqmlab.present.labels import label
from aqmlab.runs.findings import CONTROLLER
from aqmlab.runs.metrics import find

FIELDS = {
    ("links", "rate"): "Link rate",
    ("links", "delay"): "Link delay",
    ("links", "buffer"): "Buffer",
    ("links", "target"): "Target queue",
    ("links", "loss"): "Loss on the wire",
    ("links", "jitter"): "Jitter",
    ("flows", "count"): "Number of flows",
    ("flows", "rtt"): "Round-trip time",
    ("flows", "packet"): "Packet size",
    ("flows", "rate"): "Sending rate",
    ("flows", "access_rate"): "Access rate",
    ("flows", "start"): "Start",
    ("flows", "stop"): "Stop",
    ("flows", "congestion_control"): "Congestion controller",
    ("aqm",): "Scheme",
    ("duration",): "Duration",
    ("warmup",): "Warm-up",
}
"""By the kind of thing and its field."""

MEASURED = {
    "link.utilisation": "Utilisation",
    "link.drop_ratio": "Drop ratio",
    "link.mark_ratio": "Mark ratio",
    "link.queue_mean": "Mean queue",
    "link.queue_std": "Standard deviation of the queue",
    "link.queue_delay_mean": "Mean queueing delay",
    "link.queue_delay_p99": "99th percentile of the queueing delay",
    "link.settling_time": "Settling time",
    "total.goodput": "Goodput",
    "total.jain": "Jain's index of the goodput",
    "total.packet_delay_mean": "Mean packet delay",
    "total.fct_p50": "Median completion time",
    "total.fct_p99": "99th percentile of the completion time",
}
"""By measure, what a table's head shortens."""


def measure(name: str) -> str:
    """Return the label of an axis for a measure, with its unit, and whose it is where the name says so."""
    metric, place = find(name), name.split(".")[:2]
    of = "link" if place[0] in ("link", "links") else "total"
    words = metric.heading.replace(metric.title, MEASURED.get(f"{of}.{metric.name}", metric.title), 1)
    return f"{place[1]}: {words}" if place[0] in ("links", "flows") else words


def quantity(name: str, varied: Iterable[str] = ()) -> str:
    """Return what is varied in words: "set.links.up.rate" is the link rate, "pi.w" is w of PI.

    The link or the group is named if the same field of another one is in `varied`.
    """
    if not name.startswith("set."):
        scheme, _, parameter = name.partition(".")
        return f"{parameter} of {label(scheme)}"
    kind, owner = _field(name)
    if kind not in FIELDS:
        return name.removeprefix("set.")
    several = any(_field(other)[0] == kind and other != name for other in varied)
    return f"{FIELDS[kind]} ({owner})" if several else FIELDS[kind]


def axis(name: str, unit: str, varied: Iterable[str] = ()) -> str:
    """Return the label of an axis: the words, and the unit in brackets."""
    words = quantity(name, varied)
    return f"{words} ({unit})" if unit else words


def setting(name: str, value: str, varied: Iterable[str] = ()) -> str:
    """Return a value in words, within a sentence: "link rate 5 Mbit/s"."""
    words = quantity(name, varied)
    value = called(name, value)
    return f"{words[0].lower()}{words[1:]} {value}" if words != name.removeprefix("set.") else f"{words}={value}"


def called(name: str, value: str) -> str:
    """Return a value that was varied as people read it: a scheme or a controller by its title."""
    return label(value) if _field(name)[0] in (("aqm",), ("flows", "congestion_control")) else value


def _field(name: str) -> tuple[tuple[str, ...], str]:
    """The kind of a path with its field, and whose it is."""
    parts = name.removeprefix("set.").replace(CONTROLLER, "congestion_control").split(".")
    return ((parts[0], parts[2]), parts[1]) if len(parts) == 3 else (tuple(parts), "")
