"""The commands that configure a scheme on the links of a scenario: Linux's tc, and OpenWrt's SQM."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from aqmlab import _core, tc
from aqmlab._core import Scenario
from aqmlab.advise import autorate
from aqmlab.advise.advice import Advice
from aqmlab.advise.layers import KEYWORDS, LinkLayer
from aqmlab.advise.scenarios import INCOMING, OUTGOING
from aqmlab.advise.words import percent
from aqmlab.catalogue import title
from aqmlab.problems import InputError
from aqmlab.quantities import written
from aqmlab.tc.openwrt import sqm
from aqmlab.tc.qdiscs import NOT_TESTED

SHAPE = 0.95
"""The default rate of a shaper, as a share of the link's rate."""

SHARES = (0.1, 1.0)
"""The minimum and the maximum of this share."""

FAST = 1e9
"""From this rate on, bit/s, a note gives the processing time per packet."""

VARIES = (
    "rate: the rate of {links} varies, so a fixed shaper would be too fast at times and too slow at others; "
    "cake-autorate adjusts CAKE's bandwidth from measured delays"
)

MULTI = "; cake_mq (Linux 7.0) takes the same options and uses all queues of the interface"
"""The alternative to CAKE on a link that is too fast for one core."""

REDIRECT = (
    "ip link add {ifb} type ifb",
    "ip link set {ifb} up",
    "tc qdisc replace dev {dev} handle ffff: ingress",
    "tc filter replace dev {dev} parent ffff: prio 1 protocol all matchall action mirred egress redirect dev {ifb}",
)


@dataclass(frozen=True)
class Typed:
    """The commands that give the links a scheme, with notes; or the reason why there are none.

    `autorate` configures CAKE and cake-autorate, which adjusts the shaper to a varying rate.
    """

    commands: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    why_not: str | None = None
    autorate: tuple[str, ...] = ()

    @property
    def tested(self) -> bool:
        """True if such commands are tested on a kernel."""
        return bool(self.commands) and not any(note.endswith(NOT_TESTED) for note in self.notes)


Writer = Callable[[str, Scenario, str], Typed]
"""Writes the commands of a scheme for a scenario and an interface."""


def share(text: str) -> float:
    """Return a share such as "95 %" or 0.95. InputError for anything else, and for less than 10 % or more than all."""
    found = _core.quantity(text)
    least, most = SHARES
    if found is None or found[1] != "1" or not least <= found[0] <= most:
        raise InputError("shape", f'"{text}" is not a share of the rate; write 95% or 0.95, from 10 to 100 %')
    return found[0]


def linux(scheme: str, scenario: Scenario, dev: str, shape: float = SHAPE) -> Typed:
    """Return the tc commands for all links of a scenario whose scheme may change.

    An access link, with links `up` and `down`, has its queue in a modem: a shaper at the share `shape` of the rate
    moves it to the router, if the rate is fixed. The interface of any other link is itself the bottleneck.
    """
    commands: list[str] = []
    notes: list[str] = []
    is_shaped = INCOMING in scenario.links and not _varying(scenario)
    for name in sorted(scenario.links, reverse=True):
        if name == INCOMING and not is_shaped:
            continue  # without a shaper no queue forms there
        at = ifb(dev) if name == INCOMING else dev
        if name == INCOMING:
            commands += [line.format(ifb=at, dev=dev) for line in REDIRECT]
        try:
            lines = _of_link(scheme, scenario, name, at, shape if is_shaped else None)
        except InputError as error:
            return Typed(why_not=str(error))
        commands += lines.commands
        notes += lines.notes
    rate = max(scenario.link(name).rate for name in scenario.links)
    notes += [
        *_of_rates(scheme, scenario, shape, dev),
        *_of_hosts(commands),
        *(of_processor(rate, MULTI if _is_cake(scheme) else "") if any(map(_is_shaping, commands)) else []),
    ]
    return Typed(tuple(commands), tuple(dict.fromkeys(notes)), autorate=_autorate(scenario, dev))


