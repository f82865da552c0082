"""A scheme in a Python file on the command line: it runs as any other, and what is wrong with it is said."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aqmlab import Aqm
from aqmlab.own import defines, in_file
from conftest import COMMAND, Aqmlab
from test_interrupt import heed_interrupts, wait_until_simulating

FILE = '''
import aqmlab


class Short(aqmlab.Aqm):
    """Drops above a limit."""

    most = aqmlab.Param("20 packets", ("1 packet", "1000 packets"))

    def on_enqueue(self, packet, queue):
        return queue.packets >= self.most


class Breaks(aqmlab.Aqm):
    def on_enqueue(self, packet, queue):
        return queue.nothing
'''


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(FILE, encoding="utf-8")
    return "mine.py"


def test_a_file_stands_for_its_scheme(file: str, small: str, aqmlab: Aqmlab, tmp_path: Path) -> None:
    done = aqmlab("run", small, "--aqm", f"{file}:Short:most=10 packets", "--json", "--out", "left")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["aqm"] == "short:most=10 packets"
    assert result["links"]["bottleneck"]["queue_p95"] <= 10
    assert (tmp_path / "left" / "queue.svg").exists()
    done = aqmlab("compare", small, "--aqms", f"pi,{file}:Short:most=10 packets,{file}:Short,red", "--json")
    assert json.loads(done.stdout)["aqms"] == ["pi", "short:most=10 packets", "short", "red"]


def test_a_file_changed_within_a_second_is_read_again(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / file
    for name, nanoseconds in [("Short", 1), ("Small", 2)]:
        path.write_text(FILE.replace("Short", name), encoding="utf-8")
        os.utime(path, ns=(10**18, 10**18 + nanoseconds))
        assert defines("aqm", f"{path}", Aqm)
        assert in_file("aqm", f"{path}", name, Aqm, "scheme") == name.lower()
    assert not (tmp_path / "__pycache__").exists(), "nothing is left beside the user's file"


def test_a_scenario_may_set_parameters_of_a_file_s_scheme(
    file: str, small: str, aqmlab: Aqmlab, tmp_path: Path
) -> None:
    text = Path(small).read_text(encoding="utf-8") + '\n[schemes.short]\nmost = "5 packets"\n'
    (tmp_path / "scenario.toml").write_text(text, encoding="utf-8")
    done = aqmlab("run", "scenario.toml", "--aqm", f"{file}:Short", "--json")
    assert json.loads(done.stdout)["links"]["bottleneck"]["queue_p95"] <= 5


def test_a_breakdown_exits_with_1_and_writes_nothing(file: str, small: str, aqmlab: Aqmlab, tmp_path: Path) -> None:
    done = aqmlab("run", small, "--aqm", f"{file}:Breaks", "--out", "left")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: breaks at ")
    assert "on_enqueue raised AttributeError" in done.stderr
    assert "(line 16)" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "left").exists()
    done = aqmlab("compare", small, "--aqms", f"pi,{file}:Breaks", "--out", "report")
    assert done.returncode == 1
    assert "breaks at " in done.stderr
    assert "breaks at " in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("spec", "content", "words"),
    [
        ("no.py", "", ["no.py: no such file"]),
        ("bad.py", "x = 1\n", ["bad.py: no scheme in it"]),
        ("bad.py", "x = = 1\n", ["bad.py: SyntaxError", "line 1"]),
        ("bad.py", "x = 1\ny = z\n", ["bad.py: NameError", "line 2"]),
        ("bad.py", FILE, ["has several schemes", "bad.py:Short"]),
        ("bad.py:Shrot", FILE, ['no scheme "Shrot"', 'did you mean "Short"']),
        ("bad.py:Short:most=3", FILE, ["short.most", "has no unit"]),
        ("bad.py", FILE.replace('"20 packets"', '"20 pakets"'), ["short.most.default", "pakets"]),
    ],
)
def test_bad_files_are_refused(
    spec: str, content: str, words: list[str], small: str, aqmlab: Aqmlab, tmp_path: Path
) -> None:
    (tmp_path / "bad.py").write_text(content, encoding="utf-8")
    done = aqmlab("run", small, "--aqm", spec, "--out", "left")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert not (tmp_path / "left").exists()


def test_ctrl_c_stops_a_run_that_is_in_python(small: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FILE, encoding="utf-8")
    command = [str(COMMAND), "run", small, "--aqm", "mine.py:Short", "--set", "duration=100000s"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 - no thread runs here
    )
    wait_until_simulating(process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
