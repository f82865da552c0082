"""Live runs: what the command gets and may do, its exit code, and what is refused."""

import os
import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aqmlab._core import InputError
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
        (["--rate", "1Mbit/s", "--rtt", "long", "--", "true"], 'rtt: "long"'),
        (["--rate", "1Mbit/s", "--mtu", "10", "--", "true"], "mtu: 10"),
        (["--rate", "1Mbit/s", "--aqm", "codle", "--", "true"], "codel"),
        (["--rate", "1Mbit/s", "ping", "server"], "behind --"),
        (["home/call", "--up", "1Mbit/s", "--", "true"], "up: 1Mbit/s: describes a line"),
        (["rfc7928/mixed", "--", "true"], "scenario"),
    ],
)
def test_bad_input_is_refused(arguments: list[str], why: str, aqmlab: Aqmlab) -> None:
    refused = aqmlab("live", *arguments)
    assert (refused.returncode, refused.stdout) == (2, ""), refused.stderr
    assert why in refused.stderr
    assert "Traceback" not in refused.stderr


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


def say(server: socket.socket) -> None:
    """Tell the first who comes."""
    with server.accept()[0] as peer:
        peer.sendall(b"through")


@pytest.mark.skipif(not shutil.which("pasta"), reason="pasta (package passt) is not installed")
def test_the_machine_s_own_network_is_behind_the_line(aqmlab: Aqmlab) -> None:
    gateway = subprocess.run(["ip", "route"], capture_output=True, text=True, check=False).stdout.split("default via ")
    if len(gateway) < 2:
        pytest.skip("the machine has no route to anywhere")
    host = gateway[1].split()[0]  # by which pasta reaches the machine itself
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as others:
        server.settimeout(60)
        said = others.submit(say, server)
        client = f"import socket; print(socket.create_connection(('{host}', {server.getsockname()[1]})).recv(7))"
        finished = aqmlab("live", *LINE, "--outside", "--json", "--", sys.executable, "-c", client)
        said.result()
    found = document(finished)
    assert "b'through'" in finished.stderr
    assert found["flows"]["up"]["received"] >= 2, "a SYN and an ACK"


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
    tmp_path.chmod(0o777)
    command = ["setpriv", *who, str(COMMAND), "live", *LINE, "--", "sh", "-c", "grep -c : /proc/net/dev; exit 5"]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stdout.splitlines()[0]) == (5, "2"), finished.stderr
