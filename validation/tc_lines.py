"""Have a real kernel take the lines that `aqmlab tc` prints: Debian's user-mode Linux 6.1, as in linux.py.

Run as a program it gives the kernel a line for each setting below and stores what `tc` shows of it in
`linux/tc_lines.jsonl`, against which tests/test_tc_kernel.py holds our lines and what we read:

    apt-get install --no-install-recommends user-mode-linux iproute2 kmod
    .venv/bin/python validation/tc_lines.py
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from aqmlab import tc
from aqmlab.advise import LineSpec, commands, conditions
from aqmlab.advise.candidates import candidates
from aqmlab.tc.qdiscs import UNTESTED, of_scheme

HERE = Path(__file__).parent / "linux"
ROWS = HERE / "tc_lines.jsonl"
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
]
"""Every scheme whose queueing discipline that kernel has, with and without options and a shaper."""

LINES = (
    LineSpec(down=1e6, up=0.5e6, rtt=0.040),
    LineSpec(down=50e6, up=10e6),
    LineSpec(down=1e9, up=50e6, rtt=0.020),
    LineSpec(down=30e6, up=10e6, rtt=0.050, varying=True),
    LineSpec(rate=10e9, rtt=0.020),
    LineSpec(rate=10e9, rtt=100e-6, law="dctcp"),
)
"""The lines of docs/advise.md, whose candidates the kernel is given too."""


def advised() -> list[dict[str, Any]]:
    """Return the candidates for those lines on each of their links, as far as the kernel has them."""
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
    link = tc.Link(given.get("rate"), given.get("buffer"), given.get("ecn", True))
    return tc.Setting(given["aqm"], link, given.get("shaper", False))


def main() -> None:
    """Give the kernel all lines, and store what it says."""
    if not shutil.which("linux.uml"):
        sys.exit("user-mode Linux is not installed; see the head of this file")
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as cases:
        for given in [*SETTINGS, *advised()]:
            print(json.dumps(given | {"commands": tc.write(setting(given)).commands}), file=cases)
        cases.flush()
        command = "linux.uml mem=256M rootfstype=hostfs rootflags=/ rw con=null con0=fd:0,fd:1 quiet"
        guest = [
            f"init={HERE / 'init.sh'}",
            f"HERE={HERE}",
            "PROGRAM=tc_guest.py",
            f"CASES={cases.name}",
            f"ROWS={ROWS}",
        ]
        subprocess.run([*command.split(), *guest], stdin=subprocess.DEVNULL, check=True)
    if failed := [row["failed"] for row in map(json.loads, ROWS.read_text().splitlines()) if row["failed"]]:
        sys.exit(f"refused: {failed}")


if __name__ == "__main__":
    main()
