"""`aqmlab fit`: readers, features by hand, the regression, and the loop from files to twin to advice."""

import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aqmlab.fit import Fit, fit, readers
from aqmlab.fit.direction import DirectionFit, KindCandidate
from aqmlab.fit.features import Scale, features, mode, rates, token_bucket
from aqmlab.fit.line import of_scenario
from aqmlab.fit.measurement import FlowRecord, Intervals, LinkDirection, Measurement, Series
from aqmlab.fit.observation import Load, Observation
from aqmlab.fit.observe import observed, unused
from aqmlab.fit.regression import _solve, parameters, with_parameters
from aqmlab.fit.result import sentences
from aqmlab.fit.search import TwinSearch, TwinTrial
from aqmlab.fit.segments import steps
from aqmlab.fit.trial import as_printed, scenario, simulated
from aqmlab.fit.twin import KINDS, Twin, TwinLink
from aqmlab.present.plots import fit as pictures
from aqmlab.problems import InputError
from aqmlab.runs.task import RunError
from aqmlab.scenario import load as load_scenario
from aqmlab.scenario import parse
from conftest import Aqmlab

sys.path.insert(0, str(Path(__file__).parent.parent / "validation"))
import fit_blind

PING = """\
PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.
[1700000000.030000] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=30.0 ms
[1700000000.231000] 64 bytes from 192.0.2.1: icmp_seq=2 ttl=64 time=31.0 ms
[1700000000.632000] 64 bytes from 192.0.2.1: icmp_seq=4 ttl=64 time=32.0 ms

--- 192.0.2.1 ping statistics ---
5 packets transmitted, 3 received, 40% packet loss, time 800ms
"""
LINE = Twin({LinkDirection.down: TwinLink("drop-tail", 8e6, 60), LinkDirection.up: TwinLink("codel", 2e6, 100)}, 0.03)
"""A slow line, which is simulated in no time."""


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_ping_gives_times_of_sending_and_losses(tmp_path: Path) -> None:
    found = readers.read(written(tmp_path, "p.txt", PING))
    [probes] = found.delays
    assert found.tool == "ping"
    assert found.epoch == pytest.approx(1.7e9)
    assert probes.size == 84
    assert np.allclose(probes.sent, [0, 0.2, 0.4, 0.6, 0.8], atol=1e-6)
    assert np.allclose(probes.delay, [0.030, 0.031, math.nan, 0.032, math.nan], equal_nan=True)


def test_ping_without_times_is_spaced_by_its_summary(tmp_path: Path) -> None:
    text = "\n".join(line.partition("] ")[2] or line for line in PING.splitlines())
    found = readers.read(written(tmp_path, "ping-ect1.txt", text))
    assert found.epoch is None
    assert found.delays[0].ecn == 1
    assert np.allclose(found.delays[0].sent, [0, 0.2, 0.4, 0.6, 0.8])


def intervals(end: float, step: float, rate: float) -> Intervals:
    edges = np.arange(0, end + step / 2, step)
    return Intervals(edges[:-1], edges[1:], np.full(len(edges) - 1, rate))


def observation(goodput: Intervals, **more: Any) -> Observation:
    load = Load(LinkDirection.down, 1, float(goodput.end[-1]), 0.02)
    probes = Series(np.arange(-1, load.duration, 0.02), np.full(round((load.duration + 1) / 0.02), 0.05))
    return Observation(load, probes, goodput, **more)


def iperf3(*, reverse: bool, **more: Any) -> dict[str, Any]:
    streams = [
        {
            "socket": 5,
            "start": i / 10,
            "end": (i + 1) / 10,
            "bits_per_second": 8e6,
            "omitted": False,
            "sender": not reverse,
        }
        for i in range(20)
    ]
    test = {"protocol": "TCP", "num_streams": 1, "reverse": int(reverse)}
    start = {"connected": [{}], "timestamp": {"timesecs": 1700000005}, "connecting_to": {}, "test_start": test}
    return {"start": {**start, **more}, "intervals": [{"streams": [each]} for each in streams], "end": {}}


def test_iperf3_gives_the_direction_of_its_flows(tmp_path: Path) -> None:
    for reverse, way in ((False, LinkDirection.up), (True, LinkDirection.down)):
        [flow] = readers.read(written(tmp_path, "i.json", json.dumps(iperf3(reverse=reverse)))).flows
        assert flow.direction is way
        assert flow.at == ("receiver" if reverse else "sender")
        assert flow.goodput.value.tolist() == [8e6] * 20


