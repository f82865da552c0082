"""The settings of linux/cases.jsonl as scenarios and schemes."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from aqmlab import _core
from aqmlab.tc.averages import weight

SEGMENT = 1448
"""Bytes of data in a full segment."""
PACKET = 1514
"""Bytes of a full segment on the link: with timestamps and Ethernet's header."""
DATAGRAM = 1400
"""Bytes of data in a datagram; a group's rate counts these only."""
UDP_HEADERS = 42
"""Bytes of UDP's (or ICMP's), IP's and Ethernet's headers."""
LINK = 1000
"""Rate of the link after CAKE's own shaper, Mbit/s."""
UNLIMITED = "bandwidth=10 Tbit/s"
"""CAKE without a shaper: in Linux its tins then have no rate."""
MEMORY = 2304
"""Bytes of memory that a full segment takes in the kernel (its truesize), which CAKE counts."""
CLOCK = "10 ms"
"""A jiffy of user-mode Linux."""
PIE_UPDATE = "29 ms"
"""PIE's 15 ms are two jiffies (`usecs_to_jiffies`), and a timer of the kernel never fires early but a jiffy late
(`calc_index`, kernel/time/timer.c): its p changed every 32 ms, by samples of `tc`. The simulator adds a jiffy of 1 ms.
"""
GUEST = 0.4
"""The delay that timers and devices of user-mode Linux add to a round trip, ms: measured, mean 0.37 to 0.56."""

Row = Mapping[str, Any]

PING_INTERVAL = 0.1007
"""Seconds; `ping -i 0.1` in user-mode Linux, measured."""
PING_RATE = 8e-6 * 56 / PING_INTERVAL
PING: Row = {"law": "udp", "count": 1, "ecn": False, "source": 0, "dscp": 0, "rate_mbit": PING_RATE, "datagram": 56}
"""As the row's pings, of which only the way there meets the queue."""


@dataclass(frozen=True)
class Case:
    """A setting: flows of `groups` through `qdisc` (as tc has it) at `rate_mbit`."""

    id: str
    qdisc: str
    rate_mbit: float
    rtt_ms: float
    seconds: int
    omit: int
    burst: int
    groups: tuple[Row, ...]

    @property
    def has_shaper(self) -> bool:
        """The discipline keeps the rate itself."""
        return self.qdisc.startswith("cake") and "bandwidth" in self.qdisc

    @property
    def link_mbit(self) -> float:
        """Rate of the link."""
        return LINK if self.has_shaper else self.rate_mbit

    def wire_rtt_ms(self, group: Row) -> float:
        """Round trip of a group less the time to send a packet: htb gives it away whole when its turn begins."""
        rtt_ms: float = group.get("rtt_ms", self.rtt_ms)
        return rtt_ms + GUEST - 8e-3 * PACKET / self.link_mbit

    @cached_property
    def scheme(self) -> tuple[str, float]:
        """The scheme with its parameters, and the buffer in packets."""
        name, *words = self.qdisc.split()
        options = dict(zip(words, [*words[1:], ""], strict=False))  # each word with what follows it
        if name == "red":  # the buffer does not change the mean size of packets
            return red(options, _core.Scenario.parse(self._toml(1), self.id).link("bottleneck").packet)
        return SCHEMES[name](options)

    def toml(self) -> str:
        """Return the case as a scenario."""
        return self._toml(self.scheme[1])

    def _toml(self, buffer: float) -> str:
        groups = [*self.groups, PING]
        hosts = len({group["source"] for group in self.groups}) > 1
        return f"""
schema = 1
duration = "{self.omit + self.seconds} s"
warmup = "{self.omit} s"

[[links]]
name = "bottleneck"
rate = "{self.link_mbit} Mbit/s"
delay = "0 ms"
buffer = "{buffer:.0f} packets"
""" + "".join(flows(f"g{i}", group, self.wire_rtt_ms(group), hosts) for i, group in enumerate(groups))


