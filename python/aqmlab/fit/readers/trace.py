"""The packets of a capture by flow, with sequence numbers that do not wrap."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Any, BinaryIO

from aqmlab.fit.readers import frames, headers
from aqmlab.fit.readers.headers import ACK, FIN, ICMP, RST, SYN, TCP, UDP
from aqmlab.problems import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Flags = NDArray[np.bool_]

Address = IPv4Address | IPv6Address

MOST_BYTES = 4 * 2**30
"""Bytes of a capture, unpacked."""
MOST_PACKETS = 3_000_000
MOST_FLOWS = 2**15
"""Flows that are read, each from a source to a destination; packets of others are counted."""
_FEWEST, _IN_ORDER, _NEAR = 8, 0.9, 100
"""A stream of RTP: packets, and the share of them whose number is within so many of the one before."""
_NAMES = {TCP: "tcp", UDP: "udp", ICMP: "icmp"}
_BITS = {"tcp": 32, "rtp": 16, "icmp": 16}
"""Bits of the numbers of packets; others have none."""
_MIX = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F)
"""Odd numbers by which the words of a key are multiplied before they are added up."""


@dataclass(frozen=True)
class Flow:
    """Packets from a source to a destination; of RTP also from one SSRC. `rows` are their places in the trace."""

    source: Address
    destination: Address
    ports: tuple[int, int]
    protocol: str
    """tcp, udp, rtp or icmp."""
    rows: "Integers"
    ssrc: int | None = None
    reverse: int | None = None
    """The number of the flow in the other direction, if there is one."""

    @property
    def name(self) -> str:
        """The ends, and what distinguishes flows between them."""
        if self.protocol == "icmp":
            return f"icmp {self.source} > {self.destination} id {self.ports[0]}"
        hosts = (f"[{ip}]" if ip.version == 6 else ip for ip in (self.source, self.destination))
        ends = " > ".join(f"{host}:{port}" for host, port in zip(hosts, self.ports, strict=True))
        return f"{self.protocol} {ends}" + ("" if self.ssrc is None else f" ssrc {self.ssrc:#x}")


@dataclass(frozen=True)
class Trace:
    """Columns of packets in the order of time, and their flows.

    `time` is in ns since 1970. `sequence` and `ack` count from the first byte of their flow in the capture; of RTP and
    of pings `sequence` is the number, of other UDP the position in the flow. `is_ack` marks acknowledgements without
    data, SYN, FIN or RST. `flow` is the number of the packet's flow. `number` is the sequence number as it is in the
    packet, of these acknowledgements the acknowledgement number. `first` is the `number` from which a flow counts.
    """

    time: "Integers"
    size: "NDArray[np.uint32]"
    payload: "NDArray[np.uint32]"
    sequence: "Integers"
    ack: "Integers"
    flags: "NDArray[np.uint8]"
    ecn: "NDArray[np.uint8]"
    is_sent: "NDArray[np.uint8]"
    is_ack: "Flags"
    flow: "Integers"
    number: "NDArray[np.uint32]"
    flows: tuple[Flow, ...]
    first: tuple[int, ...]
    unused: tuple[str, ...]


class _Numbering:
    """Numbers flows in the order of their first packets."""

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {}

    def of(self, key: "NDArray[np.uint8]") -> "Integers":
        """Return the number of each packet's flow; -1 beyond the limit."""
        import numpy as np

        words = key.view(np.uint64)
        mixed = words @ np.array(_MIX, np.uint64)
        _, first, inverse = np.unique(mixed, return_index=True, return_inverse=True)
        numbers = np.empty(len(first), np.int64)
        for i in np.argsort(first):
            numbers[i] = self._number(key[first[i]].tobytes())
        found: Integers = numbers[inverse]
        for i in np.flatnonzero((words != words[first][inverse]).any(axis=1)):  # another flow with the same sum
            found[i] = self._number(key[i].tobytes())
        return found

    def _number(self, key: bytes) -> int:
        if key not in self.numbers and len(self.numbers) == MOST_FLOWS:
            return -1
        return self.numbers.setdefault(key, len(self.numbers))


def read(file: BinaryIO, name: str) -> Trace:
    """Return the packets of a capture. InputError about `name` for a damaged or too large one, or one without any."""
    import numpy as np

    unused, numbering, parts, count = np.zeros(len(headers.UNUSED) + 1, np.int64), _Numbering(), [], 0
    notes: list[str] = []
    for batch in frames.batches(file, name, MOST_BYTES, notes):
        for part in headers.packets(batch, unused):
            flow = numbering.of(part.key)
            known = flow >= 0
            unused[-1] += np.count_nonzero(~known)
            count += len(flow)
            if count > MOST_PACKETS:
                raise InputError("file", f"{name}: more than {MOST_PACKETS:,} packets; capture for a shorter time")
            columns = (part.time, flow.astype(np.int32), part.size, part.payload, part.sequence, part.ack)
            parts.append([each[known] for each in (*columns, part.flags, part.ecn, part.is_sent)])
    if not any(len(part[0]) for part in parts):
        raise InputError(
            "file", f"{name}: has no packets of TCP, UDP or ICMP; expected a capture of a transfer or a call"
        )
    time, flow, *rest = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(time, kind="stable")
    kinds = (*headers.UNUSED, f"packets of flows after the first {MOST_FLOWS:,}")
    notes = [*(f"{n:,} {kind}" for n, kind in zip(unused, kinds, strict=True) if n), *notes]
    return _assembled(
        time[order], flow[order], [column[order] for column in rest], list(numbering.numbers), tuple(notes)
    )


