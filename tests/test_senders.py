"""Congestion controls and adaptive video, from the command line and from Python."""

import json
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import aqmlab
from aqmlab import catalogue, scenario
from aqmlab._core import Scenario
from aqmlab.problems import InputError
from aqmlab.scenario import OldFileNotice
from aqmlab.studio.lessons import lessons
from aqmlab.study import paper as study

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


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run aqmlab as a user does."""
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)


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


def test_people_read_of_connections_that_failed(tmp_path: Path) -> None:
    flood = '[[flows]]\nname = "flood"\nkind = "udp-cbr"\nrate = "20 Mbit/s"\nrtt = "1 ms"\n'
    (tmp_path / "link.toml").write_text(f"{LINK}tcp = {{ syn_retries = 1 }}\n{flood}", encoding="utf-8")
    narrow = ["--set", "links.bottleneck.rate=8kbit/s", "--set", "links.bottleneck.buffer=2 packets"]
    failed = json.loads(command("run", str(tmp_path / "link.toml"), *narrow, "--json").stdout)
    assert [failed["flows"]["player"]["failed"], failed["total"]["failed"]] == [1, 1]
    assert "Failed" in command("run", str(tmp_path / "link.toml"), *narrow).stdout
    assert "Failed" not in command("run", str(tmp_path / "link.toml")).stdout


def test_a_contradiction_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    done = run(tmp_path, 'tcp = { congestion_control = "cubic", profile = "ns2" }\n')
    assert done.returncode == 2
    assert 'flows.player.tcp.congestion_control: "cubic" is not in profile "ns2"' in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout


def test_laws_are_listed_and_shown() -> None:
    listed = json.loads(command("list", "tcps", "--json").stdout)
    parameters = {law["name"]: {item["name"] for item in law["parameters"]} for law in listed}
    assert listed[0]["name"] == "reno"
    assert parameters["cubic"] == {"c", "beta", "fast_convergence", "slow_start", "flavour"}
    facts = {law.name: dict(law.facts()) for law in catalogue.laws()}
    assert facts["reno"] == {"Requires": "nothing special", "Sets": "nothing"}
    assert facts["ledbat"] == {"Requires": "one-way delays", "Sets": "initial_window = 2 packets"}
    asked = "a count of ECN marks, every ACK, pacing, its own answer to ECN marks, ECT(1)"
    assert facts["prague"] == {"Requires": asked, "Sets": "ect_on_retransmit = true"}
    assert "initial_window = 2 packets" in command("show", "ledbat").stdout
    assert "RFC 6817" in command("list", "tcps").stdout
    shown = command("show", "cubic").stdout
    assert "RFC 9438" in shown
    assert "fast_convergence" in shown
    refused = command("show", "cubik")
    assert refused.returncode == 2
    assert 'did you mean "cubic"?' in refused.stderr


def test_a_misspelt_name_is_compared_with_schemes_laws_and_scenarios() -> None:
    for given, meant in [
        ("rneo", "reno"),
        ("ledbatt", "ledbat"),
        ("codle", "codel"),
        ("deployed/blk", "deployed/bulk"),
    ]:
        assert f'did you mean "{meant}"?' in command("show", given).stderr


def test_no_two_things_have_the_same_name_but_a_law_or_a_scheme_and_its_study() -> None:
    studied = [law.name for law in catalogue.laws()] + [scheme.name for scheme in catalogue.schemes()]
    names = [
        *studied,
        *study.studies(),
        *(name for name in study.suites() if name not in studied),
        *aqmlab.scenarios(),
        "tcp",
    ]
    assert len(names) == len(set(names))


def test_the_parameters_of_a_law_are_set_with_its_name(tmp_path: Path) -> None:
    done = run(tmp_path, 'tcp = "cubic:beta=0.5"\n')
    resolved = aqmlab.load(str(tmp_path / "link.toml")).resolved()["flows"][0]["tcp"]
    assert done.returncode == 0
    assert (
        resolved["congestion_control"] == "cubic:c=0.4,beta=0.5,fast_convergence=true,slow_start=hystart,flavour=linux"
    )
    assert "target" not in resolved
    old = run(tmp_path, 'tcp = { congestion_control = "ledbat", target = "5 ms" }\n')
    assert old.returncode == 2
    assert 'write congestion_control = "ledbat:target=5 ms"' in old.stderr


def test_who_sets_constants_of_no_profile_is_told_once_that_the_default_has_changed(tmp_path: Path) -> None:
    told = 'Note: link: flows.player: constants of TCP without a profile, which is then "linux" (it was "rfc" in aqmlab'
    done = run(tmp_path, 'tcp = { min_rto = "1 s" }\n')
    assert done.stderr.count("\n") == done.stderr.count(told) == 1
    with pytest.warns(OldFileNotice, match="constants of TCP"):
        assert aqmlab.run(tmp_path / "link.toml").links
    (tmp_path / "other.toml").write_text((tmp_path / "link.toml").read_text("utf-8"), encoding="utf-8")
    both = command("compare", str(tmp_path / "link.toml"), str(tmp_path / "other.toml"), "--aqms", "droptail")
    assert both.stderr.count("aqmlab 0.1") == 1, "of two files of 0.1 one is named"
    for flow in ("", 'tcp = "cubic"\n', 'tcp = "rfc"\n', 'tcp = { profile = "linux", min_rto = "1 s" }\n'):
        assert not run(tmp_path, flow).stderr


def test_no_scenario_of_aqmlab_is_told_of_version_0_1() -> None:
    noticed = [name for name in scenario.scenarios() if scenario.load(name).profile_notice]
    assert noticed == []
    assert [lesson.id for lesson in lessons() if lesson.load().profile_notice] == []
    root = Path(__file__).parent.parent
    pages = [*root.glob("docs/*.md"), root / "README.md"]
    fence = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)
    blocks = [block for page in pages for block in fence.findall(page.read_text("utf-8"))]
    blocks.append((root / "examples" / "my-link.toml").read_text("utf-8"))
    whole = []
    for block in blocks:
        with suppress(InputError):  # parts of scenarios, and other files
            whole.append(aqmlab.Scenario.parse(block, "page"))
    assert len(whole) > 3
    assert [each.text for each in whole if each.profile_notice] == []


@pytest.mark.parametrize(
    ("of_0_1", "today", "departed", "queue_mean"),
    [  # measured with 0.1
        ("nothing", 'tcp = "rfc"', 20337, 29.6947736),
        ('tcp = "cubic"', 'tcp = { congestion_control = "cubic", profile = "rfc" }', 23579, 24.6055024),
        ('tcp = "reno"', 'tcp = { variant = "reno" }', 20090, 14.6235624),
        ('tcp = { min_rto = "1 s" }', 'tcp = { profile = "rfc", min_rto = "1 s" }', 20337, 29.6947736),
    ],
)
def test_the_page_says_how_to_get_the_numbers_of_0_1(
    of_0_1: str, today: str, departed: int, queue_mean: float, tmp_path: Path
) -> None:
    page = (Path(__file__).parent.parent / "docs" / "tcp.md").read_text(encoding="utf-8")
    assert any(of_0_1 in line and f"`{today}`" in line for line in page.splitlines())
    (tmp_path / "link.toml").write_text(f"{LINK}{today}\n", encoding="utf-8")
    link = aqmlab.run(tmp_path / "link.toml", "red").links["bottleneck"]
    assert (link.departed, link.queue_mean) == (departed, queue_mean)


RATE_LIMITED = """
schema = 1
duration = "25 s"
warmup = "2 s"
[[links]]
name = "path"
rate = "50 Mbit/s"
buffer = "1 bdp"
[[flows]]
name = "video"
kind = "video"
bitrates = ["1 Mbit/s", "4 Mbit/s", "10 Mbit/s"]
segment = "1 s"
playback_buffer = "4 s"
count = 4
path = ["path"]
rtt = "60 ms"
tcp = { congestion_control = "LAW", profile = "linux", rate_limited_increase = LIMITED }
"""


def test_rate_limited_increase_concerns_every_controller_that_does_not_set_its_window_alone() -> None:
    """LEDBAT limits its window to the flight itself (RFC 6817, max_allowed_cwnd)."""
    same = set()
    for law in (law for law in catalogue.laws() if law.page):  # the built-in ones
        text = RATE_LIMITED.replace("LAW", law.name)
        runs = [
            aqmlab.run(Scenario.parse(text.replace("LIMITED", limited), law.name), "codel")
            for limited in ("true", "false")
        ]
        if runs[0].values == runs[1].values:
            same.add(law.name)
    assert same == {"bbr", "bbr3", "c4", "copa", "ledbat"}
