"""Links by radio: presets beside the figures that they are after, and what is refused."""

import statistics
from pathlib import Path

import pytest

import aqmlab
from aqmlab.problems import InputError

LINK = """
schema = 1
duration = "60 s"
warmup = "20 s"

[[links]]
name = "satellite"
preset = "starlink-down"
{keys}

[[flows]]
name = "probe"
kind = "udp-cbr"
rate = "25.6 kbit/s"
packet = "132 B"
rtt = "40 ms"

{flows}
"""

BULK = """
[[flows]]
name = "bulk"
count = 8
rtt = "40 ms"
tcp = "linux"
"""

STEADY = 'fading = { deviation = 0.001, memory = "15 s", every = "15 s" }'
"""The link of the report at the moment at which it could carry 460 Mbit/s."""


def written(folder: Path, keys: str = "", flows: str = BULK) -> Path:
    path = folder / "satellite.toml"
    path.write_text(LINK.format(keys=keys, flows=flows))
    return path


def test_bulk_waits_on_starlink_while_probes_pass(tmp_path: Path) -> None:
    # cake-autorate#393: bulk +31 ms at 457 Mbit/s, probes 6.7 ms in the mean; within 20 %.
    runs = [aqmlab.run(written(tmp_path, STEADY), seed=seed) for seed in (1, 2)]
    waits = [run.links["satellite"].queue_delay_mean or 0.0 for run in runs]
    carried = [run.links["satellite"].capacity - run.links["satellite"].capacity_unused for run in runs]
    probes = [(run.flows["probe"].packet_delay_mean or 0.0) - 0.020 for run in runs]
    assert statistics.fmean(waits) == pytest.approx(0.031, rel=0.2)
    assert statistics.fmean(carried) == pytest.approx(457e6, rel=0.05)
    assert statistics.fmean(probes) == pytest.approx(0.0067, rel=0.2)


def test_in_a_fifo_probes_would_wait_too(tmp_path: Path) -> None:
    run = aqmlab.run(written(tmp_path, f'aqm = "droptail"\n{STEADY}'), set={"duration": "20 s", "warmup": "10 s"})
    wait = run.links["satellite"].queue_delay_mean
    delay = run.flows["probe"].packet_delay_mean
    assert wait is not None
    assert delay is not None
    assert delay - 0.020 == pytest.approx(0.0067 + wait, rel=0.2)


def test_the_envelope_of_an_idle_starlink_link(tmp_path: Path) -> None:
    # The greatest delay above the least between reconfigurations: 38 ms in the median, 103 ms in an hour.
    simulation = aqmlab.Simulation(written(tmp_path, flows=""), set={"duration": "3612 s", "warmup": "0 s"})
    greatest = []
    simulation.step_until(12.3)
    simulation.probe()
    while simulation.now < simulation.end:
        simulation.step_until(simulation.now + 14.7)
        delay = simulation.probe().flows["probe"]["packet_delay_max"]
        assert delay is not None
        greatest.append((delay - 0.020) * 1e3)
        simulation.step_until(simulation.now + 0.3)
        simulation.probe()  # without the moment of the reconfiguration
    assert len(greatest) == 240
    assert statistics.median(greatest) == pytest.approx(38, rel=0.2)
    assert max(greatest) == pytest.approx(103, rel=0.2)


def test_a_preset_is_shown_with_its_values(tmp_path: Path) -> None:
    shown = aqmlab.load(written(tmp_path)).resolved()["links"][0]
    assert shown["interruptions"] == "each 15 s for 40 ms, first at 12 s"
    assert shown["jitter_every"] == "50 ms"
    assert "deviation 0.15" in shown["rate"]["fading"]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ('preset = "starlink"', 'links.satellite.preset: unknown preset "starlink"; did you mean "starlink-up"'),
        ("fading = 5", "links.satellite.fading: expected a table, found a number"),
        ("fading = { deviation = 0.5 }", "links.satellite.fading.memory: missing"),
        (
            'fading = { deviation = 9, memory = "1 s", every = "1 s" }',
            'fading.deviation: "9" is out of range: must lie in 0.001 ..= 5',
        ),
        (
            'rate = [["0 s", "1 Mbit/s"], ["1 s", "2 Mbit/s"]]\n'
            'fading = { deviation = 1, memory = "1 s", every = "1 s" }',
            "links.satellite.fading: needs one rate",
        ),
        ('interruptions = "15 s"', "links.satellite.interruptions: expected a table, found text"),
        ('interruptions = { every = "15 s" }', "links.satellite.interruptions.hold: missing"),
        ('interruptions = { every = "1 s", hold = "1 s" }', 'interruptions.hold: "1 s" leaves no time to send'),
        ('interruptions = { every = "1 us", hold = "0 s" }', 'interruptions.every: "1 us" is too short'),
        ('jitter_every = "5 ms"', "links.satellite.jitter_every: needs jitter"),
        ('jitter = "1 ms"\njitter_every = "1 us"', 'jitter_every: "1 us" is out of range'),
    ],
)
def test_what_is_wrong_is_told_by_name(keys: str, told: str, tmp_path: Path) -> None:
    text = LINK.format(keys=keys, flows="").replace('preset = "starlink-down"\n', "")
    text = text if "rate =" in keys else text.replace('name = "satellite"', 'name = "satellite"\nrate = "1 Mbit/s"')
    path = tmp_path / "wrong.toml"
    path.write_text(
        text.replace("[[flows]]", 'buffer = "9 packets"\n[[flows]]' if "preset" not in keys else "[[flows]]", 1)
    )
    with pytest.raises(InputError) as refused:
        aqmlab.load(path)
    assert told in str(refused.value)


@pytest.mark.parametrize(("name", "written"), [("lte-up", '"lte-up"'), ("lte", '"lte-down" or preset = "lte-up"')])
def test_a_preset_in_place_of_a_scenario_is_told_its_place(name: str, written: str) -> None:
    with pytest.raises(InputError) as refused:
        aqmlab.load(name)
    assert (
        str(refused.value)
        == f'scenario: "{name}" is a preset of a link; write preset = {written} in [[links]] of a file'
    )


def test_the_page_has_every_preset_as_it_is() -> None:
    root = Path(__file__).parents[1]
    page = "".join((root / "docs" / name).read_text() for name in ("radio.md", "cable.md"))
    presets = sorted((root / "crates" / "scenario" / "src" / "presets").glob("*.toml"))
    assert len(presets) == 7
    for preset in presets:
        assert f"### {preset.stem}\n\n```toml\n{preset.read_text()}```" in page
