"""Commands in virtual time: refusals without a kernel, and runs where the cache has one that runs programs."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aqmlab import own
from aqmlab.kernel.images import images
from aqmlab.problems import InputError
from aqmlab.runs import virtual
from aqmlab.runs.live import EmulatedLine
from aqmlab.runs.own_measure import own_measures
from conftest import COMMAND, Aqmlab, virtual_fault
from live_runs import HOLE, LINE, SEND, SINK, document, python

VIRTUAL = ("live", "--virtual", *LINE)


kernel = pytest.mark.skipif(virtual_fault() is not None, reason=str(virtual_fault()))


class Abroad(own.Aqm):
    """A scheme of a user's."""


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["live", *LINE, "--syscall", "1us", "--", "true"], "syscall: works in virtual time only; add --virtual"),
        (["live", *LINE, "--also", "true", "--", "true"], "also: works in virtual time only"),
        (["live", *LINE, "--twice", "--", "true"], "twice: works in virtual time only"),
        (["live", *LINE, "--start-spread", "1s", "--", "true"], "start-spread: works in virtual time only"),
        ([*VIRTUAL, "--twice", "--seeds", "2", "--", "true"], "twice: is for one run; leave it out, or --aqms"),
        ([*VIRTUAL, "--start-spread", "soon", "--", "true"], 'start-spread: "soon" is not a time; write e.g. 30ms'),
        ([*VIRTUAL, "--outside", "--", "true"], "outside: your network does not follow virtual time"),
        ([*VIRTUAL], "command: missing; write it after --: nobody can type in virtual time"),
        ([*VIRTUAL, "--seeds", "2", "--seed", "5", "--", "true"], "seed: is for one run; leave it out, or --aqms"),
        ([*VIRTUAL, "--kernel", "no-such", "--", "true"], "kernel: no-such: expected user-mode Linux"),
        ([*VIRTUAL, "--kernel", sys.executable, "--", "true"], "is not user-mode Linux"),
    ],
)
def test_wrong_options_are_refused(arguments: list[str], why: str, within: Aqmlab) -> None:
    refused = within(*arguments)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert why in refused.stderr


@pytest.mark.skipif(bool(images()), reason="a kernel is built")
def test_without_a_kernel_it_says_how_to_build_one(within: Aqmlab) -> None:
    refused = within(*VIRTUAL, "--", "true")
    assert (refused.returncode, refused.stderr) == (2, "Error: kernel: none is built; run: aqmlab kernel build\n")


@kernel
@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"syscall": 0.1}, "syscall: 100000 us: expected 0 to 1 ms"),
        ({"writable": [Path("/no/such")]}, "write: /no/such: expected a folder"),
        ({"aqm": "abroad"}, "aqm: abroad: a scheme of your own cannot run inside the kernel"),
        ({"start_spread": 7200.0}, "start-spread: 7200 s: expected 0 to 3600 s"),
        ({"mtu": 10}, "mtu: 10: expected a whole number"),
    ],
)
def test_wrong_values_are_refused(given: dict[str, object], why: str) -> None:
    with pytest.raises(InputError, match=why):
        virtual.run_virtual(EmulatedLine("1 Mbit/s", None).scenario(), ["true"], **given)  # type: ignore[arg-type]


@kernel
def test_the_same_seed_gives_the_same_bytes(aqmlab: Aqmlab) -> None:
    script = "import os, time; print(os.urandom(8).hex(), time.monotonic_ns(), os.getpid(), id(object()))"
    commands = python(SEND + script, 2)
    first, again = (aqmlab(*VIRTUAL, "--aqm", "red", "--serve", SINK, "--json", "--", *commands) for _ in range(2))
    assert document(first)["links"]["up"]["dropped"] > 0
    assert (first.stdout, first.stderr) == (again.stdout, again.stderr)
    other = aqmlab(*VIRTUAL, "--aqm", "red", "--seed", 2, "--serve", SINK, "--json", "--", *commands)
    assert first.stderr.split()[0] != other.stderr.split()[0]


