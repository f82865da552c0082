"""`aqmlab analyse` as a user runs it."""

import json
from pathlib import Path

import pytest

from aqmlab.analysis import maps
from conftest import Aqmlab

LINK = ("--rate", "45 Mbit/s", "--rtt", "80 ms", "--flows", "60")

SCENARIO = """
schema = 1
title = "60 flows, RTT 240 ms"
duration = "100 s"
[[links]]
name = "bottleneck"
rate = "45 Mbit/s"
buffer = "900 packets"
target = "300 packets"
[[flows]]
name = "ftp"
count = 60
rtt = "240 ms"
tcp = { variant = "sack" }
"""


def test_a_design_can_be_pasted(aqmlab: Aqmlab) -> None:
    first = aqmlab("analyse", "pi", "--design", *LINK, "--json")
    assert first.returncode == 0, first.stderr
    document = json.loads(first.stdout)
    assert document["stable"]
    assert document["holds"]
    again = json.loads(aqmlab("analyse", document["design"]["spec"], *LINK, "--json").stdout)
    assert again["models"] == document["models"]
    text = aqmlab("analyse", "pi", "--design", *LINK).stdout
    assert f'--aqm "{document["design"]["spec"]}"' in text
    assert "stable" in text


def test_fluid_and_packets_stand_beside_the_prediction(
    within: Aqmlab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maps.axis, "__defaults__", (20,))  # points per axis, of 100
    (tmp_path / "s.toml").write_text(SCENARIO)
    answer = within("analyse", "pi", "--scenario", "s.toml", "--out", "out", "--map", "rtt=20 ms..800 ms,gain")
    assert answer.returncode == 0, answer.stderr
    assert "packets" in answer.stdout
    found = json.loads((tmp_path / "out" / "analysis.json").read_text())
    assert abs(found["beside"]["difference"]["p_mean"]) < 0.1
    assert abs(found["beside"]["difference"]["queue_mean"]) < 0.05
    assert 0.2 < found["map"]["stable"] < 0.9
    names = {path.name for path in (tmp_path / "out").iterdir()}
    figures = ("bode", "nyquist", "step", "map", "beside")
    assert names == {"analysis.json"} | {f"{name}.{kind}" for name in figures for kind in ("pdf", "png", "svg")}


def test_where_the_model_does_not_hold_it_says_so_and_why(aqmlab: Aqmlab) -> None:
    answer = aqmlab(
        "analyse", "pi", "--rate", "45 Mbit/s", "--rtt", "80 ms", "--flows", "500", "--target", "300 packets"
    )
    assert answer.returncode == 0
    assert "Warning: the model does not hold here" in answer.stderr
    assert "timeouts" in answer.stderr
    assert "No prediction" in answer.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("codel", *LINK), ["aqm", "codel", "linear model", "pi"]),
        (("pi:a=-1e-5", *LINK), ["pi.a", "-1e-5"]),
        (("pi:a=1e-5,b=1e-5", *LINK), ["pi", "a = b"]),
        (("pi", "--rtt", "80 ms", "--flows", "60"), ["rate", "missing", "45 Mbit/s"]),
        (("pi", "--rate", "45", "--rtt", "80 ms", "--flows", "60"), ["rate", "45", "45 Mbit/s"]),
        (
            ("pi", "--rate", "45 Mbit/s", "--rtt", "80 ms", "--flows", "60", "--target", "9000 packets"),
            ["target", "9000"],
        ),
        (("pi", "--scenario", "li2014/table-1", "--rtt", "80 ms"), ["scenario", "set"]),
        (("pi", "--scenario", "rfc7928/none"), ["scenario", "rfc7928/none"]),
        (("pie", "--design", *LINK), ["pie", "design rule", "pi2"]),
        (("pi", "--map", "rtt", *LINK), ["map", "two"]),
        (("pi", "--map", "rtt,rtt", *LINK), ["map", "rtt"]),
        (("pi", "--map", "rtt,flow", *LINK), ["map", "flow", "flows"]),
        (("pi", "--map", "rtt=9 ms..3 ms,flows", *LINK), ["map", "rtt"]),
        (("pi", "--map", "a=1e-6..5,flows", *LINK), ["pi.a", "5"]),
        (("pi", "--ecn", "--rate", "1 Mbit/s", "--rtt", "20 ms", "--flows", "900"), ["operating point", "marked"]),
        (("pi", *LINK, "--set", "links"), ["set", "links"]),
    ],
)
def test_bad_input_is_refused(within: Aqmlab, tmp_path: Path, arguments: tuple[str, ...], words: list[str]) -> None:
    answer = within("analyse", *arguments, "--out", "out")
    assert answer.returncode == 2, answer.stderr
    assert answer.stdout == ""
    assert "Traceback" not in answer.stderr
    for word in words:
        assert word in answer.stderr, answer.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.nightly
def test_models_that_disagree_give_no_headline_of_one(aqmlab: Aqmlab) -> None:
    """13 times the default gains are between the gain margins: 10.9 with refined windows, 15.5 with classic ones."""
    network = ("--rate", "45 Mbit/s", "--rtt", "80 ms", "--flows", 60, "--ecn")
    agreed = aqmlab("analyse", "pi", *network).stdout
    assert "Predicted: stable" in agreed
    pi = f"pi:a={13 * 1.822e-5:.5g},b={13 * 1.816e-5:.5g}"
    text = aqmlab("analyse", pi, *network).stdout
    assert "No clear prediction: stable as linearised exactly" in text
    assert "unstable with refined windows" in text
    assert "Predicted" not in text
    assert json.loads(aqmlab("analyse", pi, *network, "--json").stdout)["disputed"]
