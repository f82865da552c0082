"""Live runs: what the command gets and may do, its exit code, and what is refused."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aqmlab.problems import InputError
from aqmlab.runs import live
from conftest import COMMAND, Aqmlab
from live_runs import FLOOD, HOLE, LINE, document, python

pytestmark = pytest.mark.usefixtures("live_machine")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("exit 0", 0),
        ("exit 3", 3),
        ("kill -9 $$", 137),
        ("kill -TERM $$", 143),
        ("test $(id -u) = " + str(os.getuid()), 0),
    ],
)
def test_the_code_is_that_of_the_command(command: str, code: int, aqmlab: Aqmlab) -> None:
    assert aqmlab("live", *LINE, "--", "sh", "-c", command).returncode == code


def test_without_a_device_it_says_who_helps(tmp_path: Path) -> None:
    hide, apart = "mount -t tmpfs none /dev/net", ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if (probe := subprocess.run([*apart, hide], capture_output=True, text=True, check=False)).returncode:
        pytest.skip(f"this machine refuses it: {probe.stderr.strip()}")
    command = [*apart, f"{hide} && exec {COMMAND} live {' '.join(LINE)} -- true"]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr.startswith("Error: /dev/net/tun: No such file or directory")
    assert finished.stderr.endswith("; aqmlab doctor says what to do\n")


def test_what_cannot_be_started_has_the_code_of_a_shell(aqmlab: Aqmlab, tmp_path: Path) -> None:
    missing = aqmlab("live", *LINE, "--", "no-such-program")
    assert (missing.returncode, missing.stdout) == (127, "")
    assert missing.stderr.startswith("Error: no-such-program: No such file")
    (tmp_path / "plain").write_text("no program")
    assert aqmlab("live", *LINE, "--", "./plain").returncode == 126


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--", "true"], "rate: missing"),
        (["--rate", "fast", "--", "true"], 'rate: "fast" is not a rate'),
        (["--rate", "/no/such.trace", "--", "true"], "rate: /no/such.trace: no such file"),
        (["--up", "1Mbit/s", "--down", "line.csv", "--", "true"], "down: line.csv: no such file"),
        (["--rate", "1bit/s", "--", "true"], "rate: 1bit/s: a buffer of 250ms holds less than a packet"),
        (["--rate", "1bit/s", "--", "true"], "--buffer '10 packets'"),
        (["--rate", "1Mbit/s", "--rtt", "long", "--", "true"], 'rtt: "long"'),
        (["--rate", "1Mbit/s", "--mtu", "10", "--", "true"], "mtu: 10"),
        (["--rate", "1Mbit/s", "--aqm", "codle", "--", "true"], "codel"),
        (["--rate", "1Mbit/s", "ping", "server"], "after --"),
        (["home/call", "--up", "1Mbit/s", "--", "true"], "up: 1Mbit/s: describes a link"),
        (["rfc7928/mixed", "--", "true"], "scenario"),
    ],
)
def test_bad_input_is_refused(arguments: list[str], why: str, aqmlab: Aqmlab) -> None:
    refused = aqmlab("live", *arguments)
    assert (refused.returncode, refused.stdout) == (2, ""), refused.stderr
    assert why in refused.stderr
    assert "Traceback" not in refused.stderr


def test_both_directions_may_follow_one_table(aqmlab: Aqmlab, tmp_path: Path) -> None:
    (tmp_path / "line.csv").write_text("time (s),rate (Mbit/s)\n0,10\n1,5\n")
    assert aqmlab("live", "--rate", "line.csv", "--", "true").returncode == 0


@pytest.mark.skipif(not shutil.which("unshare"), reason="needs util-linux")
def test_without_user_namespaces_the_message_says_what_mends_it(tmp_path: Path) -> None:
    none = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$0" "$@"'
    command = ["unshare", "--map-root-user", "sh", "-c", none, str(COMMAND)]
    said = [
        subprocess.run([*command, *rest], cwd=tmp_path, capture_output=True, text=True, check=False)
        for rest in (["live", *LINE, "--", "true"], ["doctor"])
    ]
    assert (said[0].returncode, said[0].stdout) == (1, "")
    assert "No space left" in said[0].stderr
    for text in (said[0].stderr, said[1].stdout):
        assert "none are allowed" in text
        assert "sudo sysctl -w user.max_user_namespaces=10000" in text


def test_a_command_that_ends_in_the_warm_up_is_told_so(aqmlab: Aqmlab) -> None:
    found = document(aqmlab("live", "home/call", "--json", "--", "true"))
    why = "the command ended within the warm-up of 10 s; run it for longer, or give --set warmup=0s"
    assert why in found["live"]["why"]


def test_a_scenario_that_is_no_line_is_refused() -> None:
    text = 'schema = 1\nduration = "1 s"\n'
    text += "".join(f'[[links]]\nname = "{name}"\nrate = "1 Mbit/s"\nbuffer = "9 packets"\n' for name in "ab")
    scenario = live.Scenario.parse(text + '[[flows]]\nrtt = "20 ms"\n', "two", [])
    with pytest.raises(InputError, match="two directions"):
        live.live(scenario, ["true"])


def test_the_command_has_no_privileges(aqmlab: Aqmlab) -> None:
    status = aqmlab("live", *LINE, "--", "grep", "-E", "^(CapEff|CapPrm|CapInh|CapAmb|NoNewPrivs)", "/proc/self/status")
    fields = dict(line.split(":") for line in status.stdout.splitlines() if ":\t" in line)
    assert {name: int(value, 16) for name, value in fields.items()} == {
        "CapInh": 0, "CapPrm": 0, "CapEff": 0, "CapAmb": 0, "NoNewPrivs": 1,
    }  # fmt: skip


def test_the_command_ends_with_its_time(aqmlab: Aqmlab) -> None:
    assert aqmlab("live", *LINE, "--duration", "300ms", "--", "sleep", "600").returncode == 0
    stubborn = aqmlab("live", *LINE, "--duration", "300ms", "--", "sh", "-c", "trap '' TERM; sleep 600")
    assert stubborn.returncode == 0


def test_a_scheme_that_wants_more_than_packets_carry_says_so(aqmlab: Aqmlab) -> None:
    assert "unannounced" in aqmlab("live", *LINE, "--aqm", "fuzzy-rtt", "--", "true").stderr


def test_a_scheme_that_fails_ends_the_run(aqmlab: Aqmlab, tmp_path: Path) -> None:
    scheme = "import aqmlab\nclass Bad(aqmlab.Aqm):\n    def on_enqueue(self, packet, queue):\n        1 / 0\n"
    (tmp_path / "bad.py").write_text(scheme)
    failed = aqmlab("live", *LINE, "--serve", HOLE, "--aqm", "bad.py", "--", *python(FLOOD, 60))
    assert failed.returncode == 1
    assert "division by zero" in failed.stderr
    assert "Traceback (most" not in failed.stderr


A_MACHINE = """
set -e
ip link set lo up
ip tuntap add card mode tap
ip link set card up
ip address add 10.9.0.1/24 dev card
ip route add default via 10.9.0.254
ip address add 203.0.113.9/32 dev lo
python="$1"
"$python" listen.py > reached &
until grep -q listening reached; do sleep 0.05; done
"$2" live --rate 10Mbit/s --rtt 10ms --json --outside -- "$python" ask.py > result.json
kill $!
"""
"""A network with a route to anywhere and two addresses of its own beside the loopback's, in which the run is made."""

