"""Measurements of an access link, as readers of other tools' files return them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Flags = NDArray[np.bool_]


class LinkDirection(StrEnum):
    """A direction of an access link, as its subscriber sees it."""

    up = "up"
    down = "down"


@dataclass(frozen=True)
class Series:
    """A quantity over time: `time` in s, ascending; `value` in the unit that its field states. NaN: no value."""

    time: "Floats"
    value: "Floats"


@dataclass(frozen=True)
class Intervals:
    """Means over intervals: `start` and `end` in s, `value` in the unit that its field states. NaN: no value."""

    start: "Floats"
    end: "Floats"
    value: "Floats"


@dataclass(frozen=True)
class DelayRecord:
    """Delays of small probes, such as pings.

    `sent` are the times at which they were sent, s, ascending. `delay` is the round-trip time in s, NaN if the probe
    or its answer was lost. If `direction` is set, it is the one-way delay in this direction; its clocks may differ by
    a constant and a drift. `size` is the IP packet in bytes, `ecn` the field of the IP header (0 to 3), `dscp` the code
    point; None if the file does not state them. `is_mean` marks means over intervals instead of single probes.
    """

    name: str
    sent: "Floats"
    delay: "Floats"
    direction: LinkDirection | None = None
    size: int | None = None
    ecn: int | None = None
    dscp: int | None = None
    is_mean: bool = False


@dataclass(frozen=True)
class FlowRecord:
    """A transfer as its tool counts it.

    `protocol` is "tcp" or "udp"; `controller` the sender's congestion control, None if unknown. `goodput` is the
    payload rate in bit/s over intervals, counted `at` the "sender" or the "receiver". Of TCP senders: `retransmits` in
    segments per interval, `srtt` in s, `cwnd` in bytes. Of UDP: `lost` datagrams per interval, of those sent.
    `offered` is the rate in bit/s to which the sender limits itself, None if it does not. `segment` is the payload of
    a packet in bytes.
    """

    name: str
    direction: LinkDirection
    protocol: str
    goodput: Intervals
    at: str = "sender"
    controller: str | None = None
    retransmits: Intervals | None = None
    lost: Intervals | None = None
    srtt: Series | None = None
    cwnd: Series | None = None
    offered: float | None = None
    segment: int | None = None


@dataclass(frozen=True)
class PacketLog:
    """Packets of one direction, one per element, in the order of the capture.

    `sent` and `arrived` are times in s at the sender's and the receiver's side of the link, NaN if it was not seen
    there; a capture at one end fills one of them. `size` is the IP packet in bytes, `flow` the number of its flow.
    `sequence` is the first byte of a TCP segment or the number of an RTP packet, relative to the first of the
    flow. Of an ACK it is the next expected byte. `payload` are the bytes of the transport,
    `ecn` the field of the IP header.
    """

    direction: LinkDirection
    sent: "Floats"
    arrived: "Floats"
    size: "Integers"
    flow: "Integers"
    sequence: "Integers"
    payload: "Integers"
    ecn: "Integers"
    is_ack: "Flags"
    flows: tuple[str, ...] = ()
    """The names of the flows, by number."""


@dataclass(frozen=True)
class Counters:
    """A reading of the counters of a queue discipline (`tc -s -j qdisc show`) at `time`, s; NaN if not stated."""

    time: float
    device: str
    kind: str
    handle: str
    sent_bytes: int
    sent_packets: int
    dropped: int
    marked: int
    backlog_bytes: int
    backlog_packets: int
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Measurement:
    """The content of one file.

    All times are seconds after `epoch`, a Unix time, or after the unknown start of the file if that is None. `clock`
    names the clock: files of one clock need no offset between them. `facts` are statements of the file about the link
    or the test, such as the addresses of the ends. `unused` names the parts of the file that no estimate reads.
    """

    source: str
    """The path, as given."""
    digest: str
    """SHA-256 of the file."""
    tool: str
    """The program that wrote it: "iperf3", "ping", "flent", "pcap", "tc", "irtt" or "aqmlab"."""
    epoch: float | None = None
    clock: str = "host"
    delays: tuple[DelayRecord, ...] = ()
    flows: tuple[FlowRecord, ...] = ()
    packets: tuple[PacketLog, ...] = ()
    counters: tuple[Counters, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