def _of_link(scheme: str, scenario: Scenario, name: str, dev: str, shape: float | None) -> tc.Lines:
    """Return the tc commands for a link, with a shaper at the share `shape` of its rate if there is one.

    CAKE or the shaper counts the link layer's overhead.
    """
    link = at_link(scenario, name, shape)
    return tc.write(tc.Setting(scheme, link, shape is not None, dev, incoming=name == INCOMING))


def _is_cake(scheme: str) -> bool:
    return scheme.partition(":")[0] == "cake"


def _autorate(scenario: Scenario, dev: str) -> tuple[str, ...]:
    """Return the commands for CAKE and cake-autorate on a variable-rate access link."""
    if not {INCOMING, OUTGOING} <= {*scenario.links} or not _varying(scenario):
        return ()

    def shaper(name: str, rate: float) -> tuple[str, ...]:
        incoming = name == INCOMING
        at = ifb(dev) if incoming else dev
        link = replace(at_link(scenario, name, SHAPE), rate=_whole(rate))
        redirect = tuple(line.format(ifb=at, dev=dev) for line in REDIRECT) if incoming else ()
        return (*redirect, *tc.write(tc.Setting("cake", link, True, at, incoming=incoming)).commands)

    return autorate.lines(scenario, ifb(dev), dev, shaper)


def ifb(dev: str) -> str:
    """Return the interface that receives the ingress traffic of `dev`; its name has at most 15 characters."""
    return f"ifb4{dev}"[:15]


def _varying(scenario: Scenario) -> list[str]:
    """Return the links whose rate changes during a run."""
    changed = {change["path"] for change in scenario.resolved().get("changes", [])}
    return [name for name in scenario.links if scenario.link(name).rate_changes or f"links.{name}.rate" in changed]


def _of_rates(scheme: str, scenario: Scenario, shape: float, dev: str) -> list[str]:
    """Return notes about the rates in the commands."""
    if varying := _varying(scenario):
        where = "these commands set no rate; use them only if the queue is at the interface itself, as in a modem"
        return [f"{VARIES.format(links=' and '.join(varying))}; {where}"]
    if INCOMING not in scenario.links:
        rate = written(scenario.link(scenario.links[0]).rate, "bit/s").replace(" ", "")
        return [
            "rate: no shaper, because the interface is assumed to have the rate of the link; if it is faster, "
            f"aqmlab tc {scheme} --rate {rate} --dev {dev} prints a shaper",
            *_of_subscribers(scenario),
        ]
    rates = " and ".join(f"{written(scenario.link(name).rate, 'bit/s')} {name}" for name in scenario.links)
    return [
        f"rate: {100 * shape:.4g} % of the link rate ({rates}), so the queue forms here and not in the modem (--shape)",
        *_of_link_layer(scheme, scenario),
        f"to undo, also before a second run: tc qdisc del dev {dev} root; tc qdisc del dev {dev} ingress; "
        f"ip link del {ifb(dev)}",
    ]


def _of_link_layer(scheme: str, scenario: Scenario) -> list[str]:
    """Return notes about the link layer that the shaper counts."""
    values = scenario.parameters(scheme)
    if "overhead=" in scheme:
        text = f"link layer: overhead {values['overhead']}, mpu {values['mpu']}, framing {values['framing']}, as given"
        return [text]
    layers = dict.fromkeys(LinkLayer.of(scenario, name) for name in scenario.links)
    found = [layer.note(htb=not _is_cake(scheme)) for layer in layers if layer]
    return found or [
        "link layer: none given, so packets count with their Ethernet header of 14 B; on cable, DSL or fibre add "
        f"--link-layer and one of {', '.join(KEYWORDS)}"
    ]


def _of_subscribers(scenario: Scenario) -> list[str]:
    """Return a note about subscribers if the link is fast enough to be an ISP's."""
    if max(scenario.link(name).rate for name in scenario.links) < FAST:
        return []
    return [
        "subscribers: if an ISP shapes each subscriber to a plan, this link is not the bottleneck; --subscribers N "
        "--plan 100/20Mbit/s (down and up) compares the schemes for a plan and prints the HTB tree"
    ]


