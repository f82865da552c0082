"""Measure the kernel that this runs in: for each case real TCP through a real queueing discipline.

`guest.py CASES ROWS`: reads cases, appends a row for each; both are JSON lines. Three network namespaces make a
dumbbell: senders (a), router (r), receivers (b). netem delays by half of the round trip at either end, htb keeps the
rate at the router, the discipline hangs below it; CAKE with a shaper of its own stands alone. Segmentation offloads are
off, so packets are 1514 B. A namespace of its own (u) has UDP, where tbf spaces the datagrams that iperf3 sends in
bursts, or TCP with another round trip. A group with `bytes` has sessions instead of bulk flows: each opens a
connection, sends so many bytes (drawn evenly from the range) and thinks for `think` seconds in the mean (exponential).
Python's standard library only: it runs without the project's environment.
"""

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

Case = dict[str, Any]
Row = dict[str, Any]

RECEIVER = "10.0.2.1"
FIRST_PORT = 5201
DATAGRAM = 1400
"""Bytes of data in a datagram."""

SAMPLER = """
import json, socket, struct, sys, time  # raw netlink: a sample must cost far less than a packet's time
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
netlink.bind((0, 0))
device = socket.if_nametoindex("rb")
ask = struct.pack("=IHHII", 36, 38, 0x301, 1, 0) + struct.pack("=BxxxiIII", 0, device, 0, 0, 0)

def attributes(data):
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        if length < 4:
            break
        found[kind & 0x3FFF] = data[4:length]
        data = data[(length + 3) & ~3:]
    return found

def sample():
    netlink.send(ask)
    found = None
    while True:
        data = netlink.recv(65536)
        while data:
            length, kind = struct.unpack_from("=IH", data)
            message, data = data[:length], data[(length + 3) & ~3:]
            if kind == 3:
                return found
            if kind == 36 and struct.unpack_from("=iI", message, 20) == (device, 0x100000):
                stats = attributes(attributes(message[36:])[7])
                found = [time.time(), *struct.unpack_from("=III", stats[3]), *struct.unpack_from("=QI", stats[1])]

samples, end = [], float(sys.argv[1])
while time.time() < end:
    samples.append(sample())
    time.sleep(0.025)
json.dump(samples, sys.stdout)
"""

SESSIONS = """
import json, random, socket, sys, threading, time
given, begin, transfers = json.loads(sys.argv[1]), time.time(), []

def session(number):
    draw = random.Random(number)
    while True:
        time.sleep(draw.expovariate(1 / given["think"]))
        size, start = draw.randint(*given["bytes"]), time.time()
        if start - begin > given["seconds"]:
            return
        with socket.socket() as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, given["law"].encode())
            connection.bind((given["source"], 0))
            connection.connect((given["receiver"], given["port"]))
            connection.sendall(bytes(size))
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
        if start - begin > given["omit"]:
            transfers.append([time.time() - start, size])

sessions = [threading.Thread(target=session, args=(number,)) for number in range(given["count"])]
for each in sessions:
    each.start()
for each in sessions:
    each.join()
json.dump({"transfers": transfers, "seconds": given["seconds"] - given["omit"]}, sys.stdout)
"""

SINK = """
import socket, sys, threading
server = socket.create_server(("", int(sys.argv[1])))

def read(connection):
    while connection.recv(1 << 20):
        pass
    connection.close()

while True:
    threading.Thread(target=read, args=(server.accept()[0],), daemon=True).start()
"""


