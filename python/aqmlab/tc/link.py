"""The link that lines are for, and the options read for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from aqmlab import _core
from aqmlab.problems import InputError
from aqmlab.quantities import whole
from aqmlab.tc import numbers
from aqmlab.tc.qdiscs import FRAME, MEMORY_OF_PACKET, Qdisc

Values = dict[str, float | str]
"""Parameters by our names, in base units; words, switches and "auto" as they are."""
Said = list[tuple[str, str]]
"""Options in order; what has no value has an empty one."""


@dataclass(frozen=True)
class Layer:
    """The bytes of a packet on the wire: `overhead` per packet, `mpu` at least (both bytes).

    `framing` is "none", "atm" or "ptm".
    """

    overhead: int = 0
    mpu: int = 0
    framing: str = "none"

    def keys(self) -> dict[str, str]:
        """Return the keys of [[links]] with these values, without those that are the default."""
        keys = {"overhead": f"{self.overhead} B", "mpu": f"{self.mpu} B", "framing": self.framing}
        return {key: value for key, value in keys.items() if value not in ("0 B", "none")}


PTM_SHARE = 64 / 65
"""The share of a rate that PTM leaves: a byte in 65 is its own (IEEE 802.3, 61.3)."""
PLAIN = Layer()
"""A link that carries packets as they are."""


@dataclass(frozen=True)
class Link:
    """The link of a command: `rate` in bit/s, `buffer` as "600 packets" or "100 kB".

    `packet` is the size of a full packet with its link header, bytes. A shaper counts `layer`. `frame` is the largest
    frame of the device, bytes, from which a discipline takes its MTU; by default it is `packet`.
    """

    rate: float | None = None
    buffer: str | None = None
    ecn: bool = True
    packet: int = 1514
    layer: Layer = PLAIN
    frame: int | None = None

    def __post_init__(self) -> None:
        whole("packet", self.packet, 1, 2**32 - 1)

    @property
    def shaped(self) -> float:
        """The rate that a shaper of HTB keeps, bit/s: with PTM, which HTB does not know, 64/65 in whole kbit/s."""
        rate = self.rate or 0.0
        if self.layer.framing != "ptm":
            return rate
        return float(int(rate * PTM_SHARE) // 1000 * 1000) or rate * PTM_SHARE

    @property
    def full(self) -> int:
        """The largest frame of the device, bytes."""
        return self.packet if self.frame is None else self.frame

    def packets(self, name: str) -> float:
        """Return how many packets may wait. InputError if that is not known."""
        return self.bytes(name) / self.packet

    def bytes(self, name: str) -> float:
        """Return how many bytes may wait. InputError if that is not known."""
        if self.buffer is None:
            raise InputError("buffer", f"{name} needs it in Linux; give --buffer, such as 600packets or 1MB")
        value, unit = size(self.buffer)
        return value * self.packet if unit == "packets" else value


def size(buffer: str) -> tuple[float, str]:
    """Return a buffer as a number and its unit, "packets" or "B". InputError for anything else."""
    found = _core.quantity(buffer)
    if found is None or found[1] not in ("packets", "B") or found[0] < 1:
        raise InputError("buffer", f'"{buffer}" is not a size; write 600packets or 1MB')
    return found


@dataclass(frozen=True)
class ReadOptions:
    """The meaning of options in Linux: parameters, those that were said among them, the link, and notes."""

    values: Values
    said: frozenset[str]
    link: Link
    notes: tuple[str, ...] = ()


def read_limit(qdisc: Qdisc, said: Mapping[str, str], link: Link, shown: bool = False) -> Link:
    """Return a link with the buffer that was said; RED's and GRED's in packets where that is exact."""
    word, kind = qdisc.limit
    if word not in said:
        if not qdisc.without:
            raise InputError("tc", f"{qdisc.kind} needs {word}")
        return link
    limit = round(numbers.read(said[word], "bytes" if kind == "memory" else kind, word, shown=shown))
    if kind == "memory":
        return replace(link, buffer=f"{max(1, limit // MEMORY_OF_PACKET)} packets")
    whole = qdisc.kind in ("red", "gred") and limit % link.packet == 0
    if kind == "packets" or whole:
        return replace(link, buffer=f"{limit // link.packet if whole else limit} packets")
    return replace(link, buffer=f"{limit} B")


def memory(buffer: str) -> int:
    """Return the bytes that the full packets of a buffer take in the kernel's memory."""
    value, unit = size(buffer)
    return round(value * MEMORY_OF_PACKET / (1 if unit == "packets" else FRAME))


def hear_memory(qdisc: Qdisc, said: Mapping[str, str], link: Link, shown: bool) -> tuple[Link, list[str]]:
    """Return a link whose buffer is what a limit of memory lets wait, if that is less, and a note on it."""
    word, usual = qdisc.memory
    memory = numbers.read(said[word], "bytes", word, shown=shown) if word in said else usual
    most = int(memory) // MEMORY_OF_PACKET
    if not 0 < most < size(link.buffer or qdisc.without)[0]:
        return link, []
    text = f"{word} {said.get(word, memory)}: about {most} full packets, of {MEMORY_OF_PACKET} B of memory each"
    return replace(link, buffer=f"{most} packets"), [text]


def memory_for(qdisc: Qdisc, link: Link) -> int | None:
    """Return the memory that a buffer takes, if it is more than the kernel would let a discipline have."""
    _, usual = qdisc.memory
    if not usual or link.buffer is None:
        return None
    wanted = round(link.packets(qdisc.kind)) * MEMORY_OF_PACKET
    return wanted if wanted > usual else None


def packet_size(value: float) -> int:
    """Return the bytes of a mean packet (`avpkt`). InputError if there are none."""
    if value < 1:
        raise InputError("avpkt", f"{value:g} B is not a packet size")
    return round(value)


def packets(value: float, packet: int, shown: bool = False) -> float:
    """Return bytes as packets, in as few digits as give the bytes again; tc shows sizes to 16 bytes."""
    exact = value / packet
    if abs(round(exact) * packet - value) < (16 if shown else 0.5):
        return float(round(exact))
    return shortest(exact, lambda found: abs(found * packet - value) < 0.5)


def shortest(value: float, fits: Callable[[float], bool]) -> float:
    """Return `value` in as few digits as will do."""
    return next((found for digits in range(12) if fits(found := round(value, digits))), value)
