"""Compare trees of classes with HTB of Linux 7.3 in virtual time: the rate of each leaf of twenty trees.

Every leaf receives datagrams at a constant rate, most of them more than it may send. `kernel/htb.jsonl` contains the
kernel's rates, for trees set up by the commands of `tc.write_tree`. Run as a program, it measures them again, in a
minute, if a kernel is built.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kernel_guest

import aqmlab
from aqmlab import _core, tc

HERE = Path(__file__).parent
ROWS = HERE / "kernel" / "htb.jsonl"
LINE, SHAPED = 1000.0, 20.0
"""Rates of the device and of the one class that shares it, under which the trees are, Mbit/s."""
PACKET = 1000
"""Bytes with all headers, 42 of them."""
BEGIN, END = 2.0, 10.0
"""When bytes count, s."""
TOLERANCE = 0.03
"""Of the rate of a leaf in the kernel."""
OFFERED = 1.25
"""The load of a leaf, in its ceilings."""


@dataclass(frozen=True)
class Tree:
    """A tree by name: each class with its parent ("" for that above all), rate, ceil (Mbit/s) and more keys in TOML."""

    name: str
    classes: tuple[tuple[str, str, float, float, str], ...]
    offered: tuple[tuple[str, float], ...] = ()
    """Mbit/s that a leaf is offered, if not more than its ceiling; 0 leaves it idle."""

    @property
    def leaves(self) -> dict[str, float]:
        """The load of each leaf, Mbit/s."""
        parents = {parent for _, parent, *_ in self.classes}
        given = dict(self.offered)
        ceilings = {name: ceil for name, _, _, ceil, _ in self.classes if name not in parents}
        return {name: given.get(name, OFFERED * ceil) for name, ceil in ceilings.items()}

    def toml(self) -> str:
        """Return the scenario."""
        lines = ["schema = 1", f'duration = "{END} s"', f'warmup = "{BEGIN} s"', "[[links]]", 'name = "down"']
        lines += [f'rate = "{LINE} Mbit/s"', 'buffer = "100 packets"', 'aqm = "droptail"']
        for name, parent, rate, ceil, more in (("all", "", SHAPED, SHAPED, ""), *self.classes):
            lines += ["[[links.classes]]", f'name = "{name}"', f'rate = "{rate} Mbit/s"', f'ceil = "{ceil} Mbit/s"']
            lines += [f'parent = "{parent or "all"}"'] if name != "all" else []
            lines += [f'flows = ["{name}"]'] if name in self.leaves else []
            lines += [more]
        for name, offered in self.leaves.items():
            lines += [
                "[[flows]]",
                f'name = "{name}"',
                'kind = "udp-cbr"',
                f'rate = "{offered or 1} Mbit/s"',
                'rtt = "10 ms"',
            ]
            lines += [f'packet = "{PACKET - 42} B"', 'header = "42 B"', f"count = {int(offered > 0)}"]
        return "\n".join(lines) + "\n"

    def scenario(self) -> aqmlab.Scenario:
        """Return the scenario, read."""
        return _core.Scenario.parse(self.toml(), self.name, [])

    def ours(self) -> dict[str, float]:
        """Return what each leaf is given here, Mbit/s on the wire."""
        flows = aqmlab.run(self.scenario()).flows
        return {name: flows[name].goodput * PACKET / (PACKET - 42) / 1e6 for name in self.leaves}

    def order(self) -> dict[str, Any]:
        """Return the orders for the guest."""
        lines = tc.write_tree(self.scenario(), "down", "dummy0")
        minors = {note.split()[2]: note.split()[0].partition(":")[2] for note in lines.notes if " is " in note}
        leaves = [[name, int(minors[name], 16), offered] for name, offered in self.leaves.items()]
        return {
            "name": self.name,
            "commands": lines.commands,
            "leaves": leaves,
            "packet": PACKET,
            "begin": BEGIN,
            "end": END,
        }


def _equal(text: str) -> str:
    return f'quantum = "1514 B"\n{text}'


EQUAL = _equal("")
SITES = (("x", "", 10.0, 20.0, ""), ("y", "", 8.0, 20.0, ""))
TREES = (
    Tree("two alike", (("a", "", 5, 20, ""), ("b", "", 5, 20, ""))),
    Tree("quanta by rate", (("a", "", 6, 20, ""), ("b", "", 2, 20, ""))),
    Tree("equal quanta", (("a", "", 6, 20, EQUAL), ("b", "", 2, 20, EQUAL))),
    Tree("quanta of one and four", (("a", "", 4, 20, EQUAL), ("b", "", 4, 20, 'quantum = "6056 B"'))),
    Tree("two priorities", (("a", "", 4, 20, "prio = 1"), ("b", "", 4, 20, "prio = 0"))),
    Tree("three priorities", (("a", "", 2, 6, "prio = 0"), ("b", "", 2, 10, "prio = 1"), ("c", "", 2, 20, "prio = 2"))),
    Tree("a ceiling", (("a", "", 3, 7, EQUAL), ("b", "", 3, 20, EQUAL))),
    Tree("nothing borrowed", (("a", "", 3, 3, ""), ("b", "", 7, 7, ""))),
    Tree("large buckets", (("a", "", 3, 9, 'burst = "60 kB"\ncburst = "30 kB"'), ("b", "", 9, 20, 'burst = "20 kB"'))),
    Tree("small buckets", (("a", "", 3, 9, 'burst = "200 B"\ncburst = "200 B"'), ("b", "", 9, 20, EQUAL))),
    Tree(
        "small buckets off the beat", (("a", "", 3, 8.3, 'burst = "200 B"\ncburst = "200 B"'), ("b", "", 9, 20, EQUAL))
    ),
    Tree("a little rate", (("a", "", 0.1, 20, EQUAL), ("b", "", 12, 20, EQUAL))),
    Tree("one is light", (("a", "", 5, 20, EQUAL), ("b", "", 5, 20, EQUAL), ("c", "", 8, 20, EQUAL)), (("c", 2.0),)),
    Tree("eight leaves", tuple((f"c{i}", "", 0.5 * i, 20, EQUAL) for i in range(1, 9))),
    Tree("two sites", (*SITES, ("a", "x", 2, 20, EQUAL), ("b", "x", 6, 20, EQUAL), ("c", "y", 3, 20, EQUAL))),
    Tree(
        "a site with an idle leaf",
        (*SITES, ("a", "x", 2, 20, EQUAL), ("b", "x", 8, 20, EQUAL), ("c", "y", 3, 20, EQUAL)),
        (("b", 0.0),),
    ),
    Tree(
        "a site with a ceiling",
        (("x", "", 6, 9, ""), ("a", "x", 2, 20, EQUAL), ("b", "x", 3, 20, EQUAL), ("c", "", 4, 20, EQUAL)),
    ),
    Tree(
        "an overbooked site",
        (("x", "", 6, 6, ""), ("a", "x", 5, 6, EQUAL), ("b", "x", 4, 6, EQUAL), ("c", "", 6, 20, EQUAL)),
    ),
    Tree(
        "priorities in sites",
        (
            *SITES,
            ("a", "x", 2, 20, _equal("prio = 1")),
            ("b", "x", 2, 20, EQUAL),
            ("c", "y", 2, 20, _equal("prio = 1")),
            ("d", "y", 2, 9, EQUAL),
        ),
    ),
    Tree(
        "three levels",
        (
            ("x", "", 12, 20, ""),
            ("u", "x", 6, 12, ""),
            ("a", "u", 1, 12, EQUAL),
            ("b", "u", 3, 12, EQUAL),
            ("c", "x", 4, 20, EQUAL),
            ("d", "", 5, 20, EQUAL),
        ),
    ),
    Tree(
        "four levels",
        (
            ("x", "", 14, 16, ""),
            ("u", "x", 10, 14, ""),
            ("v", "u", 6, 12, ""),
            ("a", "v", 1, 12, EQUAL),
            ("b", "v", 4, 8, EQUAL),
            ("c", "u", 2, 14, EQUAL),
            ("d", "x", 2, 16, EQUAL),
            ("e", "", 3, 20, EQUAL),
        ),
    ),
)


EXCEPTIONS = {
    "small buckets": "a bucket of less than a packet loses tokens while it waits its turn, and as the ceiling of one "
    "class is the rate of the other, tokens of both come at the same instants: which is first decides, and stays so. "
    "With another ceiling, off the beat, both agree."
}
"""Trees whose leaves are given another rate here, and why."""


def rows() -> dict[str, dict[str, float]]:
    """Return what the kernel gave each leaf, Mbit/s, by tree."""
    return kernel_guest.given(ROWS)


def differing(tree: Tree, given: dict[str, float]) -> list[str]:
    """Say which leaves are given another rate here than in the kernel."""
    ours = tree.ours()
    return [
        f"{tree.name}, {leaf}: {theirs:.3f} / {ours[leaf]:.3f} Mbit/s"
        for leaf, theirs in given.items()
        if abs(ours[leaf] - theirs) > TOLERANCE * theirs
    ]


if __name__ == "__main__":
    kernel_guest.measure("htb_guest.py", [tree.order() for tree in TREES], ROWS)
    for each in TREES:
        print(*(differing(each, rows()[each.name]) or [f"{each.name}: agrees"]), sep="\n")