def flows(name: str, group: Row, rtt_ms: float, hosts: bool) -> str:
    """Return a group of flows in TOML."""
    lines = [
        f'name = "{name}"',
        f"count = {group['count']}",
        f'rtt = "{rtt_ms:.4f} ms"',
        'start = { uniform = ["0 s", "0.1 s"] }',
        f"ecn = {json.dumps(group['ecn'])}",
        f"class = {group['dscp'] >> 3}",
    ]
    if hosts:
        lines.append("hosts = 1")
    if group["law"] == "udp":
        size = group.get("datagram", DATAGRAM)
        rate = group["rate_mbit"] * (size + UDP_HEADERS) / size
        lines += ['kind = "udp-cbr"', f'rate = "{rate:.6g} Mbit/s"', f'packet = "{size} B"']
        lines.append(f'header = "{UDP_HEADERS} B"')
    else:
        tcp = f'{{ profile = "linux", congestion_control = "{group["law"]}", clock = "{CLOCK}" }}'
        lines += [f'packet = "{SEGMENT} B"', 'access_rate = "1 Gbit/s"', f"tcp = {tcp}"]
    if "bytes" in group:
        least, most = (math.ceil(size / SEGMENT) for size in group["bytes"])
        lines += ['kind = "http"', f'think_time = {{ exponential = "{group["think"]} s" }}']
        lines += [f'size = {{ uniform = ["{least} packets", "{most} packets"] }}']
    return "\n[[flows]]\n" + "\n".join(lines) + "\n"


def red(options: Mapping[str, str], packet: float) -> tuple[str, float]:
    """RED; its lengths are bytes, and here packets of the mean size on the link, `packet` bytes.

    Thresholds a byte apart, as for DCTCP, are a step of the average.
    """
    low, high, limit = (int(options[name]) / packet for name in ("min", "max", "limit"))
    share = 0.5 ** weight(float(options["burst"]), int(options["min"]) / int(options["avpkt"]))
    given = f"min_th={low:.8g} packets,max_th={high:.8g} packets,max_p={options['probability']},q_weight={share}"
    return f"red:flavour=linux,{given}", limit


def choke(options: Mapping[str, str]) -> tuple[str, float]:
    """CHOKe; its lengths are packets."""
    given = f"min_th={options['min']} packets,max_th={options['max']} packets,burst={options['burst']} packets"
    return f"choke:{given},max_p={options['probability']},q_weight=auto", float(options["limit"])


def sfb(options: Mapping[str, str]) -> tuple[str, float]:
    """SFB."""
    return f"sfb:bin_size={options['target']} packets,max={options['max']} packets", float(options["limit"])


def codel(options: Mapping[str, str]) -> tuple[str, float]:
    """CoDel."""
    given = [f"{name}={options[name]}" for name in ("target", "ce_threshold") if name in options]
    return "codel:" + ",".join(["flavour=linux", "mtu=1514 B", *given]), 1000


def fq_codel(options: Mapping[str, str]) -> tuple[str, float]:
    """FQ-CoDel."""
    given = [f"{name}={options[name]}" for name in ("target", "interval") if name in options]
    return "fq-codel:" + ",".join(["flavour=linux", "mtu=1514 B", "ways=1", *given]), float(
        options.get("limit", "10240")
    )


def cake(options: Mapping[str, str]) -> tuple[str, float]:
    """CAKE; its limit is bytes of memory, more than are sent."""
    given = [
        "diffserv=diffserv4" if "diffserv4" in options else "diffserv=besteffort",
        "isolation=hosts" if "dual-srchost" in options else "isolation=flows",
    ]
    given.append(
        f"bandwidth={options['bandwidth'].removesuffix('mbit')} Mbit/s" if "bandwidth" in options else UNLIMITED
    )
    limit = int(options["memlimit"]) / MEMORY if "memlimit" in options else 2700.0
    return "cake:" + ",".join(given), limit


SCHEMES: Mapping[str, Callable[[Mapping[str, str]], tuple[str, float]]] = {
    "pfifo": lambda options: ("droptail", float(options["limit"])),
    "pie": lambda _: (f"pie:flavour=linux,mean_packet=1514 B,t_update={PIE_UPDATE}", 1000),
    "fq_codel": fq_codel,
    "choke": choke,
    "sfb": sfb,
    "codel": codel,
    "cake": cake,
}
