"""HTB by one reader: options of the discipline, and classes, whether one shapes a link or a tree shares it.

An absent option has Linux's default (`sch_htb.c`, `q_htb.c`): the ceiling is the rate, r2q gives a quantum.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest

from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.quantities import written
from aqmlab.tc import numbers
from aqmlab.tc.lines import ROOT, Command, Listing, class_id, framing
from aqmlab.tc.link import PLAIN, Layer

OF_CLASS = {"rate": "rate", "ceil": "rate", "burst": "bytes", "cburst": "bytes", "prio": "number", "quantum": "number"}
OF_CLASS |= {"mtu": "number", "mpu": "bytes", "overhead": "number", "linklayer": "", "level": "number"}
"""Options of a class with their units; every option has a value."""
SHORT = ("prio", "mtu", "mpu", "overhead", "linklayer", "quantum", "burst", "cburst")
"""Options of which tc takes the beginning, the first of these if several have it."""
ALSO = {"buffer": "burst", "maxburst": "burst", "cbuffer": "cburst", "cmaxburst": "cburst"}
OF_QDISC = {"default", "r2q", "debug", "direct_qlen", "direct_packets_stat", "ver"}
"""Options of the discipline with a value; the last two are shown only."""
R2Q = 10
QUANTA = (1000, 200_000)
"""Bytes that a quantum is at least and at most where r2q gives it."""
PRIORITIES = 8
FIFO = "1000 packets"
"""The queue of a leaf without a queueing discipline: a pfifo of the device's queue, which is usually so long."""


@dataclass(frozen=True)
class Class:
    """A class in Linux's terms; rates in bit/s, sizes in bytes; None means Linux's default."""

    name: str
    parent: str
    rate: float
    ceil: float
    prio: int = 0
    quantum: int | None = None
    burst: float | None = None
    cburst: float | None = None
    layer: Layer = PLAIN
    has_leaf: bool = False
    """It is shown with its own queueing discipline."""

    @property
    def most(self) -> float:
        """The rate that it may send at if it borrows nothing: a ceiling below the rate holds."""
        return min(self.rate, self.ceil)


@dataclass
class Hierarchy:
    """The classes in commands by name, with the rest of the commands: disciplines, notes, the device, the layer."""

    dev: str
    root: str
    classes: dict[str, Class] = field(default_factory=dict)
    disciplines: list[Command] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    default: str | None = None
    has_root: bool = False
    layer: Layer = PLAIN

    @cached_property
    def leaves(self) -> Mapping[str, Class]:
        """The classes that have none below them, once all are read."""
        parents = {each.parent for each in self.classes.values()}
        return {name: each for name, each in self.classes.items() if name not in parents}

    def top(self) -> list[str]:
        """Return the classes at the root."""
        return [name for name, each in self.classes.items() if each.parent == self.root]

    def check_leaf(self, discipline: Command) -> str:
        """Return the leaf whose queue a discipline is. InputError if there is no such leaf."""
        at = self.full(discipline.place.get("parent", ""))
        if at not in self.leaves:
            raise InputError("parent", f"{at}: no leaf has this name, and {discipline.kind} is to be its queue")
        return at

    def full(self, name: str) -> str:
        """Return the name of a class with the number of the root by default."""
        return self.root + name[1:] if name.startswith(":") else name


def hierarchy(lines: Listing) -> Hierarchy:
    """Return the classes that lines make. InputError for anything but classes, and for several devices."""
    of_htb = [each for each in lines.commands if each.kind == "htb"]
    devices = {each.place["dev"] for each in lines.commands if "dev" in each.place}
    if of_htb and len(devices) > 1:
        raise InputError("dev", f"commands for several devices: {', '.join(sorted(devices))}; give those of one")
    found = Hierarchy(next(iter(sorted(devices)), "eth0"), _root(of_htb), notes=list(lines.notes))
    quantum_of = R2Q
    for each in of_htb:
        if each.what == "qdisc":
            found.has_root, options = True, _of_qdisc(each.options, found)
            quantum_of = int(options.get("r2q", quantum_of)) or 1
            found.layer = each.layer or found.layer
    for each in of_htb:
        if each.what == "class":
            made = _class(each, found, quantum_of)
            found.classes[made.name] = made
    for made in found.classes.values():
        if made.parent != found.root and made.parent not in found.classes:
            raise InputError("parent", f"{made.parent}: no class has this name, and {made.name} is below it")
    _check_above(found)
    found.disciplines = [each for each in lines.commands if each.kind != "htb" and each.what == "qdisc"]
    others = [each for each in lines.commands if each.kind != "htb" and each.what == "class" and not each.is_shown]
    if others:  # those that are shown are what a discipline has of its flows
        raise InputError("tc", f"classes here are those of htb, not of {others[0].kind}")
    found.layer = _one_layer(found)
    return found


def _check_above(found: Hierarchy) -> None:
    """Raise InputError for a class that is below itself."""
    ends = set[str]()
    for name in found.classes:
        path, above = dict[str, None](), name
        while above in found.classes and above not in ends:
            if above in path:
                raise InputError("parent", f"{above}: the class is below itself; the parent of one class is the root")
            path[above] = None
            above = found.classes[above].parent
        ends |= path.keys()


