"""Give Linux 7.3 in virtual time the commands of `aqmlab tc`, and the options that the engine `linux` sends.

Run as a program, it gives the kernel that was built last a command for each setting below, and then the options that
the engine sends for the same setting. `kernel/tc_lines.jsonl` stores the output of tc and the kernel's netlink reply.
tests/test_tc_kernel.py compares them with the written commands, the settings that are read, and the sent options.
DualPI2 and `cake_mq` need a newer tc than Debian 13 ships: build iproute2 from its repository and name its tc.

    .venv/bin/aqmlab kernel build
    .venv/bin/python validation/tc_lines.py [TC]
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import kernel_guest

from aqmlab import tc
from aqmlab.advise import LineSpec, commands, conditions
from aqmlab.advise.candidates import candidates
from aqmlab.problems import InputError
from aqmlab.tc import netlink
from aqmlab.tc.qdiscs import UNTESTED, of_scheme
from aqmlab.tc.syntax import prepared

ROWS = Path(__file__).parent / "kernel" / "tc_lines.jsonl"
RED = "min_th=30 packets,max_th=90 packets,q_weight=auto,burst=55 packets,max_p=10 %"

SETTINGS: list[dict[str, Any]] = [
    {"aqm": "droptail", "buffer": "600 packets"},
    {"aqm": "droptail", "buffer": "90123 B", "rate": 2e6, "shaper": True},
    {"aqm": f"red:flavour=linux,{RED}", "buffer": "360 packets", "rate": 5e7, "shaper": True},
    {"aqm": f"red:flavour=linux,{RED}", "buffer": "360 packets", "rate": 5e7, "ecn": False},
    {"aqm": "red", "buffer": "600 packets", "rate": 1e8},
    {"aqm": f"ared:flavour=linux,{RED}", "buffer": "360 packets", "rate": 12345000.0, "shaper": True},
    {"aqm": f"choke:{RED}", "buffer": "400 packets", "rate": 2e7, "shaper": True},
    {"aqm": "choke", "buffer": "400 packets", "rate": 2e7, "ecn": False},
    {"aqm": "gred", "buffer": "400 packets", "rate": 2e7},
    {"aqm": "gred:average=rio,max_th=120 packets", "buffer": "400 packets", "rate": 2e7, "shaper": True},
    {"aqm": "gred:average=own,min_share=20 %,step=10 %,max_p=2 %", "buffer": "200 packets", "rate": 2e6, "ecn": False},
    {"aqm": "sfb", "buffer": "500 packets"},
    {
        "aqm": "sfb:bin_size=8 packets,max=30 packets,rehash_interval=30 s,rehash_warmup=3 s,increment=0.1 %,"
        "decrement=0.01 %,penalty_rate=50 Hz,penalty_burst=5 packets",
        "rate": 1e7,
        "shaper": True,
    },
    {"aqm": "codel"},
    {"aqm": "codel:target=15 ms,interval=300 ms,ce_threshold=2500 us", "buffer": "200 packets", "ecn": False},
    {"aqm": "pie:t_update=20 ms"},
    {
        "aqm": "pie:target=25 ms,t_update=30 ms,alpha=0.25 Hz,beta=2 Hz",
        "buffer": "250 packets",
        "rate": 1e6,
        "shaper": True,
        "ecn": False,
    },
    {"aqm": "fq-codel"},
    {
        "aqm": "fq-codel:target=8 ms,interval=120 ms,flows=256,quantum=300 B,drop_batch=16,ce_threshold=1 ms",
        "buffer": "2000 packets",
        "rate": 8.5e7,
        "shaper": True,
        "ecn": False,
    },
    {"aqm": "cake"},
    {"aqm": "cake:diffserv=diffserv4,isolation=flows,rtt=30 ms", "rate": 4.5e7, "buffer": "2000000 B"},
    {"aqm": "cake:bandwidth=17500 kbit/s,overhead=44 B,mpu=84 B,diffserv=diffserv3"},
    {"aqm": "cake:bandwidth=1234567 bit/s,overhead=40 B,framing=atm,rtt=300 ms"},
    {"aqm": "cake:bandwidth=90 Mbit/s,overhead=-4 B,framing=ptm,isolation=flows"},
    {"aqm": "cake:framing=atm,bandwidth=8 Mbit/s"},
    {"aqm": "cake:unlimited=true,diffserv=diffserv4", "rate": 5e7, "shaper": True},
    {"aqm": "cake-mq", "rate": 1e9},
    {"aqm": "cake-mq:diffserv=diffserv4,rtt=30 ms,overhead=18 B,mpu=64 B"},
    {"aqm": "fq-pie"},
    {
        "aqm": "fq-pie:target=25 ms,t_update=30 ms,alpha=0.25 Hz,beta=2 Hz,flows=256,quantum=300 B,mark_ecnth=20 %",
        "buffer": "2000 packets",
        "rate": 8.5e7,
        "shaper": True,
        "ecn": False,
    },
    {"aqm": "dualpi2"},
    {
        "aqm": "dualpi2:target=20 ms,t_update=20 ms,alpha=0.05 Hz,beta=1.5 Hz,k=3,classic_weight=25 %,min_th=1800 us",
        "buffer": "500 packets",
        "rate": 2e7,
        "shaper": True,
    },
    {"aqm": "fq-codel", "rate": 1e7, "shaper": True, "layer": [26, 0, "atm"]},
    {"aqm": "pie", "rate": 1e7, "shaper": True, "layer": [4, 64, "none"]},
]
"""Every scheme whose queueing discipline the kernel supports, with and without options and a shaper."""

LINES = (
    LineSpec(down=1e6, up=0.5e6, rtt=0.040),
    LineSpec(down=50e6, up=10e6),
    LineSpec(down=1e9, up=50e6, rtt=0.020),
    LineSpec(down=30e6, up=10e6, rtt=0.050, varying=True),
    LineSpec(rate=10e9, rtt=0.020),
    LineSpec(rate=10e9, rtt=100e-6, law="dctcp"),
)
"""The links of docs/advise-evidence.md, whose candidates are also tested on the kernel."""


def advised() -> list[dict[str, Any]]:
    """Return the candidates for these access links in each direction, if the kernel supports them."""
    found: dict[str, dict[str, Any]] = {}
    for line in LINES:
        scenarios = conditions(line)
        for scheme in candidates(scenarios):
            if of_scheme(scheme.partition(":")[0]).kind in UNTESTED:
                continue
            for name in scenarios[0].links:
                at = commands.at_link(scenarios[0], name, 1)
                given = {
                    "aqm": scheme,
                    "rate": at.rate,
                    "buffer": at.buffer,
                    "shaper": line.rate is None,
                    "advised": True,
                }
                found.setdefault(json.dumps(given), given)
    return list(found.values())


def setting(given: dict[str, Any]) -> tc.Setting:
    """Return an entry of the list as a setting."""
    layer = tc.Layer(*given.get("layer", ()))
    link = tc.Link(given.get("rate"), given.get("buffer"), given.get("ecn", True), layer=layer)
    return tc.Setting(given["aqm"], link, given.get("shaper", False))


def sent(given: dict[str, Any]) -> str | None:
    """Return the options that the engine sends for an entry, in hexadecimal; None if it lacks the discipline."""
    link = setting(given).link
    qdisc, _ = prepared(setting(given))
    try:
        queue = netlink.queue(
            given["aqm"],
            link.rate or 1e7,
            link.buffer or qdisc.without,
            link.ecn,
            link.packet,
            varies=link.rate is None,
        )
    except InputError:
        return None
    return queue.options.hex()


def order(given: dict[str, Any], program: str) -> dict[str, Any]:
    """Return the orders for the guest."""
    kind = prepared(setting(given))[0].kind
    return given | {"commands": tc.write(setting(given)).commands, "kind": kind, "options": sent(given), "tc": program}


def main() -> None:
    """Give the kernel all commands, and store its replies."""
    program = shutil.which(sys.argv[1] if len(sys.argv) > 1 else "tc")
    if program is None:
        sys.exit("tc is not installed: apt-get install iproute2")
    kernel_guest.measure("tc_guest.py", [order(given, program) for given in [*SETTINGS, *advised()]], ROWS)
    if failed := [row["failed"] for row in map(json.loads, ROWS.read_text().splitlines()) if row["failed"]]:
        sys.exit(f"refused: {failed}")


if __name__ == "__main__":
    main()
