"""The settings of linux/cases.jsonl as scenarios and schemes."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

SEGMENT = 1448
"""Bytes of data in a full segment."""
PACKET = 1514
"""Bytes of a full segment on the link: with timestamps and Ethernet's header."""
DATAGRAM = 1400
"""Bytes of data in a datagram."""
LINK = 1000
"""Rate of the link behind CAKE's own shaper, Mbit/s."""
UNLIMITED = "bandwidth=10 Tbit/s"
"""CAKE without a shaper: in Linux its tins then have no rate."""
CLOCK = "10 ms"
"""A jiffy of user-mode Linux."""

Row = Mapping[str, Any]

PING: Row = {"law": "udp", "count": 1, "ecn": False, "source": 0, "dscp": 0, "rate_mbit": 56 * 80e-6, "datagram": 56}
"""Ten datagrams a second, as many as the row's pings."""


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

    @cached_property
    def scheme(self) -> tuple[str, float]:
        """The scheme with its parameters, and the buffer in packets."""
        name, *words = self.qdisc.split()
        options = dict(zip(words, [*words[1:], ""], strict=False))  # each word with what follows it
        return SCHEMES[name](options)

    def toml(self) -> str:
        """Return the case as a scenario."""
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
buffer = "{self.scheme[1]:.0f} packets"
""" + "".join(flows(f"g{i}", group, self.rtt_ms, hosts) for i, group in enumerate(groups))


def flows(name: str, group: Row, rtt_ms: float, hosts: bool) -> str:
    """Return a group of flows in TOML."""
    lines = [
        f'name = "{name}"',
        f"count = {group['count']}",
        f'rtt = "{group.get("rtt_ms", rtt_ms)} ms"',
        'start = { uniform = ["0 s", "0.1 s"] }',
        f"ecn = {json.dumps(group['ecn'])}",
        f"class = {group['dscp'] >> 3}",
    ]
    if hosts:
        lines.append("hosts = 1")
    if group["law"] == "udp":
        rate, size = group["rate_mbit"], group.get("datagram", DATAGRAM)
        lines += ['kind = "udp-cbr"', f'rate = "{rate} Mbit/s"', f'packet = "{size} B"', 'header = "42 B"']
    else:
        tcp = f'{{ profile = "linux", congestion_control = "{group["law"]}", clock = "{CLOCK}" }}'
        lines += [f'packet = "{SEGMENT} B"', 'access_rate = "1 Gbit/s"', f"tcp = {tcp}"]
    if "bytes" in group:
        least, most = (math.ceil(size / SEGMENT) for size in group["bytes"])
        lines += ['kind = "http"', f'think_time = {{ exponential = "{group["think"]} s" }}']
        lines += [f'size = {{ uniform = ["{least} packets", "{most} packets"] }}']
    return "\n[[flows]]\n" + "\n".join(lines) + "\n"


def packets(size: str) -> float:
    """Bytes of tc as packets."""
    return int(size) / PACKET


def red(options: Mapping[str, str]) -> tuple[str, float]:
    """RED; its lengths are bytes."""
    low, high = (packets(options[name]) for name in ("min", "max"))
    if options["probability"] == "1":  # a step: as DCTCP asks for
        return f"dctcp-step:k={low:.0f} packets", packets(options["limit"])
    return (
        f"red:flavour=linux,min_th={low:.0f} packets,max_th={high:.0f} packets,burst={options['burst']} packets,"
        f"max_p={options['probability']},q_weight=auto",
        packets(options["limit"]),
    )


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
    return "codel:" + ",".join(["mtu=1514 B", *given]), 1000


def cake(options: Mapping[str, str]) -> tuple[str, float]:
    """CAKE."""
    given = [
        "diffserv=diffserv4" if "diffserv4" in options else "diffserv=besteffort",
        "isolation=hosts" if "dual-srchost" in options else "isolation=flows",
    ]
    given.append(
        f"bandwidth={options['bandwidth'].removesuffix('mbit')} Mbit/s" if "bandwidth" in options else UNLIMITED
    )
    return "cake:" + ",".join(given), 2700


SCHEMES: Mapping[str, Callable[[Mapping[str, str]], tuple[str, float]]] = {
    "pfifo": lambda options: ("droptail", float(options["limit"])),
    "pie": lambda _: ("pie:mean_packet=1514 B,t_update=20 ms", 1000),
    "fq_codel": lambda _: ("fq-codel:mtu=1514 B,ways=1", 10240),
    "red": red,
    "choke": choke,
    "sfb": sfb,
    "codel": codel,
    "cake": cake,
}
