"""Headers of the packets in a capture, as columns.

Links: Ethernet with VLAN and PPPoE, Linux cooked, raw IP. Packets: TCP, UDP and ICMP echo over IPv4 and IPv6. Formats:
RFC 791 and 8200 (IP), 9293 (TCP), 768 (UDP). RFC 792 and 4443 (ICMP), 3550 (RTP), 2516 (PPPoE). IEEE 802.1Q, and the
link types of tcpdump.org.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aqmlab.fit.readers.frames import FrameBatch, rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

TCP, UDP, ICMP, ICMP6 = 6, 17, 1, 58
"""Protocols of IP."""
FIN, SYN, RST, ACK = 1, 2, 4, 16
"""Flags of TCP."""
KEY = 40
"""Bytes that name a flow: two addresses of 16 bytes, two ports, the protocol, the version of IP, and two zeros."""

_ETHERNET, _NULL, _LOOP, _RAW, _COOKED, _COOKED2 = 1, 0, 108, (12, 14, 101, 228, 229), 113, 276
_IP4, _IP6, _PPPOE, _VLAN = 0x0800, 0x86DD, 0x8864, (0x8100, 0x88A8, 0x9100)
_PPP = {0x0021: _IP4, 0x0057: _IP6}
_OUTGOING = 4
"""The type of a packet in a cooked header that the host sent."""


@dataclass(frozen=True)
class Packets:
    """Columns of packets, one element per packet that is TCP, UDP or an ICMP echo.

    `key` names the flow, from source to destination. `size` is the IP packet in bytes. Of TCP, `sequence`, `ack` and
    `flags` are its fields. Of UDP they are the number, the source (SSRC), and 1, if the payload begins as RTP does,
    else 0. Of an ICMP echo `sequence` is its number, and `flags` is 1 for a request.
    """

    time: "NDArray[np.int64]"
    key: "Bytes"
    size: "NDArray[np.uint32]"
    payload: "NDArray[np.uint32]"
    sequence: "NDArray[np.uint32]"
    ack: "NDArray[np.uint32]"
    protocol: "Bytes"
    flags: "Bytes"
    ecn: "Bytes"
    is_sent: "Bytes"
    """1 if a cooked header states that the host sent it, 2 that it received it, 0 if there is none."""


UNUSED: tuple[str, ...] = (
    "packets of a link that is neither Ethernet, raw IP nor Linux cooked",
    "packets that are not IP",
)
UNUSED += ("IP packets that are not TCP, UDP or an ICMP echo", "IP fragments, extension headers, cut-off headers")
"""The kinds of packets that are counted and not read."""


def packets(frames: FrameBatch, unused: "NDArray[np.int64]") -> Iterator[Packets]:
    """Yield the packets of both versions of IP, and count the others in `unused`, by their number in `UNUSED`."""
    import numpy as np

    known = _network(frames)
    if known is None:
        unused[0] += len(frames.start)
        return
    kind, offset, is_sent = known
    unused[1] += int(((kind != _IP4) & (kind != _IP6)).sum())
    for wanted, read in ((_IP4, _ip4), (_IP6, _ip6)):
        chosen = np.flatnonzero(kind == wanted)
        if len(chosen):
            yield _transport(frames, read(frames, chosen, offset[chosen]), is_sent[chosen], unused)


def _network(frames: FrameBatch) -> "tuple[NDArray[np.int64], NDArray[np.int64], Bytes] | None":
    """Return the Ethernet type of each frame, where its IP header begins, and who sent it; None for another link."""
    import numpy as np

    n = len(frames.start)
    is_sent = np.zeros(n, np.uint8)
    if frames.link in _RAW or frames.link in (_NULL, _LOOP):
        skip = 0 if frames.link in _RAW else 4
        version = rows(frames.data, frames.start + skip, 1)[:, 0] >> 4
        return np.select([version == 4, version == 6], [_IP4, _IP6], 0), np.full(n, skip, np.int64), is_sent
    if frames.link == _ETHERNET:
        offset = np.full(n, 14, np.int64)
    elif frames.link in (_COOKED, _COOKED2):
        at, length = ((1, 16), (10, 20))[frames.link == _COOKED2]
        is_sent = np.where(rows(frames.data, frames.start + at, 1)[:, 0] == _OUTGOING, 1, 2).astype(np.uint8)
        if frames.link == _COOKED2:
            return _word(rows(frames.data, frames.start, 2), 0), np.full(n, length, np.int64), is_sent
        offset = np.full(n, length, np.int64)
    else:
        return None
    return *_untagged(frames, offset), is_sent


def _untagged(frames: FrameBatch, offset: "NDArray[np.int64]") -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Return the type of each frame whose header ends at `offset`, and where IP begins after tags and PPPoE."""
    import numpy as np

    kind = _word(rows(frames.data, frames.start + offset - 2, 2), 0)
    for _ in range(2):
        tagged = np.isin(kind, _VLAN)
        if not tagged.any():
            break
        offset[tagged] += 4
        kind[tagged] = _word(rows(frames.data, (frames.start + offset)[tagged] - 2, 2), 0)
    session = np.flatnonzero(kind == _PPPOE)
    if len(session):
        inner = _word(rows(frames.data, (frames.start + offset)[session], 8), 6)
        kind[session] = np.select([inner == each for each in _PPP], list(_PPP.values()), 0)
        offset[session] += 8
    return kind, offset


