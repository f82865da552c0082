"""Frames of pcap and pcapng files, in batches of bounded size, without a copy of their payload.

Formats: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, BinaryIO, Protocol

from aqmlab.problems import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CHUNK = 2**22
"""Bytes of the file that a batch covers."""
LONGEST = 2**18
"""Bytes of a frame; the limit of libpcap."""
LONGEST_BLOCK = 2**22
"""Bytes of another block of pcapng."""
MOST_INTERFACES = 1000
PADDING = 256
"""Zeros after a batch, so that headers can be read beyond a frame that was cut off."""

_PCAP = {b"\xd4\xc3\xb2\xa1": ("<", 1000), b"\xa1\xb2\xc3\xd4": (">", 1000)}
_PCAP |= {b"\x4d\x3c\xb2\xa1": ("<", 1), b"\xa1\xb2\x3c\x4d": (">", 1)}
"""Byte order, and ns per unit of the times."""
_PCAPNG = b"\x0a\x0d\x0d\x0a"
_SECTION, _INTERFACE, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 3, 6
_FRACTION, _OFFSET = 9, 14
"""Options of an interface: the resolution of its times, and an offset in s."""


@dataclass(frozen=True)
class FrameBatch:
    """Frames of one kind of link: the bytes of the batch, and for each frame its place and length in it."""

    data: "NDArray[np.uint8]"
    """The bytes of the batch, and `PADDING` zeros."""
    link: int
    start: "NDArray[np.int64]"
    captured: "NDArray[np.int64]"
    length: "NDArray[np.int64]"
    """Bytes of the whole frame on the link, of which `captured` are in the file."""
    time: "NDArray[np.int64]"
    """ns since 1970."""


def sniff(head: bytes) -> bool:
    """Return whether this is the start of a capture."""
    return head[:4] in _PCAP or (head[:4] == _PCAPNG and head[8:12] in (b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a"))


def batches(file: BinaryIO, name: str, most: int, unused: list[str]) -> Iterator[FrameBatch]:
    """Yield the frames of a capture of at most `most` bytes.

    A frame that is cut off at the end, as it is when a capture was interrupted, is added to `unused`. Raises InputError
    about `name` for a damaged file.
    """
    head = file.read(24)
    damaged = f"{name}: is damaged"
    if head[:4] in _PCAP:
        if len(head) < 24:
            raise InputError("file", f"{damaged} (it is truncated); expected a pcap file")
        order, unit = _PCAP[head[:4]]
        walk: _Format = _Pcap(order, unit, Struct(order + "I").unpack_from(head, 20)[0] & 0xFFFF, damaged)
        rest = b""
    else:
        walk, rest = _Pcapng(damaged), head
    total = len(head)
    while data := file.read(min(CHUNK, most + 1 - total)):
        total += len(data)
        if total > most:
            raise InputError("file", f"{name}: more than {most:,} bytes of packets")
        data = b"".join((rest, data, bytes(PADDING)))
        found, end = walk.frames(data)
        yield from found
        rest = data[end:-PADDING]
    if rest:
        unused.append(f"{len(rest):,} bytes at the end, of a packet that was cut off")


class _Format(Protocol):
    def frames(self, data: bytes) -> tuple[list[FrameBatch], int]:
        """Return the frames that are whole, and where the rest begins. `data` ends with PADDING zeros."""


@dataclass
class _Pcap:
    order: str
    unit: int
    link: int
    damaged: str

    def frames(self, data: bytes) -> tuple[list[FrameBatch], int]:
        import numpy as np

        size_at, at, end, starts = Struct(f"{self.order}I").unpack_from, 0, len(data) - PADDING, list[int]()
        last = end - 16
        while at <= last:
            (size,) = size_at(data, at + 8)
            if size > LONGEST:
                raise InputError("file", f"{self.damaged} (a frame of {size:,} bytes; at most {LONGEST:,})")
            starts.append(at)
            at += 16 + size
        if at > end:
            at = starts.pop()
        start, padded = np.array(starts, dtype=np.int64), np.frombuffer(data, dtype=np.uint8)
        fields = rows(padded, start, 16).view(self.order + "u4").astype(np.int64)
        time = fields[:, 0] * 10**9 + fields[:, 1] * self.unit
        return [FrameBatch(padded, self.link, start + 16, fields[:, 2], fields[:, 3], time)], at


@dataclass
class _Interface:
    link: int
    per_second: int = 10**6
    offset: int = 0


@dataclass
class _Pcapng:
    damaged: str
    order: str = "<"
    interfaces: list[_Interface] = field(default_factory=list)

    def frames(self, data: bytes) -> tuple[list[FrameBatch], int]:
        import numpy as np

        found, starts, padded = list[FrameBatch](), list[int](), np.frombuffer(data, dtype=np.uint8)
        at, end = 0, len(data) - PADDING
        last = end - 12
        unpack = Struct(f"{self.order}II").unpack_from
        while at <= last:
            kind, size = unpack(data, at)
            if kind == _SECTION:  # the same in both byte orders
                found += self._taken(padded, starts)
                starts = []
                self._begin(data[at + 8 : at + 12])
                unpack = Struct(f"{self.order}II").unpack_from
                kind, size = unpack(data, at)
            if size < 12 or size % 4 or size > (LONGEST + 2**16 if kind == _ENHANCED else LONGEST_BLOCK):
                raise InputError("file", f"{self.damaged} (a block of {size:,} bytes); expected a pcapng file")
            if at + size > end:
                break
            if kind == _ENHANCED and size >= 32:
                starts.append(at)
            elif kind == _INTERFACE:
                self._add(data[at + 8 : at + size - 4])
            at += size
        return found + self._taken(padded, starts), at

    def _begin(self, magic: bytes) -> None:
        """Begin a section, which has its own byte order and interfaces."""
        self.order = "<" if magic == b"\x4d\x3c\x2b\x1a" else ">"
        self.interfaces = []

    def _add(self, body: bytes) -> None:
        """Add an interface, with the resolution of its times."""
        if len(body) < 8 or len(self.interfaces) >= MOST_INTERFACES:
            raise InputError("file", f"{self.damaged} (an interface of {len(body)} bytes, or over {MOST_INTERFACES:,})")
        (link,) = Struct(f"{self.order}H").unpack_from(body)
        made, at = _Interface(link), 8
        while at + 4 <= len(body):
            code, size = Struct(f"{self.order}HH").unpack_from(body, at)
            value = body[at + 4 : at + 4 + size]
            if code == _FRACTION and len(value) == 1:
                made.per_second = int((2 if value[0] & 0x80 else 10) ** (value[0] & 0x7F))
            elif code == _OFFSET and len(value) == 8:
                (made.offset,) = Struct(f"{self.order}q").unpack(value)
            at += 4 + size + -size % 4
        if made.per_second > 10**12 or not 0 <= made.offset < 2**32:
            raise InputError("file", f"{self.damaged} (times of an interface in 1/{made.per_second:.3g} s)")
        self.interfaces.append(made)

    def _taken(self, padded: "NDArray[np.uint8]", starts: list[int]) -> list[FrameBatch]:
        """Return the frames of the packets that start here, by interface."""
        import numpy as np

        if not starts:
            return []
        start = np.array(starts, dtype=np.int64)
        fields = rows(padded, start, 28).view(self.order + "u4").astype(np.int64)
        size, number, captured = fields[:, 1], fields[:, 2], fields[:, 5]
        if (captured > size - 32).any():
            raise InputError("file", f"{self.damaged} (a packet that is longer than its block)")
        if (most := int(number.max())) >= len(self.interfaces):
            raise InputError("file", f"{self.damaged} (a packet of interface {most:,} of {len(self.interfaces):,})")
        found = []
        for each in np.unique(number):
            own, of = fields[number == each], self.interfaces[each]
            whole, part = np.divmod((own[:, 3] << 32) | own[:, 4], of.per_second)
            if whole.min() < 0 or whole.max() > 2**32:
                raise InputError("file", f"{self.damaged} (a time of {int(whole.max()):,} s)")
            time = (whole + of.offset) * 10**9 + (part * (1e9 / of.per_second)).astype(np.int64)
            found.append(FrameBatch(padded, of.link, start[number == each] + 28, own[:, 5], own[:, 6], time))
        return found


def rows(padded: "NDArray[np.uint8]", start: "NDArray[np.int64]", width: int) -> "NDArray[np.uint8]":
    """Return `width` bytes from each start, one row per frame."""
    import numpy as np

    return np.lib.stride_tricks.sliding_window_view(padded, width)[start]