def sh(command: str, check: bool = True) -> str:
    """Run a command, return what it prints."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"{command}: {done.stderr}")
    return done.stdout


def start(command: str) -> "subprocess.Popen[str]":
    """Start a command whose output is read later."""
    return subprocess.Popen(shlex.split(command), stdout=subprocess.PIPE, text=True)


def address(source: int) -> str:
    """Address of a sending host."""
    return f"10.0.1.{10 + source}"


def set_up(case: Case) -> None:
    """Make the dumbbell of a case."""
    for space in "arbu":
        sh(f"ip netns del {space}", check=False)
    for space in "arbu":
        sh(f"ip netns add {space}; ip -n {space} link set dev lo up")
    for one, other in ("ar", "rb", "ur"):
        sh(f"ip link add name {one}{other} netns {one} type veth peer name {other}{one} netns {other}")
    ends = [("a", "ar", "10.0.1.1"), ("r", "ra", "10.0.1.2"), ("r", "rb", "10.0.2.2"), ("b", "br", RECEIVER)]
    ends += [("u", "ur", "10.0.3.1"), ("r", "ru", "10.0.3.2")]
    for space, device, ip in ends:
        sh(f"ip -n {space} addr add {ip}/24 dev {device}; ip -n {space} link set dev {device} up")
        sh(f"ip netns exec {space} ethtool -K {device} tso off gso off gro off")
    for source in {group["source"] for group in case["groups"]}:
        sh(f"ip -n a addr add {address(source)}/24 dev ar")
    for space, router in (("a", "10.0.1.2"), ("b", "10.0.2.2"), ("u", "10.0.3.2")):
        sh(f"ip -n {space} route add default via {router}")
    sh("ip netns exec r sysctl -qw net.ipv4.ip_forward=1")
    set_tcp(case)
    set_delays(case)
    sh(bottleneck(case))


def set_delays(case: Case) -> None:
    """Delay what senders and receivers send, and space datagrams."""
    half = case["rtt_ms"] / 2
    for space, device in (("a", "ar"), ("b", "br")):
        sh(f"tc -n {space} qdisc add dev {device} root netem delay {half}ms limit 100000")
    for group in case["groups"]:
        if group["law"] == "udp":
            rate = round(group["rate_mbit"] * 1e6 * (DATAGRAM + 42) / DATAGRAM)
            sh(f"tc -n u qdisc add dev ur root tbf rate {rate}bit burst 1540 limit 1000000")
        elif is_apart(group, case):
            sh(f"tc -n u qdisc add dev ur root netem delay {group['rtt_ms'] - half}ms limit 100000")


def is_apart(group: Case, case: Case) -> bool:
    """Whether a group sends from its own namespace: UDP, and TCP with another round trip."""
    return bool(group["law"] == "udp" or group.get("rtt_ms", case["rtt_ms"]) != case["rtt_ms"])


def set_tcp(case: Case) -> None:
    """Set ECN as the case needs it, and buffers that do not limit a window."""
    ecn = int(any(group["ecn"] for group in case["groups"]))
    settings = f"net.ipv4.tcp_ecn={ecn} net.ipv4.tcp_no_metrics_save=1"
    buffers = "net.ipv4.tcp_rmem='4096 131072 33554432' net.ipv4.tcp_wmem='4096 65536 33554432'"
    for space in "abu":
        sh(f"ip netns exec {space} sysctl -qw {settings} {buffers}")


def bottleneck(case: Case) -> str:
    """Return the commands that make the router's queue; htb's burst keeps the rate if a timer is late."""
    if "bandwidth" in case["qdisc"] and case["qdisc"].startswith("cake"):
        return f"tc -n r qdisc add dev rb root handle 10: {case['qdisc']}"
    rate, burst = case["rate_mbit"], case["burst"]
    htb = f"htb rate {rate}mbit ceil {rate}mbit burst {burst} cburst {burst} quantum 1514"
    return f"""set -e
        tc -n r qdisc add dev rb root handle 1: htb default 1
        tc -n r class add dev rb parent 1: classid 1:1 {htb}
        tc -n r qdisc add dev rb parent 1:1 handle 10: {case["qdisc"]}"""


def client(group: Case, port: int, case: Case) -> str:
    """Return the command that sends a group of flows."""
    common = f"-c {RECEIVER} -p {port} -P {group['count']} -S {group['dscp'] << 2}"
    times = f"-t {case['seconds']} -O {case['omit']} -J"
    if group["law"] == "udp":
        return f"ip netns exec u iperf3 {common} {times} -u -l {DATAGRAM} -b {group['rate_mbit']}M"
    host = "u iperf3" if is_apart(group, case) else f"a iperf3 -B {address(group['source'])}"
    return f"ip netns exec {host} {common} {times} -C {group['law']}"


def receiver(group: Case, port: int) -> str:
    """Return the command that receives what a group sends."""
    program = f"/usr/bin/python3 -c {shlex.quote(SINK)} {port}" if "bytes" in group else f"iperf3 -s -D -1 -p {port}"
    return f"ip netns exec b {program}"


def sessions(group: Case, port: int, case: Case) -> str:
    """Return the command that runs a group of sessions."""
    given = {**group, "source": address(group["source"]), "receiver": RECEIVER, "port": port}
    given |= {"omit": case["omit"], "seconds": case["omit"] + case["seconds"]}
    return f"ip netns exec a /usr/bin/python3 -c {shlex.quote(SESSIONS)} {shlex.quote(json.dumps(given))}"


def run(case: Case) -> Row:
    """Measure a case."""
    set_up(case)
    ported = list(enumerate(case["groups"], FIRST_PORT))
    sinks = [start(receiver(group, port)) for port, group in ported]
    time.sleep(0.3)
    end = time.time() + case["omit"] + case["seconds"]
    clients = [start((sessions if "bytes" in group else client)(group, port, case)) for port, group in ported]
    time.sleep(case["omit"])
    sampler = start(f"ip netns exec r /usr/bin/python3 -c {shlex.quote(SAMPLER)} {end - 0.7}")
    ping = start(f"ip netns exec a ping -i 0.1 -w {int(case['seconds'] - 1)} {RECEIVER}")
    samples = json.loads(sampler.communicate()[0])
    pings = [float(line.split("time=")[1].split()[0]) for line in ping.communicate()[0].splitlines() if "time=" in line]
    groups = [flows_of(json.loads(each.communicate()[0])) for each in clients]
    for sink in sinks:
        sink.terminate()
    described = json.loads(sh("tc -n r -s -d -j qdisc show dev rb"))
    qdisc = next(each for each in described if each.get("handle") == "10:")
    measured = {**queue_of(samples, case), **delay_of(sorted(pings)), "groups": groups}
    return {"id": case["id"], **measured, "qdisc": qdisc, "counters": counters()}


def counters() -> dict[str, int]:
    """Return what the senders' TCP has counted: retransmissions, timeouts, probes; those that are not zero."""
    kernel = json.loads(sh("ip netns exec a nstat -a -s -j"))["kernel"]
    return {name: count for name, count in kernel.items() if name.startswith("Tcp") and count}


