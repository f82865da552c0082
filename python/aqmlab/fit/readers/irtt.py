"""Reader of irtt's JSON (`irtt client -o FILE`), also packed by gzip. Format: irtt-client(1), "OUTPUT"."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab.fit.measurement import DelayRecord, LinkDirection, Measurement
from aqmlab.fit.readers import document

if TYPE_CHECKING:
    from aqmlab.fit.measurement import Floats

_EXPECTED = "irtt's JSON with at least two answered round trips"
_IP = {"IPv4": 28, "IPv6": 48}
"""Bytes of the headers of IP and UDP."""
_UNUSED = ("timer errors", "system calls", "IPDV (computed again from the delays)")


def sniff(head: bytes) -> bool:
    """Return whether this is the start of irtt's document."""
    return head.lstrip()[:1] == b"{" and b'"irtt"' in head and b'"json_format"' in head


def read(path: Path, content: bytes, digest: str) -> Measurement:
    """Return the round-trip times, and the one-way delays, whose clocks differ by an unknown constant."""
    return document.documents(path, _EXPECTED, lambda: _measurement(document.parsed(content), path, digest))


def _measurement(data: Any, path: Path, digest: str) -> Measurement:
    import numpy as np

    trips, config = data["round_trips"], data["config"]
    answered = [trip for trip in trips if str(trip["lost"]).lower() == "false" and trip["delay"].get("rtt") is not None]
    if len(answered) < 2:
        raise ValueError(f"{len(answered)} answered round trips")
    clients = [trip["timestamps"]["client"]["send"] for trip in trips]
    key = "wall" if all("wall" in each for each in clients) else "monotonic"
    first = int(clients[0][key])
    sent = np.array([(int(each[key]) - first) / 1e9 for each in clients])
    lost = {text: sum(1 for trip in trips if trip["lost"] == text) for text in ("true", "true_up", "true_down")}
    found = _records(trips, config, sent)
    return Measurement(
        str(path),
        digest,
        "irtt",
        epoch=first / 1e9 if key == "wall" else None,
        delays=tuple(record for record in found if not np.isnan(record.delay).all()),
        facts=dict(_facts(data, lost)),
        unused=_UNUSED,
    )


def _records(trips: list[Mapping[str, Any]], config: Mapping[str, Any], sent: "Floats") -> Iterator[DelayRecord]:
    """Yield round-trip times and one-way delays, in the order in which the probes were sent."""
    import numpy as np

    order = np.argsort(sent, kind="stable")
    params = config["params"]
    tos, length = int(params.get("dscp") or 0), int(params.get("length") or 0)
    size = length + _IP[config["ip_version"]] if config.get("ip_version") in _IP else None
    for name, direction in (("rtt", None), ("send", LinkDirection.up), ("receive", LinkDirection.down)):
        delay = _column(trips, name)[order]
        yield DelayRecord(f"irtt {name}", sent[order], delay, direction, size=size, ecn=tos & 3, dscp=tos >> 2)


def _column(trips: list[Mapping[str, Any]], name: str) -> Any:
    """Return a delay of each round trip in s, NaN if it is lost."""
    return (
        document.numbers([trip["delay"] if str(trip["lost"]).lower() == "false" else {} for trip in trips], name) / 1e9
    )


def _facts(data: Mapping[str, Any], lost: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield the version, the interval, and where probes were lost if the server counted them."""
    yield "version", document.text(data["version"]["irtt"])
    yield "interval", f"{float(data['config']['params']['interval']) / 1e9:g} s"
    for name, count in zip(("lost", "lost up", "lost down"), lost.values(), strict=True):
        if count:
            yield name, f"{count:,}"