@kernel
def test_a_second_run_shows_that_the_first_can_be_repeated(aqmlab: Aqmlab, tmp_path: Path) -> None:
    options = ["--aqm", "red", "--serve", SINK, "--twice", "--out", "out"]
    done = aqmlab(*VIRTUAL, *options, "--", *python(SEND + "print('sent'); exit(3)", 1))
    assert done.returncode == 3
    assert done.stdout.count("sent") == 1
    assert "Repeatable: a second run under the same seed gave the same result." in done.stdout
    repeat = json.loads((tmp_path / "out/result.json").read_text(encoding="utf-8"))["live"]["repeat"]
    assert (repeat["repeatable"], repeat["first_difference"]) == (True, None)
    assert {"up.log", "down.pcapng", "serve-1.log"} <= set(os.listdir(tmp_path / "out"))
    assert aqmlab("live", "--replay", "out").returncode == 0


@kernel
@pytest.mark.parametrize(
    ("command", "difference"),
    [
        ("echo >> file; cat file", "stderr"),  # --json leaves stdout to the result
        ("echo >> file; exit $(wc -l < file)", "live.code: 1, then 2"),
        ("echo >> file; sleep 0.$(wc -l < file)", "live.duration: 0.1"),
    ],
)
def test_the_first_difference_of_two_runs_is_named(command: str, difference: str, aqmlab: Aqmlab) -> None:
    done = aqmlab(*VIRTUAL, "--twice", "--json", "--", "sh", "-c", command)
    assert json.loads(done.stdout)["live"]["repeat"]["first_difference"].startswith(difference)
    assert done.returncode == json.loads(done.stdout)["live"]["code"]


@kernel
def test_a_second_run_that_fails_is_a_difference(aqmlab: Aqmlab, tmp_path: Path) -> None:
    program = tmp_path / "once"
    program.write_text("#!/bin/sh\nrm once\n", encoding="utf-8")
    program.chmod(0o755)
    done = aqmlab(*VIRTUAL, "--twice", "--", "./once")
    assert done.returncode == 0
    assert "Not repeatable: the second run failed: ./once: No such file" in done.stdout


@kernel
def test_the_command_starts_at_a_time_of_the_seed(aqmlab: Aqmlab) -> None:
    options = [*VIRTUAL, "--start-spread", "2s", "--duration", "500ms", "--json"]
    runs = [document(aqmlab(*options, "--seed", seed, "--", "sleep", "100"))["live"] for seed in (1, 1, 2)]
    starts = [run["start"] for run in runs]
    assert starts[0] == starts[1] != starts[2]
    assert all(0 <= start <= 2 for start in starts)
    for run in runs:
        assert run["duration"] - run["start"] == pytest.approx(0.5, abs=0.01)


@kernel
def test_seeds_start_a_program_at_different_times(aqmlab: Aqmlab) -> None:
    options = ["--seeds", 3, "--start-spread", "1s", "--measure", "up=^([0-9.]+)", "--measure", "time"]
    done = aqmlab(*VIRTUAL, *options, "--json", "--", "cat", "/proc/uptime")
    found = json.loads(done.stdout)["schemes"]["droptail"]
    assert len({*found["up"]["values"]}) == 3
    assert max(found["time"]["values"]) < 0.1


@kernel
def test_packets_are_on_time_and_the_log_can_be_repeated(aqmlab: Aqmlab, tmp_path: Path) -> None:
    found = document(aqmlab(*VIRTUAL, "--serve", SINK, "--out", "out", "--json", "--", *python(SEND, 1)))
    live = found["live"]
    assert (live["valid"], live["engine"]["name"], live["engine"]["clock"]) == (True, "linux", "virtual")
    assert live["lateness_p99"] < 1e-6
    assert found["links"]["up"]["utilisation"] > 0.9
    assert {"result.json", "flows.csv", "series.csv", "up.log", "up-queue.svg"} <= set(os.listdir(tmp_path / "out"))
    repeated = aqmlab("live", "--replay", "out")
    assert repeated.returncode == 0, repeated.stdout


@kernel
@pytest.mark.parametrize(
    ("command", "code"), [("exit 3", 3), ("kill -9 $$", 137), (f"test $(id -u) = {os.getuid()}", 0), ("cat", 0)]
)
def test_the_code_is_that_of_the_command(command: str, code: int, aqmlab: Aqmlab) -> None:
    assert aqmlab(*VIRTUAL, "--", "sh", "-c", command).returncode == code


