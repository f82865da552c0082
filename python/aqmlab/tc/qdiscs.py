"""The queueing disciplines of Linux by scheme: one table, from which lines are both written and read.

A parameter that declares a name in tc is an option of that name; the rest is defined here: the limit, ECN, keywords,
what Linux fixes, and what we lack. The facts come from iproute2 (`q_*.c`, 6.1 to 6.17) and of the kernel's
`sch_*.c`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from aqmlab import catalogue
from aqmlab.catalogue import Parameter
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.tc.numbers import hertz_of

NO_BYTE_MODE = "PIE then weighs packets by their size; the simulator counts packets"
ESTIMATOR = "the delay would follow from a measured rate; in the simulator it follows from time stamps"
NO_QEVENT = "filters at drops and marks are not supported"
FRAME = 1514
"""Bytes of a full packet with its Ethernet header."""
MEMORY_OF_PACKET = 2304
"""Bytes that a full packet takes in the kernel's memory, which limits of memory count."""
AGGREGATES = "packets in the simulator are never aggregates"


@dataclass(frozen=True)
class Qdisc:
    """A queueing discipline of Linux and the aqmlab scheme that it corresponds to.

    `limit` is the option that bounds its queue, with its unit ("memory": bytes that packets take in the kernel), and
    `without` is the bound in its absence. `marks` says how ECN is set: "on" and "off" are defaults. `keywords` set a
    parameter to a value. `fixed` holds Linux's values without an option, "full" a full packet of the device;
    `defaults` what it does where an option is not given, if that differs from aqmlab's default. `unsaid` are parameters
    that mean nothing to it, refused where there is a reason. `lacking` are options that we refuse, `idle` those that
    change nothing here; `VALUED` says which have a value. `memory` is the option that limits the memory of waiting
    packets, and the bytes without it; 0 follows from the limit. `differs` is what is otherwise here whatever the
    options.
    """

    kind: str
    scheme: str
    limit: tuple[str, str]
    without: str
    marks: str
    keywords: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    unsaid: Mapping[str, str] = field(default_factory=dict)
    lacking: Mapping[str, str] = field(default_factory=dict)
    idle: Mapping[str, str] = field(default_factory=dict)
    memory: tuple[str, int] = ("", 0)
    differs: tuple[str, ...] = ()

    @property
    def is_cake(self) -> bool:
        """True of CAKE, on one transmit queue or on several."""
        return self.kind in ("cake", "cake_mq")

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters of the scheme by name."""
        return {each.name: each for each in catalogue.find(self.scheme).parameters}

    @cached_property
    def options(self) -> dict[str, tuple[str, str]]:
        """Each option that is a parameter: its name in tc, with aqmlab's and the unit that tc gives it."""
        settable = [each for each in self.parameters.values() if each.name not in {*self.fixed, *self.unsaid}]
        return {each.tc[0]: (each.name, each.tc[1]) for each in settable if each.tc}


VALUED = {"ce_threshold_selector", "min_qlen_step", "fwmark", "qevent"}
"""Options with a value, of those that are no parameter."""

EARLY = {
    "harddrop": "the simulator also marks above max",
    "nodrop": "in the simulator drops stay drops",
    "qevent": NO_QEVENT,
}
NS2 = "it exists in ns-2, and not in Linux"
RED_ONLY = {"gentle": NS2, "wait": NS2, "gentle_line": NS2, "mark_p": NS2}
PIE = {"max_burst": "150 ms", "derandomize": "true", "max_step": "2 %", "mean_packet": "full", "flavour": "linux"}
PIE_LACKING = {"bytemode": NO_BYTE_MODE, "dq_rate_estimator": ESTIMATOR}
PIE_IDLE = {"nobytemode": "", "no_dq_rate_estimator": ""}
FQ = {"ways": "1", "isolation": "flows"}
PRESETS = {"datacentre": 1e-4, "lan": 1e-3, "metro": 1e-2, "regional": 0.03, "internet": 0.1, "oceanic": 0.3}
PRESETS |= {"satellite": 1.0, "interplanetary": 1000.0}
LAYERS: Mapping[str, tuple[int, int | None, str | None]] = {
    "ethernet": (38, 84, None),
    "ether-vlan": (4, None, None),
    "docsis": (18, 64, "none"),
    "pppoe-ptm": (30, None, "ptm"),
    "bridged-ptm": (22, None, "ptm"),
    "ipoa-vcmux": (8, None, "atm"),
    "ipoa-llcsnap": (16, None, "atm"),
    "bridged-vcmux": (24, None, "atm"),
    "bridged-llcsnap": (32, None, "atm"),
    "pppoa-vcmux": (10, None, "atm"),
    "pppoa-llc": (14, None, "atm"),
    "pppoe-vcmux": (32, None, "atm"),
    "pppoe-llcsnap": (40, None, "atm"),
}
"""CAKE's words for a link: bytes that they add to the overhead, the mpu and the framing that they set."""
NO_ACKS = "queues in the simulator do not see the ACK numbers that the filter compares"

