"""Give a kernel lines of tc, and keep what it shows of them. Runs in the guest, in the place of guest.py.

`tc_guest.py CASES ROWS`: a case has `commands`; its row has besides what tc said of them and what it shows afterwards.
"""

import json
import subprocess
import sys
from pathlib import Path


def sh(command: str) -> "subprocess.CompletedProcess[str]":
    """Run a command."""
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False)


def main() -> None:
    """Do each case on a device of its own."""
    rows = []
    for line in Path(sys.argv[1]).read_text().splitlines():
        case = json.loads(line)
        sh("ip link add eth0 type veth peer name eth1; ip link set eth0 up; ip link set eth1 up")
        done = [sh(command) for command in case["commands"]]
        failed = [f"{each.args}: {each.stderr.strip()}" for each in done if each.returncode]
        shown = sh("tc -d qdisc show dev eth0").stdout + sh("tc class show dev eth0").stdout
        rows.append(case | {"failed": failed, "shown": shown})
        sh("ip link del eth0")
        print(case["aqm"], failed or "accepted", flush=True)
    Path(sys.argv[2]).write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
