"""The link of an ISP: subscribers with a plan, and the tree of HTB that shapes each to it."""

import re
from dataclasses import dataclass, replace
from functools import partial

from aqmlab import tc
from aqmlab._core import Scenario
from aqmlab.advise.commands import Typed, Writer, at_link, of_processor
from aqmlab.advise.scenarios import INCOMING, OUTGOING
from aqmlab.catalogue import halves
from aqmlab.problems import InputError
from aqmlab.quantities import read, written
from aqmlab.tc import numbers
from aqmlab.tc.syntax import htb_root, qdisc_lines

FIRST = 0x10
"""The minor number of the first subscriber's class, which is the major number of its queue."""

MOST = 0xFFFE - FIRST + 1
"""The most subscribers of one HTB: numbers have 16 bits, and ffff: is the ingress."""

CORES = (
    "; one HTB tree has one lock: for several cores give each queue of mq its own tree with a part of the subscribers, "
    "as LibreQoS does"
)
"""How to shape a link that is too fast for one core."""

NUMBER = "$n"
"""The hexadecimal number of a subscriber in the commands of the loop."""


@dataclass(frozen=True)
class Subscribers:
    """`count` subscribers with a plan of `down` and `up` on a link of `rate` in each direction, all in bit/s."""

    count: int
    down: float
    up: float
    rate: float

    def __post_init__(self) -> None:
        """Raise InputError for more than a tree has numbers for, and a plan that is more than the link."""
        if self.count > MOST:
            raise InputError(
                "subscribers", f"{self.count}: one HTB has classes for {MOST:,}; split them over several links"
            )
        if max(self.down, self.up) > self.rate:
            plan = f"{written(self.down, 'bit/s')} down and {written(self.up, 'bit/s')} up"
            raise InputError("plan", f"{plan}: is more than the link, {written(self.rate, 'bit/s')}")

    def own(self, plan: float) -> float:
        """Return the rate of each if all are busy, bit/s in whole kbit/s: the plan, or an equal part of the link."""
        share = min(plan, self.rate / self.count)
        return float(share // 1000 * 1000) or share


def subscribers(count: int | None, text: str | None, rate: float | None) -> Subscribers | None:
    """Return the subscribers of an ISP's link, None if there are none. InputError if something is missing."""
    options = {"rate": rate, "subscribers": count, "plan": text}
    if count is None and text is None:
        return None
    if count is None or text is None or rate is None:
        missing = next(name for name, value in options.items() if value is None)
        named = ", ".join(f"--{name}" for name, value in options.items() if value is not None)
        example = {"rate": "25Gbit/s", "subscribers": "2000", "plan": "100/20Mbit/s"}[missing]
        raise InputError(
            missing,
            f"missing; {named} describes an ISP's link, which needs --rate, --subscribers and --plan: "
            f"add --{missing} {example}",
        )
    down, up = plan(text)
    return Subscribers(count, down, up, rate)


def plan(text: str) -> tuple[float, float]:
    """Return the rates down and up of a plan such as "100/20Mbit/s" or "1Gbit/s/50Mbit/s". InputError for others."""
    found = re.fullmatch(r"\s*([\d.]+)\s*([kMGT]?bit/s)?\s*/\s*([\d.]+)\s*([kMGT]?bit/s)\s*", text)
    if found is None:
        raise InputError("plan", f'"{text}" is not a plan; write the download and upload rates, such as 100/20Mbit/s')
    return read("plan", found[1] + (found[2] or found[4]), "bit/s"), read("plan", found[3] + found[4], "bit/s")


def writer(of: Subscribers, dev_up: str) -> Writer:
    """Return a writer of a scheme's trees for the interface to the subscribers and for `dev_up`, to the Internet."""
    return partial(_trees, of=of, dev_up=dev_up)


def _trees(scheme: str, scenario: Scenario, dev: str, *, of: Subscribers, dev_up: str) -> Typed:
    commands: list[str] = []
    notes = [
        f"{of.count:,} plans add up to {of.count * of.down / of.rate:.3g} times the link down and "
        f"{of.count * of.up / of.rate:.3g} times up; rate is the share of a subscriber when all are busy, "
        "ceil the plan",
        f"{dev} is the interface to the subscribers, {dev_up} the interface to the Internet (--dev, --dev-up)",
        f"the class of subscriber I is 1:N with N = {FIRST - 1} + I in hexadecimal; filters by address assign "
        f"packets to it (tc filter add dev {dev} parent 1: protocol ip flower dst_ip ADDRESS classid 1:{FIRST:x}); "
        "thousands of subscribers need a map, as in LibreQoS",
        f"to undo: tc qdisc del dev {dev} root; tc qdisc del dev {dev_up} root",
    ]
    for link, at, rate in ((INCOMING, dev, of.down), (OUTGOING, dev_up, of.up)):
        try:
            lines = _tree(scheme, scenario, link, at, rate, of)
        except InputError as error:
            return Typed(why_not=str(error))
        commands += lines.commands
        notes += lines.notes
    notes += of_processor(of.rate, CORES)
    return Typed(tuple(commands), tuple(dict.fromkeys(notes)))


def _tree(scheme: str, scenario: Scenario, link: str, dev: str, rate: float, of: Subscribers) -> tc.Lines:
    """Return the tree of an interface: the link is class 1:1, below it a class and a queue for each subscriber."""
    line, at = at_link(scenario, link, 1.0), at_link(scenario, link, None)
    rates = (replace(line, rate=value).shaped for value in (rate, of.own(rate), of.rate))
    ceil, own, whole = (numbers.write(value, "rate", "rate") for value in rates)
    queue = at if halves(scheme)[0] == "cake" else replace(at, rate=rate)  # CAKE would shape, too
    setting = tc.Setting(scheme, queue, dev=dev, incoming=link == INCOMING)
    leaf = qdisc_lines(setting, f"parent 1:{NUMBER} handle {NUMBER}:")
    trunk, subscriber = (
        f"tc class replace dev {dev} parent 1: classid 1:1 htb rate {whole} ceil {whole} quantum {at.packet}",
        f"tc class replace dev {dev} parent 1:1 classid 1:{NUMBER} htb rate {own} ceil {ceil} quantum {at.packet}",
    )
    loop = f"for i in $(seq {of.count}); do n=$(printf %x $(({FIRST - 1} + i)))"
    body = [f"  {command}" for command in (subscriber, *leaf.commands)]
    return tc.Lines((htb_root(dev, line.layer), trunk, loop, *body, "done"), leaf.notes)