ONE_HOST = "a flow in the simulator has one host, its sender"

CAKE_LEAST = 4 << 20
"""CAKE's limit of memory, bytes, unless four times what its shaper sends in `rtt` is more."""

CAKE = Qdisc(
    "cake",
    "cake",
    ("memlimit", "memory"),
    f"{CAKE_LEAST // MEMORY_OF_PACKET} packets",
    "always",
    keywords={
        "besteffort": ("diffserv", "besteffort"),
        "diffserv3": ("diffserv", "diffserv3"),
        "diffserv4": ("diffserv", "diffserv4"),
        "dual-srchost": ("isolation", "hosts"),
        "flows": ("isolation", "flows"),
        "noatm": ("framing", "none"),
        "atm": ("framing", "atm"),
        "ptm": ("framing", "ptm"),
        "ingress": ("ingress", "true"),
    },
    fixed={"flows": "1024"},
    defaults={"diffserv": "diffserv3"},
    unsaid={"link_header": "", "unlimited": ""},  # no bandwidth is unlimited
    lacking={
        "diffserv8": "tins are those of besteffort, diffserv3 and diffserv4",
        "precedence": "tins are those of besteffort, diffserv3 and diffserv4",
        "flowblind": "isolation is flows or hosts",
        "srchost": "isolation is flows or hosts",
        "dsthost": "isolation is flows or hosts",
        "hosts": "isolation is flows or hosts",
        "autorate-ingress": "the shaper's rate is given",
        "ack-filter": NO_ACKS,
        "ack-filter-aggressive": NO_ACKS,
        "fwmark": "packets in the simulator have no firewall mark",
    },
    idle={
        "unlimited": "",
        "triple-isolate": ONE_HOST,
        "dual-dsthost": ONE_HOST,
        "nat": "the simulator does not translate addresses",
        "nonat": "",
        "wash": "the DSCP after the link matters to no other link in the simulator",
        "nowash": "",
        "split-gso": "",
        "no-split-gso": AGGREGATES,
        "no-ack-filter": "",
        "egress": "",
        "via-ethernet": "",
    },
)

