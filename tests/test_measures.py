"""Every measure of a run can be asked for by its name, wherever schemes are compared."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

import aqmlab
from aqmlab.runs.measures import every, expand, heading, usual
from conftest import Aqmlab

MIXED = """
schema = 1
title = "A call, a film, pages and transfers over two links"
duration = "12 s"
warmup = "4 s"

[[links]]
name = "up"
rate = "2 Mbit/s"
buffer = "100 packets"
aqm = "fq-codel"

[[links]]
name = "down"
rate = "8 Mbit/s"
buffer = "100 packets"
aqm = "fq-codel"

[[flows]]
name = "ftp"
count = 2
rtt = "40 ms"
path = ["down"]
ack_path = ["up"]

[[flows]]
name = "voice"
kind = "udp-cbr"
rate = "80 kbit/s"
packet = "172 B"
rtt = "20 ms"
path = ["up"]

[[flows]]
name = "web"
kind = "http"
count = 3
think_time = { exponential = "1 s" }
size = "20 packets"
rtt = "40 ms"
path = ["down"]

[[flows]]
name = "film"
kind = "video"
bitrates = ["500 kbit/s", "2 Mbit/s"]
rtt = "40 ms"
path = ["down"]
"""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mixed") / "mixed.toml"
    path.write_text(MIXED, encoding="utf-8")
    return path


def numbers(document: Mapping[str, object], path: str = "") -> set[str]:
    """Return the paths of all numbers in the JSON of a run."""
    found: set[str] = set()
    for name, value in document.items():
        if isinstance(value, dict):
            found |= numbers(value, f"{path}{name}.")
        elif value is None or isinstance(value, int | float):
            found.add(f"{path}{name}")
    return found


def test_each_number_of_a_run_is_a_measure_and_a_column(mixed: Path) -> None:
    run = json.loads(aqmlab.run(mixed, "red").json())
    printed = numbers({part: run[part] for part in ("links", "flows", "total")})
    names = set(every(aqmlab.load(mixed)))
    assert {name for name in printed if ".drops." not in name} <= names
    assert {"flows.voice.call.mos", "flows.film.video.stalls", "links.down.drops.early"} <= names
    assert not {"flows.ftp.call.mos", "flows.voice.video.stalls", "total.call.mos"} & names
    compared = aqmlab.compare(mixed, ["red", "codel"], measures=["*"])
    table = compared.table(wanted=sorted(printed))
    for name in printed:
        assert compared.text("red", name)
        assert (name, "mean") in table.columns
    found = {entry["measure"] for entry in json.loads(compared.json())["measures"]}
    assert found == names


def test_patterns() -> None:
    names = every(aqmlab.load("deployed/sparse"))
    link = "bottleneck"
    assert expand(["queue_mean", "link.drop_ratio"], names, link) == [
        "links.bottleneck.queue_mean",
        "links.bottleneck.drop_ratio",
    ]
    assert expand(["flows.*.goodput", "total.goodput", "flows.ftp.goodput"], names, link) == [
        "flows.ftp.goodput",
        "flows.voice.goodput",
        "total.goodput",
    ]
    assert expand(["flows.voice.packet_delay_p9?"], names, link) == [
        "flows.voice.packet_delay_p95",
        "flows.voice.packet_delay_p99",
    ]
    assert expand(["link.drops.batch"], names, link) == ["links.bottleneck.drops.batch"]  # not every scheme has it
    assert expand([], names, link) == []


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("flows.voice.packet_delay_p98", 'did you mean "flows.voice.packet_delay_p9'),
        ("queue_men", 'did you mean "queue_mean"?'),
        ("flows.nobody.*", "flows.nobody.*: matches no measure"),
    ],
)
def test_an_unknown_measure_is_refused_with_the_nearest(pattern: str, told: str) -> None:
    with pytest.raises(aqmlab.InputError) as error:
        aqmlab.compare("deployed/sparse", "pi", measures=[pattern])
    assert told in str(error.value)
    assert str(error.value).startswith("measure: ")


def test_the_usual_measures_go_by_the_kind_of_traffic(mixed: Path) -> None:
    assert usual(aqmlab.load(mixed)) == [
        "flows.ftp.goodput",
        "flows.ftp.jain",
        "flows.voice.packet_delay_p99",
        "flows.voice.call.loss_ratio",
        "flows.voice.call.mos",
        "flows.web.fct_p50",
        "flows.web.fct_p95",
        "flows.film.video.bitrate_mean",
        "flows.film.video.stall_time",
    ]


def test_heads_name_the_place_where_there_are_several() -> None:
    heads = [heading(name) for name in ("links.up.queue_mean", "link.queue_mean", "flows.web.fct_p95", "total.jain")]
    assert heads == ["up: Queue mean (packets)", "Queue mean (packets)", "web: FCT p95 (ms)", "Jain"]


def test_the_quality_of_a_call_by_hand(mixed: Path) -> None:
    voice = aqmlab.run(mixed, "fq-codel").flows["voice"]
    call, p99 = voice.call, voice.packet_delay_p99
    assert call is not None
    assert p99 is not None
    assert call.sent == pytest.approx(8 * 80_000 / (8 * 200), abs=1)  # 200 B on the wire, for 8 s
    assert call.loss_ratio <= 1 / call.sent  # one may be on its way at the end
    # ITU-T G.107: 93.2, less 0.024 a millisecond (20 of them packing), less 95/(1 + 25.1/Ppl); 1 % is late.
    lost = 100 * (1 - 0.99 * (1 - call.loss_ratio))
    assert call.r_factor == pytest.approx(93.2 - 0.024 * (20 + 1e3 * p99) - 95 * lost / (lost + 25.1))
    assert call.mos == pytest.approx(4.3, abs=0.1)
    assert voice.packet_delay_variation_p99 == pytest.approx(p99 - 0.0108, abs=1e-4)  # 10 ms and the packet itself
    assert voice.power == pytest.approx(voice.goodput / (voice.packet_delay_mean or 0))


def test_a_call_behind_a_full_buffer_is_bad() -> None:
    droptail, fq = (aqmlab.run("deployed/sparse", aqm).flows["voice"].call for aqm in ("droptail", "fq-codel"))
    assert droptail is not None
    assert fq is not None
    assert (droptail.mos or 0) < 1.2
    assert (fq.mos or 0) > 4.2


def test_measures_on_the_command_line(aqmlab: Aqmlab, mixed: Path) -> None:
    listed = json.loads(aqmlab("list", "measures", mixed, "--json").stdout)
    assert {"name": "flows.voice.call.mos", "unit": "1", "better": "more"}.items() <= {
        entry["name"]: entry for entry in listed
    }["flows.voice.call.mos"].items()
    assert "flows.film.video.stalls" in aqmlab("list", "measures", mixed).stdout
    shown = aqmlab("compare", mixed, "--aqms", "droptail,codel", "--measure", "*.voice.call.mos").stdout
    assert all(word in shown for word in ("voice:", "MOS", "DropTail", "CoDel"))
    assert "Link up" not in shown
    assert aqmlab("list", "measures").returncode == 2
    assert aqmlab("list", "aqms", mixed).returncode == 2
    assert aqmlab("compare", mixed, "--measure", "flows.voice.mos").returncode == 2


def test_a_sweep_summarises_what_is_asked_for(aqmlab: Aqmlab, mixed: Path, tmp_path: Path) -> None:
    experiment = tmp_path / "calls.toml"
    experiment.write_text(f'schema = 1\nscenarios = ["{mixed}"]\naqms = ["droptail", "codel"]\nseeds = 2\n')
    done = aqmlab("sweep", experiment, "--out", tmp_path / "out", "--measure", "flows.voice.call.*", "--json")
    summary = json.loads(done.stdout)["summary"]
    names = ("sent", "loss_ratio", "r_factor", "mos")
    assert [entry["measure"] for entry in summary[:4]] == [f"flows.voice.call.{name}" for name in names]
    text = aqmlab("report", tmp_path / "out", "--format", "markdown", "--measure", "flows.*.call.mos").stdout
    assert "| Scheme | voice: MOS |" in text