def queue_of(samples: list[list[float]], case: Case) -> Row:
    """Return utilisation, queue (packets) and drops of the samples."""
    lengths = [sample[1] for sample in samples]
    first, last = samples[0], samples[-1]
    drops, packets = last[3] - first[3], last[5] - first[5]
    return {
        "utilisation": (last[4] - first[4]) * 8 / (last[0] - first[0]) / case["rate_mbit"] / 1e6,
        "queue_mean": fmean(lengths),
        "queue_std": pstdev(lengths),
        "drop_ratio": drops / (drops + packets),
        "samples": len(samples),
    }


def delay_of(pings: list[float]) -> Row:
    """Return round-trip times of a sparse flow through the same queue, ms."""
    return {"ping_mean": fmean(pings), "ping_p50": pings[len(pings) // 2], "ping_p95": pings[int(0.95 * len(pings))]}


def flows_of(report: Any) -> Row:
    """Return goodput (Mbit/s) and retransmissions of a group's flows, completion times (s) of sessions."""
    if "error" in report:
        raise RuntimeError(report["error"])
    if "transfers" in report:
        times, sizes = zip(*sorted(report["transfers"]), strict=True)
        fct = {"fct_mean": fmean(times), "fct_p95": times[int(0.95 * len(times))], "transfers": len(times)}
        return {"mbit": [sum(sizes) * 8e-6 / report["seconds"]], **fct}
    if "sum" in report["end"]:  # UDP: what arrived
        lost = report["end"]["sum"]["lost_percent"]
        return {"mbit": [report["end"]["sum"]["bits_per_second"] / 1e6 * (1 - lost / 100)], "retransmits": [0]}
    streams = report["end"]["streams"]
    return {
        "mbit": [stream["receiver"]["bits_per_second"] / 1e6 for stream in streams],
        "retransmits": [stream["sender"]["retransmits"] for stream in streams],
    }


def main() -> None:
    """Measure the cases that have no row yet."""
    cases, rows = Path(sys.argv[1]), Path(sys.argv[2])
    for line in cases.read_text().splitlines():
        case = json.loads(line)
        try:
            row = run(case)
        except Exception as error:  # the other cases are to run all the same
            print(case["id"], repr(error), flush=True)
            continue
        with rows.open("a") as file:
            file.write(json.dumps(row) + "\n")
        shown = {key: round(row[key], 4) for key in ("utilisation", "queue_mean", "drop_ratio")}
        print(case["id"], shown, flush=True)


if __name__ == "__main__":
    main()