@dataclass(frozen=True)
class _Ip:
    """The IP headers of some frames: which, where their transport begins, and the fields that are read."""

    chosen: "NDArray[np.int64]"
    offset: "NDArray[np.int64]"
    size: "NDArray[np.int64]"
    length: "NDArray[np.int64]"
    """Bytes of the header, which `size` contains."""
    key: "Bytes"
    ecn: "Bytes"
    is_whole: "NDArray[np.bool_]"


def _ip4(frames: FrameBatch, chosen: "NDArray[np.int64]", offset: "NDArray[np.int64]") -> _Ip:
    import numpy as np

    head = rows(frames.data, frames.start[chosen] + offset, 20)
    size = _word(head, 2)
    size = np.where(size == 0, frames.length[chosen] - offset, size)  # segments above 64 kB, which the device splits
    length = (head[:, 0] & 15).astype(np.int64) * 4
    is_whole = (head[:, 0] >> 4 == 4) & (length >= 20) & ((_word(head, 6) & 0x3FFF) == 0) & (size >= length)
    key = np.zeros((len(chosen), KEY), np.uint8)
    key[:, 0:4], key[:, 16:20], key[:, 36], key[:, 37] = head[:, 12:16], head[:, 16:20], head[:, 9], 4
    return _Ip(chosen, offset + length, size, length, key, head[:, 1] & np.uint8(3), is_whole)


def _ip6(frames: FrameBatch, chosen: "NDArray[np.int64]", offset: "NDArray[np.int64]") -> _Ip:
    import numpy as np

    head = rows(frames.data, frames.start[chosen] + offset, 40)
    length = np.full(len(chosen), 40, np.int64)
    key = np.zeros((len(chosen), KEY), np.uint8)
    key[:, 0:32], key[:, 36], key[:, 37] = head[:, 8:40], head[:, 6], 6
    ecn: Bytes = ((head[:, 1] >> 4) & 3).astype(np.uint8)
    return _Ip(chosen, offset + 40, _word(head, 4) + 40, length, key, ecn, head[:, 0] >> 4 == 6)


def _transport(frames: FrameBatch, ip: _Ip, is_sent: "Bytes", unused: "NDArray[np.int64]") -> Packets:
    """Return the packets whose transport is read, with its fields."""
    import numpy as np

    key, protocol, room = ip.key, ip.key[:, 36].copy(), frames.captured[ip.chosen] - ip.offset
    head = rows(frames.data, frames.start[ip.chosen] + ip.offset, 20)
    first, tcp, udp = head[:, 0], protocol == TCP, protocol == UDP
    is_request = ((protocol == ICMP) & (first == 8)) | ((protocol == ICMP6) & (first == 128))
    is_echo = is_request | ((protocol == ICMP) & (first == 0)) | ((protocol == ICMP6) & (first == 129))
    known = tcp | udp | is_echo
    good = known & ip.is_whole & (room >= np.where(tcp, 14, 8))
    unused[2] += np.count_nonzero(ip.is_whole & ~known)
    unused[3] += np.count_nonzero(~ip.is_whole | (known & ~good))
    key[:, 32:36] = head[:, :4]
    key[is_echo, 32:36], key[is_echo, 36] = head[is_echo][:, [4, 5, 4, 5]], ICMP
    rtp = udp & (room >= 20) & (head[:, 8] >> 6 == 2) & ((head[:, 9] & 0x60) != 0x40)
    header = np.where(tcp, (head[:, 12] >> 2) & 60, 8)
    chosen = slice(None) if good.all() else good
    return Packets(
        frames.time[ip.chosen][chosen],
        key[chosen],
        ip.size[chosen].astype(np.uint32),
        np.maximum(ip.size - ip.length - header, 0)[chosen].astype(np.uint32),
        np.where(tcp, _long(head, 4), np.where(rtp, _word(head, 10), _word(head, 6) * is_echo))[chosen].astype(
            np.uint32
        ),
        np.where(tcp, _long(head, 8), _long(head, 16) * rtp)[chosen],
        protocol[chosen],
        np.where(tcp, head[:, 13], rtp | is_request)[chosen],
        ip.ecn[chosen],
        is_sent[chosen],
    )


def _word(head: "Bytes", at: int) -> "NDArray[np.int64]":
    """Return the 16 bits at an even place of each row."""
    import numpy as np

    return head.view(">u2")[:, at // 2].astype(np.int64)


def _long(head: "Bytes", at: int) -> "NDArray[np.uint32]":
    """Return the 32 bits at a place of each row that 4 divides."""
    import numpy as np

    return head.view(">u4")[:, at // 4].astype(np.uint32)
