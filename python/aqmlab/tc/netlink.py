"""A queueing discipline as the kernel takes it: tc's encoding of its words, by netlink.

Layouts and numbers come from `include/uapi/linux/pkt_sched.h`; tc's computation from RED's words is in its
`tc_red.c`.
"""

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aqmlab.problems import InputError
from aqmlab.tc import Link, Setting, numbers
from aqmlab.tc.averages import weight
from aqmlab.tc.options import EXTRA, parse, say
from aqmlab.tc.qdiscs import Qdisc, of_scheme
from aqmlab.tc.syntax import MQ, prepared, write

TICKS = 15.625
"""Of traffic control in a microsecond: 64 ns each."""


@dataclass(frozen=True)
class Queue:
    """A discipline for the guest: its kind, its options, and where its statistics have what a result wants."""

    kind: str
    options: bytes
    marks: tuple[int, ...] = ()
    """Offsets of the counts of marks in its statistics."""
    overflows: tuple[int, ...] = ()
    """The same of packets dropped at a full buffer."""
    shapes: bool = False
    """It keeps the link's rate by itself."""
    hosts: bool = False
    """It distinguishes hosts."""

    def order(self) -> dict[str, object]:
        """Return it as the guest reads it."""
        return {
            "kind": self.kind,
            "options": self.options.hex(),
            "shapes": self.shapes,
            "marks": self.marks,
            "overflows": self.overflows,
            "tins": self.kind == "cake",
        }


Words = Mapping[str, str]
"""Words of tc, with the text after each, empty if there is none."""


@dataclass(frozen=True)
class _Option:
    """An attribute: its number, its layout (`struct`), and what a base unit is in it."""

    number: int
    layout: str = "=I"
    scale: float = 1.0
    is_flag: bool = False
    count: Callable[[float], int] | None = None
    """The meaning of a value in it, if no scale gives it."""

    def encode(self, value: float) -> bytes:
        counted = self.count(value) if self.count else round(value * self.scale)
        return _attribute(self.number, struct.pack(self.layout, counted))


MICROSECONDS, SIXTEENTHS, PERCENT = 1e6, 16.0, 100.0
CODEL = {
    "target": _Option(1, scale=MICROSECONDS),
    "limit": _Option(2),
    "interval": _Option(3, scale=MICROSECONDS),
    "ecn": _Option(4, is_flag=True),
}
ATTRIBUTES: Mapping[str, Mapping[str, _Option]] = {
    "codel": CODEL | {"ce_threshold": _Option(5, scale=MICROSECONDS)},
    "fq_codel": CODEL
    | {
        "flows": _Option(5),
        "quantum": _Option(6),
        "ce_threshold": _Option(7, scale=MICROSECONDS),
        "drop_batch": _Option(8),
        "memory_limit": _Option(9),
    },
    "pie": {
        "target": _Option(1, scale=MICROSECONDS),
        "limit": _Option(2),
        "tupdate": _Option(3, scale=MICROSECONDS),
        "alpha": _Option(4, scale=SIXTEENTHS),
        "beta": _Option(5, scale=SIXTEENTHS),
        "ecn": _Option(6, is_flag=True),
    },
    "fq_pie": {
        "limit": _Option(1),
        "flows": _Option(2),
        "target": _Option(3, scale=MICROSECONDS),
        "tupdate": _Option(4, scale=MICROSECONDS),
        "alpha": _Option(5, scale=SIXTEENTHS),
        "beta": _Option(6, scale=SIXTEENTHS),
        "quantum": _Option(7),
        "memory_limit": _Option(8),
        "ecn_prob": _Option(9, scale=PERCENT),
        "ecn": _Option(10, is_flag=True),
    },
    "dualpi2": {
        "limit": _Option(1),
        "target": _Option(3, scale=MICROSECONDS),
        "tupdate": _Option(4, scale=MICROSECONDS),
        "alpha": _Option(5, count=numbers.parts_of),
        "beta": _Option(6, count=numbers.parts_of),
        "step_thresh": _Option(8, scale=MICROSECONDS),
        "coupling_factor": _Option(10, "=B"),
        "classic_protection": _Option(13, "=B", PERCENT),
    },
    "cake": {
        "bandwidth": _Option(2, "=Q", count=lambda rate: int(rate / 8)),
        "overhead": _Option(6, "=i"),
        "rtt": _Option(7, scale=MICROSECONDS),
        "memlimit": _Option(10),
        "mpu": _Option(14),
    },
}
"""The disciplines whose options are attributes, by the words of tc."""
CAKE_WORDS: Mapping[str, tuple[int, int]] = {
    "diffserv3": (3, 0),
    "diffserv4": (3, 1),
    "besteffort": (3, 3),
    "noatm": (4, 0),
    "atm": (4, 1),
    "ptm": (4, 2),
    "flows": (5, 4),
    "dual-srchost": (5, 5),
    "dual-dsthost": (5, 6),
    "ingress": (15, 1),
    "raw": (12, 0),
}
"""Words of CAKE without a value: attribute and number."""
MARKS: Mapping[str, tuple[int, ...]] = {
    "red": (12,),
    "choke": (12,),
    "sfb": (20,),
    "codel": (24, 32),
    "fq_codel": (12, 28),
    "pie": (36,),
    "fq_pie": (16,),
    "dualpi2": (24,),
}
OVERFLOWS: Mapping[str, tuple[int, ...]] = {
    "red": (4,),
    "choke": (4,),
    "sfb": (12,),
    "codel": (20,),
    "fq_codel": (8,),
    "pie": (28,),
    "fq_pie": (8,),
}
RED_ECN, RED_ADAPTIVE = 1, 4