def test_both_ends_of_a_test_are_one_load(tmp_path: Path) -> None:
    host, server = iperf3(reverse=False, cookie="x"), iperf3(reverse=True, cookie="x")
    server["start"]["accepted_connection"] = server["start"].pop("connecting_to")
    paths = [written(tmp_path, f"{i}.json", json.dumps(each)) for i, each in enumerate((host, server))]
    seen = observed([readers.read(path) for path in paths])
    [found] = seen.loads
    assert found.load.direction is LinkDirection.up
    assert found.load.streams == 1
    assert found.load.duration == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("hello\n", "unknown format"),
        ("PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n", "0 answers"),
        (PING.replace("icmp_seq=4", "icmp_seq=999999999"), "after 3 answers"),
        ('{"start": {"connected": []}', "is damaged"),
        ('{"start": {"connected": []}}', "expected iperf3"),
        (json.dumps(iperf3(reverse=False) | {"error": "unable to connect"}), "unable to connect"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        readers.read(written(tmp_path, "bad", text))


def test_rates_slide_over_intervals() -> None:
    goodput = Intervals(np.arange(4.0), np.arange(1.0, 5.0), np.asarray([1.0, 3.0, 5.0, 7.0]))
    assert rates(goodput, 2.0, 0, 4).tolist() == [2.0, 4.0, 6.0]


def test_the_mode_is_where_most_values_are() -> None:
    assert mode(np.asarray([1.0, 5.0, 5.1, 5.2, 9.0, 20.0])) == pytest.approx(5.1, abs=0.11)


def test_a_token_bucket_is_found_by_its_envelope() -> None:
    goodput = intervals(20, 0.1, 8e6)
    goodput.value[60:70] = 24e6  # 1 s at three times the rate: 16 Mbit more
    seen = observation(goodput)
    rate, depth = token_bucket(seen, Scale(0.05, 0.5, 4.0, 8e6, 20.0))
    assert rate == pytest.approx(8e6, rel=0.01)
    assert depth == pytest.approx(16e6, rel=0.05)


def test_steps_of_a_rate_are_found_and_a_constant_has_none() -> None:
    goodput = intervals(30, 0.1, 8e6)
    scale = Scale.of(observation(goodput), 0.05)
    assert steps(observation(goodput), scale) == ()
    goodput.value[120:200] = 4e6
    found = steps(observation(goodput), scale)
    assert [level for _, level in found] == [8e6, 4e6, 8e6]
    assert [time for time, _ in found] == pytest.approx([0, 12, 20], abs=0.51)


def test_features_are_relative_to_base_and_rate() -> None:
    seen = observation(intervals(30, 0.1, 8e6))
    found = features(seen, Scale.of(seen, 0.03))
    assert found["probe 50"] == pytest.approx(0.02)
    assert found["modal rate"] == found["mean rate"] == pytest.approx(1.0)
    assert found["rate spread"] == pytest.approx(0.0, abs=1e-12)
    assert math.isnan(found["srtt 50"])


def test_ping_prints_three_digits() -> None:
    assert np.allclose(
        as_printed(np.asarray([0.00012345, 0.0012345, 0.012345, 0.12345])), [0.000123, 0.00123, 0.0123, 0.123]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_and_scenarios_of_every_kind(kind: str) -> None:
    link = TwinLink(kind, 8e6, 50, loss=0.001, **({"burst": 1e5, "peak": 3e7} if kind in ("shaper", "policer") else {}))
    again = with_parameters(link, parameters(link))
    assert (again.kind, again.rate, again.buffer, again.loss) == (kind, *map(pytest.approx, (8e6, 50, 0.001)))
    twin = Twin(
        {LinkDirection.down: link, LinkDirection.up: TwinLink("pie", 2e6, 50)}, 0.03, ((0.0, 0.1), (0.002, 1.0))
    )
    found = parse(scenario(twin, Load(LinkDirection.down, 2, 10, 0.02, l4s=True)), "twin", (), None)
    assert set(found.links) == {"down", "up"}
    assert of_scenario(found).down == pytest.approx(8e6, rel=1e-4)
    assert of_scenario(found).rtt == pytest.approx(0.03)


def test_a_simulated_measurement_repeats() -> None:
    load = Load(LinkDirection.down, 2, 6, 0.05)
    one, other = simulated(LINE, load, 3), simulated(LINE, load, 3)
    assert np.array_equal(one.probes.value, other.probes.value, equal_nan=True)
    assert one.goodput.value.mean() == pytest.approx(8e6 * 1448 / 1500, rel=0.1)
    assert float(np.nanmax(one.probes.value)) == pytest.approx(0.03 + 60 * 1500 * 8 / 8e6, rel=0.05)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A short measurement of the download of LINE, as the tools write it."""
    folder = tmp_path_factory.mktemp("measured")
    seen = simulated(LINE, Load(LinkDirection.down, 2, 12, 0.05, lead=5.0), 7)
    written(folder, "down.json", fit_blind.iperf3(seen, 1.7e9, LINE.rtt))
    written(folder, "ping.txt", fit_blind.ping(seen.probes, 1.7e9))
    return [folder / "down.json", folder / "ping.txt"]


@pytest.fixture(scope="module")
def found(files: list[Path]) -> Fit:
    """The fit of that measurement."""
    return fit(files, jobs=1)


@pytest.fixture(scope="module")
def line(found: Fit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The twin of that measurement."""
    best = found.directions[LinkDirection.down].best
    assert best.link.rate == pytest.approx(8e6, rel=0.02)
    assert found.base == pytest.approx(LINE.rtt, rel=0.05)
    assert best.link.kind == "drop-tail"
    assert best.link.buffer == pytest.approx(60, rel=0.1)
    assert found.document()["line"]["down"]["kind"] == "drop-tail"
    return written(tmp_path_factory.mktemp("twin"), "line.toml", found.text)


def test_the_picture_compares_delay_and_rate(found: Fit) -> None:
    figure = pictures._figure(found)
    titles = [axes.get_title(loc="left").replace("\n", " ") for axes in figure.axes]
    assert titles == [
        f"Download: {name}" for name in ("delay", "distribution of the delay", "goodput", "distribution of the goodput")
    ]
    assert [len(axes.lines) for axes in figure.axes] == [2] * 4, "measured and simulated"
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["measured", "simulated", "not used by the fit"]
    time, rate = figure.axes[2].lines[0].get_data()
    assert list(time) == pytest.approx(np.arange(12) + 0.5), "the middle of each second"
    assert np.mean(rate[3:]) == pytest.approx(7.6, rel=0.05)


def test_the_twin_is_a_scenario_with_its_origin(line: Path, files: list[Path]) -> None:
    text = line.read_text()
    assert readers.read(files[0]).digest[:16] in text
    assert "last third of the load" in text
    assert "Uplink: not measured" in text
    assert set(load_scenario(line).links) == {"down", "up"}


def test_advice_from_a_twin(line: Path, aqmlab: Aqmlab) -> None:
    short = ("--set", "duration=6 s", "--set", "warmup=2 s", "--seeds", 2, "--jobs", 1, "--json")
    found = aqmlab("advise", "--from", line, "--aqms", "droptail,fq-codel", "--for", "latency", *short)
    assert found.returncode == 0, found.stderr
    assert '"fq-codel"' in found.stdout
    both = aqmlab("advise", "--from", line, "--down", "5Mbit/s")
    assert both.returncode == 2
    assert "--from takes from a file" in both.stderr


def test_tune_and_run_take_a_twin(line: Path, aqmlab: Aqmlab) -> None:
    pytest.importorskip("optuna", reason="optuna is not installed")
    search = (
        "--objective",
        "min links.down.queue_delay_p99",
        "--budget",
        "2 runs",
        "--seeds",
        1,
        "--held-out-seeds",
        2,
    )
    short = ("--set", "duration=4 s", "--set", "warmup=1 s")
    assert aqmlab("tune", "codel", "--scenario", line, *search, *short).returncode == 0
    assert aqmlab("run", line, "--aqm", "cake", *short).returncode == 0


def test_the_studio_takes_a_twin(line: Path) -> None:
    pytest.importorskip("starlette", reason="starlette is not installed")
    from aqmlab.studio.app import Studio

    assert Studio(load_scenario(line), [], [])


def test_the_command_says_what_is_missing(files: list[Path], aqmlab: Aqmlab, tmp_path: Path) -> None:
    plan = aqmlab("fit", "--plan", "server.example")
    assert "iperf3 -c server.example -R" in plan.stdout
    for paths, code, reason in (
        ([files[1]], 1, "no transfer"),
        ([files[0]], 1, "no round-trip times during the download"),
        ([], 2, "missing"),
        ([tmp_path / "none"], 1, "No such file"),
    ):
        found = aqmlab("fit", *paths)
        assert (found.returncode, reason in found.stderr) == (code, True), found.stderr
    assert aqmlab("fit", *files, "--picture", "x.gif").returncode == 2
    assert (
        "format: latex: --json prints one JSON document" in aqmlab("fit", *files, "--format", "latex", "--json").stderr
    )


def test_lines_of_the_law_repeat() -> None:
    assert fit_blind.drawn(5, 3) == fit_blind.drawn(5, 3)
    rates_of = [link.rate for n in range(50) for link in fit_blind.drawn(5, n).links.values()]
    assert 1e6 <= min(rates_of) <= max(rates_of) <= 1e9
    assert {link.kind for n in range(50) for link in fit_blind.drawn(5, n).links.values()} == {*KINDS}


def changed(files: list[Path], change: dict[str, Any]) -> list[Path]:
    """The same files with a changed document of iperf3."""
    document = json.loads(files[0].read_text())
    path = files[0].with_name("changed.json")
    path.write_text(json.dumps(document | change))
    return [path, files[1]]


def test_loads_that_a_fit_cannot_use_are_rejected(files: list[Path]) -> None:
    text = files[0].read_text()
    with pytest.raises(InputError, match='congestion controller "bbr9"'):
        fit(changed(files, json.loads(text.replace("cubic", "bbr9"))))
    with pytest.raises(RunError, match="no transfer"):
        fit(changed(files, json.loads(text.replace('"TCP"', '"UDP"'))))


def test_both_directions_at_once_give_both_rates(tmp_path: Path) -> None:
    loads = {way: Load(way, 2, 14, 0.05, lead=5.0) for way in LinkDirection}
    down, up = LinkDirection.down, LinkDirection.up
    for way, other in ((down, up), (up, down)):
        seen = simulated(LINE, replace(loads[way], opposite=loads[other]), 7)
        written(tmp_path, f"{way}.json", fit_blind.iperf3(seen, 1.7e9, LINE.rtt))
        written(tmp_path, "ping.txt", fit_blind.ping(seen.probes, 1.7e9))
    found = fit([tmp_path / "down.json", tmp_path / "up.json", tmp_path / "ping.txt"], jobs=1)
    for way, link in LINE.links.items():
        assert found.directions[way].best.intervals.keys() <= {"rate"}, "neither buffer nor bucket"
        assert found.directions[way].best.link.rate == pytest.approx(link.rate, rel=0.03)
    assert "measure one direction after the other" in found.text


def test_the_probes_with_the_most_answers_are_used_and_others_are_named(tmp_path: Path) -> None:
    load = written(tmp_path, "i.json", json.dumps(iperf3(reverse=False)))
    sparse = "".join(f"[{1.7e9 + i:.6f}] 64 bytes from x: icmp_seq={i} ttl=64 time=30 ms\n" for i in range(1, 12, 5))
    dense = "".join(f"[{1.7e9 + i:.6f}] 64 bytes from x: icmp_seq={i} ttl=64 time=20 ms\n" for i in range(1, 12))
    paths = [written(tmp_path, f"{i}.txt", "PING x (x) 56(84)\n" + text) for i, text in enumerate((sparse, dense))]
    undated = readers.read(written(tmp_path, "u.txt", PING.replace("[1700000000.", "").replace("000] ", "")))
    found = [readers.read(load), *map(readers.read, paths), undated]
    [seen] = observed(found).loads
    assert seen.load.every == pytest.approx(1.0)
    assert set(seen.probes.value) == {0.02}
    assert "round-trip times without the time of day (ping -D)" in unused(undated)


def test_goodput_is_spread_over_reports() -> None:
    flow = FlowRecord(
        "f", LinkDirection.up, "tcp", Intervals(np.arange(0, 4, 0.5), np.arange(0.5, 4.5, 0.5), np.arange(8.0))
    )
    other = replace(flow, goodput=Intervals(np.asarray([0.25, 1.25]), np.asarray([1.25, 2.25]), np.asarray([2.0, 4.0])))
    [seen] = observed([Measurement("f", "", "flent", epoch=9.0, flows=(flow, other))]).loads
    assert seen.load.start == 9.25, "the first interval of a flow without data does not count"
    assert seen.goodput.value.tolist() == [2.5, 3.5, 6.5, 7.5, 4.5, 5.5, 6.5]


def test_a_ping_that_counts_from_zero(tmp_path: Path) -> None:
    text = "PING x (192.0.2.1): 56 data bytes\n"
    text += "".join(f"64 bytes from 192.0.2.1: icmp_seq={i} ttl=64 time={20 + i}.0 ms\n" for i in (0, 1, 3))
    [probes] = readers.read(written(tmp_path, "bsd.txt", text)).delays
    assert np.allclose(probes.delay, [0.02, 0.021, math.nan, 0.023], equal_nan=True)


def test_a_simulated_measurement_begins_with_the_first_data() -> None:
    seen = simulated(replace(LINE, rtt=0.5), Load(LinkDirection.down, 1, 6, 0.05))
    assert seen.goodput.value[0] > 0
    assert seen.goodput.start[0] == 0
    assert len(seen.goodput.value) == len(seen.srtt[0].value) == 60
    assert seen.probes.time.max() < 6


class Features:
    """A search whose first feature is the first parameter, and whose second is noise."""

    wanted = {"first": 1.0, "noise": 0.3}

    def tolerance(self, _: str) -> float:
        """Return the tolerance of each feature."""
        return 0.01


def test_a_parameter_without_effect_is_not_identified() -> None:
    rng = np.random.default_rng(1)
    offsets, noise = rng.standard_normal((20, 2)), rng.standard_normal(20)
    link = TwinLink("codel", 8e6, 50)
    trials = [TwinTrial(link, ({"first": row[0], "noise": noise[i]},)) for i, row in enumerate(offsets)]
    moved, covariance, scatter = _solve(Features(), trials, offsets)  # type: ignore[arg-type]
    assert moved[0] == pytest.approx(1.0, abs=0.01)
    assert covariance[0, 0] < 0.001
    assert covariance[1, 1] == pytest.approx(4.0), "the prior"
    assert scatter["first"] == pytest.approx(0, abs=1e-9)
    assert 0.5 < scatter["noise"] < 1.5


def test_losses_that_no_queue_explains_and_small_buckets_are_also_tried() -> None:
    lossy = replace(LINE, links={**LINE.links, LinkDirection.down: TwinLink("drop-tail", 8e6, 60, loss=0.01)})
    seen = simulated(lossy, Load(LinkDirection.down, 1, 20, 0.05))
    links = TwinSearch(seen, Scale.of(seen, 0.03), lambda _: lossy, None).starts()  # type: ignore[arg-type]
    assert {each.kind for each in links if each.loss} == {"drop-tail", "codel", "pie", "fq-codel", "dualpi2"}
    assert max(each.loss for each in links) == pytest.approx(0.01, rel=0.5)
    assert len([each for each in links if each.kind == "policer"]) == 6


@pytest.mark.parametrize(("kinds", "buffer", "expected"), [
    (("drop-tail", "shaper"), 60, "a transfer after a minute of silence"),
    (("drop-tail", "codel"), 60, "fills a drop-tail queue and not a managed one"),
    (("codel", "pie"), 60, "the delays of schemes differ more"),
    (("drop-tail", "pie"), 5, "No measurement separates them: no scheme acts in a buffer this short."),
])  # fmt: skip
def test_two_lines_come_with_the_measurement_that_separates_them(
    found: Fit, kinds: tuple[str, str], buffer: float, expected: str
) -> None:
    whole = found.directions[LinkDirection.down]
    candidates = tuple(KindCandidate(TwinLink(kind, 8e6, buffer), 0.5, {}) for kind in kinds)
    two = DirectionFit(whole.seen, whole.scale, candidates, 2, 0)
    rows = [*sentences(replace(found, directions={LinkDirection.down: two}))]
    assert "rate not identified (the twin has 8 Mbit/s)" in rows[1]
    assert "another line explains the measurement equally" in rows[2]
    assert expected in rows[3]