def _assembled(
    time: "Integers", flow: "NDArray[Any]", rest: "list[NDArray[Any]]", keys: list[bytes], unused: tuple[str, ...]
) -> Trace:
    """Return the trace of packets in the order of time, whose flows have these keys."""
    import numpy as np

    size, payload, sequence, ack, flags, ecn, is_sent = rest
    protocol = np.array([key[36] for key in keys], np.uint8)
    flow, streams = _streams(flow, sequence, ack, (protocol[flow] == UDP) & (flags == 1), len(keys))
    order, start, groups = np.argsort(flow, kind="stable"), *_bounds(flow, len(keys) + len(streams))
    flows = _flows(keys, streams, np.split(order, start[1:]))
    bits = np.array([_BITS.get(each.protocol, 0) for each in flows])
    first = np.where(groups > 0, sequence[order[np.minimum(start, len(order) - 1)]], 0).astype(np.int64)
    counted = _counted(sequence[order], flow[order], bits, start)
    acked = _acked(ack[order], flow[order], flags[order], bits, [each.reverse for each in flows], first)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    is_ack = (bits[flow] == 32) & (payload == 0) & (flags & (ACK | SYN | FIN | RST) == ACK)
    return Trace(
        time,
        size,
        payload,
        counted[back],
        acked[back],
        flags,
        ecn,
        is_sent,
        is_ack,
        flow,
        np.where(is_ack, ack, sequence),
        flows,
        tuple(first.tolist()),
        unused,
    )


def _flows(keys: list[bytes], streams: list[tuple[int, int]], rows: "list[Integers]") -> tuple[Flow, ...]:
    """Return the flows of these keys, and after them the streams of RTP, of which flow and SSRC are given."""
    numbers = {key: number for number, key in enumerate(keys)}
    found = [
        Flow(*_ends(key), _NAMES[key[36]], own, reverse=numbers.get(_reversed(key)))
        for key, own in zip(keys, rows[: len(keys)], strict=True)
    ]
    found += [
        Flow(*_ends(keys[flow]), "rtp", own, ssrc) for (flow, ssrc), own in zip(streams, rows[len(keys) :], strict=True)
    ]
    return tuple(found)


def _bounds(flow: "Integers", count: int) -> "tuple[Integers, Integers]":
    """Return where each flow starts if packets are sorted by flow, and its number of packets."""
    import numpy as np

    sizes = np.bincount(flow, minlength=count)
    return np.cumsum(sizes) - sizes, sizes


def _streams(
    flow: "Integers", number: "Integers", ssrc: "Integers", might: "Flags", count: int
) -> tuple["Integers", list[tuple[int, int]]]:
    """Give the streams of RTP flow numbers from `count`; return all flow numbers, and flow and SSRC of each stream.

    Packets that `might` be RTP are, if enough of one flow and SSRC have numbers that follow each other.
    """
    import numpy as np

    rows = np.flatnonzero(might)
    if not len(rows):
        return flow, []
    codes, group = np.unique((flow[rows].astype(np.int64) << 32) | ssrc[rows], return_inverse=True)
    order = np.argsort(group, kind="stable")
    step = np.abs(_signed(np.diff(number[rows][order].astype(np.int64)), 16)) <= _NEAR
    step &= np.diff(group[order]) == 0
    packets = np.bincount(group)
    following = np.bincount(group[order][1:][step], minlength=len(packets))
    accepted = (packets >= _FEWEST) & (following >= _IN_ORDER * (packets - 1))
    accepted &= np.cumsum(accepted) <= MOST_FLOWS
    place = np.cumsum(accepted) - 1 + count
    flow = flow.astype(np.int64)
    flow[rows] = np.where(accepted[group], place[group], flow[rows])
    return flow, [(int(code >> 32), int(code & 0xFFFFFFFF)) for code in codes[accepted]]


def _counted(number: "Integers", flow: "Integers", bits: "Integers", start: "Integers") -> "Integers":
    """Return the numbers of packets sorted by flow, counted from the first of the flow; without any, the positions."""
    import numpy as np

    step = _signed(np.diff(number.astype(np.int64), prepend=0), np.maximum(bits, 1)[flow])
    step[bits[flow] == 0] = 1
    total = np.cumsum(step)
    return total - total[np.minimum(start, len(total) - 1)][flow]


def _acked(
    ack: "Integers",
    flow: "Integers",
    flags: "NDArray[np.uint8]",
    bits: "Integers",
    reverse: list[int | None],
    first: "Integers",
) -> "Integers":
    """Return the acknowledged bytes of TCP packets sorted by flow, counted as the flow in the other direction is."""
    import numpy as np

    found, valid = np.zeros(len(ack), np.int64), np.flatnonzero((bits[flow] == 32) & (flags & ACK > 0))
    if not len(valid):
        return found
    flow, ack = flow[valid], ack[valid].astype(np.int64)
    start, _ = _bounds(flow, len(bits))
    begin = ack[np.minimum(start, len(ack) - 1)]
    base = np.array([-1 if each is None else first[each] for each in reverse])
    offset = np.where(base < 0, 0, _signed(begin - base, 32))
    found[valid] = _counted(ack, flow, np.full(len(bits), 32), start) + offset[flow]
    return found


def _signed(step: "NDArray[Any]", bits: "int | Integers") -> "Integers":
    """Return the steps of a counter of so many bits, each the nearest to zero."""
    half = 1 << (bits - 1)
    return (step + half) % (2 * half) - half


def _reversed(key: bytes) -> bytes:
    return key[16:32] + key[:16] + key[34:36] + key[32:34] + key[36:]


def _ends(key: bytes) -> tuple[Address, Address, tuple[int, int]]:
    size = 4 if key[37] == 4 else 16
    ports = int.from_bytes(key[32:34], "big"), int.from_bytes(key[34:36], "big")
    return ip_address(key[:size]), ip_address(key[16 : 16 + size]), ports