@kernel
@pytest.mark.parametrize(("given", "found"), [(None, "~0x4000000000000000:~0x40000"), (":~0", ":~0")])
def test_openssl_uses_no_random_numbers_of_the_processor(
    given: str | None, found: str, aqmlab: Aqmlab, monkeypatch: pytest.MonkeyPatch
) -> None:
    if given:
        monkeypatch.setenv("OPENSSL_ia32cap", given)
    assert aqmlab(*VIRTUAL, "--", "sh", "-c", "echo $OPENSSL_ia32cap").stdout.startswith(found + "\n")


@kernel
def test_what_cannot_be_started_has_the_code_of_a_shell(aqmlab: Aqmlab) -> None:
    missing = aqmlab(*VIRTUAL, "--", "no-such-program")
    assert (missing.returncode, missing.stdout) == (127, "")
    assert missing.stderr.startswith("Error: no-such-program: No such file")


@kernel
def test_a_program_waits_in_virtual_time(aqmlab: Aqmlab) -> None:
    waits = python("import time; t = time.time(); time.sleep(3600); print(time.time() - t)")
    found = document(aqmlab(*VIRTUAL, "--json", "--", *waits))
    assert 3600 < found["live"]["duration"] < 3601
    loops = python("import time; t = time.monotonic()\nwhile time.monotonic() < t + 0.01: pass")
    assert 0.01 < document(aqmlab(*VIRTUAL, "--json", "--", *loops))["live"]["duration"] < 0.5


@kernel
def test_a_command_ends_after_its_duration(aqmlab: Aqmlab) -> None:
    found = document(aqmlab(*VIRTUAL, "--duration", "1500ms", "--json", "--", "sleep", "100"))
    assert found["live"]["duration"] == pytest.approx(1.5, abs=0.01)


@kernel
def test_each_system_call_takes_its_time(aqmlab: Aqmlab) -> None:
    calls = python("import os\nfor _ in range(10000): os.getppid()")
    took = [
        document(aqmlab(*VIRTUAL, "--syscall", each, "--json", "--", *calls))["live"]["duration"]
        for each in ("1us", "10us")
    ]
    assert took[1] - took[0] > 0.09


@kernel
def test_a_program_that_holds_time_still_is_named(aqmlab: Aqmlab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual, "STILL", 1.0)
    stuck = aqmlab(*VIRTUAL, "--", *python("while True: pass"))
    assert stuck.returncode == 1
    assert "python" in stuck.stderr
    assert "has held virtual time still for" in stuck.stderr


@kernel
def test_programs_run_beside_the_command_and_at_the_far_end(aqmlab: Aqmlab) -> None:
    sends = shlex.join(python(SEND.replace('"server", 5000', '"server", 5001'), 2))
    beside = f"sleep 0.2; exec {sends}"  # until both ports listen
    serve = [SINK, SINK.replace("5000", "5001")]
    options = [word for line in serve for word in ("--serve", line)]
    found = document(aqmlab(*VIRTUAL, *options, "--also", beside, "--json", "--", *python(SEND, 2)))
    assert found["flows"]["up"]["lasting"] == 2


ESCAPES = [
    "touch {there}/new",
    "rm {there}/file",
    "echo x > {there}/file",
    "mv {there}/file {there}/other",
    "chmod 777 {there}/file",
    "touch -d 2001-01-01 {there}/file",
    "ln {there}/file {there}/link",
    "ln -s /etc/passwd {there}/link",
    "mkdir {there}/folder",
    "touch /proc/self/root{there}/new",
    "touch /proc/1/root{there}/new",
    "touch ../there/new",
    "ln -s {there} way && touch way/new",
    "cd {there} && touch new",
    "mount -o remount,rw /",
    "mount -t hostfs none /tmp -o {there} && touch /tmp/new",
    "unshare -Urm mount -t hostfs none /tmp -o {there}",
    "unshare -Urm sh -c 'mount -o remount,rw,bind / && touch {there}/new'",
    "head -c 1 /dev/mem",
    "mknod /tmp/disk b 254 0",
    "truncate -s 0 {there}/file",
    "python3 -c \"open('{there}/file', 'r+').write('x')\"",
]


