"""Reader of packet captures (pcap and pcapng), taken at one end of a link or in its middle."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from aqmlab.fit.measurement import Direction, Measurement, PacketLog
from aqmlab.fit.readers import frames, trace, transfers
from aqmlab.fit.readers.trace import MOST_BYTES as MOST
from aqmlab.fit.readers.vantage import Vantage, vantage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

sniff = frames.sniff

__all__ = ["MOST", "CapturedPackets", "read", "sniff"]


@dataclass(frozen=True)
class CapturedPackets(PacketLog):
    """A log with the number that identifies a packet in another capture of the same link."""

    number: "NDArray[np.uint32]" = field(kw_only=True)
    """The sequence number as it is in the packet; of an ACK, the acknowledgement number."""


def read(path: Path, file: BinaryIO, digest: str) -> Measurement:
    """Return the packets of both directions, the transfers and the pings.

    The end whose hosts answer at once is the near one; without answers, the end with private addresses.
    """
    found = trace.read(file, str(path))
    seen = vantage(found)
    flows, left_out = transfers.records(found, seen)
    unused = [*found.unused]
    if left_out:
        unused.append(
            f"rates of {left_out:,} flows, each under {transfers.FEWEST_BYTES:,} bytes, short, or not among the largest"
        )
    return Measurement(
        str(path),
        digest,
        "pcap",
        epoch=float(found.time[0] / 1e9),
        clock=f"capture {digest[:12]}",
        delays=tuple(transfers.pings(found, seen)),
        flows=tuple(flows),
        packets=tuple(_logs(found, seen)),
        facts=seen.facts,
        unused=tuple(unused),
    )


def _logs(found: trace.Trace, seen: Vantage) -> Iterator[PacketLog]:
    """Yield the log of each direction that has packets; both directions of a connection are one flow."""
    import numpy as np

    pairs = [number if flow.reverse is None else min(number, flow.reverse) for number, flow in enumerate(found.flows)]
    named, connection = np.unique(pairs, return_inverse=True)
    names = tuple(found.flows[number].name for number in named)
    flow = found.flow
    for direction in Direction:
        rows = np.flatnonzero(np.array(seen.is_up)[flow] == (direction is Direction.up))
        if not len(rows):
            continue
        time, is_leaving = (found.time[rows] - found.time[0]) / 1e9, np.array(seen.is_leaving)[flow[rows]]
        yield CapturedPackets(
            direction,
            np.where(is_leaving, time, np.nan),
            np.where(is_leaving, np.nan, time),
            found.size[rows].astype(np.int64),
            connection[flow[rows]],
            np.where(found.is_ack[rows], found.ack[rows], found.sequence[rows]),
            found.payload[rows].astype(np.int64),
            found.ecn[rows].astype(np.int64),
            found.is_ack[rows],
            names,
            number=found.number[rows],
        )
