"""The speed of the kernel's shaper between two network namespaces, to compare with a live link. Needs root."""

import json
import os
import subprocess

SCRIPT = """
set -e
ip link add name near type veth peer name far
unshare --net sleep 60 &
there=$!
trap 'kill $there' EXIT
sleep 0.3
ip link set far netns $there
ip address add 198.18.0.1/30 dev near
ip link set near up
nsenter -t $there -n ip address add 198.18.0.2/30 dev far
nsenter -t $there -n ip link set far up
if [ $1 != 0 ]; then
    tc qdisc add dev near root handle 1: htb default 1 2>/dev/null
    tc class add dev near parent 1: classid 1:1 htb rate $1 2>/dev/null
    tc qdisc add dev near parent 1:1 pfifo limit 1000
fi
nsenter -t $there -n iperf3 -s > /dev/null &
trap "kill $there $!" EXIT
sleep 0.3
shift
iperf3 --json -c 198.18.0.2 $*
"""
"""Arguments: the rate or 0 for none, then arguments of iperf3."""


def htb(rate: str, client: str) -> float | None:
    """Goodput in bit/s of iperf3 through htb and pfifo, None if it cannot be measured."""
    if os.geteuid() != 0:
        return None
    command = ["unshare", "--net", "sh", "-c", SCRIPT, "sh", rate, *client.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    end = json.loads(done.stdout)["end"]
    return float(end["sum_received" if "sum_received" in end else "sum"]["bits_per_second"])
