"""Congestion controls and adaptive video, from the command line and from Python."""

import json
import subprocess
import sys
from pathlib import Path

import aqmlab

COMMAND = Path(sys.executable).parent / "aqmlab"
LINK = """schema = 1
duration = "20 s"

[[links]]
name = "bottleneck"
rate = "10 Mbit/s"
buffer = "500 packets"
aqm = "droptail"

[[flows]]
name = "player"
rtt = "40 ms"
"""
VIDEO = 'kind = "video"\nbitrates = ["1 Mbit/s", "3 Mbit/s"]\ntcp = "cubic"\n'


def run(folder: Path, flow: str) -> subprocess.CompletedProcess[str]:
    """Run a scenario with this flow as a user does."""
    (folder / "link.toml").write_text(LINK + flow, encoding="utf-8")
    return subprocess.run(
        [COMMAND, "run", "link.toml", "--json"], cwd=folder, capture_output=True, text=True, check=False
    )


def test_only_video_has_what_viewers_see(tmp_path: Path) -> None:
    seen = json.loads(run(tmp_path, VIDEO).stdout)["flows"]["player"]["video"]
    # One segment at the least bitrate, the others at what 8 of 10 Mbit/s allow.
    assert (seen["switches"], seen["stalls"]) == (1, 0)
    assert seen["bitrate_mean"] == (1e6 + 3e6 * (seen["segments"] - 1)) / seen["segments"]
    typed = aqmlab.run(str(tmp_path / "link.toml")).flows["player"].video
    assert typed is not None
    assert typed.segments == seen["segments"]
    assert "video" not in json.loads(run(tmp_path, "").stdout)["flows"]["player"]


def test_people_read_bitrate_and_stalls(tmp_path: Path) -> None:
    (tmp_path / "link.toml").write_text(LINK + VIDEO, encoding="utf-8")
    shown = subprocess.run([COMMAND, "run", "link.toml"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "Bitrate" in shown.stdout
    assert "Stalled" in shown.stdout


def test_a_contradiction_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    done = run(tmp_path, 'tcp = { congestion_control = "cubic", profile = "ns2" }\n')
    assert done.returncode == 2
    assert 'flows.player.tcp.congestion_control: "cubic" is not in profile "ns2"' in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout
