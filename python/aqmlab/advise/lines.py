"""The lines to type for a scheme on the links of a scenario: Linux's tc, and OpenWrt's SQM."""

from collections.abc import Callable
from dataclasses import dataclass

from aqmlab import tc
from aqmlab._core import InputError, Scenario
from aqmlab.advise.advice import Advice
from aqmlab.tc.openwrt import sqm

INCOMING = "down"
"""The link whose packets come in; they are sent through an interface of their own, where they can wait."""

REDIRECT = (
    "ip link add {ifb} type ifb",
    "ip link set {ifb} up",
    "tc qdisc replace dev {dev} handle ffff: ingress",
    "tc filter replace dev {dev} parent ffff: prio 1 protocol all matchall action mirred egress redirect dev {ifb}",
)


@dataclass(frozen=True)
class Typed:
    """What gives the links a scheme: commands and notes, or why there are none."""

    commands: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    why_not: str | None = None

    @property
    def tested(self) -> bool:
        """Whether a kernel has been given such lines."""
        return bool(self.commands) and not any("no kernel" in note for note in self.notes)


def linux(scheme: str, scenario: Scenario, dev: str) -> Typed:
    """Return the lines of tc for all links of a scenario whose data may meet another scheme.

    An access line, with links `up` and `down`, has its queue in a modem: a shaper keeps it here. The interface of any
    other link is itself the bottleneck.
    """
    commands: list[str] = []
    notes: list[str] = []
    is_access = INCOMING in scenario.links
    for name in sorted(scenario.links, reverse=True):
        at = f"ifb4{dev}"[:15] if name == INCOMING else dev
        if name == INCOMING:
            commands += [line.format(ifb=at, dev=dev) for line in REDIRECT]
        try:
            lines = tc.write(tc.Setting(scheme, at_link(scenario, name), is_access, at))
        except InputError as error:
            return Typed(why_not=str(error))
        commands += lines.commands
        notes += lines.notes
    if is_access:
        notes.append("rate: a little less than the line carries (90 to 95 %), or the queue is in the modem again")
    return Typed(tuple(commands), tuple(dict.fromkeys(notes)))


def best(found: Advice, dev: str, write: Callable[[str, Scenario, str], Typed]) -> dict[str, Typed]:
    """Return the lines of the first, and of the best of its equals that has been tested where the first has not."""
    lines = {scheme: write(scheme, found.conditions[0], dev) for scheme in (found.first, *found.ties)}
    chosen = [found.first, *(scheme for scheme in found.ties if lines[scheme].tested)]
    return {scheme: lines[scheme] for scheme in chosen[: 1 if lines[found.first].tested else 2]}


def openwrt(scheme: str, scenario: Scenario, dev: str) -> Typed:
    """Return the settings of OpenWrt's SQM for an access line."""
    if INCOMING not in scenario.links or "up" not in scenario.links:
        return Typed(why_not="openwrt: SQM shapes an access line; describe one with --down and --up")
    setting = tc.Setting(scheme, at_link(scenario, "up"), True, dev)
    try:
        lines = sqm(setting, scenario.link(INCOMING).rate)
    except InputError as error:
        return Typed(why_not=str(error))
    return Typed(lines.commands, lines.notes)


def at_link(scenario: Scenario, name: str) -> tc.Link:
    """Return what tc is told of a link; of one whose interface keeps the rate itself no rate."""
    link = scenario.link(name)
    buffer = f"{link.buffer_bytes} B" if link.buffer_bytes else f"{round(link.buffer)} packets"
    return tc.Link(link.rate if INCOMING in scenario.links else None, buffer, link.ecn)
