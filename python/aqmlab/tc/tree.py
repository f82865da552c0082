"""A whole tree of HTB: the classes of a link as lines of tc, and such lines as the classes of a link."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aqmlab._core import Scenario
from aqmlab.problems import InputError
from aqmlab.quantities import number, quantity, written
from aqmlab.tc import htb, numbers
from aqmlab.tc.lines import listing
from aqmlab.tc.link import PLAIN, Layer, Link
from aqmlab.tc.syntax import PASSED_OVER, Lines, Setting, htb_root, qdisc_lines, read_qdisc

OPTIONS = {"rate": "rate", "ceil": "rate", "burst": "bytes", "cburst": "bytes", "prio": "number", "quantum": "number"}
"""HTB's options of a class, with their units."""
FIRST = 0x10
"""Minor number of the first class below the link's own."""


@dataclass(frozen=True)
class Tree:
    """The classes that lines make, as tables of [[links.classes]], the rate of the link and notes."""

    rate: str | None
    classes: Sequence[Mapping[str, str | int]]
    dev: str
    notes: tuple[str, ...]
    layer: Layer = PLAIN
    """How the classes count packets, which is the link's here."""

    def toml(self) -> str:
        """Return the keys of a link, then its classes."""
        tables = [({"rate": self.rate} if self.rate else {}) | self.layer.keys(), *self.classes]
        blocks = ["\n".join(f"{key} = {json.dumps(value)}" for key, value in table.items()) for table in tables]
        return "\n\n[[links.classes]]\n".join(blocks) + "\n"


def write_tree(scenario: Scenario, link: str, dev: str = "eth0", packet: int = 1514) -> Lines:
    """Return the commands that give a device the classes of a link, the link itself being class 1:1.

    InputError for a link without classes, or with a scheme that Linux does not have. Filters, or priorities of sockets,
    assign packets to classes; they are not written.
    """
    spec = next((each for each in scenario.resolved()["links"] if each["name"] == link), None)
    if spec is None or not spec.get("classes"):
        raise InputError("link", f"{link}: no link with classes; aqmlab tc AQM prints the commands of a link without")
    if not isinstance(spec["rate"], str):
        raise InputError(f"links.{link}.rate", "changes during the run; a class of HTB has one rate")
    rate = numbers.write(quantity(spec["rate"]), "rate", "rate")
    minors = {each["name"]: FIRST + i for i, each in enumerate(spec["classes"])}
    layer = Layer(round(quantity(spec["overhead"])), round(quantity(spec["mpu"])), spec["framing"])
    if layer.framing == "ptm":
        raise InputError(f"links.{link}.framing", "htb counts no PTM; take rates of 64/65 and framing none")
    found = [
        htb_root(dev, layer),
        f"tc class replace dev {dev} parent 1: classid 1:1 htb rate {rate} ceil {rate} quantum {packet}",
    ]
    notes = []
    parents = {each["parent"] for each in spec["classes"]}
    for each in _from_above(spec["classes"]):
        minor = minors[each["name"]]
        parent = minors.get(each["parent"], 1)
        values = {name: number(str(each[name])) for name in OPTIONS if name != "prio" or each["name"] not in parents}
        options = " ".join(f"{name} {_said(float(value), OPTIONS[name], name)}" for name, value in values.items())
        found.append(f"tc class replace dev {dev} parent 1:{parent:x} classid 1:{minor:x} htb {options}")
        if each["name"] not in parents:
            aqm = each["aqm"] or spec["aqm"]
            shaped = None if aqm.partition(":")[0] == "cake" else quantity(each["ceil"])  # CAKE would shape, too
            of = Link(shaped, each["buffer"] or spec["buffer"], spec["ecn"], packet)
            given = qdisc_lines(Setting(aqm, of, dev=dev), f"parent 1:{minor:x} handle {minor:x}:")
            found += given.commands
            notes += [f"{each['name']}: {note}" for note in given.notes]
        groups = f" takes {', '.join(each['flows'])}" if each["flows"] else ""
        notes.append(f"1:{minor:x} is {each['name']}{groups}")
    return Lines(tuple(found), tuple(notes))


def _from_above(classes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return classes in an order in which each comes after its parent, as tc requires."""
    known: list[Mapping[str, Any]] = []
    left = list(classes)
    while left:
        names = {each["name"] for each in left}
        known += [each for each in left if each["parent"] not in names]
        left = [each for each in left if each["parent"] in names]
    return known


def _said(value: float, kind: str, word: str) -> str:
    return f"{round(value)}b" if kind == "bytes" else numbers.write(value, kind, word)


def is_tree(text: str) -> bool:
    """Say whether lines have more than one class of HTB."""
    return sum(each.kind == "htb" and each.what == "class" for each in listing(text).commands) > 1


def read_tree(text: str, packet: int = 1514) -> Tree:
    """Return the classes that commands, or the output of `tc class show` and `tc qdisc show`, make.

    The only class at the root is the link, if others are below it. InputError for anything but a tree: an unknown
    parent, a class without a rate, a discipline of a class that is not there, and what we lack, by name.
    """
    found = htb.hierarchy(listing(text))
    top = found.top()
    link = top[0] if len(top) == 1 and top[0] not in found.leaves else None
    queues, notes = _queues(found, packet)
    tables = []
    for name, given in found.classes.items():
        each = given
        if given.parent == found.root and given.ceil > given.rate:
            notes.append(f"{name}: a class at the root borrows nothing in Linux, so its ceil is its rate")
            each = replace(given, ceil=given.rate)
        above = {} if each.parent in (found.root, link) else {"parent": _name(each.parent)}
        if name != link:
            tables.append(
                {"name": _name(name), **above, **htb.keys(each, name in found.leaves), **queues.get(name, {})}
            )
    if found.default in found.leaves:
        notes.append(f"default: {_name(str(found.default))} takes what no filter puts elsewhere")
    elif found.has_root:
        notes.append("default: none: Linux sends what no filter puts into a class at the rate of the device")
    if link is None:
        notes.append("rate: several classes are at the root; give the link the rate of the device")
    notes.append("flows: say which groups of flows are in which class; filters are not read")
    rate = written(found.classes[link].most, "bit/s") if link else None
    return Tree(rate, tables, found.dev, (*found.notes, *notes), found.layer)


def _queues(found: htb.Hierarchy, packet: int) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return scheme and buffer of each leaf, and notes on them; a leaf without a discipline is a pfifo in Linux."""
    queues, notes = dict[str, dict[str, str]](), list[str]()
    for each in found.disciplines:
        if each.what != "qdisc" or each.kind in PASSED_OVER:
            continue
        at = found.check_leaf(each)
        read = read_qdisc(each, packet)
        queues[at] = {"aqm": read.setting.scheme, "buffer": read.setting.link.buffer or read.least}
        notes += [f"{at}: {note}" for note in read.notes]
    for name in found.leaves:
        if name in queues:
            continue
        if found.classes[name].has_leaf:
            notes.append(f"{name}: its queueing discipline is in what tc qdisc show prints")
        else:
            queues[name] = {"aqm": "droptail", "buffer": htb.FIFO}
            notes.append(f"{name}: no queueing discipline, so a pfifo of the device's queue, usually of {htb.FIFO}")
    return queues, notes


def _name(identity: str) -> str:
    return f"class-{identity.partition(':')[2]}"