LISTEN = """
import selectors, socket
ready = selectors.DefaultSelector()
for address in ("127.0.0.1", "203.0.113.9"):
    ready.register(socket.create_server((address, 7777)), selectors.EVENT_READ, ("tcp", address))
    hole = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    hole.bind((address, 7777))
    ready.register(hole, selectors.EVENT_READ, ("udp", address))
print("listening", flush=True)
while True:
    for key, _ in ready.select():
        print(*key.data, flush=True)
        if key.data[0] == "tcp":
            key.fileobj.accept()[0].sendall(b"through")
        else:
            key.fileobj.sendto(b"through", key.fileobj.recvfrom(100)[1])
"""

ASK = """
import socket
for address in ("10.9.0.254", "127.0.0.1", "203.0.113.9"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as peer:
            peer.settimeout(30 if address == "203.0.113.9" else 1)
            try:
                peer.connect((address, 7777))
                peer.send(b"?")
                peer.recv(7)
            except OSError:
                pass
"""
"""First the gateway, as which pasta would show the machine's loopback."""


@pytest.mark.skipif(not shutil.which("pasta"), reason="pasta (package passt) is not installed")
@pytest.mark.skipif(not shutil.which("ip") or not shutil.which("unshare"), reason="needs iproute2 and util-linux")
def test_outside_is_the_network_but_not_the_machine_s_loopback(tmp_path: Path) -> None:
    (tmp_path / "listen.py").write_text(LISTEN)
    (tmp_path / "ask.py").write_text(ASK)
    namespaces = ["unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child"]
    command = [*namespaces, "sh", "-c", A_MACHINE, "sh", sys.executable, str(COMMAND)]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "reached").read_text().splitlines() == ["listening", "tcp 203.0.113.9", "udp 203.0.113.9"]
    found = json.loads((tmp_path / "result.json").read_text())
    assert found["flows"]["up"]["received"] >= 3, "a SYN, an ACK and a datagram"


ALLOWED = """
import os, sys
from aqmlab.runs.namespaces import refusal
os.close(os.open("/dev/net/tun", os.O_RDWR))
sys.exit(refusal() and f"user namespaces: {refusal()[0]}")
"""


def refused_to(who: list[str]) -> str | None:
    """Return what a live run needs and the machine refuses to `who`, options of setpriv; None if nothing."""
    probe = subprocess.run(
        ["setpriv", *who, sys.executable, "-c", ALLOWED], capture_output=True, text=True, check=False
    )
    return probe.stderr.strip().splitlines()[-1] if probe.returncode else None


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="needs root, to become somebody else")
@pytest.mark.parametrize(
    "who",
    [
        ["--reuid=65534", "--regid=65534", "--clear-groups"],
        ["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"],
    ],
    ids=["an ordinary user", "root of a container without capabilities"],
)
def test_no_privilege_is_needed(who: list[str], tmp_path: Path) -> None:
    if fault := refused_to(who):
        pytest.skip(f"this machine refuses it: {fault}")
    tmp_path.chmod(0o777)
    command = ["setpriv", *who, str(COMMAND), "live", *LINE, "--", "sh", "-c", "grep -c : /proc/net/dev; exit 5"]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stdout.splitlines()[0]) == (5, "2"), finished.stderr
