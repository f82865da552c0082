"""Link layers by CAKE's keywords: bytes of a packet on the wire, in a simulated link and in a shaper's commands."""

from dataclasses import dataclass

from aqmlab import tc
from aqmlab._core import Scenario
from aqmlab.names import unknown
from aqmlab.quantities import quantity
from aqmlab.tc.link import PTM_SHARE
from aqmlab.tc.qdiscs import LAYERS

ETHERNET = 14
"""Bytes of the Ethernet header, which sizes of packets contain in Linux, and here with tcp = "linux"."""

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
        """Return the link layer of a link in a scenario, None if packets have no overhead there."""
        if not scenario.link(link).has_layer:
            return None
        keys = next(each for each in scenario.resolved()["links"] if each["name"] == link)
        return cls(round(quantity(keys["overhead"])) + ETHERNET, round(quantity(keys["mpu"])), keys["framing"])

    @property
    def on_frame(self) -> int:
        """Bytes added to an Ethernet frame, as a device sees packets; negative if the wire has no header."""
        return self.overhead - ETHERNET

    @property
    def text(self) -> str:
        """The link layer in words."""
        known = [keyword for keyword in KEYWORDS if LinkLayer.named(keyword) == self]
        least = f", at least {self.mpu} B" if self.mpu else ""
        framing = {"atm": ", in ATM cells", "ptm": ", 65 B for 64 B (PTM)"}.get(self.framing, "")
        return (
            f"{' or '.join([*known, ''])[:-4] + ': ' if known else ''}{self.overhead} B per IP packet{least}{framing}"
        )

    def of_link(self, link: str) -> dict[str, str]:
        """Return what is set in a scenario so that a link has it."""
        values = {"overhead": f"{self.on_frame} B", "mpu": f"{self.mpu} B", "framing": self.framing}
        return {f"links.{link}.{key}": value for key, value in values.items()}

    def of_cake(self) -> dict[str, str]:
        """Return the parameters with which CAKE counts it."""
        values = {"overhead": f"{self.overhead}B", "mpu": f"{self.mpu}B", "framing": self.framing}
        return {name: value for name, value in values.items() if value not in ("0B", "none")}

    @property
    def of_tc(self) -> tc.Layer:
        """The link layer as tc counts it."""
        return tc.Layer(self.on_frame, self.mpu, self.framing)

    @property
    def share(self) -> float:
        """The share of its rate for HTB, which supports ATM cells but not PTM."""
        return PTM_SHARE if self.framing == "ptm" else 1.0

    def note(self, *, htb: bool) -> str:
        """Describe the link layer that HTB or CAKE counts."""
        if not htb:
            return f"link layer: {self.text}"
        counted = f"HTB adds {self.on_frame} B to the Ethernet frame (stab)"
        if self.framing == "ptm":
            counted += ", and its rate is 64/65, because HTB does not support PTM"
        return f"link layer: {self.text}; {counted}"