def _of_hosts(commands: Sequence[str]) -> list[str]:
    """Return a note about NAT, which hides hosts from CAKE."""
    if not any("dual-" in line for line in commands):
        return []
    return ["hosts: on a router that translates addresses (NAT), add nat after dual-srchost and dual-dsthost"]


def _is_shaping(command: str) -> bool:
    """Return whether a command configures CAKE or a shaper, which one core serves."""
    return any(f" {kind} " in f"{command} " for kind in ("cake", "htb"))


def of_processor(rate: float, hint: str) -> list[str]:
    """Return a note about the load of CAKE or a shaper on one core, if the link is fast, with a hint."""
    if rate < FAST:
        return []
    each = 12_000 / rate
    return [
        f"processor: {written(rate, 'bit/s')} are {1 / each:,.0f} packets of 1500 B per second, {1e9 * each:,.0f} ns "
        f"per packet, on one core; a core of a small router shapes 1 to 2 Gbit/s{hint}"
    ]


def best(found: Advice, dev: str, write: Writer, has: str = "Linux") -> dict[str, Typed]:
    """Return the commands of the recommended scheme; if there are none, also of the best that `has` supports."""
    scenario = found.whole
    lines = {found.advised: write(found.advised, scenario, dev)}
    if lines[found.advised].commands:
        return lines
    for scheme in dict.fromkeys([*found.ties, *found.schemes]):
        typed = write(scheme, scenario, dev)
        if typed.commands:
            note = f"the best that {has} supports: {title(scheme)} ({percent(found.score(scheme))})"
            return lines | {scheme: replace(typed, notes=(note, *typed.notes))}
    return lines


def openwrt(scheme: str, scenario: Scenario, dev: str, shape: float = SHAPE) -> Typed:
    """Return the settings of OpenWrt's SQM for an access link; it shapes to the share `shape` of the rates."""
    if not {INCOMING, OUTGOING} <= {*scenario.links}:
        return Typed(why_not="openwrt: SQM shapes an access link; describe one with --down and --up")
    varying = _varying(scenario)
    if varying and scheme.partition(":")[0] != "cake":
        why = f"SQM shapes to fixed rates; {VARIES.format(links=' and '.join(varying))}"
        return Typed(why_not=f"openwrt: {why}")
    up, down = (at_link(scenario, name, shape) for name in (OUTGOING, INCOMING))
    if varying:
        up, down = (
            replace(link, rate=_whole(autorate.usual(scenario, name)))
            for name, link in ((OUTGOING, up), (INCOMING, down))
        )
    try:
        lines = sqm(tc.Setting(scheme, up, True, dev), down)
    except InputError as error:
        return Typed(why_not=str(error))
    of_rates = f"{VARIES.format(links=' and '.join(varying))}; SQM starts with these rates" if varying else None
    notes = (
        *lines.notes,
        of_rates or _of_rates(scheme, scenario, shape, dev)[0],
        *_of_link_layer(scheme, scenario),
    )
    return Typed(lines.commands, notes, autorate=autorate.lines(scenario, ifb(dev), dev) if varying else ())


def writer(*, for_openwrt: bool, shape: float) -> Writer:
    """Return a writer of commands for OpenWrt, or for Linux, with shapers at a share of the rate."""
    return partial(openwrt if for_openwrt else linux, shape=shape)


def at_link(scenario: Scenario, name: str, shape: float | None) -> tc.Link:
    """Return a link as tc describes it: no rate, or `shape` of its rate in whole kbit/s, counted by its link layer."""
    link, layer = scenario.link(name), LinkLayer.of(scenario, name)
    found = tc.Link(None, buffer_of(link), link.ecn)
    if shape is None:
        return found
    return replace(found, rate=_whole(shape * link.rate), layer=layer.of_tc if layer else found.layer)


def buffer_of(link: _core.Link) -> str:
    """Return the buffer of a link in the format of scenarios and tc.Link."""
    return f"{link.buffer_bytes} B" if link.buffer_bytes else f"{round(link.buffer)} packets"


def _whole(rate: float) -> float:
    """Return a rate rounded down to kbit/s, as SQM takes it."""
    return float(round(rate) // 1000 * 1000) or rate
