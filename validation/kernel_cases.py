"""The settings of kernel/cases.jsonl as scenarios and schemes.

A row contains the discipline in the words of tc, the rate in Mbit/s, the round trip in ms, the measured seconds, the
seconds before them (`omit`), and groups of flows. Keys of a group are `law` ("udp" with `rate_mbit`) and `count`.
Optional keys are `ecn`, `rtt_ms`, `class`, `hosts` (one host for the group), `bytes` (bounds of the size of
transfers), `think` (the mean pause between them in seconds), `bursts`, and `access` (the rate of the access links).
`link` contains further keys of the link, `back` the keys of a second link for the ACKs.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from aqmlab import _core, tc

CASES = Path(__file__).parent / "kernel" / "cases.jsonl"
SEGMENT = 1448
"""Bytes of data in a full segment."""
DATAGRAM = 1472
"""Bytes of data in a datagram; a group's rate counts these only."""
UDP_HEADERS = 42
"""Bytes of UDP's, IP's and Ethernet's headers."""

CLOCK = "1 ms"
"""A jiffy of this kernel."""
UNLIMITED = "unlimited=true"
"""CAKE without a shaper: its tins then have no rate, and take turns."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A setting: flows of `groups` through `qdisc` (as tc has it) at `rate_mbit`."""

    id: str
    qdisc: str
    rate_mbit: float
    rtt_ms: float
    seconds: int
    omit: int
    groups: tuple[Row, ...]
    link: Row = field(default_factory=dict)
    back: Row = field(default_factory=dict)

    @property
    def scheme(self) -> str:
        """The name of the scheme."""
        return self.setting.scheme.partition(":")[0]

    @property
    def takes_turns(self) -> bool:
        """CAKE has several tins and no shaper, so the tins take turns."""
        return "diffserv" in self.qdisc and "bandwidth" not in self.qdisc

    @property
    def laws(self) -> tuple[str, ...]:
        """The controllers of the groups, once each."""
        return tuple(dict.fromkeys(group["law"] for group in self.groups))

    @cached_property
    def setting(self) -> tc.Setting:
        """The scheme with its parameters, and its buffer."""
        setting = tc.read(f"tc qdisc add dev eth0 root {self.qdisc}").setting
        has_rate = not self.qdisc.startswith("cake") or "bandwidth" in self.qdisc
        return setting if has_rate else replace(setting, scheme=f"{setting.scheme},{UNLIMITED}")

    @cached_property
    def scenario(self) -> _core.Scenario:
        """The case as a scenario."""
        return _core.Scenario.parse(self.toml(), self.id)

    def toml(self) -> str:
        """Return the case as a scenario file."""
        reading = tc.read(f"tc qdisc add dev eth0 root {self.qdisc}")
        buffer = self.setting.link.buffer or reading.least
        link = {
            "name": "bottleneck",
            "rate": f"{self.rate_mbit} Mbit/s",
            "delay": "0 ms",
            "buffer": buffer,
            **self.link,
        }
        tables = [table("links", link)]
        if self.back:
            tables.append(table("links", {"name": "back", "delay": "0 ms", "fixed": True, **self.back}))
        tables += [table("flows", self.flows(f"g{i}", group)) for i, group in enumerate(self.groups, 1)]
        head = f'schema = 1\nduration = "{self.omit + self.seconds} s"\nwarmup = "{self.omit} s"\n'
        return head + "".join(tables)

    def flows(self, name: str, group: Row) -> Row:
        """Return a group of flows as a scenario has it."""
        found = {
            "name": name,
            "count": group["count"],
            "rtt": f"{group.get('rtt_ms', self.rtt_ms)} ms",
            "start": {"uniform": ["0 s", "0.1 s"]},
            "path": ["bottleneck"],
        }
        if self.back:
            found["ack_path"] = ["back"]
        found |= {key: group[key] for key in ("ecn", "class") if key in group}
        if "hosts" in group:
            found["hosts"] = 1
        return {**found, **(datagrams(group) if group["law"] == "udp" else segments(group))}


def datagrams(group: Row) -> Row:
    """Return the keys of a group that sends by UDP at a constant rate."""
    rate = group["rate_mbit"] * (DATAGRAM + UDP_HEADERS) / DATAGRAM
    sizes = {"packet": f"{DATAGRAM} B", "header": f"{UDP_HEADERS} B"}
    return {"kind": "udp-cbr", "rate": f"{rate:.6g} Mbit/s", **sizes}


def segments(group: Row) -> Row:
    """Return the keys of a group that sends by TCP."""
    tcp = {"profile": "linux", "congestion_control": group["law"], "clock": CLOCK}
    tcp |= {key: group[key] for key in ("bursts",) if key in group}
    found = {"packet": f"{SEGMENT} B", "access_rate": group.get("access", "1 Gbit/s"), "tcp": tcp}
    if "bytes" in group:
        sizes = [f"{math.ceil(size / SEGMENT)} packets" for size in group["bytes"]]
        think = {"exponential": f"{group['think']} s"}
        found |= {"kind": "http", "think_time": think, "size": {"uniform": sizes}}
    return found


def table(name: str, keys: Row) -> str:
    """Return an entry of a list of tables in TOML."""
    return f"\n[[{name}]]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in keys.items())


def toml(value: Any) -> str:  # whatever a file holds
    """Return a value in TOML; only tables differ from JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)


def lines(path: Path) -> Iterable[Row]:
    """Yield the lines of a file; one that is not there has none."""
    if path.exists():
        yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def cases() -> list[Case]:
    """Return every case."""
    return [Case(**{**row, "groups": tuple(row["groups"])}) for row in lines(CASES)]