TABLE = (
    Qdisc("pfifo", "droptail", ("limit", "packets"), "1000 packets", "never"),
    Qdisc("bfifo", "droptail", ("limit", "bytes"), "1514000 B", "never"),
    Qdisc("red", "red", ("limit", "bytes"), "", "flag", {}, {"flavour": "linux"}, {}, RED_ONLY, EARLY),
    Qdisc(
        "red",
        "ared",
        ("limit", "bytes"),
        "",
        "flag",
        fixed={"flavour": "linux", "alpha": "0.01", "beta": "0.9", "interval": "0.5 s", "top": "50 %", "bottom": "1 %"},
        unsaid=RED_ONLY,
        lacking=EARLY,
    ),
    Qdisc("choke", "choke", ("limit", "packets"), "", "flag", {}, {"regions": "1"}),
    Qdisc("gred", "gred", ("limit", "bytes"), "", "flag", lacking={"harddrop": EARLY["harddrop"]}),
    Qdisc(
        "sfb",
        "sfb",
        ("limit", "packets"),
        "1000 packets",
        "always",
        fixed={"levels": "8", "bins": "16"},
        defaults={"increment": f"{33 / 65535:.12g}", "decrement": f"{3 / 65535:.12g}"},  # of 16 bits
    ),
    Qdisc(
        "codel",
        "codel",
        ("limit", "packets"),
        "1000 packets",
        "off",
        fixed={"mtu": "full", "flavour": "linux"},
        unsaid={"behind": ""},
    ),
    Qdisc(
        "fq_codel",
        "fq-codel",
        ("limit", "packets"),
        "10240 packets",
        "on",
        fixed={"mtu": "full", "behind": "all", "flavour": "linux", **FQ},
        lacking={"ce_threshold_selector": "ce_threshold marks every packet that can carry a mark"},
        memory=("memory_limit", 32 << 20),
    ),
    Qdisc(
        "pie",
        "pie",
        ("limit", "packets"),
        "1000 packets",
        "off",
        fixed={"mark_ecnth": "10 %", **PIE},
        lacking=PIE_LACKING,
        idle=PIE_IDLE,
    ),
    Qdisc(
        "fq_pie",
        "fq-pie",
        ("limit", "packets"),
        "10240 packets",
        "off",
        fixed={**PIE, **FQ},
        unsaid={"drop_batch": "a full fq_pie drops the packet that arrives"},
        lacking=PIE_LACKING,
        idle=PIE_IDLE,
        memory=("memory_limit", 32 << 20),
    ),
    CAKE,
    replace(
        CAKE,
        kind="cake_mq",
        scheme="cake-mq",
        fixed={**CAKE.fixed, "sync_time": "200 us"},
        unsaid={**CAKE.unsaid, "queues": "", "steering": ""},
        lacking={**CAKE.lacking, "autorate-ingress": "Linux refuses it, too"},
    ),
    Qdisc(
        "dualpi2",
        "dualpi2",
        ("limit", "packets"),
        "10000 packets",
        "always",
        fixed={"flavour": "linux", "mtu": "full"},
        defaults={
            "t_update": "16 ms",
            "alpha": f"{hertz_of(41)} Hz",
            "beta": f"{hertz_of(819)} Hz",
            "classic_weight": "10 %",
        },
        unsaid={"queue_protection": "Linux has no queue protection (RFC 9957)"},
        lacking={
            "overflow": "the simulator drops packets in overload (drop_on_overload)",
            "drop_enqueue": "the simulator drops packets when they leave (drop_dequeue)",
            "any_ect": "the low-latency queue of the simulator takes ECT(1) and CE (l4s_ect)",
        },
        idle={
            "drop_on_overload": "",
            "drop_dequeue": "",
            "l4s_ect": "",
            "split_gso": "",
            "no_split_gso": AGGREGATES,
            "min_qlen_step": "the low-latency queue marks at any length",
        },
        memory=("memlimit", 0),
        differs=(
            "ecn_mark: Linux counts a packet twice that its probability and its step both mark, up to 2 marks for each "
            "packet that leaves; here once",
        ),
    ),
)
"""Every scheme in Linux, in the order of its families."""

UNTESTED: tuple[str, ...] = ()
"""Kinds of which no line has been given to a kernel (`validation/kernel/tc_lines.jsonl`)."""
NOT_TESTED = "not tested on a kernel yet"
"""The end of the note on commands of these kinds."""


def of_scheme(name: str) -> Qdisc:
    """Return the queueing discipline that a scheme is in Linux. InputError if there is none."""
    found = [each for each in TABLE if each.scheme == name]
    if not found:
        catalogue.find(name)
        known = ", ".join(dict.fromkeys(each.scheme for each in TABLE))
        raise InputError("aqm", f'Linux does not support "{name}"; it supports {known}')
    return found[0]


def of_kind(kind: str) -> Qdisc:
    """Return the queueing discipline of that name in tc. InputError with the nearest names if there is none."""
    found = [each for each in TABLE if each.kind == kind]
    if not found:
        raise unknown("tc", "no scheme corresponds to the queueing discipline", kind, (each.kind for each in TABLE))
    return found[0]