def _root(of_htb: Sequence[Command]) -> str:
    """Return the number of the discipline: its handle's, or else its classes'."""
    handles = [each.place["handle"] for each in of_htb if each.what == "qdisc" and "handle" in each.place]
    names = [each.place.get("classid", "") for each in of_htb if each.what == "class"]
    majors = [name.partition(":")[0] + ":" for name in names if not name.startswith(":")]
    return next(iter([*handles, *majors]), "1:")


def _of_qdisc(words: Sequence[str], found: Hierarchy) -> Mapping[str, str]:
    """Read the options of `qdisc htb`."""
    said: dict[str, str] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "offload":
            found.notes.append("offload: on Linux the network card shapes; the simulator shapes as the kernel does")
        elif word not in OF_QDISC:
            raise unknown("tc", "htb has no option", word, {*OF_QDISC, "offload"})
        elif not left:
            raise InputError("tc", f"htb: {word}: the value is missing")
        else:
            said[word] = left.pop(0)
    if "r2q" in said:
        numbers.read(said["r2q"], "number", "r2q")
    default = class_id(said.get("default", "0"), "default")
    found.default = None if default == ":0" else found.full(default)
    return said


def _class(command: Command, found: Hierarchy, quantum_of: int) -> Class:
    """Read one class."""
    name = found.full(command.place.get("classid", ""))
    if not name:
        raise InputError("classid", f'"" is not a class; write such as {found.root}10')
    said = _said(name, command)
    if "rate" not in said:
        raise InputError("rate", f"{name}: a class needs its rate")
    values = {word: _number(text, word, command.is_shown) for word, text in said.items() if OF_CLASS[word]}
    rate = values["rate"]
    if not rate:
        raise InputError("rate", f"{name}: {said['rate']}: tc takes no class without a rate")
    layer = Layer(int(values.get("overhead", 0)), int(values.get("mpu", 0)), framing(said.get("linklayer", "ethernet")))
    quantum = int(values.get("quantum", 0)) or (None if quantum_of == R2Q else _quantum(rate, quantum_of))
    parent = found.full(command.place.get("parent", ROOT))
    return Class(
        name,
        found.root if parent in (ROOT, found.root) else parent,
        rate,
        values.get("ceil", 0) or rate,
        min(int(values.get("prio", 0)), PRIORITIES - 1),
        quantum,
        values.get("burst") or values.get("mtu"),
        values.get("cburst") or values.get("mtu"),
        layer,
        "leaf" in command.place,
    )


def _said(name: str, command: Command) -> dict[str, str]:
    """Return the options of a class by their full names."""
    said = {"prio": command.place["prio"]} if "prio" in command.place else {}  # where a class that is shown has it
    for word, text in zip_longest(command.options[::2], command.options[1::2], fillvalue=""):
        full = word if word in OF_CLASS else ALSO.get(word, next((each for each in SHORT if each.startswith(word)), ""))
        if not full:
            raise InputError(word, f"{name}: no option of a class of htb; there are {', '.join(OF_CLASS)}")
        said[full] = text
    return said


def _number(text: str, word: str, shown: bool) -> float:
    if word in ("rate", "ceil") and text.endswith("%"):
        raise InputError(word, f'"{text}" is a share of the device\'s rate, which no command states; write a rate')
    if word == "mpu":  # in 16 bits, and not in CAKE's range
        return numbers.read(text, "bytes", "size", shown=shown)
    return numbers.read(text.partition("/")[0], OF_CLASS[word], f"{word} of a class" if word == "overhead" else word,
                        shown=shown)  # fmt: skip


def _quantum(rate: float, r2q: int) -> int:
    """Return the quantum that a rate has by r2q, as sch_htb.c computes it."""
    return min(max(int(rate // 8) // r2q, QUANTA[0]), QUANTA[1])


def _one_layer(found: Hierarchy) -> Layer:
    """Return how packets are counted: by the size table of the root, or by the classes, all of them alike."""
    layers = {each.layer for each in found.classes.values()}
    if len(layers) > 1:
        ways = "; ".join(f"{name} {_in_words(each.layer)}" for name, each in found.classes.items())
        raise InputError("linklayer", f"the classes count packets in different ways, and a link has one: {ways}")
    of_classes = next(iter(layers), PLAIN)
    if PLAIN not in (of_classes, found.layer):
        raise InputError("stab", "the classes count a link layer as well; give one of the two")
    return of_classes if found.layer == PLAIN else found.layer


def _in_words(layer: Layer) -> str:
    return " ".join(f"{key} {value}" for key, value in layer.keys().items()) or "as they are"


def keys(each: Class, is_leaf: bool) -> dict[str, str | int]:
    """Return a class as keys of [[links.classes]]; one whose ceiling is below its rate sends no more than that."""
    found: dict[str, str | int] = {"rate": written(each.most, "bit/s"), "ceil": written(each.ceil, "bit/s")}
    sizes = {"burst": each.burst, "cburst": each.cburst, "quantum": each.quantum}
    found |= {key: written(value, "B") for key, value in sizes.items() if value}
    return found | ({"prio": each.prio} if is_leaf and each.prio else {})
