"""A whole tree of HTB: the classes of a link as lines of tc, and such lines as the classes of a link."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from aqmlab._core import Scenario
from aqmlab.problems import InputError
from aqmlab.quantities import number, quantity, written
from aqmlab.tc import numbers
from aqmlab.tc.link import Link
from aqmlab.tc.syntax import PASSED_OVER, Command, Lines, Setting, commands, place, qdisc_lines, read_qdisc

OPTIONS = {"rate": "rate", "ceil": "rate", "burst": "bytes", "cburst": "bytes", "prio": "number", "quantum": "number"}
"""What a class of HTB is told, and in what; every option has a value."""
WITHOUT = ("overhead", "mpu", "linklayer", "level")
"""What it may be told or show beside: here it is the link's, or follows from the tree."""
FIRST = 0x10
"""Minor number of the first class below the link's own."""


@dataclass(frozen=True)
class Tree:
    """The classes that lines make, as tables of [[links.classes]], the rate of the link and notes."""

    rate: str | None
    classes: Sequence[Mapping[str, str | int]]
    dev: str
    notes: tuple[str, ...]

    def toml(self) -> str:
        """Return the keys of a link, then its classes."""
        tables = [{"rate": self.rate} if self.rate else {}, *self.classes]
        blocks = ["\n".join(f"{key} = {json.dumps(value)}" for key, value in table.items()) for table in tables]
        return "\n\n[[links.classes]]\n".join(blocks) + "\n"


def write_tree(scenario: Scenario, link: str, dev: str = "eth0", packet: int = 1514) -> Lines:
    """Return the commands that give a device the classes of a link, the link itself being class 1:1.

    InputError for a link without classes, or with a scheme that Linux does not have. What is in which class is
    for filters, or for whoever sets priorities of sockets, and is not written.
    """
    spec = next((each for each in scenario.resolved()["links"] if each["name"] == link), None)
    if spec is None or not spec.get("classes"):
        raise InputError("link", f"{link}: no link with classes; aqmlab tc AQM writes the lines of a link without")
    if not isinstance(spec["rate"], str):
        raise InputError(f"links.{link}.rate", "changes during the run; a class of HTB has one rate")
    rate = numbers.write(quantity(spec["rate"]), "rate", "rate")
    minors = {each["name"]: FIRST + i for i, each in enumerate(spec["classes"])}
    found = [
        f"tc qdisc replace dev {dev} root handle 1: htb",
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
    """Return classes so that each comes after its parent, which tc asks for."""
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
    return sum(each.kind == "htb" and each.what == "class" for each in commands(text)) > 1


def read_tree(text: str, packet: int = 1514) -> Tree:
    """Return the classes that commands, or the output of `tc class show` and `tc qdisc show`, make.

    The only class at the root is the link, if others are below it. InputError for what is no tree: an unknown parent, a
    class without a rate, a discipline of a class that is not there, and what we lack, by name.
    """
    found = _Found.of(commands(text))
    link = found.link()
    for each in found.disciplines:
        found.put(each, packet)
    classes = [found.table(name, link) for name in found.keys if name != link]
    if link is None:
        found.notes.append("rate: several classes are at the root; give the link the rate of the device")
    found.notes.append("flows: say which groups of flows are in which class; filters are not read")
    return Tree(str(found.keys[link]["rate"]) if link else None, classes, found.dev, tuple(found.notes))


@dataclass
class _Found:
    """The classes and disciplines in lines: classes by their numbers, with their keys and parents."""

    dev: str = "eth0"
    root: str = "1:"
    keys: dict[str, dict[str, str | int]] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    disciplines: list[Command] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, lines: Sequence[Command]) -> "_Found":
        found = cls()
        for each in lines:
            where = place(each)
            if each.kind == "htb" and each.what == "qdisc":
                found.dev, found.root = where.get("dev", found.dev), where.get("handle", found.root)
            elif each.kind == "htb":
                name = _identity(where.get("classid"), found.root, "classid")
                found.parents[name] = _identity(where.get("parent", found.root), found.root, "parent")
                prio = ["prio", where["prio"]] if "prio" in where else []  # where a class that is shown has it
                found.keys[name] = _options(name, [*prio, *each.options], found.notes)
            elif each.kind not in PASSED_OVER:
                found.disciplines.append(each)
        for name, parent in found.parents.items():
            if parent not in (found.root, *found.keys):
                raise InputError("parent", f"{parent}: no class is called so, and {name} is below it")
        return found

    def link(self) -> str | None:
        """Return the class that is the link, None if several classes are at the root."""
        top = [name for name, parent in self.parents.items() if parent == self.root]
        return top[0] if len(top) == 1 and top[0] in self.parents.values() else None

    def put(self, discipline: Command, packet: int) -> None:
        """Give a leaf its queue."""
        at = _identity(place(discipline).get("parent"), self.root, "parent")
        if at not in self.keys or at in self.parents.values():
            raise InputError("parent", f"{at}: no leaf is called so, and {discipline.kind} is to be its queue")
        read = read_qdisc(discipline.kind, discipline.options, packet, shown=discipline.is_shown)
        self.keys[at] |= {"aqm": read.setting.scheme, "buffer": read.setting.link.buffer or read.least}
        self.notes += [f"{at}: {note}" for note in read.notes]

    def table(self, name: str, link: str | None) -> dict[str, str | int]:
        """Return a class as a table of [[links.classes]]."""
        parent, keys = self.parents[name], dict(self.keys[name])
        if parent == self.root and keys["ceil"] != keys["rate"]:
            self.notes.append(f"{name}: a class at the root borrows nothing in Linux, so its ceil is its rate")
            keys["ceil"] = keys["rate"]
        if name in self.parents.values():
            keys.pop("prio", None)
        above = {} if parent in (self.root, link) else {"parent": _name(parent)}
        return {"name": _name(name), **above, **keys}


def _name(identity: str) -> str:
    return f"class-{identity.partition(':')[2]}"


def _identity(text: str | None, root: str, word: str) -> str:
    """Return "1:10" as tc shows it; ":10" is of the root's number."""
    found = re.fullmatch(r"([0-9a-f]{0,4}):([0-9a-f]{0,4})", (text or "").lower())
    if not found:
        raise InputError(word, f'"{text or ""}" is no class; write such as {root}10')
    return f"{found[1] or root.partition(':')[0]}:{found[2].lstrip('0')}"


def _options(name: str, words: Sequence[str], notes: list[str]) -> dict[str, str | int]:
    """Return the keys of a class."""
    said: dict[str, float] = {}
    for word, value in zip_longest(words[::2], words[1::2], fillvalue=""):
        if word in WITHOUT:
            if value not in ("0", "0b", "ethernet") and word != "level":
                notes.append(f"{name}: {word} {value} is the link's here")
        elif word not in OPTIONS:
            raise InputError(word, f"{name}: no option of a class of htb; there are {', '.join([*OPTIONS, *WITHOUT])}")
        else:
            said[word] = numbers.read(value.partition("/")[0], OPTIONS[word], word)
    if "rate" not in said:
        raise InputError("rate", f"{name}: a class needs its rate")
    said.setdefault("ceil", said["rate"])
    rate, ceil = (written(said[key], "bit/s") for key in ("rate", "ceil"))
    if said["ceil"] < said["rate"]:
        raise InputError("ceil", f"{name}: {ceil} is below its rate, {rate}")
    keys: dict[str, str | int] = {"rate": rate, "ceil": ceil}
    keys |= {key: written(said[key], "B") for key in ("burst", "cburst", "quantum") if said.get(key)}
    return keys | ({"prio": round(said["prio"])} if said.get("prio") else {})
