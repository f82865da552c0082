"""Link layers by CAKE's keywords: bytes of a packet on the wire, in a simulated link and in a shaper's commands."""

from collections.abc import Sequence
from dataclasses import dataclass

from aqmlab._core import Scenario
from aqmlab.catalogue import halves
from aqmlab.names import unknown
from aqmlab.quantities import quantity
from aqmlab.tc.qdiscs import LAYERS

ETHERNET = 14
"""Bytes of the Ethernet header, which sizes of packets contain in Linux, and here with tcp = "linux"."""

PTM = 64 / 65
"""The share of a wire's rate that PTM leaves: a byte in 65 is its own (IEEE 802.3, 61.3)."""

KEYWORDS = tuple(name for name in LAYERS if name != "ether-vlan")
"""The keywords that describe a whole link; a VLAN tag only adds to one."""


@dataclass(frozen=True)
class LinkLayer:
    """`overhead` is added to an IP packet, and none counts less than `mpu`, bytes; `framing` as links have it."""

    overhead: int
    mpu: int = 0
    framing: str = "none"

    @classmethod
    def named(cls, keyword: str) -> "LinkLayer":
        """Return the link layer of a keyword such as "pppoe-ptm". InputError for others."""
        if keyword not in KEYWORDS:
            raise unknown("link-layer", "no link layer", keyword, KEYWORDS)
        overhead, mpu, framing = LAYERS[keyword]
        return cls(overhead, mpu or 0, framing or "none")

    @classmethod
    def of(cls, scenario: Scenario, link: str) -> "LinkLayer | None":
        """Return that of a link in a scenario, None if packets take their own bytes there."""
        if not scenario.link(link).has_layer:
            return None
        keys = next(each for each in scenario.resolved()["links"] if each["name"] == link)
        return cls(round(quantity(keys["overhead"])) + ETHERNET, round(quantity(keys["mpu"])), keys["framing"])

    @property
    def on_frame(self) -> int:
        """Bytes added to an Ethernet frame, in which packets come to a device; negative if the wire has no header."""
        return self.overhead - ETHERNET

    @property
    def text(self) -> str:
        """The link layer in words."""
        known = [keyword for keyword in KEYWORDS if LinkLayer.named(keyword) == self]
        least = f", {self.mpu} B at least" if self.mpu else ""
        framing = {"atm": ", in cells of ATM", "ptm": ", 65 B for 64 B by PTM"}.get(self.framing, "")
        return (
            f"{' or '.join([*known, ''])[:-4] + ': ' if known else ''}{self.overhead} B on an IP packet{least}{framing}"
        )

    def of_link(self, link: str) -> dict[str, str]:
        """Return what is set in a scenario so that a link has it."""
        values = {"overhead": f"{self.on_frame} B", "mpu": f"{self.mpu} B", "framing": self.framing}
        return {f"links.{link}.{key}": value for key, value in values.items()}

    def of_cake(self) -> dict[str, str]:
        """Return the parameters with which CAKE counts it."""
        values = {"overhead": f"{self.overhead}B", "mpu": f"{self.mpu}B", "framing": self.framing}
        return {name: value for name, value in values.items() if value not in ("0B", "none")}

    def scheme(self, spec: str) -> str:
        """Return a scheme that counts it, if it is CAKE and has no overhead of its own."""
        name, given = halves(spec)
        if name not in ("cake", "cake-mq") or "overhead=" in given:
            return spec
        added = ",".join(f"{key}={value}" for key, value in self.of_cake().items())
        return f"{name}:{given},{added}" if given else f"{name}:{added}"

    @property
    def share(self) -> float:
        """The share of its rate that is left to HTB, which knows cells of ATM but not PTM."""
        return PTM if self.framing == "ptm" else 1.0

    def counted(self, command: str) -> str:
        """Return a command of tc with the options that count it, if it makes a class of HTB.

        HTB refuses a negative overhead; it then counts none.
        """
        if " htb rate " not in command:
            return command
        layer = "atm" if self.framing == "atm" else "ethernet"
        return f"{command} overhead {max(0, self.on_frame)} mpu {self.mpu} linklayer {layer}"

    def counted_by_sqm(self, commands: Sequence[str]) -> tuple[str, ...]:
        """Return settings of SQM, whose shaper is HTB, with those that count it."""
        options = {
            "linklayer": "atm" if self.framing == "atm" else "ethernet",
            "linklayer_advanced": "1",
            "linklayer_adaptation_mechanism": "htb_private",  # options of the class, as in `counted`
            "overhead": str(max(0, self.on_frame)),
            "tcMPU": str(self.mpu),
        }
        found: list[str] = []
        for command in commands:
            setting, is_layer, _ = command.partition("linklayer='none'")
            found += [f"{setting}{name}='{value}'" for name, value in options.items()] if is_layer else [command]
        return tuple(found)

    def note(self, *, htb: bool) -> str:
        """Say what is counted, by HTB or by CAKE."""
        if not htb:
            return f"link layer: {self.text}"
        counted = (
            f"HTB's overhead is {max(0, self.on_frame)} B, as it counts from the Ethernet frame of {ETHERNET} B more"
        )
        if self.framing == "ptm":
            counted += ", and its rate is 64/65, as it does not know PTM"
        if self.on_frame < 0:
            counted += f"; {-self.on_frame} B too many a packet, as it takes no negative one"
        return f"link layer: {self.text}; {counted}"