def queue(
    scheme: str,
    rate: float,
    buffer: str,
    ecn: bool,
    packet: int,
    varies: bool = False,
    *,
    frame: int | None = None,
    is_change: bool = False,
) -> Queue:
    """Return a scheme on a link of a kernel, or what it is changed to while packets wait.

    Packets take `packet` bytes on average; the device takes `frame` bytes at most, `packet` unless given.

    CAKE shapes by itself up to the link's rate; without a bandwidth, it shapes at that rate, unless it `varies`.
    InputError if Linux lacks the scheme or a parameter.
    """
    cannot_know = varies and of_scheme(scheme.partition(":")[0]).kind == "cake"
    link = Link(None if cannot_know else rate, buffer, ecn, packet, frame=frame)
    write(Setting(scheme, link))  # refuses what cannot be said
    qdisc, values = prepared(Setting(scheme, link))
    groups = say(qdisc, values, link)
    if qdisc.kind == MQ:
        raise InputError(
            "aqm", '"cake-mq" requires a device with several transmit queues, which the guest does not have yet'
        )
    if qdisc.kind == "gred":
        raise InputError(
            "aqm",
            '"gred" classifies packets by the field that sch_dsmark wrote, and Linux no longer contains sch_dsmark',
        )
    if is_change and qdisc.kind == "sfb":
        raise InputError("changes", '"sfb" drops the waiting packets when it is changed on Linux')
    words = dict(parse(qdisc, groups[0]))
    if is_change:
        words.pop("flows", None)  # Linux refuses to be told their number again
    encode = ENCODERS.get(qdisc.kind, _attributes)
    return Queue(
        qdisc.kind,
        encode(qdisc, words),
        MARKS.get(qdisc.kind, ()),
        OVERFLOWS.get(qdisc.kind, ()),
        shapes="bandwidth" in words and qdisc.kind == "cake" and _number(qdisc, words, "bandwidth") <= rate,
        hosts=qdisc.kind == "cake",
    )


def _attribute(number: int, content: bytes) -> bytes:
    head = struct.pack("=HH", 4 + len(content), number)
    return head + content + b"\0" * (-len(content) % 4)