@kernel
def test_nothing_beyond_the_working_folder_can_be_changed(aqmlab: Aqmlab, tmp_path: Path) -> None:
    there = tmp_path.with_name("there")
    there.mkdir(exist_ok=True)
    (there / "file").write_text("mine", encoding="utf-8")
    before = _state(there)
    lines = "".join(
        f"({line.format(there=there)}) 2>/dev/null && echo done: {i} >> escaped\n" for i, line in enumerate(ESCAPES)
    )
    ended = aqmlab(*VIRTUAL, "--", "sh", "-c", f"touch here; {lines} true")
    assert ended.returncode == 0, ended.stderr
    assert _state(there) == before
    assert (tmp_path / "here").exists()
    assert not (tmp_path / "escaped").exists(), (tmp_path / "escaped").read_text()


def _state(folder: Path) -> list[tuple[str, int, float, bytes]]:
    entries = sorted(folder.iterdir())
    return [(path.name, path.stat().st_mode, path.stat().st_mtime, path.read_bytes()) for path in entries]


@kernel
def test_nothing_is_left_after_a_kill(tmp_path: Path) -> None:
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [COMMAND, *VIRTUAL, "--serve", HOLE, "--", "sleep", "100000000"]
    for wait in (0.4, 0.8, 1.2, 2.0):
        started = subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait)
        started.send_signal(signal.SIGKILL)
        started.wait()
    for _ in range(100):
        left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True, check=False).stdout
        if not left and not list(tmp_path.glob("aqmlab-kernel-*")):
            break
        time.sleep(0.1)
    assert (left, list(tmp_path.glob("aqmlab-kernel-*"))) == ("", [])


@kernel
def test_the_result_is_json_alone(aqmlab: Aqmlab) -> None:
    printed = aqmlab(*VIRTUAL, "--json", "--", "echo", "hello")
    assert json.loads(printed.stdout)["live"]["code"] == 0
    assert printed.stderr == "hello\n"


@pytest.mark.parametrize(
    ("text", "printed", "number"),
    [
        ("load=LOAD=([0-9.]+)", "x\nLOAD=0.82\n", 0.82),
        ("load=LOAD=([0-9.]+)", "no page", None),
        ("rate=^(\\d+) Mbit", "a\n7 Mbit/s\n", 7.0),
        ("rate=json:$.runs[1].rate", '{"runs": [{"rate": 1}, {"rate": "2.5"}]}', 2.5),
        ("rate=json:$.runs[2].rate", '{"runs": []}', None),
        ("rate=json:$.rate", "no JSON", None),
        ("exit", "", 3.0),
        ("took=time", "", 1.5),
    ],
)
def test_a_measure_reads_what_a_program_printed(text: str, printed: str, number: float | None) -> None:
    [measure] = own_measures([text])
    assert measure.read(printed, 3, 1.5) == number


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["load"], "measure: load: expected NAME=REGEX, NAME=json:"),
        (["=x"], "expected NAME=REGEX"),
        (["load=[0-9"], "is not a regular expression"),
        (["load=[0-9]+"], "put the number in parentheses"),
        (["load=json:timing"], "expected a path such as json:"),
        (["exit", "exit=(.*)"], "exit: given twice"),
    ],
)
def test_a_measure_that_is_none_is_refused(texts: list[str], why: str) -> None:
    with pytest.raises(InputError, match=re.escape(why)):
        own_measures(texts)


@kernel
def test_schemes_are_compared_under_one_program(aqmlab: Aqmlab) -> None:
    sends = [*python(SEND + "print('sent', 5)", 1)]
    options = ["--aqms", "droptail,fq-codel", "--seeds", 2, "--measure", "sent=sent (\\d+)", "--measure", "time"]
    done = aqmlab(*VIRTUAL, *options, "--serve", SINK, "--json", "--", *sends)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found["schemes"]) == {"droptail", "fq-codel"}
    assert found["schemes"]["fq-codel"]["sent"]["values"] == [5, 5]
    delay = found["schemes"]["fq-codel"]["up: Delay p99 (ms)"]
    assert delay["difference"] < 0
    shown = aqmlab(*VIRTUAL, *options, "--serve", SINK, "--", *sends)
    assert "Differences from DropTail, paired by seed" in shown.stdout