def _number(qdisc: Qdisc, words: Words, word: str) -> float:
    kinds = {
        qdisc.limit[0]: qdisc.limit[1].replace("memory", "bytes"),
        qdisc.memory[0]: "bytes",
        **{name: kind for name, (_, kind) in qdisc.options.items()},
    }
    return numbers.read(words[word], {**EXTRA.get(qdisc.kind, {}), **kinds}[word], word)


def _attributes(qdisc: Qdisc, words: Words) -> bytes:
    known = ATTRIBUTES[qdisc.kind]
    found = b""
    for word in words:
        if word in CAKE_WORDS and qdisc.kind == "cake":
            number, value = CAKE_WORDS[word]
            found += _attribute(number, struct.pack("=I", value))
        elif word in known and not known[word].is_flag:
            found += known[word].encode(_number(qdisc, words, word))
        if word == "rtt":
            found += _cake_target(_number(qdisc, words, word))
    flag = known.get("ecn")
    return found + (flag.encode("ecn" in words) if flag else b"")


def _cake_target(rtt: float) -> bytes:
    """Return CAKE's target, which tc sends with every round-trip time: a twentieth, and no less than a microsecond."""
    number, share = 8, 20
    return _attribute(number, struct.pack("=I", max(round(rtt * MICROSECONDS) // share, 1)))


def _fifo(qdisc: Qdisc, words: Words) -> bytes:
    return struct.pack("=I", round(_number(qdisc, words, "limit")))


def _sfb(qdisc: Qdisc, words: Words) -> bytes:
    share = 65535
    said = {word: _number(qdisc, words, word) for word in words}
    milliseconds = 1000
    fields = (
        said["rehash"] * milliseconds,
        said["db"] * milliseconds,
        said["max"],
        said["target"],
        said["increment"] * share,
        said["decrement"] * share,
        said["limit"],
        said["penalty_rate"],
        said["penalty_burst"],
    )
    return _attribute(1, struct.pack("=9I", *map(round, fields)))


def _red(qdisc: Qdisc, words: Words) -> bytes:
    said = {word: _number(qdisc, words, word) for word, text in words.items() if text}
    packet, rate = said["avpkt"], said["bandwidth"] / 8
    least = said["min"] / (packet if qdisc.kind == "red" else 1)
    log = weight(said["burst"], least)
    span = (said["max"] - said["min"]) * (packet if qdisc.kind == "choke" else 1)  # in bytes
    depth = _probability(span, said["probability"])
    cell, table = _idle(log, packet, rate)
    flags = (RED_ECN if "ecn" in words else 0) | (RED_ADAPTIVE if "adaptive" in words else 0)
    sizes = (round(said[word]) for word in ("limit", "min", "max"))
    parameters = struct.pack("=IIIBBBB", *sizes, log, depth, cell, flags)
    most = min(int(said["probability"] * 2**32), 2**32 - 1)
    return _attribute(1, parameters) + _attribute(2, table) + _attribute(3, struct.pack("=I", most))


def _probability(span: float, most: float) -> int:
    """Return -log2 of the probability over the span of the thresholds."""
    share = most / span
    return next((log for log in range(32) if share * 2.0**log > 1), 32)


def _idle(log: int, packet: float, rate: float) -> tuple[int, bytes]:
    """Return the table by which the average shrinks while the queue is empty, and -log2 of its step."""
    decay = -math.log(1 - 2.0**-log) / (packet / rate * 1e6 * TICKS)
    step = next((step for step in range(32) if 31 / decay / 2**step < 512), 31)
    shifts = [0, *(min(int((i << step) * decay), 31) for i in range(1, 255)), 31]
    return step, bytes(shifts)


ENCODERS: Mapping[str, Callable[[Qdisc, Words], bytes]] = {
    "pfifo": _fifo,
    "bfifo": _fifo,
    "red": _red,
    "choke": _red,
    "sfb": _sfb,
}
"""The disciplines whose options are structures."""
